-- Accounts, what they may do, and where they belong.
-- The keys are the names as they are compared when somebody signs in.
CREATE TABLE peristyle_account (
    id            text PRIMARY KEY,
    type          text NOT NULL CHECK (type IN ('USER', 'SERVICE')),
    code          text NOT NULL,
    email         text,
    email_key     text,
    username      text,
    username_key  text,
    is_active     integer NOT NULL DEFAULT 1,
    tags          text NOT NULL DEFAULT '[]',
    scopes        text NOT NULL DEFAULT '[]',
    d_permissions text NOT NULL DEFAULT '{"all": []}',
    d_tenants     text NOT NULL DEFAULT '[]',
    meta          text NOT NULL DEFAULT '{}',
    created_at    text NOT NULL,
    updated_at    text NOT NULL,
    deleted_at    text
);
CREATE UNIQUE INDEX peristyle_account_username ON peristyle_account (username_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX peristyle_account_email ON peristyle_account (email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX peristyle_account_code ON peristyle_account (code) WHERE deleted_at IS NULL;

CREATE TABLE peristyle_credential (
    account_id text PRIMARY KEY REFERENCES peristyle_account (id) ON DELETE CASCADE,
    hash       text NOT NULL,
    changed_at text NOT NULL
);

CREATE TABLE peristyle_role (
    id          text PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    description text,
    is_built_in integer NOT NULL DEFAULT 0,
    created_at  text NOT NULL,
    updated_at  text NOT NULL
);

-- Its id is the same in every database.
INSERT INTO peristyle_role (id, name, description, is_built_in, created_at, updated_at)
VALUES ('00000000-0000-4000-8000-000000000001', 'administrator', 'Holds every permission', 1, strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now'), strftime('%Y-%m-%dT%H:%M:%S.000000Z', 'now'));

CREATE TABLE peristyle_permission (
    name        text PRIMARY KEY,
    description text,
    created_at  text NOT NULL
);

CREATE TABLE peristyle_role_permission (
    role_id    text NOT NULL REFERENCES peristyle_role (id) ON DELETE CASCADE,
    permission text NOT NULL REFERENCES peristyle_permission (name) ON DELETE CASCADE,
    PRIMARY KEY (role_id, permission)
);
CREATE INDEX peristyle_role_permission_permission ON peristyle_role_permission (permission);

CREATE TABLE peristyle_account_role (
    account_id text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    role_id    text NOT NULL REFERENCES peristyle_role (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, role_id)
);
CREATE INDEX peristyle_account_role_role ON peristyle_account_role (role_id);

CREATE TABLE peristyle_tenant (
    id         text PRIMARY KEY,
    code       text NOT NULL UNIQUE,
    name       text NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE peristyle_account_tenant (
    account_id text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    tenant_id  text NOT NULL REFERENCES peristyle_tenant (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, tenant_id)
);
CREATE INDEX peristyle_account_tenant_tenant ON peristyle_account_tenant (tenant_id);

-- What people sign in to.
CREATE TABLE peristyle_app (
    id         text PRIMARY KEY,
    code       text NOT NULL UNIQUE,
    name       text NOT NULL,
    url        text,
    is_closed  integer NOT NULL DEFAULT 0,
    created_at text NOT NULL,
    updated_at text NOT NULL
);

CREATE TABLE peristyle_app_account (
    id            text PRIMARY KEY,
    app_id        text NOT NULL REFERENCES peristyle_app (id) ON DELETE CASCADE,
    account_id    text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    first_used_at text,
    last_used_at  text,
    created_at    text NOT NULL,
    UNIQUE (app_id, account_id)
);
CREATE INDEX peristyle_app_account_account ON peristyle_app_account (account_id);

CREATE TABLE peristyle_client (
    id                    text PRIMARY KEY,
    name                  text NOT NULL,
    secret_hash           blob NOT NULL,
    previous_secret_hash  blob,
    previous_secret_until text,
    redirect              text NOT NULL,
    grants                text NOT NULL,
    access_token_seconds  integer NOT NULL,
    refresh_token_seconds integer NOT NULL,
    is_active             integer NOT NULL DEFAULT 1,
    app_id                text REFERENCES peristyle_app (id) ON DELETE SET NULL,
    created_at            text NOT NULL,
    updated_at            text NOT NULL
);
CREATE INDEX peristyle_client_app ON peristyle_client (app_id);

-- What was given: sessions of browsers, codes, and families of refresh tokens.
CREATE TABLE peristyle_session (
    id               text PRIMARY KEY,
    account_id       text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    device           text,
    address          text,
    authenticated_at text NOT NULL,
    last_used_at     text NOT NULL,
    expires_at       text NOT NULL,
    ended_at         text
);
CREATE INDEX peristyle_session_account ON peristyle_session (account_id);
CREATE INDEX peristyle_session_expires ON peristyle_session (expires_at);

CREATE TABLE peristyle_family (
    id               text PRIMARY KEY,
    client_id        text NOT NULL REFERENCES peristyle_client (id) ON DELETE CASCADE,
    account_id       text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    session_id       text,
    scope            text,
    authenticated_at text NOT NULL,
    created_at       text NOT NULL,
    ended_at         text
);
CREATE INDEX peristyle_family_account ON peristyle_family (account_id);
CREATE INDEX peristyle_family_client ON peristyle_family (client_id);
CREATE INDEX peristyle_family_session ON peristyle_family (session_id);

CREATE TABLE peristyle_refresh_token (
    hash             blob PRIMARY KEY,
    family_id        text NOT NULL REFERENCES peristyle_family (id) ON DELETE CASCADE,
    created_at       text NOT NULL,
    expires_at       text NOT NULL,
    used_at          text,
    sealed_successor blob
);
CREATE INDEX peristyle_refresh_token_family ON peristyle_refresh_token (family_id);
CREATE INDEX peristyle_refresh_token_expires ON peristyle_refresh_token (expires_at);

CREATE TABLE peristyle_code (
    hash             blob PRIMARY KEY,
    client_id        text NOT NULL REFERENCES peristyle_client (id) ON DELETE CASCADE,
    account_id       text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    session_id       text NOT NULL,
    redirect         text NOT NULL,
    challenge        text NOT NULL,
    scope            text,
    nonce            text,
    authenticated_at text NOT NULL,
    expires_at       text NOT NULL,
    used_by          text
);
CREATE INDEX peristyle_code_expires ON peristyle_code (expires_at);
CREATE INDEX peristyle_code_session ON peristyle_code (session_id);
CREATE INDEX peristyle_code_account ON peristyle_code (account_id);
CREATE INDEX peristyle_code_client ON peristyle_code (client_id);

-- One-time links: an invitation, or a new password.
CREATE TABLE peristyle_link (
    hash       blob PRIMARY KEY,
    account_id text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('invitation', 'reset')),
    created_at text NOT NULL,
    expires_at text NOT NULL,
    used_at    text
);
CREATE INDEX peristyle_link_account ON peristyle_link (account_id);
CREATE INDEX peristyle_link_expires ON peristyle_link (expires_at);

-- Public halves of the keys that sign; the private ones are files.
CREATE TABLE peristyle_signing_key (
    kid        text PRIMARY KEY,
    public_key text NOT NULL,
    state      text NOT NULL CHECK (state IN ('announced', 'signing', 'retired')),
    -- Since when it is announced or signs, or until when a retired one is published.
    moment     text NOT NULL
);

-- Failed sign-ins, counted by what they are throttled by.
CREATE TABLE peristyle_failure (
    key        blob PRIMARY KEY,
    count      integer NOT NULL,
    last_at    text NOT NULL
);
CREATE INDEX peristyle_failure_last ON peristyle_failure (last_at);

-- From where an account signed in before, so that failures elsewhere do not shut it out.
CREATE TABLE peristyle_familiar (
    account_id   text NOT NULL REFERENCES peristyle_account (id) ON DELETE CASCADE,
    address      text NOT NULL,
    last_used_at text NOT NULL,
    PRIMARY KEY (account_id, address)
);
CREATE INDEX peristyle_familiar_last ON peristyle_familiar (last_used_at);

-- What happened.
CREATE TABLE peristyle_event (
    sequence   integer PRIMARY KEY AUTOINCREMENT,
    at         text NOT NULL,
    kind       text NOT NULL,
    account_id text,
    client_id  text,
    session_id text,
    actor_id   text,
    address    text,
    detail     text NOT NULL DEFAULT '{}'
);
CREATE INDEX peristyle_event_at ON peristyle_event (at);
CREATE INDEX peristyle_event_account ON peristyle_event (account_id, sequence);
