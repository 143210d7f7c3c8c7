//! The queue of jobs; each namespace has at most one job in progress.

use std::collections::HashSet;
use std::time::{Duration, SystemTime};

use ::postgres::Transaction;
use ::postgres::types::Type;
use jiff::Timestamp;
use serde::Serialize;

use super::ScaleError;
use crate::memory::string_enum;
use crate::postgresql::Connection;

/// Number of jobs that are added in one statement.
const BATCH: usize = 1_000;
/// Number of failed attempts after which a job is no longer tried.
const MAX_FAILURES: i32 = 5;
/// Number of attempts, including those during which the worker died, after which a job is no longer tried.
const MAX_ATTEMPTS: i32 = 50;
/// Wait before the second attempt in seconds; it doubles with every further attempt.
const FIRST_WAIT: f64 = 5.0;

string_enum!(
    /// The work of a job.
    JobKind, "the work of a job", {
    /// Extract the conversations of a log.
    Extract = "extract",
    /// Consolidate the namespace.
    Consolidate = "consolidate",
    /// Expire, fade and purge memories.
    Maintain = "maintain",
});

/// A job to add.
#[derive(Debug, Clone)]
pub(crate) struct NewJob {
    pub kind: JobKind,
    /// The namespace.
    pub shard: String,
    /// Path of the log; empty for other kinds.
    pub log: String,
    /// State of the log. A job that has ended is done again if the state of the log has changed.
    pub stamp: String,
    /// Whether all memories go to the namespace, instead of one namespace per project.
    pub is_forced: bool,
    /// Place in the order of the namespace's jobs.
    pub position: i64,
}

/// A job that this worker has claimed.
#[derive(Debug, Clone)]
pub(crate) struct QueuedJob {
    pub id: i64,
    pub kind: JobKind,
    pub shard: String,
    pub log: String,
    pub is_forced: bool,
    attempts: i32,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JobEnd {
    Done,
    /// It is tried again later, unless it has failed too often.
    Failed(String),
    /// It is tried again at this time.
    Later(Timestamp, String),
}

/// The state of a queue.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(crate) struct QueueProgress {
    /// Number of jobs that wait.
    pub waiting: i64,
    /// Number of jobs in progress.
    pub running: i64,
    /// Number of jobs that are done.
    pub done: i64,
    /// Number of jobs that failed too often.
    pub failed: i64,
    /// Number of namespaces.
    pub namespaces: i64,
    /// Number of namespaces whose worker has not renewed its lease in time.
    pub silent: i64,
    /// The time from which the job that has waited longest could have been claimed, if there is one.
    pub due_since: Option<Timestamp>,
    /// Amount that all workers together have spent, in US dollars.
    pub spent: f64,
    /// Amount that all workers together may spend, in US dollars.
    pub max_cost: Option<f64>,
    /// The last jobs that failed or wait because of a fault.
    pub faults: Vec<JobFault>,
}

/// A job that failed, or that waits because of a fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct JobFault {
    /// Number of the job.
    pub job: i64,
    /// Its state: `failed` or `waiting`.
    pub status: String,
    /// Number of attempts.
    pub attempts: i32,
    /// The namespace.
    pub namespace: String,
    /// The log.
    pub log: String,
    /// The fault.
    pub error: String,
    /// When it last failed or, if it waits, when it will be tried again.
    pub at: Option<Timestamp>,
}

/// A queue, and the name under which this worker has leases.
pub(crate) struct Queue {
    connection: Connection,
    worker: String,
}

impl Queue {
    /// Returns the queue at `address`, which is not contacted yet.
    pub(crate) fn new(address: &str, worker: &str, patience: Duration) -> Result<Self, ScaleError> {
        Ok(Self { connection: Connection::new(address, patience)?, worker: worker.to_owned() })
    }

    /// Adds jobs, and returns the number of those that are new or whose log has changed.
    pub(crate) fn add(&mut self, jobs: &[NewJob]) -> Result<u64, ScaleError> {
        let mut added = 0;
        for jobs in jobs.chunks(BATCH) {
            let column = |text: fn(&NewJob) -> &str| jobs.iter().map(text).collect::<Vec<&str>>();
            let (shards, kinds) = (column(|job| &job.shard), column(|job| job.kind.as_str()));
            let (logs, stamps) = (column(|job| &job.log), column(|job| &job.stamp));
            let forced: Vec<bool> = jobs.iter().map(|job| job.is_forced).collect();
            let positions: Vec<i64> = jobs.iter().map(|job| job.position).collect();
            added += self.connection.with(|client| {
                let mut transaction = client.transaction()?;
                // The shards come first and in one order, so that machines that add jobs at the same time cannot
                // deadlock. A shard with a worker gets its due time when the job in progress ends. Rows that do not
                // change are locked, but not written again.
                transaction.execute(
                    "INSERT INTO afterthought.shards (name, free_at)
                     SELECT DISTINCT name, now() FROM unnest($1::text[]) name ORDER BY name
                     ON CONFLICT (name) DO UPDATE SET free_at = now()
                     WHERE shards.worker IS NULL AND (shards.free_at IS NULL OR shards.free_at > now())",
                    &[&shards],
                )?;
                let added = transaction.execute(
                    "INSERT INTO afterthought.jobs (shard, kind, log, stamp, is_forced, position)
                     SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::bigint[])
                     ON CONFLICT (shard, kind, log) DO UPDATE
                     SET stamp = excluded.stamp, is_forced = excluded.is_forced, position = excluded.position,
                         status = 'waiting', attempts = 0, run_at = now(), error = NULL
                     WHERE jobs.stamp <> excluded.stamp AND jobs.status <> 'running'",
                    &[&shards, &kinds, &logs, &stamps, &forced, &positions],
                )?;
                transaction.commit()?;
                Ok(added)
            })?;
        }
        Ok(added)
    }

    /// Returns those of the logs that are in the queue in the same state: with the namespace `forced` or, without it, with
    /// those of their projects.
    pub(crate) fn known(&mut self, logs: &[(&str, &str)], forced: Option<&str>) -> Result<HashSet<String>, ScaleError> {
        let (names, stamps): (Vec<&str>, Vec<&str>) = logs.iter().copied().unzip();
        let sql = "SELECT DISTINCT job.log FROM unnest($1::text[], $2::text[]) AS one(log, stamp)
             JOIN afterthought.jobs job ON job.log = one.log AND job.stamp = one.stamp
             WHERE job.kind = 'extract' AND CASE WHEN $3::text IS NULL THEN NOT job.is_forced ELSE job.shard = $3 END";
        let rows = self.connection.with(|client| client.query(sql, &[&names, &stamps, &forced]))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Sets the amount that all workers together may spend, in US dollars.
    pub(crate) fn limit(&mut self, max_cost: f64) -> Result<(), ScaleError> {
        self.connection.with(|client| {
            let set = client.execute("UPDATE afterthought.budget SET max_cost = $1", &[&max_cost])?;
            make_due(client, "status = 'waiting' AND run_at > now()")?;
            Ok(set)
        })?;
        Ok(())
    }

    /// Claims the first job of a namespace without a worker.
    pub(crate) fn claim(&mut self, lease: Duration) -> Result<Option<QueuedJob>, ScaleError> {
        let (worker, seconds) = (self.worker.as_str(), lease.as_secs_f64());
        let row = self.connection.with(|client| {
            // The types of the parameters are given, which saves a round trip to the server.
            let sql = "UPDATE afterthought.shards SET worker = $1, free_at = now() + make_interval(secs => $2)
                 WHERE name = (SELECT name FROM afterthought.shards WHERE free_at <= now()
                               ORDER BY free_at, name LIMIT 1 FOR UPDATE SKIP LOCKED)
                 RETURNING name";
            let Some(taken) = client.query_typed_opt(sql, &[(&worker, Type::TEXT), (&seconds, Type::FLOAT8)])? else {
                return Ok(None);
            };
            // Only a second statement sees everything that the last worker wrote before its lease ended. A job that is
            // running in a free shard belongs to a worker that lost its lease.
            let shard: &str = taken.get(0);
            let sql = "UPDATE afterthought.jobs SET status = 'running', attempts = attempts + 1
                 WHERE id = (SELECT id FROM afterthought.jobs WHERE shard = $1 AND status IN ('waiting', 'running')
                             ORDER BY position, id LIMIT 1)
                 RETURNING id, kind, shard, log, is_forced, attempts";
            let row = client.query_typed_opt(sql, &[(&shard, Type::TEXT)])?;
            if row.is_none() {
                let mut transaction = client.transaction()?;
                lock_shard(&mut transaction, shard, worker)?;
                free_shard(&mut transaction, shard, worker)?;
                transaction.commit()?;
            }
            Ok(row)
        })?;
        let Some(row) = row else { return Ok(None) };
        let kind: &str = row.get(1);
        let Ok(kind) = kind.parse() else { return Ok(None) };
        let (shard, log, is_forced, attempts) = (row.get(2), row.get(3), row.get(4), row.get(5));
        let job = QueuedJob { id: row.get(0), kind, shard, log, is_forced, attempts };
        if attempts > MAX_ATTEMPTS {
            // A job that makes its workers die must not occupy all of them.
            self.end(&job, &JobEnd::Failed("its workers repeatedly stopped before it was done".to_owned()))?;
            return Ok(None);
        }
        Ok(Some(job))
    }

    /// Extends the lease on a shard; returns whether this worker still has it.
    pub(crate) fn renew(&mut self, shard: &str, lease: Duration) -> Result<bool, ScaleError> {
        let (worker, seconds) = (self.worker.as_str(), lease.as_secs_f64());
        let sql = "UPDATE afterthought.shards SET free_at = now() + make_interval(secs => $3) WHERE name = $1 AND worker = $2";
        Ok(self.connection.with(|client| client.execute(sql, &[&shard, &worker, &seconds]))? > 0)
    }

    /// Ends a job and the lease on its shard, unless another worker has the lease.
    pub(crate) fn end(&mut self, job: &QueuedJob, end: &JobEnd) -> Result<(), ScaleError> {
        let (status, error, wait, counts) = match end {
            JobEnd::Done => ("done", None, 0.0, true),
            JobEnd::Failed(why) if job.attempts >= MAX_FAILURES => ("failed", Some(why), 0.0, true),
            JobEnd::Failed(why) => {
                ("waiting", Some(why), FIRST_WAIT * f64::from(1 << job.attempts.clamp(1, 10) >> 1), true)
            }
            // A job that waits for budget or for a person has not failed.
            JobEnd::Later(at, why) => {
                let wait = at.duration_since(Timestamp::now()).as_secs_f64().max(0.0);
                if job.attempts < MAX_ATTEMPTS {
                    ("waiting", Some(why), wait, false)
                } else {
                    ("failed", Some(why), 0.0, true)
                }
            }
        };
        let worker = self.worker.as_str();
        self.connection.with(|client| {
            let mut transaction = client.transaction()?;
            if !lock_shard(&mut transaction, &job.shard, worker)? {
                return Ok(());
            }
            // The replies that are still needed are in the shard.
            let sql = "WITH unneeded AS (DELETE FROM afterthought.replies WHERE job = $1)
                 UPDATE afterthought.jobs
                 SET status = $2, error = $3, run_at = now() + make_interval(secs => $4),
                     attempts = attempts - CASE WHEN $5 THEN 0 ELSE 1 END,
                     ended_at = CASE WHEN $2 = 'waiting' THEN NULL ELSE now() END
                 WHERE id = $1";
            transaction.query_typed(
                sql,
                &[
                    (&job.id, Type::INT8),
                    (&status, Type::TEXT),
                    (&error, Type::TEXT),
                    (&wait, Type::FLOAT8),
                    (&counts, Type::BOOL),
                ],
            )?;
            free_shard(&mut transaction, &job.shard, worker)?;
            transaction.commit()
        })?;
        Ok(())
    }

    /// Returns whether a job waits or is in progress, in any namespace.
    pub(crate) fn is_open(&mut self) -> Result<bool, ScaleError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM afterthought.shards WHERE free_at IS NOT NULL)";
        Ok(self.connection.with(|client| client.query_one(sql, &[]))?.get(0))
    }

    /// Makes the jobs that failed, or that wait because of a fault, due now; returns their number.
    pub(crate) fn retry(&mut self) -> Result<u64, ScaleError> {
        let due = "status = 'failed' OR (status = 'waiting' AND error IS NOT NULL)";
        Ok(self.connection.with(|client| make_due(client, due))?)
    }

    /// Returns the namespaces that have a shard or jobs, sorted.
    pub(crate) fn shards(&mut self) -> Result<Vec<String>, ScaleError> {
        let rows =
            self.connection.with(|client| client.query("SELECT name FROM afterthought.shards ORDER BY name", &[]))?;
        Ok(rows.iter().map(|row| row.get(0)).collect())
    }

    /// Returns the state of the queue, with at most `limit` faults.
    pub(crate) fn progress(&mut self, limit: i64) -> Result<QueueProgress, ScaleError> {
        Ok(self.connection.with(|client| {
            let mut progress = QueueProgress::default();
            let time = |row: &::postgres::Row, column| {
                row.get::<_, Option<SystemTime>>(column).and_then(|at| Timestamp::try_from(at).ok())
            };
            let sql = "SELECT status, count(*), min(run_at) FILTER (WHERE run_at <= now()) FROM afterthought.jobs
                 GROUP BY status";
            for row in client.query(sql, &[])? {
                let (status, count): (&str, i64) = (row.get(0), row.get(1));
                match status {
                    "waiting" => (progress.waiting, progress.due_since) = (count, time(&row, 2)),
                    "running" => progress.running = count,
                    "done" => progress.done = count,
                    _ => progress.failed = count,
                }
            }
            let sql = "SELECT count(*), count(*) FILTER (WHERE worker IS NOT NULL AND free_at <= now())
                 FROM afterthought.shards";
            let shards = client.query_one(sql, &[])?;
            (progress.namespaces, progress.silent) = (shards.get(0), shards.get(1));
            let budget = client.query_one("SELECT spent, max_cost FROM afterthought.budget", &[])?;
            (progress.spent, progress.max_cost) = (budget.get(0), budget.get(1));
            let faults = client.query(
                "SELECT id, status, attempts, shard, log, error, coalesce(ended_at, run_at) FROM afterthought.jobs
                 WHERE error IS NOT NULL AND status IN ('failed', 'waiting') ORDER BY status, id DESC LIMIT $1",
                &[&limit],
            )?;
            let fault = |row: &::postgres::Row| JobFault {
                job: row.get(0),
                status: row.get(1),
                attempts: row.get(2),
                namespace: row.get(3),
                log: row.get(4),
                error: row.get(5),
                at: time(row, 6),
            };
            progress.faults = faults.iter().map(fault).collect();
            Ok(progress)
        })?)
    }
}

/// Locks the row of a shard until the end of the transaction, so that no job is added to it in the meantime. Returns
/// whether the worker has the lease.
fn lock_shard(transaction: &mut Transaction<'_>, shard: &str, worker: &str) -> Result<bool, ::postgres::Error> {
    let sql = "SELECT 1 FROM afterthought.shards WHERE name = $1 AND worker = $2 FOR UPDATE";
    Ok(!transaction.query_typed(sql, &[(&shard, Type::TEXT), (&worker, Type::TEXT)])?.is_empty())
}

/// Ends the lease on a shard that this transaction has locked.
fn free_shard(transaction: &mut Transaction<'_>, shard: &str, worker: &str) -> Result<(), ::postgres::Error> {
    let sql = "UPDATE afterthought.shards SET worker = NULL, free_at = (
             SELECT run_at FROM afterthought.jobs w WHERE w.shard = $1 AND w.status IN ('waiting', 'running')
             ORDER BY position, id LIMIT 1)
         WHERE name = $1 AND worker = $2";
    transaction.query_typed(sql, &[(&shard, Type::TEXT), (&worker, Type::TEXT)]).map(drop)
}

/// Returns the jobs that a condition selects to the queue at once, and returns their number.
fn make_due(client: &mut ::postgres::Client, condition: &str) -> Result<u64, ::postgres::Error> {
    let mut transaction = client.transaction()?;
    let jobs = transaction.query(
        &format!(
            "UPDATE afterthought.jobs SET status = 'waiting', attempts = 0, run_at = now(), ended_at = NULL
             WHERE {condition} RETURNING shard"
        ),
        &[],
    )?;
    let shards: Vec<&str> = jobs.iter().map(|row| row.get(0)).collect();
    transaction.execute(
        "UPDATE afterthought.shards SET free_at = now() WHERE name = ANY($1) AND worker IS NULL",
        &[&shards],
    )?;
    transaction.commit()?;
    Ok(jobs.len() as u64)
}

#[cfg(test)]
#[path = "queue_tests.rs"]
mod tests;
