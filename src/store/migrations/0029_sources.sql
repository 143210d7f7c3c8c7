-- A short query is compared with the sources that a person or an agent gave. The condition of this index is also the
-- constant GIVEN_SOURCE in the code.
CREATE INDEX memories_by_given_source ON memories (source)
    WHERE extraction_method <> 'auto' AND source NOT IN ('mcp', 'remember', 'import', 'library', 'consolidate')
        AND source NOT GLOB 'hook:*' AND source NOT GLOB 'import:*';
