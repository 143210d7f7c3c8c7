//! Plans: each candidate is compared with the stored memories and with what earlier candidates became.

pub(crate) mod apply;
pub mod neighbours;
pub(super) mod rows;
mod saved;

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::changeset::Row;
use crate::consolidate::compare::key::attribute;
use crate::consolidate::decide::named::{Ask, Named, resolve};
use crate::consolidate::decide::ruling::ValidTime;
use crate::consolidate::decide::{decide, decided_before};
use crate::consolidate::overlay::Overlay;
use crate::consolidate::{Change, Decision, IncomingClaim, Known, Rejected, Rest, Ruling};
use crate::guard::{Suspicion, suspicion};
use crate::memory::{ExtractionMethod, Memory, MemoryId, Namespace, Status};
use crate::store::near_words;
use crate::text::normalise::comparable;

pub(crate) use apply::settle;
pub use saved::{APPLY, AppliedPlan, ReviewedChange, SavedPlan, SavedPlanError, applied_by, apply_saved};

/// A candidate with the memories that come into question.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateContext {
    /// The candidate.
    pub incoming: IncomingClaim,
    /// Id that a memory made of it gets.
    pub id: MemoryId,
    /// Stored memories of its namespace that come into question.
    pub known: Vec<Known>,
    /// Values that were rejected in its namespace.
    pub rejected: Vec<Rejected>,
    /// What the very same candidate led to before.
    pub settled: Option<MemoryId>,
}

/// What a model said, by index of the candidate.
pub type Answers = HashMap<usize, Answer>;

/// What a model said about one candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The known memories that it was asked about.
    pub about: BTreeSet<MemoryId>,
    /// The relations that it named; to all others the candidate has none.
    pub named: Vec<(MemoryId, Named)>,
}

/// A candidate that a model is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Index of the candidate.
    pub index: usize,
    /// The known memories that it may have to do with, as they are when its turn comes, the closest first.
    pub known: Vec<Known>,
    /// How close the first of them is, see `Ask::closeness`.
    pub closeness: f64,
    /// Whether the rules leave it open, and not only ask to make sure.
    pub open: bool,
}

/// What a draft is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Finding questions: what is not answered is kept apart for now, so that later candidates are compared with it.
    Asking,
    /// The plan itself: what is not answered is decided by the rules.
    Last,
}

/// Decides on `cases` in order and returns the changes with the questions that are not answered.
///
/// Each candidate sees what the ones before it became, so that duplicates within a batch collapse and a chain of
/// replacements ends with one active memory.
#[must_use]
pub fn draft(
    cases: &[CandidateContext],
    answers: &Answers,
    stage: Stage,
    now: Timestamp,
) -> (Vec<Change>, Vec<Question>) {
    let mut working = Working::default();
    let (mut changes, mut questions) = (Vec::with_capacity(cases.len()), Vec::new());
    for (index, case) in cases.iter().enumerate() {
        let known = working.around(case);
        let suspicion = suspicion_of(&case.incoming);
        let before = case.settled.as_ref().and_then(|id| known.iter().find(|known| known.memory.id == *id));
        let verdict = before.map_or_else(|| decide(&case.incoming, &known, &case.rejected, now), decided_before);
        // An order is not put before a model, not even as one of two texts to compare.
        // The candidate stays with the rules, which cannot be talked into anything.
        let asks = if suspicion.is_none() { verdict.asks } else { Vec::new() };
        let answer = answers.get(&index);
        let open: Vec<&Ask> =
            asks.iter().filter(|ask| answer.is_none_or(|answer| !answer.about.contains(&ask.id))).collect();
        if let Some(first) = open.first() {
            let known = asked_about(&known, &open);
            questions.push(Question { index, closeness: first.closeness, open: verdict.open, known });
        }
        let ruling = match answer {
            Some(answer) if !asks.is_empty() => working.answered(case, &known, answer, now),
            // Kept as new for now: merged by the rules, it would hide the pair that the model should see.
            None if !asks.is_empty() && stage == Stage::Asking => Ruling::new(Decision::Add, "not asked yet"),
            Some(_) | None => verdict.ruling,
        };
        let ruling = match suspicion {
            Some(why) => held_back(ruling, why),
            None => ruling,
        };
        let mut change = Change::new(case, ruling, &known, now);
        let targets: Vec<Known> =
            known.into_iter().filter(|known| change.targets().any(|id| *id == known.memory.id)).collect();
        change.rows = rows::rows(&change, &targets, now);
        // Before the next candidate: it must see this one as it will be stored.
        working.apply(&change, targets);
        working.note_absorbed(&case.id, &change);
        changes.push(change);
    }
    (changes, questions)
}

/// What a person writes by hand is theirs to say.
fn suspicion_of(incoming: &IncomingClaim) -> Option<Suspicion> {
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

fn asked_about(known: &[Known], asks: &[&Ask]) -> Vec<Known> {
    let find = |ask: &&Ask| known.iter().find(|known| known.memory.id == ask.id).cloned();
    asks.iter().filter_map(find).collect()
}

impl Change {
    fn new(case: &CandidateContext, ruling: Ruling, known: &[Known], now: Timestamp) -> Self {
        let makes = match ruling.decision {
            Decision::Add | Decision::Refine | Decision::Contradict => true,
            // A merge rewords its target; only one that waits for a person needs a memory of its own.
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
            rest: ruling.rest.map(|claim| Rest { id: MemoryId::new(), claim }),
            born_superseded: ruling.born_superseded,
            pending: ruling.pending,
            reason: ruling.reason,
            before: before.map(|known| known.memory.claim.content.clone()),
            holds_from: ValidTime::of(&candidate.claim, &candidate.evidence, now).at,
            rows: Vec::new(),
        }
    }

    /// Returns the memories that the change is about, target first.
    pub(crate) fn targets(&self) -> impl Iterator<Item = &MemoryId> {
        self.target.iter().chain(&self.also)
    }
}

/// Memories of the same batch that a candidate is compared with at most.
const MAX_FRESH: usize = 20;

/// Memories of the batch that are looked up for one word; a word that more of them share says little.
const COMMON_WORD: usize = 200;

/// Memories as they would be after the changes so far, and where their words are.
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
    pub(super) fn around(&self, case: &CandidateContext) -> Vec<Known> {
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

    fn closest(&self, incoming: &IncomingClaim) -> Vec<&Known> {
        let mut shared: HashMap<&MemoryId, f64> = HashMap::new();
        for word in index_words(incoming) {
            let ids = self.by_word.get(&word).map_or(&[][..], Vec::as_slice);
            // Control characters cannot occur in indexed words, so they mark a key and a whole text.
            let weight =
                if word.starts_with(['\u{1}', '\u{2}']) { 1_000.0 } else { rarity(ids.len(), self.overlay.len()) };
            // Bounded, since a word such as the user's name is in every memory; the latest ones are kept.
            for id in ids.iter().rev().take(COMMON_WORD) {
                *shared.entry(id).or_default() += weight;
            }
        }
        let mut ranked: Vec<(&MemoryId, f64)> = shared.into_iter().collect();
        let closer = |a: &(&MemoryId, f64), b: &(&MemoryId, f64)| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0));
        // Twice the number is enough: at most `MAX_FRESH` of these are also among the current ones below.
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

    /// Decides on a candidate by the named relations. One to a wording counts for the memory that it became part of.
    pub(super) fn answered(&self, case: &CandidateContext, known: &[Known], answer: &Answer, now: Timestamp) -> Ruling {
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
        // This ends: no memory is absorbed by one that was absorbed into it.
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
            // A confirmation is filed with its memory even if no row changes.
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
    fn file(&mut self, id: &MemoryId, incoming: &IncomingClaim) {
        for word in index_words(incoming) {
            let ids = self.by_word.entry(word).or_default();
            // Filed under the words of two candidates in a row, a memory would count twice for each shared word.
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
fn index_words(incoming: &IncomingClaim) -> Vec<String> {
    let claim = &incoming.candidate.claim;
    let whole = format!("\u{2}{}\u{1f}{}", comparable(&claim.content), incoming.namespace);
    near_words(&incoming.namespace, claim).into_iter().chain(key_word(incoming)).chain([whole]).collect()
}

/// What a word weighs that `having` memories of `all` have.
fn rarity(having: usize, all: usize) -> f64 {
    let [having, all] = [having, all].map(|count| u32::try_from(count).map_or(f64::MAX, f64::from));
    (1.0 + all / having.max(1.0)).ln()
}

fn key_word(incoming: &IncomingClaim) -> Option<String> {
    filed_key(incoming.candidate.claim.key.as_deref()?, &incoming.namespace)
}

fn filed_key(key: &str, place: &Namespace) -> Option<String> {
    Some(format!("\u{1}{}\u{1f}{place}", attribute(key)?))
}
