-- The order in which things were said in a conversation; what has no time comes first.
CREATE INDEX evidence_by_time ON evidence (transcript, ifnull(said_at, 0));

-- The words of memories as numbers, see `store::word_index`. The newest memories wait one by one, by seq.
DROP TABLE memory_words;
CREATE TABLE search_recent (
    seq INTEGER PRIMARY KEY,
    namespace TEXT NOT NULL,
    length INTEGER NOT NULL,
    languages INTEGER NOT NULL,
    terms BLOB NOT NULL
) STRICT;

-- All others are documents, numbered by segment, in it by namespace. A number is never used again.
CREATE TABLE search_docs (
    doc INTEGER PRIMARY KEY,
    seq INTEGER NOT NULL
) STRICT;
CREATE INDEX search_docs_by_seq ON search_docs (seq);

CREATE TABLE search_segments (
    id INTEGER PRIMARY KEY,
    level INTEGER NOT NULL,
    first INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    length INTEGER NOT NULL,
    languages INTEGER NOT NULL
) STRICT;

-- Where the documents of a namespace lie in a segment.
CREATE TABLE search_places (
    namespace TEXT NOT NULL,
    first INTEGER NOT NULL,
    segment INTEGER NOT NULL,
    docs INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (namespace, first)
) STRICT, WITHOUT ROWID;

CREATE TABLE search_postings (
    segment INTEGER NOT NULL,
    term INTEGER NOT NULL,
    docs BLOB NOT NULL,
    PRIMARY KEY (segment, term)
) STRICT, WITHOUT ROWID;
