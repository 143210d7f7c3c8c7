-- What a brief selects by, for active memories alone: the best of any number are found without looking at the others.
-- Memories of one group differ only in `last_sure_at`, so the latest of a group are its best.
ALTER TABLE memory_usage ADD COLUMN namespace TEXT;
ALTER TABLE memory_usage ADD COLUMN traits INTEGER;
ALTER TABLE memory_usage ADD COLUMN changed_at INTEGER;
ALTER TABLE memory_usage ADD COLUMN brief_group INTEGER GENERATED ALWAYS AS
    ((traits * 5 + CAST(substr(tier, 2) AS INTEGER)) * 11 + min(access_count, 10)) VIRTUAL;
ALTER TABLE memory_usage ADD COLUMN last_sure_at INTEGER GENERATED ALWAYS AS
    (max(changed_at, ifnull(last_accessed_at, changed_at), ifnull(confirmed_at, changed_at))) VIRTUAL;

-- Traits are digits of one number: section, pinned, type, whether it expires, importance and confidence in steps of 0.05.
CREATE VIEW memory_traits AS SELECT
    id,
    CASE status WHEN 'active' THEN namespace END AS namespace,
    (((((CASE
        WHEN pinned THEN 0
        WHEN scope = 'short_term' THEN 2
        WHEN category IN ('preference', 'profile') THEN 0
        WHEN type = 'procedural' AND category IN ('convention', 'workflow', 'note') THEN 0
        ELSE 1 END
    ) * 2 + pinned
    ) * 3 + CASE type WHEN 'semantic' THEN 0 WHEN 'episodic' THEN 1 ELSE 2 END
    ) * 2 + (expires_at IS NOT NULL)
    ) * 21 + CAST(importance * 20 + 1e-6 AS INTEGER)
    ) * 21 + CAST(confidence * 20 + 1e-6 AS INTEGER) AS traits,
    updated_at AS changed_at
FROM memories;
UPDATE memory_usage SET (namespace, traits, changed_at) =
    (SELECT namespace, traits, changed_at FROM memory_traits WHERE id = memory_id);
CREATE INDEX memory_usage_for_briefs ON memory_usage (namespace, brief_group, last_sure_at DESC)
    WHERE namespace IS NOT NULL;
CREATE TRIGGER usage_has_traits AFTER INSERT ON memory_usage BEGIN
    UPDATE memory_usage SET (namespace, traits, changed_at) =
        (SELECT namespace, traits, changed_at FROM memory_traits WHERE id = new.memory_id)
    WHERE memory_id = new.memory_id;
END;
CREATE TRIGGER memory_changes_traits
AFTER UPDATE OF type, category, scope, importance, confidence, expires_at, namespace, status, pinned, updated_at
ON memories BEGIN
    UPDATE memory_usage SET (namespace, traits, changed_at) =
        (SELECT namespace, traits, changed_at FROM memory_traits WHERE id = new.id)
    WHERE memory_id = new.id;
END;
