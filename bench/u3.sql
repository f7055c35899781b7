-- U3, 1,000 new rows, as one statement. The database makes the values.
\set n random(1, 9000000000000000000)
INSERT INTO bench_new_orders (number, customer_id, status, total) SELECT concat_ws('-', 'P', :n::text, i), i, 'new', i + 0.5 FROM generate_series(1, 1000) AS i RETURNING id, number, customer_id, status, total, placed_at;
