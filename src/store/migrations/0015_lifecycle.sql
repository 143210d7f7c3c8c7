-- When what a memory says was last said, as far as is known: its confidence fades from there on, see docs/lifecycle.md.
-- Follows from the evidence, so that whatever adds or takes away evidence need not think of it.
ALTER TABLE memory_usage ADD COLUMN confirmed_at INTEGER;
UPDATE memory_usage SET confirmed_at = (SELECT max(said_at) FROM evidence e WHERE e.memory_id = memory_usage.memory_id);
CREATE TRIGGER evidence_confirms AFTER INSERT ON evidence WHEN new.said_at IS NOT NULL BEGIN
    UPDATE memory_usage SET confirmed_at = max(ifnull(confirmed_at, new.said_at), new.said_at)
    WHERE memory_id = new.memory_id;
END;
CREATE TRIGGER evidence_confirms_no_more AFTER DELETE ON evidence WHEN old.said_at IS NOT NULL BEGIN
    UPDATE memory_usage SET confirmed_at = (SELECT max(said_at) FROM evidence WHERE memory_id = old.memory_id)
    WHERE memory_id = old.memory_id;
END;

-- What was put in front of a model, last first.
CREATE INDEX access_log_of_prompts ON access_log (at) WHERE kind = 'prompt';
