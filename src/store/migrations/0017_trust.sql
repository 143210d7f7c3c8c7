-- Conversations that a person had erased, as hashes of their keys: they are read again only where that is asked for.
CREATE TABLE withdrawn (
    key_hash TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Erasures whose bytes may still stand in freed parts of the file; empty once the file has been written anew.
CREATE TABLE unsealed (
    at INTEGER NOT NULL
) STRICT;
