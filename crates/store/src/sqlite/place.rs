//! Where a SQLite database is, and whether what a connection has open is still what stands there.

use std::os::unix::fs::MetadataExt;

use rusqlite::Connection;

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

/// A connection, and which file it has open; nothing in memory.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) connection: Connection,
    pub(super) identity: Option<Identity>,
}

impl Place {
    /// The file that is there now. One that is gone is a database out of reach, whatever connections still have open.
    pub(super) fn identity(&self) -> Result<Option<Identity>, Error> {
        let Place::File(path) = self else { return Ok(None) };
        let file =
            std::fs::metadata(path).map_err(|error| Error::Unavailable(format!("the SQLite file {path:?} cannot be opened: {error}")))?;
        Ok(Some(Identity { device: file.dev(), number: file.ino() }))
    }
}
