//! The successor of a refresh token at rest: sealed under a key that is derived from the token it follows. Who repeats a request can be
//! given the same successor; who reads the database cannot.

use std::fmt;

use uuid::Uuid;

use crate::opaque::RefreshToken;
use crate::seal::{NONCE_LENGTH, Seal};

const LENGTH: usize = NONCE_LENGTH + 32 + 16;
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
    pub(crate) fn seal(successor: &RefreshToken, under: &RefreshToken, family: Uuid, nonce: [u8; NONCE_LENGTH]) -> Option<Self> {
        let sealed = Seal::of(under.bytes(), SALT, family.as_bytes())?.seal(nonce, successor.bytes())?;
        Sealed::from_bytes(&[nonce.as_slice(), &sealed].concat())
    }

    /// Opens it with the token that it follows.
    pub(crate) fn open(&self, with: &RefreshToken, family: Uuid) -> Option<RefreshToken> {
        let (nonce, text) = self.0.split_first_chunk::<NONCE_LENGTH>()?;
        let opened = Seal::of(with.bytes(), SALT, family.as_bytes())?.open(*nonce, text)?;
        <[u8; 32]>::try_from(opened.as_slice()).ok().map(RefreshToken::from_random)
    }
}
