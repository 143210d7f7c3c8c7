-- Logs that were read to their end and need not be opened again as long as nothing of what the outcome depends on changes.
-- `path` is a hash: names of files may tell what their contents may not. Losing a row costs a reading and nothing else.
CREATE TABLE files (
    path TEXT NOT NULL,
    extractor TEXT NOT NULL,
    stamp TEXT NOT NULL,
    signature TEXT NOT NULL,
    outcome TEXT NOT NULL CHECK (outcome IN ('read', 'passed_over', 'dataset')),
    transcripts INTEGER NOT NULL,
    messages INTEGER NOT NULL,
    windows INTEGER NOT NULL,
    skipped_records INTEGER NOT NULL,
    read_at INTEGER NOT NULL,
    PRIMARY KEY (path, extractor)
) STRICT, WITHOUT ROWID;
