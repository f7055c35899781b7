-- W1, a filtered page.
SELECT id, name, email, country, tags, profile, created_at, active FROM customers WHERE country = 'DE' AND name ILIKE 'ali%' ORDER BY created_at LIMIT 20;
