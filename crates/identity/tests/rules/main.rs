//! The identity rules, as sentences. Where a test stands for an attack of the hub's or a satellite's threat model it cites its number.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod account;
mod audit_event;
mod authorize;
mod bearer;
mod browser;
mod client;
mod code_grant;
mod keys;
mod password;
mod password_grant;
mod pkce;
mod properties;
mod refresh_grant;
mod satellite;
mod security_event;
mod session;
mod support;
mod throttle;
mod token;
mod token_request;
