//! Names from a database: other alphabets, and plurals of tables named in the singular.

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
