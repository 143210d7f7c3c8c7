-- Tells this file from every other, so that a plan that was made for one is not applied to another. A copy is the same.
CREATE TABLE identity (
    id TEXT NOT NULL
) STRICT;
INSERT INTO identity (id) VALUES (lower(hex(randomblob(16))));
