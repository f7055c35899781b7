//! A shop of two tenants, and its viewers.

use query::policy::Viewer;
use serde_json::{Value, json};

use crate::support::{BACKENDS, Backend, Database, Response, Server, Setup, post};

pub(crate) const MANIFEST: &str = r#"
[resource.shop.customer]
permission = "shop.read"
constraint = { unless = "shop.all", where = { tenant = { eq = "$account.meta.tenant" } } }
[resource.shop.customer.fields]
id     = { type = "bigint", key = true }
tenant = { type = "text", null = false }
name   = { type = "text", null = false }
[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }

[resource.shop.secret]
permission = "shop.secret.read"
[resource.shop.secret.fields]
id = { type = "bigint", key = true }

[resource.shop.order]
permission = "shop.read"
soft-delete = "deletedAt"
constraint = { unless = "shop.all", where = { tenant = { eq = "$account.meta.tenant" } } }
[resource.shop.order.write]
create   = "shop.order.create"
update   = "shop.order.update"
delete   = "shop.order.delete"
restore  = "shop.order.restore"
scope    = { where = { status = { in = ["new", "paid"] } } }
check    = { unless = "shop.all", where = { total = { gte = 0 } } }
max-rows = 3
version  = "version"
[resource.shop.order.fields]
id         = { type = "bigint", key = true }
number     = { type = "text", null = false, write = "create", max-length = 8, pattern = "[A-Z]{2}-[0-9]+" }
customerId = { type = "bigint", null = false, write = true }
secretId   = { type = "bigint", write = true }
tenant     = { type = "text", null = false, write = true }
status     = { type = "enum", values = ["new", "paid", "sent"], null = false, write = true }
total      = { type = "decimal", null = false, write = true, max = 1000 }
stock      = { type = "int", write = true, min = 0 }
big        = { type = "bigint", write = true }
ratio      = { type = "float", write = true }
note       = { type = "text", write = "update", max-length = 5 }
discount   = { type = "decimal", write = true, write-permission = "shop.order.discount" }
tags       = { type = "text[]", write = true, max-items = 3 }
marks      = { type = "int[]", write = true }
meta       = { type = "json", write = true }
token      = { type = "text", hidden = true, write = true }
email      = { type = "text", write = true, mask = "email", unmask = "shop.email" }
day        = { type = "date", write = true }
clock      = { type = "time", write = true }
at         = { type = "timestamp", write = true }
ref        = { type = "uuid", write = true }
active     = { type = "bool", write = true }
ownerId    = { type = "uuid", preset = { create = "$account.id" } }
source     = { type = "text", preset = { create = "api" } }
updatedAt  = { type = "timestamp", preset = { create = "$now", update = "$now" } }
deletedAt  = "timestamp"
version    = { type = "int", null = false }
[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }
secret   = { one = "shop.secret", on = { secretId = "id" } }
items    = { many = "shop.item", on = { id = "orderId" } }

[resource.shop.item]
[resource.shop.item.write]
create = true
update = true
delete = true
max-rows = 10000
[resource.shop.item.fields]
orderId = { type = "bigint", key = true, write = "create" }
line    = { type = "int", key = true, write = "create" }
qty     = { type = "int", null = false, write = true }

[resource.shop.parcel]
[resource.shop.parcel.write]
update   = true
delete   = true
max-rows = 5
[resource.shop.parcel.fields]
code  = { type = "text", key = true, mask = "redact", unmask = "shop.all" }
place = { type = "text", write = true }

[resource.shop.vault]
[resource.shop.vault.write]
update   = true
max-rows = 5
version  = "version"
[resource.shop.vault.fields]
code    = { type = "text", key = true, hidden = true }
place   = { type = "text", write = true }
version = { type = "int", null = false, hidden = true }

[resource.shop.slot]
[resource.shop.slot.write]
update  = true
version = "version"
[resource.shop.slot.fields]
place   = { type = "uuid", key = true }
no      = { type = "int", key = true }
name    = { type = "text", write = true }
version = { type = "int", null = false }

[resource.shop.ticket]
permission = "shop.ticket.read"
[resource.shop.ticket.write]
create = true
[resource.shop.ticket.fields]
code = { type = "text", key = true, hidden = true, preset = { create = "$uuid" } }
part = { type = "text", key = true, mask = "redact", unmask = "shop.ticket.plain", preset = { create = "$uuid" } }
text = { type = "text", write = true }

[resource.shop.task]
constraint = { order = [{ field = "id", dir = "desc" }], limit = 2 }
[resource.shop.task.write]
create   = true
update   = true
delete   = true
max-rows = 5
[resource.shop.task.fields]
id       = { type = "bigint", key = true, write = "create" }
parentId = { type = "bigint", write = true }
text     = { type = "text", write = true }
[resource.shop.task.relations]
parent = { one = "shop.task", on = { parentId = "id" } }

[resource.shop.log]
[resource.shop.log.write]
create = "shop.log.create"
[resource.shop.log.fields]
id    = { type = "uuid", key = true, preset = { create = "$uuid" } }
who   = { type = "text", preset = { create = "$account.meta.badge" } }
text  = { type = "text", write = true }
"#;

const POSTGRES: &str = "
CREATE TYPE order_status AS ENUM ('new', 'paid', 'sent');
CREATE TABLE customers (id bigint PRIMARY KEY, tenant text NOT NULL, name text NOT NULL);
CREATE TABLE secrets (id bigint PRIMARY KEY);
CREATE TABLE orders (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, number text NOT NULL UNIQUE,
    customer_id bigint NOT NULL REFERENCES customers (id), secret_id bigint REFERENCES secrets (id), tenant text NOT NULL,
    status order_status NOT NULL DEFAULT 'new', total numeric NOT NULL, stock int, big bigint, ratio float8, note varchar(5),
    discount numeric, tags text[], marks int[], meta jsonb, token text, email text, day date, clock time, at timestamptz, ref uuid,
    active bool, owner_id uuid, source text, updated_at timestamptz, deleted_at timestamptz, version int NOT NULL DEFAULT 1,
    CONSTRAINT few_big CHECK (big <> 13), CONSTRAINT one_ref_for_a_day UNIQUE (ref, day));
CREATE TABLE items (order_id bigint NOT NULL REFERENCES orders (id), line int NOT NULL, qty int NOT NULL, PRIMARY KEY (order_id, line));
CREATE TABLE parcels (code text PRIMARY KEY, place text);
CREATE TABLE vaults (code text PRIMARY KEY, place text, version int NOT NULL DEFAULT 1);
CREATE TABLE slots (place uuid NOT NULL, no int NOT NULL, name text, version int NOT NULL DEFAULT 1, PRIMARY KEY (place, no));
CREATE TABLE tickets (code text NOT NULL, part text NOT NULL, text text, PRIMARY KEY (code, part));
CREATE TABLE tasks (id bigint PRIMARY KEY, parent_id bigint, text text);
CREATE TABLE logs (id uuid PRIMARY KEY, who text, text text);
";

const SQLITE: &str = "
CREATE TABLE customers (id INTEGER PRIMARY KEY, tenant TEXT NOT NULL, name TEXT NOT NULL);
CREATE TABLE secrets (id INTEGER PRIMARY KEY);
CREATE TABLE orders (id INTEGER PRIMARY KEY, number TEXT NOT NULL UNIQUE,
    customer_id INTEGER NOT NULL REFERENCES customers (id), secret_id INTEGER REFERENCES secrets (id), tenant TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'new', total TEXT NOT NULL, stock INTEGER, big INTEGER, ratio REAL, note TEXT,
    discount TEXT, tags TEXT, marks TEXT, meta TEXT, token TEXT, email TEXT, day TEXT, clock TEXT, at TEXT, ref TEXT,
    active INTEGER, owner_id TEXT, source TEXT, updated_at TEXT, deleted_at TEXT, version INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT few_big CHECK (big <> 13), UNIQUE (ref, day));
CREATE TABLE items (order_id INTEGER NOT NULL REFERENCES orders (id), line INTEGER NOT NULL, qty INTEGER NOT NULL, PRIMARY KEY (order_id, line));
CREATE TABLE parcels (code TEXT PRIMARY KEY NOT NULL, place TEXT);
CREATE TABLE vaults (code TEXT PRIMARY KEY NOT NULL, place TEXT, version INTEGER NOT NULL DEFAULT 1);
CREATE TABLE slots (place TEXT NOT NULL, no INTEGER NOT NULL, name TEXT, version INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (place, no));
CREATE TABLE tickets (code TEXT NOT NULL, part TEXT NOT NULL, text TEXT, PRIMARY KEY (code, part));
CREATE TABLE tasks (id INTEGER PRIMARY KEY, parent_id INTEGER, text TEXT);
CREATE TABLE logs (id TEXT PRIMARY KEY NOT NULL, who TEXT, text TEXT);
";

/// Customers 1 and 2 are of tenant a, customer 3 of b. Orders 1 to 4 are of tenant a, order 5 of b; order 4 is sent.
const ROWS: &str = "
INSERT INTO customers VALUES (1, 'a', 'Ana'), (2, 'a', 'Ben'), (3, 'b', 'Cy');
INSERT INTO secrets VALUES (7);
INSERT INTO orders (id, number, customer_id, tenant, status, total, stock) VALUES
    (1, 'AA-1', 1, 'a', 'new', '10', 5), (2, 'AA-2', 1, 'a', 'paid', '20.50', 0), (3, 'AA-3', 2, 'a', 'new', '30', NULL),
    (4, 'AA-4', 2, 'a', 'sent', '40', 1), (5, 'BB-5', 3, 'b', 'new', '50', 1);
INSERT INTO items VALUES (1, 1, 3), (1, 2, 4);
INSERT INTO parcels VALUES ('x', 'north');
INSERT INTO vaults VALUES ('x', 'north', 1);
INSERT INTO tasks VALUES (1, NULL, 'a'), (2, 1, 'b'), (3, 1, 'c'), (4, NULL, 'd');
INSERT INTO slots VALUES ('11111111-1111-4111-8111-111111111111', 1, 'first', 1);
";

pub(crate) const CLERK: &[&str] = &["shop.read", "shop.order.create", "shop.order.update", "shop.order.delete", "shop.log.create"];
pub(crate) const CHIEF: &[&str] = &[
    "shop.read",
    "shop.all",
    "shop.email",
    "shop.secret.read",
    "shop.order.create",
    "shop.order.update",
    "shop.order.delete",
    "shop.order.restore",
    "shop.order.discount",
];

pub(crate) struct Shop {
    pub(crate) backend: Backend,
    pub(crate) database: Database,
    pub(crate) server: Server,
}

impl Shop {
    /// The shop, served to a clerk of tenant a.
    pub(crate) async fn of_clerk(backend: Backend) -> Self {
        Shop::with(backend, CLERK).await
    }

    pub(crate) async fn with(backend: Backend, permissions: &[&str]) -> Self {
        let tables = if backend == Backend::Postgres { POSTGRES } else { SQLITE };
        let database = Database::with(backend, &(tables.to_owned() + ROWS)).await;
        if backend == Backend::Postgres {
            database.execute("SELECT setval('orders_id_seq', 100)").await;
        } else {
            database.execute("INSERT INTO orders (id, number, customer_id, tenant, total) VALUES (100, 'ZZ-0', 3, 'b', '0'); DELETE FROM items WHERE 0").await;
        }
        let server = serve(&database, permissions).await;
        Shop { backend, database, server }
    }

    /// The same shop for another viewer.
    pub(crate) async fn again(&self, permissions: &[&str]) -> Server {
        serve(&self.database, permissions).await
    }

    pub(crate) async fn send(&self, path: &str, body: &Value) -> Response {
        self.server.post(&format!("/api/shop/{path}"), body.to_string()).await
    }

    pub(crate) async fn good(&self, path: &str, body: &Value) -> Value {
        let response = self.send(path, body).await;
        assert!(response.status() < 300, "{:?} {path} {body}: {}", self.backend, response.text());
        response.json()
    }

    /// The code of the problem, and the codes and paths of its faults.
    pub(crate) async fn refusal(&self, path: &str, body: &Value) -> (u16, String, Vec<(String, String)>) {
        let before = self.everything().await;
        let response = self.send(path, body).await;
        let problem = response.json();
        assert!(response.status() >= 400, "{:?} {path} {body}: {problem}", self.backend);
        assert_eq!(self.everything().await, before, "a refused write changes nothing: {path} {body}");
        (response.status(), problem["code"].as_str().expect("a code").to_owned(), faults(&problem))
    }

    /// All orders of all tenants, deleted ones too.
    pub(crate) async fn everything(&self) -> Vec<String> {
        let columns = "id || '|' || number || '|' || tenant || '|' || status || '|' || total || '|' || version || '|' || coalesce(stock, -1) || '|' || (deleted_at IS NULL)";
        self.database.texts(&format!("SELECT {columns} FROM orders ORDER BY id")).await
    }
}

pub(crate) fn faults(problem: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let errors = problem["errors"].as_array().cloned().unwrap_or_default();
    errors.iter().map(|error| (text(&error["code"]), text(&error["path"]))).collect()
}

/// The settings of a server for a viewer of tenant a.
pub(crate) fn setup(permissions: &[&str]) -> Setup {
    let account = json!({ "id": "77777777-7777-4777-8777-777777777777", "meta": { "tenant": "a" } });
    let mut setup = Setup::new(MANIFEST);
    setup.viewer = Some(Viewer::new(permissions.iter().map(|&permission| permission.to_owned()), account));
    setup
}

async fn serve(database: &Database, permissions: &[&str]) -> Server {
    setup(permissions).serve(database).await
}

/// A new order that the clerk may create.
pub(crate) fn order(number: &str) -> Value {
    json!({ "number": number, "customerId": 1, "tenant": "a", "total": "5" })
}

/// The value with these members.
pub(crate) fn with(mut value: Value, members: Value) -> Value {
    let (Value::Object(target), Value::Object(members)) = (&mut value, members) else { panic!("objects") };
    target.extend(members);
    value
}

pub(crate) const BOTH: [Backend; 2] = BACKENDS;

pub(crate) fn request(path: &str, body: &Value) -> crate::support::Request {
    post(&format!("/api/shop/{path}"), body.to_string())
}
