//! Everything at rest: runs rendered statements on PostgreSQL or SQLite, turns rows into JSON bytes, and keeps our own records.

mod assemble;
pub mod check;
mod database;
mod decimal;
mod encode;
pub mod error;
pub mod hub_records;
pub mod introspect;
mod postgres;
pub mod run;
pub mod schema;
mod settings;
pub mod shared;
mod sqlite;

pub use database::{Answer, Database};
pub use error::Error;
pub use run::Chunks;
pub use settings::{DatabaseSettings, Mapping, PoolFigures, Prepare};
pub use sqlite::fill::{Cell, NewFile};
