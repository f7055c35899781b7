//! Key files: creates a key pair, never overwrites one, and reads private keys.

use std::fs::Permissions;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use identity::keys::{KeyError, KeyLength, PrivateKey};
use zeroize::Zeroizing;

/// The file of the public key, beside the private one.
pub(crate) const PUBLIC_NAME: &str = "oauth-public.key";
const PRIVATE_NAME: &str = "oauth-private.key";
/// The size limit of a key file. A key of 4096 bits has three thousand bytes.
const MAX_BYTES: u64 = 64 * 1024;
const PRIVATE: u32 = 0o600;
const PUBLIC: u32 = 0o644;

#[derive(Debug)]
pub(crate) struct KeyPair {
    pub(crate) id: String,
    pub(crate) private: PathBuf,
    pub(crate) public: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum KeyPairError {
    #[error("{} exists and is not overwritten", .0.display())]
    Exists(PathBuf),
    #[error("{} cannot be written: {error}", path.display())]
    Unwritten { path: PathBuf, error: std::io::Error },
    #[error("{0}")]
    Key(#[from] KeyError),
}

impl KeyPair {
    /// Creates a key pair in a folder, and the folder if it is missing.
    pub(crate) fn make(folder: &Path, bits: KeyLength) -> Result<Self, KeyPairError> {
        let (private, public) = (folder.join(PRIVATE_NAME), folder.join(PUBLIC_NAME));
        if let Some(there) = [&private, &public].into_iter().find(|path| path.exists()) {
            return Err(KeyPairError::Exists(there.clone()));
        }
        std::fs::create_dir_all(folder).map_err(|error| KeyPairError::Unwritten { path: folder.to_owned(), error })?;
        let key = PrivateKey::generate(bits)?;
        let public_text = key.public().to_pem()?;
        write_private(&private, &key)?;
        if let Err(error) = write_new(&public, &public_text, PUBLIC) {
            // A half of a pair would be in the way of the next one.
            _ = std::fs::remove_file(&private);
            return Err(error);
        }
        Ok(KeyPair { id: key.public().id().as_str().to_owned(), private, public })
    }
}

/// Writes a private key into a new file that other users cannot read.
pub(crate) fn write_private(path: &Path, key: &PrivateKey) -> Result<(), KeyPairError> {
    write_new(path, &key.to_pem()?, PRIVATE)
}

/// Reads a private key. The error says what is wrong with the file.
pub(crate) fn read_private(path: &Path) -> Result<PrivateKey, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // A pipe or a device may block or never end.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(format!("is no file of at most {MAX_BYTES} bytes"));
    }
    let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(unreadable)?;
    PrivateKey::from_pem(&text).map_err(|error| error.to_string())
}

pub(crate) fn next_to(path: &Path) -> PathBuf {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    next.into()
}

pub(crate) fn others_can_read(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
}

/// Writes a new file. It has its name only when all of the text is on disk.
fn write_new(path: &Path, text: &str, mode: u32) -> Result<(), KeyPairError> {
    let unwritten = |error| KeyPairError::Unwritten { path: path.to_owned(), error };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new().prefix(".peristyle-key-").permissions(Permissions::from_mode(mode)).tempfile_in(folder);
    // The errors of this library show the name of the temporary file.
    let mut temporary = temporary.map_err(|error| unwritten(error.kind().into()))?;
    let file = temporary.as_file_mut();
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(unwritten)?;
    match temporary.persist_noclobber(path) {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(KeyPairError::Exists(path.to_owned())),
        Err(error) => Err(unwritten(error.error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_small_regular_file_is_read() {
        // attack 49
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, long) = (folder.path().join("pipe"), folder.path().join("long"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        std::fs::write(&long, vec![b' '; MAX_BYTES as usize + 1]).expect("a file");
        for path in [&pipe, &long, Path::new("/dev/zero"), folder.path()] {
            assert!(read_private(path).expect_err("no key").contains("is no file of at most"), "{}", path.display());
        }
    }
}
