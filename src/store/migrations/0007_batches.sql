-- Batches of requests that a provider answers within a day. A stage is written before what it names is tried, so that
-- whoever finds one after a crash knows what may have reached the provider.
CREATE TABLE batches (
    id TEXT PRIMARY KEY,
    owner TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    model TEXT NOT NULL,
    stage TEXT NOT NULL CHECK (stage IN ('planned', 'creating', 'submitted', 'ended')),
    stage_at INTEGER NOT NULL,
    input_file TEXT,
    remote_id TEXT,
    remote_status TEXT,
    created_at INTEGER NOT NULL,
    answered INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0,
    prompt_tokens INTEGER NOT NULL DEFAULT 0,
    completion_tokens INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX batches_open ON batches (created_at) WHERE stage <> 'ended';

-- Their requests, by hash. A request waits in one batch at most, whatever the number of processes.
CREATE TABLE batch_requests (
    batch TEXT NOT NULL REFERENCES batches (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'answered', 'failed')),
    prompt_tokens INTEGER NOT NULL,
    PRIMARY KEY (batch, key)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX batch_requests_waiting ON batch_requests (key) WHERE state = 'waiting';

-- Windows that are asked about in batches, with all that makes their request the same request on another day. `members`
-- names the windows that share it, in order.
CREATE TABLE batch_windows (
    transcript_id INTEGER NOT NULL REFERENCES transcripts (id) ON DELETE CASCADE,
    extractor TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    start INTEGER NOT NULL,
    len INTEGER NOT NULL,
    context INTEGER NOT NULL,
    members TEXT NOT NULL,
    known TEXT NOT NULL,
    first_request TEXT,
    frame TEXT,
    request TEXT,
    PRIMARY KEY (transcript_id, extractor, content_hash)
) STRICT, WITHOUT ROWID;
