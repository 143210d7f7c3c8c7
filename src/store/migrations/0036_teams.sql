-- The team that the memories of a project are shown together with.
CREATE TABLE project_teams (
    namespace TEXT PRIMARY KEY,
    team TEXT NOT NULL
) STRICT, WITHOUT ROWID;
