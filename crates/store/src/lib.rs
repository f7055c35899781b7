//! The databases: runs statements on PostgreSQL or SQLite, encodes rows as JSON, and stores the hub's records and the replica state.

mod assemble;
pub mod check;
mod database;
mod decimal;
pub mod error;
pub mod hub_records;
pub mod introspect;
mod json_encoder;
mod postgres;
pub mod replica_state;
pub mod run;
pub mod schema;
mod settings;
mod sqlite;
mod writers;
pub mod writes;

pub use database::{Answer, Database};
pub use error::{Error, Refusal};
pub use postgres::ReplayPosition;
pub use run::Chunks;
pub use settings::{DatabaseSettings, HostFigures, Mapping, PoolFigures, Prepare, Reachability};
pub use sqlite::backup::{BackupError, BackupProgress, BackupStage, BackupStep, backup};
pub use sqlite::bulk_load::{BulkValue, NewFile};
pub use writers::Writers;
