-- Path of the file with the key by which the items of a target are encrypted. The key itself is never in the database.
ALTER TABLE sync_targets ADD COLUMN key TEXT;
