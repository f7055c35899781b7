//! The binary itself: boot and its faults, signals, logs and the command line.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod administration;
mod backup;
mod boot;
mod check;
mod cluster;
mod dashboard;
mod demo;
mod explain;
mod hub;
mod hub_fixture;
mod introspect;
mod keys;
mod killed;
mod logs;
mod lost_answers;
mod memory;
mod outage;
mod pipes;
mod program;
mod ready;
mod redis;
mod refused_servers;
mod reload;
mod replicas;
mod satellite;
mod schema;
mod show;
mod signals;
mod silent_host;
mod slow_statements;
mod standby;
#[path = "../support/mod.rs"]
mod support;
mod tls;
mod traces;
mod truncated_file;
mod unfilled_view;
mod untouched;
mod write_role;
