-- The right answer to D1.
SELECT coalesce(json_agg(json_build_object('id', id, 'name', name, 'orderCount', orders, 'paidCount', paid) ORDER BY created_at DESC, id), '[]')
FROM (SELECT c.*, (SELECT count(*) FROM orders WHERE customer_id = c.id) AS orders, (SELECT count(*) FROM orders WHERE customer_id = c.id AND status = 'paid') AS paid FROM customers AS c WHERE country = 'DE' ORDER BY created_at DESC, id LIMIT 20) AS page;
