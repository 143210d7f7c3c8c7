//! Runs consolidation cases: each in a store of its own, with the decisions about all of them made together.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Instant;

use afterthought::consolidate::compare::key::canonical;
use afterthought::consolidate::plan::apply::{Applied, apply, look_around};
use afterthought::consolidate::plan::{Surrounded, settle};
use afterthought::consolidate::{Change, Conflict, Decision, Incoming, Plan};
use afterthought::guard::Guard;
use afterthought::llm::{Budgeted, Complete, LlmError, Reply, Request, Source};
use afterthought::memory::{
    Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, Namespace, Status,
};
use afterthought::store::{Filter, Order, Store, StoreError};
use afterthought_eval::consolidation::{
    Act, ComparedMemory, DISTRACTOR, Event, FinalMemory, MemoryAfter, Pair, PairOutcome, Stream, StreamOutcome,
    decide_by_similarity, distractors, score_pair, score_stream,
};
use afterthought_eval::extraction::Control;
use afterthought_eval::files::{Placed, read_cases};
use afterthought_eval::memory::CaseMemory;
use afterthought_eval::results::{Cost, Row};
use afterthought_eval::vocabulary::{Action, Kind};
use anyhow::bail;
use futures::FutureExt as _;
use jiff::{Timestamp, ToSpan as _};
use transcripts::{Message, MessageTime};

use super::args::ExtractorArg;
use super::job::Job;
use super::search::{claim_of, convert};
use super::system::{InFlight, Meter, Subject};

/// Number of memories that are decided about together, as in a run of the pipeline.
const BATCH: usize = 200;
/// When everything is written, after all times in the cases: 2027-01-01.
const NOW: Timestamp = Timestamp::constant(1_798_761_600, 0);
/// When distractors were written, before everything else: 2025-01-01.
const BEFORE: Timestamp = Timestamp::constant(1_735_689_600, 0);
/// Source of distractors.
const DISTRACTORS: &str = "eval:distractor";
/// Separates the name of a case from an id that several cases have.
const OF_CASE: char = '~';

/// Makes the decisions: the rules, the rules with a model, or a control.
enum Decider<'a, C> {
    /// The rules, with a model for what they leave open.
    Model(&'a C),
    /// The rules alone.
    Rules,
    /// Control: everything is new.
    AlwaysNew,
    /// Control: the similarity of words decides, with guards for numbers and negations.
    Similarity,
}

impl<C> Clone for Decider<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Decider<'_, C> {}

impl<C: Complete> Decider<'_, C> {
    /// Returns whether each memory must be applied before the next is compared.
    const fn is_control(&self) -> bool {
        match self {
            Self::Model(_) | Self::Rules => false,
            Self::AlwaysNew | Self::Similarity => true,
        }
    }

    /// Returns a change for each of `cases`, and the number of failed requests.
    async fn decide(&self, cases: &[Surrounded], guard: &Guard, now: Timestamp) -> (Vec<Change>, u64) {
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

/// Returns a change with nothing but a decision.
fn change(case: &Surrounded, decision: Decision, reason: &str) -> Change {
    let makes = match decision {
        Decision::Add | Decision::Refine | Decision::Contradict => true,
        Decision::Skip | Decision::Support | Decision::Merge => false,
    };
    Change {
        incoming: case.incoming.clone(),
        decision,
        conflict: None,
        target: None,
        also: Vec::new(),
        related: None,
        new_id: makes.then(|| case.id.clone()),
        rest: None,
        merged: None,
        born_superseded: false,
        pending: false,
        reason: reason.to_owned(),
        before: None,
        holds_from: None,
        rows: Vec::new(),
    }
}

/// Returns the change of the control that decides by the similarity of words.
fn decide_by_words(case: &Surrounded) -> Change {
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
    async fn complete(&self, _: &Request) -> Result<(Reply, afterthought::llm::Cost), LlmError> {
        self.0.set(self.0.get() + 1);
        Err(LlmError::InBatch)
    }

    fn model(&self) -> &'static str {
        "none"
    }
}

/// Outcome of all cases together.
#[derive(Default)]
struct Totals {
    /// Memories that arrived; those of a second run do not count.
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
    bar.set_message(format!("{} pairs and {} streams", pairs.len(), streams.len()));
    let (mut refused, mut cost, mut label) = (None, Cost::default(), job.label.as_str());
    let cases = (&pairs[..], &streams[..]);
    let (mut rows, totals) = match (job.args.extractor, job.subject) {
        (Some(ExtractorArg::Similarity), _) => {
            label = "similarity";
            run_cases::<Source>(job, cases, Decider::Similarity).await?
        }
        (_, Subject::Llm(source)) => {
            let model = InFlight::new(Budgeted::new(source, job.options.budget), job.args.jobs);
            let meter = Meter::new(&model);
            let ran = run_cases(job, cases, Decider::Model(&meter)).boxed_local().await?;
            (refused, cost) = (model.refused(), job.priced(meter.used()));
            ran
        }
        (_, Subject::Rules) => {
            label = "rules";
            run_cases::<Source>(job, cases, Decider::Rules).await?
        }
        (_, Subject::Control(Control::Nothing)) => run_cases::<Source>(job, cases, Decider::AlwaysNew).await?,
        (_, Subject::Control(_)) => bail!("consolidation has no such control; use --extractor none or similarity"),
    };
    bar.finish_and_clear();
    if let Some(why) = &refused {
        rows = rows.into_iter().map(|(file, row)| (file, row.failed(why.clone()))).collect();
        job.context
            .out
            .error_text(&format!("the model was not asked about everything, so this measures nothing: {why}"));
    }
    // The totals are of all cases together; the first row of each kind carries them.
    for kind in [Kind::Pair, Kind::Stream] {
        if let Some((_, row)) = rows.iter_mut().find(|(_, row)| row.kind == kind.as_str()) {
            row.counts.extend(totals.named());
        }
    }
    cost.ms = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    if let Some((place, _)) = rows.first() {
        job.gather.shared(cost, place, job.repeat);
    }
    job.take(label, rows, Some(cost), errors)
}

impl Totals {
    fn named(&self) -> [(String, u64); 4] {
        [
            ("incoming", self.incoming),
            ("failed_calls", self.failed_calls),
            ("asked_again", self.asked_again),
            ("distractors_retired", self.distractors_retired),
        ]
        .map(|(name, count)| (name.to_owned(), count))
    }
}

/// Runs `pairs` and `streams`, each case among the distractors of the job, and returns their rows with their files.
async fn run_cases<C: Complete>(
    job: &Job<'_>,
    (pairs, streams): (&[Placed<Pair>], &[Placed<Stream>]),
    decider: Decider<'_, C>,
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

/// The message in which something was said; it identifies an event in whatever memory rests on it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Spot {
    /// Key of the transcript.
    transcript: String,
    /// Id of the message.
    message: String,
}

impl Spot {
    /// Returns whether a memory that rests on `evidence` rests on this message.
    fn is_in(&self, evidence: &[Evidence]) -> bool {
        let here = |piece: &Evidence| {
            piece.transcript == self.transcript && piece.messages.first().is_some_and(|id| *id == self.message)
        };
        evidence.iter().any(here)
    }
}

/// The conversations of a case.
#[derive(Debug, Default)]
struct Conversations {
    /// Quotes of each conversation, in order.
    quotes: BTreeMap<String, Vec<String>>,
}

impl Conversations {
    /// Returns a memory as an extractor would propose it, and the message that it rests on.
    fn incoming(&mut self, case: &str, id: &str, said: &CaseMemory) -> anyhow::Result<(Incoming, Spot)> {
        let quote = said.quote.clone().unwrap_or_else(|| said.content.clone());
        let transcript = format!("eval:{case}/{}", said.source.as_deref().unwrap_or(id));
        let quotes = self.quotes.entry(transcript.clone()).or_default();
        let place = quotes.iter().position(|known| *known == quote).unwrap_or_else(|| {
            quotes.push(quote.clone());
            quotes.len() - 1
        });
        let spot = Spot { message: (place + 1).to_string(), transcript };
        // A quote is a part of its message: the same words elsewhere are another message.
        let text = format!("{}\n{quote}", spot.transcript);
        let message = Message { speaker: said.speaker.clone(), ..Message::user(text) };
        let evidence = Evidence {
            transcript: spot.transcript.clone(),
            messages: vec![spot.message.clone()],
            quote,
            speaker: said.speaker.clone(),
            said_at: said.said.flatten().map(|said| MessageTime::logged(said.noon())),
            content_hash: message.content_hash(),
        };
        let candidate = Candidate {
            claim: claim_of(said)?,
            audience: Audience::Project,
            evidence: vec![evidence],
            replaces: None,
            is_pasted: false,
        };
        let incoming = Incoming {
            candidate,
            namespace: namespace(said)?,
            source: spot.transcript.clone(),
            method: ExtractionMethod::Auto,
        };
        Ok((incoming, spot))
    }
}

fn namespace(said: &CaseMemory) -> anyhow::Result<Namespace> {
    convert(said.namespace.as_deref().unwrap_or("project/case"))
}

/// Stores to copy: inserting many memories is slow, copying them is not.
struct Templates {
    distractors: usize,
    /// By how many namespaces a case has, less one.
    stores: Vec<Store>,
}

impl Templates {
    /// Returns a store with nothing but distractors, for a case with these namespaces.
    fn home(&mut self, case: &str, namespaces: Vec<Namespace>) -> anyhow::Result<CaseHome> {
        while self.stores.len() < namespaces.len() {
            let store = match self.stores.last() {
                Some(store) => store.copy_in_memory()?,
                None => Store::in_memory()?,
            };
            insert_distractors(&store, &inner(self.stores.len()), self.distractors)?;
            self.stores.push(store);
        }
        let store = match namespaces.len().checked_sub(1) {
            Some(last) => self.stores[last].copy_in_memory()?,
            None => Store::in_memory()?,
        };
        Ok(CaseHome { store, case: case.to_owned(), namespaces, revisions: Vec::new(), distractors: self.distractors })
    }
}

/// Returns the name of a case's namespace in its store.
fn inner(index: usize) -> Namespace {
    Namespace::project(&format!("case-{index}")).unwrap_or_else(|_| Namespace::global())
}

/// The store of one case.
struct CaseHome {
    store: Store,
    case: String,
    /// As the case spells them, in order of appearance.
    namespaces: Vec<Namespace>,
    revisions: Vec<(Namespace, i64)>,
    distractors: usize,
}

impl CaseHome {
    /// Returns the time at which the memories of an arrival are decided about.
    fn now(arrival: u32) -> Timestamp {
        NOW.checked_add((i64::from(arrival) * 24).hours()).unwrap_or(NOW)
    }

    /// Returns a memory of `claim` as it would have been stored.
    fn memory(&self, claim: Claim, incoming: &Incoming) -> Memory {
        let claim = Claim { key: claim.key.as_deref().map(canonical), ..claim };
        Memory::new(claim, self.inward(&incoming.namespace), &incoming.source, incoming.method, NOW)
    }

    /// Stores a known memory.
    fn know(&self, memory: &Memory, evidence: &[Evidence], guard: &Guard) -> Result<(), StoreError> {
        self.store.write(None, NOW, |writer| {
            writer.insert(&guard.redact(memory.clone()).0, &guard.redact(evidence.to_vec()).0)
        })
    }

    /// Reads the memories that `incoming` are compared with, under names that no other case has.
    fn look(&mut self, incoming: Vec<Incoming>) -> anyhow::Result<Vec<Surrounded>> {
        let inside = incoming.into_iter().map(|one| Incoming { namespace: self.inward(&one.namespace), ..one });
        let mut looked = look_around(&self.store, inside.collect())?;
        self.revisions = looked.revisions;
        for case in &mut looked.cases {
            case.incoming.namespace = self.outward(&case.incoming.namespace);
            for known in &mut case.known {
                known.memory.namespace = self.outward(&known.memory.namespace);
                if known.memory.source == DISTRACTORS {
                    let id = format!("{}{OF_CASE}{}", self.case, known.memory.id);
                    known.memory.id = MemoryId::from_stored(id);
                }
            }
        }
        Ok(looked.cases)
    }

    /// Applies the changes to all that was last read.
    fn apply(&self, changes: Vec<Change>, now: Timestamp) -> anyhow::Result<Applied> {
        let changes = changes.into_iter().map(|change| self.bring_in(change)).collect();
        let plan = Plan { changes, revisions: self.revisions.clone(), ..Plan::default() };
        Ok(apply(&self.store, &plan, None, now)?)
    }

    fn bring_in(&self, mut change: Change) -> Change {
        change.incoming.namespace = self.inward(&change.incoming.namespace);
        // The planned rows name ids of the merged cases: they are planned again from the memories in this store.
        change.rows.clear();
        for id in change.target.iter_mut().chain(&mut change.also).chain(&mut change.related) {
            if let Some((_, own)) = id.as_str().rsplit_once(OF_CASE) {
                *id = MemoryId::from_stored(own);
            }
        }
        change
    }

    /// Returns every memory with its evidence, except for unchanged distractors.
    fn state(&self) -> Result<Vec<(Memory, Vec<Evidence>)>, StoreError> {
        let touched = Filter { statuses: Vec::new(), updated_from: Some(NOW), ..Filter::default() };
        let memories = self.store.list(&touched, Order::Id, usize::MAX >> 1, 0)?;
        let with_evidence = |memory: Memory| self.store.evidence(&memory.id).map(|evidence| (memory, evidence));
        memories.into_iter().map(with_evidence).collect()
    }

    /// Returns the number of distractors that are no longer active.
    fn retired_distractors(&self) -> Result<u64, StoreError> {
        let recalled = Filter { source: Some(DISTRACTORS.to_owned()), ..Filter::default() };
        let all = self.distractors * self.namespaces.len();
        Ok(all.saturating_sub(self.store.count(&recalled)?) as u64)
    }

    /// Returns the store's name of a namespace, given by its own or its outward name.
    fn inward(&self, namespace: &Namespace) -> Namespace {
        let place = self.namespaces.iter().position(|own| own == namespace || self.named(own) == *namespace);
        place.map_or_else(|| namespace.clone(), inner)
    }

    /// Returns the name of a namespace among those of other cases.
    fn outward(&self, namespace: &Namespace) -> Namespace {
        let own = (0..self.namespaces.len()).find(|&index| inner(index) == *namespace);
        own.map_or_else(|| namespace.clone(), |index| self.named(&self.namespaces[index]))
    }

    fn named(&self, own: &Namespace) -> Namespace {
        let parts = ["case".to_owned(), self.case.replace('/', "-"), own.parts().join("-")];
        Namespace::try_from(parts.to_vec()).unwrap_or_else(|_| own.clone())
    }
}

/// Stores invented memories in `namespace`, said in the hours after [`BEFORE`].
fn insert_distractors(store: &Store, namespace: &Namespace, count: usize) -> anyhow::Result<()> {
    if count == 0 {
        return Ok(());
    }
    let (guard, claims) = (Guard::default(), distractors(count).iter().map(claim_of).collect::<Result<Vec<_>, _>>()?);
    store.write(None, BEFORE, |writer| {
        for (index, (claim, hour)) in claims.into_iter().zip((0..8_000).cycle()).enumerate() {
            let evidence = Evidence {
                transcript: format!("{DISTRACTORS}/{index}"),
                messages: vec!["1".to_owned()],
                content_hash: format!("{DISTRACTORS}/{index}"),
                quote: claim.content.clone(),
                speaker: None,
                said_at: Some(MessageTime::logged(BEFORE.checked_add(hour.hours()).unwrap_or(BEFORE))),
            };
            let memory = Memory::new(claim, namespace.clone(), DISTRACTORS, ExtractionMethod::Auto, BEFORE);
            writer.insert(&guard.redact(memory).0, &guard.redact(vec![evidence]).0)?;
        }
        Ok::<_, StoreError>(())
    })?;
    Ok(())
}

/// Arrival of all incoming memories of pairs.
const PAIR_ARRIVAL: u32 = 1;

/// A pair before its decision.
struct ReadyPair<'a> {
    placed: &'a Placed<Pair>,
    known: Incoming,
    memory: Memory,
    incoming: Incoming,
    spots: [Spot; 2],
}

async fn run_pairs<C: Complete>(
    pairs: &[Placed<Pair>],
    decider: Decider<'_, C>,
    run: &mut Run<'_>,
) -> anyhow::Result<Vec<Row>> {
    let mut rows = Vec::with_capacity(pairs.len());
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

fn prepare_pair<'a>(placed: &'a Placed<Pair>, run: &mut Run<'_>) -> anyhow::Result<(ReadyPair<'a>, Surrounded)> {
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
    both.dedup();
    Ok(both)
}

/// Makes the store again, since keeping those of all pairs would take too much memory, and applies the change.
fn finish_pair(
    one: &ReadyPair<'_>,
    case: &Surrounded,
    change: Change,
    run: &mut Run<'_>,
) -> anyhow::Result<PairOutcome> {
    let mut home = run.templates.home(&label_of(one.placed), namespaces_of(&one.placed.case)?)?;
    home.know(&one.memory, &one.known.candidate.evidence, run.guard)?;
    home.look(vec![one.incoming.clone()])?;
    let is_known = |id: &MemoryId| *id == one.memory.id;
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
    events: Vec<(&'a str, u32, Incoming, Spot)>,
    failed_acts: Vec<String>,
    added: u64,
}

async fn run_streams<C: Complete>(
    streams: &[Placed<Stream>],
    decider: Decider<'_, C>,
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

/// Lets everything arrive again. Requests to a model are refused and counted.
async fn run_again<C: Complete>(
    running: &mut [RunningStream<'_>],
    arrivals: &BTreeSet<u32>,
    decider: Decider<'_, C>,
    run: &mut Run<'_>,
) -> anyhow::Result<()> {
    let refusing = Refusing::default();
    let decider = match decider {
        Decider::Model(_) | Decider::Rules => Decider::Model(&refusing),
        Decider::AlwaysNew => Decider::AlwaysNew,
        Decider::Similarity => Decider::Similarity,
    };
    let failed = run.totals.failed_calls;
    for &arrival in arrivals {
        arrive(running, arrival, decider, run).await?;
    }
    run.totals.failed_calls = failed;
    run.totals.asked_again += refusing.0.get();
    Ok(())
}

/// Decides about what arrives in all streams: together for rules and models, one by one for controls.
async fn arrive<C: Complete>(
    running: &mut [RunningStream<'_>],
    arrival: u32,
    decider: Decider<'_, C>,
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
type Arriving<'r, 'a> = (&'r mut RunningStream<'a>, Vec<(String, Incoming)>);

async fn decide_batch<C: Complete>(
    batch: Vec<Arriving<'_, '_>>,
    decider: Decider<'_, C>,
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
    let mut cases: Vec<Surrounded> = Vec::new();
    let mut waiting = Vec::new();
    for (one, arriving) in batch {
        let (ids, incoming): (Vec<String>, Vec<Incoming>) = arriving.into_iter().unzip();
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
        let mut events: Vec<(&str, u32, Incoming, Spot)> = Vec::new();
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

    /// Returns what arrives in the order of the pipeline: by time, memories without one last.
    fn arriving(&self, arrival: u32) -> Vec<(String, Incoming)> {
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

    /// Returns the places of the events that a person pins at once.
    fn pinned(&self, ids: &[String]) -> Vec<usize> {
        let is_pinned = |id: &String| {
            let event = self.placed.case.events.iter().find(|event| event.id() == Some(id.as_str()));
            matches!(event, Some(Event::Memory(one)) if one.memory.pinned)
        };
        ids.iter().enumerate().filter(|(_, id)| is_pinned(id)).map(|(place, _)| place).collect()
    }

    /// Performs the acts of a person before an arrival.
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

    /// Returns whether there was a memory for the act.
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
        let find = |status| resting.iter().rev().find(|memory| memory.status == status);
        let Some(memory) = fits.iter().find_map(|&status| find(status)) else { return Ok(false) };
        let done = self.home.store.write::<_, StoreError>(None, CaseHome::now(act.arrival), |writer| match act.act {
            Action::Forget => writer.forget(&memory.id, None).map(|_| true),
            Action::Restore => writer.restore(&memory.id).map(|_| true),
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
