-- What a model said in a full pass about two memories, by the hashes of what they say: it is not asked again.
CREATE TABLE judged (
    namespace TEXT NOT NULL,
    a TEXT NOT NULL,
    b TEXT NOT NULL,
    relation TEXT NOT NULL,
    model TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (namespace, a, b)
) STRICT, WITHOUT ROWID;

-- The state of a namespace in which a full pass, judging in this way, found nothing more to do.
CREATE TABLE passes (
    namespace TEXT PRIMARY KEY,
    revision INTEGER NOT NULL,
    judge TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What was taken back, so that a pass does not do it again.
CREATE INDEX history_undone ON history (action, id) WHERE undone = 1;
