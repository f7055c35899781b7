-- Attempts to sign in whose outcome is not known yet are counted apart from failures, so that a success changes no failure of others.
ALTER TABLE peristyle_failure ADD COLUMN undecided integer NOT NULL DEFAULT 0;
ALTER TABLE peristyle_failure ADD COLUMN undecided_at text;
-- From when on an address may try a name that failed too often elsewhere.
ALTER TABLE peristyle_failure ADD COLUMN admitted_at text;
