//! The least that must be known of memories to tell which of them a conversation is told.

use crate::memory::{MemoryId, MemoryType, Scope, Tier};
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::row::{spelled, time, time_or_none};
use crate::store::{Database, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, Row, params_from_iter};

/// Memories of the file for each that is asked for, up to which it is quicker to read the use of all of them in their order
/// than to look each one up.
const READ_THROUGH: usize = 8;

/// What a brief weighs.
#[derive(Debug, Clone, PartialEq)]
pub struct BriefRow {
    /// Which memory.
    pub id: MemoryId,
    /// Its type.
    pub memory_type: MemoryType,
    /// Its category.
    pub category: String,
    /// How long it is meant to live.
    pub scope: Scope,
    /// 0–1, from the memory.
    pub importance: f64,
    /// 0–1, from the memory.
    pub confidence: f64,
    /// Whether a person pinned it.
    pub pinned: bool,
    /// Times it was recalled.
    pub access_count: u32,
    /// Its place in the hierarchy.
    pub tier: Tier,
    /// When it last changed.
    pub updated_at: Timestamp,
    /// When it was last used, confirmed or changed.
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
                let found = unused(conn, filter)?;
                // As good as the number of memories, which it would take long to count.
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

/// Adds the use of memories that are in the order of their ids, as the table is. What has none is left out.
fn read_through(conn: &Connection, found: Vec<BriefRow>) -> Result<Vec<BriefRow>, StoreError> {
    let mut statement = conn.prepare_cached(&format!("{USE} ORDER BY memory_id"))?;
    let mut rows = statement.query(())?;
    let mut used = Vec::with_capacity(found.len());
    let mut left = found.into_iter().peekable();
    while let Some(row) = rows.next()? {
        let id = row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?;
        while left.next_if(|glance| glance.id.as_str() < id).is_some() {}
        match left.next_if(|glance| glance.id.as_str() == id) {
            Some(glance) => used.push(glance.used(row)?),
            None if left.peek().is_none() => break,
            None => {}
        }
    }
    Ok(used)
}

/// Does the same, one memory after another.
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
