//! Seals a few stored bytes with AES-256-GCM under a key derived from a secret that is not stored.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::hkdf::{HKDF_SHA256, Salt};
use zeroize::Zeroizing;

pub(crate) const NONCE_LENGTH: usize = NONCE_LEN;

/// A key for one purpose (`salt`) and one subject (`about`), which it authenticates.
pub(crate) struct Seal<'a> {
    key: LessSafeKey,
    about: &'a [u8],
}

impl<'a> Seal<'a> {
    pub(crate) fn of(secret: &[u8; 32], salt: &'static [u8], about: &'a [u8]) -> Option<Self> {
        let secret = Salt::new(HKDF_SHA256, salt).extract(secret);
        let info = [about];
        let derived = secret.expand(&info, &AES_256_GCM).ok()?;
        Some(Seal { key: LessSafeKey::new(UnboundKey::from(derived)), about })
    }

    /// Ciphertext and tag. A key that seals more than once needs a new nonce each time.
    pub(crate) fn seal(&self, nonce: [u8; NONCE_LENGTH], plain: &[u8]) -> Option<Vec<u8>> {
        let mut text = plain.to_vec();
        self.key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(self.about), &mut text).ok()?;
        Some(text)
    }

    /// The plain bytes, if key and nonce are right and the sealed bytes are unchanged.
    pub(crate) fn open(&self, nonce: [u8; NONCE_LENGTH], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let mut text = Zeroizing::new(sealed.to_vec());
        let length = self.key.open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(self.about), &mut text).ok()?.len();
        text.truncate(length);
        Some(text)
    }
}
