-- For which command and error something was shown, until the next run of that command shows whether it helped.
ALTER TABLE hook_told ADD COLUMN command TEXT;
ALTER TABLE hook_told ADD COLUMN error TEXT;

-- How often what was shown after a failure was followed by success, and by the same failure. A fact of the ledger has the
-- hash of its text.
CREATE TABLE advice (
    memory_id TEXT PRIMARY KEY,
    helped INTEGER NOT NULL DEFAULT 0,
    failed INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
