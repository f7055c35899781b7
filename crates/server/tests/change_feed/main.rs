//! The change feed of a hub, and what satellites do with it: cached accounts, forged changes, heartbeats and outages.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod fake_feed;
mod feed;
mod fixture;
mod forged_changes;
mod heartbeats;
#[path = "../satellite/pair.rs"]
#[allow(dead_code)]
mod pair;
mod satellites;
#[path = "../support/mod.rs"]
mod support;
#[path = "../hub/test_hub.rs"]
#[allow(dead_code)]
mod test_hub;
