//! The settings of a database.

use std::time::Duration;

#[derive(Clone, Copy, Debug)]
pub struct DatabaseSettings {
    pub pool: usize,
    /// How many connections change rows of resources. SQLite has one.
    pub write_pool: usize,
    /// How many more connections for writes are reserved for other callers, if one caller uses the whole `write_pool`.
    pub reserved_for_writes: usize,
    /// How many more connections are reserved for account lookups and health checks.
    pub reserved: usize,
    pub timeout: Duration,
    /// How long a statement waits for a SQLite file that another process locks, at most `timeout`.
    pub lock_timeout: Duration,
    pub prepare: Prepare,
    pub stall_timeout: Duration,
    /// How long a stream may take in all, including waits for its reader.
    pub stream_timeout: Duration,
    /// The highest cost of a statement by PostgreSQL's estimate; no limit without one.
    pub max_cost: Option<f64>,
    /// How long an abandoned statement on PostgreSQL may take before it is cancelled. Most end sooner, and cancelling closes the connection.
    pub abandoned_timeout: Duration,
    /// How many bytes of rows an answer holds at once, and as many again of related rows. The rest is read in portions.
    pub memory: usize,
    pub mapping: Mapping,
    /// The page cache of all SQLite connections together, in bytes. A sort uses as much as its connection before it spills to disk.
    pub page_cache: usize,
}

impl Default for DatabaseSettings {
    fn default() -> Self {
        let seconds = Duration::from_secs(30);
        DatabaseSettings {
            pool: 16,
            write_pool: 4,
            reserved_for_writes: 0,
            reserved: 0,
            timeout: seconds,
            lock_timeout: Duration::from_secs(5),
            prepare: Prepare::On,
            stall_timeout: seconds,
            stream_timeout: Duration::from_secs(600),
            max_cost: None,
            abandoned_timeout: Duration::from_millis(30),
            memory: 8 * 1024 * 1024,
            mapping: Mapping::Off,
            page_cache: 64 * 1024 * 1024,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Prepare {
    /// By name, and cached.
    On,
    /// Unnamed, every time: for poolers that share sessions.
    Off,
}

/// Large reads from a mapped file take two thirds of the time, but truncating the file during a read kills the process by a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mapping {
    Off,
    On,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PoolFigures {
    pub in_use: usize,
    pub idle: usize,
    pub waiting: usize,
}

/// What the newest attempt to connect to a database found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reachability {
    /// It answered, or nobody has asked yet.
    #[default]
    Reachable,
    Unreachable,
    /// It is not what `target_session_attrs` asks for.
    OtherRole,
}

/// What is known of one address of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostFigures {
    pub host: String,
    pub answers: bool,
    /// Whether the newest connection to a primary leads there; none if the DSN asks for none.
    pub is_primary: Option<bool>,
}
