-- A window whose answer was cut: what it said is kept, and the next runs ask about it again, a few times at most.
ALTER TABLE windows ADD COLUMN lacks INTEGER NOT NULL DEFAULT 0 CHECK (lacks IN (0, 1));
