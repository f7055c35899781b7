//! The hub over real HTTP, on both databases: grants, sign-in, sessions, keys, permission, and what attackers try.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod attacks;
mod authorize;
mod browser;
mod cookies;
mod endings;
mod grants;
mod lifetimes;
mod metadata;
mod openid;
mod pages;
mod patience;
mod races;
mod requests;
mod resources;
#[allow(dead_code)]
mod test_hub;
#[path = "../support/mod.rs"]
mod support;
mod throttling;
