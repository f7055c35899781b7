//! Key files: a pair is made and never overwritten, private halves are read.

use std::io::Write;
use std::path::{Path, PathBuf};

use identity::keys::{KeyError, KeyLength, PrivateKey};
use zeroize::Zeroizing;

/// The name of the public half, beside the private one.
pub(crate) const PUBLIC_NAME: &str = "oauth-public.key";
const PRIVATE_NAME: &str = "oauth-private.key";
/// The most bytes of a key file; one of 4096 bits has some three thousand.
const LONGEST: u64 = 64 * 1024;
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

/// Reads a private key; where that cannot be done, says what is the matter with the file.
pub(crate) fn read_private(path: &Path) -> Result<PrivateKey, String> {
    let unreadable = |error: std::io::Error| format!("cannot be read: {error}");
    // What is no file may never end, or never begin.
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if !metadata.is_file() || metadata.len() > LONGEST {
        return Err(format!("is no file of at most {LONGEST} bytes"));
    }
    let text = std::fs::read_to_string(path).map(Zeroizing::new).map_err(unreadable)?;
    PrivateKey::from_pem(&text).map_err(|error| error.to_string())
}

/// Where the key that is to sign next has its file.
pub(crate) fn next_to(path: &Path) -> PathBuf {
    let mut next = path.as_os_str().to_owned();
    next.push(".next");
    next.into()
}

/// Whether other users of this machine can read a file.
pub(crate) fn others_can_read(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_file_of_a_sensible_size_is_not_read() {
        // attack 49
        let folder = tempfile::tempdir().expect("a folder");
        let (pipe, long) = (folder.path().join("pipe"), folder.path().join("long"));
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
        std::fs::write(&long, vec![b' '; LONGEST as usize + 1]).expect("a file");
        for path in [&pipe, &long, Path::new("/dev/zero"), folder.path()] {
            assert!(read_private(path).expect_err("no key").contains("is no file of at most"), "{}", path.display());
        }
    }
}
