//! Plans changes to a store, and writes a plan in one transaction.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use crate::changeset::Row;
use crate::consolidate::ask::ask;
use crate::consolidate::plan::neighbours::gather;
use crate::consolidate::plan::{Answers, CandidateContext, Question, Stage, draft};
use crate::consolidate::{Change, Decision, IncomingClaim, Known, Plan};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::Complete;
use crate::memory::{Memory, MemoryId, Namespace};
use crate::store::{Database, Fingerprint, RunId, Store, StoreError, Writer};

/// Number of plans that are made while other processes may write; the next plan is made while other writers wait.
// Planning within the transaction always succeeds, but makes all other writers wait.
const MAX_ATTEMPTS: usize = 2;

/// Reasons why a plan was not written.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The namespace was changed after the plan was made; nothing was written.
    #[error("memories of {namespace} changed since the plan was made; plan again")]
    Stale {
        /// The namespace.
        namespace: Namespace,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The changes that a plan wrote.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Number of times that each decision was made.
    pub counts: BTreeMap<Decision, usize>,
    /// Memories that were created, in order.
    pub made: Vec<MemoryId>,
    /// Existing memories that were changed.
    pub changed: BTreeSet<MemoryId>,
}

/// Candidates, each with the related memories in the store.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CandidateContexts {
    /// The candidates, in their order.
    pub cases: Vec<CandidateContext>,
    /// Revision of each namespace of the candidates, for [`Plan::revisions`].
    pub revisions: Vec<(Namespace, i64)>,
}

/// Plans what happens to `incoming`, in order, without writing anything.
///
/// A model is asked only about the candidates that the rules cannot decide. Without a model, or if a call fails, those
/// candidates are kept and linked, unless the classifier finds that they make a memory untrue.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub async fn consolidate<C: Complete>(
    store: &Store,
    guard: &Guard,
    model: Option<&C>,
    incoming: Vec<IncomingClaim>,
    now: Timestamp,
) -> Result<(Plan, Spent), StoreError> {
    let CandidateContexts { cases, revisions } = look_around(store, incoming)?;
    let (plan, spent) = settle(&cases, guard, model, now).await;
    Ok((Plan { revisions, ..plan }, spent))
}

/// Reads the memories that `incoming` is compared with, and the revisions at which they were read.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn look_around(db: &Database, incoming: Vec<IncomingClaim>) -> Result<CandidateContexts, StoreError> {
    // The revisions are read first, so that a change between the two reads makes the plan stale instead of wrong.
    let namespaces: BTreeSet<Namespace> = incoming.iter().map(|incoming| incoming.namespace.clone()).collect();
    let revisions = namespaces.into_iter().map(|namespace| Ok((namespace.clone(), db.revision(&namespace)?)));
    let revisions = revisions.collect::<Result<_, StoreError>>()?;
    Ok(CandidateContexts { cases: gather(db, incoming)?, revisions })
}

/// Writes `plan` in one transaction; a plan that consists only of skips writes nothing.
///
/// # Errors
/// `ApplyError::Stale` if a namespace changed since the plan was made, `ApplyError::Store` if the plan cannot be
/// written.
pub fn apply(store: &Store, plan: &Plan, run: Option<&RunId>, now: Timestamp) -> Result<Applied, ApplyError> {
    // The revisions are checked in this case, too: a stale plan that skips everything may be wrong.
    if plan.is_empty() && !brings_notes(store, plan)? {
        check_revisions(store, plan)?;
        return Ok(Applied { counts: plan.counts(), ..Applied::default() });
    }
    store.write(run, now, |writer| apply_within(writer, plan))
}

/// Writes `plan` within a transaction that the caller has begun, for changes that must be written together with it.
///
/// # Errors
/// As for [`apply`]. The caller must then roll the transaction back.
pub(crate) fn apply_within(writer: &Writer<'_>, plan: &Plan) -> Result<Applied, ApplyError> {
    // The check is within the transaction, so that nobody can write between the check and the changes.
    check_revisions(writer, plan)?;
    let mut applied = Applied { counts: plan.counts(), ..Applied::default() };
    for change in &plan.changes {
        write_change(writer, change, &mut applied)?;
    }
    Ok(applied)
}

/// Plans what happens to `incoming` using only the rules, writes the plan, and returns it.
///
/// The plan is made again if another process has changed the same memories; the last attempt blocks other writers.
///
/// # Errors
/// `ApplyError::Store` if the plan cannot be written.
pub fn settle_by_rules(
    store: &Store,
    incoming: &[IncomingClaim],
    run: Option<&RunId>,
    now: Timestamp,
) -> Result<Plan, ApplyError> {
    settle_by_rules_among(store, incoming, &|_| true, run, now)
}

/// Does the same as [`settle_by_rules`], but compares candidates only with the memories for which `is_compared` is true.
///
/// # Errors
/// As for [`settle_by_rules`].
pub(crate) fn settle_by_rules_among(
    store: &Store,
    incoming: &[IncomingClaim],
    is_compared: &dyn Fn(&Memory) -> bool,
    run: Option<&RunId>,
    now: Timestamp,
) -> Result<Plan, ApplyError> {
    // This function works both on the store and on an open transaction, which the last attempt needs.
    let planned = |db: &Database| -> Result<Plan, StoreError> {
        let mut looked = look_around(db, incoming.to_vec())?;
        looked.cases.iter_mut().for_each(|case| case.known.retain(|known| is_compared(&known.memory)));
        let (changes, _) = draft(&looked.cases, &Answers::new(), Stage::Last, now);
        Ok(Plan { changes, revisions: looked.revisions, ..Plan::default() })
    };
    for _ in 0..MAX_ATTEMPTS {
        let plan = planned(store)?;
        match apply(store, &plan, run, now) {
            Ok(_) => return Ok(plan),
            Err(ApplyError::Stale { .. }) => {}
            Err(error) => return Err(error),
        }
    }
    store.write(run, now, |writer| {
        let plan = planned(writer)?;
        apply_within(writer, &plan)?;
        Ok(plan)
    })
}

fn check_revisions(db: &Database, plan: &Plan) -> Result<(), ApplyError> {
    for (namespace, revision) in &plan.revisions {
        if db.revision(namespace)? != *revision {
            return Err(ApplyError::Stale { namespace: namespace.clone() });
        }
    }
    Ok(())
}

/// Writes the planned rows of a change. If an affected memory has changed since planning, the same decision is applied
/// to its current state.
pub(super) fn write_change(writer: &Writer<'_>, change: &Change, applied: &mut Applied) -> Result<(), StoreError> {
    let mut rows = change.rows.clone();
    if change.decision != Decision::Skip && (rows.is_empty() || !writer.fits(&rows)?) {
        let targets = read_targets(writer, change)?;
        rows = super::rows::rows(change, &targets, writer.now());
    }
    writer.apply(&rows)?;
    let mut made: BTreeSet<&MemoryId> = BTreeSet::new();
    for change in &rows {
        match &change.row {
            Row::Memory { before: None, after: Some(memory) } => {
                made.insert(&memory.id);
                applied.made.push(memory.id.clone());
            }
            Row::Memory { after: Some(memory), .. } => {
                applied.changed.insert(memory.id.clone());
            }
            Row::Evidence { memory, .. } => {
                if !made.contains(memory) {
                    applied.changed.insert(memory.clone());
                }
            }
            Row::Memory { after: None, .. } | Row::Relation { .. } | Row::Tombstone { .. } => {}
        }
    }
    let led_to = change.new_id.as_ref().or(change.target.as_ref());
    match led_to.zip(fingerprint(change)) {
        // The target may have been purged in the meantime, and a note about a missing memory would never match again.
        Some((memory, print)) if writer.find(memory)?.is_some() => writer.note_settled(&print, memory),
        _ => Ok(()),
    }
}

fn fingerprint(change: &Change) -> Option<Fingerprint> {
    let candidate = &change.incoming.candidate;
    Fingerprint::of(&candidate.claim.content, &candidate.evidence)
}

/// Whether a plan that only skips candidates contains a new decision, which may have cost a request to a model.
fn brings_notes(db: &Database, plan: &Plan) -> Result<bool, StoreError> {
    for change in plan.changes.iter().filter(|change| change.target.is_some()) {
        let Some(print) = fingerprint(change) else { continue };
        if db.settled(&change.incoming.namespace, &print)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

pub(in crate::consolidate) fn read_targets(db: &Database, change: &Change) -> Result<Vec<Known>, StoreError> {
    let mut targets = Vec::new();
    for id in change.targets() {
        if let Some(memory) = db.find(id)?.filter(|memory| memory.namespace == change.incoming.namespace) {
            targets.push(Known { evidence: db.evidence(id)?, memory, fresh: false });
        }
    }
    Ok(targets)
}

/// Maximum number of rounds of questions.
// Answers change the memories that later candidates are compared with, and can thus raise further questions.
const MAX_ROUNDS: usize = 3;

/// Minimum closeness at which a memory that was found only because of an answer justifies another question.
const CLOSE: f64 = 0.5;

/// Decides about candidates with their related memories; does not use the store, so that it can wait for a model.
///
/// The model is asked about everything that the rules are not certain of. In the first round, every such candidate
/// counts as new, so that this round finds nearly all pairs. The rules decide about candidates that are left
/// unanswered.
pub(crate) async fn settle<C: Complete>(
    cases: &[CandidateContext],
    guard: &Guard,
    model: Option<&C>,
    now: Timestamp,
) -> (Plan, Spent) {
    let (mut answers, mut spent, mut failed_calls) = (Answers::new(), Spent::default(), 0);
    let mut asked_before = BTreeSet::new();
    if let Some(model) = model {
        for round in 0..MAX_ROUNDS {
            let (_, questions) = draft(cases, &answers, Stage::Asking, now);
            let questions: Vec<Question> = questions
                .into_iter()
                .filter(|question| round == 0 || question.closeness >= CLOSE)
                .filter_map(|question| unasked(question, &mut asked_before))
                .collect();
            if questions.is_empty() {
                break;
            }
            let asked = ask(cases, &questions, guard, model).await;
            spent += asked.spent;
            failed_calls += asked.failed;
            // Without any answers, the model is unavailable or refuses, and more questions would only cost more.
            if asked.answers.is_empty() {
                break;
            }
            for (index, answer) in asked.answers {
                let known = answers.entry(index).or_default();
                known.about.extend(answer.about);
                known.named.extend(answer.named);
            }
        }
    }
    let (changes, _) = draft(cases, &answers, Stage::Last, now);
    (Plan { changes, failed_calls, ..Plan::default() }, spent)
}

/// Removes from a question the memories that were already asked about, whether or not they were answered.
fn unasked(question: Question, before: &mut BTreeSet<(usize, MemoryId)>) -> Option<Question> {
    let index = question.index;
    let known: Vec<_> =
        question.known.into_iter().filter(|known| before.insert((index, known.memory.id.clone()))).collect();
    (!known.is_empty()).then_some(Question { known, ..question })
}
