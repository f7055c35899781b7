-- D4, sums by month.
SELECT date_trunc('month', placed_at AT TIME ZONE 'UTC') AT TIME ZONE 'UTC', count(*) AS n, sum(total) AS total FROM orders WHERE placed_at >= '2023-03-28T00:00:00Z' AND placed_at < '2023-04-04T00:00:00Z' GROUP BY 1 ORDER BY 1;
