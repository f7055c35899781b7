//! What the schema says of writes: defaults, generated columns, constraints and privileges, and how the catalog learns it.

use query::catalog::Catalog;
use query::catalog::write_rules::{ConstraintKind, TableFacts};
use store::check::add_database_facts;
use store::schema::{Changes, OwnValue, Schema, Table, read_postgres};

use super::{catalog, sqlite, with_postgres};

fn table<'s>(schema: &'s Schema, name: &str) -> &'s Table {
    schema.tables.iter().find(|table| table.name == name).unwrap_or_else(|| panic!("no table {name}"))
}

fn own_values(table: &Table) -> Vec<(&str, OwnValue, Option<u32>)> {
    table.columns.iter().map(|column| (column.name.as_str(), column.own_value, column.max_length)).collect()
}

/// The constraints as `kind name (columns)`, sorted.
fn constraints(table: &Table) -> Vec<String> {
    let one = |kind: ConstraintKind, name: &str, columns: &[String]| format!("{kind:?} {name} ({})", columns.join(", "));
    let mut all: Vec<String> =
        table.constraints.iter().map(|constraint| one(constraint.kind, &constraint.name, &constraint.columns)).collect();
    all.sort();
    all
}

/// The facts with the names of fields.
fn named(catalog: &Catalog, name: &str) -> (Vec<String>, Vec<String>, Vec<String>) {
    let resource = catalog.resource(catalog.by_name(name).unwrap());
    let names = |fields: &[usize]| fields.iter().map(|id| resource.fields[*id].name.as_str()).collect::<Vec<_>>().join(" ");
    let TableFacts { unique_keys, constraints, .. } = &resource.write_rules().unwrap().facts;
    let constraints = constraints.iter().map(|found| format!("{:?} {} ({})", found.kind, found.name, names(&found.fields)));
    let defaults = resource.fields.iter().filter(|field| field.rules.has_default).map(|field| field.name.clone());
    let mut constraints: Vec<String> = constraints.collect();
    constraints.sort();
    (unique_keys.iter().map(|key| names(key)).collect(), constraints, defaults.collect())
}

const SQLITE: &str = r#"
    CREATE TABLE parents (id INTEGER PRIMARY KEY);
    CREATE TABLE Orders (
        id INTEGER PRIMARY KEY, Number VARCHAR(20) NOT NULL UNIQUE, email TEXT, gone TEXT, state TEXT DEFAULT 'new' CHECK (state <> ''),
        empty TEXT DEFAULT NULL, total INT, twice INT GENERATED ALWAYS AS (total * 2) VIRTUAL, thrice INT AS (total * 3) STORED,
        parent_id INTEGER REFERENCES parents, CONSTRAINT positive CHECK (total >= 0 AND "number" <> ''), UNIQUE (parent_id, total));
    CREATE UNIQUE INDEX orders_email ON orders (lower(email), total) WHERE gone IS NULL;
    CREATE TABLE codes (code TEXT PRIMARY KEY, size DECIMAL(10)) WITHOUT ROWID;
    CREATE VIEW shown AS SELECT id FROM orders;
"#;

#[test]
fn a_sqlite_file_tells_what_writes_need() {
    let schema = sqlite(SQLITE);
    let orders = table(&schema, "Orders");
    let expected = [
        ("id", OwnValue::Default, None),
        ("Number", OwnValue::None, Some(20)),
        ("email", OwnValue::None, None),
        ("gone", OwnValue::None, None),
        ("state", OwnValue::Default, None),
        ("empty", OwnValue::None, None),
        ("total", OwnValue::None, None),
        ("twice", OwnValue::Generated, None),
        ("thrice", OwnValue::Generated, None),
        ("parent_id", OwnValue::None, None),
    ];
    assert_eq!(own_values(orders), expected);
    let expected = [
        "Check positive (Number, total)",
        "Check state <> '' (state)",
        "ForeignKey  (parent_id)",
        "Unique  (id)",
        "Unique orders_email (total, email)",
        "Unique sqlite_autoindex_Orders_1 (Number)",
        "Unique sqlite_autoindex_Orders_2 (parent_id, total)",
    ];
    assert_eq!(constraints(orders), expected);
    let codes = table(&schema, "codes");
    assert_eq!(own_values(codes), [("code", OwnValue::None, None), ("size", OwnValue::None, None)]);
    assert_eq!(constraints(codes), ["Unique sqlite_autoindex_codes_1 (code)"]);
    let shown = table(&schema, "shown");
    assert_eq!((orders.impossible, shown.impossible), (Changes::default(), Changes { insert: true, update: true, delete: true }));
    let mut catalog = catalog(
        r#"[resource.app.order]
table = "orders"
[resource.app.order.write]
create = "app.order.create"
[resource.app.order.fields]
id = { type = "bigint", key = true }
number = { type = "text", null = false, write = true }
mail = { type = "text", column = "EMAIL", hidden = true }
email = { type = "text", write = true }
state = { type = "text", write = true }
total = { type = "bigint", write = true }
twice = "bigint"
"#,
    );
    add_database_facts(&mut catalog, &schema);
    let (keys, constraints, defaults) = named(&catalog, "app.order");
    assert_eq!(keys, ["id", "number"], "a key with a column that no field has is a constraint only");
    let expected = [
        "Check positive (number total)",
        "Check state <> '' (state)",
        "ForeignKey  ()",
        "Unique  (id)",
        "Unique orders_email (total email)",
        "Unique sqlite_autoindex_Orders_1 (number)",
        "Unique sqlite_autoindex_Orders_2 (total)",
    ];
    assert_eq!(constraints, expected);
    assert_eq!(defaults, ["id", "state", "twice"]);
    let order = catalog.resource(0);
    let required: Vec<&str> = order.fields.iter().filter(|field| field.is_required()).map(|field| field.name.as_str()).collect();
    assert_eq!(required, ["number"]);
}

const POSTGRES: &str = r"
    CREATE EXTENSION btree_gist;
    CREATE DOMAIN code AS varchar(8) DEFAULT 'x' CONSTRAINT code_length CHECK (length(VALUE) > 1);
    CREATE DOMAIN inner_code AS code NOT NULL;
    CREATE TABLE parents (id int PRIMARY KEY);
    CREATE TABLE orders (
        id serial PRIMARY KEY, always int GENERATED ALWAYS AS IDENTITY, maybe int GENERATED BY DEFAULT AS IDENTITY,
        number varchar(20) NOT NULL UNIQUE, letter char(3), email text, gone timestamptz, state text DEFAULT 'new', empty text DEFAULT NULL,
        total int CONSTRAINT positive CHECK (total >= 0), twice int GENERATED ALWAYS AS (total * 2) STORED, code code, deep inner_code,
        words varchar(5)[], during daterange, parent_id int CONSTRAINT family REFERENCES parents,
        CONSTRAINT apart EXCLUDE USING gist (total WITH =, during WITH &&), CHECK (total < 100 OR number <> ''));
    CREATE UNIQUE INDEX orders_email ON orders (lower(email), total) WHERE gone IS NULL;
    CREATE TABLE parts (id int, at date NOT NULL CHECK (at > '2000-01-01'), PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE TABLE parts_2024 PARTITION OF parts FOR VALUES FROM ('2024-01-01') TO ('2025-01-01') PARTITION BY LIST (id);
    CREATE TABLE parts_2024_1 PARTITION OF parts_2024 FOR VALUES IN (1);
    CREATE VIEW plain AS SELECT id, number, total + 1 AS next FROM orders;
    CREATE VIEW grouped AS SELECT count(*) AS n FROM orders;
    CREATE MATERIALIZED VIEW stored AS SELECT id FROM orders;
";

#[tokio::test]
async fn a_postgres_database_tells_what_writes_need() {
    with_postgres("", POSTGRES, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let orders = table(&schema, "orders");
        let expected = [
            ("id", OwnValue::Default, None),
            ("always", OwnValue::Identity, None),
            ("maybe", OwnValue::Default, None),
            ("number", OwnValue::None, Some(20)),
            ("letter", OwnValue::None, Some(3)),
            ("email", OwnValue::None, None),
            ("gone", OwnValue::None, None),
            ("state", OwnValue::Default, None),
            ("empty", OwnValue::None, None),
            ("total", OwnValue::None, None),
            ("twice", OwnValue::Generated, None),
            ("code", OwnValue::Default, Some(8)),
            ("deep", OwnValue::Default, Some(8)),
            ("words", OwnValue::None, Some(5)),
            ("during", OwnValue::None, None),
            ("parent_id", OwnValue::None, None),
        ];
        assert_eq!(own_values(orders), expected);
        let expected = [
            "Check code_length (code)",
            "Check orders_check (total, number)",
            "Check positive (total)",
            "Exclusion apart (total, during)",
            "ForeignKey family (parent_id)",
            "Unique orders_email (total, email)",
            "Unique orders_number_key (number)",
            "Unique orders_pkey (id)",
        ];
        assert_eq!(constraints(orders), expected);
        let parts = ["parts", "parts_2024", "parts_2024_1"].map(|name| constraints(table(&schema, name)));
        let keys = ["Unique parts_2024_1_pkey (id, at)", "Unique parts_2024_pkey (id, at)", "Unique parts_pkey (id, at)"];
        assert_eq!(parts[0], [&["Check parts_at_check (at)"][..], &keys].concat());
        assert_eq!(parts[1], [&["Check parts_at_check (at)"][..], &keys[..2]].concat());
        assert_eq!(parts[2], [&["Check parts_at_check (at)"][..], &keys[..1]].concat());
        let (plain, all) = (table(&schema, "plain"), Changes { insert: true, update: true, delete: true });
        assert_eq!(plain.impossible, Changes::default());
        assert_eq!(
            own_values(plain).iter().map(|(_, own, _)| *own).collect::<Vec<_>>(),
            [OwnValue::None, OwnValue::None, OwnValue::Generated]
        );
        assert_eq!((table(&schema, "grouped").impossible, table(&schema, "stored").impossible), (all, all));
        let mut catalog = catalog(
            r#"[resource.app.order.write]
create = "app.order.create"
[resource.app.order.fields]
id = { type = "int", key = true }
number = { type = "text", null = false, write = true }
email = { type = "text", write = true }
total = { type = "int", write = true }
parentId = "int"
twice = "int"
[resource.app.plain]
table = "plain"
[resource.app.plain.write]
update = "app.plain.update"
[resource.app.plain.fields]
id = { type = "int", key = true }
"#,
        );
        add_database_facts(&mut catalog, &schema);
        let (keys, constraints, defaults) = named(&catalog, "app.order");
        assert_eq!(keys, ["id", "number"]);
        let expected = [
            "Check code_length ()",
            "Check orders_check (total number)",
            "Check positive (total)",
            "Exclusion apart (total)",
            "ForeignKey family (parentId)",
            "Unique orders_email (total email)",
            "Unique orders_number_key (number)",
            "Unique orders_pkey (id)",
        ];
        assert_eq!(constraints, expected);
        assert_eq!(defaults, ["id", "twice"]);
        assert_eq!(named(&catalog, "app.plain").0, ["id"], "the manifest names the key of a view");
    })
    .await;
}

/// Without a handler nobody can say what a foreign table takes.
#[tokio::test]
async fn a_broken_foreign_table_does_not_stop_the_boot() {
    let sql =
        "CREATE FOREIGN DATA WRAPPER lost; CREATE SERVER far FOREIGN DATA WRAPPER lost; CREATE FOREIGN TABLE remote (id int) SERVER far;
        CREATE TABLE near (id int PRIMARY KEY); CREATE VIEW seen AS SELECT id FROM near";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let remote = table(&schema, "remote");
        assert!(remote.is_foreign_table && remote.impossible.insert && !table(&schema, "seen").impossible.insert);
        assert_eq!(table(&schema, "near").impossible, Changes::default());
    })
    .await;
}
