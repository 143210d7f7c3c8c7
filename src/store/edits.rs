//! What a person decides about a memory: away with it, and back again.

use super::{StoreError, Writer};
use crate::changeset::Action;
use crate::memory::{Memory, MemoryId, RelationType, Status};

impl Writer<'_> {
    /// Forgets a memory and sees to it that it is not learnt again, and returns whether it was not forgotten before.
    /// It can be restored until it is purged.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if it is not there.
    pub fn forget(&self, id: &MemoryId, reason: Option<&str>) -> Result<bool, StoreError> {
        let forgotten = self.set_status(id, Status::Forgotten, Action::Forget, reason)?;
        self.tombstone(id, reason)?;
        Ok(forgotten)
    }

    /// Makes a memory active again, whatever it was before, and lets it be learnt again; returns whether it was not
    /// active. An expiry that is over is taken off, or it would be gone with the next maintenance. Nothing has taken
    /// the place any more of one that was superseded, and it has not ended.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if it is not there.
    pub fn restore(&self, id: &MemoryId) -> Result<bool, StoreError> {
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
            Some("by hand"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::super::samples::{day, insert, memory, shop};
    use super::super::{Filter, Store};
    use super::*;

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
        assert!(write(1, &|w| w.forget(&tea.id, Some("wrong"))));
        assert!(!write(1, &|w| w.forget(&tea.id, None)));
        assert_eq!(state(), (0, true, Some(day(1))));
        assert!(write(3, &|w| w.restore(&tea.id)));
        assert!(!write(3, &|w| w.restore(&tea.id)));
        assert_eq!(state(), (1, false, None));
        assert_eq!(store.memory(&tea.id).unwrap().claim.expires_at, None);
        let actions: Vec<_> = store.history(&tea.id).unwrap().into_iter().map(|entry| entry.action.as_str()).collect();
        assert_eq!(actions, ["add", "forget", "reject", "admit", "restore"]);
    }
}
