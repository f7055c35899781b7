-- Accounts, what they may do, and where they belong.
-- The keys are the names as they are compared when somebody signs in.
CREATE TABLE peristyle.account (
    id            uuid PRIMARY KEY,
    type          text NOT NULL CHECK (type IN ('USER', 'SERVICE')),
    code          text NOT NULL,
    email         text,
    email_key     text,
    username      text,
    username_key  text,
    is_active     boolean NOT NULL DEFAULT true,
    tags          text[] NOT NULL DEFAULT '{}',
    scopes        text[] NOT NULL DEFAULT '{}',
    d_permissions jsonb NOT NULL DEFAULT '{"all": []}',
    d_tenants     uuid[] NOT NULL DEFAULT '{}',
    meta          jsonb NOT NULL DEFAULT '{}',
    created_at    timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    deleted_at    timestamptz
);
CREATE UNIQUE INDEX account_username ON peristyle.account (username_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX account_email ON peristyle.account (email_key) WHERE deleted_at IS NULL;
CREATE UNIQUE INDEX account_code ON peristyle.account (code) WHERE deleted_at IS NULL;

CREATE TABLE peristyle.credential (
    account_id uuid PRIMARY KEY REFERENCES peristyle.account (id) ON DELETE CASCADE,
    hash       text NOT NULL,
    changed_at timestamptz NOT NULL
);

CREATE TABLE peristyle.role (
    id          uuid PRIMARY KEY,
    name        text NOT NULL UNIQUE,
    description text,
    is_built_in boolean NOT NULL DEFAULT false,
    created_at  timestamptz NOT NULL,
    updated_at  timestamptz NOT NULL
);

-- Its id is the same in every database.
INSERT INTO peristyle.role (id, name, description, is_built_in, created_at, updated_at)
VALUES ('00000000-0000-4000-8000-000000000001', 'administrator', 'Holds every permission', true, now(), now());

CREATE TABLE peristyle.permission (
    name        text PRIMARY KEY,
    description text,
    created_at  timestamptz NOT NULL
);

CREATE TABLE peristyle.role_permission (
    role_id    uuid NOT NULL REFERENCES peristyle.role (id) ON DELETE CASCADE,
    permission text NOT NULL REFERENCES peristyle.permission (name) ON DELETE CASCADE,
    PRIMARY KEY (role_id, permission)
);
CREATE INDEX role_permission_permission ON peristyle.role_permission (permission);

CREATE TABLE peristyle.account_role (
    account_id uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    role_id    uuid NOT NULL REFERENCES peristyle.role (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, role_id)
);
CREATE INDEX account_role_role ON peristyle.account_role (role_id);

CREATE TABLE peristyle.tenant (
    id         uuid PRIMARY KEY,
    code       text NOT NULL UNIQUE,
    name       text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE peristyle.account_tenant (
    account_id uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    tenant_id  uuid NOT NULL REFERENCES peristyle.tenant (id) ON DELETE CASCADE,
    PRIMARY KEY (account_id, tenant_id)
);
CREATE INDEX account_tenant_tenant ON peristyle.account_tenant (tenant_id);

-- What people sign in to.
CREATE TABLE peristyle.app (
    id         uuid PRIMARY KEY,
    code       text NOT NULL UNIQUE,
    name       text NOT NULL,
    url        text,
    is_closed  boolean NOT NULL DEFAULT false,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);

CREATE TABLE peristyle.app_account (
    id            uuid PRIMARY KEY,
    app_id        uuid NOT NULL REFERENCES peristyle.app (id) ON DELETE CASCADE,
    account_id    uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    first_used_at timestamptz,
    last_used_at  timestamptz,
    created_at    timestamptz NOT NULL,
    UNIQUE (app_id, account_id)
);
CREATE INDEX app_account_account ON peristyle.app_account (account_id);

CREATE TABLE peristyle.client (
    id                    text PRIMARY KEY,
    name                  text NOT NULL,
    secret_hash           bytea NOT NULL,
    previous_secret_hash  bytea,
    previous_secret_until timestamptz,
    redirect              text NOT NULL,
    grants                text[] NOT NULL,
    access_token_seconds  integer NOT NULL,
    refresh_token_seconds integer NOT NULL,
    is_active             boolean NOT NULL DEFAULT true,
    app_id                uuid REFERENCES peristyle.app (id) ON DELETE SET NULL,
    created_at            timestamptz NOT NULL,
    updated_at            timestamptz NOT NULL
);
CREATE INDEX client_app ON peristyle.client (app_id);

-- What was given: sessions of browsers, codes, and families of refresh tokens.
CREATE TABLE peristyle.session (
    id               uuid PRIMARY KEY,
    account_id       uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    device           text,
    address          text,
    authenticated_at timestamptz NOT NULL,
    last_used_at     timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    ended_at         timestamptz
);
CREATE INDEX session_account ON peristyle.session (account_id);
CREATE INDEX session_expires ON peristyle.session (expires_at);

CREATE TABLE peristyle.family (
    id               uuid PRIMARY KEY,
    client_id        text NOT NULL REFERENCES peristyle.client (id) ON DELETE CASCADE,
    account_id       uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    session_id       uuid,
    scope            text,
    authenticated_at timestamptz NOT NULL,
    created_at       timestamptz NOT NULL,
    ended_at         timestamptz
);
CREATE INDEX family_account ON peristyle.family (account_id);
CREATE INDEX family_client ON peristyle.family (client_id);
CREATE INDEX family_session ON peristyle.family (session_id);

CREATE TABLE peristyle.refresh_token (
    hash             bytea PRIMARY KEY,
    family_id        uuid NOT NULL REFERENCES peristyle.family (id) ON DELETE CASCADE,
    created_at       timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    used_at          timestamptz,
    sealed_successor bytea
);
CREATE INDEX refresh_token_family ON peristyle.refresh_token (family_id);
CREATE INDEX refresh_token_expires ON peristyle.refresh_token (expires_at);

CREATE TABLE peristyle.code (
    hash             bytea PRIMARY KEY,
    client_id        text NOT NULL REFERENCES peristyle.client (id) ON DELETE CASCADE,
    account_id       uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    session_id       uuid NOT NULL,
    redirect         text NOT NULL,
    challenge        text NOT NULL,
    scope            text,
    nonce            text,
    authenticated_at timestamptz NOT NULL,
    expires_at       timestamptz NOT NULL,
    used_by          uuid
);
CREATE INDEX code_expires ON peristyle.code (expires_at);
CREATE INDEX code_session ON peristyle.code (session_id);
CREATE INDEX code_account ON peristyle.code (account_id);
CREATE INDEX code_client ON peristyle.code (client_id);

-- One-time links: an invitation, or a new password.
CREATE TABLE peristyle.link (
    hash       bytea PRIMARY KEY,
    account_id uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    purpose    text NOT NULL CHECK (purpose IN ('invitation', 'reset')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at    timestamptz
);
CREATE INDEX link_account ON peristyle.link (account_id);
CREATE INDEX link_expires ON peristyle.link (expires_at);

-- Public halves of the keys that sign; the private ones are files.
CREATE TABLE peristyle.signing_key (
    kid        text PRIMARY KEY,
    public_key jsonb NOT NULL,
    state      text NOT NULL CHECK (state IN ('announced', 'signing', 'retired')),
    -- Since when it is announced or signs, or until when a retired one is published.
    moment     timestamptz NOT NULL
);

-- Failed sign-ins, counted by what they are throttled by.
CREATE TABLE peristyle.failure (
    key        bytea PRIMARY KEY,
    count      integer NOT NULL,
    last_at    timestamptz NOT NULL
);
CREATE INDEX failure_last ON peristyle.failure (last_at);

-- From where an account signed in before, so that failures elsewhere do not shut it out.
CREATE TABLE peristyle.familiar (
    account_id   uuid NOT NULL REFERENCES peristyle.account (id) ON DELETE CASCADE,
    address      text NOT NULL,
    last_used_at timestamptz NOT NULL,
    PRIMARY KEY (account_id, address)
);
CREATE INDEX familiar_last ON peristyle.familiar (last_used_at);

-- What happened.
CREATE TABLE peristyle.event (
    sequence   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at         timestamptz NOT NULL,
    kind       text NOT NULL,
    account_id uuid,
    client_id  text,
    session_id uuid,
    actor_id   uuid,
    address    text,
    detail     jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX event_at ON peristyle.event (at);
CREATE INDEX event_account ON peristyle.event (account_id, sequence);
