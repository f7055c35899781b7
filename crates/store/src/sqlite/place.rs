//! Where a SQLite database is, and whether what is open is still what stands there.

use std::os::unix::fs::MetadataExt;

use crate::Error;

#[derive(Clone, Debug)]
pub(super) enum Place {
    File(String),
    Memory(String),
}

/// Tells a file from another that was put in its place. While a connection has a file open, no other file gets its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    device: u64,
    number: u64,
}

impl Place {
    /// The file that is there now; nothing in memory.
    pub(super) fn identity(&self) -> Result<Option<Identity>, Error> {
        let Place::File(path) = self else { return Ok(None) };
        let file =
            std::fs::metadata(path).map_err(|error| Error::Unavailable(format!("the SQLite file {path:?} cannot be opened: {error}")))?;
        Ok(Some(Identity { device: file.dev(), number: file.ino() }))
    }

    /// That it is still the file that was opened. Another one is not taken up while the server runs: what was written to the first and not
    /// yet brought into it stands beside it by name, and would be brought into the other.
    pub(super) fn still(&self, opened: Option<Identity>) -> Result<(), Error> {
        if self.identity()? == opened {
            return Ok(());
        }
        Err(Error::Unavailable("the SQLite file was replaced; start the server again to read the new one".to_owned()))
    }
}
