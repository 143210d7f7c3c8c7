-- The tables of afterthought in PostgreSQL, version 1.
CREATE TABLE afterthought.version (version integer NOT NULL);
INSERT INTO afterthought.version VALUES (1);

-- Logs of changes. `place` is `sync` for the logs of machines, and `shards` for the logs of shards.
CREATE TABLE afterthought.logs (
    place text NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL,
    snapshot bigint,
    PRIMARY KEY (place, name)
);
CREATE TABLE afterthought.log_items (
    place text NOT NULL,
    name text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    hash text NOT NULL,
    is_snapshot boolean NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (place, name, seq)
);
-- The items are compressed before they arrive.
ALTER TABLE afterthought.log_items ALTER bytes SET STORAGE EXTERNAL;

-- One row for each namespace with jobs. `free_at` is the time from which a worker may claim the shard: the due time of
-- its first job, or the end of the lease of its worker; NULL without jobs.
CREATE TABLE afterthought.shards (
    name text COLLATE "C" PRIMARY KEY,
    worker text,
    free_at timestamptz
);
CREATE INDEX shards_free ON afterthought.shards (free_at, name) WHERE free_at IS NOT NULL;

-- The jobs of a shard are done in the order of `position`, the time of the conversation in milliseconds.
CREATE TABLE afterthought.jobs (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    shard text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    log text NOT NULL,
    stamp text NOT NULL,
    is_forced boolean NOT NULL,
    position bigint NOT NULL,
    status text NOT NULL DEFAULT 'waiting',
    attempts integer NOT NULL DEFAULT 0,
    run_at timestamptz NOT NULL DEFAULT now(),
    error text,
    ended_at timestamptz,
    UNIQUE (shard, kind, log)
);
CREATE INDEX jobs_open ON afterthought.jobs (shard, position, id) WHERE status IN ('waiting', 'running');
CREATE INDEX jobs_failed ON afterthought.jobs (id) WHERE status = 'failed';

-- Replies of models to the requests of jobs that have not ended. Afterwards, they are in the shard.
CREATE TABLE afterthought.replies (
    key text PRIMARY KEY,
    job bigint NOT NULL,
    reply text NOT NULL,
    stored_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE INDEX replies_job ON afterthought.replies (job);

-- The limit and the cost of all workers, and the worst case of the calls in flight.
CREATE TABLE afterthought.budget (
    id integer PRIMARY KEY DEFAULT 1 CHECK (id = 1),
    max_cost double precision,
    spent double precision NOT NULL DEFAULT 0
);
INSERT INTO afterthought.budget DEFAULT VALUES;
CREATE TABLE afterthought.calls (
    id text PRIMARY KEY,
    cost double precision NOT NULL,
    until timestamptz NOT NULL
);
-- Tokens that all workers sent to a model in the current minute.
CREATE TABLE afterthought.rates (
    model text PRIMARY KEY,
    minute bigint NOT NULL,
    tokens bigint NOT NULL
);
