//! Prepared statements: their number, their renewal after a change of a table, and `prepare` off.

use serde_json::{Value, json};
use store::Prepare;

use crate::support::{Server, Setup};
use crate::{MANIFEST, database};

/// A resource with the prepared statements of the session.
const PREPARED: &str = "\n[resource.shop.statement]\ntable = \"prepared\"\n[resource.shop.statement.fields]\nname = \"text\"\n";
const VIEW: &str = "CREATE VIEW prepared AS SELECT name FROM pg_prepared_statements";

async fn prepared(server: &Server) -> i64 {
    let page = server.post("/api/shop/statements/paginate", r#"{"query":{"limit":1000}}"#).await.good();
    page["total"].as_i64().expect("a total")
}

async fn every_operation(server: &Server, when: &str) {
    let items = async |operation: &str, body: &str| {
        let answer = server.post(&format!("/api/shop/items/{operation}"), body).await;
        assert_eq!(answer.status(), 200, "{when}: {operation} {body} {}", answer.text());
        answer.json()
    };
    let deep = r#"{"query":{"where":{"id":{"in":[1,2,3]}},"order":[{"field":"id"}],"relations":{"parts":{"order":[{"field":"id"}],"limit":1}},"limit":2}}"#;
    assert_eq!(items("paginate", deep).await["total"], 3);
    assert_eq!(items("list", deep).await[1]["parts"][0]["itemId"], 2);
    assert_eq!(items("find", deep).await["id"], 1);
    assert_eq!(items("find/7", "").await["label"], "item 7");
    assert_eq!(items("list", r#"{"query":{"where":{"parts":{"name":{"iLike":"PART 7"}}}}}"#).await.as_array().map(Vec::len), Some(1));
    assert_eq!(items("list", "{}").await.as_array().map(Vec::len), Some(2000));
    let streamed = items("list", r#"{"query":{"relations":{"parts":true}}}"#).await;
    let parts = |row: &Value| row["parts"].as_array().map_or(0, Vec::len);
    assert_eq!(streamed.as_array().expect("rows").iter().map(parts).sum::<usize>(), 4000);
    let groups = items("list", r#"{"query":{"aggregation":{"fields":[{"fn":"count","field":"parts.id"}]}}}"#).await;
    assert_eq!(groups, json!([{"count_parts_id": 4000}]));
}

// contract B1.6
#[tokio::test]
async fn with_prepare_off_all_operations_work_without_prepared_statements() {
    let database = database().await;
    database.execute(VIEW).await;
    let mut setup = Setup::new(&format!("{MANIFEST}{PREPARED}")).pool(1);
    setup.database.prepare = Prepare::Off;
    let server = setup.serve(&database).await;
    for round in ["first", "second"] {
        every_operation(&server, round).await;
    }
    assert_eq!(prepared(&server).await, 0);
    let server = Setup::new(&format!("{MANIFEST}{PREPARED}")).pool(1).serve(&database).await;
    every_operation(&server, "at first").await;
    assert!(prepared(&server).await > 3, "with prepare on, statements are kept");
}

// contract Q14.5
#[tokio::test]
async fn a_long_statement_is_not_kept_as_a_prepared_statement() {
    let database = database().await;
    database.execute(VIEW).await;
    let server = Setup::new(&format!("{MANIFEST}{PREPARED}")).pool(1).serve(&database).await;
    // The first call prepares the statement that counts.
    prepared(&server).await;
    let before = prepared(&server).await;
    let leaves: Vec<Value> = (0..800).map(|number| json!({"id": {"eq": number + 1}})).collect();
    let long = json!({"or": leaves});
    let requests = [
        ("list", json!({"query": {"where": long, "limit": 1000}})),
        ("list", json!({"query": {"where": long}})),
        ("list", json!({"query": {"where": {"id": {"lte": 800}}, "relations": {"parts": {"where": {"or": leaves}}}}})),
        ("list", json!({"query": {"where": {"id": {"lte": 800}}, "relations": {"parts": {"where": {"or": leaves}}}, "limit": 1000}})),
    ];
    for (operation, body) in requests {
        for _ in 0..2 {
            let rows = server.post(&format!("/api/shop/items/{operation}"), body.to_string()).await.good();
            assert_eq!(rows.as_array().map(Vec::len), Some(800), "{operation}");
        }
    }
    for _ in 0..3 {
        let page = server.post("/api/shop/items/paginate", json!({"query": {"where": long, "limit": 2}}).to_string()).await.good();
        assert_eq!((&page["total"], &page["count"]), (&json!(800), &json!(2)));
    }
    let after = prepared(&server).await;
    // Only the short statement of the root level is kept.
    assert_eq!(after, before + 1);
}

// contract Q14.5, contract Q14.2
#[tokio::test]
async fn a_thousand_shapes_leave_at_most_256_prepared_statements() {
    let database = database().await;
    database.execute(VIEW).await;
    let server = Setup::new(&format!("{MANIFEST}{PREPARED}")).pool(1).serve(&database).await;
    let leaves = [
        json!({"id": {"gt": 0}}),
        json!({"id": {"lt": 9}}),
        json!({"id": {"ne": 5}}),
        json!({"id": {"in": [1, 2]}}),
        json!({"label": {"iLike": "item%"}}),
        json!({"label": {"ne": "x"}}),
        json!({"label": {"isNull": false}}),
        json!({"at": {"gt": "2000-01-01"}}),
        json!({"at": {"isNull": false}}),
        json!({"plainAt": {"lt": "2100-01-01"}}),
    ];
    for mask in 1_usize..1001 {
        let chosen: Vec<&Value> = leaves.iter().enumerate().filter(|(bit, _)| mask >> bit & 1 == 1).map(|(_, leaf)| leaf).collect();
        let body = json!({"query": {"where": {"and": chosen}, "limit": 1}}).to_string();
        server.post("/api/shop/items/list", body).await.good();
    }
    let count = prepared(&server).await;
    assert!((200..=256).contains(&count), "{count}");
    // Other values and longer lists have the same SQL text.
    for length in 1..40 {
        let ids: Vec<i32> = (0..length).collect();
        server.post("/api/shop/items/list", json!({"query": {"where": {"id": {"in": ids}}, "limit": 1}}).to_string()).await.good();
    }
    assert!(prepared(&server).await <= 256);
}

/// A resource with the number of executions of each statement. The server counts them where this is on.
const RUNS: &str = "\n[resource.shop.run]\ntable = \"runs\"\n[resource.shop.run.fields]\ntext = \"text\"\ntimes = \"int\"\n";
const RUNS_VIEW: &str = "CREATE EXTENSION pg_stat_statements;
    DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET pg_stat_statements.track = top', current_database()); END $$;
    CREATE VIEW runs AS SELECT query AS text, calls::integer AS times FROM pg_stat_statements
    WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())";

// contract E1.2
#[tokio::test]
async fn a_total_is_counted_only_if_the_page_does_not_imply_it() {
    let database = database().await;
    database.execute(RUNS_VIEW).await;
    let server = Setup::new(&format!("{MANIFEST}{RUNS}")).pool(1).serve(&database).await;
    let page = async |limit: u32, offset: u32| {
        let body = json!({"query": {"where": {"id": {"lte": 7}}, "limit": limit, "offset": offset}}).to_string();
        let page = server.post("/api/shop/items/paginate", body).await.good();
        (page["total"].as_i64().expect("a total"), page["count"].as_i64().expect("a count"))
    };
    let counted = async || {
        let body = r#"{"query":{"where":{"text":{"iLike":"SELECT count(%items%"}}}}"#;
        let runs = server.post("/api/shop/runs/list", body).await.good();
        runs.as_array().expect("rows").iter().map(|run| run["times"].as_i64().expect("a number")).sum::<i64>()
    };
    // A page that is not full implies the total.
    assert_eq!((page(10, 0).await, counted().await), ((7, 7), 0));
    assert_eq!((page(10, 3).await, counted().await), ((7, 4), 0));
    // A full page does not. The next page then sends its total along, even if it turns out to be short.
    assert_eq!((page(5, 0).await, counted().await), ((7, 5), 1));
    assert_eq!((page(5, 1).await, counted().await), ((7, 5), 2));
    assert_eq!((page(5, 5).await, counted().await), ((7, 2), 3));
    assert_eq!((page(5, 5).await, counted().await), ((7, 2), 3));
    // An empty page after an offset implies nothing.
    assert_eq!((page(5, 50).await, counted().await), ((7, 0), 4));
    assert_eq!((page(5, 50).await, counted().await), ((7, 0), 5));
}

// contract Q14.3
#[tokio::test]
async fn a_prepared_statement_survives_a_change_of_its_table() {
    let database = database().await;
    let server = Setup::new(MANIFEST).pool(1).serve(&database).await;
    every_operation(&server, "at first").await;
    for change in [
        "ALTER TABLE items ADD COLUMN extra text; ALTER TABLE parts ADD COLUMN extra text",
        "ALTER TABLE items ALTER COLUMN label TYPE text; ALTER TABLE parts ALTER COLUMN name TYPE text",
        "ALTER TABLE items ALTER COLUMN label TYPE varchar(50)",
        "ALTER TABLE parts ALTER COLUMN name TYPE varchar(50)",
        "DROP INDEX parts_of_item",
        "CREATE INDEX parts_of_item ON parts (item_id, id); ANALYZE",
        "ALTER TABLE parts RENAME TO old; CREATE TABLE parts AS SELECT id, item_id, name::text AS name FROM old; DROP TABLE old",
    ] {
        database.execute(change).await;
        every_operation(&server, change).await;
    }
}

// contract Q13.3, trap 10
#[tokio::test]
async fn the_time_zone_of_the_database_session_does_not_affect_answers() {
    let database = database().await;
    let server = Setup::new(MANIFEST).serve(&database).await;
    // The cluster runs in Asia/Kathmandu.
    for zone in ["Asia/Kathmandu", "America/St_Johns", "UTC"] {
        database.execute(&format!("ALTER DATABASE {} SET timezone = '{zone}'", database.name())).await;
        let fresh = Setup::new(MANIFEST).serve(&database).await;
        for server in [&server, &fresh] {
            let body = r#"{"query":{"where":{"at":{"eq":"2024-03-10T15:00:00.123456+05:45"},"plainAt":{"eq":"2024-03-10T09:15:00.5Z"},"id":{"lte":1}},"relations":{"parts":{"where":{"itemId":{"eq":1}}}}}}"#;
            let rows = server.post("/api/shop/items/list", body).await.good();
            assert_eq!(rows[0]["at"], "2024-03-10T09:15:00.123456Z", "{zone}");
            assert_eq!(rows[0]["plainAt"], "2024-03-10T09:15:00.5Z", "{zone}");
        }
    }
}
