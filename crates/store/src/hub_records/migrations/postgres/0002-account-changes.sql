-- What was changed of accounts and of what they were granted, as satellites hear it.
-- Numbers are given in the order of commits: whoever takes one holds the counter until the transaction ends.
CREATE TABLE peristyle.change_number (
    id   integer PRIMARY KEY CHECK (id = 1),
    last bigint NOT NULL
);
INSERT INTO peristyle.change_number (id, last) VALUES (1, 0);

-- A change is of an account, of a family of an account, of all that a client was granted, or, where nothing is named, of anybody.
-- Its time is the database's, one clock for all replicas.
CREATE TABLE peristyle.account_change (
    sequence   bigint PRIMARY KEY,
    at         timestamptz NOT NULL DEFAULT clock_timestamp(),
    kind       text NOT NULL CHECK (kind IN ('claims', 'credential', 'revoked')),
    account_id uuid,
    family_id  uuid,
    client_id  text
);
CREATE INDEX account_change_at ON peristyle.account_change (at);
