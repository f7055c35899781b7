//! Proof Key for Code Exchange (RFC 7636), with S256 as the only method.

use zeroize::Zeroizing;

use crate::base64url;
use crate::error::Error;
use crate::secret_token;

const CHALLENGE_LENGTH: usize = 43;
const MIN_VERIFIER_LENGTH: usize = 43;
const MAX_VERIFIER_LENGTH: usize = 128;

/// The SHA-256 of a verifier in base64url, as the client sent it to `authorize`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Challenge(String);

impl Challenge {
    /// Reads `code_challenge` and `code_challenge_method`. A text that no SHA-256 has (stray bits) is accepted and matches nothing.
    pub fn read(challenge: Option<&str>, method: Option<&str>) -> Result<Self, Error> {
        match method {
            None | Some("S256") => {}
            Some("plain") => return Err(Error::request("code_challenge_method plain is refused: only S256 is accepted")),
            Some(_) => return Err(Error::request("code_challenge_method is unknown: only S256 is accepted")),
        }
        let challenge = challenge.ok_or(Error::request("code_challenge is missing: PKCE with S256 is required"))?;
        Challenge::parse(challenge).ok_or(Error::request("code_challenge is not 43 characters of base64url"))
    }

    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == CHALLENGE_LENGTH && text.bytes().all(base64url::is_letter);
        fits.then(|| Challenge(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the challenge was made from this verifier, in constant time.
    pub fn admits(&self, verifier: &Verifier) -> bool {
        secret_token::equal(self.0.as_bytes(), verifier.challenge().0.as_bytes())
    }
}

/// The verifier. Its `Debug` is redacted, and its memory is wiped.
#[derive(Clone)]
pub struct Verifier(Zeroizing<String>);

redacted!(Verifier);

impl Verifier {
    /// A new verifier from 32 bytes of a cryptographic generator.
    pub fn from_random(bytes: [u8; 32]) -> Self {
        Verifier(Zeroizing::new(base64url::encode(bytes)))
    }

    /// Reads a verifier: 43 to 128 unreserved characters.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = (MIN_VERIFIER_LENGTH..=MAX_VERIFIER_LENGTH).contains(&text.len())
            && text.bytes().all(|byte| base64url::is_letter(byte) || byte == b'.' || byte == b'~');
        fits.then(|| Verifier(Zeroizing::new(text.to_owned())))
    }

    /// The text, only for the hub.
    pub fn expose(&self) -> &str {
        &self.0
    }

    pub fn challenge(&self) -> Challenge {
        Challenge(base64url::encode(secret_token::sha256(self.0.as_bytes())))
    }
}
