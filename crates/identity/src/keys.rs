//! The RSA keys that sign tokens: private key (PEM, PKCS#8 or PKCS#1, at least 2048 bits), public key, key set, and key rotation.

pub mod key_set;
pub mod public;
pub mod rotation;

use aws_lc_rs::encoding::AsDer;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::KeySize;
use aws_lc_rs::signature::{KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use zeroize::Zeroizing;

pub use key_set::{KeySet, KeySetFault};
pub use public::{KeyId, PublicKey};

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// No PEM at all, or another kind of PEM.
    #[error("holds no private key: a PEM block `BEGIN PRIVATE KEY` or `BEGIN RSA PRIVATE KEY` is expected")]
    NotPem,
    #[error("is encrypted: store it without a passphrase and protect the file instead")]
    Encrypted,
    #[error("is malformed or no RSA key")]
    Malformed,
    #[error("is too short: RSA of at least 2048 bits is needed")]
    Short,
    /// The library refused to make, write or use a key.
    #[error("could not be made, written or used")]
    Unusable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyLength {
    Bits2048,
    Bits3072,
    Bits4096,
}

/// A signing key. It has no `Display`, and its `Debug` shows only the public id.
pub struct PrivateKey {
    pair: RsaKeyPair,
    public: PublicKey,
}

impl std::fmt::Debug for PrivateKey {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "PrivateKey({}, …)", self.public.id())
    }
}

impl PrivateKey {
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
            Ok(pair) if pair.public_modulus_len() >= KeySize::Rsa2048.len() => PrivateKey::from_pair(pair),
            Ok(_) => Err(KeyError::Short),
            // Only this word of the library tells a short key from a malformed one.
            Err(refused) if refused.to_string().contains("TooSmall") => Err(KeyError::Short),
            Err(_) => Err(KeyError::Malformed),
        }
    }

    /// Generates a key. Here alone randomness is no argument: the search for primes needs an unbounded amount, and the library takes none.
    pub fn generate(length: KeyLength) -> Result<Self, KeyError> {
        let size = match length {
            KeyLength::Bits2048 => KeySize::Rsa2048,
            KeyLength::Bits3072 => KeySize::Rsa3072,
            KeyLength::Bits4096 => KeySize::Rsa4096,
        };
        PrivateKey::from_pair(RsaKeyPair::generate(size).map_err(|_| KeyError::Unusable)?)
    }

    fn from_pair(pair: RsaKeyPair) -> Result<Self, KeyError> {
        let components = aws_lc_rs::rsa::PublicKeyComponents::from(pair.public_key());
        let public = PublicKey::from_components(&components.n, &components.e).ok_or(KeyError::Malformed)?;
        Ok(PrivateKey { pair, public })
    }

    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    /// The key as PKCS#8 PEM, for the key file.
    pub fn to_pem(&self) -> Result<Zeroizing<String>, KeyError> {
        let der = self.pair.as_der().map_err(|_| KeyError::Unusable)?;
        Ok(Zeroizing::new(public::pem("PRIVATE KEY", der.as_ref())))
    }

    /// An RS256 signature. PKCS#1 v1.5 needs no randomness; the library ignores the generator.
    pub(crate) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let mut signature = vec![0; self.pair.public_modulus_len()];
        self.pair.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature).map_err(|_| KeyError::Unusable)?;
        Ok(signature)
    }
}
