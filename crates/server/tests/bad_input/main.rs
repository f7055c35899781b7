//! Invalid requests: always a 4xx that says what is wrong and where, never a 500, never a message of the database.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod garbage;
mod limits;
mod shapes;
#[path = "../support/mod.rs"]
mod support;
mod values;

use support::{BACKENDS, Database, Response, Server, shop};

/// The shop on both databases.
struct Both {
    servers: [Server; 2],
    _databases: [Database; 2],
}

impl Both {
    async fn open() -> Self {
        let (postgres, sqlite) = (shop::open(BACKENDS[0]).await, shop::open(BACKENDS[1]).await);
        Both { servers: [postgres.0, sqlite.0], _databases: [postgres.1, sqlite.1] }
    }

    /// The answer, which is the same on both databases and never a 5xx.
    async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Response {
        let body = body.as_ref();
        let shown = String::from_utf8_lossy(&body[..body.len().min(400)]).into_owned();
        let answers = [self.servers[0].post(path, body).await, self.servers[1].post(path, body).await];
        assert_eq!(answers[0].status(), answers[1].status(), "{shown}\n{}\n{}", answers[0].text(), answers[1].text());
        let [answer, other] = answers;
        assert!(answer.status() < 500, "{shown}: {}", answer.text());
        if answer.status() >= 400 {
            assert_eq!(answer.text(), other.text(), "{shown}");
            let text = answer.text().to_ascii_lowercase();
            for word in ["postgres", "sqlite", "syntax error", "relation \\\"", "panicked", "api_key", "apikey", "key-of", "customers_pkey"]
            {
                assert!(!text.contains(word) || shown.to_ascii_lowercase().contains(word), "{word} in {text}");
            }
        }
        answer
    }

    /// Checks that a query is refused with exactly this fault.
    async fn refused(&self, query: &str, code: &str, path: &str) {
        let answer = self.post("/api/shop/customers/list", format!("{{\"query\":{query}}}")).await;
        assert_eq!(answer.fault(), (code.to_owned(), path.to_owned()), "{query:.300}");
    }

    /// Checks that a query is accepted.
    async fn good(&self, query: &str) -> usize {
        let answer = self.post("/api/shop/customers/list", format!("{{\"query\":{query}}}")).await;
        answer.good().as_array().expect("rows").len()
    }
}
