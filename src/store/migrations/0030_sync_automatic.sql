-- Whether a target is synchronised without a command, after runs and at the start and end of sessions.
ALTER TABLE sync_targets ADD COLUMN automatic INTEGER NOT NULL DEFAULT 1 CHECK (automatic IN (0, 1));
