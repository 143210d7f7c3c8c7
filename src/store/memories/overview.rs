//! Memories over time: the timeline, and the counts that charts show.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Row, params_from_iter};

use crate::memory::Memory;
use crate::store::memories::filter::{Clauses, Filter, NamespaceSubtree};
use crate::store::memories::row::{MEMORY_COLUMNS, MEMORY_TABLES, MEMORY_WIDTH, memory_from_row};
use crate::store::row::{rows, time_or_none};
use crate::store::{Database, StoreError};

/// Greatest number of memories of a namespace that are sorted rather than found in the order of time.
const SMALL: usize = 2_000;
/// Upper bounds of the classes of use, in times; the last class has none.
pub(crate) const USES: [u32; 3] = [0, 2, 9];
/// Upper bounds of the classes of age, in days; the last class has none.
pub(crate) const AGES: [i64; 4] = [7, 30, 90, 365];

/// Counts of active memories.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryStatistics {
    /// Memories by type.
    pub kinds: BTreeMap<String, usize>,
    /// Memories by category.
    pub categories: BTreeMap<String, usize>,
    /// Memories by namespace.
    pub namespaces: BTreeMap<String, usize>,
    /// Number of memories learnt on each day since 1970 in UTC.
    pub learnt: BTreeMap<i64, usize>,
    /// Number of memories in each class of use: never, up to each of [`USES`], and more.
    pub uses: [usize; USES.len() + 1],
    /// Number of memories in each class of age, in days since they were last said or, if that is unknown, learnt: up to
    /// each of [`AGES`], and more.
    pub ages: [usize; AGES.len() + 1],
}

impl Database {
    /// Returns at most `limit` memories after the first `offset`, the most recently said first, each with the time at
    /// which it was said. If this time is unknown, the time at which the memory was learnt determines the order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn list_by_time_said(
        &self,
        filter: &Filter,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<(Memory, Option<Timestamp>)>, StoreError> {
        let clauses = Clauses::of(filter);
        let (conditions, enough) = (clauses.sql(), rows(limit.saturating_add(offset)));
        // The last said are read in the order of an index, except in a small namespace, which has an index of its own.
        let is_small = match filter.namespaces.as_slice() {
            [NamespaceSubtree::Exactly(namespace)] => !self.holds_more_than(namespace, SMALL)?,
            _ => false,
        };
        let tables =
            if is_small { MEMORY_TABLES } else { "memory_usage u CROSS JOIN memories m ON m.id = u.memory_id" };
        let branch = |known: &str, at: &str, order: &str| {
            format!(
                "SELECT * FROM (SELECT m.seq, m.id, {at} AS at FROM {tables} WHERE {conditions} AND u.confirmed_at {known}
                 ORDER BY {order} LIMIT {enough})"
            )
        };
        let said = branch("IS NOT NULL", "u.confirmed_at", "u.confirmed_at DESC, u.memory_id DESC");
        // Ids begin with the time at which a memory was learnt, and are in the same index.
        let others = branch("IS NULL", "m.created_at", "u.memory_id DESC");
        let sql = format!(
            "SELECT {MEMORY_COLUMNS}, u.confirmed_at FROM {MEMORY_TABLES} WHERE m.seq IN
                 (SELECT seq FROM ({said} UNION ALL {others}) ORDER BY at DESC, id DESC LIMIT {} OFFSET {})
             ORDER BY ifnull(u.confirmed_at, m.created_at) DESC, m.id DESC",
            rows(limit),
            rows(offset),
        );
        let read = |row: &Row<'_>| Ok((memory_from_row(row)?, time_or_none(row, MEMORY_WIDTH)?));
        let values = clauses.values.iter().chain(&clauses.values);
        self.query_all(&sql, params_from_iter(values), read)
    }

    /// Returns numbers that differ after every change of memories, and after every run that begins or ends. Uses of
    /// memories do not change them.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn state(&self) -> Result<(i64, i64, i64), StoreError> {
        let sql = "SELECT (SELECT ifnull(max(id), 0) FROM history), count(*), ifnull(max(finished_at), 0) FROM runs";
        self.query_only(sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
    }

    /// Returns the memories that pass `filter` and were never used, the most important first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn never_used(&self, filter: &Filter, limit: usize) -> Result<Vec<Memory>, StoreError> {
        let clauses = Clauses::of(filter);
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.seq IN
                 (SELECT m.seq FROM {MEMORY_TABLES} WHERE {} AND u.access_count = 0
                  ORDER BY m.importance DESC, m.id LIMIT {}) ORDER BY m.importance DESC, m.id",
            clauses.sql(),
            rows(limit),
        );
        self.memories(&sql, clauses)
    }

    /// Counts the memories that pass `filter`, as of `now`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn figures(&self, filter: &Filter, now: Timestamp) -> Result<MemoryStatistics, StoreError> {
        const DAY: i64 = 86_400_000;
        let clauses = Clauses::of(filter);
        // The rows are read in one pass; grouping in SQL would sort them once for each count.
        let sql = format!(
            "SELECT m.type, m.category, m.namespace, m.created_at, u.access_count, ifnull(u.confirmed_at, m.created_at)
             FROM {MEMORY_TABLES} WHERE {}",
            clauses.sql()
        );
        let mut figures = MemoryStatistics::default();
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let mut found = statement.query(params_from_iter(clauses.values))?;
            while let Some(row) = found.next()? {
                for (counts, column) in
                    [(&mut figures.kinds, 0), (&mut figures.categories, 1), (&mut figures.namespaces, 2)]
                {
                    let name = row.get_ref(column)?.as_str().map_err(rusqlite::Error::from)?;
                    match counts.get_mut(name) {
                        Some(count) => *count += 1,
                        None => drop(counts.insert(name.to_owned(), 1)),
                    }
                }
                *figures.learnt.entry(row.get::<_, i64>(3)?.div_euclid(DAY)).or_default() += 1;
                let (uses, age): (u32, i64) =
                    (row.get(4)?, (now.as_millisecond() - row.get::<_, i64>(5)?).div_euclid(DAY));
                figures.uses[USES.iter().filter(|most| uses > **most).count()] += 1;
                figures.ages[AGES.iter().filter(|most| age > **most).count()] += 1;
            }
            Ok(())
        })?;
        Ok(figures)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Evidence;
    use crate::store::Store;
    use crate::store::samples::{clean, day, insert, memory, quote, write};
    use transcripts::MessageTime;

    #[test]
    fn what_was_said_last_comes_first_and_what_has_no_quote_goes_by_its_day() {
        let store = Store::in_memory().unwrap();
        let (old, new, by_hand) = (memory("a", "Said early."), memory("b", "Said late."), memory("c", "By hand."));
        let said = |text: &str, at| Evidence { said_at: Some(MessageTime::logged(day(at))), ..quote(text) };
        for (memory, quotes) in [(&old, vec![said("early", -9)]), (&new, vec![said("late", 9), said("early too", -8)])]
        {
            write(&store, |w| w.insert(&clean(memory.clone()), &clean(quotes)));
        }
        insert(&store, &by_hand);
        let listed = store.list_by_time_said(&Filter::default(), 9, 0).unwrap();
        let listed: Vec<_> = listed.into_iter().map(|(memory, said)| (memory.claim.title, said)).collect();
        assert_eq!(listed, [("b".into(), Some(day(9))), ("c".into(), None), ("a".into(), Some(day(-9)))]);
        assert_eq!(store.list_by_time_said(&Filter::default(), 1, 2).unwrap()[0].0.claim.title, "a");
        let figures = store.figures(&Filter::default(), day(20)).unwrap();
        assert_eq!((figures.uses, figures.ages), ([3, 0, 0, 0], [0, 3, 0, 0, 0]));
        assert_eq!(figures.learnt.values().sum::<usize>(), 3);
        let state = store.state().unwrap();
        assert_eq!(store.state().unwrap(), state);
        write(&store, |w| w.set_pinned(&old.id, true));
        assert_ne!(store.state().unwrap(), state);
        assert_eq!(store.never_used(&Filter::default(), 2).unwrap().len(), 2);
    }
}
