-- W2, a page with its total: two statements.
SELECT id, name, email, country, tags, profile, created_at, active FROM customers WHERE country = 'DE' ORDER BY created_at LIMIT 20 OFFSET 40;
SELECT count(*) FROM customers WHERE country = 'DE';
