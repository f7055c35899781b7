//! Schema, check and introspect against real databases: SQLite in memory, PostgreSQL from `PERISTYLE_TEST_POSTGRES`.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "introspect/check.rs"]
mod check_faults;
#[path = "introspect/deletions.rs"]
mod deletions;
#[path = "introspect/links.rs"]
mod links;
#[path = "introspect/names.rs"]
mod names;
#[path = "introspect/postgres.rs"]
mod postgres;
#[path = "introspect/update.rs"]
mod updates;
#[path = "introspect/values.rs"]
mod values;
#[path = "introspect/versions.rs"]
mod versions;
#[path = "introspect/writable.rs"]
mod writable;
#[path = "introspect/write_check.rs"]
mod write_check;
#[path = "introspect/write_facts.rs"]
mod write_facts;
#[path = "introspect/write_warnings.rs"]
mod write_warnings;

use std::sync::atomic::{AtomicU32, Ordering};

use query::catalog::Catalog;
use query::manifest::Manifest;
use query::sql::Dialect;
use rusqlite::Connection;
use store::check::{Severity, check};
use store::introspect::manifest;
use store::schema::{IndexCondition, Schema, read_sqlite};
use tokio_postgres::{Client, Config, NoTls};

fn catalog(text: &str) -> Catalog {
    let manifest = Manifest::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    Catalog::resolve(&manifest).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn findings(text: &str, schema: &Schema, dialect: Dialect) -> Vec<String> {
    let report = check(&catalog(text), schema, dialect);
    report.findings.iter().map(|finding| format!("{} {}: {}", finding.line, finding.severity.as_str(), finding.message)).collect()
}

/// A manifest of one resource: the lines of its table, and those of its fields.
fn one_resource(name: &str, lines: &str, fields: &str) -> String {
    format!("[resource.app.{name}]\ntable = \"{name}\"\n{lines}[resource.app.{name}.fields]\n{fields}\n")
}

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found.split_whitespace().eq(line.split_whitespace())), "no line {line:?} in\n{text}");
}

fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} in\n{text}");
}

/// Reads, resolves and checks a manifest without errors; returns the warnings.
fn passes(text: &str, schema: &Schema, dialect: Dialect) -> Vec<String> {
    let report = check(&catalog(text), schema, dialect);
    let (errors, warnings): (Vec<_>, Vec<_>) = report.findings.into_iter().partition(|finding| finding.severity == Severity::Error);
    assert!(errors.is_empty(), "{errors:#?}\n{text}");
    warnings.into_iter().map(|finding| finding.message).collect()
}

fn sqlite(sql: &str) -> Schema {
    let connection = Connection::open_in_memory().unwrap();
    connection.execute_batch(sql).unwrap();
    let mut schema = read_sqlite(&connection).unwrap();
    store::introspect::sample(&connection, &mut schema, || {});
    schema
}

/// Runs the body on a new database, and drops the database at the end.
async fn with_postgres<F: Future<Output = ()> + Send + 'static>(options: &str, sql: &str, body: impl FnOnce(Client) -> F + Send + 'static) {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    #[expect(clippy::disallowed_methods, reason = "tests learn the cluster's URL from scripts/services")]
    let Ok(url) = std::env::var("PERISTYLE_TEST_POSTGRES") else { panic!("run ./scripts/test, which starts PostgreSQL") };
    let mut config: Config = url.parse().unwrap();
    let name = format!("introspect_{}_{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let administrator = connect(&config).await;
    administrator.batch_execute(&format!("CREATE DATABASE {name} {options}")).await.unwrap();
    let client = connect(config.dbname(&name)).await;
    client.batch_execute(sql).await.unwrap();
    let outcome = tokio::spawn(body(client)).await;
    administrator.batch_execute(&format!("DROP DATABASE {name} WITH (FORCE)")).await.unwrap();
    if let Err(error) = outcome {
        std::panic::resume_unwind(error.into_panic());
    }
}

async fn connect(config: &Config) -> Client {
    let (client, connection) = config.connect(NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

const SQLITE_SHOP: &str = r#"
    CREATE TABLE countries (code TEXT PRIMARY KEY, name VARCHAR(80) NOT NULL);
    CREATE TABLE customers (
        id INTEGER PRIMARY KEY, tenant_id UUID NOT NULL, name TEXT NOT NULL, country_code TEXT REFERENCES Countries(Code),
        active BOOLEAN, flags TINYINT(1), size SMALLINT, points INT, weight DOUBLE PRECISION, balance DECIMAL(10, 2),
        profile JSON, avatar BLOB, anything, birthday DATE, wakes TIME, created_at DATETIME NOT NULL, seen_at TIMESTAMP,
        shout TEXT GENERATED ALWAYS AS (upper(name)) VIRTUAL, UNIQUE (tenant_id, id));
    CREATE INDEX customers_country ON customers (country_code);
    CREATE TABLE "order" (
        id INTEGER PRIMARY KEY, tenant_id UUID NOT NULL, customer_id INTEGER NOT NULL,
        FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id));
    CREATE INDEX order_customer ON "order" (tenant_id, customer_id);
    CREATE TABLE labels (id INTEGER PRIMARY KEY, name TEXT NOT NULL);
    CREATE TABLE customers_labels (
        customer_id INTEGER NOT NULL REFERENCES customers, label_id INTEGER NOT NULL REFERENCES labels,
        PRIMARY KEY (customer_id, label_id)) WITHOUT ROWID;
    CREATE INDEX customers_labels_back ON customers_labels (label_id);
    CREATE VIEW loud_customers AS SELECT id, shout FROM customers;
    CREATE TABLE peristyle_own (id INTEGER PRIMARY KEY);
"#;

const SQLITE_SHOP_MANIFEST: &str = r#"
[resource.app.country]
table  = "countries"
plural = "countries"

[resource.app.country.fields]
code = { type = "text", key = true }
name = { type = "text", null = false }

[resource.app.country.relations]
customers = { many = "app.customer", on = { code = "countryCode" } }

[resource.app.customer]
table = "customers"

[resource.app.customer.fields]
id          = { type = "bigint", key = true }
tenantId    = { type = "uuid", null = false }
name        = { type = "text", null = false }
countryCode = "text"
active      = "bool"
flags       = "bool"
size        = "int"
points      = "bigint"
weight      = "float"
balance     = "decimal"
profile     = "json"
anything    = "text"
birthday    = "date"
wakes       = "time"
createdAt   = { type = "timestamp", stored = "datetime", null = false }
seenAt      = "timestamp"
shout       = "text"
# column "avatar" (BLOB) is left out: no type reads it

[resource.app.customer.relations]
country = { one = "app.country", on = { countryCode = "code" } }
orders  = { many = "app.order", on = { tenantId = "tenantId", id = "customerId" } }
labels  = { many = "app.label", through = "customers_labels", on = { id = "customer_id" }, to = { label_id = "id" } }

[resource.app.order]
table  = "order"
plural = "order"

[resource.app.order.fields]
id         = { type = "bigint", key = true }
tenantId   = { type = "uuid", null = false }
customerId = { type = "bigint", null = false }

[resource.app.order.relations]
customer = { one = "app.customer", on = { tenantId = "tenantId", customerId = "id" } }

[resource.app.label]
table = "labels"

[resource.app.label.fields]
id   = { type = "bigint", key = true }
name = { type = "text", null = false }

[resource.app.label.relations]
customers = { many = "app.customer", through = "customers_labels", on = { id = "label_id" }, to = { customer_id = "id" } }

[resource.app.loudCustomer]
table = "loud_customers"

[resource.app.loudCustomer.fields]
id    = "bigint"
shout = "text"

# What `peristyle introspect` has seen. `--update` adds only what is not listed here, so that what is deleted above
# stays deleted. To be offered something again, delete it from this list too.
# introspected countries: code, name
# introspected customers: id, tenant_id, name, country_code, active, flags, size, points, weight, balance, profile,
# introspected customers: anything, birthday, wakes, created_at, seen_at, shout
# introspected labels: id, name
# introspected loud_customers: id, shout
# introspected order: id, tenant_id, customer_id
# introspected customers, left out: avatar
# introspected customers (country_code) -> countries (code)
# introspected order (tenant_id, customer_id) -> customers (tenant_id, id)
# introspected customers_labels (customer_id) -> customers (id)
# introspected customers_labels (label_id) -> labels (id)
"#;

#[test]
fn a_sqlite_shop_becomes_this_manifest() {
    let schema = sqlite(SQLITE_SHOP);
    let text = manifest(&schema, Dialect::Sqlite);
    let body = &text[text.find("\n[").unwrap()..];
    assert_eq!(body, SQLITE_SHOP_MANIFEST, "{text}");
    assert!(text.starts_with("# Written by `peristyle introspect`"));
    let warnings = passes(&text, &schema, Dialect::Sqlite);
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].contains("`balance` of `app.customer`: type decimal on a column declared \"DECIMAL(10, 2)\""));
}

#[test]
fn odd_names_of_sqlite_become_identifiers() {
    let schema = sqlite(
        r#"
        CREATE TABLE "Odd ""Table"" 1" ("and" TEXT, "NOT" INTEGER, "a b" TEXT, a_b TEXT, "2fa" TEXT, "名" TEXT, "名前" TEXT, "it's" TEXT, "HTTPCode" INT);
        CREATE TABLE "dotted.name" (id INTEGER PRIMARY KEY, "line
break" TEXT);
        CREATE TABLE user (id INTEGER PRIMARY KEY);
        CREATE TABLE users (id INTEGER PRIMARY KEY);
        CREATE TABLE "名" (id INTEGER PRIMARY KEY);
        CREATE TABLE empty_of_use (data BLOB);
        CREATE VIEW broken AS SELECT * FROM missing;
        "#,
    );
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    has(&text, r#"table = "Odd \"Table\" 1""#);
    has(&text, r#"andValue = { type = "text", column = "and" }"#);
    has(&text, r#"notValue = { type = "bigint", column = "NOT" }"#);
    has(&text, r#"aB = { type = "text", column = "a b" }"#);
    has(&text, r#"aB2 = { type = "text", column = "a_b" }"#);
    has(&text, r#"_2fa = { type = "text", column = "2fa" }"#);
    has(&text, r#"mingQian = { type = "text", column = "名前" }"#);
    has(&text, r#"itS = { type = "text", column = "it's" }"#);
    has(&text, r#"httpCode = { type = "bigint", column = "HTTPCode" }"#);
    has(&text, r#"table = "main.dotted.name""#);
    has(&text, r#"lineBreak = { type = "text", column = "line\u000Abreak" }"#);
    has(&text, "[resource.app.user]");
    has(&text, "[resource.app.user2]");
    has(&text, "[resource.app.ming]");
    has(&text, r#"# table "main"."empty_of_use" is left out: it has no column that can be read"#);
}

// contract P4.3
#[test]
fn the_type_of_a_computed_view_column_is_inferred_from_its_rows() {
    let schema = sqlite(
        r#"
        CREATE TABLE orders (id INTEGER PRIMARY KEY, total REAL, note TEXT);
        INSERT INTO orders VALUES (1, 2.5, 'a'), (2, NULL, NULL), (3, 4.5, '3');
        CREATE VIEW sums AS
            SELECT id, count(*) AS n, sum(total) AS "sum ""of"" totals", max(note) AS last, id || note AS label,
                CASE id WHEN 1 THEN 'x' ELSE 7 END AS mixed, NULL AS void, x'00' AS bytes
            FROM orders GROUP BY id;
        CREATE VIEW empty AS SELECT count(*) AS n, 1 AS one FROM orders GROUP BY id HAVING id > 9;
        "#,
    );
    let text = manifest(&schema, Dialect::Sqlite);
    assert_eq!(passes(&text, &schema, Dialect::Sqlite), Vec::<String>::new(), "{text}");
    has(&text, r#"n = "bigint""#);
    has(&text, r#"sumOfTotals = { type = "float", column = "sum \"of\" totals" }"#);
    has(&text, r#"last = "text""#);
    has(&text, r#"label = "text""#);
    for name in ["mixed", "void", "bytes"] {
        has(&text, &format!("# column {name:?} is left out: neither a declaration nor its values tell one type"));
    }
    has(&text, r#"# table "main"."empty" is left out: it has no column that can be read"#);
}

#[tokio::test]
async fn no_two_resources_get_the_same_graphql_type() {
    let sql = "CREATE SCHEMA shop; CREATE SCHEMA shop_item; CREATE TABLE shop.item_lists (id int); CREATE TABLE shop_item.lists (id int)";
    with_postgres("", sql, |client| async move {
        let schema = store::schema::read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        passes(&text, &schema, Dialect::Postgres);
        has(&text, "[resource.shop.itemList]");
        has(&text, "[resource.shopItem.list2]");
    })
    .await;
}

#[test]
fn relations_of_a_resource_get_different_names() {
    let schema = sqlite(
        "
        CREATE TABLE users (id INTEGER PRIMARY KEY, manager_id INTEGER REFERENCES users, messages INTEGER);
        CREATE TABLE messages (
            id INTEGER PRIMARY KEY, sender_id INTEGER REFERENCES users, recipient_id INTEGER REFERENCES users,
            created_by INTEGER REFERENCES users, sender TEXT);
        CREATE TABLE profiles (id INTEGER PRIMARY KEY, user_id INTEGER UNIQUE REFERENCES users(id));
        CREATE TABLE friends (user_id INTEGER REFERENCES users, friend_id INTEGER REFERENCES users, PRIMARY KEY (user_id, friend_id));
        CREATE TABLE groups (id INTEGER PRIMARY KEY, owner INTEGER REFERENCES users, code TEXT REFERENCES users(id), gone INTEGER REFERENCES nowhere);
        CREATE TABLE memberships (id INTEGER PRIMARY KEY, user_id INTEGER REFERENCES users, group_id INTEGER REFERENCES groups, joined_at DATETIME, UNIQUE (user_id, group_id));
        CREATE TABLE bans (user_id INTEGER REFERENCES users, group_id INTEGER REFERENCES groups, reason TEXT, PRIMARY KEY (user_id, group_id));
        ",
    );
    let text = manifest(&schema, Dialect::Sqlite);
    passes(&text, &schema, Dialect::Sqlite);
    has(&text, r#"manager = { one = "app.user", on = { managerId = "id" } }"#);
    has(&text, r#"users = { many = "app.user", on = { id = "managerId" } }"#);
    // `sender` is a field, so the relation gets another name.
    has(&text, r#"senderIdUser = { one = "app.user", on = { senderId = "id" } }"#);
    has(&text, r#"recipient = { one = "app.user", on = { recipientId = "id" } }"#);
    has(&text, r#"createdByUser = { one = "app.user", on = { createdBy = "id" } }"#);
    has(&text, r#"messagesByRecipient = { many = "app.message", on = { id = "recipientId" } }"#);
    has(&text, r#"messagesByCreatedByUser = { many = "app.message", on = { id = "createdBy" } }"#);
    has(&text, r#"profile = { one = "app.profile", on = { id = "userId" } }"#);
    has(&text, r#"usersByFriend = { many = "app.user", through = "friends", on = { id = "user_id" }, to = { friend_id = "id" } }"#);
    has(&text, r#"usersByUser = { many = "app.user", through = "friends", on = { id = "friend_id" }, to = { user_id = "id" } }"#);
    has_not(&text, "[resource.app.friend]");
    // `owner` is a field; the target's name is free.
    has(&text, r#"user = { one = "app.user", on = { owner = "id" } }"#);
    has_not(&text, "code = \"id\"");
    has_not(&text, "gone = ");
    // A pivot with a time is a resource too.
    has(&text, "[resource.app.membership]");
    has(&text, r#"memberships = { many = "app.membership", on = { id = "userId" } }"#);
    has(
        &text,
        r#"groupsByMembership = { many = "app.group", through = "memberships", on = { id = "user_id" }, to = { group_id = "id" } }"#,
    );
    // A pivot with other columns is a resource only.
    has(&text, "[resource.app.ban]");
    has_not(&text, "through = \"bans\"");
}

#[test]
fn the_schema_of_sqlite_has_keys_and_no_shadow_tables() {
    let schema = sqlite(
        "
        CREATE TABLE plain (id TEXT PRIMARY KEY, a INT, b INT);
        CREATE UNIQUE INDEX partial ON plain (a) WHERE b > 0;
        CREATE UNIQUE INDEX expression ON plain (abs(a), b);
        CREATE UNIQUE INDEX whole ON plain (b DESC, a);
        CREATE TABLE without (a INT, b INT, PRIMARY KEY (b, a)) WITHOUT ROWID;
        CREATE TABLE strict_one (id TEXT PRIMARY KEY) STRICT;
        CREATE TABLE backwards (id INTEGER PRIMARY KEY DESC);
        CREATE VIRTUAL TABLE notes USING fts5(body);
        ",
    );
    let table = |name: &str| schema.tables.iter().find(|table| table.name == name).unwrap();
    assert_eq!(table("plain").unique_keys, [["b", "a"]]);
    let indexes: Vec<_> = table("plain").indexes.iter().map(|index| (index.columns.join(" "), &index.condition)).collect();
    let (all, other) = (&IndexCondition::All, &IndexCondition::Other);
    assert_eq!(indexes, [("id".to_owned(), all), ("a".to_owned(), other), ("b a".to_owned(), all)]);
    assert!(table("plain").columns[0].nullable);
    assert_eq!(table("without").primary_key, ["b", "a"]);
    assert!(!table("without").columns[0].nullable);
    assert!(!table("strict_one").columns[0].nullable);
    assert!(table("backwards").columns[0].nullable);
    assert_eq!(schema.tables.len(), 5, "shadow tables are left out");
    assert_eq!(table("notes").columns.len(), 1, "hidden columns are left out");
    assert!(schema.locale.is_none());
}
