//! The private key a process signs with: PEM, PKCS#8 or PKCS#1, RSA of at least 2048 bits.

use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

/// Why a key cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No PEM at all, or another kind of PEM.
    #[error("holds no private key: a PEM block `BEGIN PRIVATE KEY` or `BEGIN RSA PRIVATE KEY` is expected")]
    NotPem,
    /// A passphrase would be needed.
    #[error("is encrypted: store it without a passphrase and guard the file instead")]
    Encrypted,
    /// The block is no RSA key.
    #[error("is malformed or no RSA key")]
    Malformed,
    /// Fewer than 2048 bits.
    #[error("is too short: RSA of at least 2048 bits is needed")]
    Short,
}

/// A key that can sign. It has no `Display`, and its `Debug` tells nothing.
pub struct PrivateKey(RsaKeyPair);

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("PrivateKey(…)")
    }
}

impl PrivateKey {
    /// Reads a PEM text.
    pub fn from_pem(text: &str) -> Result<Self, KeyError> {
        if text.contains("ENCRYPTED") {
            return Err(KeyError::Encrypted);
        }
        let pair = match PrivateKeyDer::from_pem_slice(text.as_bytes()).map_err(|_| KeyError::NotPem)? {
            PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
            PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
            _ => return Err(KeyError::Malformed),
        };
        match pair {
            Ok(pair) if pair.public_modulus_len() >= KeySize::Rsa2048.len() => Ok(PrivateKey(pair)),
            Ok(_) => Err(KeyError::Short),
            // The library tells a short key from a broken one by this word alone.
            Err(refused) if refused.to_string().contains("TooSmall") => Err(KeyError::Short),
            Err(_) => Err(KeyError::Malformed),
        }
    }

    /// The public half, as DER.
    pub fn public_key(&self) -> &[u8] {
        self.0.public_key().as_ref()
    }
}
