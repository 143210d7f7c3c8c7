//! Memories without their texts, so that maintenance can evaluate thousands of memories at once.

use jiff::Timestamp;
use rusqlite::{Row, params_from_iter};

use crate::memory::{MemoryId, MemoryType, Namespace, Scope, Status, Usage};
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::memories::row::usage_from_row;
use crate::store::row::from_row;
use crate::store::{Database, StoreError};

/// A memory without its texts.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Outline {
    /// Id of the memory.
    pub id: MemoryId,
    /// The namespace that the memory belongs to.
    pub namespace: Namespace,
    /// The type of the memory.
    pub memory_type: MemoryType,
    /// The category of the memory.
    pub category: String,
    /// The intended lifetime of the memory.
    pub scope: Scope,
    /// The status of the memory.
    pub status: Status,
    /// Importance of the memory, from 0 to 1.
    pub importance: f64,
    /// Confidence of the memory, from 0 to 1.
    pub confidence: f64,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// The number and times of the memory's uses.
    pub usage: Usage,
    /// Time at which the memory's content was last stated, according to its evidence.
    pub confirmed_at: Option<Timestamp>,
    /// Time from which the memory is no longer recalled.
    pub expires_at: Option<Timestamp>,
    /// Time at which the memory was forgotten.
    pub deleted_at: Option<Timestamp>,
    /// Time at which the memory was learnt.
    pub created_at: Timestamp,
    /// Time of the memory's last change.
    pub updated_at: Timestamp,
}

/// [`outline_from_row`] relies on the order of these columns; change both together.
const COLUMNS: &str = "m.id, m.namespace, m.type, m.category, m.scope, m.status, m.importance, m.confidence, m.pinned, \
    u.confirmed_at, m.expires_at, m.deleted_at, m.created_at, m.updated_at, u.access_count, u.last_accessed_at, u.tier, \
    u.promotion_count, u.last_promoted_at";

impl Database {
    /// Returns the outlines of all memories that pass `filter`, sorted by id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn outlines(&self, filter: &Filter) -> Result<Vec<Outline>, StoreError> {
        let mut found = Vec::new();
        self.each_outline(filter, |outline| {
            found.push(outline);
            Ok(())
        })?;
        // Sorting rows of so many columns would take SQLite longer than all other work.
        found.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    /// Passes the outline of each memory that passes `filter` to `take`, in any order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read, or the error of `take`.
    pub(crate) fn each_outline(
        &self,
        filter: &Filter,
        mut take: impl FnMut(Outline) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let clauses = Clauses::of(filter);
        let sql = format!(
            "SELECT {COLUMNS} FROM memories m JOIN memory_usage u ON u.memory_id = m.id WHERE {}",
            clauses.sql()
        );
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            for outline in statement.query_map(params_from_iter(clauses.values), outline_from_row)? {
                take(outline?)?;
            }
            Ok(())
        })
    }

    /// Returns the outline of a memory; `None` if the memory does not exist.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn outline(&self, id: &MemoryId) -> Result<Option<Outline>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM memories m JOIN memory_usage u ON u.memory_id = m.id WHERE m.id = ?1");
        self.query_one(&sql, [id.as_str()], outline_from_row)
    }
}

fn outline_from_row(row: &Row<'_>) -> rusqlite::Result<Outline> {
    from_row!(row, 0 => Outline {
        id, namespace, memory_type, category, scope, status, importance, confidence, pinned, confirmed_at, expires_at,
        deleted_at, created_at, updated_at, usage: usage_from_row(row, 14)?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Evidence;
    use crate::store::testing::{clean, day, insert, memory, quote, write};
    use crate::store::{RunStatus, Store};
    use transcripts::MessageTime;

    fn confirmed(store: &Store) -> Option<Timestamp> {
        store.outlines(&Filter::default()).unwrap()[0].confirmed_at
    }

    #[test]
    fn a_memory_is_confirmed_by_its_latest_evidence_and_by_none_that_was_taken_back() {
        let store = Store::in_memory().unwrap();
        let tea = memory("Tea", "The user drinks tea.");
        insert(&store, &tea);
        assert_eq!(confirmed(&store), None);
        let said = |text: &str, at| Evidence { said_at: Some(MessageTime::logged(day(at))), ..quote(text) };
        write(&store, |w| w.add_evidence(&tea.id, &clean(vec![said("tea", 3)])));
        write(&store, |w| w.add_evidence(&tea.id, &clean(vec![said("tea, as ever", 1)])));
        assert_eq!(confirmed(&store), Some(day(3)));
        let run = store.begin_run("run", &serde_json::Value::Null, day(5)).unwrap();
        store
            .write::<_, StoreError>(Some(&run.id), day(5), |w| w.add_evidence(&tea.id, &clean(vec![said("tea!", 5)])))
            .unwrap();
        store.finish_run(&run.id, RunStatus::Finished, &serde_json::Value::Null, day(5)).unwrap();
        assert_eq!(confirmed(&store), Some(day(5)));
        store.undo_run(&run.id, day(6)).unwrap();
        assert_eq!(confirmed(&store), Some(day(3)));
    }
}
