//! A satellite over HTTP with a real hub and with a fake one: logins, tokens, accounts, outages and attacks.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod docs_page;
#[path = "../../examples/embed.rs"]
#[allow(dead_code, unreachable_pub)]
mod embed;
mod embedded;
mod fake_hub;
mod hub_answers;
mod login;
mod nginx;
mod outages;
mod pages;
mod pair;
mod partial_outages;
mod rate_limits;
mod replicas;
mod requests;
#[path = "../support/mod.rs"]
mod support;
#[path = "../hub/test_hub.rs"]
#[allow(dead_code)]
mod test_hub;
