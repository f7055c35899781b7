//! Foreign keys that cannot be relations: said once, and offered when they can.

use super::{has, has_not, passes, sqlite, with_postgres};
use query::sql::Dialect;
use store::introspect::{manifest, update};
use store::schema::read_postgres;

const ODD: &str = "
    CREATE TABLE p (id INTEGER PRIMARY KEY, a INTEGER);
    CREATE TABLE c (id INTEGER PRIMARY KEY, p_a INTEGER REFERENCES p (a), word TEXT REFERENCES p (id), ratio REAL REFERENCES p (id),
        amount NUMERIC REFERENCES p (id), free REFERENCES p (id), code REFERENCES q (code));
    CREATE TABLE q (code TEXT PRIMARY KEY);
";

// contract P4.5
#[test]
fn a_foreign_key_that_is_no_relation_is_told() {
    let schema = sqlite(ODD);
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    for line in [
        "# foreign key (p_a) -> p (a) is left out: (a) is no unique key of p",
        "# foreign key (word) -> p (id) is left out: rows are not connected by text and bigint",
        "# foreign key (ratio) -> p (id) is left out: rows are not connected by float and bigint",
        "# foreign key (amount) -> p (id) is left out: rows are not connected by decimal and bigint",
        "# introspected c (p_a) -> p (a), left out",
        "# introspected c (word) -> p (id), left out",
        "# introspected c (free) -> p (id)",
        // A column without a type is what it refers to.
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
    let same = update(&text, &sqlite(ODD), Dialect::Sqlite).unwrap();
    assert_eq!((same.added.len(), same.text.as_str()), (0, text.as_str()));
    let schema = sqlite(&format!("{ODD} CREATE UNIQUE INDEX p_by_a ON p (a);"));
    let result = update(&text, &schema, Dialect::Sqlite).unwrap();
    passes(&result.text, &schema, Dialect::Sqlite);
    assert_eq!(result.added, ["relation app.p.cByPAP", "relation app.c.pAP"], "{}", result.text);
    has(&result.text, "# introspected c (p_a) -> p (a)");
    has_not(&result.text, "# introspected c (p_a) -> p (a), left out");
    // What was deleted stays deleted.
    let trimmed: String = result.text.split_inclusive('\n').filter(|line| !line.contains("pAP") && !line.contains("PAP")).collect();
    assert_eq!(update(&trimmed, &schema, Dialect::Sqlite).unwrap().added, Vec::<String>::new());
}

// contract P4.5
#[tokio::test]
async fn types_that_are_never_equal_are_told_on_postgres() {
    let sql = "CREATE TABLE n (k numeric PRIMARY KEY); CREATE TABLE d (k date PRIMARY KEY);
        CREATE TABLE r (id int PRIMARY KEY, n_k int REFERENCES n (k), d_k timestamptz REFERENCES d (k));";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        passes(&text, &schema, Dialect::Postgres);
        has(&text, "# foreign key (n_k) -> n (k) is left out: rows are not connected by int and decimal");
        has(&text, "# foreign key (d_k) -> d (k) is left out: rows are not connected by timestamp and date");
        let change = "ALTER TABLE r DROP CONSTRAINT r_n_k_fkey; ALTER TABLE r ALTER n_k TYPE numeric; ALTER TABLE r ADD FOREIGN KEY (n_k) REFERENCES n (k)";
        client.batch_execute(change).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        // The manifest's own type decides until it follows.
        assert_eq!(update(&text, &schema, Dialect::Postgres).unwrap().added, Vec::<String>::new());
        let followed = text.replace("nK = \"int\"", "nK = \"decimal\"");
        assert_eq!(update(&followed, &schema, Dialect::Postgres).unwrap().added, ["relation app.n.r", "relation app.r.n"]);
    })
    .await;
}

// contract P4.3
#[test]
fn a_table_that_holds_nothing_but_pairs_joins_though_it_has_no_key() {
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
    // What has a time of its own tells more than that two belong together, unless each pair can only be there once.
    has_not(&text, r#"through = "visits""#);
}
