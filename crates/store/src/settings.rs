//! How a database is used.

use std::time::Duration;

/// How a database is used.
#[derive(Clone, Copy, Debug)]
pub struct DatabaseSettings {
    /// How many connections.
    pub pool: usize,
    /// How many more are there for work that must not wait for statements: looking accounts up, and whether the database answers.
    pub reserved: usize,
    /// How long a statement may run.
    pub timeout: Duration,
    /// Whether PostgreSQL statements are prepared by name.
    pub prepare: Prepare,
    /// How long a reader of a streamed answer may take nothing before it is cut off.
    pub patience: Duration,
    /// How long a streamed answer may take in all, the waits for its reader included.
    pub stream_timeout: Duration,
    /// The highest cost, by PostgreSQL's own estimate, of a statement that is run; without one every statement is.
    pub max_cost: Option<f64>,
    /// How long a statement on PostgreSQL may take in all that nobody waits for any more, before it is cancelled. Most are over sooner, and
    /// to cancel one costs its connection, which is dearer than what is left of them. One that has taken longer is likely to go on.
    pub grace: Duration,
    /// How many bytes of rows an answer holds at once, and of related rows as many again; what is more is read in portions.
    pub memory: usize,
    /// Whether SQLite maps its file into memory.
    pub mapping: Mapping,
    /// How many bytes of pages the SQLite connections of a pool hold together. A sort holds as much as its connection before it goes to disk.
    pub page_cache: usize,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        let seconds = Duration::from_secs(30);
        DatabaseSettings {
            pool: 16,
            reserved: 0,
            timeout: seconds,
            prepare: Prepare::On,
            patience: seconds,
            stream_timeout: Duration::from_secs(600),
            max_cost: None,
            grace: Duration::from_millis(30),
            memory: 8 * 1024 * 1024,
            mapping: Mapping::Off,
            page_cache: 64 * 1024 * 1024,
        }
    }
}

/// Whether PostgreSQL statements are prepared by name and kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// Named, and kept.
    On,
    /// Unnamed, every time: behind a pooler that hands connections around.
    Off,
}

/// Whether SQLite maps its file into memory. Reads that touch many pages take two thirds of the time then; and a file that is cut short in
/// place, under a read, ends the process by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    /// Pages are read.
    Off,
    /// Pages are mapped.
    On,
}

/// What a pool of connections holds now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFigures {
    /// Connections that a request holds.
    pub in_use: usize,
    /// Open connections that nobody holds.
    pub idle: usize,
    /// Requests that wait for a connection.
    pub waiting: usize,
}
