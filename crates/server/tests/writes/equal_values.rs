//! Values that SQLite stores in several forms, such as the decimals 1.5 and 1.50: they are one value, as on PostgreSQL.

use serde_json::{Value, json};

use crate::fixture::BOTH;
use crate::refusals::Site;
use crate::support::Backend;

const MANIFEST: &str = r#"
[resource.d.rate]
constraint = { where = { note = { ne = "theirs" } } }
[resource.d.rate.write]
create = true
update = true
delete = true
max-rows = 10
check = { where = { note = { ne = "bad" } } }
[resource.d.rate.fields]
amount = { type = "decimal", key = true, write = "create" }
at     = { type = "timestamp", key = true, write = "create", stored = "datetime" }
clock  = { type = "time", write = true }
price  = { type = "decimal", write = true }
note   = { type = "text", write = true }

[resource.d.step]
[resource.d.step.write]
create = true
update = true
[resource.d.step.fields]
id     = { type = "decimal", key = true, write = "create" }
before = { type = "decimal", write = true }
rateAmount = { type = "decimal", write = true }
rateAt = { type = "timestamp", write = true, stored = "datetime" }
[resource.d.step.relations]
last = { one = "d.step", on = { before = "id" } }
"#;

fn script(backend: Backend) -> String {
    let (decimal, timestamp, time) = match backend {
        Backend::Postgres => ("numeric", "timestamptz", "time"),
        Backend::Sqlite => ("text", "text", "text"),
    };
    format!(
        "CREATE TABLE rates (amount {decimal} NOT NULL, at {timestamp} NOT NULL, clock {time}, price {decimal}, note text,
            PRIMARY KEY (amount, at), UNIQUE (clock, price));
         CREATE TABLE steps (id {decimal} PRIMARY KEY NOT NULL, before {decimal} REFERENCES steps (id) DEFERRABLE INITIALLY DEFERRED,
            rate_amount {decimal}, rate_at {timestamp}, FOREIGN KEY (rate_amount, rate_at) REFERENCES rates (amount, at));
         INSERT INTO rates VALUES ('1.50', '2024-01-01 00:00:00Z', '12:00:00.0', '3.0', 'mine'), ('2.0', '2024-01-01 00:00:00Z', NULL, '3.0', 'theirs');
         INSERT INTO steps (id) VALUES ('1.50');"
    )
}

/// A rate of the first of January, written in another form than the stored ones.
fn rate(amount: &str) -> Value {
    json!({ "amount": amount, "at": "2024-01-01T01:00:00.0+01:00", "note": "mine" })
}

// contract W3.5
#[tokio::test]
async fn a_key_conflicts_by_value() {
    for backend in BOTH {
        let site = Site::of(MANIFEST, backend, &script(backend)).await;
        let key = (409, &["EXISTS /payload/amount", "EXISTS /payload/at"][..]);
        site.refuses("rates/create", json!({ "payload": rate("1.5") }), key).await;
        // Neither a row out of reach nor `check` is got around.
        let mut theirs = rate("2");
        theirs["note"] = json!("bad");
        site.refuses("rates/create", json!({ "payload": theirs }), key).await;
        site.refuses("rates/create", json!({ "payload": rate("2"), "returning": false }), key).await;
        let both = (409, &["EXISTS /payload/1/amount", "EXISTS /payload/1/at"][..]);
        site.refuses("rates/create", json!({ "payload": [rate("7.0"), rate("7")] }), both).await;
        assert_eq!(site.database.texts("SELECT count(*) FROM rates").await, ["2"], "{backend:?}");
        // A row is found, changed and deleted by each form of its key.
        let changed = site.write("rates/update/1.500,2024-01-01T00:00:00Z", &json!({ "payload": { "note": "new" } })).await;
        assert_eq!(changed, (200, Vec::new()), "{backend:?}");
        let mut listed = rate("1.5");
        listed["note"] = json!("newer");
        assert_eq!(site.write("rates/update", &json!({ "payload": [listed] })).await.0, 200, "{backend:?}");
        assert_eq!(site.database.texts("SELECT note FROM rates ORDER BY note").await, ["newer", "theirs"], "{backend:?}");
        assert_eq!(site.write("rates/delete/1.5,2024-01-01T00:00:00Z", &json!({})).await.0, 200, "{backend:?}");
    }
}

// contract W3.5
#[tokio::test]
async fn a_unique_key_conflicts_by_value() {
    for backend in BOTH {
        let site = Site::of(MANIFEST, backend, &script(backend)).await;
        let key = (409, &["EXISTS /payload/clock", "EXISTS /payload/price"][..]);
        let mut taken = rate("4");
        (taken["clock"], taken["price"]) = (json!("12:00:00"), json!("3.00"));
        site.refuses("rates/create", json!({ "payload": taken }), key).await;
        taken["price"] = json!("4");
        assert_eq!(site.write("rates/create", &json!({ "payload": taken })).await.0, 201, "{backend:?}");
        let price = (409, &["EXISTS /payload/price"][..]);
        site.refuses("rates/update/4,2024-01-01T00:00:00Z", json!({ "payload": { "price": 3 } }), price).await;
        site.refuses("rates/update", json!({ "payload": { "price": 3 }, "query": { "where": { "amount": { "eq": 4 } } } }), price).await;
        let added = (409, &["EXISTS /increment/price"][..]);
        site.refuses("rates/update/4.0,2024-01-01T00:00:00Z", json!({ "increment": { "price": "-1.000" } }), added).await;
        // A row keeps its own value in another form.
        let kept = site.write("rates/update/4,2024-01-01T00:00:00Z", &json!({ "payload": { "price": "4.00" } })).await;
        assert_eq!(kept, (200, Vec::new()), "{backend:?}");
    }
}

// contract W3.3
#[tokio::test]
async fn a_reference_finds_its_row_by_value() {
    for backend in BOTH {
        let site = Site::of(MANIFEST, backend, &script(backend)).await;
        let new = json!({ "id": "2", "before": "1.5", "rateAmount": "1.500", "rateAt": "2024-01-01T00:00:00Z" });
        assert_eq!(site.write("steps/create", &json!({ "payload": new })).await, (201, Vec::new()), "{backend:?}");
        assert_eq!(site.write("steps/update/2.0", &json!({ "payload": { "before": "2.00" } })).await, (200, Vec::new()), "{backend:?}");
        let list = json!([{ "id": "5.0" }, { "id": "6", "before": "5" }]);
        assert_eq!(site.write("steps/create", &json!({ "payload": list })).await, (201, Vec::new()), "{backend:?}");
        let missing = json!([{ "id": "8.0" }, { "id": "9", "before": "8" }, { "id": "10", "before": "77" }]);
        site.refuses("steps/create", json!({ "payload": missing }), (422, &["NO_SUCH_ROW /payload/2/before"])).await;
    }
}

const KEYED: &str = r#"
[resource.d.weight]
[resource.d.weight.write]
create = true
update = true
delete = true
max-rows = 10
[resource.d.weight.fields]
gram = { type = "float", key = true, write = "create" }
note = { type = "text", write = true }

[resource.d.code]
[resource.d.code.write]
update = true
delete = true
max-rows = 10
[resource.d.code.fields]
code = { type = "text", key = true }
note = { type = "text", write = true }
"#;

// contract W2.6
#[tokio::test]
async fn a_key_of_type_real_is_found_by_its_digits() {
    for backend in BOTH {
        let tables = "CREATE TABLE weights (gram real PRIMARY KEY, note text); INSERT INTO weights VALUES (0.1, 'a');
            CREATE TABLE codes (code text PRIMARY KEY, note text);";
        let site = Site::of(KEYED, backend, tables).await;
        let note = json!({ "note": "new" });
        assert_eq!(site.write("weights/update/0.1", &json!({ "payload": note })).await, (200, Vec::new()), "{backend:?}");
        let listed = json!({ "payload": [{ "gram": 0.1, "note": "newer" }] });
        assert_eq!(site.write("weights/update", &listed).await, (200, Vec::new()), "{backend:?}");
        site.refuses("weights/create", json!({ "payload": [{ "gram": 0.1 }] }), (409, &["EXISTS /payload/0/gram"])).await;
        assert_eq!(site.write("weights/delete/0.1", &json!({})).await, (200, Vec::new()), "{backend:?}");
    }
}

// contract W3.1
#[tokio::test]
async fn a_row_without_a_key_stops_no_write_of_other_rows() {
    let tables = "CREATE TABLE weights (gram real PRIMARY KEY, note text); CREATE TABLE codes (code text PRIMARY KEY, note text);
        INSERT INTO codes VALUES (NULL, 'none'), ('a', 'one');";
    let site = Site::of(KEYED, Backend::Sqlite, tables).await;
    assert_eq!(site.write("codes/update", &json!({ "payload": { "note": "new" }, "all": true })).await, (200, Vec::new()));
    assert_eq!(site.database.texts("SELECT note FROM codes ORDER BY code").await, ["none", "new"]);
    assert_eq!(site.write("codes/delete", &json!({ "all": true })).await, (200, Vec::new()));
    assert_eq!(site.database.texts("SELECT count(*) FROM codes").await, ["1"]);
}
