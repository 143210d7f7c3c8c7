//! The second half of a run, full passes, and imports: compares candidates with stored memories and writes the results.

use std::cell::RefCell;
use std::collections::HashSet;
use std::pin::pin;

use futures::{StreamExt, stream};
use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;
use transcripts::{MessageTime, TimeSource};

use super::Pipeline;
use super::projects::Namespaces;
use super::summary::Tally;
use super::{CachedModel, HEARTBEAT, PipelineError, end_run, keep_alive};
use crate::consolidate::decide::ruling::ValidTime;
use crate::consolidate::pass::{Allowance, Event, Report, Terms, UndonePolicy, pass_over};
use crate::consolidate::{ApplyError, Change, Decision, IncomingClaim, Plan, apply, apply_within, consolidate};
use crate::extract::Spent;
use crate::guard::Guard;
use crate::llm::{Budget, Complete};
use crate::memory::{Audience, Candidate, Evidence, ExtractionMethod, Memory, MemoryId, Namespace, Status};
use crate::store::{Database, PendingWindow, RunId, Store, StoreError, WindowId, normalised_hash};

/// Maximum number of candidates consolidated together. The number is large enough to combine many pairs in one request,
/// and small enough for one transaction.
const BATCH: usize = 200;
/// Maximum number of times that a plan is made again because another process wrote in between.
const MAX_REPLANS: usize = 8;

/// Consolidates and writes all finished windows in the ledger that have not been written yet.
pub(super) async fn consolidate_windows<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    run: &RunId,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    let mut later: Option<Vec<PendingWindow>> = None;
    loop {
        let batch = next_batch(pipeline)?;
        if batch.is_empty() {
            return Ok(());
        }
        let windows: Vec<WindowId> = batch.iter().map(|window| window.id).collect();
        // The batches come in the order of time, so all that is later than a batch is later than the first one.
        let start = batch.iter().filter_map(|window| window.started_at).min();
        if let (None, Some(start)) = (&later, start) {
            later = Some(updates_after(pipeline, start)?);
        }
        let is_after = |one: &&PendingWindow| start.is_some() && one.started_at > start;
        let updates: Vec<PendingWindow> = later.iter().flatten().filter(is_after).cloned().collect();
        let mut incoming: Vec<IncomingClaim> = batch.into_iter().flat_map(incoming_of).collect();
        let namespaces: HashSet<Namespace> = incoming.iter().map(|one| one.namespace.clone()).collect();
        let updates = updates.into_iter().flat_map(incoming_of).filter(|one| namespaces.contains(&one.namespace));
        incoming.extend(updates.map(|update| IncomingClaim { is_later: true, ..update }));
        consolidate_batch(pipeline, model, run, &windows, incoming, tally).await?;
    }
}

/// Returns the next finished windows with at most [`BATCH`] candidates in total, or a single window with more
/// candidates.
fn next_batch<C: Complete>(pipeline: &Pipeline<'_, C>) -> Result<Vec<PendingWindow>, PipelineError> {
    let mut count = 0;
    let mut pending = pipeline.store.pending_windows(BATCH)?;
    let fits = pending.iter().take_while(|window| {
        count += window.candidates.len();
        count <= BATCH
    });
    // A window with more candidates is written alone.
    let fitting = fits.count().max(1);
    pending.truncate(fitting);
    Ok(pending)
}

/// Returns the windows of conversations after `start` that were written before, with their updates alone: what an older
/// conversation adds may be outdated by them.
fn updates_after<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    start: Timestamp,
) -> Result<Vec<PendingWindow>, PipelineError> {
    let mut windows = pipeline.store.later_updates(start)?;
    for window in &mut windows {
        window.candidates.retain(|candidate| candidate.updates_only);
    }
    Ok(windows)
}

fn incoming_of(window: PendingWindow) -> Vec<IncomingClaim> {
    // An earlier run may have left the window, so its user is stored with its transcript.
    let namespaces = Namespaces::of_project(window.namespace).of_user(window.user.as_ref());
    let each = |candidate| incoming(candidate, &namespaces, &window.transcript);
    let is_one = namespaces.for_audience(Audience::User) == namespaces.for_audience(Audience::Project);
    window.candidates.into_iter().flat_map(|candidate| everywhere(candidate, is_one)).map(each).collect()
}

/// Returns an update for each audience, because the changed memory may belong to either, unless both have one namespace.
fn everywhere(candidate: Candidate, is_one: bool) -> Vec<Candidate> {
    if !candidate.updates_only || candidate.is_shipped || is_one {
        return vec![candidate];
    }
    [Audience::User, Audience::Project].map(|audience| Candidate { audience, ..candidate.clone() }).into()
}

fn incoming(candidate: Candidate, namespaces: &Namespaces, transcript: &str) -> IncomingClaim {
    // Other people's text says nothing that applies to the user everywhere.
    let audience = if candidate.is_shipped { Audience::Project } else { candidate.audience };
    let namespace = namespaces.for_audience(audience).clone();
    IncomingClaim {
        candidate,
        namespace,
        source: transcript.to_owned(),
        method: ExtractionMethod::Auto,
        id: None,
        past: None,
        needs_review: false,
        is_later: false,
    }
}

async fn consolidate_batch<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    run: &RunId,
    windows: &[WindowId],
    incoming: Vec<IncomingClaim>,
    tally: &RefCell<Tally<'_>>,
) -> Result<(), PipelineError> {
    for _ in 0..MAX_REPLANS {
        // The plan is made outside the transaction, since it may call the model; the write checks for changes.
        let (plan, spent) =
            consolidate(pipeline.store, pipeline.guard, model, incoming.clone(), Timestamp::now()).await?;
        {
            let summary = &mut tally.borrow_mut().summary;
            summary.relation_calls += spent.calls;
            summary.spend(spent);
        }
        // If a batch is planned again, the same questions are asked, and the ledger answers them.
        let written = pipeline.store.write(Some(run), Timestamp::now(), |writer| {
            // Another process may have written the same windows in the meantime.
            if writer.mark_windows_applied(windows)? < windows.len() {
                return Err(Taken::Windows);
            }
            apply_within(writer, &plan).map_err(Taken::from)
        });
        match written {
            Ok(_) => {
                tracing::info!(windows = windows.len(), changes = plan.changes.len(), "a batch is written");
                tally.borrow_mut().consolidated(&plan);
                return Ok(());
            }
            Err(Taken::Windows) => return Ok(()),
            // Memories have changed since the plan was made, so a new plan is made from the current memories.
            Err(Taken::Plan(ApplyError::Stale { .. })) => {}
            Err(Taken::Plan(ApplyError::Store(error))) => return Err(error.into()),
        }
    }
    Err(PipelineError::Contended { attempts: MAX_REPLANS })
}

/// Reasons why a batch was not written.
enum Taken {
    /// Another process has written some of its windows; the next batch contains the remaining windows.
    Windows,
    /// The plan cannot be written.
    Plan(ApplyError),
}

impl From<ApplyError> for Taken {
    fn from(error: ApplyError) -> Self {
        Self::Plan(error)
    }
}

impl From<StoreError> for Taken {
    fn from(error: StoreError) -> Self {
        Self::Plan(error.into())
    }
}

impl Tally<'_> {
    /// Counts the decisions about a batch, and reports them.
    fn consolidated(&mut self, plan: &Plan) {
        self.summary.candidates += plan.changes.len() as u64;
        for change in &plan.changes {
            self.summary.waiting += u64::from(change.pending);
            *self.summary.decisions.entry(change.decision).or_default() += 1;
        }
        if plan.failed_calls > 0 {
            let why = "the rules decided alone; what they are unsure of is kept and linked";
            let what = if plan.failed_calls == 1 { "question" } else { "questions" };
            self.fail(format!("{} {what} about memories that are hard to distinguish", plan.failed_calls), why);
        }
        (self.watch)(&super::Event::Consolidated(plan));
    }
}

/// The parameters of a full pass.
#[derive(Debug)]
pub(crate) struct FullPass<'a, C> {
    /// The store with the memories.
    pub store: &'a Store,
    /// The guard that redacts secrets.
    pub guard: &'a Guard,
    /// The model to ask if the rules cannot decide; `None` to use only the rules.
    pub model: Option<&'a C>,
    /// The cost limit.
    pub budget: &'a Budget,
    /// The namespace to process, including nested namespaces; `None` for all.
    pub within: Option<Namespace>,
    /// Number of namespaces processed at the same time.
    pub jobs: usize,
    /// The treatment of changes that were undone.
    pub taken_back: UndonePolicy,
}

/// The outcome of a full pass. `consolidate --json` prints it last.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct FullSummary {
    /// Id of the run, for `undo`; `None` if nothing was written.
    pub run: Option<String>,
    /// `rules` or the model's name.
    pub extractor: String,
    /// The totals of all namespaces.
    #[serde(flatten)]
    pub total: Report,
    /// The result for each namespace, sorted by name.
    pub namespaces: Vec<NamespaceReport>,
    /// Calls to the model.
    pub llm_calls: u64,
    /// Replies that were already stored and cost nothing.
    pub cached_replies: u64,
    /// Tokens sent.
    pub prompt_tokens: u64,
    /// Tokens received.
    pub completion_tokens: u64,
    /// Cost in dollars, if the price of the model is known.
    pub cost: Option<f64>,
    /// The reason why some questions were not sent to the model; `None` if all were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub halted: Option<String>,
    /// Whether an interrupt left some namespaces unprocessed.
    pub interrupted: bool,
}

/// The outcome of a full pass in one namespace.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NamespaceReport {
    /// The namespace.
    pub namespace: Namespace,
    /// The result of the pass in this namespace.
    #[serde(flatten)]
    pub report: Report,
}

/// Compares all stored memories with each other, and continues an interrupted pass with the same `arguments`.
///
/// Each namespace is written in separate transactions. After a cancellation, no further namespace is started. With
/// `dry_run`, the pass works on a copy, which is dropped. Replies of the model are kept, so that a later actual pass
/// does not pay for them again.
///
/// # Errors
/// [`PipelineError`] if the database cannot be read or written; memories written before the error are kept.
pub(crate) async fn full_pass<C: Complete>(
    pass: FullPass<'_, C>,
    arguments: &serde_json::Value,
    dry_run: bool,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<FullSummary, PipelineError> {
    // The model uses the real store even in a dry run, so that paid replies are kept.
    let model = pass.model.map(|model| CachedModel::new(model, pass.store, pass.guard, pass.budget));
    let watch = RefCell::new(watch);
    let report = |event: &Event<'_>| (watch.borrow_mut())(event);
    if dry_run {
        let copy = pass.store.copy_in_memory()?;
        go(&FullPass { store: &copy, ..pass }, model.as_ref(), None, &cancel, &report).await
    } else {
        let run = pass.store.begin_run("consolidate", arguments, Timestamp::now())?;
        let work = go(&pass, model.as_ref(), Some(&run.id), &cancel, &report);
        let mut outcome = keep_alive(pass.store, &run.id, HEARTBEAT, work).await;
        if let Ok(summary) = &mut outcome {
            summary.run = Some(run.id.to_string());
        }
        end_run(pass.store, &run.id, outcome.is_ok(), &outcome.as_ref().ok())?;
        outcome
    }
}

async fn go<C: Complete>(
    pass: &FullPass<'_, C>,
    model: Option<&CachedModel<'_, C>>,
    run: Option<&RunId>,
    cancel: &CancellationToken,
    report: &dyn Fn(&Event<'_>),
) -> Result<FullSummary, PipelineError> {
    let mut inhabited = pass.store.inhabited()?;
    // The memories of a team are consolidated only if it is named, because its maintainers decide about them.
    let is_within = |namespace: &Namespace| match &pass.within {
        Some(root) => is_under(namespace, root) && (root.is_team() || !namespace.is_team()),
        None => !namespace.is_team(),
    };
    inhabited.retain(|(namespace, _)| is_within(namespace));
    let allowance = Allowance::of(inhabited.iter().map(|(_, count)| count).sum());
    let terms = Terms {
        store: pass.store,
        guard: pass.guard,
        model,
        run,
        now: Timestamp::now(),
        allowance: &allowance,
        taken_back: pass.taken_back,
    };
    let asked = inhabited.len();
    let mut reports: Vec<NamespaceReport> = Vec::new();
    let passes = stream::iter(inhabited)
        .take_until(cancel.clone().cancelled_owned())
        .map(|(namespace, _)| async {
            let report = pass_over(&terms, &namespace, report).await?;
            Ok::<_, ApplyError>(NamespaceReport { namespace, report })
        })
        .buffer_unordered(pass.jobs.max(1));
    let mut passes = pin!(passes);
    while let Some(report) = passes.next().await {
        reports.push(report.map_err(refused)?);
    }
    // Namespaces finish in any order; sorting the reports makes them the same in every run.
    reports.sort_by(|a, b| a.namespace.cmp(&b.namespace));
    let mut total = Report { is_settled: true, ..Report::default() };
    reports.iter().for_each(|one| total += one.report.clone());
    let spent = total.spent;
    Ok(FullSummary {
        run: None,
        extractor: model.map_or_else(|| "rules".to_owned(), |model| model.model().to_owned()),
        interrupted: reports.len() < asked,
        total,
        namespaces: reports,
        llm_calls: spent.calls,
        cached_replies: spent.cached,
        prompt_tokens: spent.prompt_tokens,
        completion_tokens: spent.completion_tokens,
        cost: pass.budget.spent_cost(),
        halted: model.and_then(CachedModel::halted).map(|error| error.to_string()),
    })
}

fn is_under(namespace: &Namespace, root: &Namespace) -> bool {
    namespace.parts().starts_with(root.parts())
}

fn refused(error: ApplyError) -> PipelineError {
    match error {
        ApplyError::Stale { .. } => PipelineError::Contended { attempts: 8 },
        ApplyError::Store(error) => error.into(),
    }
}

/// Maximum number of memories consolidated together. The number is large enough to combine many pairs in one request,
/// and small enough for one transaction.
const IMPORTED_AT_ONCE: usize = 200;
/// Maximum number of times that a plan is made again because another process wrote in between.
const MAX_IMPORT_REPLANS: usize = 50;
/// Name used as the transcript of imported memories without evidence.
const SAID_IN: &str = "import";

/// A memory to be imported.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ImportedMemory {
    /// The content and the namespace of the memory.
    pub incoming: IncomingClaim,
    /// The id of the memory, if the file contains one.
    pub id: Option<MemoryId>,
    /// Time at which the memory was learnt, if the file states it; otherwise the time of the import.
    pub at: Timestamp,
}

/// The outcome of an import.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ImportResult {
    /// The index of each memory in the input, with the change made for it, in the order of the decisions.
    pub changes: Vec<(usize, Change)>,
    /// Cost of the import.
    pub spent: Spent,
    /// Failed calls to the model. Each question of such a call gets the cautious answer.
    pub failed_calls: u64,
}

/// Consolidates imported memories with the stored memories, in chronological order, and writes them as part of `run`,
/// each batch in one transaction. If the process ends in between, nothing is lost, because the same call continues from
/// there.
///
/// For a memory without evidence, its own text becomes the evidence, attributed to the transcript `import`. A later
/// import then recognises the memory even after it was merged into another memory. Memories that were imported before
/// are recognised without calling the model. Secrets are redacted first.
///
/// # Errors
/// [`PipelineError`] if the store cannot be used, or if other processes keep changing the same memories.
pub(crate) async fn consolidate_imported<C: Complete>(
    store: &Store,
    guard: &Guard,
    model: Option<&C>,
    arrivals: Vec<ImportedMemory>,
    run: &RunId,
) -> Result<ImportResult, PipelineError> {
    let mut ordered: Vec<(usize, ImportedMemory)> = Vec::with_capacity(arrivals.len());
    for (place, arrival) in arrivals.into_iter().enumerate() {
        ordered.push((place, with_evidence(store, guard, arrival)?));
    }
    // If two memories contradict each other, the later memory wins, so memories are processed in the order of their
    // times.
    ordered.sort_by_key(|(place, arrival)| (held_from(arrival), *place));
    let mut outcome = ImportResult::default();
    for batch in ordered.chunks(IMPORTED_AT_ONCE) {
        import_batch(store, guard, model, batch, run, &mut outcome).await?;
    }
    Ok(outcome)
}

async fn import_batch<C: Complete>(
    store: &Store,
    guard: &Guard,
    model: Option<&C>,
    batch: &[(usize, ImportedMemory)],
    run: &RunId,
    outcome: &mut ImportResult,
) -> Result<(), PipelineError> {
    for _ in 0..MAX_IMPORT_REPLANS {
        let (mut done, mut open) = (Vec::new(), Vec::new());
        for (place, arrival) in batch {
            // The memory is looked up in every attempt, because another process may have imported it in the meantime.
            match known_before(store, arrival)? {
                Some(memory) => done.push((*place, known(arrival, &memory))),
                None => open.push((*place, arrival.incoming.clone())),
            }
        }
        let (places, incoming): (Vec<usize>, Vec<IncomingClaim>) = open.into_iter().unzip();
        let (plan, spent) = consolidate(store, guard, model, incoming, Timestamp::now()).await?;
        // The cost is counted in every attempt, because calls are paid for even if the plan turns out to be stale.
        outcome.spent += spent;
        match apply(store, &plan, Some(run), Timestamp::now()) {
            Ok(_) => {
                let Plan { changes, failed_calls, .. } = plan;
                outcome.failed_calls += failed_calls;
                outcome.changes.extend(done);
                outcome.changes.extend(places.into_iter().zip(changes));
                return Ok(());
            }
            Err(ApplyError::Stale { .. }) => {}
            Err(ApplyError::Store(error)) => return Err(error.into()),
        }
    }
    Err(PipelineError::Contended { attempts: MAX_IMPORT_REPLANS })
}

/// Returns the memory that an earlier import created from this memory or merged it into, preferring an active memory.
fn known_before(db: &Database, arrival: &ImportedMemory) -> Result<Option<Memory>, StoreError> {
    if let Some(id) = &arrival.id
        && let Some(memory) = db.find(id)?
    {
        return Ok(Some(memory));
    }
    let evidence = &arrival.incoming.candidate.evidence;
    // Only evidence created by an import identifies the imported text; a real quote may support other memories.
    let Some(own) = evidence.first().filter(|piece| piece.transcript == SAID_IN && evidence.len() == 1) else {
        return Ok(None);
    };
    // The same text may have been merged into a memory that was later superseded.
    let resting = db.resting_on(&arrival.incoming.namespace, own)?;
    Ok(resting.into_iter().min_by_key(|memory| memory.status != Status::Active))
}

fn known(arrival: &ImportedMemory, memory: &Memory) -> Change {
    Change {
        target: Some(memory.id.clone()),
        before: Some(memory.claim.content.clone()),
        holds_from: held_from(arrival),
        ..Change::of(arrival.incoming.clone(), Decision::Skip, "imported before")
    }
}

fn held_from(arrival: &ImportedMemory) -> Option<Timestamp> {
    let candidate = &arrival.incoming.candidate;
    ValidTime::of(&candidate.claim, &candidate.evidence, arrival.at).at
}

/// For a memory without evidence, uses the memory's own text as evidence. If the same text is already stored without
/// evidence, the memory is left unchanged.
fn with_evidence(db: &Database, guard: &Guard, arrival: ImportedMemory) -> Result<ImportedMemory, StoreError> {
    let mut arrival = arrival;
    // The candidate is redacted first, so that the hash and the quote below are those of the stored text.
    arrival.incoming.candidate = guard.redact(arrival.incoming.candidate).0.into_inner();
    let candidate = &mut arrival.incoming.candidate;
    if !candidate.evidence.is_empty() {
        return Ok(arrival);
    }
    for memory in db.by_content(&arrival.incoming.namespace, &candidate.claim.content)? {
        if db.evidence(&memory.id)?.is_empty() {
            return Ok(arrival);
        }
    }
    let content_hash = normalised_hash(&candidate.claim.content);
    candidate.evidence.push(Evidence {
        transcript: SAID_IN.to_owned(),
        messages: vec![content_hash.clone()],
        quote: candidate.claim.content.clone(),
        speaker: None,
        said_at: Some(MessageTime { at: arrival.at, offset_seconds: None, source: TimeSource::File }),
        content_hash,
    });
    Ok(arrival)
}

#[cfg(test)]
mod imported_tests {
    use std::cell::Cell;
    use std::collections::{BTreeMap, BTreeSet};

    use serde_json::json;

    use super::*;
    use crate::llm::{Cost, Finish, LlmError, Reply, Request};
    use crate::memory::{Audience, Candidate, Claim, ExtractionMethod, MemoryType, Namespace};
    use crate::store::{Filter, Order};

    const FACTS: [[&str; 3]; 5] = [
        ["Ana drinks green tea.", "It is green tea that Ana drinks.", "Green tea is the drink of Ana."],
        ["Bo keeps bees behind the barn.", "Behind the barn Bo keeps bees.", "Bees are what Bo keeps behind the barn."],
        ["Caro rides a red bicycle to work.", "To work Caro takes a red bicycle.", "A red bicycle takes Caro to work."],
        ["Dan plays the cello on Sundays.", "On Sundays Dan plays cello.", "The cello is what Dan plays on Sundays."],
        ["Eve grows roses by the wall.", "By the wall Eve grows roses.", "Roses by the wall are grown by Eve."],
    ];

    /// A model that judges two claims about the same person to be the same.
    struct Persons(Cell<usize>);

    impl Complete for Persons {
        async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
            self.0.set(self.0.get() + 1);
            let text = &*request.turns[0].text;
            let (memories, questions) = text.split_once("<questions>").unwrap();
            let number = |line: &str| line.split([':', ' ']).next().unwrap().parse::<usize>().unwrap();
            let numbered = |text: &'_ str| -> Vec<String> {
                text.lines().filter(|line| line.starts_with(|c: char| c.is_ascii_digit())).map(str::to_owned).collect()
            };
            let person = |line: &String| {
                let names = ["Ana", "Bo", "Caro", "Dan", "Eve"].into_iter();
                let mut named = names.filter(|one| line.split_whitespace().any(|word| word.trim_matches('.') == *one));
                Some((number(line), named.next()?))
            };
            let people: BTreeMap<usize, &str> = numbered(memories).iter().filter_map(person).collect();
            let entry = |line: String| {
                let against = line.split_once(": ").unwrap().1.split(',');
                let mut against = against.map(|to| to.parse::<usize>().unwrap());
                let same = against.find(|to| people.get(to) == people.get(&number(&line)));
                let relation = if same.is_some() { "duplicate" } else { "unrelated" };
                json!({"memory": number(&line), "relation": relation, "to": same, "why": "unclear", "rest": ""})
            };
            let relations: Vec<_> = numbered(questions).into_iter().map(entry).collect();
            let reply = Reply {
                text: json!({ "relations": relations }).to_string(),
                model: "m".into(),
                prompt_tokens: 1,
                completion_tokens: 1,
                finish: Finish::Stop,
            };
            Ok((reply, Cost::Call))
        }

        fn model(&self) -> &'static str {
            "m"
        }
    }

    fn arrival(content: &str) -> ImportedMemory {
        let claim = Claim::new(MemoryType::Semantic, "fact", "t", content);
        let candidate = Candidate {
            claim,
            audience: Audience::Project,
            evidence: Vec::new(),
            replaces: None,
            is_pasted: false,
            is_shipped: false,
            updates_only: false,
        };
        let incoming = IncomingClaim {
            candidate,
            namespace: Namespace::global(),
            source: "import".into(),
            method: ExtractionMethod::Imported,
            id: None,
            past: None,
            needs_review: false,
            is_later: false,
        };
        ImportedMemory { incoming, id: None, at: "2026-01-01T00:00:00Z".parse().unwrap() }
    }

    #[tokio::test]
    async fn wordings_that_come_together_end_as_one_memory_each() {
        let (store, guard, model) = (Store::in_memory().unwrap(), Guard::default(), Persons(Cell::new(0)));
        let run = store.begin_run("import", &json!([]), Timestamp::now()).unwrap().id;
        let all = || (0..3).flat_map(|wording| FACTS.map(|fact| arrival(fact[wording]))).collect();
        consolidate_imported(&store, &guard, Some(&model), all(), &run).await.unwrap();
        let active = store.list(&Filter::default(), Order::Id, 99, 0).unwrap();
        let sources: usize = active.iter().map(|one| store.evidence(&one.id).unwrap().len()).sum();
        assert_eq!((active.len(), sources, model.0.get()), (5, 15, 1), "{active:#?}");
        consolidate_imported(&store, &guard, Some(&model), all(), &run).await.unwrap();
        assert_eq!((store.list(&Filter::default(), Order::Id, 99, 0).unwrap().len(), model.0.get()), (5, 1));
    }

    #[tokio::test]
    async fn wordings_that_were_merged_keep_their_sources_and_are_known_the_next_time() {
        let (store, guard, model) = (Store::in_memory().unwrap(), Guard::default(), Persons(Cell::new(0)));
        let import = |model: &'static str| store.begin_run("import", &json!(model), Timestamp::now()).unwrap().id;
        // The wordings of each fact are imported one after another, as if from three files.
        for wording in 0..3 {
            let arrivals = FACTS.iter().map(|fact| arrival(fact[wording])).collect();
            consolidate_imported(&store, &guard, Some(&model), arrivals, &import("first")).await.unwrap();
        }
        let active = store.list(&Filter::default(), Order::Id, 99, 0).unwrap();
        assert_eq!(active.len(), 5, "{:#?}", active.iter().map(|one| &one.claim.content).collect::<Vec<_>>());
        let quotes: BTreeSet<String> =
            active.iter().flat_map(|one| store.evidence(&one.id).unwrap()).map(|piece| piece.quote).collect();
        assert_eq!(quotes, FACTS.iter().flatten().map(|&text| text.to_owned()).collect());

        let (asked, changes) = (model.0.get(), store.last_change().unwrap());
        let all: Vec<ImportedMemory> = FACTS.iter().flatten().map(|text| arrival(text)).collect();
        let again = consolidate_imported(&store, &guard, Some(&model), all, &import("again")).await.unwrap();
        assert!(again.changes.iter().all(|(_, change)| change.decision == Decision::Skip && change.target.is_some()));
        assert_eq!((model.0.get(), store.last_change().unwrap()), (asked, changes));
    }
}
