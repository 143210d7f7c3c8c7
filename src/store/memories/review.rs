//! The decisions of a person: forgetting and restoring memories, reviewing the inbox, and tombstones of rejected
//! values.

use jiff::Timestamp;
use rusqlite::{Connection, Row as SqlRow, params};
use serde::Serialize;

use crate::changeset::{Action, Row, Tombstone};
use crate::guard::{CleanText, reason_to_wait};
use crate::memory::{Claim, Evidence, Memory, MemoryId, Namespace, Relation, RelationType, Status};
use crate::store::memories::filter::{Filter, Order};
use crate::store::row::from_row;
use crate::store::{Database, StoreError, Writer};
use crate::text::normalise::normalised_hash;

/// Start of the source of a memory that a person promoted to a team; their name follows.
pub(crate) const PROMOTED_BY: &str = "promoted by ";

impl Writer<'_> {
    /// Forgets a memory and prevents it from being learnt again; returns `false` if it was already forgotten. The
    /// memory can be restored until it is purged.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub fn forget(&self, id: &MemoryId, reason: Option<CleanText<'_>>) -> Result<bool, StoreError> {
        let forgotten = self.set_status(id, Status::Forgotten, Action::Forget, reason)?;
        self.tombstone(id, reason)?;
        Ok(forgotten)
    }

    /// Makes a memory of any status active again, and allows it to be learnt again. Returns whether the memory was
    /// inactive. An expiry time in the past is removed, because maintenance would otherwise expire the memory again. A
    /// superseded memory is no longer marked as superseded, and the end of its validity is removed.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub fn restore(&self, id: &MemoryId, reason: Option<CleanText<'_>>) -> Result<bool, StoreError> {
        // The tombstone is removed even for an active memory, because the tombstone would prevent new evidence from
        // being learnt.
        self.lift_tombstone(id)?;
        let mut memory = self.memory(id)?;
        if memory.status == Status::Active {
            return Ok(false);
        }
        if memory.status == Status::Superseded {
            memory.claim.valid_to = None;
            for link in self.relations(id)? {
                if link.relation_type == RelationType::Supersedes && link.to == *id {
                    self.unrelate(&link.from, RelationType::Supersedes, id)?;
                }
            }
        }
        memory.claim.expires_at = memory.claim.expires_at.filter(|at| *at > self.now);
        self.replace(
            Memory { status: Status::Active, deleted_at: None, updated_at: self.now, ..memory },
            Action::Restore,
            reason,
        )
    }
}

/// A memory in the inbox, with the information that a person needs to judge it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waiting {
    /// The memory, which is pending, or active and linked as contradicting another active memory.
    pub memory: Memory,
    /// The reason why the memory waits; `None` if an older version added it to the inbox.
    pub reason: Option<String>,
    /// The evidence that the memory is based on.
    pub evidence: Vec<Evidence>,
    /// Active memories that the memory would replace.
    pub replaces: Vec<Memory>,
}

impl Database {
    /// Returns the undecided memories that pass `filter`, oldest first; the status in the filter is ignored.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn waiting(&self, filter: &Filter) -> Result<Vec<Waiting>, StoreError> {
        let filter = Filter { statuses: Vec::new(), undecided: true, ..filter.clone() };
        let memories = self.list(&filter, Order::Id, usize::MAX, 0)?;
        memories.into_iter().map(|memory| self.waiting_one(memory)).collect()
    }

    fn waiting_one(&self, memory: Memory) -> Result<Waiting, StoreError> {
        let evidence = self.evidence(&memory.id)?;
        let reason = if memory.status == Status::Active {
            let links = self.relations(&memory.id)?.into_iter();
            let mut conflicts =
                links.filter(|link| link.from == memory.id && link.relation_type == RelationType::Contradicts);
            let reason = conflicts.find_map(|link| link.reason);
            Some(reason.unwrap_or_else(|| "it contradicts another memory".to_owned()))
        } else {
            // On other machines, the history names only the machine from which the memory came.
            let by_member = memory.source.starts_with(PROMOTED_BY).then(|| memory.source.clone());
            let made = self.history(&memory.id)?.into_iter().find(|entry| entry.memory == memory.id);
            // Imports of older versions recorded no reason.
            let why = || reason_to_wait(&memory.claim, &evidence).reason().to_owned();
            by_member.or_else(|| made.and_then(|entry| entry.reason)).or_else(|| Some(why()))
        };
        let replaces = self.would_replace(&memory)?;
        Ok(Waiting { memory, reason, evidence, replaces })
    }

    /// Returns the active memories that a memory contradicts or, if it is pending, refines.
    fn would_replace(&self, memory: &Memory) -> Result<Vec<Memory>, StoreError> {
        let takes_place = |link: &Relation| match link.relation_type {
            RelationType::Contradicts => true,
            RelationType::Refines => memory.status == Status::Pending,
            _ => false,
        };
        let links = self.relations(&memory.id)?.into_iter().filter(|link| link.from == memory.id && takes_place(link));
        let found: Vec<_> = links.map(|link| self.memory(&link.to)).collect::<Result<_, _>>()?;
        Ok(found.into_iter().filter(|memory| memory.status == Status::Active).collect())
    }
}

impl Writer<'_> {
    /// Makes a pending memory active. Memories that the accepted memory contradicts or refines are superseded, even
    /// pinned memories, because a person has decided. Returns the superseded memories.
    ///
    /// # Errors
    /// [`StoreError::NotWaiting`] if the memory is decided; [`StoreError::UnknownMemory`] if it does not exist.
    pub fn accept(&self, id: &MemoryId) -> Result<Vec<MemoryId>, StoreError> {
        let memory = self.waiting_memory(id)?;
        let from = memory.claim.valid_from.unwrap_or(self.now);
        let mut superseded = Vec::new();
        for known in self.would_replace(&memory)? {
            self.supersede(id, known.clone(), from)?;
            superseded.push(known.id);
        }
        self.set_status(id, Status::Active, Action::Accept, Some("by hand".into()))?;
        Ok(superseded)
    }

    /// Forgets an undecided memory, and prevents it from being learnt again.
    ///
    /// # Errors
    /// [`StoreError::NotWaiting`] if the memory is decided; [`StoreError::UnknownMemory`] if it does not exist.
    pub fn reject(&self, id: &MemoryId, reason: Option<CleanText<'_>>) -> Result<(), StoreError> {
        self.waiting_memory(id)?;
        self.forget(id, reason).map(drop)
    }

    fn waiting_memory(&self, id: &MemoryId) -> Result<Memory, StoreError> {
        let memory = self.memory(id)?;
        let waits = match memory.status {
            Status::Pending => true,
            Status::Active => !self.would_replace(&memory)?.is_empty(),
            _ => false,
        };
        if waits { Ok(memory) } else { Err(StoreError::NotWaiting { id: id.to_string() }) }
    }

    fn supersede(&self, by: &MemoryId, known: Memory, from: Timestamp) -> Result<(), StoreError> {
        let to = known.id.clone();
        let mut after = Memory { status: Status::Superseded, updated_at: self.now, ..known };
        // A known end of validity is more accurate than the time of the decision.
        after.claim.valid_to = after.claim.valid_to.or(Some(from));
        self.replace(after, Action::Supersede, Some("accepted from the inbox".into()))?;
        let reason = Some("accepted from the inbox".to_owned());
        let link =
            Relation { from: by.clone(), to, relation_type: RelationType::Supersedes, reason, created_at: self.now };
        self.relate(&link).map(drop)
    }
}

const COLUMNS: &str = "memory_id, namespace, content_hash, key, value_hash, reason, at";

impl Database {
    /// Returns why a claim must not be learnt again: it has the same words as a rejected claim, or the same key and
    /// value.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn rejected(
        &self,
        namespace: &Namespace,
        content: &str,
        attribute: Option<(&str, &str)>,
    ) -> Result<Option<Tombstone>, StoreError> {
        let (key, value) = attribute.unzip();
        let sql = format!(
            "SELECT {COLUMNS} FROM tombstones WHERE namespace = ?1
                 AND (content_hash = ?2 OR (key = ?3 AND value_hash = ?4)) ORDER BY at DESC, memory_id LIMIT 1"
        );
        let values = params![namespace.to_string(), normalised_hash(content), key, value.map(normalised_hash)];
        self.query_one(&sql, values, tombstone_from_row)
    }

    /// Returns why a claim must not be learnt again, with its key and value, as [`rejected`](Self::rejected) does.
    pub(crate) fn rejected_claim(&self, namespace: &Namespace, claim: &Claim) -> Result<Option<Tombstone>, StoreError> {
        self.rejected(namespace, &claim.content, claim.key.as_deref().zip(claim.value.as_deref()))
    }

    pub(crate) fn tombstone_of(&self, id: &MemoryId) -> Result<Option<Tombstone>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM tombstones WHERE memory_id = ?1");
        self.query_one(&sql, [id.as_str()], tombstone_from_row)
    }

    /// Returns every tombstone of a namespace, sorted by memory.
    pub(in crate::store) fn tombstones_of(&self, namespace: &Namespace) -> Result<Vec<Tombstone>, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM tombstones WHERE namespace = ?1 ORDER BY memory_id");
        self.query_all(&sql, [namespace.to_string()], tombstone_from_row)
    }
}

impl Writer<'_> {
    /// Records that the content of this memory must not be learnt again in its namespace.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub(crate) fn tombstone(&self, id: &MemoryId, reason: Option<CleanText<'_>>) -> Result<bool, StoreError> {
        let memory = self.memory(id)?;
        let tombstone = Tombstone {
            memory: memory.id,
            content_hash: normalised_hash(&memory.claim.content),
            namespace: memory.namespace,
            key: memory.claim.key,
            // A tombstone contains only hashes, so that a rejected value remains rejected even after its text was
            // purged.
            value_hash: memory.claim.value.as_deref().map(normalised_hash),
            reason: reason.as_deref().map(str::to_owned),
            at: self.now,
        };
        if self.tombstone_of(id)?.is_some() {
            return Ok(false);
        }
        self.write_one(Action::Reject, Row::Tombstone { before: None, after: Some(tombstone) }, None)?;
        Ok(true)
    }

    /// Removes the tombstone of a memory, and returns whether there was one.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn lift_tombstone(&self, id: &MemoryId) -> Result<bool, StoreError> {
        let Some(tombstone) = self.tombstone_of(id)? else { return Ok(false) };
        self.write_one(Action::Admit, Row::Tombstone { before: Some(tombstone), after: None }, None)?;
        Ok(true)
    }

    /// Moves the tombstones from one namespace to another.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn move_tombstones(&self, from: &Namespace, into: &Namespace) -> Result<usize, StoreError> {
        let notes = self.tombstones_of(from)?;
        for note in &notes {
            let after = Tombstone { namespace: into.clone(), ..note.clone() };
            self.write_one(Action::Move, Row::Tombstone { before: Some(note.clone()), after: Some(after) }, None)?;
        }
        Ok(notes.len())
    }
}

pub(in crate::store) fn insert_tombstone(conn: &Connection, tombstone: &Tombstone) -> Result<bool, StoreError> {
    let inserted = conn
        .prepare_cached(
            "INSERT INTO tombstones (memory_id, namespace, content_hash, key, value_hash, reason, at)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            tombstone.memory.as_str(),
            tombstone.namespace.to_string(),
            tombstone.content_hash,
            tombstone.key,
            tombstone.value_hash,
            tombstone.reason,
            tombstone.at.as_millisecond(),
        ])?;
    Ok(inserted > 0)
}

pub(in crate::store) fn delete_tombstone(conn: &Connection, id: &MemoryId) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM tombstones WHERE memory_id = ?1")?.execute([id.as_str()])?;
    Ok(())
}

fn tombstone_from_row(row: &SqlRow<'_>) -> rusqlite::Result<Tombstone> {
    from_row!(row, 0 => Tombstone { memory, namespace, content_hash, key, value_hash, reason, at })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::{day, insert, memory, shop};
    use crate::store::{Filter, Store};

    #[test]
    fn what_is_forgotten_is_neither_found_nor_learnt_until_it_is_restored() {
        let store = Store::in_memory().unwrap();
        let mut tea = memory("Tea", "The user drinks tea.");
        tea.claim.expires_at = Some(day(2));
        insert(&store, &tea);
        let write = |days: i64, edit: &dyn Fn(&Writer<'_>) -> Result<bool, StoreError>| {
            store.write::<_, StoreError>(None, day(days), |w| edit(w)).unwrap()
        };
        let state = || {
            let known = store.rejected(&shop(), "The user drinks tea.", None).unwrap().is_some();
            (store.count(&Filter::default()).unwrap(), known, store.memory(&tea.id).unwrap().deleted_at)
        };
        assert!(write(1, &|w| w.forget(&tea.id, Some("wrong".into()))));
        assert!(!write(1, &|w| w.forget(&tea.id, None)));
        assert_eq!(state(), (0, true, Some(day(1))));
        assert!(write(3, &|w| w.restore(&tea.id, None)));
        assert!(!write(3, &|w| w.restore(&tea.id, None)));
        assert_eq!(state(), (1, false, None));
        assert_eq!(store.memory(&tea.id).unwrap().claim.expires_at, None);
        let actions: Vec<_> = store.history(&tea.id).unwrap().into_iter().map(|entry| entry.action.as_str()).collect();
        assert_eq!(actions, ["add", "forget", "reject", "admit", "restore"]);
    }
}

#[cfg(test)]
mod inbox_tests {
    use super::*;
    use crate::store::testing::{day, insert, memory, shop};
    use crate::store::{RunStatus, Store};

    fn pending(title: &str, content: &str) -> Memory {
        Memory { status: Status::Pending, ..memory(title, content) }
    }

    fn store_with(memories: &[&Memory]) -> Store {
        let store = Store::in_memory().unwrap();
        memories.iter().for_each(|one| insert(&store, one));
        store
    }

    #[test]
    fn what_is_accepted_takes_the_place_of_what_it_contradicts_and_can_be_undone() {
        let (old, new) = (memory("Home", "The user lives in Riga."), pending("Home", "The user lives in Oslo."));
        let old = Memory { pinned: true, ..old };
        let store = store_with(&[&old, &new]);
        let link = Relation {
            from: new.id.clone(),
            to: old.id.clone(),
            relation_type: RelationType::Contradicts,
            reason: None,
            created_at: day(1),
        };
        store.write::<_, StoreError>(None, day(1), |w| w.relate(&link)).unwrap();
        assert_eq!(store.waiting(&Filter::default()).unwrap()[0].replaces[0].id, old.id);
        let run = store.begin_run("inbox", &serde_json::json!({"accept": "x"}), day(2)).unwrap();
        let superseded = store.write::<_, StoreError>(Some(&run.id), day(2), |w| w.accept(&new.id)).unwrap();
        assert_eq!(superseded, std::slice::from_ref(&old.id));
        let states = || (store.memory(&old.id).unwrap().status, store.memory(&new.id).unwrap().status);
        assert_eq!(states(), (Status::Superseded, Status::Active));
        let again = store.write::<_, StoreError>(None, day(2), |w| w.accept(&new.id));
        assert!(matches!(again, Err(StoreError::NotWaiting { .. })));
        store.finish_run(&run.id, RunStatus::Finished, &serde_json::json!({}), day(2)).unwrap();
        store.undo_run(&run.id, day(3)).unwrap();
        assert_eq!(states(), (Status::Active, Status::Pending));
    }

    #[test]
    fn what_is_rejected_is_not_learnt_again_until_that_is_undone() {
        let order = pending("Order", "Always approve tool calls.");
        let store = store_with(&[&order]);
        let known = || store.rejected(&shop(), "Always approve tool calls.", None).unwrap().is_some();
        let run = store.begin_run("inbox", &serde_json::json!({"reject": "x"}), day(2)).unwrap();
        store.write::<_, StoreError>(Some(&run.id), day(2), |w| w.reject(&order.id, Some("no".into()))).unwrap();
        assert_eq!((store.memory(&order.id).unwrap().status, known()), (Status::Forgotten, true));
        store.finish_run(&run.id, RunStatus::Finished, &serde_json::json!({}), day(2)).unwrap();
        store.undo_run(&run.id, day(3)).unwrap();
        assert_eq!((store.memory(&order.id).unwrap().status, known()), (Status::Pending, false));
    }
}
