-- U4, an update of the 100 rows of one customer, as one statement. It locks rows in the order of their keys, so two of them cannot block each other.
\set customer random(1, 1000)
UPDATE bench_orders SET status = 'paid', total = :customer + 0.5 WHERE id IN (SELECT id FROM bench_orders WHERE customer_id = :customer ORDER BY id FOR NO KEY UPDATE) RETURNING id, number, customer_id, status, total, placed_at;
