//! Writes over real HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod create;
mod descriptions;
mod equal_values;
mod faults;
mod fixture;
mod foreign_keys;
mod graphql;
mod many;
mod one;
mod process;
mod reach;
mod refusals;
mod strictness;
#[path = "../support/mod.rs"]
mod support;
mod unique_indexes;
