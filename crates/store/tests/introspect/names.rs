//! Names from a database: other alphabets, and plurals of tables named in the singular.

use store::introspect::{OfferedAccess, introspect};

use super::*;

// contract P4.6
#[test]
fn letters_of_other_alphabets_are_transliterated() {
    let schema = sqlite("CREATE TABLE straße (größe TEXT, \"Ñandú\" TEXT, цена TEXT, \"naïve_élan\" TEXT, id INTEGER PRIMARY KEY)");
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    has(&text, "[resource.app.strasse]");
    has(&text, r#"groesse = { type = "text", column = "größe" }"#);
    has(&text, r#"nandu = { type = "text", column = "Ñandú" }"#);
    has(&text, r#"tsena = { type = "text", column = "цена" }"#);
    has(&text, r#"naiveElan = { type = "text", column = "naïve_élan" }"#);
    has_not(&text, "transliteration");
}

// contract P4.6
#[test]
fn a_name_that_cannot_be_transliterated_has_a_comment() {
    // A character for private use, which no alphabet has.
    let schema = sqlite("CREATE TABLE letters (id INTEGER PRIMARY KEY, \"a\u{e000}b\" TEXT)");
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    has(&text, r#"# the name of column "a\u{e000}b" has no transliteration of "\u{e000}"; choose a name for it"#);
    has(&text, "ab = { type = \"text\", column = \"a\u{e000}b\" }");
}

// contract P4.6
#[test]
fn to_many_relations_are_plural_for_tables_in_the_singular() {
    let schema = sqlite(
        "CREATE TABLE customer (id INTEGER PRIMARY KEY);
         CREATE TABLE category (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id));
         CREATE TABLE box (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id));
         CREATE TABLE person (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id));
         CREATE TABLE invoices (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customer (id));
         CREATE TABLE tag (id INTEGER PRIMARY KEY);
         CREATE TABLE customer_tag (customer_id INTEGER REFERENCES customer (id), tag_id INTEGER REFERENCES tag (id), PRIMARY KEY (customer_id, tag_id));",
    );
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    for line in [
        r#"categories = { many = "app.category", on = { id = "customerId" } }"#,
        r#"boxes = { many = "app.box", on = { id = "customerId" } }"#,
        r#"people = { many = "app.person", on = { id = "customerId" } }"#,
        r#"invoices = { many = "app.invoice", on = { id = "customerId" } }"#,
        r#"tags = { many = "app.tag", through = "customer_tag", on = { id = "customer_id" }, to = { tag_id = "id" } }"#,
        r#"customers = { many = "app.customer", through = "customer_tag", on = { id = "tag_id" }, to = { customer_id = "id" } }"#,
    ] {
        has(&text, line);
    }
}

// contract P4.6
#[test]
fn plurals_without_a_rule_have_their_singular() {
    let pairs =
        [("people", "person"), ("gas", "gas"), ("quizzes", "quiz"), ("crises", "crisis"), ("sheep", "sheep"), ("naturalGas", "naturalGas")];
    for (table, name) in pairs {
        let text = manifest(&sqlite(&format!("CREATE TABLE {table} (id INTEGER PRIMARY KEY)")), Dialect::Sqlite);
        assert!(text.contains(&format!("[resource.app.{name}]\n")), "{table}: {text}");
    }
}

// contract P4.6
#[test]
fn capitals_apostrophes_and_marks_are_no_part_of_a_name() {
    for (table, name) in [
        ("GRÖSSE", "groesse"),
        ("KÜNDIGUNG", "kuendigung"),
        ("ÜBUNG_ID", "uebungId"),
        ("ÄÖÜ", "aeoeue"),
        ("ЩУКА_ID", "shchukaId"),
        ("PREIS_NETTO", "preisNetto"),
        ("объект", "obekt"),
        ("größe", "groesse"),
        ("gro\u{308}ße", "groesse"),
        ("e\u{301}cole", "ecole"),
        ("größeTotal", "groesseTotal"),
    ] {
        let schema = sqlite(&format!("CREATE TABLE things (id INTEGER PRIMARY KEY, \"{table}\" TEXT)"));
        let text = manifest(&schema, Dialect::Sqlite);
        passes(&text, &schema, Dialect::Sqlite);
        assert!(text.contains(&format!("\n{name} ")), "{table}: {text}");
        has_not(&text, "transliteration");
    }
    for (column, lost) in [("ьъ", "ьъ"), ("aǂb", "ǂ")] {
        let schema = sqlite(&format!("CREATE TABLE things (id INTEGER PRIMARY KEY, \"{column}\" TEXT)"));
        let text = manifest(&schema, Dialect::Sqlite);
        passes(&text, &schema, Dialect::Sqlite);
        has(&text, &format!("# the name of column {column:?} has no transliteration of {lost:?}; choose a name for it"));
    }
}

// contract P4.6
#[test]
fn a_table_with_a_plain_name_keeps_it() {
    let schema = postgres_like(&["USERS", "Users", "users"]);
    let text = manifest(&schema, Dialect::Postgres);
    for (resource, table) in [("user", "users"), ("user2", "USERS"), ("user3", "Users")] {
        let part = text.split(&format!("[resource.app.{resource}]\n")).nth(1).unwrap_or_default();
        assert!(part.lines().next().is_some_and(|line| line.ends_with(&format!("= {table:?}"))), "{resource}: {text}");
    }
}

/// Tables with these names in the schema `public`, each with a key.
fn postgres_like(names: &[&str]) -> Schema {
    use store::schema::{Column, Table};
    let column = Column { name: "id".to_owned(), native: "int4".to_owned(), required: true, ..Column::default() };
    let table = |name: &&str| Table {
        schema: "public".to_owned(),
        name: (*name).to_owned(),
        columns: vec![column.clone()],
        primary_key: vec!["id".to_owned()],
        ..Table::default()
    };
    Schema { tables: names.iter().map(table).collect(), search_path: vec!["public".to_owned()], ..Schema::default() }
}

#[test]
fn a_permission_of_a_table_whose_name_begins_with_a_digit_begins_with_a_letter() {
    let schema = sqlite("CREATE TABLE \"1_items\" (id INTEGER PRIMARY KEY, name TEXT)");
    let text = introspect(&schema, Dialect::Sqlite, OfferedAccess::Writable).text;
    passes(&text, &schema, Dialect::Sqlite);
    has(&text, "create = \"app.n1Item.create\"");
}
