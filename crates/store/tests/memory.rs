//! What an answer holds in memory while it is sent: little, however many rows are related to one, and however large rows are.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod support;

use futures_util::StreamExt;
use query::policy::{self, Viewer};
use query::{parse, plan, sql};
use store::run::Format;
use store::{Answer, Database, DatabaseSettings, Mapping};
use support::{Postgres, Sqlite, catalog, open, open_narrow};

const MANIFEST: &str = r#"
[resource.app.owner.fields]
id = { type = "int", key = true, null = false }

[resource.app.owner.relations]
items = { many = "app.item", on = { id = "ownerId" } }

[resource.app.item.fields]
id = { type = "int", key = true, null = false }
ownerId = "int"
label = "text"

[resource.app.item.relations]
owner = { one = "app.owner", on = { ownerId = "id" } }
parts = { many = "app.part", on = { id = "itemId" } }

[resource.app.part.fields]
id = { type = "int", key = true, null = false }
itemId = "int"

[resource.app.document.fields]
id = { type = "int", key = true, null = false }
ownerId = "int"
label = "text"

[resource.app.document.relations]
owner = { one = "app.owner", on = { ownerId = "id" } }
"#;

const ITEMS: usize = 44_000;
const DOCUMENTS: usize = 3_000;

/// Three owners, the second of whom owns nearly everything; and small documents with a hundred large ones among them.
fn script(text: &str, large: &str) -> String {
    format!(
        "CREATE TABLE owners (id integer PRIMARY KEY NOT NULL);
         CREATE TABLE items (id integer PRIMARY KEY NOT NULL, owner_id integer, label text);
         CREATE TABLE parts (id integer PRIMARY KEY NOT NULL, item_id integer);
         INSERT INTO owners VALUES (1), (2), (3);
         INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {ITEMS})
             SELECT n, CASE WHEN n > 5 THEN 2 ELSE 1 END, {text} FROM numbers;
         INSERT INTO parts SELECT id, id FROM items WHERE id < 1000;
         CREATE TABLE documents (id integer PRIMARY KEY NOT NULL, owner_id integer, label text);
         INSERT INTO documents SELECT id, id % 3 + 1, CASE WHEN id % {DOCUMENTS} BETWEEN 1500 AND 1599 THEN {large} ELSE 'small' END
             FROM items WHERE id <= {DOCUMENTS};
         CREATE INDEX items_of_owner ON items (owner_id);
         CREATE INDEX parts_of_item ON parts (item_id);"
    )
}

/// The bytes that this process has for itself.
fn held() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<usize>().expect("a number") * 1024
}

/// Runs a statement and lets its answer go by: its end, how many items it has, and how much more was held meanwhile than before.
async fn pass(database: &Database, (resource, operation): (&str, plan::Operation), body: &str, format: Format) -> (String, usize, usize) {
    let catalog = catalog(MANIFEST, database).await;
    let viewer = Viewer::new([], serde_json::Value::Null);
    let entrance = policy::authorize_read(&catalog, catalog.by_name(resource).expect("a resource"), &viewer).expect("entered");
    let statement = parse::body(body.as_bytes()).expect("a statement").query;
    let plan = plan::plan(entrance, statement, operation, None).expect("a plan");
    let before = held();
    let mut chunks = match database.run(sql::render(&plan, database.dialect()), format).await.expect("an answer") {
        Answer::Chunks(chunks) => chunks,
        other => panic!("{other:?} is not sent in pieces"),
    };
    let (mut most, mut items, mut end) = (0, 0, String::new());
    while let Some(chunk) = chunks.next().await {
        most = most.max(held().saturating_sub(before));
        end.push_str(std::str::from_utf8(&chunk.expect("a chunk")).expect("ASCII"));
        items += end.matches("\"label\":").count();
        // A word may be cut in two.
        end = end.split_off(end.len().saturating_sub(7));
    }
    (end, items, most)
}

const FLAT: &str = r#"{"query":{"relations":{"items":true}}}"#;
const DEEP: &str = r#"{"query":{"relations":{"items":{"relations":{"owner":true,"parts":true}}}}}"#;
const ONE: &str = r#"{"query":{"where":{"id":{"eq":2}},"relations":{"items":true},"limit":1}}"#;
const MOST: usize = 26 * 1024 * 1024;

async fn little_is_held(url: &str) {
    let database = open(url);
    for (operation, body, format, items, tail) in [
        (plan::Operation::List, FLAT, Format::Json, ITEMS, "]}]"),
        (plan::Operation::List, FLAT, Format::Lines, ITEMS, "]}\n"),
        (plan::Operation::List, DEEP, Format::Json, ITEMS, "]}]"),
        (plan::Operation::List, ONE, Format::Json, ITEMS - 5, "]}]"),
        (plan::Operation::Find, ONE, Format::Json, ITEMS - 5, "]}"),
        (plan::Operation::Paginate, ONE, Format::Json, ITEMS - 5, "al\":1}"),
    ] {
        let (end, found, most) = pass(&database, ("app.owner", operation), body, format).await;
        assert_eq!(found, items, "{operation:?} {body}");
        assert!(end.ends_with(tail), "{end}");
        assert!(most < MOST, "{operation:?} {body} held {most} bytes");
    }
    // The measure measures: without a limit it is all held at once.
    let (_, _, most) = pass(&open_narrow(url, usize::MAX), ("app.owner", plan::Operation::List), FLAT, Format::Json).await;
    assert!(most > MOST, "{most} bytes are not much");
}

/// Forty megabytes of large rows are held neither as rows of their own nor as rows with relations, of a list or of a page.
async fn few_large_rows_are_held(url: &str) {
    let database = open(url);
    for (operation, body, documents, tail) in [
        (plan::Operation::List, r#"{"query":{}}"#, DOCUMENTS, "}]"),
        (plan::Operation::List, r#"{"query":{"relations":{"owner":true}}}"#, DOCUMENTS, "}}]"),
        (plan::Operation::List, r#"{"query":{"order":[{"field":"id","dir":"desc"}],"offset":1400,"limit":1000}}"#, 1_000, "}]"),
        (plan::Operation::Paginate, r#"{"query":{"offset":1400,"limit":1000,"relations":{"owner":true}}}"#, 1_000, ":3000}"),
    ] {
        let (end, found, most) = pass(&database, ("app.document", operation), body, Format::Json).await;
        assert_eq!(found, documents, "{operation:?} {body}");
        assert!(end.ends_with(tail), "{end}");
        assert!(most < MOST, "{operation:?} {body} held {most} bytes");
        let (_, _, most) = pass(&open_narrow(url, usize::MAX), ("app.document", operation), body, Format::Json).await;
        assert!(most > MOST, "{most} bytes are not much");
    }
}

// contract E4.1
#[tokio::test(flavor = "multi_thread")]
async fn postgres_streams_large_answers_in_portions() {
    let database = Postgres::with(&format!("{} ANALYZE;", script("repeat('x', 1000)", "repeat('x', 400000)"))).await;
    few_large_rows_are_held(&database.url).await;
    little_is_held(&database.url).await;
    database.drop().await;
}

// contract E4.1
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_streams_large_answers_in_portions() {
    let database = Sqlite::with(&script("hex(zeroblob(500))", "hex(zeroblob(200000))"));
    few_large_rows_are_held(&database.url).await;
    little_is_held(&database.url).await;
}

/// How much more four sorts of a table of 60 MB may hold at once than none: their answers are read in portions, too.
const SORTED: usize = 96 * 1024 * 1024;

// contract E4.6, attack 74
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn sqlite_spills_large_sorts_to_disk() {
    let rows = "WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 60000)";
    let script = format!(
        "CREATE TABLE owners (id integer PRIMARY KEY NOT NULL); CREATE TABLE parts (id integer PRIMARY KEY NOT NULL, item_id integer);
         CREATE TABLE documents (id integer PRIMARY KEY NOT NULL, owner_id integer, label text);
         CREATE TABLE items (id integer PRIMARY KEY NOT NULL, owner_id integer, label text);
         INSERT INTO items {rows} SELECT n, n * 7919 % 60000, hex(zeroblob(500)) || n FROM numbers"
    );
    let file = Sqlite::with(&script);
    let database = open(&file.url);
    let catalog = catalog(MANIFEST, &database).await;
    let sorted = |descending: bool| {
        let dir = if descending { "desc" } else { "asc" };
        let viewer = Viewer::new([], serde_json::Value::Null);
        let entrance = policy::authorize_read(&catalog, catalog.by_name("app.item").expect("a resource"), &viewer).expect("entered");
        let body = format!(r#"{{"query":{{"order":[{{"field":"ownerId","dir":"{dir}"}}]}}}}"#);
        let statement = parse::body(body.as_bytes()).expect("a statement").query;
        let plan = plan::plan(entrance, statement, plan::Operation::List, None).expect("a plan");
        sql::render(&plan, database.dialect())
    };
    let before = held();
    let watch = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(true));
    let watched = watch.clone();
    let watcher = std::thread::spawn(move || {
        let mut most = 0;
        while watched.load(std::sync::atomic::Ordering::Relaxed) {
            most = most.max(held().saturating_sub(before));
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        most
    });
    let reads = (0..4).map(|number| {
        let query = sorted(number % 2 == 0);
        let database = &database;
        async move {
            let Answer::Chunks(mut chunks) = database.run(query, Format::Lines).await.expect("an answer") else { panic!("it is streamed") };
            let mut lines = 0;
            while let Some(chunk) = chunks.next().await {
                lines += chunk.expect("a chunk").split(|byte| *byte == b'\n').count() - 1;
            }
            lines
        }
    });
    let lines = futures_util::future::join_all(reads).await;
    watch.store(false, std::sync::atomic::Ordering::Relaxed);
    let most = watcher.join().expect("a measure");
    assert_eq!(lines, [60_000; 4]);
    assert!(most < SORTED, "four sorts held {most} bytes");
}

// contract B1.10
#[tokio::test(flavor = "multi_thread")]
async fn a_file_is_mapped_into_memory_only_if_mapping_is_on() {
    let file = Sqlite::with(&script("hex(zeroblob(500))", "'large'"));
    let path = file.url.trim_start_matches("sqlite://");
    for (mapping, expected) in [(Mapping::Off, false), (Mapping::On, true)] {
        let settings = DatabaseSettings { mapping, ..DatabaseSettings::default() };
        let database = Database::open(&file.url, &settings).expect("the database opens");
        let (_, items, _) = pass(&database, ("app.owner", plan::Operation::List), FLAT, Format::Json).await;
        assert_eq!(items, ITEMS);
        let mapped = std::fs::read_to_string("/proc/self/maps").expect("Linux").lines().any(|line| line.ends_with(path));
        assert_eq!(mapped, expected, "{mapping:?}");
    }
}
