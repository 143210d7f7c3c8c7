//! Jobs: logs that wait to be read, with their time, their attempts and the worker that has claimed them.
//!
//! A job is claimed with a token of its own and a lease. Whoever finishes it must still hold that token, so a worker
//! that was thought dead cannot overwrite what another has done since. A log that grew while it was worked on is due
//! again, and a log that grew after all attempts failed is tried anew.

use std::str::FromStr;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{OptionalExtension, params};
use serde::Serialize;

use super::job_rows::{COLUMNS, job_from_row};
use super::runs::process_may_live;
use super::{Store, StoreError};
use crate::memory::ParseError;
use crate::store::row::whole_milliseconds;

/// How long a claim holds without a sign of life.
pub const LEASE: SignedDuration = SignedDuration::from_mins(2);
/// Pauses before the second, third and fourth attempt; after the last one a job has failed.
pub const RETRY_AFTER: [SignedDuration; 3] =
    [SignedDuration::from_mins(5), SignedDuration::from_hours(1), SignedDuration::from_hours(6)];
/// The kind of a job that extracts one log.
pub const EXTRACT: &str = "extract";

/// How far a job has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum JobStatus {
    /// It waits for its time, or for another attempt.
    Waiting,
    /// A worker has it, unless its lease ran out.
    Running,
    /// It was done, and its log has not been seen to grow since.
    Done,
    /// Every attempt failed; `jobs retry` or a log that grew makes it wait again.
    Failed,
}

impl JobStatus {
    const ALL: [Self; 4] = [Self::Waiting, Self::Running, Self::Done, Self::Failed];

    /// Returns the spelling used in the database and in JSON.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }
}

impl FromStr for JobStatus {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|status| status.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "the status of a job",
            allowed: "waiting, running, done or failed",
        })
    }
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JobRequest {
    /// [`EXTRACT`].
    pub kind: String,
    /// What the job is about, however its path is spelled; there is one job of a kind for each.
    pub key: String,
    /// Program that keeps the log, e.g. `claude-code`.
    pub agent: String,
    /// The log.
    pub path: String,
    /// Folder in which the conversation was held.
    pub project: Option<String>,
    /// Last change of the log, in milliseconds since 1970.
    pub watermark: i64,
    /// When it may begin.
    pub not_before: Timestamp,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Enqueued {
    /// It waits now, or is due again.
    Waiting,
    /// The log was extracted and has not changed since.
    UpToDate,
}

/// A job as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Identity in this file.
    pub id: i64,
    /// What is done.
    pub kind: String,
    /// Program that keeps the log.
    pub agent: String,
    /// The log.
    pub path: String,
    /// Folder in which the conversation was held.
    pub project: Option<String>,
    /// How far it has come.
    pub status: JobStatus,
    /// Attempts since it last succeeded or its log last grew.
    pub attempts: u32,
    /// When it may begin, or begin again.
    pub not_before: Timestamp,
    /// Until when the worker that has it is believed to live.
    pub lease_until: Option<Timestamp>,
    /// Why the last attempt failed; holds no text of the conversation.
    pub error: Option<String>,
    /// When it last changed.
    pub updated_at: Timestamp,
}

/// A job that the caller holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HeldJob {
    /// The job.
    pub job: Job,
    /// What shows that the caller holds it.
    token: String,
}

/// How a job ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JobEnd<'a> {
    /// Done, whether or not anything was found.
    Done,
    /// It failed, for this reason; it is tried again after a pause, or not any more.
    Failed(&'a str),
    /// It could not be done yet, for this reason; the attempt does not count.
    Deferred(Timestamp, &'a str),
}

/// A running job keeps its holder; its watermark alone moves on, so that its end finds that the log has grown.
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

/// The longest that a job may wait, or be held without a sign of life. What lies further ahead was set by a clock that was
/// wrong.
pub(super) const LONGEST_WAIT: SignedDuration = SignedDuration::from_hours(8 * 24);

/// One statement, so one winner. The oldest due job comes first.
const CLAIM: &str = "
    UPDATE jobs SET status = 'running', owner = ?1, pid = ?2, lease_until = ?3, claimed_watermark = watermark,
        attempts = attempts + 1, updated_at = ?4
    WHERE id = (SELECT id FROM jobs
        WHERE (status = 'waiting' AND (not_before <= ?4 OR not_before > ?5))
            OR (status = 'running' AND (lease_until <= ?4 OR lease_until > ?6))
        ORDER BY not_before, id LIMIT 1)
    RETURNING ";

impl Store {
    /// Puts a job in line. One that waits already is moved to `not_before`, unless it waits for another attempt.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn enqueue(&self, request: &JobRequest, now: Timestamp) -> Result<Enqueued, StoreError> {
        self.read(|conn| {
            let found: Option<i64> = conn
                .prepare_cached(ENQUEUE)?
                .query_row(
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
                )
                .optional()?;
            Ok(if found.is_some() { Enqueued::Waiting } else { Enqueued::UpToDate })
        })
    }

    /// Takes the next job that is due; `None` if none is. Jobs of processes that have ended are due at once where the
    /// system tells, and else when their lease runs out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn claim_job(&self, now: Timestamp) -> Result<Option<HeldJob>, StoreError> {
        let now = whole_milliseconds(now);
        self.release_jobs_of_the_dead(now)?;
        let token = uuid::Uuid::now_v7().to_string();
        self.read(|conn| {
            let job = conn
                .prepare_cached(&format!("{CLAIM}{COLUMNS}"))?
                .query_row(
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
                )
                .optional()?;
            Ok(job.map(|job| HeldJob { job, token }))
        })
    }

    /// Says that the job is still worked on, and returns whether the caller still holds it.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn job_heartbeat(&self, held: &HeldJob, now: Timestamp) -> Result<bool, StoreError> {
        self.read(|conn| {
            let changed = conn
                .prepare_cached("UPDATE jobs SET lease_until = ?3 WHERE id = ?1 AND owner = ?2 AND status = 'running'")?
                .execute(params![held.job.id, held.token, (now + LEASE).as_millisecond()])?;
            Ok(changed > 0)
        })
    }

    /// Writes down how a job ended, and returns whether the caller still held it; if not, nothing is written.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn finish_job(&self, held: &HeldJob, end: JobEnd<'_>, now: Timestamp) -> Result<bool, StoreError> {
        let mine = "WHERE id = ?1 AND owner = ?2 AND status = 'running'";
        let freed = "owner = NULL, pid = NULL, lease_until = NULL, updated_at = ?3";
        let now_ms = whole_milliseconds(now).as_millisecond();
        self.read(|conn| {
            let changed = match end {
                JobEnd::Done => conn
                    .prepare_cached(&format!(
                        "UPDATE jobs SET {freed}, attempts = 0, error = NULL, done_watermark = claimed_watermark,
                         status = CASE WHEN watermark > claimed_watermark THEN 'waiting' ELSE 'done' END {mine}"
                    ))?
                    .execute(params![held.job.id, held.token, now_ms])?,
                JobEnd::Deferred(until, why) => conn
                    .prepare_cached(&format!(
                        "UPDATE jobs SET {freed}, attempts = max(0, attempts - 1), error = ?4, not_before = ?5,
                         status = 'waiting' {mine}"
                    ))?
                    .execute(params![held.job.id, held.token, now_ms, why, until.as_millisecond()])?,
                JobEnd::Failed(why) => {
                    let tried = usize::try_from(held.job.attempts).unwrap_or(usize::MAX).saturating_sub(1);
                    let again = RETRY_AFTER.get(tried).map(|pause| (now + *pause).as_millisecond());
                    conn.prepare_cached(&format!(
                        "UPDATE jobs SET {freed}, error = ?4, not_before = coalesce(?5, not_before), status = CASE
                         WHEN watermark > claimed_watermark OR ?5 IS NOT NULL THEN 'waiting' ELSE 'failed' END {mine}"
                    ))?
                    .execute(params![held.job.id, held.token, now_ms, why, again])?
                }
            };
            Ok(changed > 0)
        })
    }

    /// Makes failed jobs, and those that wait for another attempt, due at once; one of them, or all. Returns how many.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn retry_jobs(&self, one: Option<i64>, now: Timestamp) -> Result<usize, StoreError> {
        self.read(|conn| {
            Ok(conn.execute(
                "UPDATE jobs SET status = 'waiting', attempts = 0, not_before = ?1, updated_at = ?1
                 WHERE (status = 'failed' OR (status = 'waiting' AND error IS NOT NULL)) AND (?2 IS NULL OR id = ?2)",
                params![now.as_millisecond(), one],
            )?)
        })
    }

    /// Gives up a job that waits or failed, until its log grows beyond what was asked for; returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn cancel_job(&self, id: i64, now: Timestamp) -> Result<bool, StoreError> {
        self.read(|conn| {
            let changed = conn.execute(
                "UPDATE jobs SET status = 'done', attempts = 0, done_watermark = watermark, error = 'given up by hand',
                 updated_at = ?2 WHERE id = ?1 AND status IN ('waiting', 'failed')",
                params![id, now.as_millisecond()],
            )?;
            Ok(changed > 0)
        })
    }

    /// Frees the jobs of processes that the system shows to have ended, so that they are due without waiting for the end
    /// of their lease.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn release_jobs_of_the_dead(&self, now: Timestamp) -> Result<(), StoreError> {
        let running = self.jobs_where("status = 'running' AND lease_until > ?1", now)?;
        for (job, pid) in running.into_iter().filter_map(|(job, pid)| Some((job, pid?))) {
            if !process_may_live(pid) {
                self.read(|conn| {
                    conn.prepare_cached("UPDATE jobs SET lease_until = 0 WHERE id = ?1 AND pid = ?2")?
                        .execute((job.id, pid))?;
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
impl Store {
    /// Lets it look as if this process held every job that is held.
    pub(crate) fn give_jobs_to(&self, pid: u32) {
        self.conn.execute("UPDATE jobs SET pid = ?1", [pid]).unwrap();
    }
}

#[cfg(test)]
#[path = "jobs_tests.rs"]
mod tests;
