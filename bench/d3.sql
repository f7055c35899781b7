-- D3, the first page of a keyset.
SELECT id, customer_id, status, total, placed_at FROM orders ORDER BY placed_at, id LIMIT 21;
