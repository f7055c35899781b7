-- D3, the page of a keyset behind 50 % of the rows.
SELECT id, customer_id, status, total, placed_at FROM orders WHERE (placed_at, id) > ('2023-06-28T23:33:20Z', 500000) ORDER BY placed_at, id LIMIT 21;
