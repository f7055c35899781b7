//! `/docs` and app files: which files are served, with which headers, and what each caller sees.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod app;
mod files;
mod resources;
#[path = "../support/mod.rs"]
mod support;
mod writes;
