-- A small shop at a size that hurts: 100,000 customers, 10,000 products, 1,000,000 orders, 3,000,000 items.
-- Every value is arithmetic on its row's number, so that two machines hold the same data. Made in about 20 seconds.

\set ON_ERROR_STOP on

CREATE TABLE customers (
    id         bigserial   PRIMARY KEY,
    name       text        NOT NULL,
    email      text        NOT NULL,
    country    text        NOT NULL,
    tags       text[]      NOT NULL DEFAULT '{}',
    profile    jsonb       NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    active     boolean     NOT NULL DEFAULT true
);

CREATE TABLE products (
    id       bigserial      PRIMARY KEY,
    name     text           NOT NULL,
    category text           NOT NULL,
    price    numeric(10, 2) NOT NULL
);

CREATE TABLE orders (
    id          bigserial      PRIMARY KEY,
    customer_id bigint         NOT NULL,
    status      text           NOT NULL,
    total       numeric(12, 2) NOT NULL,
    placed_at   timestamptz    NOT NULL
);

CREATE TABLE order_items (
    id         bigserial      PRIMARY KEY,
    order_id   bigint         NOT NULL,
    product_id bigint         NOT NULL,
    qty        integer        NOT NULL,
    price      numeric(10, 2) NOT NULL
);

-- Remainders by 20, 13 and 17 spread names and countries; 48611 and the prime 100003 give each customer an instant of its own.
INSERT INTO customers (id, name, email, country, tags, profile, created_at, active)
SELECT
    n,
    concat_ws(' ',
        ('{Alice,Bob,Carol,Dave,Eve,Frank,Grace,Heidi,Ivan,Judy,Mallory,Niaj,Olivia,Peggy,Rupert,Sybil,Trent,Victor,Walter,Zoe}'::text[])[1 + n * 7919 % 20],
        ('{Smith,Jones,Garcia,Mueller,Rossi,Dubois,Silva,Kim,Tanaka,Novak,Ivanov,Khan,Okafor}'::text[])[1 + n * 104729 % 13],
        n),
    format('user%s@example.com', n),
    ('{US,DE,FR,IT,ES,BR,JP,KR,IN,GB,NL,SE,PL,MX,CA,AU,NG}'::text[])[1 + n * 15485863 % 17],
    ARRAY[('{vip,new,retail,wholesale,churn}'::text[])[1 + n % 5], ('{email,phone,web}'::text[])[1 + n % 3]],
    jsonb_build_object(
        'tier', ('{gold,silver,bronze}'::text[])[1 + n % 3],
        'score', n * 37 % 1000,
        'prefs', jsonb_build_object('lang', ('{en,de,fr}'::text[])[1 + n % 3], 'news', n % 2 = 0)),
    timestamptz '2020-01-01T00:00:00Z' + interval '1500 seconds' * (n * 48611 % 100003),
    n % 10 <> 0
FROM generate_series(1::bigint, 100000) AS n;

INSERT INTO products (id, name, category, price)
SELECT
    n,
    format('Product %s', n),
    ('{books,toys,tools,food,garden,music,games,sport,home,auto}'::text[])[1 + n % 10],
    (n * 7907 % 50000 + 100) / 100.0
FROM generate_series(1::bigint, 10000) AS n;

-- About ten orders a customer, each at an instant of its own between 2022 and the end of 2024.
INSERT INTO orders (id, customer_id, status, total, placed_at)
SELECT
    n,
    1 + n * 48271 % 100000,
    ('{new,paid,paid,shipped,shipped,shipped,cancelled,returned}'::text[])[1 + ((n * 2654435761) >> 7) % 8],
    (n * 6700417 % 1000000 + 100) / 100.0,
    timestamptz '2022-01-01T00:00:00Z' + interval '94 seconds' * (n * 611953 % 1000003)
FROM generate_series(1::bigint, 1000000) AS n;

-- Three items an order.
INSERT INTO order_items (id, order_id, product_id, qty, price)
SELECT
    n,
    1 + (n - 1) / 3,
    1 + n * 7877 % 10000,
    1 + n % 5,
    (n * 7907 % 50000 + 100) / 100.0
FROM generate_series(1::bigint, 3000000) AS n;

SELECT setval('customers_id_seq', 100000), setval('products_id_seq', 10000), setval('orders_id_seq', 1000000), setval('order_items_id_seq', 3000000);

CREATE UNIQUE INDEX customers_email_idx ON customers (email);
CREATE INDEX customers_created_at_idx ON customers (created_at);
CREATE INDEX customers_country_created_idx ON customers (country, created_at);
CREATE INDEX orders_customer_id_idx ON orders (customer_id);
CREATE INDEX orders_placed_at_idx ON orders (placed_at);
CREATE INDEX orders_customer_placed_idx ON orders (customer_id, placed_at DESC);
CREATE INDEX order_items_order_id_idx ON order_items (order_id);
CREATE INDEX order_items_product_id_idx ON order_items (product_id);

ALTER TABLE orders ADD CONSTRAINT orders_customer_fk FOREIGN KEY (customer_id) REFERENCES customers (id);
ALTER TABLE order_items ADD CONSTRAINT order_items_order_fk FOREIGN KEY (order_id) REFERENCES orders (id);
ALTER TABLE order_items ADD CONSTRAINT order_items_product_fk FOREIGN KEY (product_id) REFERENCES products (id);

VACUUM ANALYZE;
