-- What agents are told at every start: a conversation that repeats it teaches nothing.
CREATE TABLE known_context (
    namespace TEXT NOT NULL,
    origin TEXT NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (namespace, origin, text)
) STRICT, WITHOUT ROWID;
