//! Writes over rows in memory: from a state, a viewer and a request to an answer and the next state.
//!
//! Written from part W of the contract. It knows no SQL: each rule is a loop over rows.

mod body;
mod change;
mod database;
mod dump;
mod fixture;
mod generate;
mod outcome;
mod reach;
mod transition;
mod twist;
mod value;

pub use database::Table;
pub use dump::{State, cells, state};
pub use fixture::{
    WRITE_MANIFEST, write_postgres_reset, write_postgres_script, write_sqlite_reset, write_sqlite_script, write_viewer, write_viewers,
    write_world,
};
pub use generate::WriteGenerator;
pub use outcome::{WriteFault, WriteOutcome};
pub use reach::check_reach;
pub use transition::write;
pub use twist::twisted;

use serde_json::Value;

/// The forms of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    Create,
    UpdateById,
    Update,
    DeleteById,
    Delete,
    RestoreById,
}

impl Form {
    pub fn operation(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::UpdateById | Self::Update => "update",
            Self::DeleteById | Self::Delete => "delete",
            Self::RestoreById => "restore",
        }
    }

    pub fn takes_id(self) -> bool {
        matches!(self, Self::UpdateById | Self::DeleteById | Self::RestoreById)
    }

    fn keys(self) -> &'static [&'static str] {
        match self {
            Self::Create => &["payload", "returning", "dryRun"],
            Self::UpdateById => &["payload", "increment", "expect", "constraint", "returning", "dryRun"],
            Self::Update => &["payload", "increment", "query", "all", "expect", "constraint", "returning", "dryRun"],
            Self::DeleteById => &["expect", "constraint", "returning", "dryRun"],
            Self::Delete => &["query", "all", "expect", "constraint", "returning", "dryRun"],
            Self::RestoreById => &["returning", "dryRun"],
        }
    }
}

/// A request of a viewer.
#[derive(Debug, Clone)]
pub struct WriteRequest {
    pub viewer: &'static str,
    pub resource: String,
    pub form: Form,
    /// The parts of the key in the path.
    pub id: Vec<String>,
    pub if_match: Option<String>,
    pub body: Value,
}

/// The values that a write takes from outside: the clock, random numbers, and the keys that a database made.
#[derive(Debug, Clone)]
pub struct Moment {
    /// A canonical timestamp.
    pub now: String,
    /// One for each `$uuid`, row by row.
    pub uuids: Vec<String>,
    /// One for each new row.
    pub keys: Vec<i64>,
}

impl std::fmt::Display for WriteRequest {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { viewer, resource, form, id, if_match, body } = self;
        write!(out, "{viewer}: {form:?} {resource} {id:?}")?;
        if let Some(version) = if_match {
            write!(out, " If-Match {version}")?;
        }
        write!(out, " {body}")
    }
}
