//! The outer ring: HTTP, the command line and the environment around the query engine.

pub mod administration;
mod ask;
pub mod auth;
mod body;
pub mod boot;
pub mod chance;
pub mod cli;
pub mod client;
pub mod config;
pub mod error;
pub mod explain;
pub mod graphql;
pub mod hub;
pub mod listen;
pub mod metrics;
pub mod openapi;
mod operations;
mod pages;
pub mod refusal;
pub mod rest;
pub mod router;
mod tagged;
pub mod telemetry;
