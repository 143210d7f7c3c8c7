//! Reversing a run: exactly its changes, last first, from the history.
//!
//! What somebody else changed since is left as it is and named, together with what the run linked it to, since half
//! of a replacement undone would leave both memories recalled, or neither. The windows of the run stay applied: the
//! next run does not silently do the same again. To redo it, call [`Store::reopen_windows`] and apply.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use rusqlite::params;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::history::{Entity, HistoryEntry};
use super::runs::{RunId, RunStatus};
use super::tombstones::Tombstone;
use super::{Database, Store, StoreError, Writer, evidence, relations, row, tombstones};
use crate::memory::{Evidence, Memory, MemoryId, Relation};

/// What an undo did, by memory, in the order of their ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// As they were before the run.
    pub restored: Vec<MemoryId>,
    /// Made by the run, and gone.
    pub removed: Vec<MemoryId>,
    /// Left as they are.
    pub kept: Vec<Kept>,
}

/// A memory that an undo left as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Kept {
    /// The memory.
    pub memory: MemoryId,
    /// Why.
    pub because: KeptBecause,
}

/// Why an undo left a memory as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum KeptBecause {
    /// Somebody changed it after the run did.
    #[error("it was changed after the run")]
    ChangedSince,
    /// The run linked it to one that was changed since.
    #[error("the run linked it to a memory that was changed after the run")]
    LinkedToChanged,
    /// It was purged, and its history with it.
    #[error("it was purged since")]
    Purged,
}

impl Store {
    /// Reverses every change of a run that nobody built upon since, in one transaction.
    ///
    /// Undoing again reverses what was kept the first time, as far as nothing stands in the way any more.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`], [`StoreError::RunInProgress`], or [`StoreError::RunUndone`] if nothing is left.
    pub fn undo_run(&self, run: &RunId, now: Timestamp) -> Result<Undone, StoreError> {
        self.write(None, now, |w| {
            let state = w.run(run.as_str())?;
            if state.is_alive(now) {
                return Err(StoreError::RunInProgress { id: run.to_string() });
            }
            let entries: Vec<_> = w.history_of_run(run)?.into_iter().filter(|entry| !entry.undone).collect();
            if entries.is_empty() && state.status == RunStatus::Undone {
                return Err(StoreError::RunUndone { id: run.to_string() });
            }
            let kept = kept(w, run, &entries)?;
            let undone = w.reverse_all(&entries, kept)?;
            w.forget_merges(run)?;
            let left: Vec<MemoryId> = undone.kept.iter().map(|kept| kept.memory.clone()).collect();
            w.forget_settled(run, &left)?;
            w.read(|conn| {
                let values = params![run.as_str(), w.now.as_millisecond()];
                conn.execute(
                    "UPDATE runs SET status = 'undone', finished_at = ifnull(finished_at, ?2) WHERE id = ?1",
                    values,
                )?;
                Ok(())
            })?;
            Ok(undone)
        })
    }
}

/// Returns the memories of the run that must stay as they are.
fn kept(w: &Writer<'_>, run: &RunId, entries: &[HistoryEntry]) -> Result<BTreeMap<MemoryId, KeptBecause>, StoreError> {
    let mut first_touch: BTreeMap<&MemoryId, i64> = BTreeMap::new();
    for entry in entries {
        for memory in std::iter::once(&entry.memory).chain(&entry.other) {
            first_touch.entry(memory).or_insert(entry.id);
        }
    }
    let mut kept = BTreeMap::new();
    for (memory, since) in first_touch {
        if changed_since(w, run, memory, since)? {
            kept.insert(memory.clone(), KeptBecause::ChangedSince);
        }
    }
    for entry in entries.iter().filter(|entry| is_purged(entry)) {
        kept.insert(entry.memory.clone(), KeptBecause::Purged);
    }
    let held = links_of_moved(w, entries)?;
    let links = entries.iter().filter_map(|entry| Some((&entry.memory, entry.other.as_ref()?)));
    let links: Vec<_> = links.chain(held.iter().map(|link| (&link.from, &link.to))).collect();
    loop {
        let reached = kept.len();
        for (from, to) in &links {
            for (one, other) in [(*from, *to), (*to, *from)] {
                if kept.contains_key(one) && !kept.contains_key(other) {
                    kept.insert(other.clone(), KeptBecause::LinkedToChanged);
                }
            }
        }
        if kept.len() == reached {
            return Ok(kept);
        }
    }
}

/// Returns the links of memories that the run moved to another namespace: what is linked goes back together, or stays.
fn links_of_moved(db: &Database, entries: &[HistoryEntry]) -> Result<Vec<Relation>, StoreError> {
    let place = |value: &Option<Value>| value.as_ref().and_then(|value| value.get("namespace").cloned());
    let moved = entries.iter().filter(|entry| {
        let (before, after) = (place(&entry.before), place(&entry.after));
        before.is_some() && after.is_some() && before != after && entry.entity == Entity::Memory
    });
    let links: Vec<_> = moved.map(|entry| db.relations(&entry.memory)).collect::<Result<_, _>>()?;
    Ok(links.into_iter().flatten().collect())
}

/// Whether the memory itself is gone for good; of a link with a purged memory at its other end, nothing is left to do.
fn is_purged(entry: &HistoryEntry) -> bool {
    entry.entity == Entity::Memory && entry.before.is_none() && entry.after.is_none()
}

fn changed_since(w: &Writer<'_>, run: &RunId, memory: &MemoryId, since: i64) -> Result<bool, StoreError> {
    w.read(|conn| {
        let changed = |column: &str| {
            let sql = format!(
                "SELECT EXISTS (SELECT 1 FROM history WHERE {column} = ?1 AND id > ?2 AND undone = 0 AND run_id IS NOT ?3)"
            );
            let values = params![memory.as_str(), since, run.as_str()];
            conn.prepare_cached(&sql)?.query_row(values, |row| row.get::<_, bool>(0))
        };
        Ok(changed("memory_id")? || changed("other_id")?)
    })
}

impl Writer<'_> {
    fn reverse_all(
        &self,
        entries: &[HistoryEntry],
        kept: BTreeMap<MemoryId, KeptBecause>,
    ) -> Result<Undone, StoreError> {
        let mut touched = BTreeSet::new();
        for entry in entries.iter().rev().filter(|entry| !kept.contains_key(&entry.memory)) {
            self.reverse(entry)?;
            touched.extend(std::iter::once(&entry.memory).chain(&entry.other).cloned());
        }
        let mut undone = Undone {
            kept: kept.into_iter().map(|(memory, because)| Kept { memory, because }).collect(),
            ..Undone::default()
        };
        for memory in touched {
            if self.find(&memory)?.is_some() {
                self.index(&memory)?;
                undone.restored.push(memory);
            } else {
                undone.removed.push(memory);
            }
        }
        Ok(undone)
    }

    fn reverse(&self, entry: &HistoryEntry) -> Result<(), StoreError> {
        let id = &entry.memory;
        self.bump(id)?;
        match entry.entity {
            Entity::Memory => self.reverse_memory(entry)?,
            Entity::Evidence => {
                let (before, after) = sides::<Evidence>(entry)?;
                if let Some(piece) = after {
                    self.read(|conn| evidence::delete_row(conn, id, &piece))?;
                }
                if let Some(piece) = before {
                    self.read(|conn| evidence::insert_row(conn, id, &piece))?;
                }
            }
            Entity::Relation => {
                let (before, after) = sides::<Relation>(entry)?;
                if let Some(relation) = after {
                    self.read(|conn| relations::delete_row(conn, &relation))?;
                }
                if let Some(relation) = before {
                    self.read(|conn| relations::insert_row(conn, &relation))?;
                }
            }
            Entity::Tombstone => {
                let (before, after) = sides::<Tombstone>(entry)?;
                if after.is_some() {
                    self.read(|conn| tombstones::delete_row(conn, id))?;
                }
                if let Some(tombstone) = before {
                    self.read(|conn| tombstones::insert_row(conn, &tombstone))?;
                }
            }
        }
        self.note_reversal(entry)?;
        self.bump(id)
    }

    fn reverse_memory(&self, entry: &HistoryEntry) -> Result<(), StoreError> {
        let (before, _) = sides::<Memory>(entry)?;
        self.read(|conn| match before {
            Some(memory) => row::put_memory(conn, &memory),
            None => row::delete_memory(conn, &entry.memory).map(drop),
        })
    }

    /// Marks the line as undone and adds its mirror image, which counts as undone as well: neither stands in the
    /// way of undoing what came before.
    fn note_reversal(&self, entry: &HistoryEntry) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("UPDATE history SET undone = 1 WHERE id = ?1")?.execute([entry.id])?;
            conn.prepare_cached(
                "INSERT INTO history (run_id, memory_id, other_id, at, action, entity, before, after, reason, undone)
                 SELECT NULL, memory_id, other_id, ?2, 'undo', entity, after, before, 'undo of run ' || run_id, 1
                 FROM history WHERE id = ?1",
            )?
            .execute(params![entry.id, self.now.as_millisecond()])?;
            Ok(())
        })
    }
}

/// Returns what a line of history says was there before and after.
fn sides<T: DeserializeOwned>(entry: &HistoryEntry) -> Result<(Option<T>, Option<T>), StoreError> {
    let read = |value: &Option<Value>| {
        value.clone().map(serde_json::from_value).transpose().map_err(StoreError::bad(format!("history {}", entry.id)))
    };
    Ok((read(&entry.before)?, read(&entry.after)?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::samples::{candidate, clean, day, insert, memory, quote, relation, transcript};
    use super::super::snapshot::snapshot;
    use super::super::{Claimed, Finished, WindowKey};
    use super::*;
    use crate::extract::{Outcome, Spent};
    use crate::memory::{RelationType, Status};

    fn begin(store: &Store, what: &str) -> RunId {
        store.begin_run(what, &json!([]), day(0)).unwrap().id
    }

    fn end(store: &Store, run: &RunId) {
        store.finish_run(run, RunStatus::Finished, &json!({}), day(2)).unwrap();
    }

    /// Does everything that a writer can do to two known memories and a new one.
    fn everything(w: &Writer<'_>, tea: &Memory, milk: &Memory, new: &Memory) -> Result<(), StoreError> {
        w.insert(&clean(new.clone()), &clean(vec![quote("coffee please")]))?;
        w.add_evidence(&new.id, &clean(vec![quote("an espresso")]))?;
        let mut merged = tea.clone();
        merged.claim.content = "The user drinks green tea.".into();
        merged.claim.tags = vec!["drink".into()];
        merged.claim.importance = 0.123_456_7;
        merged.namespace = "global".parse().unwrap();
        w.update(&clean(merged), "merge", Some("richer"))?;
        w.add_evidence(&tea.id, &clean(vec![quote("green tea")]))?;
        w.relate(&relation(&new.id, RelationType::Supersedes, &tea.id))?;
        w.relate(&relation(&tea.id, RelationType::Related, &milk.id))?;
        w.unrelate(&tea.id, RelationType::Supports, &milk.id)?;
        w.set_status(&tea.id, Status::Superseded, "supersede", None)?;
        w.set_pinned(&milk.id, true)?;
        w.set_confidence(&milk.id, 0.333_333_3, "decay", None)?;
        w.tombstone(&milk.id, Some("wrong"))?;
        w.set_status(&milk.id, Status::Forgotten, "forget", Some("wrong"))?;
        Ok(())
    }

    #[test]
    fn undo_leaves_the_file_as_it_was() {
        let store = Store::in_memory().unwrap();
        let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
        insert(&store, &tea);
        insert(&store, &milk);
        store.write(None, day(0), |w| w.relate(&relation(&tea.id, RelationType::Supports, &milk.id))).unwrap();
        let before = snapshot(&store);
        let run = begin(&store, "run");
        let new = memory("Coffee", "The user drinks coffee.");
        store.write(Some(&run), day(1), |w| everything(w, &tea, &milk, &new)).unwrap();
        end(&store, &run);
        assert_ne!(snapshot(&store), before);
        let undone = store.undo_run(&run, day(3)).unwrap();
        assert_eq!(snapshot(&store), before);
        let restored = vec![tea.id.clone(), milk.id.clone()];
        assert_eq!(undone, Undone { restored, removed: vec![new.id.clone()], kept: vec![] });
        assert_eq!(store.runs(1).unwrap()[0].status, RunStatus::Undone);
        assert!(matches!(store.undo_run(&run, day(4)), Err(StoreError::RunUndone { .. })));
        assert_eq!(store.history(&new.id).unwrap().last().unwrap().action, "undo");
    }

    #[test]
    fn history_replays_to_the_state_of_the_file() {
        let store = Store::in_memory().unwrap();
        let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
        let new = memory("Coffee", "The user drinks coffee.");
        insert(&store, &tea);
        insert(&store, &milk);
        store.write(None, day(1), |w| everything(w, &tea, &milk, &new)).unwrap();
        for id in [&tea.id, &milk.id, &new.id] {
            let mut last = None;
            let mut evidence: Vec<Evidence> = Vec::new();
            for entry in store.history(id).unwrap().into_iter().filter(|entry| entry.memory == *id) {
                match entry.entity {
                    Entity::Memory => {
                        assert_eq!(entry.before, last, "{}", entry.action);
                        last = entry.after;
                    }
                    Entity::Evidence => evidence.push(serde_json::from_value(entry.after.unwrap()).unwrap()),
                    Entity::Relation | Entity::Tombstone => {}
                }
            }
            assert_eq!(serde_json::from_value::<Memory>(last.unwrap()).unwrap(), store.memory(id).unwrap());
            assert_eq!(evidence, store.evidence(id).unwrap());
        }
    }

    #[test]
    fn what_was_changed_since_is_kept_and_named_with_what_it_is_linked_to() {
        let store = Store::in_memory().unwrap();
        let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
        insert(&store, &tea);
        insert(&store, &milk);
        let (first, second) = (begin(&store, "first"), begin(&store, "second"));
        let coffee = memory("Coffee", "The user drinks coffee.");
        store
            .write(Some(&first), day(1), |w| {
                w.insert(&clean(coffee.clone()), &clean(vec![]))?;
                w.relate(&relation(&coffee.id, RelationType::Supersedes, &tea.id))?;
                w.set_status(&tea.id, Status::Superseded, "supersede", None)?;
                w.set_pinned(&milk.id, true)
            })
            .unwrap();
        store.write(Some(&second), day(1), |w| w.add_evidence(&coffee.id, &clean(vec![quote("coffee")]))).unwrap();
        end(&store, &first);
        end(&store, &second);
        let undone = store.undo_run(&first, day(2)).unwrap();
        let mut kept = vec![
            Kept { memory: tea.id.clone(), because: KeptBecause::LinkedToChanged },
            Kept { memory: coffee.id.clone(), because: KeptBecause::ChangedSince },
        ];
        kept.sort_by(|a, b| a.memory.cmp(&b.memory));
        assert_eq!(undone, Undone { restored: vec![milk.id.clone()], removed: vec![], kept });
        assert_eq!(store.memory(&tea.id).unwrap().status, Status::Superseded);

        store.undo_run(&second, day(3)).unwrap();
        let undone = store.undo_run(&first, day(4)).unwrap();
        assert_eq!(undone, Undone { restored: vec![tea.id.clone()], removed: vec![coffee.id.clone()], kept: vec![] });
        assert_eq!(store.memory(&tea.id).unwrap(), tea);
    }

    #[test]
    fn a_run_that_is_going_is_not_undone_and_an_unknown_one_is_an_error() {
        let store = Store::in_memory().unwrap();
        let run = begin(&store, "run");
        assert!(matches!(store.undo_run(&run, day(0)), Err(StoreError::RunInProgress { .. })));
        assert!(matches!(
            store.undo_run(&RunId::from_stored("no-such-run"), day(0)),
            Err(StoreError::UnknownRun { .. })
        ));
    }

    #[test]
    fn windows_stay_applied_until_they_are_reopened() {
        let store = Store::in_memory().unwrap();
        let run = begin(&store, "run");
        let transcript = store.transcript_seen(&clean(transcript("t")), &"global".parse().unwrap(), day(0)).unwrap();
        let key = WindowKey { transcript, extractor: "rules:1".into(), start: 0, len: 2, content_hash: "h".into() };
        let Claimed::Yes(window) = store.claim_window(&key, "me", day(1), day(0)).unwrap() else { panic!() };
        let candidates = clean(vec![candidate("The user drinks tea.")]);
        let spent = Spent::default();
        let finished =
            Finished { outcome: Outcome::Ok, candidates: &candidates, dropped: &[], spent, error: None, lacks: false };
        store.finish_window(window, "me", &finished, day(0)).unwrap();
        store.write(Some(&run), day(0), |w| w.mark_windows_applied(&[window])).unwrap();
        end(&store, &run);
        store.undo_run(&run, day(1)).unwrap();
        assert_eq!(store.pending_windows(9).unwrap(), []);
        assert_eq!(store.reopen_windows(&run).unwrap(), 1);
        assert_eq!(store.pending_windows(9).unwrap()[0].candidates, *candidates);
    }
}
