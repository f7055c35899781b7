//! A deliberately simple evaluator of the Query Statement: nested loops over rows in memory, three-valued logic as `Option<bool>`. The
//! differential test compares it with both databases. It shares no code with the product.

#![allow(clippy::expect_used, clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod aggregate;
mod answer;
mod calendar;
mod case;
mod cell;
mod compare;
mod decimal;
mod derived;
mod fault;
mod fixture;
mod generate;
mod load;
mod operator;
mod pattern;
mod policy;
mod random;
mod render;
mod schema;
mod session;
mod statement;
mod viewer;
mod world;
mod write;

pub use answer::{Answer, Operation, Question, answer, answer_in};
pub use case::{Case, Fault};
pub use compare::compare;
pub use fixture::script::{postgres_script, sqlite_script};
pub use fixture::viewers::{viewer, viewers};
pub use fixture::{MANIFEST, world};
pub use generate::Generator;
pub use random::Random;
pub use schema::{Derived, Field, FieldWrites, Kind, Mask, Relation, Resource, Rule, Schema, Through, Writes};
pub use viewer::Viewer;
pub use world::World;
pub use write::{Form, Moment, State, Table, WriteFault, WriteGenerator, WriteOutcome, WriteRequest, write};
pub use write::{
    WRITE_MANIFEST, cells, check_reach, state, twisted, write_postgres_reset, write_postgres_script, write_sqlite_reset,
    write_sqlite_script, write_viewer, write_viewers, write_world,
};
