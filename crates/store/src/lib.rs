//! Everything at rest: runs rendered statements on PostgreSQL or SQLite and turns rows into JSON bytes.

mod assemble;
pub mod check;
mod decimal;
mod encode;
pub mod error;
pub mod introspect;
mod postgres;
pub mod run;
pub mod schema;
mod sqlite;

pub use error::Error;
pub use run::{Answer, Chunks, Database, DatabaseSettings};
