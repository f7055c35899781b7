//! Where a browser goes after it signed in: a path of the hub itself, and `/` in place of anything else.

const LONGEST: usize = 32 * 1024;

/// A path of this hub with its query. It can be put into a `Location` as it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Continuation(String);

impl Continuation {
    /// Reads a `continue` parameter, decoded once. What is not plainly a path of the hub becomes `/`.
    ///
    /// The path may hold letters, digits, `-`, `_`, single dots and single slashes: the hub has no other paths, and without `@`, `%`,
    /// `\`, `:` and `//` no browser can read another host into it.
    pub fn read(text: Option<&str>) -> Self {
        match text {
            Some(text) if is_own(text) => Continuation(text.to_owned()),
            _ => Continuation("/".to_owned()),
        }
    }

    /// A path of this program with a query that it wrote itself.
    pub(crate) fn to(path: &'static str, query: &str) -> Self {
        Continuation(format!("{path}?{query}"))
    }

    /// The path and query.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_own(text: &str) -> bool {
    let (path, query) = text.split_once('?').unwrap_or((text, ""));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-_.".contains(&byte);
    text.len() <= LONGEST
        && path.starts_with('/')
        && path.bytes().all(plain)
        && !path.contains("//")
        && !path.split('/').any(|segment| segment.starts_with('.'))
        && query.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"#<>\\^`{|}".contains(&byte))
}
