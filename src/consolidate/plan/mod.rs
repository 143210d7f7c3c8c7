//! Makes plans: each candidate is compared with the stored memories and with the results of earlier candidates.

pub(crate) mod apply;
pub mod neighbours;
pub(super) mod rows;
mod saved;

use std::collections::{BTreeSet, HashMap};

use jiff::Timestamp;

use crate::changeset::Row;
use crate::consolidate::compare::key::attribute;
use crate::consolidate::decide::named::{Ask, Named, resolve};
use crate::consolidate::decide::ruling::{ValidTime, is_covered, shares_message};
use crate::consolidate::decide::{decide, decided_before};
use crate::consolidate::overlay::Overlay;
use crate::consolidate::{Change, Decision, IncomingClaim, Known, Rejected, Rest, Ruling};
use crate::guard::{Suspicion, reason_to_wait, suspicion};
use crate::memory::{Candidate, Claim, ExtractionMethod, Memory, MemoryId, Namespace, Status};
use crate::store::near_words;
use crate::text::normalise::comparable;

pub(crate) use apply::settle;
pub(crate) use saved::{APPLY, applied_by};
pub use saved::{AppliedPlan, ReviewedChange, SavedPlan, SavedPlanError, apply_saved};

/// A candidate with the memories relevant to it.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateContext {
    /// The candidate.
    pub incoming: IncomingClaim,
    /// The id of a memory that is created from the candidate.
    pub id: MemoryId,
    /// Stored memories in the candidate's namespace that are relevant to the candidate.
    pub known: Vec<Known>,
    /// Values that were rejected in the candidate's namespace.
    pub rejected: Vec<Rejected>,
    /// The memory that previously resulted from exactly the same candidate.
    pub settled: Option<MemoryId>,
}

/// A model's answers, by index of the candidate.
pub type Answers = HashMap<usize, Answer>;

/// A model's answer about one candidate.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Answer {
    /// The known memories that the model was asked about.
    pub about: BTreeSet<MemoryId>,
    /// The relations that the model named; the candidate is unrelated to all other memories.
    pub named: Vec<(MemoryId, Named)>,
}

/// A candidate that a model is asked about.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// Index of the candidate.
    pub index: usize,
    /// The known memories that the candidate may be related to, in their state at that point, the closest first.
    pub known: Vec<Known>,
    /// The closeness of the closest memory; see `Ask::closeness`.
    pub closeness: f64,
    /// Whether the rules cannot decide, rather than only asking for confirmation.
    pub open: bool,
}

/// The purpose of a draft.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// The draft finds questions: unanswered candidates are kept separate for now, so that later ones are compared with
    /// them.
    Asking,
    /// The draft is the plan itself: the rules decide about candidates that are left unanswered.
    Last,
}

/// Decides about `cases` in order, and returns the changes with the unanswered questions.
///
/// Each candidate is compared with the results of earlier candidates, so that duplicates within a batch collapse and a
/// chain of replacements ends with one active memory.
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
        let is_update = case.incoming.candidate.updates_only;
        let mut known = working.around(case);
        if is_update {
            // A memory from the same message states the change in different words; it is not the memory that changes.
            let incoming = &case.incoming;
            known.retain(|known| {
                (known.fresh || !incoming.is_later) && !shares_message(&incoming.candidate.evidence, &known.evidence)
            });
        }
        let suspicion = suspicion_of(&case.incoming);
        let is_shipped = case.incoming.candidate.is_shipped;
        let before = case.settled.as_ref().and_then(|id| known.iter().find(|known| known.memory.id == *id));
        let verdict = before.map_or_else(|| decide(&case.incoming, &known, &case.rejected, now), decided_before);
        // Text with instructions to a model is not shown to it, so the rules, which cannot be manipulated, decide.
        let asks = if suspicion.is_none() && !is_update { verdict.asks } else { Vec::new() };
        let answer = answers.get(&index);
        let open: Vec<&Ask> =
            asks.iter().filter(|ask| answer.is_none_or(|answer| !answer.about.contains(&ask.id))).collect();
        if let Some(first) = open.first() {
            let known = asked_about(&known, &open);
            questions.push(Question { index, closeness: first.closeness, open: verdict.open, known });
        }
        let ruling = match answer {
            Some(answer) if !asks.is_empty() => working.answered(case, &known, answer, now),
            // The candidate is kept as new for now: if the rules merged it, the model would not see the pair.
            None if !asks.is_empty() && stage == Stage::Asking => Ruling::new(Decision::Add, "not asked yet"),
            Some(_) | None => verdict.ruling,
        };
        let ruling = match suspicion {
            Some(why) => held_back(ruling, why, &case.incoming.candidate.claim, &known),
            None if is_shipped => beside_the_users(ruling, &case.incoming.candidate.claim, &known),
            None => match waiting_target(&ruling, &known) {
                Some(target) => by_itself(case, target, &known, now).unwrap_or(ruling),
                None => ruling,
            },
        };
        if is_update && (ruling.decision != Decision::Contradict || ruling.born_superseded) {
            continue;
        }
        let mut change = Change::new(case, ruling, &known, now);
        let targets: Vec<Known> =
            known.into_iter().filter(|known| change.targets().any(|id| *id == known.memory.id)).collect();
        change.rows = rows::rows(&change, &targets, now);
        // The change is applied before the next candidate, which is compared with this candidate as it will be stored.
        working.apply(&change, targets);
        working.note_absorbed(&case.id, &change);
        changes.push(change);
    }
    (changes, questions)
}

/// Returns why a candidate is suspicious; a person who writes a memory by hand may write anything.
fn suspicion_of(incoming: &IncomingClaim) -> Option<Suspicion> {
    if incoming.needs_review {
        let Candidate { claim, evidence, .. } = &incoming.candidate;
        return Some(reason_to_wait(claim, evidence));
    }
    let by_hand = incoming.method == ExtractionMethod::Manual;
    if by_hand { None } else { suspicion(&incoming.candidate) }
}

/// Makes new memories and replacements wait for a person, and keeps suspicious words from becoming evidence of an
/// active memory.
fn held_back(ruling: Ruling, why: Suspicion, claim: &Claim, known: &[Known]) -> Ruling {
    let waits = |one: &&Known| one.memory.status == Status::Pending;
    let target = || known.iter().find(|one| Some(&one.memory.id) == ruling.target.as_ref());
    match ruling.decision {
        Decision::Skip => ruling,
        Decision::Support if target().is_none_or(|target| waits(&target)) => ruling,
        Decision::Support => match known.iter().filter(waits).find(|one| one.memory.claim.content == claim.content) {
            Some(waiting) => Ruling::about(Decision::Support, waiting, why.reason()),
            None => Ruling { pending: true, ..Ruling::new(Decision::Add, why.reason()) },
        },
        Decision::Add | Decision::Merge | Decision::Refine | Decision::Contradict => {
            Ruling { pending: true, reason: format!("{}; {}", why.reason(), ruling.reason), ..ruling }
        }
    }
}

/// Keeps a report in a log that is part of a repository from changing or confirming what the user said.
fn beside_the_users(ruling: Ruling, claim: &Claim, known: &[Known]) -> Ruling {
    match ruling.decision {
        Decision::Merge | Decision::Refine | Decision::Contradict => {
            held_back(ruling, Suspicion::Shipped, claim, known)
        }
        Decision::Support => Ruling { decision: Decision::Skip, ..ruling },
        Decision::Add | Decision::Skip => ruling,
    }
}

/// Returns the waiting memory that would only get further evidence.
fn waiting_target<'k>(ruling: &Ruling, known: &'k [Known]) -> Option<&'k Known> {
    let target = known.iter().find(|one| Some(&one.memory.id) == ruling.target.as_ref())?;
    let is_joined = matches!(ruling.decision, Decision::Support | Decision::Skip);
    (is_joined && target.memory.status == Status::Pending).then_some(target)
}

/// Returns the decision about new words that become active if the memories in the inbox do not exist. Otherwise, somebody
/// could make the user's words wait by writing them earlier in a log that is part of a repository. The new memory replaces
/// the waiting ones with the same words.
fn by_itself(case: &CandidateContext, target: &Known, known: &[Known], now: Timestamp) -> Option<Ruling> {
    if is_covered(&case.incoming.candidate.evidence, &target.evidence) {
        return None;
    }
    let active: Vec<Known> = known.iter().filter(|one| one.memory.status != Status::Pending).cloned().collect();
    let verdict = decide(&case.incoming, &active, &case.rejected, now);
    // Whatever is related to the words may be why the same words wait.
    let is_free = verdict.asks.is_empty() && !verdict.open;
    let alone = verdict.ruling;
    let words = comparable(&case.incoming.candidate.claim.content);
    let is_copy = |one: &&Known| one.memory.status == Status::Pending && comparable(&one.memory.claim.content) == words;
    let copies = known.iter().filter(is_copy).map(|one| one.memory.id.clone()).collect();
    (is_free && alone.decision == Decision::Add && !alone.pending && !alone.born_superseded)
        .then_some(Ruling { also: copies, ..alone })
}

fn asked_about(known: &[Known], asks: &[&Ask]) -> Vec<Known> {
    let find = |ask: &&Ask| known.iter().find(|known| known.memory.id == ask.id).cloned();
    asks.iter().filter_map(find).collect()
}

impl Change {
    fn new(case: &CandidateContext, ruling: Ruling, known: &[Known], now: Timestamp) -> Self {
        let makes = match ruling.decision {
            Decision::Add | Decision::Refine | Decision::Contradict => true,
            // A merge rewords its target; it needs a separate memory only if it waits for a person.
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

/// Maximum number of memories from the same batch that a candidate is compared with.
const MAX_FRESH: usize = 20;

/// Maximum number of memories in the batch that are looked up for one word; a word in more memories is not informative.
const COMMON_WORD: usize = 200;

/// Memories as they would be after the changes so far, with an index of their words.
#[derive(Debug, Default)]
pub(super) struct Working {
    overlay: Overlay,
    by_word: HashMap<String, Vec<MemoryId>>,
    /// Active memories by attribute and namespace, the most recently created last.
    held: HashMap<String, BTreeSet<MemoryId>>,
    /// The memory that a candidate became part of, by the id that the candidate would have received; or the replacement
    /// of a memory.
    absorbed: HashMap<MemoryId, MemoryId>,
}

impl Working {
    /// Returns the memories that `case` is compared with: stored memories in their planned state, and then the closest
    /// ones in the batch.
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
            // The number is limited to the latest memories, since a word such as the user's name is in every memory.
            for id in ids.iter().rev().take(COMMON_WORD) {
                *shared.entry(id).or_default() += weight;
            }
        }
        let mut ranked: Vec<(&MemoryId, f64)> = shared.into_iter().collect();
        let closer = |a: &(&MemoryId, f64), b: &(&MemoryId, f64)| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0));
        // Twice the number is sufficient, because at most `MAX_FRESH` of these are also among the memories below.
        if ranked.len() > 2 * MAX_FRESH {
            ranked.select_nth_unstable_by(2 * MAX_FRESH, closer);
            ranked.truncate(2 * MAX_FRESH);
        }
        ranked.sort_by(closer);
        // Current memories come first, because the long history of an attribute must not displace them.
        let held = key_word(incoming).and_then(|key| self.held.get(&key)).into_iter().flatten().rev();
        let held: Vec<&MemoryId> = held.take(MAX_FRESH).collect();
        let others = ranked.into_iter().map(|(id, _)| id).filter(|id| !held.contains(id));
        held.iter().copied().chain(others).filter_map(|id| self.overlay.get(id)).take(MAX_FRESH).collect()
    }

    /// Decides about a candidate by the named relations. A relation to one wording applies to the memory into which
    /// that wording was merged.
    pub(super) fn answered(&self, case: &CandidateContext, known: &[Known], answer: &Answer, now: Timestamp) -> Ruling {
        let find = |id: &MemoryId| known.iter().find(|known| known.memory.id == *id).or_else(|| self.overlay.get(id));
        let mut named: Vec<(&Known, Named)> = Vec::new();
        for (id, said) in &answer.named {
            let (now_in, said) = match self.absorber(id) {
                // The candidate adds something to one wording, but perhaps not to all of them together.
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
        // This loop terminates, because no memory is absorbed by a memory that it has itself absorbed.
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

    /// Applies the rows of a change, given its targets in their previous state.
    pub(super) fn apply(&mut self, change: &Change, targets: Vec<Known>) {
        let mut touched: BTreeSet<MemoryId> = BTreeSet::new();
        for known in targets {
            // A candidate that confirms a memory is indexed with that memory even if no row changes.
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

    /// Indexes a memory under its own words and under those of the candidate that created or changed it.
    fn file(&mut self, id: &MemoryId, incoming: &IncomingClaim) {
        for word in index_words(incoming) {
            let ids = self.by_word.entry(word).or_default();
            // A memory indexed twice under the words of consecutive candidates would count twice for each shared word.
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

/// Returns the words under which a candidate is indexed, as in the store; its key and its whole text have a greater
/// weight.
fn index_words(incoming: &IncomingClaim) -> Vec<String> {
    let claim = &incoming.candidate.claim;
    let whole = format!("\u{2}{}\u{1f}{}", comparable(&claim.content), incoming.namespace);
    near_words(&incoming.namespace, claim).into_iter().chain(key_word(incoming)).chain([whole]).collect()
}

/// Returns the weight of a word that occurs in `having` memories out of `all`.
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
