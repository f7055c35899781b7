-- Whether access tokens of a client may change the hub's records. No client does until it is marked.
ALTER TABLE peristyle_client ADD COLUMN administers integer NOT NULL DEFAULT 0;
