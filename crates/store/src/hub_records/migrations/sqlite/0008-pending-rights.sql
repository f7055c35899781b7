-- Roles and tenants with many members whose stored rights are computed again in portions. The members up to `after` are done.
CREATE TABLE peristyle_pending_rights (
    kind  text NOT NULL CHECK (kind IN ('role', 'tenant')),
    id    text NOT NULL,
    after text NOT NULL,
    PRIMARY KEY (kind, id)
);

-- A role or a tenant that is removed leaves its memberships to the portions. Without it they count for nothing, so no foreign key leads to it.
CREATE TABLE peristyle_new_account_role (
    account_id text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    role_id    text NOT NULL,
    PRIMARY KEY (account_id, role_id)
);
INSERT INTO peristyle_new_account_role (account_id, role_id) SELECT account_id, role_id FROM peristyle_account_role;
DROP TABLE peristyle_account_role;
ALTER TABLE peristyle_new_account_role RENAME TO peristyle_account_role;
CREATE TABLE peristyle_new_account_tenant (
    account_id text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    tenant_id  text NOT NULL,
    PRIMARY KEY (account_id, tenant_id)
);
INSERT INTO peristyle_new_account_tenant (account_id, tenant_id) SELECT account_id, tenant_id FROM peristyle_account_tenant;
DROP TABLE peristyle_account_tenant;
ALTER TABLE peristyle_new_account_tenant RENAME TO peristyle_account_tenant;

-- A portion is the next members in the order of their ids.
CREATE INDEX peristyle_account_role_role ON peristyle_account_role (role_id, account_id);
CREATE INDEX peristyle_account_tenant_tenant ON peristyle_account_tenant (tenant_id, account_id);

-- Accounts with their rights as they are now: the stored ones, or computed ones while some are pending.
CREATE VIEW peristyle_current_account AS
SELECT a.id, a.type, a.code, a.email, a.email_key, a.username, a.username_key, a.is_active, a.tags, a.scopes,
       CASE WHEN EXISTS (SELECT 1 FROM peristyle_pending_rights WHERE kind = 'role') THEN (
           SELECT json_group_object(key, json(names)) FROM (
               SELECT 'all' AS key, (SELECT json_group_array(permission) FROM (
                   SELECT DISTINCT p.permission AS permission FROM peristyle_account_role m
                   JOIN peristyle_role_permission p ON p.role_id = m.role_id WHERE m.account_id = a.id ORDER BY 1)) AS names
               UNION ALL
               SELECT r.id, (SELECT json_group_array(permission) FROM (
                   SELECT p.permission AS permission FROM peristyle_role_permission p WHERE p.role_id = r.id ORDER BY 1))
               FROM peristyle_account_role m JOIN peristyle_role r ON r.id = m.role_id WHERE m.account_id = a.id))
       ELSE a.d_permissions END AS d_permissions,
       CASE WHEN EXISTS (SELECT 1 FROM peristyle_pending_rights WHERE kind = 'tenant') THEN (
           SELECT json_group_array(id) FROM (
               SELECT t.id AS id FROM peristyle_account_tenant m JOIN peristyle_tenant t ON t.id = m.tenant_id
               WHERE m.account_id = a.id ORDER BY 1))
       ELSE a.d_tenants END AS d_tenants,
       a.meta, a.created_at, a.updated_at, a.deleted_at
FROM peristyle_account a;
