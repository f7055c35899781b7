//! Fairness between callers: one floods, another one queries.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::support::{Backend, Database, Setup, post};
use crate::{MANIFEST, OTHER};

const SLOW: &str = r#"
[resource.shop.slow]
table = "slow"
plural = "slow"

[resource.shop.slow.fields]
id = { type = "int", key = true }
"#;

// attack 51, contract E9.3
#[tokio::test]
async fn a_flood_of_one_caller_hardly_delays_another() {
    let script = "CREATE TABLE items (id integer PRIMARY KEY, label text NOT NULL);
                  INSERT INTO items VALUES (1, 'one');
                  CREATE VIEW slow AS SELECT 1::int AS id FROM pg_sleep(0.2);";
    let database = Database::with(Backend::Postgres, script).await;
    let server = Setup::new(&format!("{MANIFEST}{SLOW}")).pool(4).serve(&database).await;
    let address = server.address;
    let answered = Arc::new(AtomicUsize::new(0));
    let flood: Vec<_> = (0..60)
        .map(|_| {
            let answered = answered.clone();
            tokio::spawn(async move {
                let answer = post("/api/shop/slow/list", r#"{"query":{"limit":1}}"#).send(address).await;
                answered.fetch_add(1, Ordering::Relaxed);
                answer.status()
            })
        })
        .collect();
    crate::support::until("the flood waits", async || server.metrics_text().contains("peristyle_budget_used{budget=\"statements\"} 3"))
        .await;
    for _ in 0..10 {
        let other = post("/api/shop/items/list", r#"{"query":{"limit":1}}"#).send_from(OTHER, address).await;
        assert_eq!(other.status(), 200);
    }
    let before = answered.load(Ordering::Relaxed);
    assert!(before < 40, "ten answers took as long as {before} of the flood");
    let mut statuses = Vec::new();
    for request in flood {
        statuses.push(request.await.expect("an answer"));
    }
    assert!(statuses.iter().all(|status| matches!(status, 200 | 503)), "{statuses:?}");
    assert!(statuses.iter().filter(|status| **status == 200).count() >= 30, "{statuses:?}");
}
