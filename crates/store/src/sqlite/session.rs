//! Sets up each connection to a SQLite file: lock timeout, memory mapping, page cache, and temporary files.

use std::sync::OnceLock;
use std::time::Duration;

use rusqlite::Connection;

use crate::settings::{DatabaseSettings, Mapping};

/// How much of a file is mapped into memory, if mapping is on.
const MAPPED_BYTES: usize = 256 * 1024 * 1024;
const MIN_PAGE_CACHE: usize = 256 * 1024;

#[derive(Clone, Copy, Debug)]
pub(super) struct Session {
    pub(super) lock_timeout: Duration,
    mapping: Mapping,
    /// In bytes. A sort uses as much again before it spills to disk.
    page_cache: usize,
    temporary: Temporary,
}

/// Where SQLite sorts rows that do not fit the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Temporary {
    Files,
    /// No folder for temporary files was found.
    Memory,
}

impl Session {
    pub(super) fn new(settings: &DatabaseSettings) -> Self {
        Session {
            lock_timeout: settings.lock_timeout.min(settings.timeout),
            mapping: settings.mapping,
            page_cache: (settings.page_cache / settings.pool.max(1)).max(MIN_PAGE_CACHE),
            temporary: Temporary::detect(),
        }
    }

    pub(super) fn apply(&self, connection: &Connection) -> rusqlite::Result<()> {
        connection.busy_timeout(self.lock_timeout)?;
        let mapped = match self.mapping {
            Mapping::Off => 0,
            Mapping::On => MAPPED_BYTES,
        };
        let temporary = self.temporary.word();
        // A negative size is in KiB.
        let cache = self.page_cache / 1024;
        connection.execute_batch(&format!(
            "PRAGMA query_only = ON; PRAGMA temp_store = {temporary}; PRAGMA mmap_size = {mapped}; PRAGMA cache_size = -{cache}; PRAGMA trusted_schema = OFF;"
        ))
    }
}

impl Temporary {
    fn word(self) -> &'static str {
        match self {
            Temporary::Files => "FILE",
            Temporary::Memory => "MEMORY",
        }
    }

    fn detect() -> Self {
        static FOUND: OnceLock<Temporary> = OnceLock::new();
        *FOUND.get_or_init(|| Temporary::of(spill()))
    }

    fn of(spilled: rusqlite::Result<()>) -> Self {
        let Err(error) = spilled else { return Temporary::Files };
        tracing::warn!(
            %error,
            "SQLite finds no folder for temporary files, so large sorts use memory; set SQLITE_TMPDIR or TMPDIR to a folder that this process can write to"
        );
        Temporary::Memory
    }
}

fn spill() -> rusqlite::Result<()> {
    let connection = Connection::open_in_memory()?;
    connection.execute_batch("PRAGMA temp_store = FILE; PRAGMA cache_size = 1;")?;
    let rows = "WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 32)";
    connection.query_row(&format!("{rows} SELECT randomblob(65536) AS x FROM n ORDER BY x"), [], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(connection: &Connection, pragma: &str) -> i64 {
        connection.query_row(&format!("PRAGMA {pragma}"), [], |row| row.get(0)).expect("a number")
    }

    #[test]
    fn without_a_folder_for_temporary_files_sorts_stay_in_memory() {
        let error = rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_IOERR_GETTEMPPATH), None);
        assert_eq!(Temporary::of(Err(error)), Temporary::Memory);
        assert_eq!(Temporary::detect(), Temporary::Files, "there is one here");
    }

    #[test]
    fn connections_share_the_page_cache_and_map_nothing_by_default() {
        let connection = Connection::open_in_memory().expect("a database");
        for (pool, kibibytes) in [(16, 4_096), (1, 65_536), (1_000, 256)] {
            let settings = DatabaseSettings { pool, ..DatabaseSettings::default() };
            Session::new(&settings).apply(&connection).expect("set up");
            assert_eq!(asked(&connection, "cache_size"), -kibibytes, "{pool}");
            // 1 is FILE.
            assert_eq!(asked(&connection, "temp_store"), 1);
        }
    }
}
