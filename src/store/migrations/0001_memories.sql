-- What is remembered. Times are milliseconds since 1970 in UTC.
CREATE TABLE memories (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL CHECK (type IN ('semantic', 'episodic', 'procedural')),
    category TEXT NOT NULL,
    title TEXT NOT NULL,
    content TEXT NOT NULL,
    summary TEXT,
    subject TEXT,
    key TEXT,
    value TEXT,
    structured TEXT,
    scope TEXT NOT NULL CHECK (scope IN ('long_term', 'short_term')),
    importance REAL NOT NULL CHECK (importance BETWEEN 0 AND 1),
    confidence REAL NOT NULL CHECK (confidence BETWEEN 0 AND 1),
    tags TEXT NOT NULL DEFAULT '[]',
    valid_from INTEGER,
    valid_to INTEGER,
    expires_at INTEGER,
    namespace TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'forgotten', 'expired', 'pending')),
    pinned INTEGER NOT NULL DEFAULT 0 CHECK (pinned IN (0, 1)),
    source TEXT NOT NULL,
    extraction_method TEXT NOT NULL CHECK (extraction_method IN ('auto', 'manual', 'imported')),
    content_hash TEXT NOT NULL,
    deleted_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL
) STRICT;
CREATE INDEX memories_by_namespace ON memories (namespace, status, updated_at);
CREATE INDEX memories_by_hash ON memories (content_hash, namespace);
CREATE INDEX memories_by_key ON memories (key, namespace) WHERE key IS NOT NULL;
CREATE INDEX memories_by_subject ON memories (subject) WHERE subject IS NOT NULL;
CREATE INDEX memories_by_expiry ON memories (expires_at) WHERE expires_at IS NOT NULL;
CREATE INDEX memories_by_deletion ON memories (deleted_at) WHERE deleted_at IS NOT NULL;

-- How memories are used; apart, so that a read never touches the text or its index.
CREATE TABLE memory_usage (
    memory_id TEXT PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    access_count INTEGER NOT NULL DEFAULT 0,
    last_accessed_at INTEGER,
    tier TEXT NOT NULL DEFAULT 'l4' CHECK (tier IN ('l0', 'l1', 'l2', 'l3', 'l4')),
    promotion_count INTEGER NOT NULL DEFAULT 0,
    last_promoted_at INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE access_log (
    id INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('read', 'search', 'prompt'))
) STRICT;
CREATE INDEX access_log_by_memory ON access_log (memory_id, at);
CREATE INDEX access_log_by_time ON access_log (at);

-- The words a memory rests on. `message` is the first of `messages`, in which the quote stands.
CREATE TABLE evidence (
    id INTEGER PRIMARY KEY,
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    transcript TEXT NOT NULL,
    message TEXT NOT NULL,
    messages TEXT NOT NULL,
    quote TEXT NOT NULL,
    speaker TEXT,
    said_at INTEGER,
    said_offset INTEGER,
    said_source TEXT CHECK (said_source IN ('log', 'derived', 'file')),
    content_hash TEXT NOT NULL,
    UNIQUE (memory_id, transcript, message, quote)
) STRICT;
CREATE INDEX evidence_by_transcript ON evidence (transcript);

CREATE TABLE relations (
    from_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    to_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    type TEXT NOT NULL CHECK (type IN ('supports', 'contradicts', 'refines', 'supersedes', 'derived_from', 'related')),
    reason TEXT,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (from_id, to_id, type),
    CHECK (from_id <> to_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX relations_by_target ON relations (to_id);

-- What a person rejected, as hashes: it is not learnt again.
CREATE TABLE tombstones (
    memory_id TEXT PRIMARY KEY,
    namespace TEXT NOT NULL,
    content_hash TEXT NOT NULL,
    key TEXT,
    value_hash TEXT,
    reason TEXT,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX tombstones_by_hash ON tombstones (content_hash, namespace);
CREATE INDEX tombstones_by_key ON tombstones (key, namespace) WHERE key IS NOT NULL;

-- Every change, before and after. `before` is null for what was made, `after` for what was removed.
-- There is no foreign key to memories: the history of a removed memory stays.
CREATE TABLE history (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id TEXT,
    memory_id TEXT NOT NULL,
    other_id TEXT,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    entity TEXT NOT NULL CHECK (entity IN ('memory', 'evidence', 'relation', 'tombstone')),
    before TEXT,
    after TEXT,
    reason TEXT,
    undone INTEGER NOT NULL DEFAULT 0 CHECK (undone IN (0, 1))
) STRICT;
CREATE INDEX history_by_memory ON history (memory_id, id);
CREATE INDEX history_by_other ON history (other_id, id) WHERE other_id IS NOT NULL;
CREATE INDEX history_by_run ON history (run_id, id) WHERE run_id IS NOT NULL;

-- Grows with every change in a namespace, so that a plan can tell whether it is still about what it saw.
CREATE TABLE revisions (
    namespace TEXT PRIMARY KEY,
    revision INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- One row a memory, rowid = memories.seq, holding words as `store::words` cuts them.
CREATE VIRTUAL TABLE memory_words USING fts5 (
    title, content, summary, tags, subject, evidence,
    content = '', contentless_delete = 1, tokenize = 'porter unicode61 remove_diacritics 2'
);
