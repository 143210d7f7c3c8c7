-- Every page of the interface counts the memories that wait for a decision, in time that does not grow with the database.
CREATE INDEX relations_contradicting ON relations (from_id, to_id) WHERE type = 'contradicts';
-- Many memories have the same time, because an import is one change. The order of a list continues with the ids.
DROP INDEX memories_by_change;
CREATE INDEX memories_by_change ON memories (status, updated_at, id);
