//! `update` adds new tables, columns and relations, and keeps every edit.

use super::{SQLITE_SHOP, has, has_not, passes, sqlite};
use query::sql::Dialect;
use store::introspect::{OfferedAccess, UpdateError, update};

fn customers_and_orders(more_columns: &str) -> String {
    format!(
        "CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT{more_columns}); \
         CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers);"
    )
}

const ORDERS_OF_CUSTOMER: &str = "\n[resource.app.customer.relations]\norders = { many = \"app.order\", on = { id = \"customerId\" } }\n";
const CUSTOMER_OF_ORDER: &str = "\n[resource.app.order.relations]\ncustomer = { one = \"app.customer\", on = { customerId = \"id\" } }\n";

#[test]
fn an_update_adds_fields_and_relations_and_keeps_every_edit() {
    let schema = sqlite(SQLITE_SHOP);
    let existing = r#"# my shop

[resource.shop.client]          # renamed
table      = "customers"
permission = "shop.client.get"

[resource.shop.client.fields]
id    = { type = "bigint", key = true }    # the key
secret   = { type = "text", column = "name", hidden = true }
  country_code = "text"
code = { type = "text", column = "country_code", mask = "redact" }

# the end
"#;
    let first = update(existing, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    passes(&first.text, &schema, Dialect::Sqlite);
    // Every line is still there, in its order.
    let mut new = first.text.lines();
    for line in existing.lines() {
        assert!(new.any(|found| found == line), "{line:?} is gone from\n{}", first.text);
    }
    has_not(&first.text, "column = \"name\" }");
    has(&first.text, r#"tenantId = { type = "uuid", null = false }"#);
    has(
        &first.text,
        r#"clients = { many = "shop.client", through = "customers_labels", on = { id = "label_id" }, to = { customer_id = "id" } }"#,
    );
    has(&first.text, r#"country = { one = "app.country", on = { country_code = "code" } }"#);
    for added in [
        "field shop.client.tenantId",
        "relation shop.client.labels",
        "relation shop.client.country",
        "resource app.country",
        "resource app.label",
    ] {
        assert!(first.added.iter().any(|found| found == added), "{added} not in {:?}", first.added);
    }
    // A second update adds nothing.
    let second = update(&first.text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!(second.added, Vec::<String>::new());
    assert_eq!(second.text, first.text);
}

#[test]
fn an_update_follows_the_layout_of_the_manifest() {
    let schema = sqlite(&customers_and_orders(", born DATE, code TEXT"));
    let aligned = "[resource.app.customer.fields]\nid       = { type = \"bigint\", key = true }\nfullName = { type = \"text\", column = \"name\" } # said so\n\n# orders\n[resource.app.order.fields]\nid = \"bigint\"\n";
    let result = update(aligned, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    let (customer, order) = aligned.split_once("\n# orders\n").unwrap();
    let expected = format!(
        "{customer}born     = \"date\"\ncode     = \"text\"\n{ORDERS_OF_CUSTOMER}\n# orders\n{order}customerId = \"bigint\"\n{CUSTOMER_OF_ORDER}"
    );
    let seen = "# introspected customers: id, name, born, code\n# introspected orders: id, customer_id\n# introspected orders (customer_id) -> customers (id)\n";
    let (body, comments) = result.text.split_once("\n# What `peristyle introspect` has seen.").unwrap();
    assert_eq!(body, expected);
    assert!(comments.ends_with(seen), "{comments}");
    let windows = update(&aligned.replace('\n', "\r\n"), &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!(windows.text, result.text.replace('\n', "\r\n"));
    assert_eq!(update(&windows.text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap().text, windows.text);
    for odd in [
        "resource.app.customer = { fields = { id = \"bigint\" } }\n",
        "[resource.app]\ncustomer = { fields = { id = \"bigint\" } }\n",
        "[resource.app.customer]\nfields = { id = \"bigint\" }\n",
        "[resource.app]\ncustomer.fields.id = \"bigint\"\n",
        "[resource.app.customer.fields.id]\ntype = \"bigint\"\n",
    ] {
        match update(odd, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly) {
            Ok(update) => {
                passes(&update.text, &schema, Dialect::Sqlite);
                assert!(update.text.contains("born"), "{}", update.text);
            }
            Err(error) => assert!(matches!(error, UpdateError::Layout(_)), "{error}"),
        }
    }
    assert!(matches!(
        update("[resource.app.x]\nfoo = 1\n", &schema, Dialect::Sqlite, OfferedAccess::ReadOnly),
        Err(UpdateError::Manifest(_))
    ));
}

// contract P4.4
#[test]
fn a_comment_that_ends_a_table_stays_with_it() {
    let schema = sqlite(&customers_and_orders(""));
    let customer =
        "[resource.app.customer.fields]\nid = { type = \"bigint\", key = true }\nname = \"text\"\n  # no phone: the law\n# nor fax\n";
    let order = "# orders\n[resource.app.order.fields]\nid = \"bigint\"\ncustomerId = \"bigint\"\n# the end of orders\n\n# the end\n";
    let (many, one) = (ORDERS_OF_CUSTOMER, CUSTOMER_OF_ORDER);
    let (fields, rest) = order.split_at(order.find("\n# the end\n").unwrap());
    let expected = format!("{customer}{many}\n{fields}{one}{rest}");
    for (before, after) in [("\n", "\n"), ("\r\n", "\r\n")] {
        let existing = format!("{customer}\n{order}").replace("customerId = \"bigint\"\n", "").replace('\n', before);
        let result = update(&existing, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
        let body = &result.text[..result.text.find(&format!("{after}# What `peristyle")).unwrap()];
        assert_eq!(body, expected.replace('\n', after));
    }
    let dotted = "[resource.app]\ncustomer.fields.id = { type = \"bigint\", key = true }\n# no phone\n\n# the end\n";
    let result = update(dotted, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert!(result.text.contains("customer.fields.name = \"text\"\n# no phone\n\n[resource.app.customer.relations]"), "{}", result.text);
    // A comment right above a header belongs to that header. No header follows the last table.
    let close = format!("{customer}{order}").replace("customerId = \"bigint\"\n", "").replace("\n\n# the end\n", "");
    let result = update(&close, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    let (before, after) = result.text.split_once(many).unwrap();
    assert!(before.ends_with("name = \"text\"\n") && after.starts_with("  # no phone"), "{}", result.text);
    assert!(after.contains(&format!("# the end of orders\n{one}")), "{}", result.text);
}

// contract P4.4
#[test]
fn a_manifest_without_a_list_is_offered_the_missing_relations() {
    let schema = sqlite(
        "CREATE TABLE posts (id INTEGER PRIMARY KEY); CREATE TABLE tags (id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES posts); \
         CREATE TABLE notes (id INTEGER PRIMARY KEY, post_id INTEGER REFERENCES posts);",
    );
    let existing = "[resource.app.post.fields]\nid = { type = \"bigint\", key = true }\n\n\
                    [resource.app.tag.fields]\nid = { type = \"bigint\", key = true }\npostId = \"bigint\"\n\n\
                    [resource.app.note.fields]\nid = { type = \"bigint\", key = true }\npostId = \"bigint\"\n\n\
                    [resource.app.note.relations]\nabout = { one = \"app.post\", on = { postId = \"id\" } }\n";
    let result = update(existing, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    passes(&result.text, &schema, Dialect::Sqlite);
    for added in ["tags = { many = \"app.tag\"", "post = { one = \"app.post\", on = { postId = \"id\" } }", "notes = { many = \"app.note\""]
    {
        assert_eq!(result.text.matches(added).count(), 1, "{added}: {}", result.text);
    }
    assert_eq!(result.text.matches("one = \"app.post\"").count(), 2, "a relation under another name counts: {}", result.text);
    assert_eq!(update(&result.text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap().text, result.text);
}
