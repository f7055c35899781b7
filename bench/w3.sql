-- W3, three levels of relations, with the JSON built by one statement.
SELECT coalesce(json_agg(c), '[]')
FROM (
    SELECT c.*, (
        SELECT coalesce(json_agg(o), '[]')
        FROM (
            SELECT o.*, (
                SELECT coalesce(json_agg(i ORDER BY i.id), '[]')
                FROM (
                    SELECT i.*, (SELECT to_json(p) FROM products p WHERE p.id = i.product_id) AS product
                    FROM order_items i
                    WHERE i.order_id = o.id
                ) i
            ) AS items
            FROM orders o
            WHERE o.customer_id = c.id
            ORDER BY o.placed_at DESC
            LIMIT 5
        ) o
    ) AS orders
    FROM customers c
    WHERE c.country = 'DE'
    ORDER BY c.created_at
    LIMIT 20
) c;
