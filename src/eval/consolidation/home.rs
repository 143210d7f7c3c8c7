//! Where a case lives: a store of its own, with names that tell it from other cases wherever several are settled together.

use jiff::{Timestamp, ToSpan as _};

use super::distract;
use crate::consolidate::compare::key::canonical;
use crate::consolidate::plan::Surrounded;
use crate::consolidate::plan::apply::{Applied, ApplyError, apply, look_around};
use crate::consolidate::{Change, Incoming, Plan};
use crate::eval::EvalError;
use crate::guard::Guard;
use crate::memory::{Claim, Evidence, Memory, MemoryId, Namespace};
use crate::store::{Filter, Order, Store, StoreError};

/// When everything is written, after all that the cases tell: 2027-01-01.
const NOW: Timestamp = Timestamp::constant(1_798_761_600, 0);

/// When distractors were written, before everything else: 2025-01-01.
const BEFORE: Timestamp = Timestamp::constant(1_735_689_600, 0);

/// Stands between the name of a case and an id that several cases have.
const OF_CASE: char = '~';

/// Stores to copy: making many memories is slow, copying them is not.
#[derive(Debug)]
pub struct Templates {
    distractors: usize,
    /// By how many namespaces a case has, less one.
    stores: Vec<Store>,
}

impl Templates {
    /// Returns templates of stores with so many distractors in each namespace.
    #[must_use]
    pub const fn new(distractors: usize) -> Self {
        Self { distractors, stores: Vec::new() }
    }

    /// Returns an empty home, but for its distractors, for a case that speaks of `namespaces`.
    ///
    /// # Errors
    /// [`StoreError`] if no memory is left.
    pub fn home(&mut self, case: &str, namespaces: Vec<Namespace>) -> Result<Home, StoreError> {
        while self.stores.len() < namespaces.len() {
            let store = match self.stores.last() {
                Some(store) => store.copy_in_memory()?,
                None => Store::in_memory()?,
            };
            distract::fill(&store, &inner(self.stores.len()), self.distractors, BEFORE)?;
            self.stores.push(store);
        }
        let store = match namespaces.len().checked_sub(1) {
            Some(last) => self.stores[last].copy_in_memory()?,
            None => Store::in_memory()?,
        };
        Ok(Home { store, case: case.to_owned(), namespaces, revisions: Vec::new(), distractors: self.distractors })
    }
}

/// Returns what the store calls a case's namespace of this number.
fn inner(index: usize) -> Namespace {
    Namespace::project(&format!("case-{index}")).unwrap_or_else(|_| Namespace::global())
}

/// The store of one case.
#[derive(Debug)]
pub struct Home {
    store: Store,
    case: String,
    /// As the case spells them, in the order in which it first does.
    namespaces: Vec<Namespace>,
    revisions: Vec<(Namespace, i64)>,
    distractors: usize,
}

impl Home {
    /// Returns the store.
    #[must_use]
    pub const fn store(&self) -> &Store {
        &self.store
    }

    /// Returns the time at which the memories of an arrival are settled.
    #[must_use]
    pub fn now(arrival: u32) -> Timestamp {
        NOW.checked_add((i64::from(arrival) * 24).hours()).unwrap_or(NOW)
    }

    /// Returns a memory of `claim` as it would have been kept in `namespace`.
    #[must_use]
    pub fn memory(&self, claim: Claim, incoming: &Incoming) -> Memory {
        let claim = Claim { key: claim.key.as_deref().map(canonical), ..claim };
        Memory::new(claim, self.inward(&incoming.namespace), &incoming.source, incoming.method, NOW)
    }

    /// Stores `memory` as known.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be written.
    pub fn know(&self, memory: &Memory, evidence: &[Evidence], guard: &Guard) -> Result<(), StoreError> {
        self.store.write(None, NOW, |writer| {
            writer.insert(&guard.redact(memory.clone()).0, &guard.redact(evidence.to_vec()).0)
        })
    }

    /// Reads what surrounds `incoming`, under names that no other case has.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    pub fn look(&mut self, incoming: Vec<Incoming>) -> Result<Vec<Surrounded>, StoreError> {
        let inside = incoming.into_iter().map(|one| Incoming { namespace: self.inward(&one.namespace), ..one });
        let mut looked = look_around(&self.store, inside.collect())?;
        self.revisions = looked.revisions;
        for case in &mut looked.cases {
            case.incoming.namespace = self.outward(&case.incoming.namespace);
            for known in &mut case.known {
                known.memory.namespace = self.outward(&known.memory.namespace);
                if known.memory.source == distract::SOURCE {
                    let id = format!("{}{OF_CASE}{}", self.case, known.memory.id);
                    known.memory.id = MemoryId::from_stored(id);
                }
            }
        }
        Ok(looked.cases)
    }

    /// Writes what became of all that was last looked at.
    ///
    /// # Errors
    /// [`EvalError`] if it cannot be written.
    pub fn apply(&self, changes: Vec<Change>, now: Timestamp) -> Result<Applied, EvalError> {
        let changes = changes.into_iter().map(|change| self.bring_in(change)).collect();
        let plan = Plan { changes, revisions: self.revisions.clone(), ..Plan::default() };
        apply(&self.store, &plan, None, now).map_err(|error| match error {
            ApplyError::Store(error) => error.into(),
            stale @ ApplyError::Stale { .. } => EvalError::Failed(stale.to_string()),
        })
    }

    fn bring_in(&self, mut change: Change) -> Change {
        change.incoming.namespace = self.inward(&change.incoming.namespace);
        // What was planned is about other ids: it is carried out on the memories as they are here.
        change.rows.clear();
        for id in change.target.iter_mut().chain(&mut change.also).chain(&mut change.related) {
            if let Some((_, own)) = id.as_str().rsplit_once(OF_CASE) {
                *id = MemoryId::from_stored(own);
            }
        }
        change
    }

    /// Returns every memory but for the distractors that nothing was done to, with what it rests on, by id.
    ///
    /// # Errors
    /// [`StoreError`] if it cannot be read.
    pub fn state(&self) -> Result<Vec<(Memory, Vec<Evidence>)>, StoreError> {
        let touched = Filter { statuses: Vec::new(), updated_from: Some(NOW), ..Filter::default() };
        let memories = self.store.list(&touched, Order::Id, usize::MAX >> 1, 0)?;
        memories.into_iter().map(|memory| Ok((self.store.evidence(&memory.id)?, memory))).map(swap).collect()
    }

    /// Returns how many distractors are no longer recalled.
    ///
    /// # Errors
    /// [`StoreError`] if they cannot be counted.
    pub fn retired_distractors(&self) -> Result<u64, StoreError> {
        let recalled = Filter { source: Some(distract::SOURCE.to_owned()), ..Filter::default() };
        let all = self.distractors * self.namespaces.len();
        Ok(all.saturating_sub(self.store.count(&recalled)?) as u64)
    }

    /// Returns the store's name of a namespace of the case, or of its outward name.
    fn inward(&self, namespace: &Namespace) -> Namespace {
        let place = self.namespaces.iter().position(|own| own == namespace || self.named(own) == *namespace);
        place.map_or_else(|| namespace.clone(), inner)
    }

    /// Returns the name under which the namespace is settled together with those of other cases.
    fn outward(&self, namespace: &Namespace) -> Namespace {
        let own = (0..self.namespaces.len()).find(|&index| inner(index) == *namespace);
        own.map_or_else(|| namespace.clone(), |index| self.named(&self.namespaces[index]))
    }

    fn named(&self, own: &Namespace) -> Namespace {
        let parts = ["case".to_owned(), self.case.replace('/', "-"), own.parts().join("-")];
        Namespace::try_from(parts.to_vec()).unwrap_or_else(|_| own.clone())
    }
}

fn swap<E>(found: Result<(Vec<Evidence>, Memory), E>) -> Result<(Memory, Vec<Evidence>), E> {
    found.map(|(evidence, memory)| (memory, evidence))
}
