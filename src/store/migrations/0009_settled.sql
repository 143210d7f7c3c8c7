-- What was decided about a candidate once: the same words, resting on the same words, are not decided again.
-- Hashes of both, since the words themselves need not be kept.
CREATE TABLE settled (
    claim_hash TEXT NOT NULL,
    sources_hash TEXT NOT NULL,
    memory_id TEXT NOT NULL REFERENCES memories (id) ON DELETE CASCADE,
    run_id TEXT,
    PRIMARY KEY (claim_hash, sources_hash, memory_id)
) WITHOUT ROWID;
CREATE INDEX settled_memory ON settled (memory_id);
CREATE INDEX settled_run ON settled (run_id);
