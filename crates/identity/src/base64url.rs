//! base64url without padding in its one canonical spelling: a text is accepted only if writing its bytes gives the same text.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

pub(crate) fn encode(bytes: impl AsRef<[u8]>) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// The bytes of a text. The engine refuses padding, foreign characters and stray bits in the last character.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}

/// The same for exactly 32 bytes, which are 43 characters.
pub(crate) fn decode_32(text: &str) -> Option<[u8; 32]> {
    if text.len() != 43 {
        return None;
    }
    decode(text)?.try_into().ok()
}

/// Whether a character belongs to the alphabet.
pub(crate) fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_'
}
