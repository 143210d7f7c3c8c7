-- Blockers and open tasks come first in a brief, and are found in time that does not grow with the database.
CREATE INDEX memories_open_work ON memories (namespace, category, importance DESC, updated_at DESC, id DESC)
WHERE status = 'active' AND category IN ('blocker', 'task');
