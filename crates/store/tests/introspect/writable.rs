//! `introspect --writable`: writes from defaults, identities, generated columns, unique keys and privileges.

use query::sql::Dialect;
use store::check::check_write_privileges;
use store::introspect::{OfferedAccess, introspect, manifest, update};
use store::schema::{Schema, read_postgres};

use super::{SQLITE_SHOP, catalog, has, has_not, passes, sqlite, with_postgres};

/// The writable manifest, which passes `check` without an error; its warnings come with it.
fn writable(schema: &Schema, dialect: Dialect) -> (String, Vec<String>) {
    let text = introspect(schema, dialect, OfferedAccess::Writable).text;
    let warnings = passes(&text, schema, dialect);
    let lacking = check_write_privileges(&catalog(&text), schema, dialect);
    assert!(lacking.is_empty(), "{lacking:#?}\n{text}");
    let again = update(&text, schema, dialect, OfferedAccess::Writable).unwrap();
    assert_eq!((again.added, again.text.as_str()), (Vec::new(), text.as_str()));
    // Without writes it is the same manifest as ever.
    let bare = manifest(schema, dialect);
    assert!(!bare.contains("write"), "{bare}");
    (text, warnings)
}

/// The lines of a part of the manifest, with single blanks.
fn part(text: &str, header: &str) -> Vec<String> {
    let mut lines = text.lines().skip_while(|line| *line != header).skip(1);
    let lines = lines.by_ref().take_while(|line| !line.is_empty());
    lines.map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

#[test]
fn a_sqlite_shop_becomes_a_writable_manifest() {
    let (text, _) = writable(&sqlite(SQLITE_SHOP), Dialect::Sqlite);
    let create = r#"create = "app.country.create""#;
    assert_eq!(
        part(&text, "[resource.app.country.write]"),
        [create, r#"update = "app.country.update""#, r#"delete = "app.country.delete""#]
    );
    let fields = [
        r#"code = { type = "text", key = true, write = "create" }"#,
        r#"name = { type = "text", null = false, write = true, max-length = 80 }"#,
    ];
    assert_eq!(part(&text, "[resource.app.country.fields]"), fields);
    for line in [
        r#"id = { type = "bigint", key = true }"#,
        r#"tenantId = { type = "uuid", null = false, write = true }"#,
        r#"countryCode = { type = "text", write = true }"#,
        r#"createdAt = { type = "timestamp", stored = "datetime", null = false, write = true }"#,
        r#"shout = "text""#,
    ] {
        has(&text, line);
    }
    // The unique key (tenant_id, id) holds a value that the database makes, and a view has no key.
    has_not(&text, "keys =");
    has_not(&text, "loudCustomer.write]");
}

#[test]
fn what_no_payload_can_fill_has_no_create() {
    let schema = sqlite(
        "
        CREATE TABLE photos (id INTEGER PRIMARY KEY, face BLOB NOT NULL, name TEXT);
        CREATE TABLE sizes (id INTEGER PRIMARY KEY, length INTEGER NOT NULL, twice INTEGER AS (length * 2), part TEXT UNIQUE, other TEXT,
            UNIQUE (other, length), UNIQUE (part), UNIQUE (twice));
        CREATE TABLE logs (line TEXT);
        CREATE TABLE pairs (a INTEGER NOT NULL, b INTEGER NOT NULL, PRIMARY KEY (a, b)) WITHOUT ROWID;
        ",
    );
    let (text, _) = writable(&schema, Dialect::Sqlite);
    assert_eq!(part(&text, "[resource.app.photo.write]"), [r#"update = "app.photo.update""#, r#"delete = "app.photo.delete""#]);
    has(&text, r#"name = { type = "text", write = "update" }"#);
    has(&text, r#"# `create` is left out: column "face" needs a value, and no payload can have one"#);
    has(&text, r#"keys = [["part"], ["other", "length"]]"#);
    has_not(&text, "app.log.write]");
    assert_eq!(part(&text, "[resource.app.pair.write]"), [r#"create = "app.pair.create""#, r#"delete = "app.pair.delete""#]);
    has(&text, r#"a = { type = "bigint", key = true, write = "create" }"#);
}

// contract W1.7
#[test]
fn a_key_that_refers_to_another_row_is_in_payloads() {
    let schema = sqlite(
        "CREATE TABLE people (id INTEGER PRIMARY KEY, code VARCHAR(0), \"\" TEXT);
         CREATE TABLE profiles (person_id INTEGER PRIMARY KEY REFERENCES people, bio TEXT);",
    );
    let (text, _) = writable(&schema, Dialect::Sqlite);
    has(&text, r#"personId = { type = "bigint", key = true, write = "create" }"#);
    has(&text, r#"id = { type = "bigint", key = true }"#);
    has(&text, r#"code = { type = "text", write = true }"#);
    has(&text, r#"# column "" (TEXT) is left out: a manifest cannot name it"#);
}

#[test]
fn an_update_offers_writes_of_what_is_new() {
    let before = "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT); CREATE TABLE notes (id INTEGER PRIMARY KEY);";
    let schema = sqlite(before);
    let written = introspect(&schema, Dialect::Sqlite, OfferedAccess::Writable).text;
    // A resource without writes stays without.
    let note = "[resource.app.note.write]\ncreate = \"app.note.create\"\ndelete = \"app.note.delete\"\n\n";
    assert!(written.contains(note), "{written}");
    let existing = written.replace(note, "").replace("delete = \"app.customer.delete\"\n", "");
    let after = sqlite(&format!(
        "{before} ALTER TABLE customers ADD COLUMN code VARCHAR(5); ALTER TABLE notes ADD COLUMN line TEXT; CREATE TABLE tags (word TEXT PRIMARY KEY NOT NULL);"
    ));
    let result = update(&existing, &after, Dialect::Sqlite, OfferedAccess::Writable).unwrap();
    passes(&result.text, &after, Dialect::Sqlite);
    assert_eq!(result.added, ["field app.customer.code", "field app.note.line", "resource app.tag"]);
    for line in [
        r#"code = { type = "text", write = true, max-length = 5 }"#,
        r#"line = "text""#,
        r#"word = { type = "text", key = true, write = "create" }"#,
    ] {
        has(&result.text, line);
    }
    assert_eq!(part(&result.text, "[resource.app.tag.write]"), [r#"create = "app.tag.create""#, r#"delete = "app.tag.delete""#]);
    for gone in ["app.note.write]", "app.customer.delete"] {
        has_not(&result.text, gone);
    }
    let plain = update(&existing, &after, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    for line in [r#"code = "text""#, r#"line = "text""#, r#"word = { type = "text", key = true }"#] {
        has(&plain.text, line);
    }
}

// contract W1.7
#[tokio::test]
async fn a_postgres_database_becomes_a_writable_manifest() {
    // Roles belong to the whole cluster.
    let role = format!("writable_{}", std::process::id());
    let sql = format!(
        "CREATE TYPE mood AS ENUM ('glad', 'sad');
         CREATE TABLE orders (
             id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, number varchar(20) NOT NULL UNIQUE, mood mood NOT NULL, host inet, tags text[],
             sizes smallint[], total numeric NOT NULL DEFAULT 0, twice numeric GENERATED ALWAYS AS (total * 2) STORED, letter char(3), code uuid);
         CREATE UNIQUE INDEX ON orders (lower(number)); CREATE UNIQUE INDEX ON orders (letter) WHERE total > 0;
         CREATE TABLE serials (id serial PRIMARY KEY, name text); CREATE TABLE keys (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), note text);
         CREATE TABLE hosts (id int PRIMARY KEY, address inet NOT NULL);
         CREATE TABLE locked (id int PRIMARY KEY, name text); CREATE TABLE grown (id int PRIMARY KEY, open text, closed text, once text);
         CREATE VIEW plain AS SELECT id, number FROM orders;
         CREATE ROLE {role}; GRANT {role} TO CURRENT_USER; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};
         GRANT INSERT, UPDATE, DELETE ON orders, serials, hosts, keys TO {role};
         GRANT INSERT (id, open, once), UPDATE (open, closed) ON grown TO {role};"
    );
    with_postgres("", &sql, |client| async move {
        let owner = read_postgres(&client).await.unwrap();
        client.batch_execute(&format!("SET ROLE {role}")).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        client.batch_execute(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
        let (text, warnings) = writable(&schema, Dialect::Postgres);
        assert_eq!(warnings, Vec::<String>::new(), "{text}");
        let operations =
            |name: &str, words: &[&str]| words.iter().map(|word| format!("{word} = \"app.{name}.{word}\"")).collect::<Vec<_>>();
        let mut expected = operations("order", &["create", "update", "delete"]);
        expected.push(r#"keys = [["number"]]"#.to_owned());
        assert_eq!(part(&text, "[resource.app.order.write]"), expected);
        let fields = [
            r#"id = { type = "bigint", key = true }"#,
            r#"number = { type = "text", null = false, write = true, max-length = 20 }"#,
            r#"mood = { type = "enum", values = ["glad", "sad"], null = false, write = true }"#,
            r#"host = "text""#,
            r#"tags = { type = "text[]", write = true }"#,
            r#"sizes = { type = "int[]", write = true }"#,
            r#"total = { type = "decimal", null = false, write = true }"#,
            r#"twice = "decimal""#,
            r#"letter = { type = "text", write = true, max-length = 3 }"#,
            r#"code = { type = "uuid", write = true }"#,
        ];
        assert_eq!(part(&text, "[resource.app.order.fields]"), fields);
        // The role may not use the sequence.
        assert_eq!(part(&text, "[resource.app.serial.write]"), operations("serial", &["update", "delete"]));
        has(&text, r#"# `create` is left out: the database user may not use the sequence public.serials_id_seq of column "id""#);
        assert_eq!(part(&text, "[resource.app.key.write]"), operations("key", &["create", "update", "delete"]));
        assert_eq!(part(&text, "[resource.app.host.write]"), operations("host", &["delete"]));
        assert_eq!(part(&text, "[resource.app.grown.write]"), operations("grown", &["create", "update"]));
        has(&text, r#"open = { type = "text", write = true }"#);
        has(&text, r#"closed = { type = "text", write = "update" }"#);
        has(&text, r#"once = { type = "text", write = "create" }"#);
        for (column, word) in [("closed", "create"), ("once", "update")] {
            has(&text, &format!("# column {column:?} takes no value in {word}: the database user may not write it"));
        }
        has_not(&text, "app.locked.write]");
        has_not(&text, "app.plain.write]");
        // The owner may do more.
        let (text, _) = writable(&owner, Dialect::Postgres);
        assert_eq!(part(&text, "[resource.app.serial.write]"), operations("serial", &["create", "update", "delete"]));
        assert_eq!(part(&text, "[resource.app.locked.write]"), operations("locked", &["create", "update", "delete"]));
    })
    .await;
}
