//! What databases refuse on their own: constraints that wait, triggers, policies, columns that are too narrow, unique keys of every kind.

use query::policy::Viewer;
use serde_json::{Value, json};

use crate::fixture::{BOTH, faults};
use crate::support::{Backend, Database, Server, Setup, post};

const MANIFEST: &str = r#"
[resource.d.parent]
constraint = { where = { tenant = { eq = "a" } } }
[resource.d.parent.write]
create = true
update = true
delete = true
[resource.d.parent.fields]
id     = { type = "bigint", key = true, write = "create" }
tenant = { type = "text", write = true }

[resource.d.closed]
table = "parents"
plural = "closed"
permission = "d.closed.read"
[resource.d.closed.fields]
id = { type = "bigint", key = true }

[resource.d.child]
plural = "children"
[resource.d.child.write]
create = true
update = true
delete = true
max-rows = 10
[resource.d.child.fields]
id       = { type = "bigint", key = true, write = "create" }
parentId = { type = "bigint", write = true }
lateId   = { type = "bigint", write = true }
secretId = { type = "bigint", write = true }
one      = { type = "text", write = true }
two      = { type = "text", write = true }
part     = { type = "int", write = true }
total    = { type = "int", write = true, min = 0 }
mark     = { type = "text", write = true }
short    = { type = "text", write = true }
[resource.d.child.relations]
parent = { one = "d.parent", on = { parentId = "id" } }
late   = { one = "d.parent", on = { lateId = "id" } }
secret = { one = "d.closed", on = { secretId = "id" } }

[resource.d.region]
constraint = { where = { tenant = { eq = "a" } } }
[resource.d.region.fields]
code   = { type = "text", key = true }
no     = { type = "int", key = true }
tenant = "text"

[resource.d.place]
[resource.d.place.write]
create = true
update = true
max-rows = 10
[resource.d.place.fields]
id   = { type = "bigint", key = true, write = "create" }
code = { type = "text", write = true }
no   = { type = "int", write = true }
mark = { type = "text", write = true }
[resource.d.place.relations]
region = { one = "d.region", on = { code = "code", no = "no" } }
"#;

/// Children 1 to 3; parent 1 is in reach, and parent 2 is not.
const TABLES: &str = "
CREATE TABLE parents (id bigint PRIMARY KEY, tenant text);
CREATE TABLE children (id bigint PRIMARY KEY, parent_id bigint REFERENCES parents (id),
    late_id bigint REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED, secret_id bigint REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED,
    one text UNIQUE, two text UNIQUE, part int, total int, mark text, short varchar(3),
    UNIQUE (parent_id, part), CHECK (total <> 13), CHECK (mark <> 'bad'));
CREATE UNIQUE INDEX by_lower_mark ON children (lower(mark));
CREATE TABLE regions (code text, no int, tenant text, PRIMARY KEY (code, no));
CREATE TABLE places (id bigint PRIMARY KEY, code text, no int DEFAULT 2, mark text, CHECK (mark IS NULL OR mark = code),
    FOREIGN KEY (code, no) REFERENCES regions (code, no));
INSERT INTO parents VALUES (1, 'a'), (2, 'b'), (3, 'a'), (4, 'a');
INSERT INTO children (id, parent_id, late_id, one, two, part) VALUES (1, 1, 3, 'o1', 't1', 1), (2, 1, NULL, 'o2', 't2', 2),
    (3, 2, NULL, 'o3', 't3', 1);
INSERT INTO regions VALUES ('X', 2, 'a'), ('V', 2, 'a'), ('W', 2, 'b');
INSERT INTO places VALUES (3, 'X', 2, 'X');
";

pub(crate) struct Site {
    backend: Backend,
    pub(crate) database: Database,
    pub(crate) server: Server,
}

impl Site {
    async fn with(backend: Backend, script: &str) -> Self {
        let database = Database::with(backend, TABLES).await;
        database.execute(script).await;
        Site::serve(MANIFEST, backend, database).await
    }

    pub(crate) async fn of(manifest: &str, backend: Backend, script: &str) -> Self {
        Site::serve(manifest, backend, Database::with(backend, script).await).await
    }

    async fn serve(manifest: &str, backend: Backend, database: Database) -> Self {
        let mut setup = Setup::new(manifest);
        setup.viewer = Some(Viewer::new([], json!({ "id": "77777777-7777-4777-8777-777777777777" })));
        let server = setup.serve(&database).await;
        Site { backend, database, server }
    }

    /// The status, and the codes and paths of the faults.
    pub(crate) async fn write(&self, path: &str, body: &Value) -> (u16, Vec<String>) {
        let response = self.server.send(&post(&format!("/api/d/{path}"), body.to_string())).await;
        let mut found: Vec<String> = if response.status() < 400 {
            Vec::new()
        } else {
            faults(&response.json()).into_iter().map(|(code, path)| format!("{code} {path}")).collect()
        };
        found.sort();
        (response.status(), found)
    }

    pub(crate) async fn refuses(&self, path: &str, body: Value, (status, expected): (u16, &[&str])) {
        let mut expected: Vec<String> = expected.iter().map(|&fault| fault.to_owned()).collect();
        expected.sort();
        assert_eq!(self.write(path, &body).await, (status, expected), "{:?} {path} {body}", self.backend);
    }

    /// The same with `dryRun`, which answers alike.
    async fn refuses_dry_too(&self, path: &str, body: Value, expected: (u16, &[&str])) {
        let mut dry = body.clone();
        dry["dryRun"] = json!(true);
        self.refuses(path, dry, expected).await;
        self.refuses(path, body, expected).await;
    }
}

// contract W3.5
#[tokio::test]
async fn an_update_tells_every_unique_conflict_beside_its_other_faults() {
    for backend in BOTH {
        let site = Site::with(backend, "").await;
        let both = (409, &["EXISTS /payload/one", "EXISTS /payload/two"][..]);
        site.refuses("children/update/2", json!({ "payload": { "one": "o1", "two": "t1" } }), both).await;
        site.refuses(
            "children/update",
            json!({ "payload": { "one": "o1", "two": "t1" }, "query": { "where": { "id": { "eq": 2 } } } }),
            both,
        )
        .await;
        // The stored row has the rest of a key.
        site.refuses("children/update/2", json!({ "payload": { "part": 1 } }), (409, &["EXISTS /payload/part"])).await;
        let part = (409, &["EXISTS /payload/1/one", "EXISTS /payload/1/part", "EXISTS /payload/2/two"][..]);
        let list = json!({ "payload": [{ "id": 1, "one": "new" }, { "id": 2, "one": "o3", "part": 1 }, { "id": 3, "two": "t2" }] });
        site.refuses("children/update", list, part).await;
        // Equal values in one write, and beside other faults.
        let all = json!({ "payload": { "one": "same" }, "query": { "where": { "id": { "gt": 1 } } } });
        site.refuses("children/update", all, (409, &["EXISTS /payload/one"])).await;
        let list = json!({ "payload": [{ "id": 1, "one": "same", "total": 13 }, { "id": 2, "one": "same" }] });
        site.refuses("children/update", list, (422, &["EXISTS /payload/1/one", "REFUSED /payload/0/total"])).await;
        let beside = (422, &["EXISTS /payload/one", "NO_SUCH_ROW /payload/parentId"][..]);
        site.refuses("children/update/2", json!({ "payload": { "one": "o1", "parentId": 99, "total": 13 } }), beside).await;
        site.database.execute("UPDATE children SET total = 1 WHERE id = 2").await;
        let beside = (409, &["EXISTS /payload/one", "OUT_OF_RANGE /increment/total"][..]);
        site.refuses("children/update/2", json!({ "payload": { "one": "o1" }, "increment": { "total": -5 } }), beside).await;
        // A row may keep its values, and rows may make way for each other.
        let kept = site.write("children/update/2", &json!({ "payload": { "one": "o2", "two": "t2", "part": 2 } })).await;
        assert_eq!(kept.0, 200, "{backend:?} {kept:?}");
        let moved = json!({ "payload": [{ "id": 1, "one": "o9" }, { "id": 2, "one": "o1" }, { "id": 3, "total": 13 }] });
        site.refuses("children/update", moved, (422, &["REFUSED /payload/2/total"])).await;
        // A unique key on an expression.
        site.write("children/update/1", &json!({ "payload": { "mark": "Mark" } })).await;
        site.refuses("children/update/2", json!({ "payload": { "mark": "mARK" } }), (409, &["EXISTS /payload/mark"])).await;
    }
}

// contract W3.3, contract W3.5, contract W2.11
#[tokio::test]
async fn constraints_that_wait_for_the_commit_give_the_same_faults_also_to_a_dry_run() {
    for backend in BOTH {
        let site = Site::with(backend, "").await;
        for field in ["lateId", "secretId"] {
            let fault = format!("NO_SUCH_ROW /payload/{field}");
            let missing = (422, &[&*fault][..]);
            site.refuses_dry_too("children/create", json!({ "payload": { "id": 9, field: 99 } }), missing).await;
            site.refuses_dry_too("children/update/2", json!({ "payload": { field: 99 } }), missing).await;
            let fault = format!("NO_SUCH_ROW /payload/1/{field}");
            let item = (422, &[&*fault][..]);
            site.refuses_dry_too("children/create", json!({ "payload": [{ "id": 8 }, { "id": 9, field: 99 }] }), item).await;
            site.refuses_dry_too("children/update", json!({ "payload": [{ "id": 1, "part": 7 }, { "id": 2, field: 99 }] }), item).await;
        }
        let by_increment = (422, &["NO_SUCH_ROW /increment/secretId"][..]);
        site.database.execute("UPDATE children SET secret_id = 1 WHERE id = 1").await;
        site.refuses_dry_too("children/update/1", json!({ "increment": { "secretId": 98 } }), by_increment).await;
        site.refuses_dry_too("parents/delete/3", json!({}), (409, &["IN_USE "])).await;
        site.refuses_dry_too("parents/delete/1", json!({}), (409, &["IN_USE "])).await;
        let dry = site.write("parents/delete/4", &json!({ "dryRun": true })).await;
        assert_eq!(dry.0, 200, "{backend:?} {dry:?}");
        assert_eq!(site.database.texts("SELECT count(*) FROM parents").await, ["4"]);
        let done = site.write("parents/delete/4", &json!({})).await;
        assert_eq!(done.0, 200, "{backend:?} {done:?}");
    }
    let site = Site::with(
        Backend::Postgres,
        "ALTER TABLE children DROP CONSTRAINT children_one_key, ADD UNIQUE (one) DEFERRABLE INITIALLY DEFERRED",
    )
    .await;
    site.refuses_dry_too("children/update/2", json!({ "payload": { "one": "o1" } }), (409, &["EXISTS /payload/one"])).await;
    // Rows may exchange their values, and another fault of the write does not make that one.
    let swap = |third: Value| json!({ "payload": [{ "id": 1, "one": "o2" }, { "id": 2, "one": "o1" }, third] });
    site.refuses("children/update", swap(json!({ "id": 3, "total": 13 })), (422, &["REFUSED /payload/2/total"])).await;
    let done = site.write("children/update", &swap(json!({ "id": 3, "total": 12 }))).await;
    assert_eq!(done.0, 200, "{done:?}");
}

// contract W3.3
#[tokio::test]
async fn a_unique_key_does_not_tell_an_invisible_reference_from_a_missing_one() {
    for backend in BOTH {
        let site = Site::with(backend, "").await;
        for (path, id) in [("children/create", json!(9)), ("children/update/2", json!(2))] {
            for parent in [2, 99] {
                let body = json!({ "payload": { "id": id, "parentId": parent, "part": 1, "one": "o3" } });
                let expected = (422, &["EXISTS /payload/one", "NO_SUCH_ROW /payload/parentId"][..]);
                site.refuses(path, body, expected).await;
            }
        }
        // A part of a reference beside a check that the other part of the payload meets, and one that has a default.
        for code in ["W", "Z"] {
            let missing = (422, &["NO_SUCH_ROW /payload/code"][..]);
            site.refuses("places/update/3", json!({ "payload": { "code": code, "mark": code } }), missing).await;
            site.refuses("places/create", json!({ "payload": { "id": 9, "code": code } }), missing).await;
            let item = (422, &["NO_SUCH_ROW /payload/0/code"][..]);
            site.refuses("places/update", json!({ "payload": [{ "id": 3, "code": code, "mark": code }] }), item).await;
        }
        let done = site.write("places/update/3", &json!({ "payload": { "code": "V", "mark": "V" } })).await;
        assert_eq!(done.0, 200, "{backend:?} {done:?}");
    }
}

// contract W3.5
#[tokio::test]
async fn what_a_trigger_or_a_policy_refuses_is_422_whatever_its_code() {
    let trigger = "
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF new.mark LIKE 'code:%' THEN RAISE EXCEPTION 'secret %', new.mark USING ERRCODE = substr(new.mark, 6); END IF;
            IF new.mark = 'rows' THEN PERFORM (SELECT 1 UNION SELECT 2); END IF;
            IF new.mark = 'foreign' THEN INSERT INTO places VALUES (77, 'nope', 1); END IF;
            RETURN new;
        END $$;
        CREATE TRIGGER refuse BEFORE INSERT OR UPDATE ON children FOR EACH ROW EXECUTE FUNCTION refuse();
        CREATE INDEX long ON children (short);
        ALTER TABLE children ALTER short TYPE text;";
    let site = Site::with(Backend::Postgres, trigger).await;
    let refused = (422, &["REFUSED /payload"][..]);
    for mark in ["code:42501", "code:PT402", "code:MY001", "code:54000", "code:0A000", "code:XX000", "code:P0001", "rows"] {
        site.refuses("children/create", json!({ "payload": { "id": 9, "mark": mark } }), refused).await;
        site.refuses("children/update/1", json!({ "payload": { "mark": mark } }), refused).await;
    }
    // A foreign key of another table: other rows refer to no row that is made or changed here.
    site.refuses("children/create", json!({ "payload": { "id": 9, "mark": "foreign" } }), (422, &["NO_SUCH_ROW /payload"])).await;
    site.refuses("children/update/1", json!({ "payload": { "mark": "foreign" } }), refused).await;
    // Random letters, which PostgreSQL cannot compress to the size of an entry of an index.
    let mut state = 1_u64;
    let letter = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        char::from(b'a' + (state >> 56) as u8 % 26)
    };
    let long: String = (0..9_000).map(letter).collect();
    site.refuses("children/create", json!({ "payload": { "id": 9, "short": long } }), refused).await;
    site.refuses("children/create", json!({ "payload": [{ "id": 8 }, { "id": 9, "short": long }] }), (422, &["REFUSED /payload/1"])).await;

    let policy = "
        ALTER TABLE children ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
        CREATE POLICY all_rows ON children USING (id < 100) WITH CHECK (mark IS DISTINCT FROM 'theirs');
        DO $$ BEGIN IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'peristyle_policy') THEN CREATE ROLE peristyle_policy; END IF; END $$;
        GRANT ALL ON ALL TABLES IN SCHEMA public TO peristyle_policy;";
    let site = Site::with(Backend::Postgres, policy).await;
    let role = format!("ALTER ROLE CURRENT_USER IN DATABASE {} SET role = 'peristyle_policy'", site.database.name());
    site.database.execute(&role).await;
    let site = Site { server: Setup::new(MANIFEST).viewer(&[]).serve(&site.database).await, ..site };
    site.refuses("children/create", json!({ "payload": { "id": 9, "mark": "theirs" } }), refused).await;
    site.refuses("children/update/1", json!({ "payload": { "mark": "theirs" } }), refused).await;
    let done = site.write("children/update/1", &json!({ "payload": { "mark": "ours" } })).await;
    assert_eq!(done.0, 200, "{done:?}");
}

// contract W3.5
#[tokio::test]
async fn a_value_beyond_its_column_is_refused_at_its_field() {
    let columns = "
        ALTER TABLE children ALTER total TYPE smallint, ADD price numeric(6, 2), ADD shade text;
        CREATE TYPE shade AS ENUM ('dark', 'light');
        ALTER TABLE children ALTER shade TYPE shade USING NULL;";
    let manifest = MANIFEST
        .replace("short    = {", "price = { type = \"decimal\", write = true }\nshade = { type = \"text\", write = true }\nshort    = {");
    let site = {
        let database = Database::with(Backend::Postgres, TABLES).await;
        database.execute(columns).await;
        Site::serve(&manifest, Backend::Postgres, database).await
    };
    for (payload, path) in [
        (json!({ "short": "long" }), "short"),
        (json!({ "total": 32_768 }), "total"),
        (json!({ "price": "9999.995" }), "price"),
        (json!({ "shade": "grey" }), "shade"),
    ] {
        let fault = format!("REFUSED /payload/{path}");
        let expected = (422, &[&*fault][..]);
        site.refuses("children/update/1", json!({ "payload": payload }), expected).await;
        let mut row = payload.clone();
        row["id"] = json!(9);
        site.refuses("children/create", json!({ "payload": row }), expected).await;
    }
    let both = (422, &["REFUSED /payload/0/short", "REFUSED /payload/0/total"][..]);
    site.refuses("children/create", json!({ "payload": [{ "id": 8, "short": "long", "total": 40_000 }] }), both).await;
    let done = site.write("children/update/1", &json!({ "payload": { "short": "abc  ", "price": "9999.994", "shade": "dark" } })).await;
    assert_eq!(done.0, 200, "{done:?}");
}

// contract W3.1, contract W3.5
#[tokio::test]
async fn sqlite_changes_no_other_row_for_a_conflict_and_survives_a_trigger_that_ends_the_transaction() {
    let script = "
        CREATE TABLE odd (id INTEGER PRIMARY KEY, email TEXT UNIQUE ON CONFLICT REPLACE, doc TEXT CHECK (doc IS NULL OR json_extract(doc, '$') <> 0));
        INSERT INTO odd VALUES (1, 'a', NULL), (2, 'b', NULL);
        CREATE TABLE seen (email TEXT UNIQUE);
        CREATE TRIGGER ends BEFORE INSERT ON children WHEN new.mark = 'end' BEGIN SELECT raise(ROLLBACK, 'x'); END;
        CREATE TRIGGER ends_later BEFORE UPDATE ON children WHEN new.mark = 'end' BEGIN SELECT raise(ROLLBACK, 'x'); END;
        CREATE TRIGGER notes AFTER INSERT ON children BEGIN INSERT OR IGNORE INTO seen VALUES (new.mark); END;";
    let odd = "
[resource.d.odd]
table = \"odd\"
plural = \"odd\"
[resource.d.odd.write]
create = true
update = true
[resource.d.odd.fields]
id    = { type = \"bigint\", key = true, write = \"create\" }
email = { type = \"text\", write = true }
doc   = { type = \"text\", write = true }
";
    let site = Site::of(&format!("{MANIFEST}{odd}"), Backend::Sqlite, &format!("{TABLES}{script}")).await;
    site.refuses("odd/create", json!({ "payload": { "id": 3, "email": "a" } }), (409, &["EXISTS /payload/email"])).await;
    site.refuses("odd/update/2", json!({ "payload": { "email": "a" } }), (409, &["EXISTS /payload/email"])).await;
    assert_eq!(site.database.texts("SELECT email FROM odd ORDER BY id").await, ["a", "b"]);
    // An expression of the table that fails on a value.
    site.refuses("odd/update/2", json!({ "payload": { "doc": "no json" } }), (422, &["REFUSED /payload"])).await;

    site.refuses("children/create", json!({ "payload": { "id": 9, "mark": "end" } }), (422, &["REFUSED /payload"])).await;
    site.refuses("children/update/1", json!({ "payload": { "mark": "end" } }), (422, &["REFUSED /payload"])).await;
    let list = json!({ "payload": [{ "id": 7, "one": "o1" }, { "id": 8 }, { "id": 9, "mark": "end" }] });
    site.refuses("children/create", list, (409, &["EXISTS /payload/0/one", "REFUSED /payload/2"])).await;
    // The clause of a trigger still counts.
    for id in [10, 11] {
        let done = site.write("children/create", &json!({ "payload": { "id": id, "mark": null } })).await;
        assert_eq!(done.0, 201, "{done:?}");
    }
    site.database.execute("INSERT INTO seen VALUES ('known')").await;
    let done = site.write("children/create", &json!({ "payload": { "id": 12, "mark": "known" } })).await;
    assert_eq!(done.0, 201, "{done:?}");
}
