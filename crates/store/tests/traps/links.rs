//! Links between values that are equal and not stored alike.

use serde_json::{Value, json};

use crate::{agree, both};

const MANIFEST: &str = r#"
[resource.t.row]
table = "slots"
[resource.t.row.fields]
id = { type = "int", key = true }
start = "time"
at = "timestamp"
[resource.t.row.relations]
meetings = { many = "t.meeting", on = { start = "start" } }
events = { many = "t.meeting", on = { at = "moment" } }
changes = { many = "t.meeting", on = { at = "changed" } }
peers = { many = "t.row", through = "starts", on = { start = "one" }, to = { other = "start" } }
rooms = { many = "t.meeting", through = "moments", on = { at = "at" }, to = { moment = "moment" } }

[resource.t.meeting]
[resource.t.meeting.fields]
id = { type = "int", key = true }
start = "time"
moment = { type = "timestamp", stored = "unix" }
changed = { type = "timestamp", stored = "datetime" }
[resource.t.meeting.relations]
same = { many = "t.meeting", on = { moment = "changed" } }
"#;

const POSTGRES: &str = "
CREATE TABLE slots (id int PRIMARY KEY, start time, at timestamptz);
CREATE TABLE meetings (id int PRIMARY KEY, start time, moment timestamptz, changed timestamptz);
CREATE TABLE starts (one time, other time);
CREATE TABLE moments (at timestamptz, moment timestamptz);
INSERT INTO slots VALUES (1, '10:00', '2024-02-29T10:00:00Z'), (2, '10:00', '2024-02-29T10:00:00.5Z'), (3, '11:30', NULL), (4, NULL, '2024-03-01T00:00:00Z');
INSERT INTO meetings VALUES (1, '10:00', '2024-02-29T10:00:00Z', '2024-02-29T10:00:00Z'), (2, '10:00:00', '2024-02-29T10:00:00.5Z', '2024-02-29T10:00:00Z'),
  (3, '11:30', NULL, '2024-03-01T00:00:00Z'), (4, NULL, '2024-03-01T00:00:00Z', NULL);
INSERT INTO starts VALUES ('10:00', '11:30'), ('10:00:00', '11:30:00'), ('11:30', '10:00'), (NULL, '10:00');
INSERT INTO moments VALUES ('2024-02-29T10:00:00Z', '2024-03-01T00:00:00Z'), ('2024-03-01T00:00:00Z', '2024-02-29T10:00:00Z');";

const SQLITE: &str = "
CREATE TABLE slots (id INTEGER PRIMARY KEY, start TEXT, at TEXT);
CREATE TABLE meetings (id INTEGER PRIMARY KEY, start TEXT, moment NUMERIC, changed TEXT);
CREATE TABLE starts (one TEXT, other TEXT);
CREATE TABLE moments (at TEXT, moment NUMERIC);
INSERT INTO slots VALUES (1, '10:00:00', '2024-02-29T10:00:00.000000Z'), (2, '10:00:00.000000', '2024-02-29T10:00:00.500000Z'), (3, '11:30:00.0', NULL),
  (4, NULL, '2024-03-01T00:00:00.000000Z');
INSERT INTO meetings VALUES (1, '10:00:00.000', 1709200800, '2024-02-29 10:00:00'), (2, '10:00:00', 1709200800.5, '2024-02-29 10:00:00.000'),
  (3, '11:30:00', NULL, '2024-03-01 00:00:00'), (4, NULL, 1709251200, NULL);
INSERT INTO starts VALUES ('10:00:00', '11:30:00'), ('10:00:00.0', '11:30:00.00'), ('11:30:00.000', '10:00:00.000'), (NULL, '10:00:00');
INSERT INTO moments VALUES ('2024-02-29T10:00:00.000000Z', 1709251200), ('2024-03-01T00:00:00.000000Z', 1709200800);";

/// contract Q14.4: values that are equal connect rows, however SQLite keeps them.
#[tokio::test(flavor = "multi_thread")]
async fn equal_values_connect_rows_however_they_are_stored() {
    let relations = ["meetings", "events", "changes", "peers", "rooms"];
    let order = json!([{ "field": "id" }]);
    let mut asked: Vec<Value> = Vec::new();
    for relation in relations {
        asked.push(json!({ "where": { relation: {} }, "order": order }));
        asked.push(json!({ "where": { "not": { relation: { "id": { "lte": 2 } } } }, "order": order }));
        asked.push(json!({ "relations": { relation: { "order": order } }, "order": order }));
        asked.push(json!({ "relations": { relation: { "order": order, "limit": 1, "offset": 1 } }, "order": order }));
        asked.push(json!({
            "aggregation": { "fields": [{ "fn": "count", "field": format!("{relation}.id") }], "groupBy": ["id"] },
            "order": order
        }));
    }
    // Deep enough for the keys to be found once.
    asked.push(json!({ "where": { "peers": { "peers": { "peers": { "peers": { "meetings": {} } } } } }, "order": order }));
    asked.push(json!({ "where": { "changes": { "same": { "same": { "same": {} } } } }, "order": order }));
    asked.push(json!({ "where": { "not": { "rooms": { "same": { "same": { "same": { "same": {} } } } } } }, "order": order }));
    // Without a zone too, which no zone of the session changes.
    agree(&both(MANIFEST, &POSTGRES.replace("timestamptz", "timestamp"), SQLITE, &asked).await);
    let answers = both(MANIFEST, POSTGRES, SQLITE, &asked).await;
    agree(&answers);
    let connected = |query: usize, relation: &str| -> Vec<usize> {
        let rows = answers[query].2.as_ref().expect("rows").as_array().expect("rows");
        rows.iter().map(|row| row[relation].as_array().map_or(0, Vec::len)).collect()
    };
    assert_eq!(connected(2, "meetings"), [2, 2, 1, 0]);
    assert_eq!(connected(7, "events"), [1, 1, 0, 1]);
    assert_eq!(connected(12, "changes"), [2, 0, 0, 1]);
    assert_eq!(connected(17, "peers"), [1, 1, 2, 0]);
    assert_eq!(connected(22, "rooms"), [1, 0, 0, 1]);
}
