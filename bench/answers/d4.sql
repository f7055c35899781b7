-- The right answer to D4.
SELECT json_agg(json_build_object('placedMonth', to_char(month, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'n', n, 'total', total::text) ORDER BY month)
FROM (
    SELECT date_trunc('month', placed_at) AS month, count(*) AS n, sum(total) AS total
    FROM orders
    WHERE placed_at >= '2023-03-28T00:00:00Z' AND placed_at < '2023-04-04T00:00:00Z'
    GROUP BY month
) AS groups;
