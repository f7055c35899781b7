-- D1, a page with two derived counts.
SELECT id, name, (SELECT count(*) FROM orders WHERE customer_id = c.id), (SELECT count(*) FROM orders WHERE customer_id = c.id AND status = 'paid') FROM customers AS c WHERE country = 'DE' ORDER BY created_at DESC LIMIT 20;
