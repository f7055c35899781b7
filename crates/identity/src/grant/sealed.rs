//! The stored successor of a refresh token, sealed under a key derived from that token: a reader of the database cannot open it.

use uuid::Uuid;

use crate::seal::{NONCE_LENGTH, Seal};
use crate::secret_token::RefreshToken;

const LENGTH: usize = NONCE_LENGTH + 32 + 16;
const SALT: &[u8] = b"peristyle refresh successor 1";

/// Nonce, ciphertext and tag.
#[derive(Clone, PartialEq, Eq)]
pub struct Sealed([u8; LENGTH]);

redacted!(Sealed);

impl Sealed {
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Sealed)
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Seals a successor. The nonce is random, because two replicas may seal two successors under one key.
    pub(crate) fn seal(successor: &RefreshToken, under: &RefreshToken, family: Uuid, nonce: [u8; NONCE_LENGTH]) -> Option<Self> {
        let sealed = Seal::of(under.bytes(), SALT, family.as_bytes())?.seal(nonce, successor.bytes())?;
        Sealed::from_bytes(&[nonce.as_slice(), &sealed].concat())
    }

    pub(crate) fn open(&self, with: &RefreshToken, family: Uuid) -> Option<RefreshToken> {
        let (nonce, text) = self.0.split_first_chunk::<NONCE_LENGTH>()?;
        let opened = Seal::of(with.bytes(), SALT, family.as_bytes())?.open(*nonce, text)?;
        <[u8; 32]>::try_from(opened.as_slice()).ok().map(RefreshToken::from_random)
    }
}
