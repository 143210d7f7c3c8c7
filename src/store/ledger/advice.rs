//! Records whether a remedy that was shown after a failure helped, as shown by the next run of the same command.

use std::collections::HashMap;

use rusqlite::params;
use serde::Serialize;

use crate::memory::MemoryId;
use crate::store::row::to_json;
use crate::store::{Database, Store, StoreError};

/// Maximum influence of past results for or against a memory.
const MAX_BALANCE: i64 = 3;
/// Number by which failures must exceed successes before a memory is no longer shown.
const REFUTED: u32 = 2;

/// How often showing a memory after a failure was followed by success, and how often by the same failure.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct AdviceOutcome {
    /// Number of times that the command then succeeded.
    pub helped: u32,
    /// Number of times that the command failed again in the same way.
    pub failed: u32,
}

impl AdviceOutcome {
    /// Returns the bounded influence of past results, which is positive if the memory helped.
    pub(crate) fn balance(self) -> i64 {
        (i64::from(self.helped) - i64::from(self.failed)).clamp(-MAX_BALANCE, MAX_BALANCE)
    }

    /// Returns whether failures exceed successes by so much that the memory is no longer shown.
    pub(crate) const fn is_refuted(self) -> bool {
        self.failed >= self.helped + REFUTED
    }
}

impl Store {
    /// Records the command and error for which these memories were shown to a session.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn advised(
        &self,
        session: &str,
        memories: &[MemoryId],
        command: &str,
        error: &str,
    ) -> Result<(), StoreError> {
        let sql = "UPDATE hook_told SET command = ?3, error = ?4
             WHERE session = ?1 AND memory_id IN (SELECT value FROM json_each(?2))";
        self.execute(sql, params![session, to_json(&memories)?, command, error]).map(drop)
    }

    /// Counts for or against the memories that were shown for a command that has now run again, either with an error or
    /// without.
    ///
    /// An error other than the one in the record counts neither for nor against the memories.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn acted(&self, session: &str, command: &str, error: Option<&str>) -> Result<(), StoreError> {
        let sql = "SELECT memory_id, error FROM hook_told WHERE session = ?1 AND command = ?2 ORDER BY memory_id";
        let shown = self.query_all(sql, params![session, command], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, Option<String>>(1)?))
        })?;
        for (memory, shown_for) in shown {
            let counts = match error {
                None => Some((1, 0)),
                Some(error) => (shown_for.as_deref() == Some(error)).then_some((0, 1)),
            };
            if let Some((helped, failed)) = counts {
                let sql = "INSERT INTO advice (memory_id, helped, failed) VALUES (?1, ?2, ?3)
                     ON CONFLICT (memory_id) DO UPDATE SET helped = helped + ?2, failed = failed + ?3";
                self.execute(sql, params![memory, helped, failed])?;
            }
            // Each showing counts only once.
            let sql = "UPDATE hook_told SET command = NULL, error = NULL WHERE session = ?1 AND memory_id = ?2";
            self.execute(sql, params![session, memory])?;
        }
        Ok(())
    }
}

impl Database {
    /// Returns the results of showing these memories after a failure; memories that were never shown are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn advice(&self, memories: &[MemoryId]) -> Result<HashMap<MemoryId, AdviceOutcome>, StoreError> {
        // A database of an earlier version has no such table, and read-only access does not add it.
        if memories.is_empty() || !self.has_table("advice")? {
            return Ok(HashMap::new());
        }
        let sql = "SELECT memory_id, helped, failed FROM advice WHERE memory_id IN (SELECT value FROM json_each(?1))
             ORDER BY memory_id";
        let found = self.query_all(sql, [to_json(&memories)?], |row| {
            let outcome = AdviceOutcome { helped: row.get(1)?, failed: row.get(2)? };
            Ok((row.get(0)?, outcome))
        })?;
        Ok(found.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::day;

    #[test]
    fn what_is_shown_counts_once_by_the_next_run_of_the_command() {
        let store = Store::in_memory().unwrap();
        let ids = [MemoryId::from_stored("fact:a"), MemoryId::from_stored("fact:b")];
        let show = |session: &str| {
            store.memories_shown(session, &ids[..1], day(1)).unwrap();
            store.advised(session, &ids[..1], "npm test", "Error: no key").unwrap();
        };
        let outcome = || store.advice(&ids).unwrap().get(&ids[0]).copied().unwrap_or_default();
        show("s");
        store.acted("s", "npm ci", None).unwrap();
        store.acted("t", "npm test", None).unwrap();
        assert_eq!(outcome(), AdviceOutcome::default(), "another command, and another session");
        store.acted("s", "npm test", None).unwrap();
        store.acted("s", "npm test", Some("Error: no key")).unwrap();
        assert_eq!(outcome(), AdviceOutcome { helped: 1, failed: 0 });
        show("u");
        store.acted("u", "npm test", Some("another error")).unwrap();
        for session in ["v", "w", "x"] {
            show(session);
            store.acted(session, "npm test", Some("Error: no key")).unwrap();
        }
        assert_eq!(outcome(), AdviceOutcome { helped: 1, failed: 3 });
        assert!(outcome().is_refuted() && outcome().balance() == -2);
    }
}
