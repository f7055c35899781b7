//! Everything at rest: runs rendered statements on PostgreSQL or SQLite, turns rows into JSON bytes, and keeps our own records.

pub mod accounts;
pub mod apps;
mod assemble;
pub mod check;
pub mod clients;
pub mod codes;
mod database;
mod decimal;
mod encode;
pub mod endings;
pub mod error;
pub mod events;
pub mod failures;
pub mod families;
mod holding;
pub mod introspect;
pub mod links;
pub mod outages;
pub mod overview;
mod postgres;
pub mod purge;
pub mod records;
pub mod replica_state;
pub mod rights;
pub mod roles;
pub mod run;
pub mod schema;
pub mod sessions;
mod settings;

pub mod signing_keys;
mod sqlite;
pub mod tenants;

pub use database::{Answer, Database};
pub use error::Error;
pub use records::changes;
pub use run::Chunks;
pub use settings::{DatabaseSettings, Mapping, Prepare};
pub use sqlite::fill::{Cell, NewFile};
