//! Foreign keys that no readable relation stands for.

use serde_json::json;

use crate::fixture::BOTH;
use crate::refusals::Site;

const MANIFEST: &str = r#"
[resource.d.visit]
[resource.d.visit.write]
create = true
update = true
max-rows = 10
[resource.d.visit.fields]
id    = { type = "bigint", key = true, write = "create" }
place = { type = "text", write = true }
room  = { type = "int", write = true }
guest = { type = "bigint", write = true }
after = { type = "bigint", write = true }
note  = { type = "text", write = true }
"#;

const TABLES: &str = "
CREATE TABLE rooms (place varchar(20), no int, PRIMARY KEY (place, no));
CREATE TABLE guests (id bigint PRIMARY KEY);
CREATE TABLE visits (id bigint PRIMARY KEY, place varchar(20), room int, guest bigint REFERENCES guests (id), after bigint REFERENCES visits (id),
    note text UNIQUE, FOREIGN KEY (place, room) REFERENCES rooms (place, no));
INSERT INTO rooms VALUES ('north', 1), ('north', 2);
INSERT INTO guests VALUES (1);
INSERT INTO visits VALUES (1, 'north', 1, 1, NULL, 'first');
";

// contract W3.3, contract W3.5
#[tokio::test]
async fn every_broken_foreign_key_of_every_row_is_reported() {
    for backend in BOTH {
        let site = Site::of(MANIFEST, backend, TABLES).await;
        let new = json!({ "id": 9, "place": "south", "room": 1, "guest": 7, "after": 8, "note": "first" });
        let all = ["EXISTS /payload/note", "NO_SUCH_ROW /payload/after", "NO_SUCH_ROW /payload/guest", "NO_SUCH_ROW /payload/place"];
        let all = [&all[..], &["NO_SUCH_ROW /payload/room"]].concat();
        site.refuses("visits/create", json!({ "payload": new }), (422, &all)).await;
        let rows = json!([{ "id": 7, "guest": 1 }, { "id": 8, "after": 7, "guest": 5 }, { "id": 9, "after": 10 }, { "id": 10 }]);
        let each = (422, &["NO_SUCH_ROW /payload/1/guest", "NO_SUCH_ROW /payload/2/after"][..]);
        site.refuses("visits/create", json!({ "payload": rows }), each).await;
        // The stored row has the rest of a foreign key.
        let changed = json!({ "payload": { "room": 3, "guest": 2 } });
        site.refuses("visits/update/1", changed, (422, &["NO_SUCH_ROW /payload/guest", "NO_SUCH_ROW /payload/room"])).await;
        let good = json!({ "payload": { "room": 2, "after": 1 } });
        assert_eq!(site.write("visits/update/1", &good).await, (200, Vec::new()), "{backend:?}");
    }
}

const USED: &str = r#"
[resource.d.kind]
[resource.d.kind.write]
create = true
update = true
[resource.d.kind.fields]
id   = { type = "bigint", key = true, write = "create" }
code = { type = "text", write = true }
name = { type = "text", write = true }
"#;

// contract W3.5
#[tokio::test]
async fn a_changed_value_that_others_refer_to_and_a_generated_key_are_named() {
    for backend in BOTH {
        let script = "CREATE TABLE kinds (id bigint PRIMARY KEY, code text UNIQUE, name text, low text GENERATED ALWAYS AS (lower(name)) STORED UNIQUE);
            CREATE TABLE things (id bigint PRIMARY KEY, kind text REFERENCES kinds (code));
            INSERT INTO kinds (id, code, name) VALUES (1, 'a', 'One'), (2, 'b', 'Two'); INSERT INTO things VALUES (1, 'a');";
        let site = Site::of(USED, backend, script).await;
        let used = json!({ "payload": { "code": "c", "name": "Three" } });
        site.refuses("kinds/update/1", used, (409, &["IN_USE /payload/code"])).await;
        site.refuses("kinds/update/1", json!({ "payload": { "name": "TWO" } }), (409, &["EXISTS /payload/name"])).await;
        site.refuses("kinds/create", json!({ "payload": { "id": 3, "name": "one" } }), (409, &["EXISTS /payload/name"])).await;
    }
}
