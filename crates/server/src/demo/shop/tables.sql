CREATE TABLE tenants (id TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
CREATE TABLE countries (code TEXT PRIMARY KEY NOT NULL, name TEXT NOT NULL);
CREATE TABLE labels (id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL);
CREATE TABLE products (id INTEGER PRIMARY KEY NOT NULL, name TEXT NOT NULL, category TEXT NOT NULL, price TEXT NOT NULL, cost TEXT NOT NULL, weight REAL, added_on TEXT NOT NULL);
CREATE TABLE customers (
  id INTEGER PRIMARY KEY NOT NULL, tenant_id TEXT NOT NULL REFERENCES tenants, name TEXT NOT NULL, email TEXT NOT NULL, phone TEXT,
  api_key TEXT, status TEXT NOT NULL, city TEXT NOT NULL, country_code TEXT NOT NULL REFERENCES countries, newsletter INTEGER NOT NULL,
  credit_limit TEXT NOT NULL, created_at TEXT NOT NULL, deleted_at TEXT
);
CREATE TABLE customers_labels (customer_id INTEGER NOT NULL REFERENCES customers, label_id INTEGER NOT NULL REFERENCES labels, PRIMARY KEY (customer_id, label_id));
CREATE TABLE orders (
  id INTEGER PRIMARY KEY NOT NULL, customer_id INTEGER NOT NULL REFERENCES customers, status TEXT NOT NULL DEFAULT 'new',
  total TEXT NOT NULL, placed_at TEXT NOT NULL, note TEXT, reference TEXT, entered_by TEXT, version INTEGER NOT NULL DEFAULT 1,
  updated_at TEXT NOT NULL, deleted_at TEXT, month TEXT NOT NULL GENERATED ALWAYS AS (substr(placed_at, 1, 7)) STORED
);
CREATE TABLE order_lines (
  id INTEGER PRIMARY KEY NOT NULL, order_id INTEGER NOT NULL REFERENCES orders, product_id INTEGER NOT NULL REFERENCES products,
  quantity INTEGER NOT NULL, price TEXT NOT NULL
);
