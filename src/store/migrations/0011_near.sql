-- What a claim says, as `store::near_words` cuts it: by this, claims of one namespace that may say the same are found.
-- One row a memory, rowid = memories.seq. Words hold their namespace, so that those of another cost nothing.
CREATE VIRTUAL TABLE memory_near USING fts5 (
    words, content = '', contentless_delete = 1, detail = 'none', tokenize = 'ascii'
);

-- Attributes whatever the case and the marks in which they were spelled, what holds now first.
DROP INDEX memories_by_key;
CREATE INDEX memories_by_key ON memories (
    replace(replace(replace(lower(key), '-', '_'), ' ', '_'), '/', '_'), namespace, status, updated_at, id
) WHERE key IS NOT NULL;

-- A conversation may have many messages, and an imported file many memories in what counts as one message.
DROP INDEX evidence_by_transcript;
CREATE INDEX evidence_by_words ON evidence (transcript, message, substr(quote, 1, 40));

DROP INDEX tombstones_by_key;
CREATE INDEX tombstones_by_key ON tombstones (key, namespace, value_hash) WHERE key IS NOT NULL;
