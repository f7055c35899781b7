-- The right answer to D2.
SELECT coalesce(json_agg(json_build_object('id', id, 'name', name, 'revenue', revenue::text) ORDER BY revenue DESC, id), '[]')
FROM (
    SELECT c.id, c.name, sum(o.total) AS revenue
    FROM customers AS c JOIN orders AS o ON o.customer_id = c.id
    WHERE c.country = 'NL' AND c.created_at >= '2024-06-01T00:00:00Z'
    GROUP BY c.id HAVING sum(o.total) > 50000 ORDER BY revenue DESC, c.id LIMIT 20
) AS page;
