//! The messages of `check` on writes, word for word.

use query::sql::Dialect;
use store::check::check_write_privileges;
use store::schema::{Schema, read_postgres};

use super::{catalog, findings, sqlite, with_postgres};

/// A resource with these keys of `[….write]` and these fields.
pub(super) fn writable(name: &str, write: &str, fields: &str) -> String {
    format!("[resource.app.{name}]\ntable = \"{name}s\"\n[resource.app.{name}.write]\n{write}\n[resource.app.{name}.fields]\n{fields}\n")
}

fn privileges(text: &str, schema: &Schema) -> Vec<String> {
    let found = check_write_privileges(&catalog(text), schema, Dialect::Postgres);
    found.into_iter().map(|finding| format!("{} {}: {}", finding.line, finding.severity.as_str(), finding.message)).collect()
}

const GOOD_SQLITE: &str = "
    CREATE TABLE customers (id INTEGER PRIMARY KEY);
    CREATE TABLE orders (
        id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, Number VARCHAR(20) NOT NULL, state TEXT NOT NULL DEFAULT 'new', note TEXT,
        total INTEGER, owner TEXT NOT NULL, at TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 1, gone TEXT,
        twice INTEGER AS (total * 2), hidden_default INTEGER NOT NULL DEFAULT 7,
        customer_id INTEGER NOT NULL REFERENCES customers);
    CREATE UNIQUE INDEX live ON orders (number, tenant) WHERE gone IS NULL;
    CREATE TABLE codes (code TEXT PRIMARY KEY, name TEXT, UNIQUE (Name, code));";

const GOOD_POSTGRES: &str = "
    CREATE TABLE customers (id bigint PRIMARY KEY);
    CREATE TABLE orders (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant text NOT NULL, number varchar(20) NOT NULL, state text NOT NULL DEFAULT 'new',
        note text, total bigint, owner uuid NOT NULL, at timestamptz NOT NULL, version bigint NOT NULL DEFAULT 1, gone timestamptz,
        twice bigint GENERATED ALWAYS AS (total * 2) STORED, hidden_default int NOT NULL DEFAULT 7,
        customer_id bigint NOT NULL REFERENCES customers);
    CREATE UNIQUE INDEX live ON orders (number, tenant) WHERE gone IS NULL;
    CREATE TABLE codes (code text PRIMARY KEY, name text, UNIQUE (name, code));";

const GOOD: &str = r#"[resource.app.order]
soft-delete = "gone"
constraint = { where = { and = [{ tenant = { eq = "$account.meta.tenant" } }] } }
[resource.app.order.write]
create = "app.order.create"
update = "app.order.update"
delete = "app.order.delete"
restore = "app.order.delete"
version = "version"
max-rows = 10
[resource.app.order.fields]
id = { type = "bigint", key = true }
tenant = { type = "text", null = false, preset = { create = "$account.meta.tenant" } }
number = { type = "text", null = false, write = "create", max-length = 20 }
state = { type = "text", null = false, write = true }
note = { type = "text", write = true }
total = { type = "bigint", write = true }
owner = { type = "uuid", null = false, preset = { create = "$account.id" } }
at = { type = "timestamp", null = false, preset = { create = "$now", update = "$now" } }
version = { type = "bigint", null = false }
gone = "timestamp"
twice = "bigint"
customerId = { type = "bigint", null = false, write = "create" }
[resource.app.code.write]
create = "app.code.create"
update = "app.code.update"
keys = [["code", "name"]]
[resource.app.code.fields]
code = { type = "text", key = true, write = "create" }
name = { type = "text", write = true }
[resource.app.customer.fields]
id = { type = "bigint", key = true }
"#;

// contract W1.6
#[tokio::test]
async fn good_write_rules_have_no_finding() {
    assert_eq!(findings(GOOD, &sqlite(GOOD_SQLITE), Dialect::Sqlite), [] as [&str; 0]);
    with_postgres("", GOOD_POSTGRES, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        assert_eq!(findings(GOOD, &schema, Dialect::Postgres), [] as [&str; 0]);
        assert_eq!(privileges(GOOD, &schema), [] as [&str; 0]);
    })
    .await;
}

#[test]
fn check_on_sqlite_finds_each_fault_of_writes() {
    let schema = sqlite(
        "
        CREATE TABLE orders (
            id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, number TEXT NOT NULL, state TEXT NOT NULL DEFAULT 'new', total INTEGER,
            twice INTEGER AS (total * 2), version TEXT NOT NULL DEFAULT 1, revision INTEGER, gone TEXT NOT NULL DEFAULT '', late TEXT NOT NULL);
        CREATE UNIQUE INDEX some ON orders (number) WHERE gone = '';
        CREATE TABLE codes (code TEXT PRIMARY KEY);
        CREATE TABLE rows (id INTEGER, n INTEGER NOT NULL DEFAULT 0);
        CREATE VIEW views AS SELECT id FROM orders;
        ",
    );
    let text = format!(
        "{}{}{}{}{}",
        r#"[resource.app.order]
soft-delete = "gone"
[resource.app.order.write]
create = "app.order.create"
update = "app.order.update"
delete = "app.order.delete"
version = "version"
keys = [
    ["number"],
    ["id"],
]
[resource.app.order.fields]
id = { type = "bigint", key = true }
number = { type = "text", null = false }
state = { type = "text", write = true }
twice = { type = "bigint", write = true }
version = { type = "bigint", null = false }
gone = { type = "timestamp", null = false }
late = { type = "text", null = false, write = "update" }
"#,
        writable("code", "create = \"app.code.create\"", "code = { type = \"text\", key = true }"),
        writable(
            "row",
            "create = true\ndelete = true\nversion = \"n\"",
            "id = { type = \"bigint\", key = true, write = \"create\" }\nn = { type = \"bigint\", null = false }"
        ),
        writable("view", "update = \"app.view.update\"", "id = { type = \"bigint\", key = true }"),
        "[resource.app.other]\ntable = \"orders\"\n[resource.app.other.write]\nupdate = \"app.other.update\"\nversion = \"revision\"\n\
         [resource.app.other.fields]\nid = { type = \"bigint\", key = true }\nrevision = \"bigint\"\nstate = { type = \"text\", preset = { update = \"x\" } }\n",
    );
    let expected = [
        "3 error: resource `app.order`: `create` has no value for column `tenant` of `orders`, which is NOT NULL and has no default; declare a field with `write` or `preset` for it, give the column a default, or remove `create`",
        "9 error: resource `app.order`: `keys` names (number), which is no unique key of table `orders`; add a unique index on orders (number), or remove the entry",
        "14 error: field `number` of `app.order`: `create` has no value for column `number` of `orders`, which is NOT NULL and has no default; add `write = \"create\"` or `preset`, give the column a default, or remove `create`",
        "15 warning: field `state` of `app.order`: a payload may have null, but column `state` is NOT NULL; declare `null = false`, or drop NOT NULL",
        "16 error: field `twice` of `app.order`: `write` does not fit column `twice`, which is generated; remove `write`",
        "17 warning: field `version` of `app.order`: type bigint on a column declared \"TEXT\": the column turns whole numbers into strings, which read as null; declare the column INTEGER",
        "17 error: field `version` of `app.order`: `version` needs a number that every update raises by one, but column `version` is declared \"TEXT\"; declare the column INTEGER",
        "18 error: resource `app.order`: `soft-delete` names `gone`, whose column is NOT NULL, but a row that is not deleted has NULL there; drop NOT NULL, or remove `delete` and `restore`",
        "19 error: field `late` of `app.order`: `create` has no value for column `late` of `orders`, which is NOT NULL and has no default; add `write = \"create\"` or `preset`, give the column a default, or remove `create`",
        "25 error: field `code` of `app.code`: `create` has no value for column `code` of `codes`, which is part of the key and has no default; add `write = \"create\"` or `preset`, give the column a default, or remove `create`",
        "28 warning: resource `app.row`: `create = true` lets everyone create rows, also without a sign-in; name a permission, such as \"app.row.create\", if not everyone may",
        "28 warning: resource `app.row`: `delete = true` lets everyone delete rows, also without a sign-in; name a permission, such as \"app.row.delete\", if not everyone may",
        "33 warning: field `id` of `app.row`: declared `null = false`, but column `id` may hold NULL; drop `null = false` or set the column NOT NULL",
        "33 error: resource `app.row`: the key (id) is not unique in table `rows`, and a write needs a key that the database keeps unique; add a unique index on rows (id)",
        "37 error: resource `app.view`: `update` needs UPDATE, which the view `views` does not take; remove `update`, or name a table in `table`",
        "48 error: field `revision` of `app.other`: `version` needs a number that every update raises by one, but column `revision` may hold NULL; set it NOT NULL, with a default such as 1",
        "49 warning: field `state` of `app.other`: column `state` is NOT NULL; declare `null = false`",
    ];
    assert_eq!(findings(&text, &schema, Dialect::Sqlite), expected);
}

#[tokio::test]
async fn check_on_postgres_finds_each_fault_of_writes() {
    let sql = "
        CREATE TYPE mood AS ENUM ('glad', 'sad');
        CREATE TABLE orders (
            id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, other int NOT NULL GENERATED ALWAYS AS IDENTITY, tenant text NOT NULL, total int,
            twice int GENERATED ALWAYS AS (total * 2) STORED, host inet, mood mood, name name, sizes smallint[], revision int,
            version int NOT NULL);
        CREATE VIEW views AS SELECT id, total, total + 1 AS next FROM orders;
        CREATE VIEW sums AS SELECT total AS id, count(*) AS n FROM orders GROUP BY total;
        CREATE TABLE cities (id int PRIMARY KEY, name text UNIQUE); CREATE TABLE capitals () INHERITS (cities);";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = [
            writable(
                "order",
                "create = \"app.order.create\"\nversion = \"version\"\nkeys = [[\"total\"]]",
                r#"id = { type = "int", key = true, write = "create" }
other = { type = "int", null = false, preset = { create = 4 } }
twice = { type = "int", preset = { update = 4 } }
host = { type = "text", write = true }
mood = { type = "text", write = true }
name = { type = "text", write = true }
sizes = { type = "int[]", write = true }
version = { type = "int", null = false }
total = "int""#,
            ),
            writable(
                "view",
                "create = \"app.view.create\"\nupdate = \"app.view.update\"\nkeys = [[\"total\"]]",
                "id = { type = \"int\", key = true }\ntotal = { type = \"int\", write = true }\nnext = { type = \"int\", write = true }",
            ),
            writable("sum", "update = \"app.sum.update\"", "id = { type = \"int\", key = true }"),
            "[resource.app.city]\ntable = \"cities\"\nplural = \"cities\"\n[resource.app.city.write]\nupdate = \"app.city.update\"\nkeys = [[\"name\"]]\n\
             [resource.app.city.fields]\nid = { type = \"int\", key = true }\nname = { type = \"text\", write = true }\n"
                .to_owned(),
        ]
        .concat();
        let expected = [
            "3 error: resource `app.order`: `create` has no value for column `tenant` of `orders`, which is NOT NULL and has no default; declare a field with `write` or `preset` for it, give the column a default, or remove `create`",
            "6 error: resource `app.order`: `keys` names (total), which is no unique key of table `orders`; add a unique index on orders (total), or remove the entry",
            "8 error: field `id` of `app.order`: `write` does not fit column `id`, which is GENERATED ALWAYS AS IDENTITY; remove `write`, or make it GENERATED BY DEFAULT",
            "9 error: field `other` of `app.order`: `preset` does not fit column `other`, which is GENERATED ALWAYS AS IDENTITY; remove `preset`, or make it GENERATED BY DEFAULT",
            "10 warning: field `twice` of `app.order`: `preset.update` has no effect, since the resource has no `update`",
            "10 error: field `twice` of `app.order`: `preset` does not fit column `twice`, which is generated; remove `preset`",
            "11 error: field `host` of `app.order`: `write` does not fit column `host`, which is inet: it is read as text through a cast, and cannot be written; remove `write`",
            "13 error: field `name` of `app.order`: `write` does not fit column `name`, which is name: it is read as text through a cast, and cannot be written; remove `write`",
            "19 warning: resource `app.view`: `views` is a view; that (id) is unique is taken from the manifest's `key`",
            "19 error: resource `app.view`: `create` has no value for column `tenant` of the table behind the view `views`, which is NOT NULL and has no default; add the column to the view, give it a default, or remove `create`",
            "19 error: resource `app.view`: `create` has no value for column `version` of the table behind the view `views`, which is NOT NULL and has no default; add the column to the view, give it a default, or remove `create`",
            "26 error: field `next` of `app.view`: `write` does not fit column `next`, which the view computes; remove `write`",
            "29 error: resource `app.sum`: `update` needs UPDATE, which the view `sums` does not take; remove `update`, or name a table in `table`, or give it an INSTEAD OF trigger",
            "38 error: resource `app.city`: `keys` names (name), which is no unique key of table `cities`; no key of it covers the tables that inherit from it; remove the entry",
            "40 error: resource `app.city`: the key (id) is not unique in table `cities`, and a write needs a key that the database keeps unique; no key of it covers the tables that inherit from it",
        ];
        assert_eq!(findings(&text, &schema, Dialect::Postgres), expected);
        assert_eq!(privileges(&text, &schema), [] as [&str; 0]);
    })
    .await;
}

#[tokio::test]
async fn check_names_the_privileges_that_writes_lack() {
    // Roles belong to the whole cluster.
    let role = format!("write_check_{}", std::process::id());
    let sql = format!(
        "CREATE TABLE orders (id serial PRIMARY KEY, number text, note text, version int NOT NULL DEFAULT 1, gone timestamptz);
         CREATE TABLE codes (code text PRIMARY KEY, name text); CREATE TABLE rows (id int PRIMARY KEY);
         CREATE TABLE logs (id int PRIMARY KEY DEFAULT 1, note text, version int NOT NULL);
         CREATE ROLE {role}; GRANT {role} TO CURRENT_USER; GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role};
         GRANT INSERT (number), UPDATE (note) ON orders TO {role}; GRANT INSERT (note) ON logs TO {role};"
    );
    with_postgres("", &sql, |client| async move {
        client.batch_execute(&format!("SET ROLE {role}")).await.unwrap();
        let poor = read_postgres(&client).await.unwrap();
        let grants = format!("GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO {role}; GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO {role}");
        client.batch_execute(&format!("RESET ROLE; {grants}; SET ROLE {role}")).await.unwrap();
        let rich = read_postgres(&client).await.unwrap();
        client.batch_execute(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
        let text = [
            "[resource.app.order]\nsoft-delete = \"gone\"\n[resource.app.order.write]\ncreate = \"a.b.c\"\nupdate = \"a.b.c\"\ndelete = \"a.b.c\"\nrestore = \"a.b.c\"\nversion = \"version\"\n\
             [resource.app.order.fields]\nid = { type = \"int\", key = true }\nnumber = { type = \"text\", write = true }\nnote = { type = \"text\", write = true }\n\
             version = { type = \"int\", null = false }\ngone = \"timestamp\"\n"
                .to_owned(),
            writable("code", "create = \"a.b.c\"\nupdate = \"a.b.c\"", "code = { type = \"text\", key = true, write = \"create\" }\nname = { type = \"text\", write = true }"),
            writable("row", "delete = \"a.b.c\"", "id = { type = \"int\", key = true }"),
            writable("log", "create = \"a.b.c\"\nversion = \"version\"", "id = { type = \"int\", key = true }\nnote = { type = \"text\", write = true }\nversion = { type = \"int\", null = false }"),
        ]
        .concat();
        let expected = [
            "3 error: resource `app.order`: `create` needs INSERT on (note) of `orders`, which the database user lacks; GRANT it INSERT",
            "3 error: resource `app.order`: `create` needs USAGE on the sequence `public.orders_id_seq` of column `id`, which the database user lacks; GRANT it USAGE",
            "3 error: resource `app.order`: `update` needs UPDATE on (number, version) of `orders`, which the database user lacks; GRANT it UPDATE",
            "3 error: resource `app.order`: `delete` needs UPDATE on (version, gone) of `orders`, which the database user lacks; GRANT it UPDATE",
            "3 error: resource `app.order`: `restore` needs UPDATE on (version, gone) of `orders`, which the database user lacks; GRANT it UPDATE",
            "17 error: resource `app.code`: `create` needs INSERT on `codes`, which the database user lacks; GRANT it INSERT",
            "17 error: resource `app.code`: `update` needs UPDATE on `codes`, which the database user lacks; GRANT it UPDATE",
            "25 error: resource `app.row`: `delete` needs DELETE on `rows`, which the database user lacks; GRANT it DELETE",
            "25 error: resource `app.row`: `delete` needs UPDATE on `rows` to lock rows, which the database user lacks; GRANT it UPDATE",
            "31 error: resource `app.log`: `create` needs INSERT on (version) of `logs`, which the database user lacks; GRANT it INSERT",
        ];
        assert_eq!(privileges(&text, &poor), expected);
        assert_eq!(privileges(&text, &rich), [] as [&str; 0]);
        // Another role may write.
        assert_eq!(findings(&text, &poor, Dialect::Postgres), [] as [&str; 0]);
    })
    .await;
}

// contract W1.6
#[test]
fn a_strict_table_refuses_other_types() {
    let columns = "id INTEGER PRIMARY KEY, whole INTEGER, real REAL, blob BLOB, any ANY";
    let fields = [
        "whole = { type = \"date\"",
        "whole = { type = \"float\"",
        "real = { type = \"json\"",
        "blob = { type = \"text\"",
        "any = { type = \"text\"",
        "any = { type = \"int\"",
    ];
    let found = |table: &str, field: &str, write: &str| {
        let text = writable("row", "create = \"a.b.c\"", &format!("id = {{ type = \"bigint\", key = true }}\n{field}{write} }}"));
        let schema = sqlite(&format!("CREATE TABLE rows ({columns}) {table}"));
        findings(&text, &schema, Dialect::Sqlite)
            .iter()
            .map(|finding| finding.split(':').next().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    let (error, warning, none) = (vec!["7 error".to_owned()], vec!["7 warning".to_owned()], Vec::<String>::new());
    let expected = [(&error, &warning), (&error, &warning), (&error, &warning), (&error, &none), (&none, &error), (&none, &none)];
    for (field, (strict, loose)) in fields.into_iter().zip(expected) {
        assert_eq!(&found("STRICT", field, ", write = true"), strict, "STRICT {field}");
        assert_eq!(&found("", field, ", write = true"), loose, "{field}");
        // A field that is only read may hold what the types say.
        assert!(!found("STRICT", field, "").contains(&error[0]), "{field}");
    }
}
