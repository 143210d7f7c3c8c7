-- What memories say as vectors. Derived from the texts: in no history and no export, made again where they are missing.
CREATE TABLE vector_models (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    dimension INTEGER NOT NULL CHECK (dimension > 0),
    UNIQUE (name, dimension)
) STRICT;

-- `vector` has unit length: 4 bytes a number, little endian. `code` is its short form, see `store::vectors::code`.
CREATE TABLE vectors (
    seq INTEGER PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE,
    model_id INTEGER NOT NULL REFERENCES vector_models (id),
    namespace TEXT NOT NULL,
    code BLOB NOT NULL,
    vector BLOB NOT NULL
) STRICT;
-- All that a scan of one namespace reads.
CREATE INDEX vectors_by_namespace ON vectors (model_id, namespace, seq, code);

-- Texts that the model did not take.
CREATE TABLE vector_failures (
    seq INTEGER PRIMARY KEY REFERENCES memories (seq) ON DELETE CASCADE,
    model_id INTEGER NOT NULL REFERENCES vector_models (id),
    attempts INTEGER NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

-- Moves on whenever a code is written or removed, so that a copy in memory can tell whether it is still true.
CREATE TABLE vector_revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    revision INTEGER NOT NULL
) STRICT;
INSERT INTO vector_revision (id, revision) VALUES (1, 0);
CREATE TRIGGER vectors_insert AFTER INSERT ON vectors BEGIN
    UPDATE vector_revision SET revision = revision + 1;
END;
CREATE TRIGGER vectors_update AFTER UPDATE ON vectors BEGIN
    UPDATE vector_revision SET revision = revision + 1;
END;
CREATE TRIGGER vectors_delete AFTER DELETE ON vectors BEGIN
    UPDATE vector_revision SET revision = revision + 1;
END;

-- Triggers, so that no way of changing a memory, an undo included, can leave a vector of what it no longer says.
CREATE TRIGGER memories_say_otherwise AFTER UPDATE OF title, content ON memories
WHEN old.title IS NOT new.title OR old.content IS NOT new.content BEGIN
    DELETE FROM vectors WHERE seq = new.seq;
    DELETE FROM vector_failures WHERE seq = new.seq;
END;
CREATE TRIGGER memories_are_forgotten AFTER UPDATE OF status ON memories
WHEN new.status = 'forgotten' AND old.status <> 'forgotten' BEGIN
    DELETE FROM vectors WHERE seq = new.seq;
    DELETE FROM vector_failures WHERE seq = new.seq;
END;
CREATE TRIGGER memories_move AFTER UPDATE OF namespace ON memories WHEN old.namespace <> new.namespace BEGIN
    UPDATE vectors SET namespace = new.namespace WHERE seq = new.seq;
END;

-- Who is making vectors, so that no two processes pay for the same ones.
CREATE TABLE vector_lease (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    owner TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

-- What vectors of servers took, a row a call.
CREATE TABLE vector_spending (
    id INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    model TEXT NOT NULL,
    tokens INTEGER NOT NULL
) STRICT;
