-- Whether access tokens of a client may change the hub's records. No client does until it is marked.
ALTER TABLE peristyle.client ADD COLUMN administers boolean NOT NULL DEFAULT false;
