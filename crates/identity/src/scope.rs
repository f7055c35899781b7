//! OAuth scope: stored and shown, never widened. It grants nothing.

use crate::error::{Error, ErrorCode};

const MAX_BYTES: usize = 2_000;

/// The requested scope words, at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scope(String);

impl Scope {
    /// Reads a `scope` parameter (RFC 6749). Extra spaces are ignored.
    pub fn read(text: Option<&str>) -> Result<Option<Self>, Error> {
        let Some(text) = text else { return Ok(None) };
        let words: Vec<&str> = text.split(' ').filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Ok(None);
        }
        Scope::parse(&words.join(" ")).map(Some).ok_or(Error::new(ErrorCode::InvalidScope, "scope is malformed or too long"))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\');
        (text.len() <= MAX_BYTES && text.split(' ').all(is_word)).then(|| Scope(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn has(&self, word: &str) -> bool {
        self.0.split(' ').any(|one| one == word)
    }

    /// The scope of an answer: the requested one if it is within the granted one; without a request, the granted one.
    pub fn narrow(granted: Option<&Scope>, asked: Option<&Scope>) -> Result<Option<Scope>, Error> {
        let Some(asked) = asked else { return Ok(granted.cloned()) };
        let within = granted.is_some_and(|granted| asked.0.split(' ').all(|word| granted.has(word)));
        within.then(|| Some(asked.clone())).ok_or(Error::new(ErrorCode::InvalidScope, "scope asks for more than was granted"))
    }
}
