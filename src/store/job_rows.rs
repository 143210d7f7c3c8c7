//! Reading jobs.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, Row};

use super::jobs::{EXTRACT, Job, LEASE, LONGEST_WAIT};
use super::{Database, StoreError};
use crate::store::row::{spelled, time, time_or_none};

/// Column order is what [`job_from_row`] reads; change both together.
pub(super) const COLUMNS: &str =
    "id, kind, agent, path, project, status, attempts, not_before, lease_until, error, updated_at, owner, pid";

impl Database {
    /// Returns the jobs, those that wait or run first and in the order in which they come up, then the others, last
    /// changed first. None in a database of a version that kept none.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn jobs(&self) -> Result<Vec<Job>, StoreError> {
        if !self.read(|conn| Ok(conn.table_exists(None, "jobs")?))? {
            return Ok(Vec::new());
        }
        let open = self.jobs_where("status IN ('waiting', 'running') AND ?1 IS NOT NULL", Timestamp::MIN)?;
        let mut rest = self.jobs_where("status IN ('done', 'failed') AND ?1 IS NOT NULL", Timestamp::MIN)?;
        rest.sort_by_key(|(job, _)| (std::cmp::Reverse(job.updated_at), job.id));
        Ok(open.into_iter().chain(rest).map(|(job, _)| job).collect())
    }

    /// Returns when the next job comes up that nobody works on; `None` if there is none. What waits for longer than any
    /// job can at `now` came up long ago.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn next_job_at(&self, now: Timestamp) -> Result<Option<Timestamp>, StoreError> {
        self.read(|conn| {
            Ok(conn
                .prepare_cached(
                    "SELECT min(CASE
                        WHEN status = 'running' AND lease_until > ?2 THEN 0
                        WHEN status = 'running' THEN max(lease_until, not_before)
                        WHEN not_before > ?1 THEN 0 ELSE not_before END)
                     FROM jobs WHERE status IN ('waiting', 'running')",
                )?
                .query_row([(now + LONGEST_WAIT).as_millisecond(), (now + LEASE + LEASE).as_millisecond()], |row| {
                    time_or_none(row, 0)
                })?)
        })
    }

    /// Returns the last change of each log that was extracted by a job, by the key of the job.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn extracted_until(&self, key: &str) -> Result<Option<i64>, StoreError> {
        self.read(|conn| {
            let found = conn
                .prepare_cached("SELECT done_watermark FROM jobs WHERE kind = ?1 AND key = ?2")?
                .query_row((EXTRACT, key), |row| row.get(0))
                .optional()?;
            Ok(found.flatten())
        })
    }

    /// Returns the jobs that meet a condition on `?1`, with the process that holds each.
    pub(super) fn jobs_where(&self, condition: &str, now: Timestamp) -> Result<Vec<(Job, Option<u32>)>, StoreError> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached(&format!("SELECT {COLUMNS} FROM jobs WHERE {condition} ORDER BY not_before, id"))?;
            let found = statement
                .query_map([now.as_millisecond()], |row| Ok((job_from_row(row)?, row.get::<_, Option<u32>>(12)?)))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

pub(super) fn job_from_row(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        id: row.get(0)?,
        kind: row.get(1)?,
        agent: row.get(2)?,
        path: row.get(3)?,
        project: row.get(4)?,
        status: spelled(row, 5)?,
        attempts: row.get(6)?,
        not_before: time(row, 7)?,
        lease_until: time_or_none(row, 8)?,
        error: row.get(9)?,
        updated_at: time(row, 10)?,
    })
}
