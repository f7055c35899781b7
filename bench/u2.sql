-- U2, a new row, as one statement.
\set n random(1, 9000000000000000000)
INSERT INTO bench_new_orders (number, customer_id, status, total) VALUES ('P-' || :n::text, 7, 'new', 12.50) RETURNING id, number, customer_id, status, total, placed_at;
