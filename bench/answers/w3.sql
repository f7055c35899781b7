-- The right answer to W3.
SELECT json_agg(json_build_object(
    'id', c.id, 'name', c.name, 'email', c.email, 'country', c.country, 'tags', c.tags, 'profile', c.profile,
    'createdAt', to_char(c.created_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'active', c.active,
    'orders', (
        SELECT coalesce(json_agg(json_build_object(
            'id', o.id, 'customerId', o.customer_id, 'status', o.status, 'total', o.total::text,
            'placedAt', to_char(o.placed_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
            'items', (
                SELECT coalesce(json_agg(json_build_object(
                    'id', i.id, 'orderId', i.order_id, 'productId', i.product_id, 'qty', i.qty, 'price', i.price::text,
                    'product', (
                        SELECT json_build_object('id', p.id, 'name', p.name, 'category', p.category, 'price', p.price::text)
                        FROM products AS p WHERE p.id = i.product_id)) ORDER BY i.id), '[]')
                FROM order_items AS i WHERE i.order_id = o.id)) ORDER BY o.placed_at DESC), '[]')
        FROM (SELECT * FROM orders WHERE customer_id = c.id ORDER BY placed_at DESC, id LIMIT 5) AS o)) ORDER BY c.created_at)
FROM (SELECT * FROM customers WHERE country = 'DE' ORDER BY created_at, id LIMIT 20) AS c;
