//! Jobs: logs that wait to be read, with due times, numbers of attempts, and the workers that have claimed them. The
//! module also contains leases for work that only one process may do at a time.
//!
//! A job is claimed with a unique token and a lease. The worker that finishes the job must still have this token, so a
//! worker that was assumed dead cannot overwrite the result of another worker. A log that grew while it was processed
//! is due again. A log that grew after all attempts failed is tried again.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Row, params};
use serde::Serialize;

use super::runs::process_may_live;
use crate::memory::string_enum;
use crate::store::row::{columns, from_row, spelled, time_or_none, whole_milliseconds};
use crate::store::{Database, Store, StoreError};

/// Time for which a claim remains valid without a heartbeat.
// The lease is several times the interval between heartbeats, so that a short stall does not lose the job.
const LEASE: SignedDuration = SignedDuration::from_mins(2);
/// Pauses before the second, third and fourth attempt; if the fourth attempt fails, the job has failed.
// The first pause bridges a network interruption; the others last several hours and bridge a provider outage.
const RETRY_AFTER: [SignedDuration; 3] =
    [SignedDuration::from_mins(5), SignedDuration::from_hours(1), SignedDuration::from_hours(6)];
/// The kind of a job that extracts one log.
pub const EXTRACT: &str = "extract";

string_enum!(
    /// The status of a job.
    JobStatus, "the status of a job", {
    /// The job waits until it is due, or for another attempt.
    Waiting = "waiting",
    /// A worker has claimed the job, unless the lease has expired.
    Running = "running",
    /// The job was done, and its log has not been seen to grow since.
    Done = "done",
    /// Every attempt failed; `runs retry` or growth of the log makes the job wait again.
    Failed = "failed",
});

columns!(spelled: JobStatus);

/// A request for a job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// The kind of job: [`EXTRACT`].
    pub kind: String,
    /// Identifies the log, regardless of the spelling of its path; there is one job per kind and key.
    pub key: String,
    /// Program that writes the log, such as `claude-code`.
    pub agent: String,
    /// The log.
    pub path: String,
    /// The folder of the conversation.
    pub project: Option<String>,
    /// Modification time of the log, in milliseconds since 1970.
    pub watermark: i64,
    /// Earliest time at which the job may begin.
    pub not_before: Timestamp,
}

/// The result of a request for a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EnqueueOutcome {
    /// The job waits now, or is due again.
    Waiting,
    /// The log was extracted and has not changed since.
    UpToDate,
}

/// A job as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Identity of the job in this file.
    pub id: i64,
    /// The kind of job.
    pub kind: String,
    /// Program that writes the log.
    pub agent: String,
    /// The log.
    pub path: String,
    /// The folder of the conversation.
    pub project: Option<String>,
    /// The status of the job.
    pub status: JobStatus,
    /// Number of attempts since the job last succeeded or its log last grew.
    pub attempts: u32,
    /// Earliest time of the next attempt.
    pub not_before: Timestamp,
    /// End of the lease of the worker that has claimed the job.
    pub lease_until: Option<Timestamp>,
    /// The reason why the last attempt failed, without any text from the conversation.
    pub error: Option<String>,
    /// Time of the job's last change.
    pub updated_at: Timestamp,
}

/// A job that the caller has claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedJob {
    /// The job.
    pub job: Job,
    /// Proof of the claim.
    token: String,
}

/// The end of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd<'a> {
    /// The job is done, even if nothing was found.
    Done,
    /// The job failed, for this reason. The job is tried again after a pause unless this was the last attempt.
    Failed(&'a str),
    /// The job could not be done yet, for this reason; the attempt does not count.
    Deferred(Timestamp, &'a str),
}

/// A running job stays with its worker. Only its watermark changes, so that the worker notices at the end that the log
/// has grown.
const ENQUEUE: &str = "
    INSERT INTO jobs (kind, key, agent, path, project, status, not_before, watermark, created_at, updated_at)
    VALUES (?1, ?2, ?3, ?4, ?5, 'waiting', ?6, ?7, ?8, ?8)
    ON CONFLICT (kind, key) DO UPDATE SET
        path = ?4, project = coalesce(?5, project), watermark = max(watermark, ?7), updated_at = ?8,
        attempts = CASE WHEN ?7 > watermark THEN 0 ELSE attempts END,
        not_before = CASE WHEN status = 'waiting' AND attempts > 0 AND ?7 <= watermark THEN not_before ELSE ?6 END,
        status = CASE WHEN status = 'running' THEN 'running' ELSE 'waiting' END
    WHERE status IN ('waiting', 'running') OR ?7 > coalesce(done_watermark, watermark)
    RETURNING id";

/// Maximum time for which a job may wait, or stay claimed without a heartbeat. A later time must have been set by a
/// wrong clock.
const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(8 * 24);

/// The claim is a single statement, so that only one worker succeeds. The oldest due job comes first.
const CLAIM: &str = "
    UPDATE jobs SET status = 'running', owner = ?1, pid = ?2, lease_until = ?3, claimed_watermark = watermark,
        attempts = attempts + 1, updated_at = ?4
    WHERE id = (SELECT id FROM jobs
        WHERE (status = 'waiting' AND (not_before <= ?4 OR not_before > ?5))
            OR (status = 'running' AND (lease_until <= ?4 OR lease_until > ?6))
        ORDER BY not_before, id LIMIT 1)
    RETURNING ";

impl Store {
    /// Queues a job. A job that is already waiting is rescheduled to `not_before`, unless it waits for another attempt.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn enqueue(&self, request: &JobRequest, now: Timestamp) -> Result<EnqueueOutcome, StoreError> {
        let found: Option<i64> = self.query_one(
            ENQUEUE,
            params![
                request.kind,
                request.key,
                request.agent,
                request.path,
                request.project,
                request.not_before.as_millisecond(),
                request.watermark,
                now.as_millisecond(),
            ],
            |row| row.get(0),
        )?;
        // The statement returns no row if its condition prevented a change.
        Ok(if found.is_some() { EnqueueOutcome::Waiting } else { EnqueueOutcome::UpToDate })
    }

    /// Claims the next job that is due; returns `None` if no job is due. The jobs of a process that has ended are due
    /// immediately if the system reports that it has ended, and otherwise when their leases expire.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn claim_job(&self, now: Timestamp) -> Result<Option<ClaimedJob>, StoreError> {
        let now = whole_milliseconds(now);
        // If this were not done, a worker that was just killed would keep its job until the lease expires.
        self.release_jobs_of_the_dead(now)?;
        // Each claim gets a token, because a process id would not distinguish two claims by the same process.
        let token = uuid::Uuid::now_v7().to_string();
        let job = self.query_one(
            &format!("{CLAIM}{COLUMNS}"),
            params![
                token,
                std::process::id(),
                (now + LEASE).as_millisecond(),
                now.as_millisecond(),
                (now + LONGEST_WAIT).as_millisecond(),
                // A live worker whose clock is a little ahead keeps its job.
                (now + LEASE + LEASE).as_millisecond(),
            ],
            job_from_row,
        )?;
        Ok(job.map(|job| ClaimedJob { job, token }))
    }

    /// Extends the claim on a job, and returns whether the caller still has it.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn job_heartbeat(&self, held: &ClaimedJob, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(
            "UPDATE jobs SET lease_until = ?3 WHERE id = ?1 AND owner = ?2 AND status = 'running'",
            params![held.job.id, held.token, (now + LEASE).as_millisecond()],
        )? > 0)
    }

    /// Records how a job ended, and returns whether the caller still had the claim. Without the claim, nothing is
    /// written.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn finish_job(&self, held: &ClaimedJob, end: JobEnd<'_>, now: Timestamp) -> Result<bool, StoreError> {
        // A worker whose lease has expired finds a different token here, so it cannot overwrite the newer result.
        let mine = "WHERE id = ?1 AND owner = ?2 AND status = 'running'";
        let freed = "owner = NULL, pid = NULL, lease_until = NULL, updated_at = ?3";
        let now_ms = whole_milliseconds(now).as_millisecond();
        let changed = match end {
            JobEnd::Done => self.execute(
                &format!(
                    "UPDATE jobs SET {freed}, attempts = 0, error = NULL, done_watermark = claimed_watermark,
                     status = CASE WHEN watermark > claimed_watermark THEN 'waiting' ELSE 'done' END {mine}"
                ),
                params![held.job.id, held.token, now_ms],
            )?,
            JobEnd::Deferred(until, why) => self.execute(
                &format!(
                    "UPDATE jobs SET {freed}, attempts = max(0, attempts - 1), error = ?4, not_before = ?5,
                     status = 'waiting' {mine}"
                ),
                params![held.job.id, held.token, now_ms, why, until.as_millisecond()],
            )?,
            JobEnd::Failed(why) => {
                // The attempt was already counted when the job was claimed.
                let tried = usize::try_from(held.job.attempts).unwrap_or(usize::MAX).saturating_sub(1);
                let again = RETRY_AFTER.get(tried).map(|pause| (now + *pause).as_millisecond());
                self.execute(
                    &format!(
                        "UPDATE jobs SET {freed}, error = ?4, not_before = coalesce(?5, not_before), status = CASE
                         WHEN watermark > claimed_watermark OR ?5 IS NOT NULL THEN 'waiting' ELSE 'failed' END {mine}"
                    ),
                    params![held.job.id, held.token, now_ms, why, again],
                )?
            }
        };
        Ok(changed > 0)
    }

    /// Makes failed jobs and jobs that wait for another attempt due immediately: the job `one`, or all such jobs.
    /// Returns the number of these jobs.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn retry_jobs(&self, one: Option<i64>, now: Timestamp) -> Result<usize, StoreError> {
        self.execute(
            "UPDATE jobs SET status = 'waiting', attempts = 0, not_before = ?1, updated_at = ?1
             WHERE (status = 'failed' OR (status = 'waiting' AND error IS NOT NULL)) AND (?2 IS NULL OR id = ?2)",
            params![now.as_millisecond(), one],
        )
    }

    /// Cancels a waiting or failed job until its log grows again; returns whether there was such a job.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn cancel_job(&self, id: i64, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(
            "UPDATE jobs SET status = 'done', attempts = 0, done_watermark = watermark, error = 'given up by hand',
             updated_at = ?2 WHERE id = ?1 AND status IN ('waiting', 'failed')",
            params![id, now.as_millisecond()],
        )? > 0)
    }

    /// Frees the jobs of processes that have ended according to the system, so that the jobs are due before their
    /// leases end.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn release_jobs_of_the_dead(&self, now: Timestamp) -> Result<(), StoreError> {
        let running = self.jobs_where("status = 'running' AND lease_until > ?1", now)?;
        for (job, pid) in running.into_iter().filter_map(|(job, pid)| Some((job, pid?))) {
            if !process_may_live(pid) {
                // The condition includes the process id, because the job may have been claimed again after it was read.
                self.execute("UPDATE jobs SET lease_until = 0 WHERE id = ?1 AND pid = ?2", (job.id, pid))?;
            }
        }
        Ok(())
    }
}

/// [`job_from_row`] relies on the order of these columns; change both together.
const COLUMNS: &str =
    "id, kind, agent, path, project, status, attempts, not_before, lease_until, error, updated_at, owner, pid";

impl Database {
    /// Returns the jobs. Waiting and running jobs come first, sorted by due time; the others follow, most recently
    /// changed first. The list is empty if the database comes from a version without jobs.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn jobs(&self) -> Result<Vec<Job>, StoreError> {
        // If a file of an earlier version is opened for reading only, it is not migrated.
        if !self.has_table("jobs")? {
            return Ok(Vec::new());
        }
        let open = self.jobs_where("status IN ('waiting', 'running') AND ?1 IS NOT NULL", Timestamp::MIN)?;
        let mut rest = self.jobs_where("status IN ('done', 'failed') AND ?1 IS NOT NULL", Timestamp::MIN)?;
        // Jobs with equal times are sorted by id, so that the list is the same each time.
        rest.sort_by_key(|(job, _)| (std::cmp::Reverse(job.updated_at), job.id));
        Ok(open.into_iter().chain(rest).map(|(job, _)| job).collect())
    }

    /// Returns the time at which the next unclaimed job is due; `None` if there is no such job. A job with an
    /// impossibly long recorded waiting time counts as due.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        let found = self.query_one(
            "SELECT min(CASE
                WHEN status = 'running' AND lease_until > ?2 THEN 0
                WHEN status = 'running' THEN max(lease_until, not_before)
                WHEN not_before > ?1 THEN 0 ELSE not_before END)
             FROM jobs WHERE status IN ('waiting', 'running')",
            [(now + LONGEST_WAIT).as_millisecond(), (now + LEASE + LEASE).as_millisecond()],
            |row| time_or_none(row, 0),
        )?;
        Ok(found.flatten())
    }

    /// Returns the modification time of the log at its last extraction by the job with this key.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn extracted_until(&self, key: &str) -> Result<Option<i64>, StoreError> {
        let sql = "SELECT done_watermark FROM jobs WHERE kind = ?1 AND key = ?2";
        Ok(self.query_one(sql, (EXTRACT, key), |row| row.get(0))?.flatten())
    }

    /// Returns the jobs that meet a condition on `?1`, each with the process that has claimed it.
    fn jobs_where(&self, condition: &str, now: Timestamp) -> Result<Vec<(Job, Option<u32>)>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM jobs WHERE {condition} ORDER BY not_before, id");
        self.query_all(&sql, [now.as_millisecond()], |row| Ok((job_from_row(row)?, row.get(12)?)))
    }
}

fn job_from_row(row: &Row<'_>) -> rusqlite::Result<Job> {
    from_row!(row, 0 => Job {
        id, kind, agent, path, project, status, attempts, not_before, lease_until, error, updated_at
    })
}

/// Time for which a lease remains valid without a heartbeat.
const TASK_LEASE: SignedDuration = SignedDuration::from_mins(1);

/// Time for which an expired, unreleased lease is kept.
const FORGOTTEN: SignedDuration = SignedDuration::from_hours(24);

/// The holder of a lease.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LeaseOutcome {
    /// The caller has the lease, as long as the caller renews it.
    Mine,
    /// Another process has the lease.
    Other {
        /// The ID of the other process.
        pid: u32,
    },
}

impl Store {
    /// Acquires or renews the lease `name` for `owner`; it must be renewed at least every half minute. A lease that has
    /// expired, or whose process has ended according to the system, is free.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn lease(&self, name: &str, owner: &str, now: Timestamp) -> Result<LeaseOutcome, StoreError> {
        // The dead holder is determined before the statement that takes the lease, because SQL cannot inspect
        // processes.
        let dead = self.dead_holder(name)?;
        // Processes that ended without releasing their leases leave rows behind whose names are not used again.
        self.execute("DELETE FROM leases WHERE lease_until < ?1", [(now - FORGOTTEN).as_millisecond()])?;
        let taken = self.execute(
            "INSERT INTO leases (name, owner, pid, lease_until) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (name) DO UPDATE SET owner = ?2, pid = ?3, lease_until = ?4
             WHERE owner = ?2 OR lease_until <= ?5 OR owner = ?6 OR lease_until > ?7",
            params![
                name,
                owner,
                std::process::id(),
                (now + TASK_LEASE).as_millisecond(),
                now.as_millisecond(),
                dead,
                longest(now),
            ],
        )?;
        if taken > 0 {
            return Ok(LeaseOutcome::Mine);
        }
        // The other process may have released the lease in between; the caller simply tries again later.
        let pid = self.query_one("SELECT pid FROM leases WHERE name = ?1", [name], |row| row.get(0))?;
        Ok(LeaseOutcome::Other { pid: pid.unwrap_or_default() })
    }

    /// Returns the owner of the lease, if the system shows that the owner's process has ended.
    fn dead_holder(&self, name: &str) -> Result<Option<String>, StoreError> {
        let found: Option<(String, u32)> =
            self.query_one("SELECT owner, pid FROM leases WHERE name = ?1", [name], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        Ok(found.filter(|(_, pid)| !process_may_live(*pid)).map(|(owner, _)| owner))
    }

    /// Releases a lease.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn end_lease(&self, name: &str, owner: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM leases WHERE name = ?1 AND owner = ?2", (name, owner)).map(drop)
    }
}

impl Database {
    /// Returns the process that has the lease `name`, if this process appears to be alive.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn lease_holder(&self, name: &str, now: Timestamp) -> Result<Option<u32>, StoreError> {
        if !self.has_table("leases")? {
            return Ok(None);
        }
        let found: Option<u32> = self.query_one(
            "SELECT pid FROM leases WHERE name = ?1 AND lease_until > ?2 AND lease_until <= ?3",
            params![name, now.as_millisecond(), longest(now)],
            |row| row.get(0),
        )?;
        // A killed process leaves its lease behind.
        Ok(found.filter(|pid| process_may_live(*pid)))
    }
}

/// Returns the latest possible end of a lease, in milliseconds. A lease with a later end must have been set by a wrong
/// clock.
fn longest(now: Timestamp) -> i64 {
    (now + TASK_LEASE + TASK_LEASE).as_millisecond()
}

#[cfg(test)]
mod lease_tests {
    use super::*;
    use crate::store::testing::day;

    #[test]
    fn one_owner_has_a_lease_until_it_ends_or_runs_out() {
        let store = Store::in_memory().unwrap();
        let later = |seconds| day(1) + SignedDuration::from_secs(seconds);
        let me = std::process::id();
        assert_eq!(store.lease("worker", "a", later(0)).unwrap(), LeaseOutcome::Mine);
        assert_eq!(store.lease("worker", "b", later(1)).unwrap(), LeaseOutcome::Other { pid: me });
        assert_eq!(store.lease("watch", "b", later(1)).unwrap(), LeaseOutcome::Mine);
        assert_eq!(store.lease("worker", "a", later(50)).unwrap(), LeaseOutcome::Mine, "kept");
        assert_eq!(store.lease("worker", "b", later(70)).unwrap(), LeaseOutcome::Other { pid: me });
        assert_eq!(store.lease("worker", "b", later(111)).unwrap(), LeaseOutcome::Mine, "it ran out");
        store.end_lease("worker", "a").unwrap();
        assert_eq!(store.lease_holder("worker", later(112)).unwrap(), Some(me), "not the owner's to end");
        store.end_lease("worker", "b").unwrap();
        assert_eq!(store.lease_holder("worker", later(112)).unwrap(), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_lease_of_a_process_that_has_ended_is_free() {
        let store = Store::in_memory().unwrap();
        assert_eq!(store.lease("worker", "a", day(1)).unwrap(), LeaseOutcome::Mine);
        // No process has an id this large.
        store.conn.execute("UPDATE leases SET pid = 4194999", ()).unwrap();
        assert_eq!(store.lease("worker", "b", day(1)).unwrap(), LeaseOutcome::Mine);
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
impl Store {
    /// Records `pid` as the process of every claimed job.
    pub(crate) fn give_jobs_to(&self, pid: u32) {
        self.conn.execute("UPDATE jobs SET pid = ?1", [pid]).unwrap();
    }
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
