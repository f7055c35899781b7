//! `introspect`: from a database to a manifest that `check` accepts.

use serde_json::Value;

use crate::program::Folder;
use crate::support::{Backend, Database, shop};

// contract P4.3, contract B3.1
#[tokio::test]
async fn introspect_writes_a_manifest_that_check_accepts_unedited() {
    let database = shop::database(Backend::Postgres).await;
    let folder = Folder::shop();
    rusqlite::Connection::open(folder.path("full.db"))
        .and_then(|file| file.execute_batch(&shop::script(Backend::Sqlite)))
        .expect("a database");
    std::fs::remove_file(folder.path("peristyle.toml")).expect("removed");
    for (number, url) in [database.url.as_str(), "sqlite://full.db", "sqlite://shop.db"].into_iter().enumerate() {
        let manifest = format!("made-{number}.toml");
        let variables = [("DATABASE_URL", url), ("PERISTYLE_MANIFEST", manifest.as_str())];
        let said = folder.run(&["introspect"], &variables).good();
        assert!(said.contains(&manifest), "{said}");
        let text = folder.read(&manifest);
        assert!(text.contains("customer") && text.contains("orders = { many"), "{text}");
        let checked = folder.run(&["check"], &variables).good();
        assert!(checked.contains(" 0 error(s)"), "{url}: {checked}");
        assert_eq!(folder.run(&["introspect", "--out", "-"], &variables).good().trim_end(), text.trim_end(), "{url}");
    }
}

#[tokio::test]
async fn a_writable_manifest_passes_check() {
    let database = shop::database(Backend::Postgres).await;
    let folder = Folder::shop();
    rusqlite::Connection::open(folder.path("full.db"))
        .and_then(|file| file.execute_batch(&shop::script(Backend::Sqlite)))
        .expect("a database");
    for (number, url) in [database.url.as_str(), "sqlite://full.db", "sqlite://shop.db"].into_iter().enumerate() {
        let manifest = format!("made-{number}.toml");
        let variables = [("DATABASE_URL", url), ("PERISTYLE_MANIFEST", manifest.as_str())];
        let plain = folder.run(&["introspect", "--out", "-"], &variables).good();
        assert!(!plain.contains("write"), "{plain}");
        folder.run(&["introspect", "--writable"], &variables).good();
        let text = folder.read(&manifest);
        assert!(text.contains("[resource.app.customer.write]\ncreate = \"app.customer.create\""), "{text}");
        let checked = folder.run(&["check"], &variables).good();
        assert!(checked.contains(" 0 error(s)") && !checked.contains("is a permission that no role"), "{url}: {checked}");
        let update = folder.run(&["introspect", "--update", "--writable"], &variables).good();
        assert!(update.contains("0 addition(s)"), "{update}");
    }
}

// contract P4.3, contract G1.8, contract W3.12
#[test]
fn a_writable_manifest_of_names_that_are_alike_passes_check() {
    let folder = Folder::shop();
    let tables = [
        "customer",
        "users",
        "user",
        "news",
        "data",
        "staff",
        "series",
        "status",
        "Größe",
        "цена",
        "价格",
        "Kunde",
        "person",
        "people",
        "orders",
        "order_create_inputs",
        "order_rows",
        "order_increment_inputs",
        "staff_rows",
        "staffById",
        "OrderItems",
        "order-items",
        "user_by_id",
    ];
    let column = "(id INTEGER PRIMARY KEY, name TEXT, count INTEGER);";
    let sql = tables.map(|table| format!("CREATE TABLE \"{table}\" {column}")).concat();
    rusqlite::Connection::open(folder.path("alike.db")).and_then(|file| file.execute_batch(&sql)).expect("a database");
    let variables = [("DATABASE_URL", "sqlite://alike.db"), ("PERISTYLE_MANIFEST", "alike.toml")];
    folder.run(&["introspect", "--writable"], &variables).good();
    let text = folder.read("alike.toml");
    assert_eq!(text.matches(".write]\n").count(), tables.len(), "{text}");
    let checked = folder.run(&["check"], &variables).good();
    assert!(checked.contains(&format!("{} resource(s): 0 error(s)", tables.len())), "{checked}\n{text}");
    folder.run(&["schema", "graphql"], &variables).good();
    let update = folder.run(&["introspect", "--update", "--writable"], &variables).good();
    assert!(update.ends_with("0 addition(s)\n"), "{update}");
    // What GraphQL cannot serve is an error of an updated manifest too.
    let more = "\n[resource.app.customerCreateInput]\ntable = \"customer\"\n[resource.app.customerCreateInput.fields]\nname = \"text\"\n";
    folder.write("alike.toml", &(text + more));
    let update = folder.run(&["introspect", "--update"], &variables).good();
    assert!(update.contains("1 error(s) remain"), "{update}");
}

// contract P4.3
#[test]
fn introspect_refuses_to_overwrite() {
    let folder = Folder::shop();
    let before = folder.read("peristyle.toml");
    let message = folder.run(&["introspect"], &[]).refused();
    assert!(message.contains("peristyle.toml") && message.contains("--update"), "{message}");
    assert_eq!(folder.read("peristyle.toml"), before);
    let object: Value =
        serde_json::from_str(&folder.run(&["introspect", "--out", "other.toml", "--json"], &[]).good()).expect("one JSON object");
    assert_eq!((&object["file"], &object["tables"]), (&"other.toml".into(), &2.into()));
    folder.run(&["introspect", "--out", "other.toml"], &[]).refused();
    folder.run(&["introspect", "--force"], &[]).good();
    assert_ne!(folder.read("peristyle.toml"), before);
    let message = folder.run(&["introspect", "--out", "new.toml"], &[("DATABASE_URL", "sqlite://missing.db")]).refused();
    assert!(message.contains("missing.db") && !folder.path("missing.db").exists(), "{message}");
    let message = folder.run(&["introspect", "--out", "no/such/folder.toml"], &[]).refused();
    assert!(message.contains("no/such/folder.toml"), "{message}");
}

// contract P4.4
#[test]
fn update_adds_new_entries_and_keeps_every_edit() {
    let folder = Folder::shop();
    folder.run(&["introspect", "--force"], &[]).good();
    let edited = folder
        .read("peristyle.toml")
        .replace("name = ", "# who it is\nfullName = { column = \"name\", type = \"text\", null = false } # was: name = ");
    folder.write("peristyle.toml", &edited);
    let nothing = folder.run(&["introspect", "--update"], &[]);
    assert!(nothing.good().contains("addition"), "{}", nothing.out());
    let again = folder.read("peristyle.toml");
    assert!(again.contains("# who it is") && again.contains("fullName = "), "{again}");
    rusqlite::Connection::open(folder.path("shop.db"))
        .and_then(|file| {
            file.execute_batch("CREATE TABLE tags (id INTEGER PRIMARY KEY, word TEXT); ALTER TABLE orders ADD COLUMN placed_on TEXT")
        })
        .expect("a new table");
    // `-` prints the manifest and does not write it.
    let printed = folder.run(&["introspect", "--update", "--out", "-"], &[]).good();
    assert_eq!(folder.read("peristyle.toml"), again);
    // A symbolic link is followed: its target is replaced.
    std::fs::rename(folder.path("peristyle.toml"), folder.path("real.toml")).expect("a moved file");
    std::os::unix::fs::symlink("real.toml", folder.path("peristyle.toml")).expect("a link");
    let object: Value = serde_json::from_str(&folder.run(&["introspect", "--update", "--json"], &[]).good()).expect("one JSON object");
    assert_eq!(folder.read("real.toml").trim_end(), printed.trim_end());
    assert!(folder.path("peristyle.toml").is_symlink());
    let left = std::fs::read_dir(folder.path("")).expect("a folder").filter_map(Result::ok);
    assert_eq!(left.filter(|entry| entry.file_name().to_string_lossy().ends_with(".new")).count(), 0);
    assert!(object["added"].as_array().is_some_and(|added| added.len() >= 2), "{object}");
    let updated = folder.read("peristyle.toml");
    assert!(updated.contains("# who it is") && updated.contains("tag.fields]") && updated.contains("placedOn"), "{updated}");
    assert!(folder.run(&["check"], &[]).good().contains(" 0 error(s)"));
    // A table that the database lost stays in the manifest, and is reported.
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch("DROP TABLE tags")).expect("a table less");
    let said = folder.run(&["introspect", "--update"], &[]).good();
    assert!(said.contains("1 error(s) remain, see `peristyle check`"), "{said}");
    let message = folder.run(&["introspect", "--update", "--out", "none.toml"], &[]).refused();
    assert!(message.contains("none.toml"), "{message}");
}

// contract P1.6, contract P4.4
#[test]
fn update_reports_where_a_manifest_is_invalid() {
    let folder = Folder::shop();
    for (broken, start) in [
        ("[resource.a.b\n", "peristyle.toml:1: not TOML"),
        ("\n[resource.a.b]\nfoo = 1\n[resource.a.b.fields]\nid = \"int\"\n", "peristyle.toml:3: "),
    ] {
        folder.write("peristyle.toml", broken);
        let message = folder.run(&["introspect", "--update"], &[]).refused();
        assert!(message.contains(start) && !message.contains("manifest:"), "{message}");
    }
}

// contract P4.4
#[test]
fn update_does_not_restore_deleted_entries() {
    let folder = Folder::shop();
    folder.run(&["introspect", "--force"], &[]).good();
    let kept: String = folder
        .read("peristyle.toml")
        .split_inclusive('\n')
        .filter(|line| !line.starts_with("total") && !line.starts_with("orders"))
        .collect();
    folder.write("peristyle.toml", &kept);
    assert!(folder.run(&["introspect", "--update"], &[]).good().contains("0 addition(s)"));
    assert_eq!(folder.read("peristyle.toml"), kept);
    // A new column that cannot be added is reported.
    rusqlite::Connection::open(folder.path("shop.db"))
        .and_then(|file| file.execute_batch("ALTER TABLE customers ADD COLUMN face BLOB"))
        .expect("a column");
    let reported = folder.run(&["introspect", "--update"], &[]).good();
    assert!(reported.contains("note: app.customer: column \"face\" (BLOB) is left out: no type reads it"), "{reported}");
    assert!(folder.read("peristyle.toml").contains("# app.customer: column \"face\" (BLOB) is left out"));
}

/// Schemas and tables whose combined names equal this type name.
fn tables_named(kind: &str) -> Vec<(String, String)> {
    let snake = |part: &str| {
        let words = part.chars().map(|letter| if letter.is_ascii_uppercase() { format!("_{letter}") } else { letter.to_string() });
        words.collect::<String>().trim_start_matches('_').to_ascii_lowercase()
    };
    let splits = kind.char_indices().skip(1).filter(|(_, letter)| letter.is_ascii_uppercase());
    splits.map(|(backend, _)| (snake(&kind[..backend]), snake(&kind[backend..]))).collect()
}

// contract P4.3, contract P4.4, contract G1.8
#[tokio::test]
async fn no_table_gets_a_name_that_graphql_already_has() {
    let folder = Folder::shop();
    folder.write("empty.toml", "");
    let own = folder.run(&["schema", "graphql"], &[("PERISTYLE_MANIFEST", "empty.toml")]).good();
    let words = |line: &str| line.split_once(' ').map(|(word, rest)| (word.to_owned(), rest.to_owned()));
    let declared = own.lines().filter_map(words).filter(|(word, _)| ["scalar", "type", "input"].contains(&word.as_str()));
    let mut kinds: Vec<String> = declared.filter_map(|(_, rest)| rest.split([' ', '{']).next().map(str::to_owned)).collect();
    kinds.extend(["ID", "Int", "Float", "String", "Boolean"].map(str::to_owned));
    assert!(kinds.len() > 10, "{kinds:?}");
    let made = kinds
        .iter()
        .flat_map(|kind| tables_named(kind))
        .map(|(schema, table)| format!("CREATE SCHEMA IF NOT EXISTS {schema}; CREATE TABLE {schema}.\"{table}\" (id int PRIMARY KEY);"));
    let script: String = made.collect();
    let script = script + "CREATE TABLE users (id int PRIMARY KEY); CREATE TABLE user_by_id (id int PRIMARY KEY);";
    let database = Database::with(Backend::Postgres, &script).await;
    let variables = [("DATABASE_URL", database.url.as_str()), ("PERISTYLE_MANIFEST", "made.toml")];
    folder.run(&["introspect"], &variables).good();
    assert!(folder.run(&["check"], &variables).good().contains(" 0 error(s)"));
    // An update avoids these names too.
    let more = "CREATE TABLE orders (id int); CREATE TABLE order_by_id (id int); CREATE TABLE user_by_id_by_id (id int);
        CREATE SCHEMA app_get; CREATE TABLE app_get.x (id int); CREATE TABLE find_x (id int)";
    database.execute(more).await;
    assert!(folder.run(&["introspect", "--update"], &variables).good().contains("5 addition(s)"));
    assert!(folder.run(&["check"], &variables).good().contains(" 0 error(s)"), "{}", folder.read("made.toml"));
}

// contract P4.3, contract P4.1, contract P4.5
#[test]
fn a_view_that_never_ends_does_not_slow_the_other_tables() {
    let folder = Folder::shop();
    let script = "
        CREATE VIEW endless AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) AS n FROM c;
        CREATE TABLE times (id INTEGER PRIMARY KEY, at TIMESTAMP, anything, size INTEGER);
        WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c WHERE x < 3000)
            INSERT INTO times SELECT x, '2024-01-01 00:00:00', 5, 1.5 FROM c;
        CREATE VIEW half AS WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT t.id, (SELECT count(*) FROM c) AS n FROM times t;
        CREATE VIEW doubles AS SELECT id * 2 AS twice FROM times;
        CREATE VIEW failing AS SELECT id, abs(-9223372036854775808) AS o FROM times;";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(script)).expect("views");
    let variables = [("DATABASE_TIMEOUT", "1"), ("PERISTYLE_MANIFEST", "made.toml")];
    folder.run(&["introspect"], &variables).good();
    let text = folder.read("made.toml");
    let words = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = text.lines().map(words).collect();
    for line in [
        r#"at = { type = "timestamp", stored = "datetime" }"#,
        r#"anything = "bigint""#,
        r#"size = "float""#,
        r#"twice = "bigint""#,
        r#"# table "main"."endless" is left out: it has no column that can be read; its rows could not be looked at (that takes too long)"#,
        "# its rows could not be looked at (that takes too long); types are as declared",
        "# its rows could not be looked at (integer overflow); types are as declared",
    ] {
        assert!(lines.iter().any(|found| found == line), "no line {line:?} in\n{text}");
    }
    // `check` has a timeout for each table too: it reports later tables although one view never ends.
    let views = "[resource.a.half]\ntable = \"half\"\nfields.id = \"bigint\"\nfields.n = \"bigint\"\n";
    let times = "[resource.a.time]\ntable = \"times\"\nfields.at = \"timestamp\"\n";
    folder.write("made.toml", &format!("{views}{times}"));
    let reported = folder.run(&["check"], &variables).good();
    assert!(reported.contains("made.toml:1: `a.half`: reading its first rows takes too long"), "{reported}");
    assert!(reported.contains("made.toml:7: `a.time.at`: of the first 1000 row(s), 1000 have an invalid timestamp"), "{reported}");
}

// contract P4.5
#[test]
fn introspect_counts_declared_and_omitted_tables() {
    let folder = Folder::shop();
    let script = "CREATE TABLE passing (id INTEGER); CREATE VIEW lost AS SELECT id FROM passing; DROP TABLE passing;
        CREATE TABLE pictures (face BLOB); CREATE TABLE albums (id INTEGER PRIMARY KEY, cover BLOB); CREATE VIEW names AS SELECT name FROM customers";
    rusqlite::Connection::open(folder.path("shop.db")).and_then(|file| file.execute_batch(script)).expect("tables");
    let said = folder.run(&["introspect", "--force"], &[]).good();
    assert!(said.contains("from 4 table(s) and view(s); see its 3 comments on what is left out"), "{said}");
    let object: Value = serde_json::from_str(&folder.run(&["introspect", "--out", "-", "--json"], &[]).good()).expect("one JSON object");
    assert_eq!((&object["tables"], &object["notes"].as_array().map(Vec::len)), (&4.into(), &Some(3)), "{object}");
    let object: Value = serde_json::from_str(&folder.run(&["introspect", "--update", "--json"], &[]).good()).expect("one JSON object");
    assert_eq!((&object["tables"], &object["notes"]), (&4.into(), &serde_json::json!([])), "{object}");
}
