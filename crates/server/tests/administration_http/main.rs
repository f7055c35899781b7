//! The administration of a hub over REST and GraphQL, on both databases: what each operation does, what it refuses, and what nobody can
//! make it do.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod audit;
mod descriptions;
mod desk;
mod escalation;
mod faults;
mod operations;
mod permission;
#[path = "../support/mod.rs"]
mod support;
#[path = "../hub/test_hub.rs"]
mod test_hub;
