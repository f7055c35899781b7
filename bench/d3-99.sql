-- D3, the page of a keyset behind 99 % of the rows.
SELECT id, customer_id, status, total, placed_at FROM orders WHERE (placed_at, id) > ('2024-12-13T02:00:00Z', 500000) ORDER BY placed_at, id LIMIT 21;
