//! The administration of a hub over REST and GraphQL, on both databases: operations, refusals and attacks.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod admin_hub;
mod audit;
mod descriptions;
mod escalation;
mod faults;
mod operations;
mod permission;
#[path = "../hub/stage.rs"]
mod stage;
#[path = "../support/mod.rs"]
mod support;
