//! Foreign keys that cannot be relations are noted once, and offered as soon as they can be.

use super::{findings, has, has_not, one_resource, passes, sqlite, with_postgres};
use query::sql::Dialect;
use store::introspect::{OfferedAccess, Update, manifest, update};
use store::schema::read_postgres;

const ODD: &str = "
    CREATE TABLE p (id INTEGER PRIMARY KEY, a INTEGER);
    CREATE TABLE c (id INTEGER PRIMARY KEY, p_a INTEGER REFERENCES p (a), word TEXT REFERENCES p (id), ratio REAL REFERENCES p (id),
        amount NUMERIC REFERENCES p (id), free REFERENCES p (id), code REFERENCES q (code));
    CREATE TABLE q (code TEXT PRIMARY KEY);
";

// contract P4.5
#[test]
fn a_foreign_key_that_is_no_relation_is_noted() {
    let schema = sqlite(ODD);
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    for line in [
        "# foreign key (p_a) -> p (a) is left out: (a) is no unique key of p",
        "# foreign key (word) -> p (id) is left out: the types text and bigint differ",
        "# foreign key (ratio) -> p (id) is left out: the types float and bigint differ",
        "# foreign key (amount) -> p (id) is left out: the types decimal and bigint differ",
        "# introspected c (p_a) -> p (a), left out",
        "# introspected c (word) -> p (id), left out",
        "# introspected c (free) -> p (id)",
        // A column without a type has the type of its target.
        r#"free = "bigint""#,
        r#"p = { one = "app.p", on = { free = "id" } }"#,
        r#"q = { one = "app.q", on = { code = "code" } }"#,
    ] {
        has(&text, line);
    }
}

// contract P4.4, contract P4.5
#[test]
fn a_foreign_key_is_offered_once_it_can_be_a_relation() {
    let text = manifest(&sqlite(ODD), Dialect::Sqlite);
    let same = update(&text, &sqlite(ODD), Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!((same.added.len(), same.text.as_str()), (0, text.as_str()));
    let schema = sqlite(&format!("{ODD} CREATE UNIQUE INDEX p_by_a ON p (a);"));
    let result = update(&text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    passes(&result.text, &schema, Dialect::Sqlite);
    assert_eq!(result.added, ["relation app.p.csByPAP", "relation app.c.pAP"], "{}", result.text);
    has(&result.text, "# introspected c (p_a) -> p (a)");
    has_not(&result.text, "# introspected c (p_a) -> p (a), left out");
    // A deleted relation stays deleted.
    let trimmed: String = result.text.split_inclusive('\n').filter(|line| !line.contains("pAP") && !line.contains("PAP")).collect();
    assert_eq!(update(&trimmed, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap().added, Vec::<String>::new());
}

// contract P4.5
#[tokio::test]
async fn types_that_are_never_equal_are_noted_on_postgres() {
    let sql = "CREATE TABLE n (k numeric PRIMARY KEY); CREATE TABLE d (k date PRIMARY KEY);
        CREATE TABLE r (id int PRIMARY KEY, n_k int REFERENCES n (k), d_k timestamptz REFERENCES d (k));";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        passes(&text, &schema, Dialect::Postgres);
        has(&text, "# foreign key (n_k) -> n (k) is left out: the types int and decimal differ");
        has(&text, "# foreign key (d_k) -> d (k) is left out: the types timestamp and date differ");
        let change = "ALTER TABLE r DROP CONSTRAINT r_n_k_fkey; ALTER TABLE r ALTER n_k TYPE numeric; ALTER TABLE r ADD FOREIGN KEY (n_k) REFERENCES n (k)";
        client.batch_execute(change).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        // The type in the manifest decides.
        assert_eq!(update(&text, &schema, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap().added, Vec::<String>::new());
        let edited = text.replace("nK = \"int\"", "nK = \"decimal\"");
        assert_eq!(update(&edited, &schema, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap().added, ["relation app.n.rs", "relation app.r.n"]);
    })
    .await;
}

// contract P4.3
#[test]
fn a_table_of_pairs_without_a_key_is_a_pivot_too() {
    let schema = sqlite(
        "CREATE TABLE people (id INTEGER PRIMARY KEY); CREATE TABLE groups (id INTEGER PRIMARY KEY);
         CREATE TABLE groups_people (group_id INTEGER NOT NULL REFERENCES groups, person_id INTEGER NOT NULL REFERENCES people);
         CREATE TABLE visits (id INTEGER PRIMARY KEY, group_id INTEGER REFERENCES groups, person_id INTEGER REFERENCES people, at TIMESTAMP);",
    );
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    has(&text, r#"people = { many = "app.person", through = "groups_people", on = { id = "group_id" }, to = { person_id = "id" } }"#);
    has(&text, r#"groups = { many = "app.group", through = "groups_people", on = { id = "person_id" }, to = { group_id = "id" } }"#);
    has_not(&text, "groupsPerson");
    // A table with a time is a pivot only if each pair is unique.
    has_not(&text, r#"through = "visits""#);
}

const BROKEN: &str = "
    CREATE TABLE parts (id INTEGER PRIMARY KEY, gone_id INTEGER REFERENCES gone, other_id INTEGER REFERENCES gone (id),
        listed_id INTEGER REFERENCES lists, word TEXT REFERENCES words (missing));
    CREATE TABLE lists (word TEXT);
    CREATE TABLE words (word TEXT PRIMARY KEY);
    CREATE TABLE passing (id INTEGER);
    CREATE VIEW kept AS SELECT id FROM parts;
    CREATE VIEW lost AS SELECT id FROM passing;
    CREATE VIEW strange AS SELECT no_such_function(id) AS x FROM parts;
    DROP TABLE passing;
";

// contract P4.5
#[test]
fn unreadable_tables_and_broken_keys_of_sqlite_are_noted() {
    let schema = sqlite(BROKEN);
    let text = manifest(&schema, Dialect::Sqlite);
    for line in [
        "# table \"main\".\"lost\" is left out: it cannot be read (no such table: main.passing)",
        "# table \"main\".\"strange\" is left out: it cannot be read (no such function: no_such_function)",
        "# foreign key (gone_id) -> gone is left out: there is no table gone",
        "# foreign key (other_id) -> gone (id) is left out: there is no table gone",
        "# foreign key (listed_id) -> lists is left out: lists has no primary key",
        "# foreign key (word) -> words (missing) is left out: words has no column missing",
        "# introspected lost, left out:",
        "# introspected parts (gone_id) -> gone (), left out",
        "# introspected parts (word) -> words (missing), left out",
    ] {
        has(&text, line);
    }
    has(&text, "[resource.app.kept]");
    has_not(&text, "[resource.app.lost]");
    assert_eq!(passes(&text, &schema, Dialect::Sqlite), Vec::<String>::new());
    // They are noted once, and added as soon as they can be.
    let again = update(&text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).expect("an update");
    assert_eq!((again.text.as_str(), again.notes.as_slice(), again.added.as_slice()), (text.as_str(), &[][..], &[][..]));
    let repaired = sqlite(&format!("{BROKEN} CREATE TABLE passing (id INTEGER); CREATE TABLE gone (id INTEGER PRIMARY KEY);"));
    let Update { added, notes, .. } = update(&text, &repaired, Dialect::Sqlite, OfferedAccess::ReadOnly).expect("an update");
    assert_eq!(notes, Vec::<String>::new());
    for item in ["resource app.lost", "resource app.gone", "relation app.part.gone", "relation app.part.other"] {
        assert!(added.iter().any(|added| added == item), "{item} in {added:?}");
    }
}

// contract P4.2
#[test]
fn check_says_why_a_view_cannot_be_read() {
    let schema = sqlite(BROKEN);
    let text = one_resource("lost", "", "id = \"bigint\"");
    let expected = ["1 error: resource `app.lost`: `lost` cannot be read: no such table: main.passing"];
    assert_eq!(findings(&text, &schema, Dialect::Sqlite), expected);
}
