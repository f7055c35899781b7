// The shop of the browser tests: every type of field, derived and hidden fields, and values that look like markup.

export const MANIFEST = `
[resource.shop.customer.fields]
id = { type = "bigint", key = true }
name = { type = "text", null = false }
email = { type = "text", mask = "email", unmask = "shop.customer.pii" }
apiKey = { type = "text", hidden = true }
status = { type = "enum", values = ["lead", "active", "<b>gone</b>"] }
visits = "int"
balance = "decimal"
isVip = "bool"
bornOn = "date"
createdAt = "timestamp"
tags = "text[]"
profile = "json"
countryCode = "text"
orderCount = { count = "orders" }
lastOrderOn = { max = "orders.placedOn", eager = false }

[resource.shop.customer.relations]
orders = { many = "shop.order", on = { id = "customerId" } }
country = { one = "shop.country", on = { countryCode = "code" } }
plans = { many = "vault.secretPlan", on = { id = "customerId" } }

[resource.shop.order.fields]
id = { type = "int", key = true }
customerId = "bigint"
total = "decimal"
placedOn = "date"
placedMonth = { bucket = "month", of = "placedOn" }

[resource.shop.order.relations]
customer = { one = "shop.customer", on = { customerId = "id" } }

[resource.shop.country]
plural = "countries"
[resource.shop.country.fields]
code = { type = "text", key = true }
name = { type = "text", null = false }

[resource.shop.orderLine.fields]
orderId = { type = "int", key = true }
sku = { type = "text", key = true }
quantity = { type = "int", null = false }

[resource.shop.item.fields]
id = { type = "int", key = true }
label = { type = "text", null = false }

[resource.vault.secretPlan]
permission = "vault.secretPlan.get"
[resource.vault.secretPlan.fields]
id = { type = "int", key = true }
customerId = "bigint"
title = "text"
`;

export const SCRIPT = `
CREATE TABLE countries (code TEXT PRIMARY KEY, name TEXT NOT NULL);
INSERT INTO countries VALUES ('DE', 'Germany'), ('ES', 'Spain');
CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT NOT NULL, email TEXT, api_key TEXT, status TEXT, visits INTEGER, balance TEXT,
  is_vip INTEGER, born_on TEXT, created_at TEXT, tags TEXT, profile TEXT, country_code TEXT REFERENCES countries);
INSERT INTO customers VALUES
  (1, 'Ana García', 'ana@example.org', 'key', 'active', 12, '1204.50', 1, '1990-02-28', '2024-05-01T10:00:00.250000Z', '["vip","press"]', '{"newsletter":true,"since":2019}', 'ES'),
  (2, 'Bo Lindqvist', 'bo@example.org', 'key', 'lead', 0, '0.00', 0, NULL, '2024-06-11T08:30:00.000000Z', '[]', NULL, 'DE'),
  (3, '<script>alert(1)</script>', NULL, 'key', 'active', NULL, NULL, NULL, '2000-01-01', NULL, NULL, '["<svg onload=alert(1)>"]', NULL),
  (9007199254740993, 'Çelik', 'c@example.org', 'key', NULL, -1, '17.20', 0, '1979-12-31', '1999-12-31T23:59:59.000000Z', '["new"]', '[1,2,3]', 'DE');
CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers, total TEXT, placed_on TEXT);
CREATE INDEX orders_of_customer ON orders (customer_id);
INSERT INTO orders VALUES (10, 1, '19.99', '2024-05-02'), (11, 1, '5.00', '2024-05-09'), (12, 2, '250.00', '2024-06-12');
CREATE TABLE order_lines (order_id INTEGER, sku TEXT, quantity INTEGER NOT NULL, PRIMARY KEY (order_id, sku));
INSERT INTO order_lines VALUES (10, 'a,b/c', 7);
CREATE TABLE items (id INTEGER PRIMARY KEY, label TEXT NOT NULL);
INSERT INTO items WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 250) SELECT n, 'item number ' || n FROM numbers;
CREATE TABLE secret_plans (id INTEGER PRIMARY KEY, customer_id INTEGER, title TEXT);
CREATE INDEX plans_of_customer ON secret_plans (customer_id);
`;
