//! The location of a SQLite database, and a check that its file was not replaced.

use std::os::unix::fs::MetadataExt;

use crate::Error;

#[derive(Clone, Debug)]
pub(super) enum Location {
    File(String),
    Memory(String),
}

/// Identifies a file. While a connection has it open, no other file gets its inode number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    number: u64,
}

impl Location {
    /// The file that is there now; none for a database in memory.
    pub(super) fn file_id(&self) -> Result<Option<FileId>, Error> {
        let Location::File(path) = self else { return Ok(None) };
        let file =
            std::fs::metadata(path).map_err(|error| Error::Unavailable(format!("the SQLite file {path:?} cannot be opened: {error}")))?;
        Ok(Some(FileId { device: file.dev(), number: file.ino() }))
    }

    /// Refuses a file that replaced the one that was opened. Its WAL is found by name, so SQLite could apply the old WAL to the new file.
    pub(super) fn check_unchanged(&self, opened: Option<FileId>) -> Result<(), Error> {
        if self.file_id()? == opened {
            return Ok(());
        }
        Err(Error::Unavailable("the SQLite file was replaced; start the server again to read the new one".to_owned()))
    }
}
