-- Folders and repositories through which the memories of this file and those of other machines become equal. `device` is
-- the name of this file's own log there; `seq` and `hash` tell the last item of that log,
-- and `used` the highest number that an item was given.
CREATE TABLE sync_targets (
    id INTEGER PRIMARY KEY,
    address TEXT NOT NULL UNIQUE,
    namespaces TEXT NOT NULL,
    device TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    hash TEXT NOT NULL DEFAULT '',
    used INTEGER NOT NULL DEFAULT 0,
    lamport INTEGER NOT NULL DEFAULT 0,
    collected INTEGER,
    rewrite INTEGER NOT NULL DEFAULT 0 CHECK (rewrite IN (0, 1)),
    synced_at INTEGER,
    error TEXT
) STRICT;

-- The last item of each other log that was applied.
CREATE TABLE sync_peers (
    target INTEGER NOT NULL REFERENCES sync_targets (id) ON DELETE CASCADE,
    device TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (target, device)
) STRICT, WITHOUT ROWID;

-- What all machines know of each row, as `sync::record` describes it. `key` is a hash, since the key of evidence is its
-- text. Dirty records are compared with their rows at the next synchronisation.
CREATE TABLE sync_records (
    target INTEGER NOT NULL REFERENCES sync_targets (id) ON DELETE CASCADE,
    key TEXT NOT NULL,
    entity TEXT NOT NULL,
    memory_id TEXT NOT NULL,
    other_id TEXT,
    record TEXT NOT NULL,
    dirty INTEGER NOT NULL DEFAULT 0 CHECK (dirty IN (0, 1)),
    PRIMARY KEY (target, key)
) STRICT;
CREATE INDEX sync_records_by_memory ON sync_records (memory_id);
CREATE INDEX sync_records_by_other ON sync_records (other_id) WHERE other_id IS NOT NULL;
CREATE INDEX sync_records_dirty ON sync_records (target) WHERE dirty = 1;

-- Items of this file's log that have not reached the target yet.
CREATE TABLE sync_outbox (
    target INTEGER NOT NULL REFERENCES sync_targets (id) ON DELETE CASCADE,
    seq INTEGER NOT NULL,
    records TEXT NOT NULL,
    PRIMARY KEY (target, seq)
) STRICT;
