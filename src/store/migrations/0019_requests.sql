-- Requests to models. A request is rendered once and stored before it is sent; its reply is kept under the hash of the
-- request. Requests about the same windows share a root, the first of them. Bodies are dropped once they are not needed.
CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    key TEXT UNIQUE,
    kind TEXT NOT NULL,
    root INTEGER REFERENCES requests (id) ON DELETE SET NULL,
    part TEXT,
    body BLOB,
    reading TEXT,
    known TEXT,
    state TEXT NOT NULL CHECK (state IN ('rendered', 'asked', 'answered', 'failed', 'closed')),
    batch TEXT REFERENCES batches (id) ON DELETE SET NULL,
    owner TEXT,
    pid INTEGER,
    lease_until INTEGER,
    attempts INTEGER NOT NULL DEFAULT 0,
    model TEXT,
    text TEXT,
    finish TEXT,
    prompt_tokens INTEGER,
    completion_tokens INTEGER,
    created_at INTEGER NOT NULL,
    answered_at INTEGER
) STRICT;
CREATE INDEX requests_by_root ON requests (root) WHERE root IS NOT NULL;
CREATE INDEX requests_by_batch ON requests (batch) WHERE batch IS NOT NULL;
CREATE INDEX requests_by_answer ON requests (answered_at) WHERE answered_at IS NOT NULL;

-- The windows of a root, in order, with the number of messages before each that are shown as context.
CREATE TABLE request_windows (
    request INTEGER NOT NULL REFERENCES requests (id) ON DELETE CASCADE,
    place INTEGER NOT NULL,
    window INTEGER NOT NULL REFERENCES windows (id) ON DELETE CASCADE,
    context INTEGER NOT NULL,
    PRIMARY KEY (request, place)
) STRICT;
CREATE INDEX request_windows_by_window ON request_windows (window);

-- Replies, under their hashes.
INSERT INTO requests (key, kind, state, model, text, finish, prompt_tokens, completion_tokens, created_at, answered_at)
SELECT key, 'reply', 'answered', model, text, finish, prompt_tokens, completion_tokens, created_at, created_at
FROM replies ORDER BY created_at, key;

-- Requests that wait in batches; the provider names them by the same hashes.
INSERT INTO requests (key, kind, state, batch, prompt_tokens, created_at)
SELECT r.key, 'extract', 'asked', r.batch, r.prompt_tokens, b.created_at
FROM batch_requests r JOIN batches b ON b.id = r.batch
WHERE r.state = 'waiting' AND r.key NOT IN (SELECT key FROM replies) ORDER BY b.created_at, r.key;

-- Windows that were asked about in batches, under the first request about them.
INSERT INTO requests (key, kind, state, created_at)
SELECT DISTINCT first_request, 'extract', 'failed', 0 FROM batch_windows WHERE first_request IS NOT NULL
ON CONFLICT (key) DO NOTHING;
INSERT INTO requests (kind, part, state, created_at)
SELECT DISTINCT 'extract', members, 'rendered', 0 FROM batch_windows WHERE first_request IS NULL;
UPDATE requests SET kind = 'extract', root = id,
    known = (SELECT known FROM batch_windows w WHERE w.first_request = requests.key LIMIT 1)
WHERE key IN (SELECT first_request FROM batch_windows);
UPDATE requests SET root = id,
    known = (SELECT known FROM batch_windows w WHERE w.first_request IS NULL AND w.members = requests.part LIMIT 1)
WHERE key IS NULL;
UPDATE requests SET root = (
    SELECT r.id FROM batch_windows w JOIN requests r ON r.key = w.first_request WHERE w.request = requests.key)
WHERE root IS NULL AND key IN (SELECT request FROM batch_windows);
INSERT INTO request_windows (request, place, window, context)
SELECT r.id, row_number() OVER (
        PARTITION BY r.id ORDER BY instr(b.members, b.transcript_id || ':' || substr(b.content_hash, 1, 16))) - 1,
    min(w.id), b.context
FROM batch_windows b
JOIN requests r ON r.key = b.first_request OR (b.first_request IS NULL AND r.key IS NULL AND r.part = b.members)
JOIN windows w ON w.transcript_id = b.transcript_id AND w.extractor = b.extractor AND w.content_hash = b.content_hash
WHERE w.status <> 'done' GROUP BY r.id, b.transcript_id, b.extractor, b.content_hash;

-- Windows that were asked about together without a batch: their request is rendered again, and its reply found by hash.
INSERT INTO requests (kind, part, state, created_at)
SELECT DISTINCT 'extract', 'pack ' || pack, 'rendered', 0 FROM windows
WHERE pack IS NOT NULL AND status <> 'done' AND id NOT IN (SELECT window FROM request_windows);
INSERT INTO request_windows (request, place, window, context)
SELECT r.id, row_number() OVER (PARTITION BY w.pack ORDER BY w.pack_place, w.id) - 1, w.id, -1
FROM windows w JOIN requests r ON r.part = 'pack ' || w.pack
WHERE w.status <> 'done' AND w.id NOT IN (SELECT window FROM request_windows);
UPDATE requests SET root = id, part = NULL WHERE key IS NULL;

DROP INDEX windows_by_open_pack;
ALTER TABLE windows DROP COLUMN pack;
ALTER TABLE windows DROP COLUMN pack_place;
DROP TABLE batch_windows;
DROP TABLE batch_requests;
DROP TABLE replies;
