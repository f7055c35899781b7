-- The right answer to D3 behind 99 % of the rows.
WITH page AS (
    SELECT id, customer_id, status, total, placed_at, to_char(placed_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS at FROM orders
    WHERE (placed_at, id) > ('2024-12-13T02:00:00Z', 500000) ORDER BY placed_at, id LIMIT 20
), last AS (SELECT id, at FROM page ORDER BY placed_at DESC, id DESC LIMIT 1)
SELECT json_build_object(
    'count', count(*),
    'rows', json_agg(json_build_object('id', id, 'customerId', customer_id, 'status', status, 'total', total::text, 'placedAt', at) ORDER BY placed_at, id),
    'next', (SELECT json_build_object(
        'where', json_build_object('and', json_build_array(json_build_object('or', json_build_array(
            json_build_object('and', json_build_array(
                json_build_object('placedAt', json_build_object('eq', at)), json_build_object('id', json_build_object('gt', id::text)))),
            json_build_object('placedAt', json_build_object('gt', at)))))),
        'order', json_build_array(json_build_object('field', 'placedAt', 'dir', 'asc')),
        'limit', 20) FROM last))
FROM page;
