-- Which runs of three bytes the texts of a memory contain, so that a literal search reads only the memories that may
-- contain the searched text. The program fills the table, because the bits are not computed in SQL.
CREATE TABLE search_letters (
    seq INTEGER PRIMARY KEY,
    letters BLOB NOT NULL
) STRICT;
