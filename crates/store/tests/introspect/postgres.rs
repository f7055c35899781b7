//! The manifest of a PostgreSQL shop with unusual types and names, and the native types of its columns.

use super::{catalog, findings, has, has_not, passes, with_postgres};
use query::catalog::{Labels, Native, TypeName};
use query::sql::Dialect;
use store::check::add_database_facts;
use store::introspect::{OfferedAccess, manifest, update};
use store::schema::{Schema, read_postgres};

const POSTGRES_SHOP: &str = r#"
    CREATE TYPE order_status AS ENUM ('new', 'paid', 'it''s "odd"');
    CREATE TYPE nothing AS ENUM ();
    CREATE DOMAIN email AS text NOT NULL CHECK (VALUE LIKE '%@%');
    CREATE DOMAIN work_email AS email;
    CREATE DOMAIN state AS order_status;
    CREATE DOMAIN small AS smallint;
    CREATE DOMAIN words AS text[];
    CREATE DOMAIN grid_of AS int[][];
    CREATE TABLE countries (code char(2) PRIMARY KEY, name varchar(80) NOT NULL);
    CREATE TABLE customers (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, tenant_id uuid NOT NULL, name text NOT NULL, email work_email,
        country_code char(2) REFERENCES countries, nick name, tags text[] NOT NULL, codes varchar(8)[], scores int2[], sizes int[],
        grid int[][], grids grid_of, words words, smalls small[], small small, profile jsonb, settings json, avatar bytea, fare money, address inet, ends timetz, span int4range,
        created_at timestamptz NOT NULL, seen_at timestamp, seen timestamp[], birthday date, wakes time, weight real, height float8,
        balance numeric(12, 2), level smallint, count integer, active boolean NOT NULL, "2fa" text, "createdAt" text, none nothing,
        UNIQUE (tenant_id, id));
    CREATE INDEX ON customers (country_code);
    CREATE TABLE "order" (
        id integer PRIMARY KEY, tenant_id uuid NOT NULL, customer_id bigint NOT NULL, status order_status NOT NULL, state state, history order_status[],
        FOREIGN KEY (tenant_id, customer_id) REFERENCES customers (tenant_id, id));
    CREATE INDEX ON "order" (tenant_id, customer_id);
    CREATE TABLE categories (id int PRIMARY KEY, parent_id int REFERENCES categories);
    CREATE INDEX ON categories (parent_id);
    CREATE TABLE labels (id int PRIMARY KEY, name text NOT NULL, lower_name text);
    CREATE UNIQUE INDEX ON labels (lower(name));
    CREATE UNIQUE INDEX ON labels (lower_name) WHERE name <> '';
    CREATE UNIQUE INDEX ON labels (name) INCLUDE (lower_name);
    CREATE TABLE customers_labels (customer_id bigint REFERENCES customers, label_id int REFERENCES labels, PRIMARY KEY (customer_id, label_id));
    CREATE INDEX ON customers_labels (label_id);
    CREATE TABLE "Odd ""Table"" 1" ("and" text, "Weird Col" int PRIMARY KEY, "it's" text, "größe" int);
    CREATE VIEW big_orders AS SELECT id, status FROM "order";
    CREATE MATERIALIZED VIEW counts AS SELECT customer_id, count(*) AS orders FROM "order" GROUP BY 1;
    CREATE TABLE events (id bigint, at date NOT NULL, customer_id bigint REFERENCES customers, PRIMARY KEY (id, at)) PARTITION BY RANGE (at);
    CREATE INDEX ON events (customer_id);
    CREATE TABLE events_2024 PARTITION OF events FOR VALUES FROM ('2024-01-01') TO ('2025-01-01');
    CREATE SCHEMA crm;
    CREATE TABLE crm.people (id uuid PRIMARY KEY, customer_id bigint UNIQUE REFERENCES public.customers);
    CREATE SCHEMA auth;
    CREATE TABLE auth.users (id uuid PRIMARY KEY);
    CREATE SCHEMA peristyle;
    CREATE TABLE peristyle.accounts (id uuid PRIMARY KEY);
"#;

// contract P4.1
#[tokio::test]
async fn a_search_path_without_schemas_finds_no_table_by_its_name_alone() {
    with_postgres("", "CREATE TABLE users (id int PRIMARY KEY); SET search_path = '$user'", |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        has(&text, r#"table = "public.users""#);
        assert_eq!(passes(&text, &schema, Dialect::Postgres), Vec::<String>::new());
        let bare = text.replace("public.users", "users");
        let found = findings(&bare, &schema, Dialect::Postgres);
        assert!(found.iter().any(|finding| finding.contains("users") && finding.contains("error")), "{found:?}");
    })
    .await;
}

#[tokio::test]
async fn a_postgres_shop_becomes_a_manifest_that_passes() {
    with_postgres("", POSTGRES_SHOP, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        assert_eq!(passes(&text, &schema, Dialect::Postgres), Vec::<String>::new(), "{text}");
        has(&text, r#"code = { type = "text", key = true }"#);
        has(&text, r#"email = { type = "text", null = false }"#);
        has(&text, r#"codes = "text[]""#);
        has(&text, r#"scores = "int[]""#);
        has(&text, r#"words = "text[]""#);
        has(&text, r#"createdAt = { type = "timestamp", null = false }"#);
        has(&text, r#"createdAt2 = { type = "text", column = "createdAt" }"#);
        has(&text, r#"fare = "text""#);
        has(&text, r#"# column "grid" (int4[][]) is left out: no type reads it"#);
        has(&text, r#"# column "grids" (int4[][]) is left out: no type reads it"#);
        has(&text, r#"status = { type = "enum", values = ["new", "paid", "it's \"odd\""], null = false }"#);
        has(&text, r#"history = { type = "enum[]", values = ["new", "paid", "it's \"odd\""] }"#);
        has(&text, r#"none = "text""#);
        has(&text, r#"customer = { one = "app.customer", on = { tenantId = "tenantId", customerId = "id" } }"#);
        has(&text, r#"parent = { one = "app.category", on = { parentId = "id" } }"#);
        has(
            &text,
            r#"labels = { many = "app.label", through = "customers_labels", on = { id = "customer_id" }, to = { label_id = "id" } }"#,
        );
        has(&text, r#"person = { one = "crm.person", on = { id = "customerId" } }"#);
        has(&text, "[resource.authData.user]");
        has(&text, r#"table = "auth.users""#);
        has(&text, r#"andValue = { type = "text", column = "and" }"#);
        has(&text, r#"table = "big_orders""#);
        has(&text, r#"at = { type = "date", key = true }"#);
        has_not(&text, "customersLabel]");
        has_not(&text, "events_2024");
        has_not(&text, "accounts");
        let again = update(&text, &schema, Dialect::Postgres, OfferedAccess::ReadOnly).unwrap();
        assert_eq!(again.added, Vec::<String>::new());
        natives(&text, &schema);
    })
    .await;
}

fn natives(text: &str, schema: &Schema) {
    let mut catalog = catalog(text);
    add_database_facts(&mut catalog, schema);
    let native = |resource: &str, field: &str| {
        let resource = catalog.resource(catalog.by_name(resource).unwrap());
        resource.field(field).unwrap().1.native.clone()
    };
    let expected = [
        ("id", Native::Standard),
        ("email", Native::Standard),
        ("countryCode", Native::Padded),
        ("nick", Native::TextByCast),
        ("tags", Native::Standard),
        ("codes", Native::ArrayByCast),
        ("scores", Native::ArrayByCast),
        ("sizes", Native::Standard),
        ("words", Native::Standard),
        ("smalls", Native::ArrayByCast),
        ("small", Native::OtherInteger),
        ("profile", Native::Standard),
        ("settings", Native::JsonText),
        ("createdAt", Native::Standard),
        ("seenAt", Native::TimestampWithoutZone),
        ("seen", Native::TimestampWithoutZone),
        ("weight", Native::Real),
        ("height", Native::Standard),
        ("balance", Native::Standard),
        ("level", Native::OtherInteger),
        ("count", Native::Standard),
        ("none", Native::TextByCast),
    ];
    for (field, expected) in expected {
        assert_eq!(native("app.customer", field), expected, "{field}");
    }
    assert_eq!(native("app.country", "name"), Native::Varchar);
    assert_eq!(native("app.order", "status"), Native::Enum(TypeName::new("public", "order_status"), Labels::Named));
    assert_eq!(native("app.order", "state"), Native::TextByCast);
    assert_eq!(native("app.order", "history"), Native::ArrayByCast);
}

// contract P4.3
#[tokio::test]
async fn no_relation_leads_through_a_column_that_may_not_be_read() {
    // Roles belong to the whole cluster.
    let role = format!("introspect_half_{}", std::process::id());
    let sql = format!(
        "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int PRIMARY KEY);
         CREATE TABLE a_b (a_id int REFERENCES a, b_id int REFERENCES b, PRIMARY KEY (a_id, b_id));
         CREATE ROLE {role}; GRANT {role} TO CURRENT_USER; GRANT SELECT ON a, b TO {role}; GRANT SELECT (a_id) ON a_b TO {role};"
    );
    with_postgres("", &sql, |client| async move {
        client.batch_execute(&format!("SET ROLE {role}")).await.unwrap();
        let schema = read_postgres(&client).await.unwrap();
        client.batch_execute(&format!("RESET ROLE; DROP OWNED BY {role}; DROP ROLE {role}")).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        passes(&text, &schema, Dialect::Postgres);
        has_not(&text, "through = ");
        has(&text, r#"# column "b_id" (int4) is left out: the database user may not read it"#);
    })
    .await;
}

// contract P4.2, contract P4.3
#[tokio::test]
async fn a_key_is_not_unique_across_tables_that_inherit() {
    let sql = "CREATE TABLE cities (id int PRIMARY KEY, name text UNIQUE); CREATE TABLE capitals (PRIMARY KEY (id)) INHERITS (cities);
        CREATE TABLE roads (id int PRIMARY KEY, city_id int REFERENCES cities (id), capital_id int REFERENCES capitals (id));";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        passes(&text, &schema, Dialect::Postgres);
        has(&text, r#"capital = { one = "app.capital", on = { capitalId = "id" } }"#);
        has(&text, "# foreign key (city_id) -> cities (id) is left out: (id) is no unique key of cities, from which tables inherit");
        has_not(&text, "one = \"app.city\"");
        let declared = r#"[resource.app.road.fields]
cityId = "int"
[resource.app.road.relations]
city = { one = "app.city", on = { cityId = "id" } }
[resource.app.city]
plural = "cities"
[resource.app.city.fields]
id = { type = "int", key = true }
"#;
        let expected = [
            "4 error: relation `city` of `app.road`: `one` needs a unique key, and no key of `cities` covers the tables that inherit from it; declare the relation `many`",
            "8 warning: resource `app.city`: the key (id) is not unique in table `cities`; no key of it covers the tables that inherit from it",
        ];
        assert_eq!(findings(declared, &schema, Dialect::Postgres), expected);
    })
    .await;
}

// contract P3.5, contract P4.6, contract P4.2
#[tokio::test]
async fn columns_of_other_types_are_declared_as_text() {
    let sql = "CREATE TABLE hosts (address inet PRIMARY KEY, span interval, raw bytea NOT NULL, spans interval[], grid int[][]);
        CREATE TABLE visits (id int PRIMARY KEY, host inet REFERENCES hosts (address));";
    with_postgres("", sql, |client| async move {
        let schema = read_postgres(&client).await.unwrap();
        let text = manifest(&schema, Dialect::Postgres);
        passes(&text, &schema, Dialect::Postgres);
        for line in ["address = { type = \"text\", null = false }", "span = \"text\"", "raw = { type = \"text\", null = false }", "spans = \"text\""] {
            has(&text, line);
        }
        has_not(&text, "one = \"app.host\"");
        let declared = r#"[resource.app.host]
constraint = { where = { span = { gt = "P1D" } } }
[resource.app.host.fields]
address = { type = "text", key = true }
span = "text"
[resource.app.host.relations]
visits = { many = "app.visit", on = { address = "host" } }
[resource.app.visit.fields]
id = { type = "int", key = true }
host = "text"
"#;
        let mut catalog = catalog(declared);
        store::check::add_database_facts(&mut catalog, &schema);
        let errors: Vec<String> = store::check::check(&catalog, &schema, Dialect::Postgres).errors().map(|finding| format!("{} {}", finding.line, finding.message)).collect();
        let expected = [
            "2 constraint of `app.host`: at \"/where/span/gt\": `gt` does not apply to `span` of type text, which takes `eq`, `ne`, `in`, `notIn`, `isNull`",
            "4 field `address` of `app.host`: its column is read as text and cannot be a key; remove `key = true`",
            "7 relation `visits` of `app.host`: the column of `address` of `app.host` is read as text and cannot join rows",
        ];
        assert_eq!(errors, expected);
    })
    .await;
}
