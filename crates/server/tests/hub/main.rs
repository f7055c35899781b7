//! The hub over HTTP, on both databases: grants, sign-in, sessions, keys, permissions and attacks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attacks;
mod authorize;
mod browser;
mod cookies;
mod grants;
mod lifetimes;
mod metadata;
mod openid;
mod page_token;
mod pages;
mod races;
mod requests;
mod resources;
mod revocation;
#[path = "../support/mod.rs"]
mod support;
#[allow(dead_code)]
mod test_hub;
mod throttling;
mod timeouts;
