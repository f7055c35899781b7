//! A pair of key files, made and never overwritten.

use std::io::Write;
use std::path::{Path, PathBuf};

use identity::keys::{KeyError, KeyLength, PrivateKey};

/// The name of the public half, beside the private one.
pub(crate) const PUBLIC_NAME: &str = "oauth-public.key";
const PRIVATE_NAME: &str = "oauth-private.key";
/// Who may read a file.
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

/// The files that were made.
#[derive(Debug)]
pub(crate) struct KeyPair {
    /// What the key is called.
    pub(crate) id: String,
    /// The private half.
    pub(crate) private: PathBuf,
    /// The public half.
    pub(crate) public: PathBuf,
}

/// Why there is no pair.
#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyPairError {
    #[error("{} is there already and is not overwritten", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written: {error}", path.display())]
    Unwritten { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Key(#[from] KeyError),
}

impl KeyPair {
    /// Makes a key and writes both halves into a folder, which is made if it is missing.
    pub(crate) fn make(folder: &Path, bits: KeyLength) -> Result<Self, KeyPairError> {
        let (private, public) = (folder.join(PRIVATE_NAME), folder.join(PUBLIC_NAME));
        if let Some(there) = [&private, &public].into_iter().find(|path| path.exists()) {
            return Err(KeyPairError::Exists(there.clone()));
        }
        std::fs::create_dir_all(folder).map_err(|error| KeyPairError::Unwritten { path: folder.to_owned(), error })?;
        let key = PrivateKey::generate(bits)?;
        write_private(&private, &key)?;
        write_new(&public, &key.public().to_pem()?, PUBLIC)?;
        Ok(KeyPair { id: key.public().id().as_str().to_owned(), private, public })
    }
}

/// Writes a private key into a file of its own that nobody else can read.
pub(crate) fn write_private(path: &Path, key: &PrivateKey) -> Result<(), KeyPairError> {
    write_new(path, &key.to_pem()?, PRIVATE)
}

/// A file that was not there before, with its mode from the beginning on.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), KeyPairError> {
    use std::os::unix::fs::OpenOptionsExt;
    let write = || {
        let mut file = std::fs::OpenOptions::new().write(true).create_new(true).mode(mode).open(path)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()
    };
    write().map_err(|error| KeyPairError::Unwritten { path: path.to_owned(), error })
}
