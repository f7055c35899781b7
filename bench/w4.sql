-- W4, an aggregation.
SELECT status, count(*) AS n, sum(total) AS total FROM orders WHERE placed_at >= '2023-03-01T00:00:00Z' AND placed_at < '2023-03-02T00:00:00Z' GROUP BY status ORDER BY status;
