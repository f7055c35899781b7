//! A SQLite file that does not exist: who creates it, and what to do if nobody may.

use std::os::unix::fs::OpenOptionsExt;

use query::catalog::{Catalog, Resource};
use store::Database;

use crate::boot_error::BootError;
use crate::config::DEFAULT_DATABASE_URL;

/// What a command reads from the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    /// Tables that exist before this program runs.
    Tables,
    /// The records of a hub, which `migrate` and `serve` create.
    HubRecords,
}

pub(super) struct MissingFile<'u> {
    variable: &'u str,
    path: &'u str,
    /// Whether the variable is not set, as far as its value tells.
    is_default: bool,
}

impl<'u> MissingFile<'u> {
    /// The SQLite file of a URL, if it does not exist.
    pub(super) fn find(variable: &'u str, url: &'u str) -> Result<Option<Self>, BootError> {
        let Some(path) = Database::sqlite_path(url) else { return Ok(None) };
        match std::fs::metadata(path) {
            Ok(_) => Ok(None),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                Ok(Some(MissingFile { variable, path, is_default: url == DEFAULT_DATABASE_URL }))
            }
            Err(error) => Err(BootError(format!("{variable}: the SQLite file {path:?} cannot be opened: {error}"))),
        }
    }

    fn problem(&self) -> String {
        let MissingFile { variable, path, is_default } = self;
        let default = if *is_default { ", its default," } else { "" };
        format!("{variable}: the SQLite file {path:?}{default} does not exist")
    }

    /// Refuses it if the manifest declares tables in it: no command of this program creates those.
    pub(super) fn refuse_declared_tables(&self, catalog: &Catalog) -> Result<(), BootError> {
        if catalog.resources().iter().all(Resource::is_own) {
            return Ok(());
        }
        let problem = self.problem();
        Err(BootError(format!(
            "{problem}, and the manifest declares tables in it; set {} to the database with these tables",
            self.variable
        )))
    }

    pub(super) fn refuse(&self, content: Content) -> BootError {
        let (problem, variable) = (self.problem(), self.variable);
        BootError(match content {
            Content::Tables => {
                format!("{problem}; set {variable} to your database, such as postgres://user:password@localhost/shop or sqlite://shop.db")
            }
            Content::HubRecords => format!(
                "{problem}; set {variable} to the database of your hub, or create it: `peristyle migrate` does so, and `peristyle serve` too"
            ),
        })
    }

    /// Creates a file that other users cannot read, since it may hold password hashes.
    pub(super) fn create(&self) -> Result<(), BootError> {
        let MissingFile { variable, path, .. } = self;
        match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path) {
            Ok(_) => Ok(()),
            // Another process created it.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(BootError(format!("{variable}: the SQLite file {path:?} cannot be created: {error}"))),
        }
    }
}

/// Refuses a SQLite file that does not exist.
pub(crate) fn require(variable: &str, url: &str) -> Result<(), BootError> {
    MissingFile::find(variable, url)?.map_or(Ok(()), |missing| Err(missing.refuse(Content::Tables)))
}
