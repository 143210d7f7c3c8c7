-- One row a write. What was written before has none: there, the lines of a run count as one changeset.
CREATE TABLE changesets (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    run_id TEXT,
    at INTEGER NOT NULL
) STRICT;
ALTER TABLE history ADD COLUMN changeset INTEGER;
