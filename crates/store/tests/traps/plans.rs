//! How the databases run our texts: pages that meet, plans that use indexes, statements prepared once, totals not asked for.

use query::policy::{self, Viewer};
use query::sql::{Dialect, Level, Query, Source, Total};
use query::{parse, plan, sql};
use serde_json::{Value, json};
use store::run::Format;
use store::{Database, DatabaseSettings};

use crate::{answer, support};

const MANIFEST: &str = r#"
[resource.t.parent]
[resource.t.parent.fields]
id = { type = "int", key = true }
grade = { type = "int", null = false }
[resource.t.parent.relations]
children = { many = "t.child", on = { id = "parentId" } }

[resource.t.child]
table = "children"
soft-delete = "deletedAt"
[resource.t.child.fields]
id = { type = "int", key = true }
parentId = { type = "int", null = false }
grade = { type = "int", null = false }
deletedAt = "timestamp"
[resource.t.child.relations]
parent = { one = "t.parent", on = { parentId = "id" } }

[resource.t.prepared]
table = "prepared"
[resource.t.prepared.fields]
statement = "text"
uses = "bigint"
"#;

const POSTGRES: &str = "
CREATE TABLE parents (id int PRIMARY KEY, grade int NOT NULL);
CREATE TABLE children (id int PRIMARY KEY, parent_id int NOT NULL REFERENCES parents, grade int NOT NULL, deleted_at timestamptz);
INSERT INTO parents SELECT n, n % 7 FROM generate_series(1, 5000) n;
INSERT INTO children SELECT n, n % 5000 + 1, n % 3, NULL FROM generate_series(1, 20000) n;
CREATE INDEX ON children (parent_id);
CREATE EXTENSION pg_stat_statements;
DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET pg_stat_statements.track = top', current_database()); END $$;
CREATE VIEW prepared AS SELECT p.statement, s.calls AS uses FROM pg_prepared_statements p JOIN pg_stat_statements s ON s.query = p.statement
WHERE s.dbid = (SELECT oid FROM pg_database WHERE datname = current_database());
ANALYZE;";

const SQLITE: &str = "
CREATE TABLE parents (id INTEGER PRIMARY KEY, grade INTEGER NOT NULL);
CREATE TABLE children (id INTEGER PRIMARY KEY, parent_id INTEGER NOT NULL REFERENCES parents, grade INTEGER NOT NULL, deleted_at TEXT);
WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000) INSERT INTO parents SELECT n, n % 7 FROM n;
WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000) INSERT INTO children SELECT n, n % 5000 + 1, n % 3, NULL FROM n;
CREATE INDEX children_parent ON children (parent_id);
CREATE TABLE prepared (statement TEXT, uses INTEGER);
ANALYZE;";

pub(crate) fn planned(catalog: &query::catalog::Catalog, database: &Database, resource: &str, query: &Value) -> Query {
    let viewer = Viewer::operator();
    let entrance = policy::authorize_read(catalog, catalog.by_name(resource).expect("a resource"), &viewer).expect("a way in");
    let body = parse::body(json!({ "query": query }).to_string().as_bytes()).expect("a body");
    let plan = plan::plan(entrance, body.query, plan::Operation::Paginate, None).expect("a plan");
    sql::render(&plan, database.dialect())
}

/// trap 12, contract Q8.4: pages over an order that is not unique show every row once, at the root and in a relation.
#[tokio::test(flavor = "multi_thread")]
async fn pages_over_ties_neither_overlap_nor_skip() {
    let server = support::Postgres::with(POSTGRES).await;
    let file = support::Sqlite::with(SQLITE);
    for database in [support::open(&server.url), support::open(&file.url)] {
        let catalog = support::catalog(MANIFEST, &database).await;
        let (mut roots, mut children) = (Vec::new(), Vec::new());
        for page in 0..10 {
            let query = json!({ "where": { "id": { "lte": 100 } }, "order": [{ "field": "grade" }], "limit": 10, "offset": page * 10 });
            let rows = answer(&catalog, &database, "t.parent", &query).await.expect("a page");
            roots.extend(rows.as_array().expect("rows").iter().map(|row| row["id"].as_i64().expect("an id")));
            let node = json!({ "order": [{ "field": "grade", "dir": "desc" }], "limit": 1, "offset": page });
            let query = json!({ "where": { "id": { "eq": 7 } }, "relations": { "children": node } });
            let rows = answer(&catalog, &database, "t.parent", &query).await.expect("a page");
            let loaded = rows[0]["children"].as_array().expect("children").clone();
            children.extend(loaded.into_iter().map(|row| row["id"].as_i64().expect("an id")));
        }
        roots.sort_unstable();
        children.sort_unstable();
        assert_eq!(roots, (1..=100).collect::<Vec<_>>());
        assert_eq!(children, [6, 5_006, 10_006, 15_006]);
    }
    server.drop().await;
}

fn statements() -> Vec<(&'static str, Value)> {
    let ids: Vec<i32> = (1..40).collect();
    vec![
        ("t.parent", json!({ "where": { "id": { "in": ids } } })),
        ("t.parent", json!({ "where": { "id": { "between": [5, 9] }, "children": { "grade": { "eq": 1 } } } })),
        ("t.parent", json!({ "where": { "id": { "lte": 20 } }, "relations": { "children": true } })),
        (
            "t.parent",
            json!({ "where": { "id": { "lte": 20 } }, "relations": { "children": { "order": [{ "field": "id" }], "limit": 2 } } }),
        ),
        ("t.child", json!({ "where": { "id": { "lte": 20 } }, "order": [{ "field": "parent.grade" }], "limit": 5 })),
        ("t.child", json!({ "where": { "id": { "lte": 20 } }, "relations": { "parent": true } })),
    ]
}

pub(crate) fn levels(level: &Level) -> Vec<&Level> {
    std::iter::once(level).chain(level.children.iter().flat_map(|child| levels(&child.level))).collect()
}

/// trap 15, contract Q6.1: a relation filter is EXISTS, never IN or COUNT; a dot-path is a plain LEFT JOIN, never LATERAL.
#[tokio::test(flavor = "multi_thread")]
async fn relation_filters_are_exists_and_dot_paths_are_plain_joins() {
    let file = support::Sqlite::with(SQLITE);
    let database = support::open(&file.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let viewer = Viewer::operator();
    for dialect in [Dialect::Postgres, Dialect::Sqlite] {
        let text = |resource: &str, query: Value| {
            let entrance = policy::authorize_read(&catalog, catalog.by_name(resource).expect("a resource"), &viewer).expect("a way in");
            let body = parse::body(json!({ "query": query }).to_string().as_bytes()).expect("a body");
            let plan = plan::plan(entrance, body.query, plan::Operation::List, None).expect("a plan");
            sql::render(&plan, dialect).root.sql.text().to_owned()
        };
        let filter = text("t.parent", json!({ "where": { "children": { "grade": { "eq": 1 } } } }));
        assert!(
            filter.contains("EXISTS (SELECT 1 FROM \"children\"") && !filter.contains("count(") && !filter.contains(" JOIN "),
            "{filter}"
        );
        let order = text("t.child", json!({ "order": [{ "field": "parent.grade" }] }));
        assert!(order.contains(" LEFT JOIN \"parents\"") && !order.contains("LATERAL") && !order.contains("DISTINCT"), "{order}");
    }
}

/// trap 15, trap 17: a generic plan, made without looking at the values, still goes by the indexes.
#[tokio::test(flavor = "multi_thread")]
async fn generic_plans_use_the_indexes() {
    let server = support::Postgres::with(POSTGRES).await;
    let database = support::open(&server.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let client = support::connect(&server.url).await;
    client.batch_execute("SET plan_cache_mode = force_generic_plan; SET jit = off").await.expect("a setting");
    let mut scans = Vec::new();
    for (number, (resource, asked)) in statements().into_iter().enumerate() {
        let query = planned(&catalog, &database, resource, &asked);
        for (depth, level) in levels(&query.root).into_iter().enumerate() {
            let name = format!("s{number}_{depth}");
            let nulls = vec!["NULL"; level.sql.params().len()].join(", ");
            client.batch_execute(&format!("PREPARE {name} AS {}", level.sql.text())).await.expect("prepared");
            let call = if nulls.is_empty() { name } else { format!("{name}({nulls})") };
            let lines = client.query(&format!("EXPLAIN EXECUTE {call}"), &[]).await.expect("a plan");
            let plan: Vec<String> = lines.iter().map(|line| line.get(0)).collect();
            // A range may be half the table for all the generic plan knows: only what is reached by key must have its index.
            let by_key =
                level.sql.params().iter().any(|param| matches!(param.source, Source::Keys(_))) || asked["where"]["id"].get("in").is_some();
            if by_key && plan.iter().any(|line| line.contains("Seq Scan")) {
                scans.push(format!("{asked}\n  {}", plan.join("\n  ")));
            }
        }
    }
    drop((database, client));
    server.drop().await;
    assert!(scans.is_empty(), "{}", scans.join("\n"));
}

/// trap 15: on SQLite every level but the first, and every relation filter, searches by an index.
#[tokio::test(flavor = "multi_thread")]
async fn sqlite_searches_relations_by_their_indexes() {
    let file = support::Sqlite::with(SQLITE);
    let database = support::open(&file.url);
    let catalog = support::catalog(MANIFEST, &database).await;
    let mut scans = Vec::new();
    for (resource, asked) in statements() {
        let query = planned(&catalog, &database, resource, &asked);
        for (path, lines) in database.analyze(&query, store::run::PlanDetail::Figures).await.expect("a plan") {
            let scanned = |line: &&String| line.starts_with("SCAN t") || line.contains("AUTOMATIC");
            scans.extend(lines.iter().filter(scanned).map(|line| format!("{asked} {path}: {line}")));
        }
    }
    assert!(scans.is_empty(), "{}", scans.join("\n"));
}

/// trap 16, contract Q14.2: a shape is prepared once and used again, and a page that tells its own total asks for none.
#[tokio::test(flavor = "multi_thread")]
async fn statements_are_prepared_once_and_known_totals_are_not_asked_for() {
    let server = support::Postgres::with(POSTGRES).await;
    // One connection, so that the session can be asked what it has prepared.
    let settings = DatabaseSettings { pool: 1, ..DatabaseSettings::default() };
    let database = Database::open(&server.url, &settings).expect("the database opens");
    let catalog = support::catalog(MANIFEST, &database).await;
    let page = async |limit: u64, lowest: u64| {
        let query = planned(
            &catalog,
            &database,
            "t.parent",
            &json!({ "where": { "id": { "gt": lowest } }, "order": [{ "field": "id" }], "limit": limit }),
        );
        assert!(matches!(query.total, Total::Count(_)));
        match database.run(query, Format::Json).await.expect("a page") {
            store::Answer::Whole(bytes) | store::Answer::Page(bytes, _) => serde_json::from_slice::<Value>(&bytes).expect("JSON"),
            other => panic!("{other:?}"),
        }
    };
    let prepared = async || {
        let rows = answer(&catalog, &database, "t.prepared", &json!({})).await.expect("rows");
        let rows = rows.as_array().expect("rows").clone();
        let uses = |words: [&str; 2]| -> Vec<u64> {
            let texts =
                rows.iter().filter(|row| words.iter().all(|word| row["statement"].as_str().is_some_and(|text| text.contains(word))));
            texts.map(|row| row["uses"].as_u64().expect("a number")).collect()
        };
        (uses(["FROM \"parents\"", "ORDER BY"]), uses(["FROM \"parents\"", "count(*)"]))
    };
    for lowest in 4_990..4_997 {
        assert_eq!(page(20, lowest).await["total"], 5_000 - lowest);
    }
    let (pages, totals) = prepared().await;
    assert_eq!(pages, [7], "the page is prepared once and used seven times");
    assert!(totals.is_empty(), "a short page tells its own total");
    assert_eq!(page(2, 4_990).await["total"], 10);
    let (pages, totals) = prepared().await;
    assert_eq!((pages, totals), (vec![8], vec![1]), "a full page asks for the total");
    drop(database);
    server.drop().await;
}

/// A limit for each parent on SQLite: the first rows are found by their keys, where the file sees to it that there is one row for each.
#[tokio::test]
async fn a_limit_for_each_parent_ends_early_on_sqlite_where_keys_are_certain() {
    const TWO: &str = r#"
[resource.t.parent]
table = "parents"
plural = "parents"
[resource.t.parent.fields]
id = { type = "int", key = true }
[resource.t.parent.relations]
pairs = { many = "t.pair", on = { id = "parent" } }
loose = { many = "t.loose", on = { id = "parent" } }
[resource.t.pair]
table = "pairs"
plural = "pairs"
[resource.t.pair.fields]
parent = { type = "int", key = true }
code = { type = "text", key = true }
rank = "int"
[resource.t.loose]
table = "loose"
plural = "loose"
[resource.t.loose.fields]
parent = { type = "int", key = true }
code = { type = "text", key = true }
rank = "int"
"#;
    const ROWS: &str = "CREATE TABLE parents (id INTEGER PRIMARY KEY); INSERT INTO parents VALUES (1), (2), (3);
CREATE TABLE pairs (parent INTEGER NOT NULL, code TEXT NOT NULL COLLATE NOCASE, rank INTEGER);
CREATE UNIQUE INDEX pairs_key ON pairs (parent, code COLLATE BINARY);
INSERT INTO pairs VALUES (1, 'a', 3), (1, 'A', 1), (1, 'b', NULL), (2, 'a', 2), (2, 'c', 2), (2, 'B', 2);
CREATE TABLE loose AS SELECT * FROM pairs;";
    let file = support::Sqlite::with(ROWS);
    let database = support::open(&file.url);
    let catalog = support::catalog(TWO, &database).await;
    let asked = |relation: &str, limit: u64, offset: u64| {
        let order = json!([{ "field": "rank", "dir": "asc" }, { "field": "code", "dir": "asc" }]);
        json!({ "order": [{ "field": "id" }], "relations": { relation: { "order": order, "limit": limit, "offset": offset } } })
    };
    for (limit, offset) in [(1, 0), (2, 0), (2, 1), (5, 2), (0, 0)] {
        let told = async |relation: &str| {
            let rows = answer(&catalog, &database, "t.parent", &asked(relation, limit, offset)).await.expect("rows");
            rows.to_string().replace("loose", "pairs")
        };
        assert_eq!(told("pairs").await, told("loose").await, "{limit} {offset}");
    }
    let text =
        |relation: &str| planned(&catalog, &database, "t.parent", &asked(relation, 2, 0)).root.children[0].level.sql.text().to_owned();
    assert!(text("pairs").contains(" IN (SELECT ") && !text("pairs").contains("row_number"), "{}", text("pairs"));
    assert!(text("loose").contains("row_number"), "{}", text("loose"));
}
