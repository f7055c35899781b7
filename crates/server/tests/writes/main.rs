//! Writes over real HTTP, on both databases.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod create;
mod descriptions;
mod equal_values;
mod faults;
mod fixture;
mod graphql;
mod many;
mod one;
mod process;
mod reach;
mod refusals;
#[path = "../support/mod.rs"]
mod strictness;
mod support;
