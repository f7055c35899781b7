//! HTTP, the command line and the environment around the query engine. `tests/module_order.rs` lists the modules from bottom to top.

// The compiler proves layer by layer that the future of a request is Send.
#![recursion_limit = "256"]

mod admin_operations;
pub mod administration;
pub mod app_files;
mod app_state;
pub mod authenticator;
pub mod boot;
pub mod boot_error;
pub mod budget;
pub mod caller;
pub mod cli;
pub mod clock;
pub mod config;
pub mod demo;
pub mod graphql;
mod html;
pub mod http;
pub mod hub;
mod key_files;
pub mod listen;
pub mod logging;
pub mod metrics;
mod mutex;
pub mod openapi;
mod pages;
pub mod problem;
pub mod query_service;
pub mod random;
pub mod reload;
mod response;
pub mod rest;
pub mod router;
pub mod satellite;
pub mod slow_statements;
pub mod traces;

pub use app_state::AppState;
