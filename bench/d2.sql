-- D2, a page filtered and ordered by a derived sum.
SELECT id, name, revenue FROM customers AS c CROSS JOIN LATERAL (SELECT sum(total) AS revenue FROM orders WHERE customer_id = c.id) AS o WHERE country = 'NL' AND created_at >= '2024-06-01T00:00:00Z' AND revenue > 50000 ORDER BY revenue DESC LIMIT 20;
