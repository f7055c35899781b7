//! JWS in its compact form (RFC 7515), RS256 and nothing else, written and read strictly. The algorithm is a constant of this file; a
//! header that names keys (`jwk`, `jku`, `x5u`, `x5c`) is not looked at.

use std::fmt;

use serde_json::{Value, json};

use crate::base64url;
use crate::json::{self, Object};
use crate::keys::{KeyError, KeyId, PrivateKey, PublicKey};
use crate::token::TokenFault;

/// The longest token that is read at all.
pub const LONGEST_TOKEN: usize = 16 * 1024;
const LONGEST_HEADER: usize = 4 * 1024;
const ALGORITHM: &str = "RS256";
const APPLICATION: &str = "application/";

/// Signs a payload.
pub(crate) fn write(kind: &str, payload: &Value, key: &PrivateKey) -> Result<String, KeyError> {
    let header = json!({"alg": ALGORITHM, "typ": kind, "kid": key.public().id().as_str()});
    let mut text = base64url::encode(header.to_string());
    text.push('.');
    text.push_str(&base64url::encode(payload.to_string()));
    let signature = key.sign(text.as_bytes())?;
    text.push('.');
    text.push_str(&base64url::encode(signature));
    Ok(text)
}

/// A token whose header was read and nothing believed: it names the key to look up. Its `Debug` shows no part of the token.
pub struct Unverified<'a> {
    signed: &'a str,
    payload: &'a str,
    signature: Vec<u8>,
    key: KeyId,
    kind: String,
}

impl fmt::Debug for Unverified<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Unverified({}, …)", self.key)
    }
}

impl<'a> Unverified<'a> {
    /// Takes a token apart: three canonical base64url parts, a header of unique members with `alg: RS256`, a `typ` and a `kid`.
    pub fn read(text: &'a str) -> Result<Self, TokenFault> {
        if text.len() > LONGEST_TOKEN {
            return Err(TokenFault::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenFault::Malformed)?;
        if header.len() > LONGEST_HEADER || payload.contains('.') {
            return Err(TokenFault::Malformed);
        }
        let header = base64url::decode(header).as_deref().and_then(json::object).ok_or(TokenFault::Malformed)?;
        if json::text(&header, "alg") != Some(ALGORITHM) {
            return Err(TokenFault::Algorithm);
        }
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(TokenFault::Critical);
        }
        let kind = json::text(&header, "typ").ok_or(TokenFault::Kind)?.to_owned();
        let key = json::text(&header, "kid").and_then(KeyId::parse).ok_or(TokenFault::UnknownKey)?;
        let signature = base64url::decode(signature).ok_or(TokenFault::Malformed)?;
        Ok(Unverified { signed, payload, signature, key, kind })
    }

    /// The `kid`, to look a key up by and for nothing else.
    pub fn key_id(&self) -> &KeyId {
        &self.key
    }

    /// Whether `typ` names this kind: a media type, so that case means nothing and `application/` may stand before it (RFC 7515, 4.1.9).
    pub(crate) fn is_of_kind(&self, kind: &str) -> bool {
        let prefix = self.kind.get(..APPLICATION.len()).filter(|prefix| prefix.eq_ignore_ascii_case(APPLICATION));
        self.kind[prefix.map_or(0, str::len)..].eq_ignore_ascii_case(kind)
    }

    /// The payload, once the signature is known to be this key's.
    pub(crate) fn open(&self, key: &PublicKey) -> Result<Object, TokenFault> {
        if key.id() != &self.key {
            return Err(TokenFault::UnknownKey);
        }
        if !key.verifies(self.signed.as_bytes(), &self.signature) {
            return Err(TokenFault::Signature);
        }
        base64url::decode(self.payload).as_deref().and_then(json::object).ok_or(TokenFault::Malformed)
    }
}
