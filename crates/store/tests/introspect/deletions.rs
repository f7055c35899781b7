//! `update` does not restore a table, column or relation that was deleted from the manifest.

use super::{has, has_not, passes, sqlite, with_postgres};
use query::sql::Dialect;
use store::introspect::{OfferedAccess, manifest, update};
use store::schema::{Schema, read_postgres};

const SHOP: &str = r#"
    CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, "pass word, old" TEXT, "say ""hi""" TEXT);
    CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), note TEXT, clerk INTEGER);
    CREATE TABLE secrets (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id));
    CREATE TABLE labels (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE customers_labels (
        customer_id INTEGER REFERENCES customers (id), label_id INTEGER REFERENCES labels (id), PRIMARY KEY (customer_id, label_id));
"#;

/// Later changes of the shop. SQLite cannot add a foreign key to a table, so only PostgreSQL gets one.
const LATER: &str = r"
    ALTER TABLE customers ADD COLUMN phone TEXT;
    ALTER TABLE secrets ADD COLUMN more TEXT;
    CREATE TABLE clerks (id INTEGER PRIMARY KEY, name TEXT);
    CREATE TABLE visits (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), secret_id INTEGER REFERENCES secrets (id));
";

/// Deletes two columns, a relation, a resource with the relations to it, and both relations through a pivot.
fn trimmed(text: &str) -> String {
    let secrets = text.find("\n[resource.app.secret]").unwrap();
    let ends = ["\n[resource.app.label]", "\n# What `peristyle"].iter().filter_map(|end| text[secrets..].find(end));
    let after = secrets + ends.min().unwrap();
    let without = format!("{}{}", &text[..secrets], &text[after..]);
    let deleted =
        |line: &&str| ["passWord", "sayHi", "orders ", "secrets ", "labels ", "customers "].iter().any(|start| line.starts_with(start));
    without.split_inclusive('\n').filter(|line| !deleted(line)).collect()
}

fn no_deletion_comes_back(before: &Schema, dialect: Dialect) -> String {
    let text = manifest(before, dialect);
    has(&text, r#"# introspected customers: id, name, "pass word, old", "say \"hi\"""#);
    let edited = trimmed(&text);
    has_not(&edited, "passWord");
    has_not(&edited, "sayHi");
    has_not(&edited, "through = ");
    has_not(&edited, "resource.app.secret");
    let same = update(&edited, before, dialect, OfferedAccess::ReadOnly).unwrap();
    assert_eq!(same.added, Vec::<String>::new());
    assert_eq!(same.text, edited);
    edited
}

fn only_additions(edited: &str, after: &Schema, dialect: Dialect) -> String {
    let result = update(edited, after, dialect, OfferedAccess::ReadOnly).unwrap();
    passes(&result.text, after, dialect);
    has_not(&result.text, "passWord");
    has_not(&result.text, "orders = {");
    has_not(&result.text, "through = ");
    has_not(&result.text, "resource.app.secret");
    has(&result.text, r#"phone = "text""#);
    has(&result.text, r#"visits = { many = "app.visit", on = { id = "customerId" } }"#);
    has(&result.text, r"# introspected visits: id, customer_id, secret_id");
    // Every line is still there, in its order.
    let mut lines = result.text.lines();
    for line in edited.lines().filter(|line| !line.starts_with("# introspected")) {
        assert!(lines.any(|found| found == line), "{line:?} is gone from\n{}", result.text);
    }
    let again = update(&result.text, after, dialect, OfferedAccess::ReadOnly).unwrap();
    assert_eq!((again.added.len(), again.text.as_str()), (0, result.text.as_str()));
    result.text
}

// contract P4.4
#[test]
fn deletions_stay_deleted_on_sqlite() {
    let edited = no_deletion_comes_back(&sqlite(SHOP), Dialect::Sqlite);
    only_additions(&edited, &sqlite(&format!("{SHOP}{LATER}")), Dialect::Sqlite);
}

// contract P4.4
#[tokio::test]
async fn deletions_stay_deleted_on_postgres() {
    with_postgres("", SHOP, |client| async move {
        let edited = no_deletion_comes_back(&read_postgres(&client).await.unwrap(), Dialect::Postgres);
        client.batch_execute(LATER).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        let later = only_additions(&edited, &schema, Dialect::Postgres);
        // A new foreign key between known tables is an addition too.
        client.batch_execute("ALTER TABLE orders ADD FOREIGN KEY (clerk) REFERENCES clerks (id)").await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        let result = update(&later, &schema, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap();
        assert_eq!(result.added, ["relation app.clerk.orders", "relation app.order.clerkClerk"]);
        has(&result.text, "# introspected orders (clerk) -> clerks (id)");
        // A relation that was written by hand is not added again.
        let by_hand = later.replace(
            "[resource.app.order.relations]\n",
            "[resource.app.order.relations]\nseller = { one = \"app.clerk\", on = { clerk = \"id\" } }\n",
        );
        assert_eq!(update(&by_hand, &schema, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap().added, ["relation app.clerk.orders"]);
    })
    .await;
}

// contract P4.4
#[test]
fn a_manifest_without_the_list_gets_it() {
    let schema = sqlite(SHOP);
    let text = manifest(&schema, Dialect::Sqlite);
    let (bare, comments) = text.split_at(text.find("\n# What `peristyle").unwrap());
    let result = update(bare, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!((result.added.len(), result.text.as_str()), (0, text.as_str()));
    // An update moves them to the end, and keeps other comments beside them.
    let moved = format!("# introspected by me: yes, twice\n{comments}\n{bare}\n# the end");
    let more = sqlite(&format!("{SHOP} CREATE TABLE more (id INTEGER PRIMARY KEY);"));
    let result = update(&moved, &more, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!(result.added, ["resource app.more"]);
    assert!(
        result.text.starts_with(&format!("# introspected by me: yes, twice\n\n{bare}\n# the end\n\n[resource.app.more]")),
        "{}",
        result.text
    );
    assert!(result.text.ends_with("labels (id)\n") && result.text.matches("has seen.").count() == 1, "{}", result.text);
}

// contract P4.4
#[test]
fn deletions_from_the_list_too_are_offered_again() {
    let schema = sqlite(SHOP);
    let edited = trimmed(&manifest(&schema, Dialect::Sqlite));
    let asked = edited.replace("\"pass word, old\", ", ", ").replace("# introspected secrets: id, customer_id\n", "");
    let result = update(&asked, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    let added = ["field app.customer.passWordOld", "relation app.customer.secrets", "resource app.secret"];
    assert_eq!(result.added, added, "{}", result.text);
    passes(&result.text, &schema, Dialect::Sqlite);
}

// contract P4.4, contract P4.5
#[test]
fn a_new_unreadable_column_is_noted_once() {
    let shop = "CREATE TABLE users (id INTEGER PRIMARY KEY, old BLOB);";
    let text = manifest(&sqlite(shop), Dialect::Sqlite);
    let schema = sqlite(&format!("{shop} ALTER TABLE users ADD face BLOB; CREATE TABLE files (data BLOB);"));
    let result = update(&text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    let notes = [
        r#"app.user: column "face" (BLOB) is left out: no type reads it"#,
        r#"table "main"."files" is left out: it has no column that can be read"#,
    ];
    assert_eq!((result.added.len(), result.notes.as_slice()), (0, notes.map(str::to_owned).as_slice()), "{}", result.text);
    for note in notes {
        has(&result.text, &format!("# {note}"));
    }
    has(&result.text, "# introspected users, left out: old, face");
    has(&result.text, "# introspected files, left out: data");
    // A comment may be deleted too.
    let edited: String = result.text.split_inclusive('\n').filter(|line| !line.contains("is left out")).collect();
    let again = update(&edited, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!((again.notes.len(), again.text.as_str()), (0, edited.as_str()));
    // It is offered as soon as it can be read.
    let readable = shop.replace("old BLOB", "old BLOB, face TEXT") + "CREATE TABLE files (data BLOB, name TEXT);";
    let result = update(&edited, &sqlite(&readable), Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    assert_eq!(result.added, ["field app.user.face", "resource app.file"]);
    has(&result.text, "# introspected users, left out: old");
    // A manifest without a list gets the note too.
    let by_hand = "[resource.app.user.fields]\nid = { type = \"bigint\", key = true }\n";
    let result = update(by_hand, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap();
    has(&result.text, r#"# app.user: column "old" (BLOB) is left out: no type reads it"#);
    assert_eq!(update(&result.text, &schema, Dialect::Sqlite, OfferedAccess::ReadOnly).unwrap().text, result.text);
}

// contract P4.4
#[tokio::test]
async fn deletions_stay_deleted_under_another_search_path() {
    let sql = "CREATE TABLE customers (id int PRIMARY KEY, secret text); CREATE TABLE orders (id int PRIMARY KEY, customer_id int REFERENCES customers (id));
        CREATE SCHEMA s; CREATE TABLE s.z (id int PRIMARY KEY)";
    with_postgres("", sql, |client| async move {
        let usual = read_postgres(&client).await.unwrap();
        client.batch_execute("SET search_path = s").await.unwrap();
        let other = read_postgres(&client).await.unwrap();
        for (first, second) in [(&usual, &other), (&other, &usual)] {
            let text = manifest(first, Dialect::Postgres);
            has(&text, "# introspected orders (customer_id) -> customers (id)");
            let orders = text.find("\n[resource.app.order]").unwrap();
            let after = text.find("\n[resource.s.z]").unwrap();
            let without = format!("{}{}", &text[..orders], &text[after..]);
            let edited: String =
                without.split_inclusive('\n').filter(|line| !line.starts_with("secret ") && !line.starts_with("orders ")).collect();
            let same = update(&edited, second, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap();
            assert_eq!((same.added.len(), same.text.as_str()), (0, edited.as_str()));
            // The list may also hold qualified names.
            let long = edited
                .replace("introspected customers", "introspected public.customers")
                .replace("introspected orders", "introspected public.orders");
            assert_eq!(update(&long, second, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap().added, Vec::<String>::new());
        }
    })
    .await;
}
