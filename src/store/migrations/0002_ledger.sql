-- Conversations that were read.
CREATE TABLE transcripts (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    source TEXT NOT NULL,
    external_id TEXT NOT NULL,
    origin TEXT NOT NULL,
    title TEXT,
    project TEXT,
    namespace TEXT NOT NULL,
    started_at INTEGER,
    ended_at INTEGER,
    message_count INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;

-- What was extracted from which part of them, and whether it has been applied.
CREATE TABLE windows (
    id INTEGER PRIMARY KEY,
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
    extractor TEXT NOT NULL,
    start INTEGER NOT NULL,
    len INTEGER NOT NULL,
    content_hash TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('claimed', 'done', 'failed')),
    owner TEXT,
    lease_until INTEGER,
    attempts INTEGER NOT NULL DEFAULT 1,
    outcome TEXT CHECK (outcome IN ('ok', 'ok_empty', 'partial', 'failed')),
    candidates TEXT,
    dropped TEXT,
    spent TEXT,
    error TEXT,
    finished_at INTEGER,
    applied_at INTEGER,
    applied_run TEXT,
    UNIQUE (transcript_id, extractor, start, content_hash)
) STRICT;
CREATE INDEX windows_unapplied ON windows (transcript_id, start) WHERE status = 'done' AND applied_at IS NULL;
CREATE INDEX windows_failed ON windows (id) WHERE status = 'failed';
CREATE INDEX windows_by_run ON windows (applied_run) WHERE applied_run IS NOT NULL;

-- Replies of models by the hash of the request: no question is paid for twice.
CREATE TABLE replies (
    key TEXT PRIMARY KEY,
    model TEXT NOT NULL,
    text TEXT NOT NULL,
    finish TEXT NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX replies_by_time ON replies (created_at);

CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    command TEXT NOT NULL,
    arguments TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('running', 'finished', 'failed', 'undone')),
    started_at INTEGER NOT NULL,
    finished_at INTEGER,
    pid INTEGER NOT NULL,
    heartbeat_at INTEGER NOT NULL,
    summary TEXT
) STRICT;
CREATE INDEX runs_by_start ON runs (started_at, id);

-- What people and maintenance did to the store as a whole; never holds the text of a memory.
CREATE TABLE audit (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
