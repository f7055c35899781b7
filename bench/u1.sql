-- U1, an update of one row by id, as one statement.
\set id random(1, 100000)
UPDATE bench_orders SET status = 'paid', total = :id + 0.5 WHERE id = :id RETURNING id, number, customer_id, status, total, placed_at;
