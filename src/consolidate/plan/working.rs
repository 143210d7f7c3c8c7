//! Memories as they would be after the changes so far, and which of them a candidate is held against.

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use super::{Answer, Surrounded};
use crate::changeset::Row;
use crate::consolidate::compare::key::attribute;
use crate::consolidate::decide::named::{Named, resolve};
use crate::consolidate::overlay::Overlay;
use crate::consolidate::{Change, Decision, Incoming, Known, Ruling};
use crate::memory::{Memory, MemoryId, Namespace, Status};
use crate::store::near_words;
use crate::text::normalise::comparable;

/// Memories of the same batch that a candidate is compared with at most.
const MAX_FRESH: usize = 20;

/// Words that so many memories of the batch share do not bring two of them together.
const COMMON_WORD: usize = 200;

/// Memories as they would be after the changes so far, and where their words stand.
#[derive(Debug, Default)]
pub(super) struct Working {
    overlay: Overlay,
    by_word: HashMap<String, Vec<MemoryId>>,
    /// Active memories by attribute and namespace, the latest made last.
    held: HashMap<String, BTreeSet<MemoryId>>,
    /// What a candidate became part of, by the id that it would have got, or the memory that took another's place.
    absorbed: HashMap<MemoryId, MemoryId>,
}

impl Working {
    /// Returns what `case` is compared with: stored memories as they would be by now, then the closest of the batch.
    pub(super) fn around(&self, case: &Surrounded) -> Vec<Known> {
        let stored = case.known.iter().map(|known| self.overlay.get(&known.memory.id).unwrap_or(known).clone());
        let mut known: Vec<Known> = stored.collect();
        let fresh = self.closest(&case.incoming);
        known.extend(
            fresh
                .into_iter()
                .filter(|fresh| !case.known.iter().any(|known| known.memory.id == fresh.memory.id))
                .cloned(),
        );
        known
    }

    fn closest(&self, incoming: &Incoming) -> Vec<&Known> {
        let mut shared: HashMap<&MemoryId, f64> = HashMap::new();
        for word in index_words(incoming) {
            let ids = self.by_word.get(&word).map_or(&[][..], Vec::as_slice);
            let weight =
                if word.starts_with(['\u{1}', '\u{2}']) { 1_000.0 } else { rarity(ids.len(), self.overlay.len()) };
            for id in ids.iter().rev().take(COMMON_WORD) {
                *shared.entry(id).or_default() += weight;
            }
        }
        let mut ranked: Vec<(&MemoryId, f64)> = shared.into_iter().collect();
        let closer = |a: &(&MemoryId, f64), b: &(&MemoryId, f64)| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0));
        // Of the held ones at most as many are left out as are wanted.
        if ranked.len() > 2 * MAX_FRESH {
            ranked.select_nth_unstable_by(2 * MAX_FRESH, closer);
            ranked.truncate(2 * MAX_FRESH);
        }
        ranked.sort_by(closer);
        // What holds now comes first: a long past of the same attribute must not keep it out.
        let held = key_word(incoming).and_then(|key| self.held.get(&key)).into_iter().flatten().rev();
        let held: Vec<&MemoryId> = held.take(MAX_FRESH).collect();
        let others = ranked.into_iter().map(|(id, _)| id).filter(|id| !held.contains(id));
        held.iter().copied().chain(others).filter_map(|id| self.overlay.get(id)).take(MAX_FRESH).collect()
    }

    /// Settles a candidate by what was named. What was named of a wording counts for the memory that it became part of.
    pub(super) fn answered(&self, case: &Surrounded, known: &[Known], answer: &Answer, now: Timestamp) -> Ruling {
        let find = |id: &MemoryId| known.iter().find(|known| known.memory.id == *id).or_else(|| self.overlay.get(id));
        let mut named: Vec<(&Known, Named)> = Vec::new();
        for (id, said) in &answer.named {
            let (now_in, said) = match self.absorber(id) {
                // It says more than one wording, and perhaps not than all.
                Some(other) if *said == Named::MoreDetail => (other, Named::Overlapping),
                Some(other) => (other, said.clone()),
                None => (id, said.clone()),
            };
            let is_said = named.iter().any(|(known, _)| known.memory.id == *now_in);
            if let Some(known) = find(now_in).filter(|_| !is_said || now_in == id) {
                named.retain(|(other, _)| other.memory.id != known.memory.id);
                named.push((known, said));
            }
        }
        let named: Vec<(&Known, &Named)> = named.iter().map(|(known, named)| (*known, named)).collect();
        resolve(&case.incoming, &named, now)
    }

    fn absorber(&self, id: &MemoryId) -> Option<&MemoryId> {
        let mut last = self.absorbed.get(id)?;
        while let Some(next) = self.absorbed.get(last) {
            last = next;
        }
        Some(last)
    }

    pub(super) fn note_absorbed(&mut self, own: &MemoryId, change: &Change) {
        let Some(target) = &change.target else { return };
        match change.decision {
            Decision::Skip | Decision::Support | Decision::Merge if !change.pending => {
                self.absorbed.insert(own.clone(), target.clone());
            }
            Decision::Refine if !change.pending => {
                self.absorbed.insert(target.clone(), own.clone());
            }
            _ => {}
        }
    }

    /// Applies what a change writes, given its targets as they were.
    pub(super) fn apply(&mut self, change: &Change, targets: Vec<Known>) {
        let mut touched: BTreeSet<MemoryId> = BTreeSet::new();
        for known in targets {
            // Whatever confirms a memory is filed with it, be it that no row is different.
            let is_confirmed = matches!(change.decision, Decision::Support | Decision::Merge) && !change.pending;
            let is_written = change.rows.iter().any(|row| row.row.belongs_to(&known.memory.id));
            if is_confirmed || is_written {
                touched.insert(known.memory.id.clone());
                self.overlay.insert(Known { fresh: true, ..known });
            }
        }
        for row in &change.rows {
            self.overlay.apply(row);
            if let Row::Memory { after: Some(memory), .. } = &row.row {
                touched.insert(memory.id.clone());
            }
        }
        for id in touched {
            self.file(&id, &change.incoming);
        }
    }

    /// Files a memory under its own words and under those of the candidate that made or changed it.
    fn file(&mut self, id: &MemoryId, incoming: &Incoming) {
        for word in index_words(incoming) {
            let ids = self.by_word.entry(word).or_default();
            if ids.last() != Some(id) {
                ids.push(id.clone());
            }
        }
        if let Some(memory) = self.overlay.get(id).map(|known| known.memory.clone()) {
            self.note_held(&memory);
        }
    }

    fn note_held(&mut self, memory: &Memory) {
        let Some(key) = memory.claim.key.as_deref().and_then(|key| filed_key(key, &memory.namespace)) else { return };
        let held = self.held.entry(key).or_default();
        if memory.status == Status::Active {
            held.insert(memory.id.clone());
        } else {
            held.remove(&memory.id);
        }
    }
}

/// The words under which a candidate is filed, those of the store; its key and whole text weigh more than words.
fn index_words(incoming: &Incoming) -> Vec<String> {
    let claim = &incoming.candidate.claim;
    let whole = format!("\u{2}{}\u{1f}{}", comparable(&claim.content), incoming.namespace);
    near_words(&incoming.namespace, claim).into_iter().chain(key_word(incoming)).chain([whole]).collect()
}

/// What a word weighs that `having` memories of `all` have.
fn rarity(having: usize, all: usize) -> f64 {
    let [having, all] = [having, all].map(|count| u32::try_from(count).map_or(f64::MAX, f64::from));
    (1.0 + all / having.max(1.0)).ln()
}

fn key_word(incoming: &Incoming) -> Option<String> {
    filed_key(incoming.candidate.claim.key.as_deref()?, &incoming.namespace)
}

fn filed_key(key: &str, place: &Namespace) -> Option<String> {
    Some(format!("\u{1}{}\u{1f}{place}", attribute(key)?))
}
