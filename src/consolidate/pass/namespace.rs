//! Runs the pass in one namespace, from the first round to the mark of a finished pass.

use std::collections::BTreeMap;

use super::field::{Field, said_hash};
use super::judge::{Doubt, Said, ask_about, spelled, spread};
use super::same::{Quiet, Swept, sweep};
use super::{Event, Report, Terms, UndonePolicy, links, lists, reflect, tasks};
use crate::changeset::RowChange;
use crate::consolidate::ApplyError;
use crate::consolidate::Known;
use crate::consolidate::pass::field::Around;
use crate::consolidate::pass::field::PassChange;
use crate::llm::Complete;
use crate::memory::Namespace;
use crate::store::{HashPair, StoreError, Writer};

/// Maximum number of rounds; the next pass does the remaining work.
const MAX_ROUNDS: usize = 12;

/// Maximum number of times that a round is repeated because another process wrote in between.
const MAX_ATTEMPTS: usize = 8;

/// The changes that one round would make.
#[derive(Debug, Default)]
struct Round {
    changes: Vec<PassChange>,
    judged: BTreeMap<HashPair, String>,
    held: Vec<String>,
    /// Number of doubts and groups for which no calls were left.
    not_asked: u64,
    failed: u64,
}

impl Round {
    fn take(&mut self, swept: Swept) {
        self.changes.extend(swept.changes);
        self.held.extend(swept.held);
    }
}

/// Runs a full pass over exactly this namespace, and reports its steps to `watch`.
///
/// # Errors
/// `ApplyError::Stale` if another process keeps writing, `ApplyError::Store` if the file cannot be read or written.
pub async fn pass_over<C: Complete>(
    terms: &Terms<'_, C>,
    namespace: &Namespace,
    watch: &dyn Fn(&Event<'_>),
) -> Result<Report, ApplyError> {
    let (mut report, mut around, mut quiet) = (Report::default(), Around::default(), Quiet::default());
    let (mut rounds, mut attempts) = (0, 0);
    loop {
        let field = Field::read(terms.store, namespace, terms.taken_back)?;
        if rounds == 0 {
            report.memories = field.active.len();
        }
        if rounds == 0 && is_marked(terms, &field)? {
            // Only time has passed, so a copy is checked for tasks that are due; the round below makes the changes.
            if tasks::close(&mut field.clone(), &around, terms.now).is_empty() {
                return Ok(Report { active: field.active.len(), is_settled: true, ..report });
            }
        }
        let revision = field.revision;
        let round = round(terms, field, (&mut around, &mut quiet), &mut report, watch).await?;
        match write(terms, namespace, revision, &round) {
            Ok(()) => {}
            Err(ApplyError::Stale { .. }) if attempts < MAX_ATTEMPTS => {
                attempts += 1;
                // Some entries of `quiet` were recorded along with changes that were not written in the end.
                quiet = Quiet::default();
                continue;
            }
            Err(error) => return Err(error),
        }
        rounds += 1;
        count(&mut report, &round);
        watch(&Event::Did(namespace, &round.changes));
        if round.changes.is_empty() && round.judged.is_empty() || rounds == MAX_ROUNDS {
            return finish(terms, namespace, revision, &round, report, watch);
        }
    }
}

fn is_marked<C: Complete>(terms: &Terms<'_, C>, field: &Field) -> Result<bool, StoreError> {
    // The mark does not record the memories that were left unchanged because a person had undone a change.
    if terms.taken_back == UndonePolicy::Again {
        return Ok(false);
    }
    let mark = terms.store.pass_mark(&field.namespace)?;
    Ok(mark.is_some_and(|mark| mark.revision == field.revision && mark.judge == terms.judge()))
}

fn finish<C: Complete>(
    terms: &Terms<'_, C>,
    namespace: &Namespace,
    revision: i64,
    round: &Round,
    report: Report,
    watch: &dyn Fn(&Event<'_>),
) -> Result<Report, ApplyError> {
    round.held.iter().for_each(|held| watch(&Event::Held(namespace, held)));
    let is_settled = round.changes.is_empty() && round.failed == 0 && round.not_asked == 0;
    // Every pass reports the changes that a pin prevented.
    if is_settled && round.held.is_empty() {
        let judge = terms.store.redact(terms.judge());
        let note = |writer: &Writer<'_>| writer.note_pass(namespace, revision, (&judge).into());
        terms.store.write::<_, StoreError>(None, terms.now, note)?;
    }
    let active = Field::read(terms.store, namespace, terms.taken_back)?.active.len();
    Ok(Report { active, is_settled, held_by_pins: round.held.len() as u64, ..report })
}

async fn round<C: Complete>(
    terms: &Terms<'_, C>,
    mut field: Field,
    (around, quiet): (&mut Around, &mut Quiet),
    report: &mut Report,
    watch: &dyn Fn(&Event<'_>),
) -> Result<Round, StoreError> {
    let namespace = field.namespace.clone();
    let step = |name| watch(&Event::Step(&namespace, name));
    let mut round = Round::default();
    around.update(terms.store, &field, watch).await?;
    step("tasks");
    round.changes.extend(tasks::close(&mut field, around, terms.now));
    step("duplicates and contradictions");
    settle_same(terms, &mut field, (around, quiet), &mut round, report).await;
    step("lists");
    round.changes.extend(lists::join(&mut field, terms.now));
    step("repeated episodes");
    settle_episodes(terms, &mut field, around, &mut round, report).await;
    step("links");
    round.changes.extend(links::link(&mut field, around, terms.now));
    Ok(round)
}

async fn settle_same<C: Complete>(
    terms: &Terms<'_, C>,
    field: &mut Field,
    (around, quiet): (&Around, &mut Quiet),
    round: &mut Round,
    report: &mut Report,
) {
    let Some(model) = terms.model else {
        return round.take(sweep(field, around, quiet, None, terms.now));
    };
    // The sweep first runs on copies, to collect all doubts in few calls, and then again with the answers.
    let draft = sweep(&mut field.clone(), around, &mut quiet.clone(), Some(&Said::new()), terms.now);
    let said = ask_doubts(terms, field, model, draft.doubts, round, report).await;
    // The judgements are determined before the memories change, because an answer is about the texts that were shown.
    let judged = judged(field, &said);
    let swept = sweep(field, around, quiet, Some(&said), terms.now);
    field.judged.extend(judged.clone());
    round.take(swept);
    round.judged.extend(judged);
}

async fn ask_doubts<C: Complete>(
    terms: &Terms<'_, C>,
    field: &Field,
    model: &C,
    mut doubts: Vec<Doubt>,
    round: &mut Round,
    report: &mut Report,
) -> Said {
    let calls = spread(&doubts);
    let asked: usize = calls[..terms.allowance.take(calls.len())].iter().sum();
    round.not_asked += (doubts.len() - asked) as u64;
    // Only whole calls are made; the other doubts count as not asked, and the next pass finds them again.
    doubts.truncate(asked);
    if doubts.is_empty() {
        return Said::new();
    }
    let known = |id: &_| field.active.get(id).cloned();
    let shown: Vec<(Known, Vec<Known>)> = doubts
        .iter()
        .filter_map(|(id, others)| Some((known(id)?, others.iter().filter_map(known).collect())))
        .collect();
    let (said, spent, failed) = ask_about(&shown, terms.guard, model).await;
    report.asked += shown.len() as u64;
    report.spent += spent;
    round.failed += failed;
    said
}

/// Returns the answers in their stored form, so that the model is not asked about the same texts again.
fn judged(field: &Field, said: &Said) -> BTreeMap<HashPair, String> {
    let mut judged = BTreeMap::new();
    for (id, answer) in said {
        for other in &answer.about {
            let (Some(a), Some(b)) = (field.active.get(id), field.active.get(other)) else { continue };
            let named = answer.named.iter().find(|(to, _)| to == other).map(|(_, named)| named);
            judged.insert(HashPair::new(said_hash(a), said_hash(b)), spelled(named).to_owned());
        }
    }
    judged
}

async fn settle_episodes<C: Complete>(
    terms: &Terms<'_, C>,
    field: &mut Field,
    around: &Around,
    round: &mut Round,
    report: &mut Report,
) {
    let groups = reflect::groups(field, around);
    let mut said = reflect::Patterns::new();
    if let Some(model) = terms.model {
        let mut open = reflect::undecided(field, &groups);
        let calls = terms.allowance.take(open.len().div_ceil(reflect::MAX_GROUPS));
        round.not_asked += open.len().saturating_sub(calls * reflect::MAX_GROUPS) as u64;
        open.truncate(calls * reflect::MAX_GROUPS);
        if !open.is_empty() {
            let replies = reflect::ask_about(field, &open, terms.guard, model).await;
            report.asked += open.len() as u64;
            report.spent += replies.spent;
            round.failed += replies.failed;
            said = replies.patterns;
        }
        round.judged.extend(reflect::judgements(&said));
    }
    round.changes.extend(reflect::reflect(field, &groups, &said, terms.now));
}

fn write<C: Complete>(
    terms: &Terms<'_, C>,
    namespace: &Namespace,
    revision: i64,
    round: &Round,
) -> Result<(), ApplyError> {
    if round.changes.is_empty() && round.judged.is_empty() {
        return Ok(());
    }
    let judge = terms.store.redact(terms.judge());
    terms.store.write(terms.run, terms.now, |writer| {
        // The check is within the transaction, because the model may have taken minutes since the namespace was read.
        if writer.revision(namespace)? != revision {
            return Err(ApplyError::Stale { namespace: namespace.clone() });
        }
        let rows: Vec<RowChange> = round.changes.iter().flat_map(|change| change.rows.changes().to_vec()).collect();
        if !writer.apply(&rows)?.conflicts.is_empty() {
            return Err(ApplyError::Stale { namespace: namespace.clone() });
        }
        Ok(writer.note_judged(namespace, (&judge).into(), &round.judged)?)
    })
}

fn count(report: &mut Report, round: &Round) {
    for change in &round.changes {
        *report.steps.entry(change.action).or_default() += 1;
    }
    report.failed_calls += round.failed;
    report.not_asked = round.not_asked;
}
