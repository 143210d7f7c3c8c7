-- What tells projects apart, e.g. remote:github.com/ana/shop, and where the memories of each are. Several may share a
-- namespace: a folder keeps its memories when its repository gets a remote.
CREATE TABLE projects (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    namespace TEXT NOT NULL,
    seen_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX projects_by_namespace ON projects (namespace);

-- What the folders that logs name belonged to, and when that was last so; the latest holds. `mark` tells the repository
-- that was there when it is found elsewhere. What only a log says of a folder that is not there was never seen: 0.
CREATE TABLE project_paths (
    path TEXT NOT NULL,
    project TEXT NOT NULL REFERENCES projects (id),
    mark TEXT,
    seen_at INTEGER NOT NULL,
    PRIMARY KEY (path, project)
) STRICT, WITHOUT ROWID;
CREATE INDEX project_paths_by_mark ON project_paths (mark) WHERE mark IS NOT NULL;

-- What a person said: a folder with all below it, or a name, stands for a project.
CREATE TABLE project_aliases (
    kind TEXT NOT NULL CHECK (kind IN ('path', 'name')),
    value TEXT NOT NULL,
    namespace TEXT NOT NULL,
    PRIMARY KEY (kind, value)
) STRICT, WITHOUT ROWID;

-- Projects whose memories were moved into another one; gone when the run that moved them is undone.
CREATE TABLE project_merges (
    namespace TEXT PRIMARY KEY,
    into_namespace TEXT NOT NULL,
    run_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
