//! The messages of `check`, word for word.

use super::{findings, one_resource, sqlite, with_postgres};
use query::sql::Dialect;
use store::schema::read_postgres;

const KEY: &str = "id = { type = \"bigint\", key = true }";

/// A relation to one resource with the same id.
fn one_by_id(name: &str, target: &str) -> String {
    format!("{name} = {{ one = \"app.{target}\", on = {{ id = \"id\" }} }}")
}

// contract P4.1
#[test]
fn a_key_whose_equal_values_have_several_forms_gives_a_warning() {
    let schema = sqlite(
        "CREATE TABLE prices (amount TEXT PRIMARY KEY NOT NULL, name TEXT UNIQUE); CREATE TABLE goods (id INTEGER PRIMARY KEY, amount TEXT)",
    );
    let text = r#"[resource.app.price.fields]
amount = { type = "decimal", key = true, null = false }
name = "text"
[resource.app.good.fields]
id = { type = "bigint", key = true }
amount = "decimal"
label = { type = "text", column = "amount" }
[resource.app.good.relations]
price = { one = "app.price", on = { amount = "amount" } }
named = { one = "app.price", on = { label = "name" } }
"#;
    let expected = "9 warning: relation `price` of `app.good`: (amount) is unique by its texts, and compared by value; keep each value in one spelling, or declare the relation `many`";
    assert_eq!(findings(text, &schema, Dialect::Sqlite), [expected]);
}

#[test]
fn check_on_sqlite_finds_each_fault() {
    let schema = sqlite(
        "
        CREATE TABLE Customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, note TEXT, digits INTEGER, words TEXT, price NUMERIC, at INTEGER, deleted_at TEXT NOT NULL DEFAULT '');
        CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, number INTEGER);
        CREATE TABLE customers_labels (customer_id INTEGER, label_id TEXT);
        CREATE TABLE labels (id INTEGER PRIMARY KEY);
        CREATE VIEW v AS SELECT id FROM orders;
        ",
    );
    let text = r#"[resource.app.customer]
soft-delete = "deletedAt"
[resource.app.customer.fields]
id = { type = "bigint", key = true }
name = "text"
note = { type = "text", null = false }
nmae = "text"
digits = "text"
words = "int"
price = "decimal"
at = { type = "timestamp", stored = "unix" }
deletedAt = { type = "text", null = false }
[resource.app.customer.relations]
orders = { many = "app.order", on = { id = "customerId" } }
order = { one = "app.order", on = { id = "customerId" } }
labels = { many = "app.label", through = "customers_labels", on = { id = "customer_id" }, to = { label_id = "id" } }
misses = { many = "app.label", through = "customer_labels", on = { id = "customer_id" }, to = { label_id = "id" } }
wrong = { many = "app.label", through = "customers_labels", on = { id = "customerid" }, to = { label = "id" } }
trusted = { one = "app.v", on = { id = "id" } }
doubted = { one = "app.w", on = { id = "id" } }
[resource.app.order]
[resource.app.order.fields]
number = { type = "bigint", key = true, null = true }
customerId = { type = "bigint", null = false }
[resource.app.label]
[resource.app.label.fields]
id = { type = "bigint", key = true }
[resource.app.v]
table = "v"
[resource.app.v.fields]
id = { type = "bigint", key = true }
[resource.app.w]
table = "V"
plural = "w"
[resource.app.w.fields]
id = "bigint"
[resource.app.gone]
table = "orderz"
[resource.app.gone.fields]
id = "bigint"
"#;
    let expected = [
        "5 warning: field `name` of `app.customer`: column `name` is NOT NULL; declare `null = false`",
        "6 warning: field `note` of `app.customer`: declared `null = false`, but column `note` may hold NULL; drop `null = false` or set the column NOT NULL",
        "7 error: field `nmae` of `app.customer`: table `Customers` has no column `nmae` (did you mean `name`?)",
        "8 warning: field `digits` of `app.customer`: type text on a column declared \"INTEGER\": it turns strings of digits into numbers, which read as null; declare the column TEXT",
        "9 warning: field `words` of `app.customer`: type int on a column declared \"TEXT\": the column turns whole numbers into strings, which read as null; declare the column INTEGER",
        "10 warning: field `price` of `app.customer`: type decimal on a column declared \"NUMERIC\": it keeps decimals as floats, which lose digits and scale; declare the column TEXT",
        "12 warning: resource `app.customer`: `soft-delete` names `deletedAt`, whose column is NOT NULL, so that every row counts as deleted",
        "14 warning: relation `orders` of `app.customer`: no index finds rows of `orders` by (customer_id); add an index on orders (customer_id)",
        "15 error: relation `order` of `app.customer`: `one` needs a unique key, and (customer_id) is none of table `orders`; add a unique index on orders (customer_id), or declare the relation `many`",
        "16 warning: relation `labels` of `app.customer`: column `label_id` of the through table is declared \"TEXT\", which may not equal a field of type bigint; declare the column INTEGER",
        "16 warning: relation `labels` of `app.customer`: no index finds rows of `customers_labels` by (customer_id); add an index on customers_labels (customer_id)",
        "17 error: relation `misses` of `app.customer`: table `customer_labels` does not exist (did you mean `customers_labels`?)",
        "18 error: relation `wrong` of `app.customer`: table `customers_labels` has no column `customerid` (did you mean `customer_id`?)",
        "18 error: relation `wrong` of `app.customer`: table `customers_labels` has no column `label` (did you mean `label_id`?)",
        "19 warning: relation `trusted` of `app.customer`: `v` is a view; that (id) is unique is taken from the manifest's `key`",
        "20 error: relation `doubted` of `app.customer`: `one` needs a unique key, and `V` is a view; mark `app.w`'s fields of (id) with `key = true` if they are one, or declare the relation `many`",
        "23 warning: resource `app.order`: the key (number) is not unique in table `orders`; the primary key is (id)",
        "37 error: resource `app.gone`: table `orderz` does not exist (did you mean `orders`?)",
    ];
    assert_eq!(findings(text, &schema, Dialect::Sqlite), expected);
}

#[tokio::test]
async fn check_on_postgres_finds_each_fault() {
    // Roles belong to the whole cluster.
    let role = format!("introspect_reader_{}", std::process::id());
    let sql = format!("
        CREATE TYPE status AS ENUM ('new', 'paid', 'sent');
        CREATE TABLE customers (id bigint PRIMARY KEY, status status, fare money, total numeric, tags text[], at timestamptz, big int8 NOT NULL);
        CREATE TABLE links (customer_id uuid, status status);
        CREATE SCHEMA crm;
        CREATE TABLE crm.people (id int PRIMARY KEY);
        CREATE ROLE {role}; GRANT {role} TO CURRENT_USER; CREATE TABLE secrets (id int PRIMARY KEY, code text);
        GRANT SELECT (id) ON secrets TO {role};
        GRANT SELECT ON customers, links TO {role};");
    let options = "TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'";
    with_postgres(options, &sql, |client| async move {
        client.batch_execute(&format!("SET ROLE {role}")).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        client.batch_execute(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
        let long = "a".repeat(64);
        let text = format!(
            r#"[resource.app.customer.fields]
id = {{ type = "bigint", key = true }}
status = {{ type = "enum", values = ["new", "payed"] }}
fare = "decimal"
total = "float"
tags = "text"
at = {{ type = "timestamp", stored = "unix" }}
big = {{ type = "int", null = false }}
{long} = "text"
[resource.app.customer.relations]
others = {{ many = "app.customer", through = "links", on = {{ id = "customer_id" }}, to = {{ status = "status" }} }}
[resource.app.people.fields]
id = {{ type = "int", key = true }}
[resource.app.secret.fields]
id = {{ type = "int", key = true }}
code = "text"
[resource.app.person]
table = "people"
[resource.app.person.fields]
id = {{ type = "int", key = true }}
"#
        );
        let expected = [
            "3 warning: the database's ctype is C: iLike will not fold case beyond ASCII; create the database with LC_CTYPE 'C.UTF-8' or that of a language".to_owned(),
            "3 error: field `status` of `app.customer`: \"payed\" is no label of the enum `status` (did you mean `paid`?); take it out of `values`".to_owned(),
            "3 warning: field `status` of `app.customer`: the enum `status` also has \"paid\", \"sent\", which read as null; add to `values` what clients may see".to_owned(),
            "4 error: field `fare` of `app.customer`: column `fare` is money, which cannot be read as decimal; declare it \"text\"".to_owned(),
            "5 error: field `total` of `app.customer`: column `total` is numeric, which cannot be read as float; declare it \"decimal\"".to_owned(),
            "6 error: field `tags` of `app.customer`: column `tags` is text[], which cannot be read as text; declare it \"text[]\"".to_owned(),
            "7 warning: field `at` of `app.customer`: `stored` has a meaning on SQLite only; PostgreSQL ignores it".to_owned(),
            "8 warning: field `big` of `app.customer`: column `big` is int8 and may hold numbers beyond int, which read as null; declare it \"bigint\"".to_owned(),
            format!("9 error: field `{long}` of `app.customer`: the name `{long}` is longer than 63 bytes; PostgreSQL keeps only `{}`", &long[..63]),
            "11 error: relation `others` of `app.customer`: column `customer_id` of the through table is uuid, which cannot equal a field of type bigint".to_owned(),
            "11 error: relation `others` of `app.customer`: column `status` of the through table is a native enum, by which rows cannot be connected; use text".to_owned(),
            "11 warning: relation `others` of `app.customer`: no index finds rows of `links` by (customer_id); add an index on links (customer_id)".to_owned(),
            "11 warning: relation `others` of `app.customer`: no index finds rows of `customers` by (status); add an index on customers (status)".to_owned(),
            "12 error: resource `app.people`: table `peoples` does not exist (did you mean `crm.people`?)".to_owned(),
            "16 error: field `code` of `app.secret`: the database user may not read column `code` of `public.secrets`; GRANT it SELECT".to_owned(),
            "17 error: resource `app.person`: table `people` does not exist; write `table = \"crm.people\"`".to_owned(),
        ];
        let found = findings(&text, &schema, Dialect::Postgres);
        assert_eq!(found, expected, "{found:#?}");
    })
    .await;
}

#[tokio::test]
async fn check_qualifies_a_table_if_its_name_finds_another_or_none() {
    let sql = "
        CREATE SCHEMA crm;
        CREATE TABLE customers (id int PRIMARY KEY);
        CREATE TABLE crm.customers (id int PRIMARY KEY);
        CREATE TABLE crm.leads (id int NOT NULL, customer_id int);
        CREATE TABLE leads (id int, customer_id int);
        CREATE TABLE crm.pairs (customer_id int, lead_id int);";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = r#"[resource.app.customer.fields]
id = { type = "int", key = true }
[resource.app.customer.relations]
leads = { many = "app.lead", on = { id = "customerId" } }
lead = { one = "app.lead", on = { id = "customerId" } }
own = { many = "app.own", on = { id = "customerId" } }
pairs = { many = "app.customer", through = "crm.pairs", on = { id = "customer_id" }, to = { lead_id = "id" } }
[resource.app.lead]
table = "crm.leads"
[resource.app.lead.fields]
id = { type = "int", key = true }
customerId = "int"
lost = "int"
[resource.app.own]
table = "leads"
[resource.app.own.fields]
customerId = "int"
"#;
        let expected = [
            "4 warning: relation `leads` of `app.customer`: no index finds rows of `crm.leads` by (customer_id); add an index on crm.leads (customer_id)",
            "5 error: relation `lead` of `app.customer`: `one` needs a unique key, and (customer_id) is none of table `crm.leads`; add a unique index on crm.leads (customer_id), or declare the relation `many`",
            "6 warning: relation `own` of `app.customer`: no index finds rows of `leads` by (customer_id); add an index on leads (customer_id)",
            "7 warning: relation `pairs` of `app.customer`: no index finds rows of `crm.pairs` by (customer_id); add an index on crm.pairs (customer_id)",
            "11 warning: resource `app.lead`: the key (id) is not unique in table `crm.leads`; add a unique index on crm.leads (id)",
            "13 error: field `lost` of `app.lead`: table `crm.leads` has no column `lost`",
        ];
        let found = findings(text, &schema, Dialect::Postgres);
        assert_eq!(found, expected, "{found:#?}");
    })
    .await;
}

// contract P4.2
#[tokio::test]
async fn check_on_postgres_refuses_to_connect_times_with_and_without_a_zone_through_a_pivot() {
    let sql = "
        CREATE TABLE days (at timestamptz PRIMARY KEY);
        CREATE TABLE pairs (a timestamp, b timestamptz);
        CREATE INDEX ON pairs (b);
        CREATE INDEX ON pairs (a);";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = r#"[resource.app.day.fields]
at = { type = "timestamp", key = true }
[resource.app.day.relations]
after = { many = "app.day", through = "pairs", on = { at = "b" }, to = { a = "at" } }
"#;
        let found: Vec<String> = findings(text, &schema, Dialect::Postgres).into_iter().filter(|finding| !finding.contains("ctype")).collect();
        let expected = "4 error: relation `after` of `app.day`: of column `a` of the through table and `at` of `days` one is a timestamp with time zone and one is not; make both the same";
        assert_eq!(found, [expected], "{found:#?}");
    })
    .await;
}

// contract P4.1
#[tokio::test]
async fn check_on_postgres_warns_of_a_view_that_was_never_filled() {
    with_postgres("", "CREATE MATERIALIZED VIEW report AS SELECT 1 AS id WITH NO DATA", |client| async move {
        let text = one_resource("report", "", "id = \"int\"");
        let expected = "1 warning: resource `app.report`: `report` was never filled and cannot be read; run REFRESH MATERIALIZED VIEW";
        assert_eq!(findings(&text, &read_postgres(&client).await.unwrap(), Dialect::Postgres), [expected]);
        client.batch_execute("REFRESH MATERIALIZED VIEW report").await.unwrap();
        assert_eq!(findings(&text, &read_postgres(&client).await.unwrap(), Dialect::Postgres), [] as [&str; 0]);
    })
    .await;
}

// contract P4.1, contract P2.8
#[test]
fn check_warns_of_a_constraint_that_negates_a_constrained_relation() {
    let schema =
        sqlite("CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (id INTEGER PRIMARY KEY); CREATE TABLE c (id INTEGER PRIMARY KEY)");
    let (to_b, to_c) = (one_by_id("b", "b"), one_by_id("c", "c"));
    let b = one_resource("b", "constraint = { where = { id = { eq = \"$account.meta.b\" } } }\n", KEY);
    let c = one_resource("c", "", &format!("{KEY}\n[resource.app.c.relations]\n{to_b}"));
    let fields = format!("{KEY}\n[resource.app.a.relations]\n{to_b}\n{to_c}");
    let manifest = |constraint: &str| one_resource("a", &format!("constraint = {constraint}\n"), &fields) + &b + &c;
    let warning = |relation: &str| {
        format!(
            "3 warning: constraint of `app.a`: `not` stands over `{relation}`, a relation to `app.b`, which has a constraint of its own: rows of `app.b` that the caller cannot see count as not there, and a caller who lacks a variable of that constraint sees nothing of `app.a`"
        )
    };
    let cases: [(&str, Vec<String>); 7] = [
        ("{ where = { not = { b = {} } } }", vec![warning("b")]),
        ("{ where = { or = [{ id = { eq = 1 } }, { not = { and = [{ b = { id = { gt = 2 } } }] } }] } }", vec![warning("b")]),
        ("{ where = { not = { c = { b = {} } } } }", vec![warning("c.b")]),
        ("{ where = { c = { not = { b = {} } } } }", vec![warning("c.b")]),
        ("{ relations = { c = { where = { not = { b = {} } } } } }", vec![warning("c.b")]),
        ("{ where = { not = { c = {} } } }", vec![]),
        ("{ where = { b = { not = { id = { eq = 3 } } } } }", vec![]),
    ];
    for (constraint, expected) in cases {
        assert_eq!(findings(&manifest(constraint), &schema, Dialect::Sqlite), expected, "{constraint}");
    }
}

// contract P4.1, contract P2.7
#[test]
fn check_names_a_variable_that_no_account_has() {
    let schema = sqlite("CREATE TABLE a (id INTEGER PRIMARY KEY, owner TEXT, tags TEXT); CREATE TABLE b (id INTEGER PRIMARY KEY)");
    let fields = format!("{KEY}\nowner = \"text\"\ntags = \"text[]\"\n[resource.app.a.relations]\n{}", one_by_id("same", "a"));
    let manifest = |constraint: &str| one_resource("a", &format!("constraint = {constraint}\n"), &fields);
    let warning = |variable: &str, hint: &str| {
        format!(
            "3 warning: constraint of `app.a`: no account has `{variable}`{hint}, so that it shows nothing to anybody; there are `$account.id`, `$account.type`, `$account.code`, `$account.email`, `$account.username`, `$account.isActive`, `$account.tags`, `$account.scopes`, `$account.dTenants`, `$account.dPermissions.all` and `$account.meta.…`"
        )
    };
    let cases = [
        ("{ where = { owner = { eq = \"$account.nope\" } } }", vec![warning("$account.nope", " (did you mean `$account.code`?)")]),
        ("{ where = { not = { owner = { in = [\"x\", \"$account.user\"] } } } }", vec![warning("$account.user", "")]),
        (
            "{ where = { owner = { in = \"$account.dtenants\" } } }",
            vec![warning("$account.dtenants", " (did you mean `$account.dTenants`?)")],
        ),
        ("{ where = { owner = { eq = \"$account.meta\" } } }", vec![warning("$account.meta", "")]),
        ("{ where = { owner = { eq = \"$account.id.x\" } } }", vec![warning("$account.id.x", "")]),
        ("{ where = { owner = { eq = \"$account.dPermissions\" } } }", vec![warning("$account.dPermissions", "")]),
        (
            "{ relations = { same = { where = { owner = { eq = \"$account.nope\" } } } } }",
            vec![warning("$account.nope", " (did you mean `$account.code`?)")],
        ),
        ("{ where = { owner = { eq = \"$account.meta.a.b\" }, tags = { overlap = \"$account.dPermissions.all\" } } }", vec![]),
        ("{ where = { or = [{ owner = { eq = \"$account.id\" } }, { owner = { in = \"$account.tags\" } }] } }", vec![]),
    ];
    for (constraint, expected) in cases {
        assert_eq!(findings(&manifest(constraint), &schema, Dialect::Sqlite), expected, "{constraint}");
    }
}

// contract P4.1, contract Q8.6
#[test]
fn check_warns_that_a_hidden_key_breaks_no_ties() {
    let schema = sqlite("CREATE TABLE a (id INTEGER PRIMARY KEY, day TEXT, UNIQUE (day, id))");
    let manifest =
        |id: &str, day: &str| one_resource("a", "", &format!("id = {{ type = \"bigint\"{id} }}\nday = {{ type = \"text\"{day} }}"));
    let warning = |line: usize, what: &str| {
        format!(
            "{line} warning: resource `app.a`: {what}, so it cannot make the order of rows unique: pages may repeat or skip rows that are equal in every visible field; order by a unique visible field. Without `order` rows come as the database keeps them, which may be by the key"
        )
    };
    let cases = [
        (", key = true, hidden = true", "", vec![warning(4, "`id` of the key is hidden from everybody")]),
        (", key = true, mask = \"redact\"", "", vec![warning(4, "`id` of the key is masked for everybody")]),
        (
            ", key = true, mask = \"redact\", unmask = \"app.a.id\"",
            "",
            vec![warning(4, "`id` of the key is masked for everybody without the permission `app.a.id`")],
        ),
        (", key = true", ", key = true, hidden = true", vec![warning(5, "`day` of the key is hidden from everybody")]),
        (", key = true", ", hidden = true", vec![]),
    ];
    for (id, day, expected) in cases {
        let found: Vec<String> = findings(&manifest(id, day), &schema, Dialect::Sqlite)
            .into_iter()
            .filter(|line| line.contains("cannot make the order"))
            .collect();
        assert_eq!(found, expected, "{id} {day}");
    }
}

// contract P4.2
#[tokio::test]
async fn check_on_postgres_refuses_another_encoding() {
    let options = "TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C'";
    with_postgres(options, "CREATE TABLE a (id int PRIMARY KEY, name text)", |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = one_resource("a", "", "id = { type = \"int\", key = true }\nname = \"text\"");
        let found = findings(&text, &schema, Dialect::Postgres);
        assert_eq!(found[0], "5 error: the encoding of the database is LATIN1; accepted is UTF8");
    })
    .await;
}

// contract P5.6
#[tokio::test]
async fn check_names_the_indexes_of_derived_fields() {
    let script = "
        CREATE TABLE customers (id bigint PRIMARY KEY, profile jsonb, created_at timestamptz);
        CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint);
    ";
    let text = r#"[resource.app.customer.fields]
id = { type = "bigint", key = true }
profile = "json"
createdAt = "timestamp"
orders = { count = "orderRows" }
tier = { json = "profile", path = ["tier"], type = "text" }
month = { bucket = "month", of = "createdAt" }
[resource.app.customer.relations]
orderRows = { many = "app.order", on = { id = "customerId" } }
[resource.app.order.fields]
id = { type = "bigint", key = true }
customerId = "bigint"
"#;
    let of_field = "5 warning: field `orders` of `app.customer`: its relation `orderRows` has no index, so that each row reads all of `orders`; add an index on orders (customer_id)";
    let of_relation = "9 warning: relation `orderRows` of `app.customer`: no index finds rows of `orders` by (customer_id); add an index on orders (customer_id)";
    let sqlite_schema =
        sqlite(&script.replace("jsonb", "text").replace("timestamptz", "text").replace("bigint PRIMARY", "INTEGER PRIMARY"));
    assert_eq!(findings(text, &sqlite_schema, Dialect::Sqlite), [of_field, of_relation]);
    let elsewhere = text.replace("of = \"createdAt\" }", "of = \"createdAt\", zone = \"Mars/Base\" }");
    let unknown = "7 error: field `month` of `app.customer`: `zone` must be a name of the time zone database, such as \"Europe/Berlin\"; found \"Mars/Base\"";
    let found = findings(&elsewhere, &sqlite_schema, Dialect::Sqlite);
    assert!(found.contains(&unknown.to_owned()), "{found:?}");
    with_postgres("", script, move |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        // Database::check_derived asks PostgreSQL for those that find values inside a column.
        assert_eq!(findings(text, &schema, Dialect::Postgres), [of_field, of_relation]);
    })
    .await;
}

// contract P4.1
#[tokio::test]
async fn a_partial_index_counts_if_it_has_every_row_in_reach() {
    let tables = "CREATE TABLE customers (id bigint PRIMARY KEY); CREATE TABLE orders (id bigint PRIMARY KEY, customer_id bigint, open text, gone timestamptz);";
    let text = |lines: &str| {
        format!(
            "[resource.app.customer.fields]\nid = {{ type = \"bigint\", key = true }}\n[resource.app.customer.relations]\n\
             orders = {{ many = \"app.order\", on = {{ id = \"customerId\" }} }}\n[resource.app.order]\n{lines}\n[resource.app.order.fields]\n\
             id = {{ type = \"bigint\", key = true }}\ncustomerId = \"bigint\"\ngone = \"timestamp\"\n"
        )
    };
    let (bare, live) = (text(""), text("soft-delete = \"gone\""));
    let missing = "4 warning: relation `orders` of `app.customer`: no index finds rows of `orders` by (customer_id); add an index on orders (customer_id)";
    let (none, one) = (Vec::<String>::new(), vec![missing.to_owned()]);
    let cases = [
        ("open = 'yes'", &one, &one),
        ("gone IS NOT NULL", &one, &one),
        ("gone IS NULL", &one, &none),
        ("customer_id IS NOT NULL", &none, &none),
        ("(gone IS NULL) AND customer_id IS NOT NULL", &one, &none),
        ("gone IS NULL OR customer_id IS NOT NULL", &one, &one),
    ];
    let script = |condition: &str| format!("{tables} CREATE INDEX by_customer ON orders (customer_id) WHERE {condition};");
    for (condition, without, with) in cases {
        let schema = sqlite(&script(condition).replace("bigint PRIMARY", "INTEGER PRIMARY").replace("timestamptz", "text"));
        assert_eq!(&findings(&bare, &schema, Dialect::Sqlite), without, "{condition}");
        assert_eq!(&findings(&live, &schema, Dialect::Sqlite), with, "{condition}");
    }
    for (condition, without, with) in cases {
        let (without, with, bare, live) = (without.clone(), with.clone(), bare.clone(), live.clone());
        with_postgres("", &script(condition), move |client| async move {
            let schema = read_postgres(&client).await.unwrap();
            assert_eq!(findings(&bare, &schema, Dialect::Postgres), without);
            assert_eq!(findings(&live, &schema, Dialect::Postgres), with);
        })
        .await;
    }
}
