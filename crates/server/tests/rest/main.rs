//! REST over real HTTP: operations, paths, bodies, headers and permissions.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bodies;
mod derived;
mod descriptions;
mod headers;
mod keyset;
mod operations;
mod paths;
mod permission;
#[path = "../support/mod.rs"]
mod support;
