-- Numbers of memories, so that pages with counts do not read every memory. Triggers keep them in step with the tables;
-- `memory_counts_anew` computes the same numbers from the tables. Rows of `status` count all memories, `type`, `category`,
-- `learnt` (days since 1970), `uses` (classes) and `said` (days) only active memories. `evidence` has one row, without a
-- namespace.
CREATE TABLE memory_counts (
    of TEXT NOT NULL,
    name ANY NOT NULL,
    namespace TEXT NOT NULL,
    count INTEGER NOT NULL,
    PRIMARY KEY (of, name, namespace)
) STRICT, WITHOUT ROWID;

-- Classes of use: never, once or twice, up to nine times, and more.
ALTER TABLE memory_usage ADD COLUMN use_class INTEGER GENERATED ALWAYS AS
    ((access_count > 0) + (access_count > 2) + (access_count > 9)) VIRTUAL;
-- The day on which a memory was last said or, if that is unknown, changed.
ALTER TABLE memory_usage ADD COLUMN said_day INTEGER GENERATED ALWAYS AS
    (ifnull(confirmed_at, changed_at) / 86400000) VIRTUAL;

CREATE VIEW memory_counts_anew AS
    SELECT 'status' AS of, status AS name, namespace, count(*) AS count FROM memories GROUP BY 2, 3
    UNION ALL SELECT 'type', type, namespace, count(*) FROM memories WHERE status = 'active' GROUP BY 2, 3
    UNION ALL SELECT 'category', category, namespace, count(*) FROM memories WHERE status = 'active' GROUP BY 2, 3
    UNION ALL SELECT 'learnt', created_at / 86400000, namespace, count(*) FROM memories
        WHERE status = 'active' GROUP BY 2, 3
    UNION ALL SELECT 'uses', use_class, namespace, count(*) FROM memory_usage WHERE namespace IS NOT NULL GROUP BY 2, 3
    UNION ALL SELECT 'said', said_day, namespace, count(*) FROM memory_usage WHERE namespace IS NOT NULL GROUP BY 2, 3
    UNION ALL SELECT 'evidence', 0, '', count(*) FROM evidence HAVING count(*) > 0;
INSERT INTO memory_counts SELECT * FROM memory_counts_anew;

-- An erased memory must not leave its namespace or category behind.
CREATE TRIGGER none_is_not_counted AFTER UPDATE OF count ON memory_counts WHEN new.count = 0 BEGIN
    DELETE FROM memory_counts WHERE of = new.of AND name = new.name AND namespace = new.namespace;
END;

CREATE TRIGGER memory_is_counted AFTER INSERT ON memories BEGIN
    INSERT INTO memory_counts VALUES ('status', new.status, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER memory_is_not_counted AFTER DELETE ON memories BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('status', old.status, old.namespace);
END;
CREATE TRIGGER memory_is_counted_again AFTER UPDATE OF status, namespace ON memories
WHEN (old.status, old.namespace) <> (new.status, new.namespace)
BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('status', old.status, old.namespace);
    INSERT INTO memory_counts VALUES ('status', new.status, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER active_is_counted AFTER INSERT ON memories WHEN new.status = 'active' BEGIN
    INSERT INTO memory_counts VALUES ('type', new.type, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    INSERT INTO memory_counts VALUES ('category', new.category, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    INSERT INTO memory_counts VALUES ('learnt', new.created_at / 86400000, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER active_is_not_counted AFTER DELETE ON memories WHEN old.status = 'active' BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('type', old.type, old.namespace);
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('category', old.category, old.namespace);
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('learnt', old.created_at / 86400000, old.namespace);
END;
CREATE TRIGGER active_before_is_not_counted AFTER UPDATE OF status, namespace, type, category, created_at ON memories
WHEN old.status = 'active' AND (old.namespace, old.type, old.category, old.created_at, old.status)
    <> (new.namespace, new.type, new.category, new.created_at, new.status)
BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('type', old.type, old.namespace);
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('category', old.category, old.namespace);
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('learnt', old.created_at / 86400000, old.namespace);
END;
CREATE TRIGGER active_now_is_counted AFTER UPDATE OF status, namespace, type, category, created_at ON memories
WHEN new.status = 'active' AND (old.namespace, old.type, old.category, old.created_at, old.status)
    <> (new.namespace, new.type, new.category, new.created_at, new.status)
BEGIN
    INSERT INTO memory_counts VALUES ('type', new.type, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    INSERT INTO memory_counts VALUES ('category', new.category, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    INSERT INTO memory_counts VALUES ('learnt', new.created_at / 86400000, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER usage_is_counted AFTER UPDATE OF namespace, access_count, confirmed_at, changed_at ON memory_usage
WHEN new.namespace IS NOT NULL AND (old.namespace, old.use_class, old.said_day) IS NOT (new.namespace, new.use_class, new.said_day)
BEGIN
    INSERT INTO memory_counts VALUES ('uses', new.use_class, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
    INSERT INTO memory_counts VALUES ('said', new.said_day, new.namespace, 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER usage_before_is_not_counted AFTER UPDATE OF namespace, access_count, confirmed_at, changed_at ON memory_usage
WHEN old.namespace IS NOT NULL AND (old.namespace, old.use_class, old.said_day) IS NOT (new.namespace, new.use_class, new.said_day)
BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('uses', old.use_class, old.namespace);
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('said', old.said_day, old.namespace);
END;
CREATE TRIGGER usage_is_not_counted AFTER DELETE ON memory_usage WHEN old.namespace IS NOT NULL BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('uses', old.use_class, old.namespace);
    UPDATE memory_counts SET count = count - 1 WHERE (of, name, namespace) = ('said', old.said_day, old.namespace);
END;
CREATE TRIGGER evidence_is_counted AFTER INSERT ON evidence BEGIN
    INSERT INTO memory_counts VALUES ('evidence', 0, '', 1) ON CONFLICT DO UPDATE SET count = count + 1;
END;
CREATE TRIGGER evidence_is_not_counted AFTER DELETE ON evidence BEGIN
    UPDATE memory_counts SET count = count - 1 WHERE of = 'evidence';
END;

-- The most important memories of a namespace, and those of them that were never used.
CREATE INDEX memories_by_importance ON memories (namespace, status, type, importance, updated_at, id);
CREATE INDEX memory_usage_unused ON memory_usage (namespace, traits / 21 % 21)
    WHERE namespace IS NOT NULL AND access_count = 0;

-- What was learnt from a conversation, for its erasure.
CREATE INDEX memories_by_source ON memories (source);

-- Windows that are being extracted, and what each answer cost.
CREATE INDEX windows_claimed ON windows (id) WHERE status = 'claimed';
DROP INDEX requests_by_answer;
CREATE INDEX requests_by_answer ON requests (answered_at, model, prompt_tokens, completion_tokens) WHERE text IS NOT NULL;
