-- Roles and tenants with many members whose stored rights are computed again in portions. The members up to `after` are done.
CREATE TABLE peristyle.pending_rights (
    kind  text NOT NULL CHECK (kind IN ('role', 'tenant')),
    id    uuid NOT NULL,
    after uuid NOT NULL,
    PRIMARY KEY (kind, id)
);

-- A portion is the next members in the order of their ids.
DROP INDEX peristyle.account_role_role;
CREATE INDEX account_role_role ON peristyle.account_role (role_id, account_id);
DROP INDEX peristyle.account_tenant_tenant;
CREATE INDEX account_tenant_tenant ON peristyle.account_tenant (tenant_id, account_id);

-- A role or a tenant that is removed leaves its memberships to the portions. Without it they count for nothing.
ALTER TABLE peristyle.account_role DROP CONSTRAINT account_role_role_id_fkey;
ALTER TABLE peristyle.account_tenant DROP CONSTRAINT account_tenant_tenant_id_fkey;

-- Functions, so that a statement that does not call them does not prepare their queries.
CREATE FUNCTION peristyle.permissions_of(account uuid) RETURNS jsonb LANGUAGE sql STABLE AS $$
    SELECT jsonb_object_agg(held.key, held.names) FROM (
        SELECT coalesce(r.id::text, 'all') AS key,
               coalesce(jsonb_agg(DISTINCT p.permission COLLATE "C" ORDER BY p.permission COLLATE "C")
                        FILTER (WHERE p.permission IS NOT NULL), '[]') AS names
        FROM peristyle.account_role m JOIN peristyle.role r ON r.id = m.role_id
        LEFT JOIN peristyle.role_permission p ON p.role_id = r.id
        WHERE m.account_id = $1 GROUP BY GROUPING SETS ((r.id), ())) AS held
$$;
CREATE FUNCTION peristyle.tenants_of(account uuid) RETURNS uuid[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY(SELECT t.id FROM peristyle.account_tenant m JOIN peristyle.tenant t ON t.id = m.tenant_id WHERE m.account_id = $1 ORDER BY t.id)
$$;

-- Accounts with their rights as they are now: the stored ones, or computed ones while some are pending.
CREATE VIEW peristyle.current_account AS
SELECT a.id, a.type, a.code, a.email, a.email_key, a.username, a.username_key, a.is_active, a.tags, a.scopes,
       CASE WHEN EXISTS (SELECT 1 FROM peristyle.pending_rights WHERE kind = 'role') THEN peristyle.permissions_of(a.id)
            ELSE a.d_permissions END AS d_permissions,
       CASE WHEN EXISTS (SELECT 1 FROM peristyle.pending_rights WHERE kind = 'tenant') THEN peristyle.tenants_of(a.id)
            ELSE a.d_tenants END AS d_tenants,
       a.meta, a.created_at, a.updated_at, a.deleted_at
FROM peristyle.account a;
