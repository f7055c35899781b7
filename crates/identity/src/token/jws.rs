//! JWS in compact form (RFC 7515), only RS256, read strictly. Headers that name keys (`jwk`, `jku`, `x5u`, `x5c`) are ignored.

use std::fmt;

use serde_json::{Value, json};

use crate::base64url;
use crate::json::{self, Object};
use crate::keys::{KeyError, KeyId, PrivateKey, PublicKey};
use crate::token::TokenFault;

pub const MAX_TOKEN_BYTES: usize = 16 * 1024;
const MAX_HEADER_BYTES: usize = 4 * 1024;
const ALGORITHM: &str = "RS256";
const APPLICATION: &str = "application/";

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

/// A parsed, unverified token: only its `kid` is of use, to look the key up. Its `Debug` shows nothing else.
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
    /// Parses a token: three canonical base64url parts, and a header of unique members with `alg: RS256`, a `typ` and a `kid`.
    pub fn read(text: &'a str) -> Result<Self, TokenFault> {
        if text.len() > MAX_TOKEN_BYTES {
            return Err(TokenFault::Malformed);
        }
        let (signed, signature) = text.rsplit_once('.').ok_or(TokenFault::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenFault::Malformed)?;
        if header.len() > MAX_HEADER_BYTES || payload.contains('.') {
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

    /// The `kid`, only to look a key up by.
    pub fn key_id(&self) -> &KeyId {
        &self.key
    }

    /// Whether `typ` is this kind: a media type, in any case and with or without `application/` (RFC 7515, 4.1.9).
    pub(crate) fn is_of_kind(&self, kind: &str) -> bool {
        let prefix = self.kind.get(..APPLICATION.len()).filter(|prefix| prefix.eq_ignore_ascii_case(APPLICATION));
        self.kind[prefix.map_or(0, str::len)..].eq_ignore_ascii_case(kind)
    }

    /// The payload, after it verified the signature.
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
