-- What the built-in role holds, as rows like any other role's: every permission that is known.
INSERT INTO peristyle.role_permission (role_id, permission)
SELECT CAST('00000000-0000-4000-8000-000000000001' AS uuid), name FROM peristyle.permission WHERE true
ON CONFLICT (role_id, permission) DO NOTHING;
