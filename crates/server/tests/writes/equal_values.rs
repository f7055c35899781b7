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
