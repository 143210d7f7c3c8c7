//! Which memories of a namespace come into question for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Event;
use super::field::{Field, said_hash};
use crate::consolidate::compare::key::attribute;
use crate::consolidate::compare::text::normalise;
use crate::consolidate::plan::neighbours::MAX_NEIGHBOURS;
use crate::memory::MemoryId;
use crate::store::{Database, Likeness, StoreError};

/// Memories of one attribute that are all set against each other; of more, only the closest by words.
const MAX_OF_KEY: usize = 30;

/// Memories that are looked up in one go.
const GIVES_WAY: usize = 64;

/// Who is close to whom. Kept from round to round: what has not changed is not looked up again.
#[derive(Debug, Default)]
pub(super) struct Around {
    found: HashMap<MemoryId, (String, Vec<MemoryId>)>,
    pairs: BTreeMap<MemoryId, BTreeSet<MemoryId>>,
}

impl Around {
    /// Looks up the neighbours of what is new or says something else now.
    ///
    /// Gives way now and then, so that whoever waits beside can say that the work goes on; tells `watch` how far it came.
    pub(super) async fn update(
        &mut self,
        db: &Database,
        field: &Field,
        watch: &dyn Fn(&Event<'_>),
    ) -> Result<(), StoreError> {
        for (place, (id, known)) in field.active.iter().enumerate() {
            if place % GIVES_WAY == 0 {
                watch(&Event::LookedUp(&field.namespace, place, field.active.len()));
                tokio::task::yield_now().await;
            }
            let hash = said_hash(known);
            if self.found.get(id).is_some_and(|(looked_up, _)| *looked_up == hash) {
                continue;
            }
            let claim = &known.memory.claim;
            let key = claim.key.as_deref().and_then(attribute);
            let likeness = Likeness {
                namespace: &field.namespace,
                text: &claim.content,
                key: key.as_deref(),
                subject: claim.subject.as_deref(),
            };
            let close = db.neighbours(&likeness, MAX_NEIGHBOURS)?.into_iter().map(|memory| memory.id);
            let close = close.filter(|other| other != id && field.active.contains_key(other)).collect();
            self.found.insert(id.clone(), (hash, close));
        }
        self.pairs = BTreeMap::new();
        for (id, (_, close)) in &self.found {
            close.iter().for_each(|other| join(&mut self.pairs, id, other));
        }
        self.join_alike(field);
        Ok(())
    }

    /// Joins what bears the same attribute or says the same words, however much else stands between.
    fn join_alike(&mut self, field: &Field) {
        let mut alike: BTreeMap<String, Vec<&MemoryId>> = BTreeMap::new();
        for (id, known) in &field.active {
            let claim = &known.memory.claim;
            alike.entry(format!("\u{2}{}", normalise(&claim.content))).or_default().push(id);
            if let Some(key) = claim.key.as_deref().and_then(attribute) {
                alike.entry(format!("\u{1}{key}")).or_default().push(id);
            }
        }
        for ids in alike.values().filter(|ids| ids.len() <= MAX_OF_KEY) {
            for (place, id) in ids.iter().enumerate() {
                ids[..place].iter().for_each(|other| join(&mut self.pairs, id, other));
            }
        }
    }

    /// Returns the memories close to this one, whichever of the two found the other.
    pub(super) fn of(&self, id: &MemoryId) -> impl Iterator<Item = &MemoryId> {
        self.pairs.get(id).into_iter().flatten()
    }
}

fn join(pairs: &mut BTreeMap<MemoryId, BTreeSet<MemoryId>>, a: &MemoryId, b: &MemoryId) {
    pairs.entry(a.clone()).or_default().insert(b.clone());
    pairs.entry(b.clone()).or_default().insert(a.clone());
}
