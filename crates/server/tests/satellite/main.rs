//! A satellite over real HTTP, beside a real hub and beside a hub that lies: logins, tokens, accounts, outages, and what attackers try.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../examples/embed.rs"]
#[allow(dead_code, unreachable_pub)]
mod embed;
mod embedded;
mod floods;
mod health;
mod hub_answers;
mod liar;
mod login;
mod outages;
mod pages;
mod pair;
mod proxied;
mod replicas;
mod requests;
#[path = "../hub/test_hub.rs"]
#[allow(dead_code)]
mod test_hub;
#[path = "../support/mod.rs"]
mod support;
