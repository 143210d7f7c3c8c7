//! Memories without their texts, so that maintenance and briefs can weigh thousands of them at once.

use jiff::Timestamp;
use rusqlite::{Connection, Row, params_from_iter};

use crate::memory::{MemoryId, MemoryType, Namespace, Scope, Status, Tier, Usage};
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::row::{spelled, time, time_or_none};
use crate::store::{Database, StoreError};

/// A memory without its texts.
#[derive(Debug, Clone, PartialEq)]
pub struct Outline {
    /// Id of the memory.
    pub id: MemoryId,
    /// The namespace that the memory belongs to.
    pub namespace: Namespace,
    /// Its type.
    pub memory_type: MemoryType,
    /// Its category.
    pub category: String,
    /// Its intended lifetime.
    pub scope: Scope,
    /// Whether the memory is recalled.
    pub status: Status,
    /// Importance of the memory, from 0 to 1.
    pub importance: f64,
    /// Confidence of the memory, from 0 to 1.
    pub confidence: f64,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// The number and times of the memory's uses.
    pub usage: Usage,
    /// Time at which the memory's content was last stated, as far as its evidence shows.
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

/// Column order is what [`outline_from_row`] reads; change both together.
const COLUMNS: &str = "m.id, m.namespace, m.type, m.category, m.scope, m.status, m.importance, m.confidence, m.pinned, \
    u.access_count, u.last_accessed_at, u.tier, u.promotion_count, u.last_promoted_at, u.confirmed_at, m.expires_at, \
    m.deleted_at, m.created_at, m.updated_at";

impl Database {
    /// Returns the outlines of all memories that pass `filter`, by id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn outlines(&self, filter: &Filter) -> Result<Vec<Outline>, StoreError> {
        let clauses = Clauses::of(filter);
        let sql = format!(
            "SELECT {COLUMNS} FROM memories m JOIN memory_usage u ON u.memory_id = m.id WHERE {}",
            clauses.sql()
        );
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(params_from_iter(clauses.values), outline_from_row)?;
            let mut found = found.collect::<Result<Vec<Outline>, _>>()?;
            // Sorting rows of so many columns would take SQLite longer than everything else.
            found.sort_unstable_by(|a, b| a.id.cmp(&b.id));
            Ok(found)
        })
    }
}

fn outline_from_row(row: &Row<'_>) -> rusqlite::Result<Outline> {
    Ok(Outline {
        id: MemoryId::from_stored(row.get::<_, String>(0)?),
        namespace: spelled(row, 1)?,
        memory_type: spelled(row, 2)?,
        category: row.get(3)?,
        scope: spelled(row, 4)?,
        status: spelled(row, 5)?,
        importance: row.get(6)?,
        confidence: row.get(7)?,
        pinned: row.get(8)?,
        usage: Usage {
            access_count: row.get(9)?,
            last_accessed_at: time_or_none(row, 10)?,
            tier: spelled(row, 11)?,
            promotion_count: row.get(12)?,
            last_promoted_at: time_or_none(row, 13)?,
        },
        confirmed_at: time_or_none(row, 14)?,
        expires_at: time_or_none(row, 15)?,
        deleted_at: time_or_none(row, 16)?,
        created_at: time(row, 17)?,
        updated_at: time(row, 18)?,
    })
}

/// Maximum number of memories in the file for each requested one for which it is faster to read the usage of all
/// memories in order than to look each one up.
const READ_THROUGH: usize = 8;

/// The fields of a memory that a brief uses to select memories.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BriefRow {
    /// Id of the memory.
    pub id: MemoryId,
    /// Its type.
    pub memory_type: MemoryType,
    /// Its category.
    pub category: String,
    /// Its intended lifetime.
    pub scope: Scope,
    /// Importance of the memory, from 0 to 1.
    pub importance: f64,
    /// Confidence of the memory, from 0 to 1.
    pub confidence: f64,
    /// Whether a person pinned the memory.
    pub pinned: bool,
    /// Number of times the memory was recalled.
    pub access_count: u32,
    /// Tier of the memory.
    pub tier: Tier,
    /// Time of the memory's last change.
    pub updated_at: Timestamp,
    /// Time at which the memory was last used, confirmed or changed.
    pub last_sure: Timestamp,
}

impl Database {
    /// Returns all memories that pass `filter`, by id.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn brief_rows(&self, filter: &Filter) -> Result<Vec<BriefRow>, StoreError> {
        self.at_once(|db| {
            db.read(|conn| {
                // The query has no join, because looking up each usage costs more than reading both tables in order.
                let found = unused(conn, filter)?;
                // The result is a good estimate of the number of memories, which would take long to count.
                let all: usize =
                    conn.prepare_cached("SELECT ifnull(max(seq), 0) FROM memories")?.query_row((), |row| row.get(0))?;
                if found.len().saturating_mul(READ_THROUGH) >= all {
                    read_through(conn, found)
                } else {
                    look_up(conn, found)
                }
            })
        })
    }
}

/// Returns the memories as if nobody had used them.
fn unused(conn: &Connection, filter: &Filter) -> Result<Vec<BriefRow>, StoreError> {
    let clauses = Clauses::of(filter);
    let sql = format!(
        "SELECT m.id, m.type, m.category, m.scope, m.importance, m.confidence, m.pinned, m.updated_at
         FROM memories m WHERE {}",
        clauses.sql()
    );
    let mut statement = conn.prepare_cached(&sql)?;
    let found = statement.query_map(params_from_iter(clauses.values), |row| {
        let updated_at = time(row, 7)?;
        Ok(BriefRow {
            id: MemoryId::from_stored(row.get::<_, String>(0)?),
            memory_type: spelled(row, 1)?,
            category: row.get(2)?,
            scope: spelled(row, 3)?,
            importance: row.get(4)?,
            confidence: row.get(5)?,
            pinned: row.get(6)?,
            access_count: 0,
            tier: Tier::L4,
            updated_at,
            last_sure: updated_at,
        })
    })?;
    let mut found = found.collect::<Result<Vec<BriefRow>, _>>()?;
    found.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    Ok(found)
}

/// Column order is what [`BriefRow::used`] reads; change both together.
const USE: &str = "SELECT memory_id, access_count, tier, last_accessed_at, confirmed_at FROM memory_usage";

/// Adds the usage of memories; both the memories and the table are in the order of ids. Memories without usage are left
/// out.
fn read_through(conn: &Connection, found: Vec<BriefRow>) -> Result<Vec<BriefRow>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{USE} ORDER BY memory_id"))?;
    let mut rows = statement.query(())?;
    let mut used = Vec::with_capacity(found.len());
    let mut left = found.into_iter().peekable();
    while let Some(row) = rows.next()? {
        let id = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        // Rust and SQLite both compare ids byte by byte, so both sides are in the same order.
        while left.next_if(|glance| glance.id.as_str() < id).is_some() {}
        match left.next_if(|glance| glance.id.as_str() == id) {
            Some(glance) => used.push(glance.used(row)?),
            None if left.peek().is_none() => break,
            None => {}
        }
    }
    Ok(used)
}

/// Adds the usage of memories by looking up one memory after another.
fn look_up(conn: &Connection, found: Vec<BriefRow>) -> Result<Vec<BriefRow>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{USE} WHERE memory_id = ?1"))?;
    let mut used = Vec::with_capacity(found.len());
    for glance in found {
        let mut rows = statement.query([glance.id.as_str()])?;
        if let Some(row) = rows.next()? {
            used.push(glance.used(row)?);
        }
    }
    Ok(used)
}

impl BriefRow {
    fn used(self, row: &Row<'_>) -> rusqlite::Result<Self> {
        let later = time_or_none(row, 3)?.max(time_or_none(row, 4)?);
        let last_sure = later.map_or(self.last_sure, |at| at.max(self.last_sure));
        Ok(Self { access_count: row.get(1)?, tier: spelled(row, 2)?, last_sure, ..self })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Evidence;
    use crate::store::samples::{clean, day, insert, memory, quote, write};
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

#[cfg(test)]
mod tests_of_brief_rows {
    use super::*;
    use crate::changeset::Action;
    use crate::lifecycle::decay::last_sure;
    use crate::memory::{Evidence, Namespace};
    use crate::store::samples::{clean, day, insert, memory, memory_in, quote, write};
    use crate::store::{AccessKind, Outline, Store};
    use transcripts::MessageTime;

    fn of(outline: Outline) -> BriefRow {
        BriefRow {
            last_sure: last_sure(&outline),
            id: outline.id,
            memory_type: outline.memory_type,
            category: outline.category,
            scope: outline.scope,
            importance: outline.importance,
            confidence: outline.confidence,
            pinned: outline.pinned,
            access_count: outline.usage.access_count,
            tier: outline.usage.tier,
            updated_at: outline.updated_at,
        }
    }

    #[test]
    fn a_glance_tells_what_the_outline_does_however_it_is_read() {
        let store = Store::in_memory().unwrap();
        let elsewhere: Namespace = "global".parse().unwrap();
        let all: Vec<_> = (0..40).map(|at| memory(&format!("Tea {at}"), "The user drinks tea.")).collect();
        all.iter().rev().for_each(|one| insert(&store, one));
        let other = memory_in(&elsewhere, "Rust", "The user writes Rust.");
        insert(&store, &other);
        write(&store, |w| w.set_pinned(&all[7].id, true));
        write(&store, |w| w.set_tier(&all[8].id, Tier::L1, Action::Promote, None));
        assert!(store.record_access(&[all[9].id.clone(), other.id.clone()], AccessKind::Read, day(4)));
        let said = Evidence { said_at: Some(MessageTime::logged(day(6))), ..quote("tea") };
        write(&store, |w| w.add_evidence(&all[10].id, &clean(vec![said])));
        let everything = Filter { statuses: Vec::new(), ..Filter::default() };
        for (filter, count) in [(everything, 41), (Filter::exactly(&[elsewhere]), 1)] {
            let expected: Vec<BriefRow> = store.outlines(&filter).unwrap().into_iter().map(of).collect();
            assert_eq!(expected.len(), count);
            assert_eq!(store.brief_rows(&filter).unwrap(), expected);
        }
    }
}
