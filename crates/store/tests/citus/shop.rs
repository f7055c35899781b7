//! The same statements and writes on a plain database and on a distributed one: all answers and all rows are equal.

use oracle::{Form, Moment, WriteOutcome, WriteRequest};
use query::plan::Operation;
use query::policy::{Viewer, authorize_read};
use query::sql::{Dialect, Query};
use serde_json::{Value, json};
use store::run::Format;

use crate::cluster::DistributedDatabase;
use crate::support::writes::Place;
use crate::support::{self, Postgres};

const TABLES: &str = include_str!("shop.sql");
const DISTRIBUTION: &str = include_str!("distribution.sql");
const MANIFEST: &str = include_str!("shop.toml");
const STATEMENTS: &str = include_str!("statements.txt");
const WRITES: &str = include_str!("writes.txt");

/// The rows of a table, for a comparison.
const STORED: [&str; 4] = ["customers", "orders", "reviews", "products"];

struct Shops {
    plain: (Postgres, Place),
    distributed: (DistributedDatabase, Place),
}

impl Shops {
    async fn open() -> Self {
        let plain = Postgres::with(TABLES).await;
        support::connect(&plain.url).await.batch_execute("ANALYZE").await.expect("statistics");
        let distributed = DistributedDatabase::with(TABLES, DISTRIBUTION).await;
        let places = (Place::open(&plain.url, MANIFEST, 2).await, Place::open(&distributed.url, MANIFEST, 2).await);
        assert_eq!((places.0.database.dialect(), places.1.database.dialect()), (Dialect::Postgres, Dialect::Citus));
        Shops { plain: (plain, places.0), distributed: (distributed, places.1) }
    }

    async fn drop(self) {
        drop((self.plain.1, self.distributed.1));
        self.plain.0.drop().await;
        self.distributed.0.drop().await;
    }
}

/// The lines of a list, each in three parts.
fn lines(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str, Value)> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut parts = line.splitn(3, ' ');
        let mut part = || parts.next().unwrap_or_else(|| panic!("three parts: {line}"));
        (part(), part(), serde_json::from_str(part()).unwrap_or_else(|error| panic!("{error}: {line}")))
    })
}

fn planned(place: &Place, resource: &str, operation: &str, query: &Value) -> Query {
    let viewer = Viewer::operator();
    let resource = place.catalog.by_name(resource).expect("a resource");
    let access = authorize_read(&place.catalog, resource, &viewer).expect("the operator may read");
    let (operation, id) = match operation.split_once(':') {
        Some((_, id)) => (Operation::Find, Some(id.split(',').collect::<Vec<_>>())),
        None => match operation {
            "list" => (Operation::List, None),
            "paginate" => (Operation::Paginate, None),
            "keyset" => (Operation::KeysetPaginate, None),
            other => panic!("no operation {other}"),
        },
    };
    let body = json!({ "query": query }).to_string();
    let planned = support::planned(access, body.as_bytes(), operation, id.as_deref(), &place.database);
    planned.unwrap_or_else(|error| panic!("{error:?}: {body}"))
}

/// The answer of a statement, or why there is none.
async fn ask(place: &Place, resource: &str, operation: &str, query: &Value) -> Result<Value, String> {
    let planned = planned(place, resource, operation, query);
    let bytes = match place.database.run(planned.clone(), Format::Json).await {
        Err(error) => return Err(format!("{error}\n{}", sql_of(&planned))),
        Ok(store::Answer::Nothing) => return Ok(Value::Null),
        Ok(store::Answer::Whole(bytes) | store::Answer::Page(bytes, _)) => bytes.to_vec(),
        Ok(store::Answer::Chunks(chunks)) => support::whole(chunks).await.map_err(|error| format!("{error}\n{}", sql_of(&planned)))?,
    };
    let mut answer: Value = serde_json::from_slice(&bytes).expect("JSON");
    if query.get("order").is_none() {
        sort(&mut answer);
    }
    Ok(answer)
}

fn sql_of(query: &Query) -> String {
    fn collect(level: &query::sql::Level, texts: &mut Vec<String>) {
        texts.push(level.sql.text().to_owned());
        level.children.iter().for_each(|child| collect(&child.level, texts));
    }
    let mut texts = Vec::new();
    collect(&query.root, &mut texts);
    texts.join("\n")
}

/// Rows without an order come in any.
fn sort(value: &mut Value) {
    match value {
        Value::Array(rows) => {
            rows.iter_mut().for_each(sort);
            rows.sort_by_key(ToString::to_string);
        }
        Value::Object(members) => members.values_mut().for_each(sort),
        _ => {}
    }
}

/// All pages of a keyset walk, or the one answer of another operation.
async fn ask_all(place: &Place, resource: &str, operation: &str, query: &Value) -> Result<Vec<Value>, String> {
    let mut answers = vec![ask(place, resource, operation, query).await?];
    while let Some(next) = answers.last().and_then(|answer| answer.get("next")).filter(|next| !next.is_null()).cloned() {
        assert!(answers.len() < 50, "the walk does not end: {query}");
        answers.push(ask(place, resource, operation, &next).await?);
    }
    Ok(answers)
}

// contract Q14.3
#[tokio::test(flavor = "multi_thread")]
async fn statements_have_the_same_answers_on_distributed_tables() {
    let shops = Shops::open().await;
    let (mut failures, mut count) = (Vec::new(), 0);
    for (resource, operation, query) in lines(STATEMENTS) {
        count += 1;
        let expected = ask_all(&shops.plain.1, resource, operation, &query).await.expect("plain PostgreSQL answers");
        if expected.iter().all(|answer| *answer == json!([])) {
            failures.push(format!("{resource} {operation} {query}\nnothing to compare"));
        }
        let found = ask_all(&shops.distributed.1, resource, operation, &query).await;
        if found.as_ref() != Ok(&expected) {
            failures.push(format!(
                "{resource} {operation} {query}\nexpected {}\nfound {}",
                json!(expected),
                found.map_or_else(|error| error, |found| json!(found).to_string())
            ));
        }
    }
    shops.drop().await;
    assert!(failures.is_empty(), "{} of {count} statements:\n{}", failures.len(), failures.join("\n\n"));
}

// contract E2.14
#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_sends_too_many_rows_between_servers_is_unsupported() {
    let limit = "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET citus.max_intermediate_result_size = 1', current_database()); END $$";
    let server = DistributedDatabase::with(TABLES, &format!("{DISTRIBUTION}{limit}")).await;
    let shop = Place::open(&server.url, MANIFEST, 2).await;
    let filter = json!({ "where": { "items": {} } });
    match shop.database.run(planned(&shop, "shop.product", "list", &filter), Format::Json).await {
        Err(store::Error::Unsupported(refusal)) => {
            assert_eq!(
                refusal.distant_relations(),
                ["derived fields of `shop.product`", "relation `items` of `shop.product`"],
                "{refusal}"
            );
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("the result is larger than the limit"),
    }
    let body = json!({ "payload": { "name": "bicycle" }, "query": { "where": { "items": {} } }, "returning": false });
    match write(&shop, "shop.product", "update", &body, 0).await {
        Err(store::Error::Unsupported(refusal)) => {
            assert_eq!(refusal.distant_relations(), ["relation `items` of `shop.product`"], "{refusal}");
        }
        other => panic!("{other:?}"),
    }
    drop(shop);
    server.drop().await;
}

// contract E2.14
#[tokio::test(flavor = "multi_thread")]
async fn a_view_that_citus_cannot_plan_is_unsupported() {
    let view = "CREATE VIEW parcels AS SELECT s.id, o.total FROM shipments s JOIN orders o ON o.id = s.order_id;";
    let server = DistributedDatabase::with(TABLES, &format!("{DISTRIBUTION}{view}")).await;
    let manifest = "[resource.shop.parcel.fields]\nid = { type = \"bigint\", key = true }\ntotal = \"decimal\"\n";
    let shop = Place::open(&server.url, manifest, 2).await;
    match shop.database.run(planned(&shop, "shop.parcel", "list", &json!({})), Format::Json).await {
        Err(store::Error::Unsupported(refusal)) => {
            assert_eq!(refusal.code(), "XX000", "{refusal}");
            assert!(refusal.to_string().contains("repartition"), "{refusal}");
        }
        Err(error) => panic!("{error}"),
        Ok(_) => panic!("it needs a join for which rows are distributed anew"),
    }
    drop(shop);
    server.drop().await;
}

// contract Q14.3
#[tokio::test(flavor = "multi_thread")]
async fn check_warns_of_what_makes_servers_exchange_rows() {
    let extra = "CREATE VIEW paid AS SELECT id, customer_id FROM orders WHERE status = 'paid';
        CREATE VIEW prices AS SELECT id, price FROM products; CREATE VIEW lately AS SELECT * FROM paid WHERE id > 100;
        DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET jit = on', current_database()); END $$";
    let server = DistributedDatabase::with(TABLES, &format!("{DISTRIBUTION}{extra}")).await;
    let manifest = format!(
        "{MANIFEST}\n[resource.shop.recent]\ntable = \"lately\"\n[resource.shop.recent.fields]\nid = {{ type = \"bigint\", key = true }}\n\
         customerId = \"bigint\"\n[resource.shop.recent.relations]\ncustomer = {{ one = \"shop.customer\", on = {{ customerId = \"id\" }} }}\n\
         price = {{ one = \"shop.price\", on = {{ id = \"id\" }} }}\n[resource.shop.price.fields]\nid = {{ type = \"bigint\", key = true }}\n"
    );
    let database = support::open(&server.url);
    let schema = database.schema().await.expect("a schema");
    let catalog = support::catalog(&manifest, &database).await;
    let report = store::check::check(&catalog, &schema, Dialect::Citus);
    let warnings: Vec<&str> = report.warnings().map(|finding| finding.message.as_str()).collect();
    for expected in [
        "jit is on, and Citus distributes tables",
        "relation `refunds` of `shop.customer`: `customers` (by `id`) and `refunds` (by `customer_id`) are not co-located",
        "relation `banners` of `shop.customer`: `customers` (by `id`) and `banners` are not co-located",
        "relation `customer` of `shop.recent`: `lately` is a view of distributed tables",
    ] {
        assert!(warnings.iter().any(|warning| warning.starts_with(expected)), "{expected}: {warnings:#?}");
    }
    assert!(!warnings.iter().any(|warning| warning.contains("relation `orders` of `shop.customer`: `")), "{warnings:#?}");
    drop(database);
    server.drop().await;
}

// contract W3.1
#[tokio::test(flavor = "multi_thread")]
async fn writes_of_one_row_wait_for_each_other() {
    const WRITERS: usize = 12;
    const WRITES: usize = 5;
    let server = DistributedDatabase::with(TABLES, DISTRIBUTION).await;
    let shop = Place::open(&server.url, MANIFEST, WRITERS).await;
    for (resource, id, field) in [("shop.customer", "7", "score"), ("shop.product", "7", "price")] {
        let read = async || {
            let found = ask(&shop, resource, &format!("find:{id}"), &json!({})).await.expect("a row");
            found[field].to_string().trim_matches('"').parse::<f64>().expect("a number")
        };
        let before = read().await;
        let writer = async || {
            for _ in 0..WRITES {
                let body = json!({ "payload": {}, "increment": { field: 1 }, "returning": false });
                let outcome = write(&shop, resource, &format!("update:{id}"), &body, 0).await;
                assert!(matches!(outcome, Ok(WriteOutcome::Done { count: 1, .. })), "{outcome:?}");
            }
        };
        futures_util::future::join_all((0..WRITERS).map(|_| writer())).await;
        assert!((read().await - before - (WRITERS * WRITES) as f64).abs() < 1e-6, "{resource}");
    }
    drop(shop);
    server.drop().await;
}

// contract W3.1
#[tokio::test(flavor = "multi_thread")]
async fn writes_have_the_same_outcomes_on_distributed_tables() {
    let shops = Shops::open().await;
    let mut failures = Vec::new();
    for (step, (resource, form, body)) in lines(WRITES).enumerate() {
        let (expected, found) =
            (write(&shops.plain.1, resource, form, &body, step).await, write(&shops.distributed.1, resource, form, &body, step).await);
        let expected = expected.unwrap_or_else(|error| panic!("{error}: {body}"));
        match found {
            Ok(found) if found == expected => {}
            found => failures.push(format!("{resource} {form} {body}\nexpected {expected:?}\nfound {found:?}")),
        }
    }
    for table in STORED {
        let rows = format!("SELECT to_jsonb(t)::text FROM {table} AS t ORDER BY 1");
        let read = async |url: &str| -> Vec<String> {
            support::connect(url).await.query(&rows, &[]).await.expect("rows").iter().map(|row| row.get(0)).collect()
        };
        let (expected, found) = (read(&shops.plain.0.url).await, read(&shops.distributed.0.url).await);
        let differing: Vec<&String> =
            expected.iter().filter(|row| !found.contains(row)).chain(found.iter().filter(|row| !expected.contains(row))).collect();
        if !differing.is_empty() {
            failures.push(format!("rows of {table} differ: {differing:?}"));
        }
    }
    shops.drop().await;
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

async fn write(place: &Place, resource: &str, form: &str, body: &Value, step: usize) -> Result<WriteOutcome, store::Error> {
    let (name, id) = form.split_once(':').map_or((form, None), |(name, id)| (name, Some(id)));
    let request = WriteRequest {
        viewer: "",
        resource: resource.to_owned(),
        form: match (name, id) {
            ("create", None) => Form::Create,
            ("update", Some(_)) => Form::UpdateById,
            ("update", None) => Form::Update,
            ("delete", Some(_)) => Form::DeleteById,
            ("delete", None) => Form::Delete,
            ("restore", Some(_)) => Form::RestoreById,
            _ => panic!("no form {form}"),
        },
        id: id.map_or_else(Vec::new, |id| id.split(',').map(str::to_owned).collect()),
        if_match: None,
        body: body.clone(),
    };
    let moment = Moment { now: format!("2025-01-02T03:04:{step:02}.500000Z"), uuids: Vec::new(), keys: Vec::new() };
    place.attempt(&Viewer::operator(), &request, &moment).await
}
