-- What agents did, a row for each version of a task: the newest that was not undone is current. Facts and words are those
-- of current tasks alone, and can be made from their records.
CREATE TABLE tasks (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL,
    transcript TEXT NOT NULL,
    parent TEXT,
    place INTEGER NOT NULL,
    namespace TEXT NOT NULL,
    run TEXT,
    state TEXT NOT NULL CHECK (state IN ('current', 'replaced', 'undone')),
    started_at INTEGER,
    record TEXT NOT NULL
) STRICT;
CREATE INDEX tasks_by_place ON tasks (transcript, place, seq);
CREATE INDEX tasks_by_id ON tasks (id) WHERE state = 'current';
CREATE INDEX tasks_by_namespace ON tasks (namespace) WHERE state = 'current';
CREATE INDEX tasks_by_run ON tasks (run) WHERE run IS NOT NULL;

-- Where a path, the name of a file, an error or a command occurs.
CREATE TABLE task_facts (
    kind TEXT NOT NULL,
    key TEXT NOT NULL,
    task INTEGER NOT NULL REFERENCES tasks (seq) ON DELETE CASCADE,
    PRIMARY KEY (kind, key, task)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_facts_by_task ON task_facts (task);

-- The words of a task for those who search: pairs of a word's number and its weight, by number.
CREATE TABLE task_words (
    task INTEGER PRIMARY KEY REFERENCES tasks (seq) ON DELETE CASCADE,
    length INTEGER NOT NULL,
    words BLOB NOT NULL
) STRICT;
