//! Runs consolidation cases. Each case has its own store, but the decisions about all cases are made together.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use crate::consolidate::plan::{CandidateContext, settle};
use crate::consolidate::{Change, Conflict, Decision, IncomingClaim};
use crate::guard::Guard;
use crate::llm::{Budgeted, Complete, LlmError, Reply, Request, Source};
use crate::memory::{Claim, Memory, MemoryId, Namespace, Status};
use crate::store::StoreError;
use afterthought_eval::consolidation::{
    Act, ComparedMemory, DISTRACTOR, Event, FinalMemory, MemoryAfter, Pair, PairOutcome, Stream, StreamOutcome,
    decide_by_similarity, score_pair, score_stream,
};
use afterthought_eval::extraction::Control;
use afterthought_eval::files::{Placed, read_cases};
use afterthought_eval::results::{Cost, Row};
use afterthought_eval::vocabulary::{Action, Kind};
use anyhow::bail;
use futures::FutureExt as _;
use jiff::Timestamp;

use super::args::ExtractorArg;
use super::job::Job;
use super::search::convert;
use super::system::{InFlight, Meter, Subject};
use crate::cli::printer::set_message;
use store::{CaseHome, Conversations, DISTRACTORS, Spot, Templates, namespace};

mod store;

/// Number of memories whose decisions are made together, as in a run of the pipeline.
const BATCH: usize = 200;
/// The method of decision: the rules, the rules with a model, or a control.
enum Decider<'a, C> {
    /// The rules, with a model for the cases that they leave open.
    Model(&'a C),
    /// Only the rules.
    Rules,
    /// Control: everything is new.
    AlwaysNew,
    /// Control: the similarity of words decides, with guards for numbers and negations.
    Similarity,
}

impl<C: Complete> Decider<'_, C> {
    /// Returns whether each memory must be applied before the next is compared.
    const fn is_control(&self) -> bool {
        match self {
            Self::Model(_) | Self::Rules => false,
            Self::AlwaysNew | Self::Similarity => true,
        }
    }

    /// Returns a change for each of `cases`, and the number of failed requests.
    async fn decide(&self, cases: &[CandidateContext], guard: &Guard, now: Timestamp) -> (Vec<Change>, u64) {
        let plan = match self {
            Self::Model(model) => settle(cases, guard, Some(*model), now).await.0,
            Self::Rules => settle::<C>(cases, guard, None, now).await.0,
            Self::AlwaysNew => {
                return (cases.iter().map(|case| change(case, Decision::Add, "everything is new")).collect(), 0);
            }
            Self::Similarity => return (cases.iter().map(decide_by_words).collect(), 0),
        };
        (plan.changes, plan.failed_calls)
    }
}

/// Returns a change that contains only a decision.
fn change(case: &CandidateContext, decision: Decision, reason: &str) -> Change {
    let makes = match decision {
        Decision::Add | Decision::Refine | Decision::Contradict => true,
        Decision::Skip | Decision::Support | Decision::Merge => false,
    };
    let new_id = makes.then(|| case.id.clone());
    Change { new_id, ..Change::of(case.incoming.clone(), decision, reason) }
}

/// Returns the change of the control that decides by the similarity of words.
fn decide_by_words(case: &CandidateContext) -> Change {
    fn compared(claim: &Claim, is_active: bool) -> ComparedMemory<'_> {
        ComparedMemory { content: &claim.content, attribute: (claim.key.as_deref(), claim.value.as_deref()), is_active }
    }
    let claim = &case.incoming.candidate.claim;
    let known: Vec<ComparedMemory<'_>> =
        case.known.iter().map(|known| compared(&known.memory.claim, known.memory.status == Status::Active)).collect();
    let (decision, place, reason) = decide_by_similarity(compared(claim, true), &known);
    let decision = Decision::ALL.iter().copied().find(|one| one.as_str() == decision.as_str()).unwrap_or(Decision::Add);
    let made = change(case, decision, reason);
    let Some(known) = place.map(|place| &case.known[place].memory) else { return made };
    let merged = (decision == Decision::Merge)
        .then(|| Claim { content: format!("{} {}", known.claim.content, claim.content), ..known.claim.clone() });
    Change {
        target: Some(known.id.clone()),
        before: Some(known.claim.content.clone()),
        conflict: (decision == Decision::Contradict).then_some(Conflict::Changed),
        merged,
        ..made
    }
}

/// Refuses every request and counts them.
#[derive(Default)]
struct Refusing(Cell<u64>);

impl Complete for Refusing {
    async fn complete(&self, _: &Request) -> Result<(Reply, crate::llm::Cost), LlmError> {
        self.0.set(self.0.get() + 1);
        // This error blames neither a server nor a reply.
        Err(LlmError::InBatch)
    }

    fn model(&self) -> &'static str {
        "none"
    }
}

/// Total counts of all cases.
#[derive(Default)]
struct Totals {
    /// Number of memories that arrived, not counting a second run.
    incoming: u64,
    failed_calls: u64,
    /// Requests that a second run of the streams would make.
    asked_again: u64,
    distractors_retired: u64,
}

/// State of a run.
struct Run<'a> {
    guard: &'a Guard,
    templates: Templates,
    totals: Totals,
}

/// Runs the pairs and streams in or below `paths`; returns whether something failed.
pub(super) async fn run(job: &Job<'_>, paths: &[PathBuf]) -> anyhow::Result<bool> {
    let (pairs, mut errors) = read_cases::<Pair>(paths);
    let (streams, more) = read_cases::<Stream>(paths);
    errors.extend(more);
    let (bar, started) = (job.context.out.progress(), Instant::now());
    set_message(&bar, &format!("{} pairs and {} streams", pairs.len(), streams.len()));
    let (mut refused, mut cost, mut label) = (None, Cost::default(), job.label.as_str());
    let cases = (&pairs[..], &streams[..]);
    let (mut rows, totals) = match (job.args.extractor, job.subject) {
        (Some(ExtractorArg::Similarity), _) => {
            label = "similarity";
            run_cases::<Source>(job, cases, &Decider::Similarity).await?
        }
        (_, Subject::Llm(source)) => {
            // The decisions about a whole batch are made at once, so without a limit all its requests would be sent
            // together.
            let model = InFlight::new(Budgeted::new(source, job.options.budget), job.args.jobs);
            let meter = Meter::new(&model);
            let ran = run_cases(job, cases, &Decider::Model(&meter)).boxed_local().await?;
            (refused, cost) = (model.refused(), job.priced(meter.used()));
            ran
        }
        (_, Subject::Rules) => {
            label = "rules";
            run_cases::<Source>(job, cases, &Decider::Rules).await?
        }
        (_, Subject::Control(Control::Nothing)) => run_cases::<Source>(job, cases, &Decider::AlwaysNew).await?,
        (_, Subject::Control(_)) => bail!("consolidation has no such control; use --extractor none or similarity"),
    };
    bar.finish_and_clear();
    // A decision whose request failed was made by the rules, and must not be attributed to the model.
    if let Some(why) = &refused {
        rows = rows.into_iter().map(|(file, row)| (file, row.failed(why.clone()))).collect();
        job.context
            .out
            .error_text(&format!("the model was not asked about all pairs, so the result is not valid: {why}"));
    }
    let totals = [
        ("incoming", totals.incoming),
        ("failed_calls", totals.failed_calls),
        ("asked_again", totals.asked_again),
        ("distractors_retired", totals.distractors_retired),
    ];
    // The first row of each kind contains the totals.
    for kind in [Kind::Pair, Kind::Stream] {
        if let Some((_, row)) = rows.iter_mut().find(|(_, row)| row.kind == kind.as_str()) {
            row.counts.extend(totals.map(|(name, count)| (name.to_owned(), count)));
        }
    }
    cost.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    if let Some((place, _)) = rows.first() {
        job.gather.shared(cost, place, job.repeat);
    }
    job.take(label, rows, Some(cost), errors)
}

/// Runs `pairs` and `streams`, each case among the distractors of the job, and returns their rows with their files.
async fn run_cases<C: Complete>(
    job: &Job<'_>,
    (pairs, streams): (&[Placed<Pair>], &[Placed<Stream>]),
    decider: &Decider<'_, C>,
) -> anyhow::Result<(Vec<(PathBuf, Row)>, Totals)> {
    let templates = Templates { distractors: job.args.distractors, stores: Vec::new() };
    let totals = Totals { incoming: pairs.len() as u64, ..Totals::default() };
    let mut run = Run { guard: job.options.guard, templates, totals };
    let with_file = |file: &PathBuf, row: Row| (file.clone(), row);
    let ran = run_pairs(pairs, decider, &mut run).await?;
    let mut rows: Vec<_> = pairs.iter().zip(ran).map(|(placed, row)| with_file(&placed.file, row)).collect();
    let ran = run_streams(streams, decider, &mut run).await?;
    rows.extend(streams.iter().zip(ran).map(|(placed, row)| with_file(&placed.file, row)));
    Ok((rows, run.totals))
}

/// Number of the arrival to which the incoming memory of every pair belongs.
const PAIR_ARRIVAL: u32 = 1;

/// A pair that has not been decided yet.
struct ReadyPair<'a> {
    placed: &'a Placed<Pair>,
    known: IncomingClaim,
    memory: Memory,
    incoming: IncomingClaim,
    spots: [Spot; 2],
}

async fn run_pairs<C: Complete>(
    pairs: &[Placed<Pair>],
    decider: &Decider<'_, C>,
    run: &mut Run<'_>,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::with_capacity(pairs.len());
    // Pairs are compared in chunks, since the contexts of all pairs at once would take too much memory.
    for chunk in pairs.chunks(BATCH) {
        let mut ready = Vec::with_capacity(chunk.len());
        let mut cases = Vec::with_capacity(chunk.len());
        for placed in chunk {
            let (one, case) = prepare_pair(placed, run)?;
            ready.push(one);
            cases.push(case);
        }
        let (changes, failed_calls) = decider.decide(&cases, run.guard, CaseHome::now(PAIR_ARRIVAL)).await;
        run.totals.failed_calls += failed_calls;
        for ((one, case), change) in ready.iter().zip(&cases).zip(changes) {
            rows.push(score_pair(one.placed, &finish_pair(one, case, change, run)?));
        }
    }
    Ok(rows)
}

fn label_of(pair: &Placed<Pair>) -> String {
    format!("{}-{}", pair.split, pair.case.id)
}

fn prepare_pair<'a>(placed: &'a Placed<Pair>, run: &mut Run<'_>) -> anyhow::Result<(ReadyPair<'a>, CandidateContext)> {
    let (pair, label) = (&placed.case, label_of(placed));
    let mut conversations = Conversations::default();
    let (known, old) = conversations.incoming(&label, "known", &pair.known)?;
    let (incoming, new) = conversations.incoming(&label, "incoming", &pair.incoming)?;
    let mut home = run.templates.home(&label, namespaces_of(pair)?)?;
    let memory = Memory { pinned: pair.known.pinned, ..home.memory(known.candidate.claim.clone(), &known) };
    home.know(&memory, &known.candidate.evidence, run.guard)?;
    let case = home.look(vec![incoming.clone()])?.remove(0);
    Ok((ReadyPair { placed, known, memory, incoming, spots: [old, new] }, case))
}

fn namespaces_of(pair: &Pair) -> anyhow::Result<Vec<Namespace>> {
    let mut both = vec![namespace(&pair.known)?, namespace(&pair.incoming)?];
    // There are at most two names, so equal names are adjacent.
    both.dedup();
    Ok(both)
}

/// Creates the store of a pair again and applies the change. Keeping the stores of all pairs would take too much
/// memory.
fn finish_pair(
    one: &ReadyPair<'_>,
    case: &CandidateContext,
    change: Change,
    run: &mut Run<'_>,
) -> anyhow::Result<PairOutcome> {
    let mut home = run.templates.home(&label_of(one.placed), namespaces_of(&one.placed.case)?)?;
    home.know(&one.memory, &one.known.candidate.evidence, run.guard)?;
    home.look(vec![one.incoming.clone()])?;
    let is_known = |id: &MemoryId| *id == one.memory.id;
    // Memories of another namespace are not compared, so a missing candidate is not a fault there.
    let same_namespace = one.known.namespace == one.incoming.namespace;
    let mut outcome = PairOutcome {
        decision: convert(change.decision.as_str())?,
        reason: change.reason.clone(),
        conflict: change.conflict.map(|conflict| convert(conflict.as_str())).transpose()?,
        late: change.born_superseded,
        waits: change.pending,
        elsewhere: !change.target.as_ref().is_none_or(is_known) || !change.also.iter().all(is_known),
        found: same_namespace.then(|| case.known.iter().any(|known| is_known(&known.memory.id))),
        after: Vec::new(),
    };
    home.apply(vec![change], CaseHome::now(PAIR_ARRIVAL))?;
    run.totals.distractors_retired += home.retired_distractors()?;
    let [old, new] = &one.spots;
    for (memory, evidence) in home.state()? {
        outcome.after.push(MemoryAfter {
            status: convert(memory.status.as_str())?,
            is_known: is_known(&memory.id),
            rests_on_known: old.is_in(&evidence),
            rests_on_incoming: new.is_in(&evidence) && new != old,
            content: memory.claim.content,
        });
    }
    Ok(outcome)
}

/// A stream in progress.
struct RunningStream<'a> {
    placed: &'a Placed<Stream>,
    home: CaseHome,
    /// Every event with its memory and message, in the order of arrival.
    events: Vec<(&'a str, u32, IncomingClaim, Spot)>,
    failed_acts: Vec<String>,
    added: u64,
}

async fn run_streams<C: Complete>(
    streams: &[Placed<Stream>],
    decider: &Decider<'_, C>,
    run: &mut Run<'_>,
) -> anyhow::Result<Vec<Row>> {
    let mut running = Vec::new();
    for placed in streams {
        running.push(RunningStream::new(placed, run)?);
    }
    let events = running.iter().flat_map(|one| one.placed.case.events.iter());
    let arrivals: BTreeSet<u32> = events.map(Event::arrival).collect();
    for &arrival in &arrivals {
        for one in &mut running {
            one.act(arrival)?;
        }
        arrive(&mut running, arrival, decider, run).await?;
    }
    run.totals.incoming += running.iter().map(|one| one.events.len() as u64).sum::<u64>();
    let mut outcomes = running.iter_mut().map(RunningStream::outcome).collect::<anyhow::Result<Vec<_>>>()?;
    running.iter_mut().for_each(|one| one.added = 0);
    run_again(&mut running, &arrivals, decider, run).await?;
    for (one, outcome) in running.iter().zip(&mut outcomes) {
        outcome.growth = one.added;
        run.totals.distractors_retired += one.home.retired_distractors()?;
    }
    Ok(streams.iter().zip(&outcomes).map(|(placed, outcome)| score_stream(placed, outcome)).collect())
}

/// Processes all arrivals again. Requests to a model are refused and counted.
async fn run_again<C: Complete>(
    running: &mut [RunningStream<'_>],
    arrivals: &BTreeSet<u32>,
    decider: &Decider<'_, C>,
    run: &mut Run<'_>,
) -> anyhow::Result<()> {
    // A second run must need no request, since everything was decided before.
    let refusing = Refusing::default();
    let decider = match decider {
        Decider::Model(_) | Decider::Rules => Decider::Model(&refusing),
        Decider::AlwaysNew => Decider::AlwaysNew,
        Decider::Similarity => Decider::Similarity,
    };
    let failed = run.totals.failed_calls;
    for &arrival in arrivals {
        arrive(running, arrival, &decider, run).await?;
    }
    // Refused requests count as failed, but no model has failed here.
    run.totals.failed_calls = failed;
    run.totals.asked_again += refusing.0.get();
    Ok(())
}

/// Decides about the arrivals of all streams: together for rules and models, one by one for controls.
async fn arrive<C: Complete>(
    running: &mut [RunningStream<'_>],
    arrival: u32,
    decider: &Decider<'_, C>,
    run: &mut Run<'_>,
) -> anyhow::Result<()> {
    let (mut batch, mut size) = (Vec::new(), 0);
    let all = running.len();
    for (index, one) in running.iter_mut().enumerate() {
        let arriving = one.arriving(arrival);
        size += arriving.len();
        batch.push((one, arriving));
        if size >= BATCH || index + 1 == all {
            decide_batch(std::mem::take(&mut batch), decider, run, arrival).await?;
            size = 0;
        }
    }
    Ok(())
}

/// A stream with the events that arrive in it.
type Arriving<'r, 'a> = (&'r mut RunningStream<'a>, Vec<(String, IncomingClaim)>);

async fn decide_batch<C: Complete>(
    batch: Vec<Arriving<'_, '_>>,
    decider: &Decider<'_, C>,
    run: &mut Run<'_>,
    arrival: u32,
) -> anyhow::Result<()> {
    let now = CaseHome::now(arrival);
    if decider.is_control() {
        for (one, arriving) in batch {
            for (id, incoming) in arriving {
                let cases = one.home.look(vec![incoming])?;
                let (changes, _) = decider.decide(&cases, run.guard, now).await;
                one.apply(&[id], changes, arrival)?;
            }
        }
        return Ok(());
    }
    let mut cases: Vec<CandidateContext> = Vec::new();
    let mut waiting = Vec::new();
    for (one, arriving) in batch {
        let (ids, incoming): (Vec<String>, Vec<IncomingClaim>) = arriving.into_iter().unzip();
        cases.extend(one.home.look(incoming)?);
        waiting.push((one, ids));
    }
    let (changes, failed_calls) = decider.decide(&cases, run.guard, now).await;
    run.totals.failed_calls += failed_calls;
    let mut changes = changes.into_iter();
    for (one, ids) in waiting {
        let own = changes.by_ref().take(ids.len()).collect();
        one.apply(&ids, own, arrival)?;
    }
    Ok(())
}

impl<'a> RunningStream<'a> {
    fn new(placed: &'a Placed<Stream>, run: &mut Run<'_>) -> anyhow::Result<Self> {
        let (stream, label) = (&placed.case, format!("{}-{}", placed.split, placed.case.id));
        let mut conversations = Conversations::default();
        let mut namespaces: Vec<Namespace> = Vec::new();
        let mut events: Vec<(&str, u32, IncomingClaim, Spot)> = Vec::new();
        for event in &stream.events {
            match event {
                Event::Act(_) => {}
                Event::Again(again) => {
                    let said = events.iter().find(|(id, ..)| *id == again.again).cloned();
                    events
                        .extend(said.map(|(_, _, incoming, spot)| (again.id.as_str(), again.arrival, incoming, spot)));
                }
                Event::Memory(one) => {
                    let (incoming, spot) = conversations.incoming(&label, &one.memory.id, &one.memory)?;
                    namespaces.push(namespace(&one.memory)?);
                    events.push((&one.memory.id, one.arrival, incoming, spot));
                }
            }
        }
        let mut seen = BTreeSet::new();
        namespaces.retain(|namespace| seen.insert(namespace.to_string()));
        let home = run.templates.home(&label, namespaces)?;
        Ok(Self { placed, home, events, failed_acts: Vec::new(), added: 0 })
    }

    /// Returns the arrivals in the order of the pipeline: by time, with memories without a time last.
    fn arriving(&self, arrival: u32) -> Vec<(String, IncomingClaim)> {
        let mut arriving: Vec<_> = self.events.iter().filter(|(_, at, ..)| *at == arrival).collect();
        arriving.sort_by_key(|(_, _, incoming, _)| {
            let said = incoming.candidate.evidence.first().and_then(|piece| piece.said_at).map(|said| said.at);
            (said.is_none(), said)
        });
        arriving.into_iter().map(|(id, _, incoming, _)| ((*id).to_owned(), incoming.clone())).collect()
    }

    fn apply(&mut self, ids: &[String], changes: Vec<Change>, arrival: u32) -> anyhow::Result<()> {
        let pinned: Vec<usize> = self.pinned(ids);
        let new: Vec<Option<MemoryId>> = changes.iter().map(|change| change.new_id.clone()).collect();
        let now = CaseHome::now(arrival);
        let applied = self.home.apply(changes, now)?;
        self.added += applied.made.len() as u64;
        for id in pinned.into_iter().filter_map(|place| new.get(place)?.clone()) {
            self.home.store.write::<_, StoreError>(None, now, |writer| writer.set_pinned(&id, true))?;
        }
        Ok(())
    }

    /// Returns the positions of the events that a person pins immediately.
    fn pinned(&self, ids: &[String]) -> Vec<usize> {
        let is_pinned = |id: &String| {
            let event = self.placed.case.events.iter().find(|event| event.id() == Some(id.as_str()));
            matches!(event, Some(Event::Memory(one)) if one.memory.pinned)
        };
        ids.iter().enumerate().filter(|(_, id)| is_pinned(id)).map(|(place, _)| place).collect()
    }

    /// Performs the actions that a person takes before an arrival.
    fn act(&mut self, arrival: u32) -> anyhow::Result<()> {
        for event in &self.placed.case.events {
            if let Event::Act(act) = event
                && act.arrival == arrival
                && !self.perform(act)?
            {
                self.failed_acts.push(format!("{} {}", act.act, act.target));
            }
        }
        Ok(())
    }

    /// Performs an action, and returns whether the memory that it concerns was found.
    fn perform(&self, act: &Act) -> anyhow::Result<bool> {
        let fits: &[Status] = match act.act {
            Action::Forget => &[Status::Active, Status::Pending],
            Action::Restore => &[Status::Forgotten, Status::Superseded],
            Action::Pin => &[Status::Active],
            Action::Reject | Action::Accept => &[Status::Pending],
        };
        let spot = self.events.iter().find(|(id, ..)| *id == act.target).map(|(.., spot)| spot);
        let state = self.home.state()?;
        let resting: Vec<&Memory> = state
            .iter()
            .filter(|(_, evidence)| spot.is_some_and(|spot| spot.is_in(evidence)))
            .map(|(memory, _)| memory)
            .collect();
        // Ids sort by creation time, so the last one is the latest.
        let find = |status| resting.iter().rev().find(|memory| memory.status == status);
        let Some(memory) = fits.iter().find_map(|&status| find(status)) else { return Ok(false) };
        let done = self.home.store.write::<_, StoreError>(None, CaseHome::now(act.arrival), |writer| match act.act {
            Action::Forget => writer.forget(&memory.id, None).map(|_| true),
            Action::Restore => writer.restore(&memory.id, Some("by hand".into())).map(|_| true),
            Action::Pin => writer.set_pinned(&memory.id, true).map(|_| true),
            Action::Reject => writer.reject(&memory.id, None).map(|()| true),
            Action::Accept => writer.accept(&memory.id).map(|_| true),
        });
        Ok(done?)
    }

    fn outcome(&mut self) -> anyhow::Result<StreamOutcome> {
        let state = self.home.state()?;
        let places: BTreeMap<&MemoryId, usize> =
            state.iter().enumerate().map(|(place, (memory, _))| (&memory.id, place)).collect();
        let mut outcome = StreamOutcome { failed_acts: self.failed_acts.clone(), ..StreamOutcome::default() };
        for (memory, evidence) in &state {
            for relation in self.home.store.relations(&memory.id)? {
                if let Some((from, to)) = places.get(&relation.from).zip(places.get(&relation.to)) {
                    outcome.links.insert((*from, convert(relation.relation_type.as_str())?, *to));
                }
            }
            let resting = self.events.iter().filter(|(.., spot)| spot.is_in(evidence));
            let mut events: BTreeSet<String> = resting.map(|(id, ..)| (*id).to_owned()).collect();
            if evidence.iter().any(|piece| piece.transcript.starts_with(DISTRACTORS)) {
                events.insert(DISTRACTOR.to_owned());
            }
            outcome.memories.push(FinalMemory { status: convert(memory.status.as_str())?, events });
        }
        Ok(outcome)
    }
}
