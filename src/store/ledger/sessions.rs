//! Active sessions: the memories shown in them, their failed commands, and the hooks that ran.

use std::collections::HashSet;

use jiff::{SignedDuration, Timestamp};
use rusqlite::params;
use serde::{Deserialize, Serialize};

use crate::guard::{Redact, Redacted};
use crate::memory::MemoryId;
use crate::store::row::{time, to_json};
use crate::store::{Database, Store, StoreError};

/// Time for which the records of a session are kept.
const KEPT: SignedDuration = SignedDuration::from_hours(24 * 14);
/// Minimum interval between two records of the same hook.
const NOTED_EVERY: SignedDuration = SignedDuration::from_secs(30);
/// Maximum number of recorded steps after a failure.
const MAX_STEPS: usize = 20;

/// A call of a hook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct HookFiring {
    /// The agent, such as `claude-code`.
    pub agent: String,
    /// The event, such as `session-start`.
    pub event: String,
    /// Time at which the hook last ran.
    pub at: Timestamp,
}

/// A command that failed and has not succeeded since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedCommand {
    /// The signature that identifies the command, such as `cargo test`.
    pub signature: String,
    /// The command.
    pub command: String,
    /// The line of the command's output that states the cause.
    pub error: String,
    /// The ID that the agent assigned to the call.
    pub call: String,
    /// The steps taken since the failure, oldest first.
    pub steps: Vec<Step>,
    /// Time at which the command failed.
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

/// A step taken in a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Step {
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
    /// Records that a hook ran, unless a run was recorded a moment ago.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn hook_fired(&self, agent: &str, event: &str, now: Timestamp) -> Result<(), StoreError> {
        let before = (now - NOTED_EVERY).as_millisecond();
        // Recent records are looked for first, because hooks run often, and a write would wait for other writers.
        let sql = "SELECT 1 FROM hook_fires WHERE agent = ?1 AND event = ?2 AND at > ?3";
        if self.query_one(sql, params![agent, event, before], |_| Ok(()))?.is_none() {
            self.execute(
                "INSERT OR REPLACE INTO hook_fires (agent, event, at) VALUES (?1, ?2, ?3)",
                params![agent, event, now.as_millisecond()],
            )?;
        }
        Ok(())
    }

    /// Records that these memories were shown to a session, and deletes the records of old sessions.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn memories_shown(
        &self,
        session: &str,
        memories: &[MemoryId],
        now: Timestamp,
    ) -> Result<(), StoreError> {
        if memories.is_empty() {
            return Ok(());
        }
        self.write(None, now, |w| {
            for memory in memories {
                w.execute(
                    "INSERT OR REPLACE INTO hook_told (session, memory_id, at) VALUES (?1, ?2, ?3)",
                    params![session, memory.as_str(), now.as_millisecond()],
                )?;
            }
            w.forget_old_sessions(now)
        })
    }

    /// Deletes the record of the memories shown to a session, because its context was cleared.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn forget_shown(&self, session: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM hook_told WHERE session = ?1", [session]).map(drop)
    }

    /// Records a failure, which replaces an earlier failure with the same signature.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn command_failed(
        &self,
        session: &str,
        failed: &Redacted<FailedCommand>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let steps = to_json(&failed.steps)?;
        let FailedCommand { signature, command, error, call, at, .. } = &**failed;
        self.execute(
            "INSERT OR REPLACE INTO hook_failures (session, signature, command, error, call, steps, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![session, signature, command, error, call, steps, at.as_millisecond()],
        )?;
        // Old sessions are deleted with each write, so that the tables stay small even if maintenance never runs.
        self.forget_old_sessions(now)
    }

    /// Adds a step to the open failures of a session.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn step_taken(&self, session: &str, step: &Redacted<Step>) -> Result<(), StoreError> {
        let open = self.failed_commands(session)?;
        for mut failed in open {
            failed.steps.push((**step).clone());
            // The last steps before the success are the most likely to have fixed the problem.
            let first = failed.steps.len().saturating_sub(MAX_STEPS);
            self.execute(
                "UPDATE hook_failures SET steps = ?3 WHERE session = ?1 AND signature = ?2",
                params![session, failed.signature, to_json(&&failed.steps[first..])?],
            )?;
        }
        Ok(())
    }

    /// Closes a failure.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn close_failure(&self, session: &str, signature: &str) -> Result<(), StoreError> {
        self.execute("DELETE FROM hook_failures WHERE session = ?1 AND signature = ?2", (session, signature)).map(drop)
    }
}

impl Database {
    fn forget_old_sessions(&self, now: Timestamp) -> Result<(), StoreError> {
        let before = (now - KEPT).as_millisecond();
        self.execute("DELETE FROM hook_told WHERE at < ?1", [before])?;
        self.execute("DELETE FROM hook_failures WHERE at < ?1", [before]).map(drop)
    }

    /// Returns when each hook last ran, by agent and event; empty if the database comes from a version that did not
    /// record this.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn hooks_fired(&self) -> Result<Vec<HookFiring>, StoreError> {
        if !self.has_table("hook_fires")? {
            return Ok(Vec::new());
        }
        self.query_all("SELECT agent, event, at FROM hook_fires ORDER BY agent, event", (), |row| {
            Ok(HookFiring { agent: row.get(0)?, event: row.get(1)?, at: time(row, 2)? })
        })
    }

    /// Returns the memories that were shown to a session at `since` or later.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn shown_in(&self, session: &str, since: Timestamp) -> Result<HashSet<MemoryId>, StoreError> {
        let shown = self.query_all(
            "SELECT memory_id FROM hook_told WHERE session = ?1 AND at >= ?2 ORDER BY 1",
            params![session, since.as_millisecond()],
            |row| row.get(0),
        )?;
        Ok(shown.into_iter().collect())
    }

    /// Returns the open failures of a session, sorted by signature.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn failed_commands(&self, session: &str) -> Result<Vec<FailedCommand>, StoreError> {
        let sql = "SELECT signature, command, error, call, steps, at FROM hook_failures WHERE session = ?1
                 ORDER BY signature";
        self.query_all(sql, [session], |row| {
            let steps: String = row.get(4)?;
            Ok(FailedCommand {
                signature: row.get(0)?,
                command: row.get(1)?,
                error: row.get(2)?,
                call: row.get(3)?,
                // A newer version may write other steps; without its steps, a failure is less useful, but still
                // valid.
                steps: serde_json::from_str(&steps).unwrap_or_default(),
                at: time(row, 5)?,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Guard;
    use crate::store::testing::day;

    #[test]
    fn what_a_session_was_shown_is_known_until_its_context_is_emptied() {
        let store = Store::in_memory().unwrap();
        let (a, b) = (MemoryId::new(), MemoryId::new());
        store.memories_shown("s", &[a.clone(), b.clone()], day(1)).unwrap();
        store.memories_shown("t", std::slice::from_ref(&a), day(1)).unwrap();
        assert_eq!(store.shown_in("s", day(1)).unwrap(), HashSet::from([a.clone(), b]));
        assert!(store.shown_in("s", day(2)).unwrap().is_empty());
        store.forget_shown("s").unwrap();
        assert!(store.shown_in("s", day(1)).unwrap().is_empty());
        assert_eq!(store.shown_in("t", day(1)).unwrap(), HashSet::from([a.clone()]));
        store.memories_shown("u", &[a], day(20)).unwrap();
        assert!(store.shown_in("t", Timestamp::UNIX_EPOCH).unwrap().is_empty(), "of long ago");
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
        store.close_failure("s", "npm test").unwrap();
        assert_eq!(store.failed_commands("s").unwrap(), []);
    }

    #[test]
    fn the_last_firing_of_each_hook_is_known() {
        let store = Store::in_memory().unwrap();
        store.hook_fired("codex", "stop", day(1)).unwrap();
        store.hook_fired("codex", "stop", day(1) + SignedDuration::from_secs(5)).unwrap();
        store.hook_fired("claude-code", "stop", day(2)).unwrap();
        let fired = store.hooks_fired().unwrap();
        let found: Vec<_> = fired.iter().map(|one| (one.agent.as_str(), one.at)).collect();
        assert_eq!(found, [("claude-code", day(2)), ("codex", day(1))]);
    }
}
