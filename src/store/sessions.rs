//! Sessions under way: what they were shown, what failed in them, and the hooks that fired.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, params};
use serde::{Deserialize, Serialize};

use super::{Database, Store, StoreError};
use crate::guard::{Redact, Redacted};
use crate::memory::MemoryId;
use crate::store::row::{time, to_json};

/// After this time nothing is known of a session any more.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 14);
/// How often at most the firing of a hook is noted.
const NOTED_EVERY: SignedDuration = SignedDuration::from_secs(30);
/// Steps that are kept of what was done after a failure.
const MAX_STEPS: usize = 20;

/// A hook that fired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Fired {
    /// The agent, e.g. `claude-code`.
    pub agent: String,
    /// The event, e.g. `session-start`.
    pub event: String,
    /// When it last did.
    pub at: Timestamp,
}

/// A command that failed and has not succeeded since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedCommand {
    /// What the command is known by, e.g. `cargo test`.
    pub signature: String,
    /// The command.
    pub command: String,
    /// The line of its output that says why.
    pub error: String,
    /// The agent's id of the call.
    pub call: String,
    /// What was done since, oldest first.
    pub steps: Vec<Step>,
    /// When it failed.
    pub at: Timestamp,
}

impl Redact for FailedCommand {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.signature);
        edit(&mut self.command);
        edit(&mut self.error);
        for step in &mut self.steps {
            step.edit_texts(edit);
        }
    }
}

/// Something that was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Step {
    /// A command that succeeded.
    Ran(String),
    /// A file that was changed.
    Edited(String),
}

impl Redact for Step {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        match self {
            Self::Ran(text) | Self::Edited(text) => edit(text),
        }
    }
}

impl Store {
    /// Notes that a hook fired, unless that was noted a moment ago.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn hook_fired(&self, agent: &str, event: &str, now: Timestamp) -> Result<(), StoreError> {
        let before = (now - NOTED_EVERY).as_millisecond();
        self.read(|conn| {
            let is_noted = conn
                .prepare_cached("SELECT 1 FROM hook_fires WHERE agent = ?1 AND event = ?2 AND at > ?3")?
                .exists(params![agent, event, before])?;
            if !is_noted {
                conn.prepare_cached("INSERT OR REPLACE INTO hook_fires (agent, event, at) VALUES (?1, ?2, ?3)")?
                    .execute(params![agent, event, now.as_millisecond()])?;
            }
            Ok(())
        })
    }

    /// Notes that these memories were told in a session, and forgets sessions of long ago.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn told(&self, session: &str, memories: &[MemoryId], now: Timestamp) -> Result<(), StoreError> {
        if memories.is_empty() {
            return Ok(());
        }
        self.write(None, now, |w| {
            w.read(|conn| {
                for memory in memories {
                    conn.prepare_cached(
                        "INSERT OR REPLACE INTO hook_told (session, memory_id, at) VALUES (?1, ?2, ?3)",
                    )?
                    .execute(params![session, memory.as_str(), now.as_millisecond()])?;
                }
                forget_old(conn, now)
            })
        })
    }

    /// Forgets what a session was told: its context was emptied.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn forget_told(&self, session: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("DELETE FROM hook_told WHERE session = ?1")?.execute([session])?;
            Ok(())
        })
    }

    /// Notes a failure; it takes the place of an earlier one of the same signature.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn command_failed(
        &self,
        session: &str,
        failed: &Redacted<FailedCommand>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let steps = to_json(&failed.steps)?;
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO hook_failures (session, signature, command, error, call, steps, at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                session,
                failed.signature,
                failed.command,
                failed.error,
                failed.call,
                steps,
                failed.at.as_millisecond()
            ])?;
            forget_old(conn, now)
        })
    }

    /// Notes what was done after failures of a session that are still open.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn step_taken(&self, session: &str, step: &Redacted<Step>) -> Result<(), StoreError> {
        let open = self.failed_commands(session)?;
        self.read(|conn| {
            for mut failed in open {
                failed.steps.push((**step).clone());
                let first = failed.steps.len().saturating_sub(MAX_STEPS);
                conn.prepare_cached("UPDATE hook_failures SET steps = ?3 WHERE session = ?1 AND signature = ?2")?
                    .execute(params![session, failed.signature, to_json(&&failed.steps[first..])?])?;
            }
            Ok(())
        })
    }

    /// Closes a failure.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn failure_over(&self, session: &str, signature: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("DELETE FROM hook_failures WHERE session = ?1 AND signature = ?2")?
                .execute((session, signature))?;
            Ok(())
        })
    }
}

fn forget_old(conn: &Connection, now: Timestamp) -> Result<(), StoreError> {
    let before = (now - KEPT).as_millisecond();
    conn.prepare_cached("DELETE FROM hook_told WHERE at < ?1")?.execute([before])?;
    conn.prepare_cached("DELETE FROM hook_failures WHERE at < ?1")?.execute([before])?;
    Ok(())
}

impl Database {
    /// Returns when each hook last fired, by agent and event; none in a database of a version that did not note it.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn hooks_fired(&self) -> Result<Vec<Fired>, StoreError> {
        self.read(|conn| {
            if !conn.table_exists(None, "hook_fires")? {
                return Ok(Vec::new());
            }
            let mut statement = conn.prepare("SELECT agent, event, at FROM hook_fires ORDER BY agent, event")?;
            let found = statement
                .query_map((), |row| Ok(Fired { agent: row.get(0)?, event: row.get(1)?, at: time(row, 2)? }))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the memories that a session was told at `since` or later.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn told_in(&self, session: &str, since: Timestamp) -> Result<HashSet<MemoryId>, StoreError> {
        self.read(|conn| {
            let mut statement =
                conn.prepare_cached("SELECT memory_id FROM hook_told WHERE session = ?1 AND at >= ?2 ORDER BY 1")?;
            let found = statement.query_map(params![session, since.as_millisecond()], |row| {
                row.get::<_, String>(0).map(MemoryId::from_stored)
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the failures of a session that are open, by signature.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn failed_commands(&self, session: &str) -> Result<Vec<FailedCommand>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT signature, command, error, call, steps, at FROM hook_failures WHERE session = ?1
                 ORDER BY signature",
            )?;
            let found = statement.query_map([session], |row| {
                let steps: String = row.get(4)?;
                Ok(FailedCommand {
                    signature: row.get(0)?,
                    command: row.get(1)?,
                    error: row.get(2)?,
                    call: row.get(3)?,
                    // A newer version may know other steps; without them the failure is worth less, and no more.
                    steps: serde_json::from_str(&steps).unwrap_or_default(),
                    at: time(row, 5)?,
                })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Whether the log of this key was read to its end when it was like `stamp`, by any extractor.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn was_read(&self, key: &str, stamp: &str) -> Result<bool, StoreError> {
        self.read(|conn| {
            Ok(conn.prepare_cached("SELECT 1 FROM files WHERE path = ?1 AND stamp = ?2")?.exists((key, stamp))?)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;
    use crate::store::samples::day;

    #[test]
    fn what_a_session_was_told_is_known_until_its_context_is_emptied() {
        let store = Store::in_memory().unwrap();
        let (a, b) = (MemoryId::new(), MemoryId::new());
        store.told("s", &[a.clone(), b.clone()], day(1)).unwrap();
        store.told("t", std::slice::from_ref(&a), day(1)).unwrap();
        assert_eq!(store.told_in("s", day(1)).unwrap(), HashSet::from([a.clone(), b]));
        assert!(store.told_in("s", day(2)).unwrap().is_empty());
        store.forget_told("s").unwrap();
        assert!(store.told_in("s", day(1)).unwrap().is_empty());
        assert_eq!(store.told_in("t", day(1)).unwrap(), HashSet::from([a.clone()]));
        store.told("u", &[a], day(20)).unwrap();
        assert!(store.told_in("t", Timestamp::UNIX_EPOCH).unwrap().is_empty(), "of long ago");
    }

    #[test]
    fn a_failure_gathers_what_is_done_until_it_is_over() {
        let store = Store::in_memory().unwrap();
        let failed = FailedCommand {
            signature: "npm test".into(),
            command: "npm test".into(),
            error: "Error: no key sk-ant-api03-Wq8nRt5yUi2oPl4kJh7gFd9sAz1xCv3bNm6QwErTyUiOpAs".into(),
            call: "t1".into(),
            steps: Vec::new(),
            at: day(1),
        };
        let guard = Guard::default();
        store.command_failed("s", &guard.redact(failed).0, day(1)).unwrap();
        store.step_taken("s", &guard.redact(Step::Ran("npm ci".into())).0).unwrap();
        store.step_taken("other", &guard.redact(Step::Ran("ls".into())).0).unwrap();
        let open = store.failed_commands("s").unwrap();
        assert_eq!(open[0].steps, [Step::Ran("npm ci".into())]);
        assert!(!open[0].error.contains("Wq8nRt5y"), "{}", open[0].error);
        store.failure_over("s", "npm test").unwrap();
        assert_eq!(store.failed_commands("s").unwrap(), []);
    }

    #[test]
    fn the_last_firing_of_each_hook_is_known() {
        let store = Store::in_memory().unwrap();
        store.hook_fired("codex", "stop", day(1)).unwrap();
        store.hook_fired("codex", "stop", day(1) + SignedDuration::from_secs(5)).unwrap();
        store.hook_fired("claude-code", "stop", day(2)).unwrap();
        let fired = store.hooks_fired().unwrap();
        let told: Vec<_> = fired.iter().map(|one| (one.agent.as_str(), one.at)).collect();
        assert_eq!(told, [("claude-code", day(2)), ("codex", day(1))]);
    }
}
