-- What was changed of accounts and of what they were granted, as satellites hear it.
-- Numbers are given in the order of commits: whoever takes one holds the counter until the transaction ends.
CREATE TABLE peristyle_change_number (
    id   integer PRIMARY KEY CHECK (id = 1),
    last integer NOT NULL
);
INSERT INTO peristyle_change_number (id, last) VALUES (1, 0);

-- A change is of an account, of a family of an account, of all that a client was granted, or, where nothing is named, of anybody.
-- Its time is the database's, one clock for all replicas.
CREATE TABLE peristyle_account_change (
    sequence   integer PRIMARY KEY,
    at         text NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%f', 'now') || '000Z'),
    kind       text NOT NULL CHECK (kind IN ('claims', 'credential', 'revoked')),
    account_id text,
    family_id  text,
    client_id  text
);
CREATE INDEX peristyle_account_change_at ON peristyle_account_change (at);
