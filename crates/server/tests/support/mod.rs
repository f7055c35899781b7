//! What the server's tests share: databases of their own, a server over real HTTP, and a client that sees every byte.
#![allow(dead_code, unused_imports, unreachable_pub, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

pub mod database;
pub mod http;
pub mod proxy;
pub mod server;
pub mod shop;

use std::time::{Duration, Instant};

pub use database::{Database, PLACES, Place};
pub use http::{Request, Response, get, post};
pub use server::{Server, Setup};

/// How long anything may take before a test gives up.
pub const DEADLINE: Duration = Duration::from_secs(20);

/// Asks again and again until the answer is yes, and says how long that took.
pub async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) -> Duration {
    let started = Instant::now();
    while !holds().await {
        assert!(started.elapsed() < DEADLINE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    started.elapsed()
}

/// A variable that `scripts/services` sets.
pub fn variable(name: &str) -> String {
    #[expect(clippy::disallowed_methods, reason = "tests learn where PostgreSQL is from scripts/services")]
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set: run ./scripts/test, or ./scripts/services cargo nextest run …"))
}
