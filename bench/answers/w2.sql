-- The right answer to W2.
SELECT json_build_object(
    'total', (SELECT count(*) FROM customers WHERE country = 'DE'),
    'count', count(*),
    'rows', coalesce(json_agg(json_build_object(
        'id', id, 'name', name, 'email', email, 'country', country, 'tags', tags, 'profile', profile,
        'createdAt', to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'active', active) ORDER BY created_at), '[]'))
FROM (SELECT * FROM customers WHERE country = 'DE' ORDER BY created_at, id LIMIT 20 OFFSET 40) AS page;
