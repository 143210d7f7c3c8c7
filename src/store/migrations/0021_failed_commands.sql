-- Commands that failed and were replaced by another one, as a kind of fact by which their tasks are found.
INSERT OR IGNORE INTO task_facts (kind, key, task)
SELECT 'failed', json_extract(error.value, '$.command'), t.seq
FROM tasks t, json_each(t.record, '$.errors') error
WHERE t.state = 'current'
    AND json_extract(error.value, '$.cleared.command') <> json_extract(error.value, '$.command');
