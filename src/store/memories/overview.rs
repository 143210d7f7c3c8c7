//! Memories over time: the timeline, and the counts that charts show.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Row, params, params_from_iter};

use crate::memory::{Memory, MemoryId};
use crate::store::memories::filter::{Clauses, Filter, NamespaceSubtree};
use crate::store::memories::row::{MEMORY_COLUMNS, MEMORY_TABLES, MEMORY_WIDTH, memory_from_row};
use crate::store::row::{rows, time_or_none};
use crate::store::{Database, StoreError};

/// Maximum number of memories of a namespace that are sorted rather than read in chronological order from an index.
const SMALL: usize = 2_000;
/// Upper bounds of the usage classes, in number of uses, as in the schema; the last class has no upper bound.
pub(crate) const USES: [u32; 3] = [0, 2, 9];
/// Upper bounds of the age classes, in days; the last class has no upper bound.
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
    /// Number of memories in each usage class: never, up to each of [`USES`], and more.
    pub uses: [usize; USES.len() + 1],
    /// Number of memories in each age class, in days since they were last said or, if that is unknown, changed: up to
    /// each of [`AGES`], and more. Days begin in UTC.
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
        // An index returns the most recently said memories first, but in a small namespace, sorting all memories is
        // faster.
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

    /// Returns the active memories of these namespaces that were never used, the most important first, and of equally
    /// important ones the newest.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn never_used(&self, namespaces: &[NamespaceSubtree], limit: usize) -> Result<Vec<Memory>, StoreError> {
        // Each namespace has its own part of the index, which is read backwards: the most important memories come
        // first, and the newest of equally important ones.
        let sql = "SELECT traits / 21 % 21, memory_id FROM memory_usage INDEXED BY memory_usage_unused
            WHERE namespace = ?1 AND access_count = 0 ORDER BY traits / 21 % 21 DESC, memory_id DESC LIMIT ?2";
        let mut unused: Vec<Reverse<(i64, String)>> = Vec::new();
        for (namespace, _) in self.active_by_namespace(namespaces)? {
            unused.extend(
                self.query_all(sql, params![namespace, rows(limit)], |row| Ok(Reverse((row.get(0)?, row.get(1)?))))?,
            );
        }
        unused.sort();
        unused.truncate(limit);
        let found = unused.into_iter().map(|Reverse((_, id))| self.find(&MemoryId::from_stored(id)));
        Ok(found.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Returns the number of active memories in each of these namespaces that has any; all of them if the list is empty.
    fn active_by_namespace(&self, namespaces: &[NamespaceSubtree]) -> Result<BTreeMap<String, usize>, StoreError> {
        let clauses = Clauses::within_alone(&Filter { namespaces: namespaces.to_vec(), ..Filter::default() });
        let sql = format!(
            "SELECT m.namespace, m.count FROM memory_counts m WHERE m.of = 'status' AND m.name = 'active' AND {}",
            clauses.sql()
        );
        let counts = self.query_all(&sql, params_from_iter(clauses.values), |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(counts.into_iter().collect())
    }

    /// Returns counts of the active memories of these namespaces, as of `now`; of all namespaces if the list is empty.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn figures(
        &self,
        namespaces: &[NamespaceSubtree],
        now: Timestamp,
    ) -> Result<MemoryStatistics, StoreError> {
        const DAY: i64 = 86_400_000;
        let mut figures =
            MemoryStatistics { namespaces: self.active_by_namespace(namespaces)?, ..MemoryStatistics::default() };
        let clauses = Clauses::within_alone(&Filter { namespaces: namespaces.to_vec(), ..Filter::default() });
        let sql = format!(
            "SELECT m.of, m.name, sum(m.count) FROM memory_counts m
             WHERE m.of IN ('type', 'category', 'learnt', 'uses', 'said') AND {} GROUP BY 1, 2",
            clauses.sql()
        );
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let mut found = statement.query(params_from_iter(clauses.values))?;
            while let Some(row) = found.next()? {
                let count: usize = row.get(2)?;
                match row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)? {
                    "type" => drop(figures.kinds.insert(row.get(1)?, count)),
                    "category" => drop(figures.categories.insert(row.get(1)?, count)),
                    "learnt" => drop(figures.learnt.insert(row.get(1)?, count)),
                    "uses" => figures.uses[row.get::<_, usize>(1)?.min(USES.len())] += count,
                    _ => {
                        let age = now.as_millisecond() / DAY - row.get::<_, i64>(1)?;
                        figures.ages[AGES.iter().filter(|most| age > **most).count()] += count;
                    }
                }
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
    use crate::store::testing::{clean, day, insert, memory, quote, write};
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
        let figures = store.figures(&[], day(20)).unwrap();
        assert_eq!((figures.uses, figures.ages), ([3, 0, 0, 0], [0, 3, 0, 0, 0]));
        assert_eq!(figures.learnt.values().sum::<usize>(), 3);
        let state = store.state().unwrap();
        assert_eq!(store.state().unwrap(), state);
        write(&store, |w| w.set_pinned(&old.id, true));
        assert_ne!(store.state().unwrap(), state);
        assert_eq!(store.never_used(&[], 2).unwrap().len(), 2);
        for (at, uses) in [(&old.id, 3), (&new.id, 12)] {
            (0..uses).for_each(|_| assert!(store.record_use(std::slice::from_ref(at), day(20))));
        }
        let figures = store.figures(&[], day(20)).unwrap();
        assert_eq!((figures.uses, figures.ages), ([1, 0, 1, 1], [0, 3, 0, 0, 0]));
        assert_eq!(store.never_used(&[], 9).unwrap(), [store.memory(&by_hand.id).unwrap()]);
        write(&store, |w| w.purge(&new.id));
        assert_eq!(store.figures(&[], day(20)).unwrap().uses, [1, 0, 1, 0]);
        assert_eq!((store.count(&Filter::default()).unwrap(), store.check().unwrap().flaws), (2, vec![]));
        assert_eq!(
            store.figures(&[NamespaceSubtree::Under("user".parse().unwrap())], day(20)).unwrap(),
            MemoryStatistics::default()
        );
    }
}
