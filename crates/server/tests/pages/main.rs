//! The pages for people: which files there are, how they are guarded, and what each caller is shown.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod app;
mod files;
mod resources;
#[path = "../support/mod.rs"]
mod support;
