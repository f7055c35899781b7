//! Unique indexes on expressions, or on some rows only.

use serde_json::json;

use crate::fixture::BOTH;
use crate::refusals::Site;

const MANIFEST: &str = r#"
[resource.d.user]
soft-delete = "gone"
[resource.d.user.write]
create   = true
update   = true
delete   = true
restore  = true
max-rows = 10
[resource.d.user.fields]
id    = { type = "int", key = true, write = "create" }
name  = { type = "text", write = true }
email = { type = "text", null = false, write = true }
code  = { type = "text", write = true }
part  = { type = "int", write = true }
state = { type = "text", write = true }
gone  = "timestamp"
"#;

const TABLES: &str = "
CREATE TABLE users (id int PRIMARY KEY, name varchar(20), email text NOT NULL, code text, part int, state text DEFAULT 'live', gone timestamptz);
CREATE UNIQUE INDEX by_name ON users (name) WHERE gone IS NULL;
CREATE UNIQUE INDEX by_email ON users (lower(email) DESC) WHERE gone IS NULL;
CREATE UNIQUE INDEX by_code ON users ((part % 10), upper(code));
CREATE UNIQUE INDEX by_state ON users (part) WHERE state = 'live';
INSERT INTO users (id, name, email, code, part, state) VALUES (1, 'ada', 'a@x', 'c1', 1, 'live'), (2, 'bo', 'b@x', 'c2', 2, 'live'),
    (3, 'cy', 'c@x', 'c3', 3, 'old');
";

// contract W3.5
#[tokio::test]
async fn every_conflict_with_every_index_is_reported() {
    for backend in BOTH {
        let site = Site::of(MANIFEST, backend, TABLES).await;
        let all = ["EXISTS /payload/code", "EXISTS /payload/email", "EXISTS /payload/name", "EXISTS /payload/part"];
        let new = json!({ "id": 9, "name": "ada", "email": "A@X", "code": "C1", "part": 11 });
        site.refuses("users/create", json!({ "payload": new }), (409, &all)).await;
        let rows = json!([{ "id": 8, "name": "ada", "email": "z" }, { "id": 9, "name": "zed", "email": "y" }, { "id": 10, "name": "bo", "email": "B@x" }]);
        let each = (409, &["EXISTS /payload/0/name", "EXISTS /payload/2/email", "EXISTS /payload/2/name"][..]);
        site.refuses("users/create", json!({ "payload": rows }), each).await;
        let changed = json!({ "payload": { "name": "bo", "email": "b@X", "code": "c2", "part": 12 } });
        site.refuses("users/update/1", changed, (409, &all)).await;
        let moved = json!({ "payload": [{ "id": 1, "name": "bo" }, { "id": 3, "name": "bo2", "email": "B@X" }] });
        site.refuses("users/update", moved, (409, &["EXISTS /payload/0/name", "EXISTS /payload/1/email"])).await;
        // The stored row has the rest of an index, and the condition counts.
        site.refuses("users/update/3", json!({ "payload": { "state": "live", "part": 2 } }), (409, &["EXISTS /payload/part"])).await;
        let added = json!({ "payload": { "code": "C2" }, "increment": { "part": 11 } });
        site.refuses("users/update/1", added, (409, &["EXISTS /increment/part", "EXISTS /payload/code"])).await;
        // A row keeps its own values, and deleted rows do not count.
        assert_eq!(site.write("users/update/1", &json!({ "payload": { "name": "ada", "email": "A@x" } })).await, (200, Vec::new()));
        assert_eq!(site.write("users/delete/1", &json!({})).await, (200, Vec::new()), "{backend:?}");
        let again = json!({ "payload": { "id": 4, "name": "ada", "email": "a@x", "part": 4 } });
        assert_eq!(site.write("users/create", &again).await, (201, Vec::new()), "{backend:?}");
        site.refuses("users/restore/1", json!({}), (409, &["EXISTS "])).await;
    }
}
