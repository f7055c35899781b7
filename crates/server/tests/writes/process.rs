//! Writes at once, their connections, and what the operator sees of them.

use std::time::Duration;

use futures_util::future::join_all;
use query::policy::Viewer;
use serde_json::{Value, json};

use crate::fixture::{BOTH, CHIEF, MANIFEST, Shop, order, request, setup};
use crate::support::{Backend, Setup};

// contract W3.7
#[tokio::test(flavor = "multi_thread")]
async fn writes_of_the_same_rows_in_any_order_wait_and_do_not_fail() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let writes = (0..24).map(|index| {
            let mut ids = vec![1, 2, 3];
            ids.rotate_left(index % 3);
            if index % 2 == 0 {
                ids.reverse();
            }
            let list: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "note": index.to_string() })).collect();
            let body = match index % 3 {
                0 => json!({ "payload": list }),
                1 => json!({ "increment": { "big": 1 }, "query": { "where": { "id": { "in": ids } } } }),
                _ => json!({ "payload": { "note": "q" }, "query": { "where": { "id": { "in": ids } }, "order": [{ "field": "total", "dir": "desc" }], "limit": 3 } }),
            };
            let (request, address) = (request("orders/update", &body), shop.server.address);
            async move { request.send(address).await }
        });
        for response in join_all(writes).await {
            assert_eq!(response.status(), 200, "{backend:?} {}", response.text());
        }
        // Every change raised the version.
        let versions = shop.database.texts("SELECT version FROM orders WHERE id IN (1, 2, 3) ORDER BY id").await;
        assert_eq!(versions, ["25", "25", "25"], "{backend:?}");
    }
}

// contract W2.9, contract W2.7, contract W3.5
#[tokio::test(flavor = "multi_thread")]
async fn of_many_writers_of_one_version_one_wins() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let send = |path: &str, body: Value| {
            let (request, address) = (request(path, &body), shop.server.address);
            async move { request.send(address).await.status() }
        };
        let statuses = join_all((0..48).map(|index| send("orders/update/1", json!({ "payload": { "version": 1, "stock": index } })))).await;
        assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 1, "{backend:?} {statuses:?}");
        assert!(statuses.iter().all(|status| [200, 412].contains(status)), "{backend:?} {statuses:?}");
        let statuses = join_all((0..48).map(|_| send("orders/update/2", json!({ "increment": { "stock": 1 } })))).await;
        assert!(statuses.iter().all(|status| *status == 200), "{backend:?} {statuses:?}");
        assert_eq!(shop.database.texts("SELECT stock FROM orders WHERE id = 2").await, ["48"], "{backend:?}");
        let statuses = join_all((0..16).map(|_| send("orders/create", json!({ "payload": order("RC-1") })))).await;
        assert_eq!(statuses.iter().filter(|status| **status == 201).count(), 1, "{backend:?} {statuses:?}");
        assert!(statuses.iter().all(|status| [201, 409].contains(status)), "{backend:?} {statuses:?}");
    }
}

// contract W3.8
#[tokio::test(flavor = "multi_thread")]
async fn writes_have_connections_of_their_own() {
    let shop = Shop::with(Backend::Postgres, CHIEF).await;
    let mut client = shop.database.client().await;
    let lock = client.transaction().await.expect("a transaction");
    lock.execute("SELECT 1 FROM orders WHERE id = 1 FOR UPDATE", &[]).await.expect("a lock");
    // More writes than connections wait for the row, and reads go on.
    let waiting: Vec<_> = (0..6)
        .map(|_| {
            let (request, address) = (request("orders/update/1", &json!({ "increment": { "stock": 1 } })), shop.server.address);
            tokio::spawn(async move { request.send(address).await.status() })
        })
        .collect();
    crate::support::until("the writes wait", async || shop.database.sessions("wait_event_type = 'Lock'").await >= 1).await;
    for _ in 0..20 {
        assert_eq!(shop.send("orders/list", &json!({})).await.status(), 200);
    }
    lock.rollback().await.expect("the end of the lock");
    for write in waiting {
        assert_eq!(write.await.expect("an answer"), 200);
    }
}

// contract W3.8
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_readers_do_not_wait_for_a_writer() {
    let shop = Shop::with(Backend::Sqlite, CHIEF).await;
    let mut setup = Setup::new(MANIFEST);
    let account = json!({ "id": "77777777-7777-4777-8777-777777777777", "meta": { "tenant": "a" } });
    setup.viewer = Some(Viewer::new(CHIEF.iter().map(|&permission| permission.to_owned()), account));
    setup.database.lock_timeout = Duration::from_millis(100);
    let server = setup.serve(&shop.database).await;
    let path = shop.database.url.strip_prefix("sqlite://").expect("a path").to_owned();
    let other = rusqlite::Connection::open(path).expect("the file");
    other.execute_batch("BEGIN IMMEDIATE; UPDATE orders SET stock = 1 WHERE id = 1").expect("a transaction");
    let refused = server.send(&request("orders/update/1", &json!({ "payload": { "stock": 2 } }))).await;
    assert_eq!((refused.status(), refused.header("retry-after")), (503, Some("2")), "{}", refused.text());
    assert_eq!(server.post("/api/shop/orders/list", "{}").await.status(), 200);
    other.execute_batch("COMMIT").expect("the end");
    assert_eq!(server.send(&request("orders/update/1", &json!({ "payload": { "stock": 2 } }))).await.status(), 200);
}

// contract W3.11, contract W3.14, contract W3.15
#[tokio::test]
async fn explain_shows_each_statement_of_a_write_and_where_its_conditions_come_from() {
    for backend in BOTH {
        let permissions: Vec<&str> = crate::fixture::CLERK.iter().copied().chain(["peristyle.explain"]).collect();
        let shop = Shop::with(backend, &permissions).await;
        let before = shop.everything().await;
        let body = json!({
            "payload": { "customerId": 2 },
            "expect": { "stock": { "gt": 1 } },
            "constraint": { "where": { "number": { "iLike": "AA%" } } },
        });
        let explained = shop.good("orders/explain?operation=update&id=1", &body).await;
        let levels = explained["levels"].as_array().expect("levels");
        let paths: Vec<&str> = levels.iter().map(|level| level["path"].as_str().expect("a path")).collect();
        assert_eq!(paths, ["target", "scope", "expect", "change", "answer"], "{backend:?}");
        let sources: Vec<(&str, &str)> = levels
            .iter()
            .flat_map(|level| {
                let path = level["path"].as_str().expect("a path");
                level["predicates"].as_array().expect("predicates").iter().map(move |one| (path, one["source"].as_str().expect("a source")))
            })
            .collect();
        for expected in [
            ("target", "policy"),
            ("target", "constraint"),
            ("target", "query"),
            ("scope", "scope"),
            ("expect", "expect"),
            ("answer", "check"),
            ("answer", "reference"),
            ("answer", "policy"),
        ] {
            assert!(sources.contains(&expected), "{backend:?} {expected:?} in {sources:?}");
        }
        assert!(levels.iter().all(|level| !level["sql"].as_str().expect("sql").contains("AA%")), "no value is shown");
        for (query, body) in [
            ("operation=create", json!({ "payload": order("EX-1") })),
            ("operation=delete", json!({ "query": { "where": { "id": { "eq": 1 } } } })),
        ] {
            assert_eq!(shop.send(&format!("orders/explain?{query}"), &body).await.status(), 200, "{query}");
        }
        assert_eq!(shop.send("orders/explain?operation=restore&id=1", &json!({})).await.status(), 403, "the operation's own permission");
        assert_eq!(shop.send("orders/explain?operation=update&id=1", &json!({ "payload": { "nope": 1 } })).await.status(), 400);
        assert_eq!(shop.everything().await, before);
        for (query, message) in [
            ("operation=create&id=1", "takes no `id`"),
            ("operation=restore", "needs `id`"),
            ("operation=update&id=1&analyze=true", "`analyze` runs the statement, and a write is not run"),
            ("operation=paginate&id=1", "`id` names the row of a write"),
            ("id=1", "`id` names the row of a write"),
        ] {
            let problem = shop.send(&format!("orders/explain?{query}"), &json!({})).await.problem(400);
            assert!(problem["detail"].as_str().is_some_and(|detail| detail.contains(message)), "{problem}");
        }
        let of_version = request("orders/explain?operation=update&id=1", &json!({ "payload": { "stock": 1 } })).header("if-match", "\"1\"");
        let explained = shop.server.send(&of_version).await.json();
        assert!(explained["levels"].as_array().expect("levels").iter().any(|level| level["path"] == "expect"), "{explained}");
        shop.good("orders/update/1", &json!({ "payload": { "stock": 1 } })).await;
        shop.good("orders/update/1", &json!({ "payload": { "stock": 1 }, "dryRun": true })).await;
        _ = shop.send("orders/update/1", &json!({ "payload": { "nope": 1 } })).await;
        _ = shop.send("orders/update/5", &json!({ "payload": { "stock": 1 } })).await;
        _ = shop.send("orders/restore/1", &json!({})).await.problem(403);
        let metrics = shop.server.metrics_text();
        for line in [
            "peristyle_writes_total{resource=\"shop.order\",operation=\"update\",outcome=\"done\"} 1",
            "peristyle_writes_total{resource=\"shop.order\",operation=\"update\",outcome=\"NOT_FOUND\"} 1",
            "peristyle_writes_total{resource=\"shop.order\",operation=\"update\",outcome=\"dry-run\"} 1",
            "peristyle_writes_total{resource=\"shop.order\",operation=\"update\",outcome=\"INVALID_INPUT\"} 1",
            "peristyle_writes_total{resource=\"shop.order\",operation=\"restore\",outcome=\"FORBIDDEN\"} 1",
        ] {
            assert!(metrics.contains(line), "{line} in {metrics}");
        }
    }
}

// contract W2.16
#[tokio::test]
async fn the_related_rows_of_a_writes_answer_are_limited() {
    for backend in BOTH {
        let shop = Shop::with(backend, CHIEF).await;
        let mut setup = setup(CHIEF);
        setup.max_rows = Some(1);
        let server = setup.serve(&shop.database).await;
        let before = shop.everything().await;
        let items = json!({ "relations": { "items": true } });
        for (path, body) in [
            ("orders/update/1", json!({ "payload": { "stock": 7 }, "returning": items })),
            ("orders/delete/1", json!({ "returning": items })),
        ] {
            let problem = server.send(&request(path, &body)).await.problem(422);
            assert_eq!(problem["code"], json!("TOO_MANY_ROWS"), "{backend:?} {path}");
        }
        assert_eq!(shop.everything().await, before, "{backend:?}");
        // Rows of the write are not related rows.
        let several = json!({ "payload": { "stock": 7 }, "query": { "where": { "id": { "in": [1, 2, 3] } } } });
        assert_eq!(server.send(&request("orders/update", &several)).await.json()["count"], json!(3), "{backend:?}");
        let one = json!({ "payload": { "stock": 7 }, "returning": { "relations": { "items": { "limit": 1 }} } });
        assert_eq!(server.send(&request("orders/update/1", &one)).await.status(), 200, "{backend:?}");
    }
}

// contract W3.7
#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_waits_too_long_is_not_told_to_narrow_its_statement() {
    let shop = Shop::with(Backend::Postgres, CHIEF).await;
    let mut setup = setup(CHIEF);
    setup.database.timeout = Duration::from_millis(300);
    let server = setup.serve(&shop.database).await;
    let mut client = shop.database.client().await;
    let lock = client.transaction().await.expect("a transaction");
    lock.execute("SELECT 1 FROM orders WHERE id = 1 FOR UPDATE", &[]).await.expect("a lock");
    let problem = server.send(&request("orders/update/1", &json!({ "payload": { "stock": 7 } }))).await.problem(504);
    let detail = problem["detail"].as_str().expect("a detail");
    assert!(
        problem["code"] == "TIMEOUT"
            && detail.contains("another transaction")
            && detail.contains("Nothing was changed")
            && !detail.contains("where"),
        "{problem}"
    );
    lock.rollback().await.expect("the end of the lock");
    assert_eq!(shop.database.texts("SELECT stock FROM orders WHERE id = 1").await, ["5"]);
}
