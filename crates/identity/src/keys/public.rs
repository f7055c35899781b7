//! A public key: parsed once, named by its RFC 7638 thumbprint, written as JWK or PEM.

use std::fmt;

use aws_lc_rs::encoding::{AsDer, PublicKeyX509Der};
use aws_lc_rs::rsa::PublicKeyComponents;
use aws_lc_rs::signature::{ParsedPublicKey, RSA_PKCS1_2048_8192_SHA256};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::keys::KeyError;
use crate::{base64url, secret_token};

const MIN_MODULUS_BITS: usize = 2048;
const MAX_MODULUS_BITS: usize = 8192;
const MAX_EXPONENT_BYTES: usize = 4;
const MAX_ID_BYTES: usize = 128;
const PEM_WIDTH: usize = 64;

/// The `kid` of a key: at most 128 visible ASCII characters. The hub's own are RFC 7638 thumbprints.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KeyId(String);

impl KeyId {
    pub fn parse(text: &str) -> Option<Self> {
        let fits = !text.is_empty() && text.len() <= MAX_ID_BYTES && text.bytes().all(|byte| byte.is_ascii_graphic());
        fits.then(|| KeyId(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

shown_as_text!(KeyId);

/// An RSA key that verifies RS256 and no other algorithm.
#[derive(Clone)]
pub struct PublicKey {
    id: KeyId,
    /// In base64url.
    pub(crate) modulus: String,
    exponent: String,
    parsed: ParsedPublicKey,
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PublicKey({})", self.id)
    }
}

impl PartialEq for PublicKey {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && self.modulus == other.modulus && self.exponent == other.exponent
    }
}

impl Eq for PublicKey {}

impl PublicKey {
    /// A key from modulus and exponent, big-endian without leading zeros: 2048 to 8192 bits, an odd exponent of at least 3.
    pub fn from_components(modulus: &[u8], exponent: &[u8]) -> Option<Self> {
        let (modulus_text, exponent_text) = (base64url::encode(modulus), base64url::encode(exponent));
        let id = KeyId(thumbprint(&modulus_text, &exponent_text));
        let bits = modulus.len() * 8 - modulus.first()?.leading_zeros() as usize;
        let long_enough = *modulus.first()? != 0 && (MIN_MODULUS_BITS..=MAX_MODULUS_BITS).contains(&bits);
        let odd = modulus.last()? & 1 == 1 && exponent.last()? & 1 == 1;
        let exponent_fits = exponent.len() <= MAX_EXPONENT_BYTES && *exponent.first()? != 0 && exponent != [1];
        if !(long_enough && odd && exponent_fits) {
            return None;
        }
        let parsed = PublicKeyComponents { n: modulus, e: exponent }.to_parsed_public_key(&RSA_PKCS1_2048_8192_SHA256).ok()?;
        Some(PublicKey { id, modulus: modulus_text, exponent: exponent_text, parsed })
    }

    /// The same key with the `kid` of its publisher.
    pub(crate) fn named(self, id: KeyId) -> Self {
        PublicKey { id, ..self }
    }

    pub fn id(&self) -> &KeyId {
        &self.id
    }

    /// Its entry in a key set (RFC 7517).
    pub fn to_jwk(&self) -> Value {
        json!({"kty": "RSA", "use": "sig", "alg": "RS256", "kid": self.id.as_str(), "n": self.modulus, "e": self.exponent})
    }

    /// The key as SubjectPublicKeyInfo PEM.
    pub fn to_pem(&self) -> Result<String, KeyError> {
        let (modulus, exponent) = (base64url::decode(&self.modulus), base64url::decode(&self.exponent));
        let (Some(n), Some(e)) = (modulus, exponent) else { return Err(KeyError::Unusable) };
        let key = PublicKeyComponents { n, e };
        let der: PublicKeyX509Der<'_> = key.as_der().map_err(|_| KeyError::Unusable)?;
        Ok(pem("PUBLIC KEY", der.as_ref()))
    }

    /// Whether this key made the signature.
    pub(crate) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        self.parsed.verify_sig(message, signature).is_ok()
    }
}

/// RFC 7638: the SHA-256 of the required members in the order of their names.
fn thumbprint(modulus: &str, exponent: &str) -> String {
    base64url::encode(secret_token::sha256(format!(r#"{{"e":"{exponent}","kty":"RSA","n":"{modulus}"}}"#).as_bytes()))
}

/// A PEM block (RFC 7468).
pub(crate) fn pem(label: &str, der: &[u8]) -> String {
    let body = Zeroizing::new(STANDARD.encode(der));
    let mut out = format!("-----BEGIN {label}-----\n");
    let mut rest = body.as_str();
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(PEM_WIDTH));
        out.push_str(line);
        out.push('\n');
        rest = more;
    }
    out + "-----END " + label + "-----\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 7515, A.2.
    const MODULUS: &str = "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2ethFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
    const SIGNED: &str =
        "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    const SIGNATURE: &str = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";

    #[test]
    fn the_rs256_example_of_rfc_7515_holds() {
        let key = PublicKey::from_components(&base64url::decode(MODULUS).unwrap(), &[1, 0, 1]).unwrap();
        let signature = base64url::decode(SIGNATURE).unwrap();
        assert!(key.verifies(SIGNED.as_bytes(), &signature));
        assert!(!key.verifies(&SIGNED.as_bytes()[1..], &signature));
        assert!(!key.verifies(SIGNED.as_bytes(), &signature[1..]));
        assert!(!key.verifies(SIGNED.as_bytes(), &[]));
    }
}
