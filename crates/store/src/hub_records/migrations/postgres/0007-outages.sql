-- When a process of the hub last said that it can answer, and when none could.
CREATE TABLE peristyle.heartbeat (
    id      integer PRIMARY KEY CHECK (id = 1),
    last_at timestamptz NOT NULL
);

CREATE TABLE peristyle.outage (
    began_at timestamptz NOT NULL,
    ended_at timestamptz NOT NULL
);
CREATE INDEX outage_ended ON peristyle.outage (ended_at);
