//! The health of the work: what waits, what failed, and when a run last finished.

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;

use super::{Database, StoreError};
use crate::store::row::time;

/// How the work goes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Jobs that wait for their time or for a worker.
    pub jobs_waiting: usize,
    /// Jobs that are worked on.
    pub jobs_running: usize,
    /// Jobs that are not tried any more.
    pub jobs_failed: usize,
    /// Windows whose extraction was begun and has not ended.
    pub windows_open: usize,
    /// Windows that are extracted and whose candidates wait to be written.
    pub windows_unwritten: usize,
    /// Windows that could not be extracted.
    pub windows_failed: usize,
    /// When a `run` last came to its end.
    pub last_success: Option<Timestamp>,
    /// When something last failed: a `run` as a whole, a window or a job.
    pub last_failure: Option<Timestamp>,
    /// Why the last `run` was not asked to its end; gone once another one is.
    pub halted: Option<String>,
}

impl Health {
    /// What has yet to be done.
    #[must_use]
    pub const fn backlog(&self) -> usize {
        self.jobs_waiting + self.jobs_running + self.windows_open + self.windows_unwritten
    }

    /// What was given up or is to be tried again.
    #[must_use]
    pub const fn failures(&self) -> usize {
        self.jobs_failed + self.windows_failed
    }
}

impl Database {
    /// Returns how the work goes.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn health(&self) -> Result<Health, StoreError> {
        self.read(|conn| {
            let jobs = |status| count(conn, &format!("jobs WHERE status = '{status}'"));
            let windows = |condition| count(conn, &format!("windows WHERE {condition}"));
            let ended = |status| {
                latest(conn, &format!("max(finished_at) FROM runs WHERE command = 'run' AND status = '{status}'"))
            };
            let failures = [
                ended("failed")?,
                latest(conn, "max(finished_at) FROM windows WHERE status = 'failed'")?,
                latest(conn, "max(updated_at) FROM jobs WHERE status = 'failed'")?,
            ];
            Ok(Health {
                jobs_waiting: jobs("waiting")?,
                jobs_running: jobs("running")?,
                jobs_failed: jobs("failed")?,
                windows_open: windows("status = 'claimed'")?,
                windows_unwritten: windows("status = 'done' AND applied_at IS NULL")?,
                windows_failed: windows("status = 'failed'")?,
                last_success: ended("finished")?,
                last_failure: failures.into_iter().flatten().max(),
                halted: halted(conn)?,
            })
        })
    }
}

fn count(conn: &Connection, rows: &str) -> rusqlite::Result<usize> {
    conn.query_row(&format!("SELECT count(*) FROM {rows}"), (), |row| row.get(0))
}

fn latest(conn: &Connection, what: &str) -> rusqlite::Result<Option<Timestamp>> {
    let is_there = conn.query_row(&format!("SELECT {what}"), (), |row| row.get::<_, Option<i64>>(0))?.is_some();
    if is_there { conn.query_row(&format!("SELECT {what}"), (), |row| time(row, 0)).map(Some) } else { Ok(None) }
}

fn halted(conn: &Connection) -> rusqlite::Result<Option<String>> {
    let sql = "SELECT json_extract(summary, '$.halted') FROM runs WHERE command = 'run' AND summary IS NOT NULL
               ORDER BY started_at DESC, id DESC LIMIT 1";
    Ok(conn.query_row(sql, (), |row| row.get::<_, Option<String>>(0)).optional()?.flatten())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples::day;
    use super::super::{RunStatus, Store};
    use super::*;

    #[test]
    fn a_run_that_was_not_asked_to_its_end_is_told_until_another_one_is() {
        let store = Store::in_memory().unwrap();
        assert_eq!(store.health().unwrap(), Health::default());
        let end = |number: i64, status, summary: serde_json::Value| {
            let run = store.begin_run("run", &json!([number]), day(number)).unwrap();
            store.finish_run(&run.id, status, &summary, day(number)).unwrap();
        };
        end(1, RunStatus::Finished, json!({"halted": "the key is not valid"}));
        let health = store.health().unwrap();
        assert_eq!((health.last_success, health.halted.as_deref()), (Some(day(1)), Some("the key is not valid")));
        end(2, RunStatus::Failed, json!({"halted": null}));
        let health = store.health().unwrap();
        assert_eq!(
            (health.last_success, health.last_failure, health.halted.as_deref()),
            (Some(day(1)), Some(day(2)), None)
        );
        assert_eq!((health.backlog(), health.failures()), (0, 0));
    }
}
