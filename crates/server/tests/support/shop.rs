//! A small shop: fields of each type, resources with each kind of key, and one with a permission.

use super::{Backend, Database, Server, Setup};

pub const MANIFEST: &str = r#"
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
email = { type = "text", mask = "email", unmask = "shop.customer.pii" }
apiKey = { type = "text", hidden = true }
status = { type = "enum", values = ["lead", "active", "gone"] }
visits = "int"
balance = "decimal"
score = "float"
isVip = "bool"
bornOn = "date"
wakesAt = "time"
createdAt = "timestamp"
code = "uuid"
tags = "text[]"
profile = "json"

[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }
bills = { many = "shop.order", on = { id = "customerId" } }
plans = { many = "vault.secretPlan", on = { id = "customerId" } }

[resource.shop.order.fields]
id = { type = "int", key = true }
customerId = "bigint"
total = "decimal"

[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }
lines = { many = "shop.orderLine", on = { id = "orderId" } }

[resource.shop.orderLine.fields]
orderId = { type = "int", key = true }
sku = { type = "text", key = true }
quantity = { type = "int", null = false }

[resource.shop.orderLine.relations]
order = { one = "shop.order", on = { orderId = "id" } }

[resource.shop.note]
[resource.shop.note.fields]
at = { type = "int", null = false }
text = "text"

[resource.shop.item.fields]
id = { type = "int", key = true }
label = { type = "text", null = false }

[resource.bigShop.appAccount]
plural = "appsAccounts"
[resource.bigShop.appAccount.fields]
code = { type = "text", key = true }

[resource.vault.secretPlan]
permission = "vault.secretPlan.get"
[resource.vault.secretPlan.fields]
id = { type = "int", key = true }
customerId = "bigint"
title = { type = "text", null = false }
"#;

const SCRIPT: &str = r#"
CREATE TABLE customers (
  id bigint PRIMARY KEY, name text NOT NULL, email text, api_key text, status text, visits integer, balance {decimal}, score {float},
  is_vip {bool}, born_on {date}, wakes_at {time}, created_at {timestamp}, code {uuid}, tags {text[]}, profile {json}
);
INSERT INTO customers VALUES
  (1, 'Ana', 'ana@example.org', 'key-of-ana', 'active', 3, '10.50', 0.5, {true}, '1990-02-28', '06:30:00', '2024-05-01T10:00:00.250000Z',
   'aaaaaaaa-0000-4000-8000-000000000001', '{list:"new","vip"}', '{"a":1}'),
  (2, 'Bo; DROP TABLE customers', NULL, 'key-of-bo', 'lead', NULL, '0.00', NULL, {false}, NULL, NULL, NULL, NULL, '{list:}', '[1,"x",null]'),
  (3, 'Çelik "Ç" O''Neil \', 'c@example.org', 'key-of-celik', NULL, -1, NULL, -2.25, NULL, '2000-01-01', '23:59:59.5',
   '1999-12-31T23:59:59.000000Z', 'cccccccc-0000-4000-8000-000000000003', NULL, NULL);
CREATE TABLE orders (id integer PRIMARY KEY, customer_id bigint REFERENCES customers, total {decimal});
INSERT INTO orders VALUES (10, 1, '19.99'), (11, 1, '5.00'), (12, 3, NULL), (13, NULL, '1.00');
CREATE INDEX orders_of_customer ON orders (customer_id);
CREATE TABLE order_lines (order_id integer REFERENCES orders, sku text, quantity integer NOT NULL, PRIMARY KEY (order_id, sku));
INSERT INTO order_lines VALUES (10, 'a,b', 1), (10, 'plain', 2), (11, 'Ñu/1', 3);
CREATE TABLE notes (at integer NOT NULL, text text);
INSERT INTO notes VALUES (1, 'first'), (2, NULL);
CREATE TABLE items (id integer PRIMARY KEY, label text NOT NULL);
INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 2500) SELECT n, 'item number ' || n FROM numbers;
CREATE TABLE apps_accounts (code text PRIMARY KEY);
INSERT INTO apps_accounts VALUES ('hub');
CREATE TABLE secret_plans (id integer PRIMARY KEY, customer_id bigint, title text NOT NULL);
CREATE INDEX plans_of_customer ON secret_plans (customer_id);
INSERT INTO secret_plans VALUES (1, 1, 'move the moon'), (2, 3, 'paint it');
"#;

/// The script that creates the shop in PostgreSQL or SQLite.
pub fn script(backend: Backend) -> String {
    let words: [(&str, &str, &str); 13] = [
        ("{decimal}", "numeric(12,2)", "TEXT"),
        ("{float}", "double precision", "REAL"),
        ("{bool}", "boolean", "INTEGER"),
        ("{date}", "date", "TEXT"),
        ("{time}", "time", "TEXT"),
        ("{timestamp}", "timestamptz", "TEXT"),
        ("{uuid}", "uuid", "TEXT"),
        ("{text[]}", "text[]", "TEXT"),
        ("{json}", "jsonb", "TEXT"),
        ("{true}", "TRUE", "1"),
        ("{false}", "FALSE", "0"),
        ("{list:\"new\",\"vip\"}", "{\"new\",\"vip\"}", "[\"new\",\"vip\"]"),
        ("{list:}", "{}", "[]"),
    ];
    words.iter().fold(SCRIPT.to_owned(), |text, (word, postgres, sqlite)| {
        text.replace(word, if backend == Backend::Postgres { postgres } else { sqlite })
    })
}

/// The shop in a fresh database.
pub async fn database(backend: Backend) -> Database {
    Database::with(backend, &script(backend)).await
}

/// A server with the shop and a fresh database.
pub async fn open(backend: Backend) -> (Server, Database) {
    let database = database(backend).await;
    (Setup::new(MANIFEST).serve(&database).await, database)
}
