//! Everything at rest: runs rendered statements on PostgreSQL or SQLite, turns rows into JSON bytes, and keeps our own records.

mod assemble;
pub mod check;
mod decimal;
mod encode;
pub mod error;
pub mod introspect;
mod postgres;
pub mod records;
pub mod run;
pub mod schema;
mod sqlite;

pub use error::Error;
pub use run::{Answer, Chunks, Database, DatabaseSettings};
