//! REST over real HTTP: operations, addresses, bodies, headers and permission.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod addresses;
mod bodies;
mod descriptions;
mod headers;
mod operations;
mod permission;
#[path = "../support/mod.rs"]
mod support;
