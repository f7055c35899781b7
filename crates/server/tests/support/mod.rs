//! Shared by the tests of the server: fresh databases, a server in this process, an HTTP client that sees each chunk.
#![allow(dead_code, unused_imports, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod database;
pub mod http;
pub mod proxy;
pub mod server;
pub mod shop;

use std::time::{Duration, Instant};

pub use database::{BACKENDS, Backend, Database};
pub use http::{Request, Response, get, post};
pub use server::{Server, Setup};

/// How long a test waits for anything.
pub const DEADLINE: Duration = Duration::from_secs(60);

/// Polls until the condition holds; returns how long that took.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < DEADLINE, "timeout: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed()
}

/// A variable that `scripts/services` sets.
pub fn variable(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "scripts/services passes DSNs and ports in variables")]
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run ./scripts/test, or ./scripts/services cargo nextest run …"))
}
