//! A store with a clock, on which steps are executed, and a reference model that records them.

use afterthought::changeset::Action;
use afterthought::consolidate::pass::{Allowance, Terms, UndonePolicy, pass_over};
use afterthought::consolidate::{Decision, IncomingClaim, Plan, apply, consolidate, merge_projects, settle_by_rules};
use afterthought::exchange::{Gathered, Imported, exported, import_as_is, parse_line};
use afterthought::guard::Guard;
use afterthought::memory::{
    Audience, Candidate, Evidence, ExtractionMethod, Memory, MemoryId, Namespace, RelationType, Status,
};
use afterthought::store::{Filter, Order, RunId, RunStatus, Store, StoreError, UndoReport, Writer};
use futures::executor::block_on;
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use tempfile::TempDir;

use super::facts::{Fact, day, place};
use super::model::{Model, Who};
use super::rows::{self, difference, snapshot};
use super::steps::{Pick, Run, Step};
use crate::world::raw;

/// Number of days between steps.
const PACE: i64 = 1;
/// The day of the first step; all statements were made before.
const START: i64 = 20;

/// An accepted statement: a memory that is based on it must continue to exist.
#[derive(Debug, Clone, PartialEq)]
pub struct Taken {
    pub piece: Evidence,
    pub run: RunId,
}

pub struct Machine {
    pub store: Store,
    /// A separate connection, so that the tests do not read through the code under test.
    pub raw: Connection,
    _folder: TempDir,
    guard: Guard,
    day: i64,
    /// Memories that must exist, unless their run is undone.
    pub taken: Vec<Taken>,
    batches: Vec<Vec<IncomingClaim>>,
    pub runs: Vec<RunId>,
    export: Vec<String>,
    pub purged: BTreeSet<MemoryId>,
    /// Memories that were superseded only by purged memories.
    pub bereft: BTreeSet<MemoryId>,
    /// The number of each namespace's group; merged namespaces are in the same group.
    pub lots: BTreeMap<Namespace, usize>,
}

impl Machine {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memories.db");
        let store = Store::open(&path).unwrap();
        Self {
            store,
            raw: raw(&path).unwrap(),
            _folder: folder,
            guard: Guard::default(),
            day: START,
            taken: Vec::new(),
            batches: Vec::new(),
            runs: Vec::new(),
            export: Vec::new(),
            purged: BTreeSet::new(),
            bereft: BTreeSet::new(),
            lots: (0..3).map(|number| (place(number), usize::from(number))).collect(),
        }
    }

    pub fn now(&self) -> Timestamp {
        day(self.day)
    }

    pub fn snapshot(&self) -> BTreeSet<String> {
        snapshot(&self.raw)
    }

    pub fn memories(&self) -> Vec<Memory> {
        let all = Filter { statuses: Vec::new(), ..Filter::default() };
        self.store.list(&all, Order::Id, usize::MAX >> 1, 0).unwrap()
    }

    fn pick(&self, which: Pick, wanted: impl Fn(&Memory) -> bool) -> Option<MemoryId> {
        let found: Vec<Memory> = self.memories().into_iter().filter(wanted).collect();
        let index = usize::from(which) % found.len().max(1);
        found.get(index).map(|memory| memory.id.clone())
    }

    /// Writes outside any run, like the commands of a person.
    fn by_hand<T>(&self, change: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>) -> T {
        self.store.write(None, self.now(), change).unwrap()
    }

    pub fn step(&mut self, step: &Step) {
        self.day += PACE;
        match step {
            Step::Run(run) => drop(self.run(run)),
            Step::ThereAndBack(run) => self.there_and_back(run),
            Step::Undo(which) => self.undo(*which),
            Step::Remember(fact) => self.remember(fact),
            Step::Forget(which) => self.with(*which, |_| true, |w, id| w.forget(id, Some("wrong".into())).map(drop)),
            Step::Restore(which) => self.with(*which, |_| true, |w, id| w.restore(id, None).map(drop)),
            Step::Pin(which) => self.with(*which, |_| true, |w, id| w.set_pinned(id, true).map(drop)),
            Step::Unpin(which) => self.with(*which, |memory| memory.pinned, |w, id| w.set_pinned(id, false).map(drop)),
            Step::Reword(which, fact) => self.reword(*which, fact),
            Step::Export => self.export = self.exported(),
            Step::Import { consolidate } => {
                let lines = self.export.clone();
                self.import(&lines, *consolidate);
            }
            Step::ImportLines { facts, consolidate } => {
                let lines: Vec<String> = facts.iter().map(line).collect();
                self.import(&lines, *consolidate);
            }
            Step::Purge { days } => self.purge((*days).into()),
        }
    }

    fn with(
        &self,
        which: Pick,
        wanted: impl Fn(&Memory) -> bool,
        change: impl FnOnce(&Writer<'_>, &MemoryId) -> Result<(), StoreError>,
    ) {
        if let Some(id) = self.pick(which, wanted) {
            self.by_hand(|writer| change(writer, &id));
        }
    }

    /// Performs a run, and returns its ID unless there is nothing to do.
    pub fn run(&mut self, run: &Run) -> Option<RunId> {
        match run {
            Run::Take { facts, who } => {
                let incoming: Vec<IncomingClaim> = facts.iter().map(|fact| self.incoming(fact)).collect();
                self.batches.push(incoming.clone());
                Some(self.take(incoming, *who))
            }
            Run::Again { batch, who } => {
                let index = usize::from(*batch) % self.batches.len().max(1);
                let incoming = self.batches.get(index)?.clone();
                Some(self.take(incoming, *who))
            }
            Run::Merge { from, into } => self.merge(&place(*from), &place(*into)),
            Run::Accept(which) => {
                let id = self.pick(*which, |memory| memory.status == Status::Pending)?;
                Some(self.as_run("inbox", |writer| writer.accept(&id)))
            }
            Run::Reject(which) => {
                let id = self.pick(*which, |memory| memory.status == Status::Pending)?;
                Some(self.as_run("inbox", |writer| writer.reject(&id, None)))
            }
            Run::Expire => {
                let run = self.begin("maintain");
                self.store.expire(Some(&run), self.now()).unwrap();
                self.finish(&run);
                Some(run)
            }
            Run::Tidy => {
                let run = self.begin("consolidate");
                self.pass_over_all(&run);
                self.finish(&run);
                self.tidying_again_changes_nothing();
                Some(run)
            }
        }
    }

    fn pass_over_all(&self, run: &RunId) {
        for (namespace, count) in self.store.inhabited().unwrap() {
            let terms = Terms::<Model> {
                store: &self.store,
                guard: &self.guard,
                model: None,
                run: Some(run),
                now: self.now(),
                allowance: &Allowance::of(count),
                taken_back: UndonePolicy::Stays,
            };
            block_on(pass_over(&terms, &namespace, &|_| {})).unwrap();
        }
    }

    fn tidying_again_changes_nothing(&mut self) {
        let before = self.snapshot();
        let again = self.begin("consolidate");
        self.pass_over_all(&again);
        self.finish(&again);
        let changed = difference(&before, &self.snapshot());
        assert!(changed.is_empty(), "tidied a second time: {changed:#?}\n{}", self.story());
    }

    fn incoming(&self, fact: &Fact) -> IncomingClaim {
        let mut incoming = fact.incoming(self.store.merged_into(&place(fact.place)).unwrap());
        incoming.candidate.replaces = fact.replaces.and_then(|which| self.pick(which, |_| true));
        incoming
    }

    fn begin(&mut self, command: &str) -> RunId {
        let run = self.store.begin_run(command, &json!({}), self.now()).unwrap().id;
        self.runs.push(run.clone());
        run
    }

    fn finish(&self, run: &RunId) {
        self.store.finish_run(run, RunStatus::Finished, &json!({}), self.now()).unwrap();
    }

    fn as_run<T>(&mut self, command: &str, change: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>) -> RunId {
        let run = self.begin(command);
        self.store.write(Some(&run), self.now(), change).unwrap();
        self.finish(&run);
        run
    }

    /// Plans and applies in the same way as a run. Memories of a merged namespace go to the namespace that it was
    /// merged into.
    pub fn take(&mut self, mut incoming: Vec<IncomingClaim>, who: Who) -> RunId {
        for one in &mut incoming {
            one.namespace = self.store.merged_into(&one.namespace).unwrap();
        }
        let run = self.begin("run");
        let (plan, _) = self.plan(incoming.clone(), who);
        apply(&self.store, &plan, Some(&run), self.now()).unwrap();
        self.finish(&run);
        self.note(&plan, &run);
        self.nothing_again(incoming, who);
        run
    }

    fn plan(&self, incoming: Vec<IncomingClaim>, who: Who) -> (Plan, usize) {
        let model = Model::new(who);
        let planned = consolidate(&self.store, &self.guard, model.as_ref(), incoming, self.now());
        let (plan, _) = block_on(planned).unwrap();
        (plan, model.map_or(0, |model| model.calls.get()))
    }

    /// Checks that processing the same batch again immediately causes no changes and no requests.
    fn nothing_again(&self, incoming: Vec<IncomingClaim>, who: Who) {
        let (plan, calls) = self.plan(incoming, who);
        let changes: Vec<_> = plan.changes.iter().filter(|change| change.decision != Decision::Skip).collect();
        assert!(changes.is_empty(), "taken in a second time: {changes:#?}\n{}", self.story());
        assert_eq!(calls, 0, "asked about what was just settled\n{}", self.story());
    }

    /// Records which memories must have evidence from now on. Skipped facts are known from the same words, or were
    /// rejected.
    fn note(&mut self, plan: &Plan, run: &RunId) {
        for change in plan.changes.iter().filter(|change| change.decision != Decision::Skip) {
            let pieces = change.incoming.candidate.evidence.iter();
            self.taken.extend(pieces.map(|piece| Taken { piece: piece.clone(), run: run.clone() }));
        }
    }

    fn merge(&mut self, from: &Namespace, into: &Namespace) -> Option<RunId> {
        let [from, into] = [from, into].map(|one| self.store.merged_into(one).unwrap());
        if from == into {
            return None;
        }
        let (old, new) = (self.lots[&from], self.lots[&into]);
        self.lots.values_mut().filter(|lot| **lot == old).for_each(|lot| *lot = new);
        Some(self.as_run("projects merge", |writer| merge_projects(writer, &from, &into)))
    }

    fn there_and_back(&mut self, run: &Run) {
        let (before, taken, lots) = (self.snapshot(), self.taken.clone(), self.lots.clone());
        let batches = self.batches.len();
        let Some(run) = self.run(run) else { return };
        self.day += PACE;
        let undone = self.store.undo_run(&run, self.now()).unwrap();
        assert_eq!(undone.kept, [], "nothing was built on it\n{}", self.story());
        let left = difference(&before, &self.snapshot());
        assert!(left.is_empty(), "left after undo: {left:#?}\n{}", self.story());
        (self.taken, self.lots) = (taken, lots);
        self.batches.truncate(batches);
    }

    fn undo(&mut self, which: Pick) {
        if self.runs.is_empty() {
            return;
        }
        let run = self.runs[usize::from(which) % self.runs.len()].clone();
        self.undo_run(&run);
    }

    /// Undoes a run, and checks that kept memories are unchanged.
    pub fn undo_run(&mut self, run: &RunId) -> Option<UndoReport> {
        let before = rows::State::of(&self.store, &self.raw);
        match self.store.undo_run(run, self.now()) {
            Err(StoreError::RunUndone { .. }) => None,
            Err(error) => panic!("{error}"),
            Ok(undone) => {
                self.taken.retain(|taken| taken.run != *run);
                let after = rows::State::of(&self.store, &self.raw);
                let touched: BTreeSet<&MemoryId> = undone.restored.iter().chain(&undone.removed).collect();
                for (id, memory) in &before.memories {
                    let is_same = after.memories.get(id) == Some(memory);
                    assert!(is_same || touched.contains(&memory.id), "changed, and not named: {memory:#?}");
                }
                for kept in &undone.kept {
                    let id = kept.memory.as_str();
                    assert_eq!(before.memories.get(id), after.memories.get(id), "{kept:?}\n{}", self.story());
                }
                Some(undone)
            }
        }
    }

    fn remember(&self, fact: &Fact) {
        let mut incoming = self.incoming(fact);
        incoming.candidate.evidence = Vec::new();
        incoming.candidate.replaces = None;
        incoming.candidate.claim.valid_from = Some(self.now());
        incoming.candidate.claim.confidence = 1.0;
        let incoming = IncomingClaim { source: "remember".into(), method: ExtractionMethod::Manual, ..incoming };
        settle_by_rules(&self.store, &[incoming], None, self.now()).unwrap();
    }

    fn reword(&self, which: Pick, fact: &Fact) {
        self.with(
            which,
            |_| true,
            |writer, id| {
                let mut memory = writer.memory(id)?;
                fact.text().clone_into(&mut memory.claim.content);
                writer.update(&self.guard.redact(memory).0, Action::Update, Some("by hand".into())).map(drop)
            },
        );
    }

    fn exported(&self) -> Vec<String> {
        let lines = self.memories().into_iter().map(|memory| {
            let exported = exported(&self.store, memory).unwrap();
            serde_json::to_string(&exported).unwrap()
        });
        lines.collect()
    }

    /// Does the same as `import` with a file.
    fn import(&self, lines: &[String], consolidate: bool) {
        let parse = |line: &String| {
            let mut imported = parse_line(line, &Namespace::global(), self.now()).unwrap();
            imported.memory.namespace = self.store.merged_into(&imported.memory.namespace).unwrap();
            imported
        };
        let memories: Vec<Imported> = lines.iter().map(parse).collect();
        if !consolidate {
            let gathered = Gathered { memories: memories.into_iter().collect(), ..Gathered::default() };
            import_as_is(&self.store, gathered, &Namespace::global(), None, self.now()).unwrap();
            return;
        }
        let alive = memories.into_iter().filter(|imported| imported.memory.status == Status::Active);
        let incoming = alive.map(|Imported { memory, evidence, .. }| IncomingClaim {
            candidate: Candidate {
                claim: memory.claim,
                audience: Audience::Project,
                evidence,
                replaces: None,
                is_pasted: false,
                is_shipped: false,
                updates_only: false,
            },
            namespace: memory.namespace,
            source: memory.source,
            method: memory.extraction_method,
            id: None,
            past: None,
            needs_review: false,
            is_later: false,
        });
        settle_by_rules(&self.store, &incoming.collect::<Vec<_>>(), None, self.now()).unwrap();
    }

    /// Checks that exporting and importing the current memories changes nothing.
    pub fn import_of_itself_changes_nothing(&self) {
        let (before, lines) = (self.snapshot(), self.exported());
        for consolidate in [false, true] {
            self.import(&lines, consolidate);
            let mut changed = difference(&before, &self.snapshot());
            // The decision is recorded, so that it need not be made again.
            changed.retain(|line| !line.starts_with("+ settled "));
            assert!(changed.is_empty(), "consolidate {consolidate}: {changed:#?}\n{}", self.story());
        }
    }

    fn purge(&mut self, days: u32) {
        let gone = self.store.forgotten_before(day(self.day - i64::from(days))).unwrap();
        let rested: Vec<Evidence> = gone.iter().flat_map(|id| self.store.evidence(id).unwrap()).collect();
        let links = gone.iter().flat_map(|id| self.store.relations(id).unwrap());
        let superseded: Vec<MemoryId> = links
            .filter(|link| link.relation_type == RelationType::Supersedes && gone.contains(&link.from))
            .map(|link| link.to)
            .collect();
        let purged = self.store.purge(days, self.now()).unwrap();
        assert_eq!(purged.memories, gone);
        self.bereft.extend(superseded);
        self.taken.retain(|taken| !rested.contains(&taken.piece));
        self.purged.extend(gone);
    }
}

/// Returns a line of JSON in the format of another program.
fn line(fact: &Fact) -> String {
    let claim = fact.claim();
    json!({
        "content": claim.content, "key": claim.key, "value": claim.value, "confidence": claim.confidence,
        "namespace": place(fact.place), "valid_from": claim.valid_from,
    })
    .to_string()
}
