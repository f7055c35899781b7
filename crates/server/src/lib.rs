//! The outer ring: HTTP, the command line and the environment around the query engine.

// The compiler proves of the future of a whole request that it can move between threads, layer by layer.
#![recursion_limit = "256"]

mod accept;
pub mod administration;
mod admission;
pub mod app_files;
mod ask;
pub mod auth;
mod body;
pub mod boot;
pub mod boot_error;
pub mod budget;
pub mod chance;
pub mod cli;
pub mod config;
pub mod demo;
pub mod error;
pub mod explain;
pub mod graphql;
mod html;
pub mod hub;
mod key_pair;
pub mod listen;
pub mod metrics;
pub mod openapi;
mod operations;
mod pages;
pub mod peer;
pub mod reader;
pub mod rest;
pub mod router;
pub mod satellite;
mod sender;
mod service;
mod tagged;
pub mod telemetry;
mod unread;
mod validation;
mod verb;

pub use service::Service;
