//! Which memories of a namespace come into question for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Event;
use super::field::Field;
use crate::consolidate::Known;
use crate::consolidate::compare::key::{attribute, spellings};
use crate::consolidate::plan::neighbours::{MAX_NEIGHBOURS, SMALL};
use crate::memory::MemoryId;
use crate::store::{Around as Looked, Database, StoreError};
use crate::text::language::{COMPARED, detect};
use crate::text::normalise::comparable;

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
        let is_new = |(id, _): &(&MemoryId, &Known)| {
            self.found.get(*id).is_none_or(|(looked_up, _)| looked_up != field.hash(id))
        };
        let new: Vec<(&MemoryId, &Known)> = field.active.iter().filter(is_new).collect();
        for (turn, some) in new.chunks(GIVES_WAY).enumerate() {
            watch(&Event::LookedUp(&field.namespace, turn * GIVES_WAY, new.len()));
            tokio::task::yield_now().await;
            let found = db.at_once(|db| some.iter().map(|(id, known)| close(db, field, id, known)).collect());
            let found: Vec<Vec<MemoryId>> = found?;
            let hashes = some.iter().map(|(id, _)| ((*id).clone(), field.hash(id).to_owned()));
            self.found.extend(hashes.zip(found).map(|((id, hash), close)| (id, (hash, close))));
        }
        self.found.retain(|id, _| field.active.contains_key(id));
        self.pairs = BTreeMap::new();
        for (id, (_, close)) in &self.found {
            close.iter().for_each(|other| join(&mut self.pairs, id, other));
        }
        self.join_alike(field);
        self.join_foreign(field);
        Ok(())
    }

    /// Joins what bears the same attribute or says the same words, however much else stands between.
    fn join_alike(&mut self, field: &Field) {
        let mut alike: BTreeMap<String, Vec<&MemoryId>> = BTreeMap::new();
        for (id, known) in &field.active {
            let claim = &known.memory.claim;
            alike.entry(format!("\u{2}{}", comparable(&claim.content))).or_default().push(id);
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

    /// Joins what is said in different languages, where there is little of it: hardly a word brings it together.
    fn join_foreign(&mut self, field: &Field) {
        if field.active.len() > SMALL {
            return;
        }
        let spoken =
            field.active.iter().filter_map(|(id, known)| Some((id, detect(&known.memory.claim.content, COMPARED)?)));
        let spoken: Vec<_> = spoken.collect();
        for (place, (id, own)) in spoken.iter().enumerate() {
            let others = spoken[..place].iter().filter(|(_, other)| other != own);
            others.for_each(|(other, _)| join(&mut self.pairs, id, other));
        }
    }

    /// Returns the memories close to this one, whichever of the two found the other.
    pub(super) fn of(&self, id: &MemoryId) -> impl Iterator<Item = &MemoryId> {
        self.pairs.get(id).into_iter().flatten()
    }
}

fn close(db: &Database, field: &Field, id: &MemoryId, known: &Known) -> Result<Vec<MemoryId>, StoreError> {
    let claim = &known.memory.claim;
    let keys = claim.key.as_deref().map(spellings).unwrap_or_default();
    // It finds itself first.
    let found = db.around(&Looked { namespace: &field.namespace, claim, keys: &keys }, MAX_NEIGHBOURS + 1)?;
    let others = found.into_iter().map(|memory| memory.id).filter(|other| other != id);
    Ok(others.filter(|other| field.active.contains_key(other)).collect())
}

fn join(pairs: &mut BTreeMap<MemoryId, BTreeSet<MemoryId>>, a: &MemoryId, b: &MemoryId) {
    pairs.entry(a.clone()).or_default().insert(b.clone());
    pairs.entry(b.clone()).or_default().insert(a.clone());
}
