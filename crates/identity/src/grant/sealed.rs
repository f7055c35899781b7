//! The successor of a refresh token at rest: sealed under a key that is derived from the token it follows. Who repeats a request can be
//! given the same successor; who reads the database cannot.

use std::fmt;

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use uuid::Uuid;

use crate::opaque::RefreshToken;

const LENGTH: usize = NONCE_LEN + 32 + 16;
const SALT: &[u8] = b"peristyle refresh successor 1";

/// Nonce, ciphertext and tag.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed([u8; LENGTH]);

impl fmt::Debug for Sealed {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Sealed(…)")
    }
}

impl Sealed {
    /// As the database keeps it.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Sealed)
    }

    /// The bytes to keep.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Seals a successor. Two replicas may race to seal two successors under one key, so the nonce is random.
    pub(crate) fn seal(successor: &RefreshToken, under: &RefreshToken, family: Uuid, nonce: [u8; NONCE_LEN]) -> Option<Self> {
        let mut text = successor.bytes().to_vec();
        key(under, family)?.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(*family.as_bytes()), &mut text).ok()?;
        let mut bytes = nonce.to_vec();
        bytes.append(&mut text);
        Sealed::from_bytes(&bytes)
    }

    /// Opens it with the token that it follows.
    pub(crate) fn open(&self, with: &RefreshToken, family: Uuid) -> Option<RefreshToken> {
        let (nonce, text) = self.0.split_at(NONCE_LEN);
        let mut text = text.to_vec();
        let nonce = Nonce::try_assume_unique_for_key(nonce).ok()?;
        let opened = key(with, family)?.open_in_place(nonce, Aad::from(*family.as_bytes()), &mut text).ok()?;
        <[u8; 32]>::try_from(&*opened).ok().map(RefreshToken::from_random)
    }
}

fn key(token: &RefreshToken, family: Uuid) -> Option<LessSafeKey> {
    let secret = Salt::new(HKDF_SHA256, SALT).extract(token.bytes());
    let info = [family.as_bytes().as_slice()];
    let derived = secret.expand(&info, &AES_256_GCM).ok()?;
    Some(LessSafeKey::new(UnboundKey::from(derived)))
}
