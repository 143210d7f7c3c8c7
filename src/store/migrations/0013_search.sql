-- The order in which things were said in a conversation; what has no time comes first.
CREATE INDEX evidence_by_time ON evidence (transcript, ifnull(said_at, 0));
