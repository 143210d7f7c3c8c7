-- Conversations that wait to be extracted after they were held. `watermark` is the last change of the log that was asked
-- for, `done_watermark` the one that was extracted; both in milliseconds, and a newer one makes a finished job due again.
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY,
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    agent TEXT NOT NULL,
    path TEXT NOT NULL,
    project TEXT,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'running', 'done', 'failed')),
    attempts INTEGER NOT NULL DEFAULT 0,
    owner TEXT,
    pid INTEGER,
    lease_until INTEGER,
    not_before INTEGER NOT NULL,
    watermark INTEGER NOT NULL,
    claimed_watermark INTEGER,
    done_watermark INTEGER,
    error TEXT,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    UNIQUE (kind, key)
) STRICT;
CREATE INDEX jobs_due ON jobs (not_before) WHERE status IN ('waiting', 'running');

-- Who does what only one process may do at a time.
CREATE TABLE leases (
    name TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    pid INTEGER NOT NULL,
    lease_until INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- When each hook of each agent last fired.
CREATE TABLE hook_fires (
    agent TEXT NOT NULL,
    event TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (agent, event)
) STRICT, WITHOUT ROWID;

-- What was put in front of a model in which session, so that it is not told again.
CREATE TABLE hook_told (
    session TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (session, memory_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_told_by_time ON hook_told (at);

-- Commands that failed in a session and have not succeeded since, redacted, with what was done meanwhile.
CREATE TABLE hook_failures (
    session TEXT NOT NULL,
    signature TEXT NOT NULL,
    command TEXT NOT NULL,
    error TEXT NOT NULL,
    call TEXT NOT NULL,
    steps TEXT NOT NULL DEFAULT '[]',
    at INTEGER NOT NULL,
    PRIMARY KEY (session, signature)
) STRICT, WITHOUT ROWID;
CREATE INDEX hook_failures_by_time ON hook_failures (at);
