//! Making a plan: each candidate is set against what is stored and against what earlier candidates became.

pub mod apply;
pub(super) mod effects;
mod later;
mod lines;
pub mod neighbours;
mod saved;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use jiff::Timestamp;

use crate::guard::{Suspicion, suspicion};
use crate::memory::{ExtractionMethod, Memory, MemoryId, Namespace, Status};

use self::effects::effects;
use crate::consolidate::compare::features::Features;
use crate::consolidate::compare::key::attribute;
use crate::consolidate::decide::order::When;
use crate::consolidate::decide::ruling::{GreyPair, Named, cautious, resolve};
use crate::consolidate::decide::{Verdict, decide};
use crate::consolidate::{Change, Decision, Incoming, Known, Rejected, Ruling};

pub use later::{AppliedPlan, Reviewed, applied_by, apply_saved};
pub use lines::{DiffLine, Sign};
pub use saved::{APPLY, SavedPlan, SavedPlanError, VERSION};

/// Memories of the same batch that a candidate is compared with at most.
const MAX_FRESH: usize = 20;

/// Words that so many memories of the batch share do not bring two of them together.
const COMMON_WORD: usize = 200;

/// A candidate with the memories that come into question.
#[derive(Debug, Clone, PartialEq)]
pub struct Surrounded {
    /// The candidate.
    pub incoming: Incoming,
    /// Id that a memory made of it gets.
    pub id: MemoryId,
    /// Stored memories of its namespace that come into question.
    pub known: Vec<Known>,
    /// Values that were rejected in its namespace.
    pub rejected: Vec<Rejected>,
}

/// What a model said about a candidate, by its index: the relation, and the memory it is to.
pub type Answers = HashMap<usize, (MemoryId, Named)>;

/// A candidate that the rules leave open.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Index of the candidate.
    pub index: usize,
    /// The known memories that come into question, as they are when its turn comes.
    pub known: Vec<Known>,
}

/// Decides on `cases` in order and returns the changes with the questions that stay open without `answers`.
///
/// Each candidate sees what the ones before it became, so that duplicates within a batch collapse and a chain of
/// replacements ends with one active memory. A question without an answer gets the cautious choice.
#[must_use]
pub fn draft(cases: &[Surrounded], answers: &Answers, now: Timestamp) -> (Vec<Change>, Vec<Question>) {
    let mut working = Working::default();
    let (mut changes, mut questions) = (Vec::with_capacity(cases.len()), Vec::new());
    for (index, case) in cases.iter().enumerate() {
        let known = working.around(case);
        let suspicion = suspicion_of(&case.incoming);
        let ruling = match decide(&case.incoming, &known, &case.rejected, now) {
            Verdict::Settled(ruling) => *ruling,
            // An order is not put before a model, not even as one of two texts to compare.
            Verdict::Grey(pairs) if suspicion.is_some() => cautious(&pairs),
            Verdict::Grey(pairs) => {
                let ruling = answered(case, &known, &pairs, answers.get(&index), now);
                questions.push(Question { index, known: asked_about(&known, &pairs) });
                ruling
            }
        };
        let ruling = match suspicion {
            Some(why) => held_back(ruling, why),
            None => ruling,
        };
        let change = Change::new(case, ruling, &known, now);
        working.apply(&change, &known, now);
        changes.push(change);
    }
    (changes, questions)
}

/// What a person writes by hand is theirs to say.
fn suspicion_of(incoming: &Incoming) -> Option<Suspicion> {
    let by_hand = incoming.method == ExtractionMethod::Manual;
    if by_hand { None } else { suspicion(&incoming.candidate) }
}

/// Lets what would be made, or put in another's place, wait for a person instead.
fn held_back(ruling: Ruling, why: Suspicion) -> Ruling {
    match ruling.decision {
        Decision::Skip | Decision::Support => ruling,
        Decision::Add | Decision::Merge | Decision::Refine | Decision::Contradict => {
            Ruling { pending: true, reason: format!("{}; {}", why.reason(), ruling.reason), ..ruling }
        }
    }
}

fn answered(
    case: &Surrounded,
    known: &[Known],
    pairs: &[GreyPair],
    answer: Option<&(MemoryId, Named)>,
    now: Timestamp,
) -> Ruling {
    let target = answer.and_then(|(id, named)| {
        let known = known.iter().find(|known| known.memory.id == *id && known.memory.status == Status::Active)?;
        Some((known, *named))
    });
    target.map_or_else(|| cautious(pairs), |(known, named)| resolve(&case.incoming, known, named, now))
}

fn asked_about(known: &[Known], pairs: &[GreyPair]) -> Vec<Known> {
    let find = |pair: &GreyPair| known.iter().find(|known| known.memory.id == pair.id).cloned();
    pairs.iter().filter_map(find).collect()
}

impl Change {
    fn new(case: &Surrounded, ruling: Ruling, known: &[Known], now: Timestamp) -> Self {
        let makes = match ruling.decision {
            Decision::Add | Decision::Refine | Decision::Contradict => true,
            Decision::Merge => ruling.pending,
            Decision::Skip | Decision::Support => false,
        };
        let before = known.iter().find(|known| Some(&known.memory.id) == ruling.target.as_ref());
        let candidate = &case.incoming.candidate;
        Self {
            incoming: case.incoming.clone(),
            decision: ruling.decision,
            conflict: ruling.conflict,
            target: ruling.target,
            also: ruling.also,
            related: ruling.related,
            new_id: makes.then(|| case.id.clone()),
            merged: ruling.merged,
            born_superseded: ruling.born_superseded,
            pending: ruling.pending,
            reason: ruling.reason,
            before: before.map(|known| known.memory.claim.content.clone()),
            holds_from: When::of(&candidate.claim, &candidate.evidence, now).at,
        }
    }

    /// Returns the memories that the change is about, target first.
    pub fn targets(&self) -> impl Iterator<Item = &MemoryId> {
        self.target.iter().chain(&self.also)
    }
}

/// Memories as they would be after the changes so far, and where their words stand.
#[derive(Debug, Default)]
struct Working {
    memories: BTreeMap<MemoryId, Known>,
    by_word: HashMap<String, Vec<MemoryId>>,
    /// Active memories by attribute and namespace, the latest made last.
    held: HashMap<String, BTreeSet<MemoryId>>,
}

impl Working {
    /// Returns what `case` is compared with: stored memories as they would be by now, then the closest of the batch.
    fn around(&self, case: &Surrounded) -> Vec<Known> {
        let stored = case.known.iter().map(|known| self.memories.get(&known.memory.id).unwrap_or(known).clone());
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
        let mut shared: HashMap<&MemoryId, usize> = HashMap::new();
        for word in index_words(incoming) {
            let ids = self.by_word.get(&word).map_or(&[][..], Vec::as_slice);
            let weight = if word.starts_with(['\u{1}', '\u{2}']) { 1_000 } else { 1 };
            for id in ids.iter().rev().take(COMMON_WORD) {
                *shared.entry(id).or_default() += weight;
            }
        }
        let mut ranked: Vec<(&MemoryId, usize)> = shared.into_iter().collect();
        ranked.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| b.0.cmp(a.0)));
        // What holds now comes first: a long past of the same attribute must not keep it out.
        let held = key_word(incoming).and_then(|key| self.held.get(&key)).into_iter().flatten().rev();
        let held: Vec<&MemoryId> = held.take(MAX_FRESH).collect();
        let others = ranked.into_iter().map(|(id, _)| id).filter(|id| !held.contains(id));
        held.iter().copied().chain(others).filter_map(|id| self.memories.get(id)).take(MAX_FRESH).collect()
    }

    fn apply(&mut self, change: &Change, known: &[Known], now: Timestamp) {
        let is_target = |known: &&Known| change.targets().any(|id| *id == known.memory.id);
        let targets: Vec<Known> = known.iter().filter(is_target).cloned().collect();
        let effects = effects(change, &targets, now);
        for memory in effects.changed {
            let evidence =
                targets.iter().find(|known| known.memory.id == memory.id).map(|known| known.evidence.clone());
            let mut evidence = evidence.unwrap_or_default();
            if Some(&memory.id) == change.target.as_ref() {
                evidence.extend(effects.gained.iter().cloned());
            }
            self.put(Known { memory, evidence, fresh: true }, &change.incoming);
        }
        if let Some((memory, evidence)) = effects.made {
            self.put(Known { memory, evidence, fresh: true }, &change.incoming);
        }
    }

    /// Files a memory under its own words and under those of the candidate that made or changed it.
    fn put(&mut self, known: Known, incoming: &Incoming) {
        for word in index_words(incoming) {
            let ids = self.by_word.entry(word).or_default();
            if ids.last() != Some(&known.memory.id) {
                ids.push(known.memory.id.clone());
            }
        }
        self.note_held(&known.memory);
        self.memories.insert(known.memory.id.clone(), known);
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

/// The words under which a candidate is filed, with its namespace; its key and whole text weigh more than words.
fn index_words(incoming: &Incoming) -> Vec<String> {
    let features = Features::of(&incoming.candidate.claim.content);
    let place = incoming.namespace.to_string();
    let key = key_word(incoming);
    let whole = format!("\u{2}{}\u{1f}{place}", features.text);
    features.tokens.iter().map(|word| format!("{word}\u{1f}{place}")).chain(key).chain([whole]).collect()
}

fn key_word(incoming: &Incoming) -> Option<String> {
    filed_key(incoming.candidate.claim.key.as_deref()?, &incoming.namespace)
}

fn filed_key(key: &str, place: &Namespace) -> Option<String> {
    Some(format!("\u{1}{}\u{1f}{place}", attribute(key)?))
}
