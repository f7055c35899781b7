-- The right answer to W1, computed by PostgreSQL alone.
SELECT coalesce(json_agg(json_build_object(
    'id', id, 'name', name, 'email', email, 'country', country, 'tags', tags, 'profile', profile,
    'createdAt', to_char(created_at, 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'active', active) ORDER BY created_at), '[]')
FROM (SELECT * FROM customers WHERE country = 'DE' AND name ILIKE 'ali%' ORDER BY created_at, id LIMIT 20) AS page;
