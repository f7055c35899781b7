-- When a process of the hub last said that it can answer, and when none could.
CREATE TABLE peristyle_heartbeat (
    id      integer PRIMARY KEY CHECK (id = 1),
    last_at text NOT NULL
);

CREATE TABLE peristyle_outage (
    began_at text NOT NULL,
    ended_at text NOT NULL
);
CREATE INDEX peristyle_outage_ended ON peristyle_outage (ended_at);
