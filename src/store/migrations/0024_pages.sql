-- The last changed memories, and the pending ones, in time that does not grow with the database.
CREATE INDEX memories_by_change ON memories (status, updated_at);

-- Memories by the time at which they were last said.
CREATE INDEX memory_usage_by_confirmation ON memory_usage (confirmed_at);
