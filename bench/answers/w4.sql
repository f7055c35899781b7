-- The right answer to W4.
SELECT json_agg(json_build_object('status', status, 'n', n, 'total', total::text) ORDER BY status)
FROM (
    SELECT status, count(*) AS n, sum(total) AS total
    FROM orders
    WHERE placed_at >= '2023-03-01T00:00:00Z' AND placed_at < '2023-03-02T00:00:00Z'
    GROUP BY status
) AS groups;
