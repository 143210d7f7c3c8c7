//! The state of the work: waiting and failed work, the last completed run, and the daily cost of replies.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;

use crate::store::row::{count, time, time_or_none};
use crate::store::{Database, StoreError};

/// The state of the work.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Health {
    /// Jobs that are not due yet or wait for a worker.
    pub jobs_waiting: usize,
    /// Jobs in progress.
    pub jobs_running: usize,
    /// Jobs that failed and are no longer retried.
    pub jobs_failed: usize,
    /// Windows whose extraction has begun but not ended.
    pub windows_open: usize,
    /// Windows that were extracted and whose candidates wait to be written.
    pub windows_unwritten: usize,
    /// Windows that could not be extracted.
    pub windows_failed: usize,
    /// Time at which a `run` was last completed.
    pub last_success: Option<Timestamp>,
    /// Time of the last failure of a `run` as a whole, a window or a job.
    pub last_failure: Option<Timestamp>,
    /// The reason why the last `run` stopped before all requests were made; `None` if a later run has completed the
    /// requests.
    pub halted: Option<String>,
}

impl Health {
    /// Returns the number of jobs and windows that remain to be processed.
    pub(crate) const fn backlog(&self) -> usize {
        self.jobs_waiting + self.jobs_running + self.windows_open + self.windows_unwritten
    }

    /// Returns the number of jobs and windows that failed.
    pub(crate) const fn failures(&self) -> usize {
        self.jobs_failed + self.windows_failed
    }
}

impl Database {
    /// Returns the state of the work.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn health(&self) -> Result<Health, StoreError> {
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

fn latest(conn: &Connection, what: &str) -> rusqlite::Result<Option<Timestamp>> {
    conn.query_row(&format!("SELECT {what}"), (), |row| time_or_none(row, 0))
}

fn halted(conn: &Connection) -> rusqlite::Result<Option<String>> {
    // Only the last run counts, because a later run that was not halted has done the remaining work.
    let sql = "SELECT json_extract(summary, '$.halted') FROM runs WHERE command = 'run' AND summary IS NOT NULL
               ORDER BY started_at DESC, id DESC LIMIT 1";
    Ok(conn.query_row(sql, (), |row| row.get::<_, Option<String>>(0)).optional()?.flatten())
}

/// The usage of one model on one day.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Spent {
    /// The day, in the requested time zone.
    pub day: Date,
    /// The model, using the name from the server.
    pub model: String,
    /// Number of answers received; attempts without an answer are not counted.
    pub calls: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received, including reasoning.
    pub completion_tokens: u64,
}

impl Database {
    /// Returns the usage from the day `first` onwards in the time zone `zone`, sorted by day, newest first, and then by
    /// model.
    ///
    /// The usage is the sum over the stored answers and the calls for memory vectors. There is one answer for each paid
    /// call, and there are none for requests answered from the ledger.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn spending(&self, first: Date, zone: &TimeZone) -> Result<Vec<Spent>, StoreError> {
        // Only a day at the limits of the calendar has no start in a time zone; in that case, all usage is included.
        let begin = first.to_zoned(zone.clone()).map_or(Timestamp::UNIX_EPOCH, |start| start.timestamp());
        let mut days: BTreeMap<(Reverse<Date>, String), Spent> = BTreeMap::new();
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT answered_at, model, prompt_tokens, completion_tokens FROM requests
                 WHERE text IS NOT NULL AND answered_at >= ?1
                 UNION ALL SELECT at, model, tokens, 0 FROM vector_spending WHERE at >= ?1",
            )?;
            // Days depend on the person's time zone, which is unknown to SQLite.
            let mut rows = statement.query([begin.as_millisecond()])?;
            while let Some(row) = rows.next()? {
                let (day, model): (_, String) = (time(row, 0)?.to_zoned(zone.clone()).date(), row.get(1)?);
                let spent = days.entry((Reverse(day), model.clone())).or_insert(Spent {
                    day,
                    model,
                    calls: 0,
                    prompt_tokens: 0,
                    completion_tokens: 0,
                });
                spent.calls += 1;
                spent.prompt_tokens += row.get::<_, u64>(2)?;
                spent.completion_tokens += row.get::<_, u64>(3)?;
            }
            Ok(())
        })?;
        Ok(days.into_values().collect())
    }
}

/// Returns the first of `count` consecutive days that end with `last`.
pub(crate) fn days_before(last: Date, count: u32) -> Date {
    let back = SignedDuration::from_hours(24 * i64::from(count.saturating_sub(1)));
    last.checked_sub(back).unwrap_or(Date::MIN)
}

#[cfg(test)]
mod health_tests {
    use serde_json::json;

    use super::*;
    use crate::store::testing::day;
    use crate::store::{RunStatus, Store};

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

#[cfg(test)]
mod spending_tests {
    use jiff::civil::date;

    use super::*;
    use crate::guard::Guard;
    use crate::llm::{Finish, Reply};
    use crate::store::Store;

    fn save(store: &Store, key: &str, model: &str, at: &str) {
        let reply = Reply {
            text: "{}".into(),
            finish: Finish::Stop,
            prompt_tokens: 100,
            completion_tokens: 7,
            model: model.into(),
        };
        let (text, _) = Guard::default().redact(reply.text.clone());
        store.save_reply(key, &text, &reply, at.parse().unwrap()).unwrap();
    }

    #[test]
    fn answers_are_added_up_by_the_days_of_a_clock() {
        let store = Store::in_memory().unwrap();
        save(&store, "a", "m", "2026-03-01T10:00:00Z");
        save(&store, "b", "m", "2026-03-01T23:30:00Z");
        save(&store, "c", "n", "2026-03-01T11:00:00Z");
        save(&store, "d", "m", "2026-02-20T11:00:00Z");
        let told = |first: Date, zone: &TimeZone| {
            let spent = store.spending(first, zone).unwrap();
            spent.into_iter().map(|one| (one.day.day(), one.model, one.calls, one.prompt_tokens)).collect::<Vec<_>>()
        };
        let row = |day: i8, model: &str, calls: u64| (day, model.to_owned(), calls, calls * 100);
        let utc = TimeZone::UTC;
        assert_eq!(told(date(2026, 3, 1), &utc), [row(1, "m", 2), row(1, "n", 1)]);
        assert_eq!(told(date(2026, 2, 1), &utc).last(), Some(&row(20, "m", 1)));
        // In the time zone one hour further east, the late evening belongs to the next day.
        let east = TimeZone::fixed(jiff::tz::offset(1));
        assert_eq!(told(date(2026, 3, 1), &east), [row(2, "m", 1), row(1, "m", 1), row(1, "n", 1)]);
    }

    #[test]
    fn a_week_has_seven_days() {
        assert_eq!(days_before(date(2026, 3, 7), 7), date(2026, 3, 1));
        assert_eq!(days_before(date(2026, 3, 7), 1), date(2026, 3, 7));
        assert_eq!(days_before(date(2026, 3, 7), 0), date(2026, 3, 7));
        assert_eq!(days_before(date(2026, 3, 7), u32::MAX), Date::MIN);
    }
}
