//! The administration of a hub over REST and GraphQL, on both databases: operations, refusals and attacks.
#![allow(dead_code, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod admin_hub;
mod audit;
mod descriptions;
mod escalation;
mod faults;
mod operations;
mod payload;
mod permission;
#[path = "../support/mod.rs"]
mod support;
#[path = "../hub/test_hub.rs"]
mod test_hub;
