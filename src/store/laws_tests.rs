//! Tests the laws of changesets with random sequences of actions: each changeset can be undone, applied again, and
//! replayed.
//!
//! `PROPTEST_CASES` sets the number of sequences for a longer campaign.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use jiff::Timestamp;
use proptest::prelude::*;
use serde_json::json;

use super::testing::{clean, day, quote};
use super::{Filter, Order, RunId, RunStatus, Store, StoreError, Writer};
use crate::changeset::{Action, Changeset};
use crate::consolidate::pass::{Allowance, Terms, UndonePolicy, pass_over};
use crate::consolidate::{Author, IncomingClaim, RivalPolicy, merge_projects, restore, settle_by_rules};
use crate::exchange::{Gathered, exported, import_as_is, parse_line};
use crate::guard::Guard;
use crate::lifecycle::{Rules, maintain};
use crate::llm::Client;
use crate::memory::{
    Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Relation,
    RelationType, Status,
};

/// An index of an existing item, modulo the number of items.
type Pick = u8;

#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// A statement about a topic; a different value for the same topic contradicts it.
    Say {
        topic: u8,
        value: u8,
        place: u8,
        talk: u8,
    },
    Forget(Pick),
    Restore(Pick, bool),
    Pin(Pick, bool),
    Wait {
        topic: u8,
        value: u8,
        place: u8,
    },
    Accept(Pick),
    Reject(Pick),
    Update(Pick, u8),
    Relate(Pick, Pick, u8),
    Unrelate(Pick),
    Undo(Pick),
    Import,
    Merge(u8, u8),
    Maintain,
    Consolidate,
}

pub(crate) fn any_act() -> impl Strategy<Value = Act> {
    let pick = any::<Pick>;
    prop_oneof![
        8 => (0..4_u8, 0..3_u8, 0..3_u8, 0..6_u8).prop_map(|(topic, value, place, talk)| Act::Say { topic, value, place, talk }),
        2 => pick().prop_map(Act::Forget),
        2 => (pick(), any::<bool>()).prop_map(|(which, retire)| Act::Restore(which, retire)),
        2 => (pick(), any::<bool>()).prop_map(|(which, on)| Act::Pin(which, on)),
        2 => (0..4_u8, 0..3_u8, 0..3_u8).prop_map(|(topic, value, place)| Act::Wait { topic, value, place }),
        1 => pick().prop_map(Act::Accept),
        1 => pick().prop_map(Act::Reject),
        2 => (pick(), 0..3_u8).prop_map(|(which, value)| Act::Update(which, value)),
        2 => (pick(), pick(), pick()).prop_map(|(from, to, kind)| Act::Relate(from, to, kind)),
        1 => pick().prop_map(Act::Unrelate),
        3 => pick().prop_map(Act::Undo),
        1 => Just(Act::Import),
        1 => (0..3_u8, 0..3_u8).prop_map(|(from, into)| Act::Merge(from, into)),
        1 => Just(Act::Maintain),
        1 => Just(Act::Consolidate),
    ]
}

fn place(number: u8) -> Namespace {
    ["global", "project/shop", "project/old"][usize::from(number)].parse().unwrap()
}

fn claim(topic: u8, value: u8) -> Claim {
    let (topic, value) = (usize::from(topic), usize::from(value));
    let (key, values, says) = [
        (Some("user.residence"), ["Riga", "Oslo", "Lyon"], "The user lives in"),
        (Some("project.db"), ["Postgres", "SQLite", "MySQL"], "The project stores its data in"),
        (Some("user.hobby"), ["chess", "sailing", "pottery"], "The user's hobby is"),
        (None, ["100", "250", "900"], "Requests a minute that the API allows:"),
    ][topic];
    Claim {
        key: key.map(str::to_owned),
        value: key.map(|_| values[value].to_owned()),
        ..Claim::new(MemoryType::Semantic, "fact", "A fact", format!("{says} {}.", values[value]))
    }
}

/// A store, the actions applied to the store, and the clock.
pub(crate) struct World {
    pub(crate) store: Store,
    pub(crate) runs: Vec<RunId>,
    pub(crate) day: i64,
}

impl World {
    pub(crate) fn now(&self) -> Timestamp {
        day(self.day)
    }

    pub(crate) fn pick(&self, which: Pick, wanted: impl Fn(&Memory) -> bool) -> Option<MemoryId> {
        let mut found = self.memories();
        found.retain(wanted);
        let index = usize::from(which) % found.len().max(1);
        found.get(index).map(|memory| memory.id.clone())
    }

    pub(crate) fn memories(&self) -> Vec<Memory> {
        let all = Filter { statuses: Vec::new(), ..Filter::default() };
        self.store.list(&all, Order::Id, usize::MAX >> 1, 0).unwrap()
    }

    fn as_run<T>(&mut self, change: impl FnOnce(&Self, &RunId) -> T) -> T {
        let run = self.store.begin_run("run", &json!({}), self.now()).unwrap().id;
        let done = change(self, &run);
        self.store.finish_run(&run, RunStatus::Finished, &json!({}), self.now()).unwrap();
        self.runs.push(run);
        done
    }

    fn write(&self, change: impl FnOnce(&Writer<'_>) -> Result<(), StoreError>) {
        self.store.write(None, self.now(), change).unwrap();
    }

    fn incoming(&self, claim: Claim, namespace: &Namespace, evidence: Vec<Evidence>) -> IncomingClaim {
        let claim = Claim { valid_from: Some(self.now()), ..claim };
        let candidate = Candidate {
            claim,
            audience: Audience::Project,
            evidence,
            replaces: None,
            is_pasted: false,
            is_shipped: false,
            updates_only: false,
        };
        let namespace = self.store.merged_into(namespace).unwrap();
        IncomingClaim {
            candidate,
            namespace,
            source: "run".into(),
            method: ExtractionMethod::Auto,
            id: None,
            past: None,
            needs_review: false,
            is_later: false,
        }
    }

    pub(crate) fn act(&mut self, act: &Act) {
        self.day += 1;
        match act {
            Act::Say { topic, value, place: at, talk } => {
                let claim = claim(*topic, *value);
                let transcript = format!("jsonl:talk-{talk}");
                let evidence = vec![Evidence { transcript, ..quote(&claim.content) }];
                let incoming = self.incoming(claim, &place(*at), evidence);
                self.as_run(|world, run| {
                    settle_by_rules(&world.store, &[incoming], Some(run), world.now()).unwrap();
                });
            }
            Act::Forget(which) => self.with(*which, |w, id| w.forget(id, Some("wrong".into())).map(drop)),
            Act::Restore(which, retire) => self.with(*which, |w, id| {
                let rivals = if *retire { RivalPolicy::Retire } else { RivalPolicy::Keep };
                restore(w, id, rivals, Author::Person).map(drop)
            }),
            Act::Pin(which, on) => self.with(*which, |w, id| w.set_pinned(id, *on).map(drop)),
            Act::Wait { topic, value, place: at } => {
                let known =
                    self.pick(*value, |memory| memory.status == Status::Active && memory.namespace == place(*at));
                let claim = claim(*topic, *value);
                let memory = Memory::new(claim, place(*at), "run", ExtractionMethod::Auto, self.now());
                let memory = Memory { status: Status::Pending, ..memory };
                self.write(|w| {
                    w.insert(&clean(memory.clone()), &clean(vec![quote(&memory.claim.content)]))?;
                    let Some(to) = known else { return Ok(()) };
                    let (from, relation_type) = (memory.id.clone(), RelationType::Contradicts);
                    w.relate(&Relation { from, to, relation_type, reason: None, created_at: w.now() }).map(drop)
                });
            }
            Act::Accept(which) => {
                if let Some(id) = self.pick(*which, |memory| memory.status == Status::Pending) {
                    self.as_run(|world, run| {
                        world.store.write::<_, StoreError>(Some(run), world.now(), |w| w.accept(&id)).unwrap()
                    });
                }
            }
            Act::Reject(which) => {
                if let Some(id) = self.pick(*which, |memory| memory.status == Status::Pending) {
                    self.write(|w| w.reject(&id, Some("no".into())));
                }
            }
            Act::Update(which, value) => self.with(*which, |w, id| {
                let memory = w.memory(id)?;
                let content = format!("{} ({value})", memory.claim.content);
                let claim = Claim { content, importance: 0.123_456_7, ..memory.claim.clone() };
                w.update(&clean(Memory { claim, ..memory }), Action::Update, Some("by hand".into())).map(drop)
            }),
            Act::Relate(from, to, kind) => {
                let ends = self.pick(*from, |_| true).zip(self.pick(*to, |_| true)).filter(|(from, to)| from != to);
                let Some((from, to)) = ends else { return };
                let relation_type = RelationType::ALL[usize::from(*kind) % RelationType::ALL.len()];
                let reason = Some("by hand".to_owned());
                self.write(|w| w.relate(&Relation { from, to, relation_type, reason, created_at: w.now() }).map(drop));
            }
            Act::Unrelate(which) => self.with(*which, |w, id| {
                let Some(link) = w.relations(id)?.into_iter().next() else { return Ok(()) };
                w.unrelate(&link.from, link.relation_type, &link.to).map(drop)
            }),
            Act::Undo(which) => {
                let Some(run) = self.runs.get(usize::from(*which) % self.runs.len().max(1)) else { return };
                match self.store.undo_run(run, self.now()) {
                    Ok(_) | Err(StoreError::RunUndone { .. }) => {}
                    Err(error) => panic!("{error}"),
                }
            }
            Act::Import => self.import(),
            Act::Merge(from, into) => {
                let [from, into] = [from, into].map(|number| self.store.merged_into(&place(*number)).unwrap());
                if from != into {
                    self.as_run(|world, run| {
                        let merge = |w: &Writer<'_>| merge_projects(w, &from, &into);
                        world.store.write::<_, StoreError>(Some(run), world.now(), merge).unwrap()
                    });
                }
            }
            Act::Maintain => {
                let report = maintain(&self.store, &Rules::default(), self.now()).unwrap();
                self.runs.extend(report.run);
            }
            Act::Consolidate => self.as_run(|world, run| {
                for (namespace, count) in world.store.inhabited().unwrap() {
                    let terms = Terms::<Client> {
                        store: &world.store,
                        guard: &Guard::default(),
                        model: None,
                        run: Some(run),
                        now: world.now(),
                        allowance: &Allowance::of(count),
                        taken_back: UndonePolicy::Stays,
                    };
                    futures::executor::block_on(pass_over(&terms, &namespace, &|_| {})).unwrap();
                }
            }),
        }
    }

    fn with(&self, which: Pick, change: impl FnOnce(&Writer<'_>, &MemoryId) -> Result<(), StoreError>) {
        if let Some(id) = self.pick(which, |_| true) {
            self.write(|w| change(w, &id));
        }
    }

    /// Imports the export of another copy, with one memory worded differently.
    fn import(&self) {
        let parse = |(index, memory): (usize, Memory)| {
            let mut exported = serde_json::to_value(exported(&self.store, memory).unwrap()).unwrap();
            if index == 0 {
                exported["content"] = json!("The user reads the file in other words.");
            }
            parse_line(&exported.to_string(), &Namespace::global(), self.now()).unwrap()
        };
        let memories = self.memories().into_iter().enumerate().map(parse).collect();
        let gathered = Gathered { memories, ..Gathered::default() };
        import_as_is(&self.store, gathered, &Namespace::global(), None, self.now()).unwrap();
    }
}

/// Returns one line per row of the memory state: all columns except row numbers and usage counts.
fn rows(store: &Store) -> BTreeSet<String> {
    const TABLES: [&str; 4] = ["memories", "evidence", "relations", "tombstones"];
    let usage = "SELECT memory_id, tier, promotion_count, last_promoted_at, confirmed_at, namespace, traits, changed_at
        FROM memory_usage"
        .to_owned();
    let mut lines = BTreeSet::new();
    let counts = |table: &str| -> BTreeSet<String> {
        let mut statement =
            store.conn.prepare(&format!("SELECT of || name || namespace || count FROM {table}")).unwrap();
        statement.query_map((), |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(counts("memory_counts"), counts("memory_counts_anew"), "the stored numbers are those of the rows");
    for sql in TABLES.map(|table| format!("SELECT * FROM {table}")).into_iter().chain([usage]) {
        let mut statement = store.conn.prepare(&sql).unwrap();
        let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        let mut found = statement.query(()).unwrap();
        while let Some(row) = found.next().unwrap() {
            let mut line = sql.clone();
            for (index, name) in names.iter().enumerate() {
                if name != "seq" && !(name == "id" && sql.ends_with("evidence")) {
                    write!(line, " {name}={:?}", row.get_ref(index).unwrap()).unwrap();
                }
            }
            lines.insert(line);
        }
    }
    lines
}

fn apply(store: &Store, changesets: &[Changeset]) {
    for changeset in changesets {
        assert_eq!(store.apply(changeset).unwrap().conflicts, []);
    }
}

/// Checks the laws for the changes of one action, on a copy.
fn check(world: &World, act: &Act, since: i64, before: &BTreeSet<String>) {
    let (written, after) = (world.store.changesets(since).unwrap(), rows(&world.store));
    let of = |what: &str| format!("{what}: {act:?}\n{written:#?}");
    if written.is_empty() {
        assert_eq!(&after, before, "{}", of("rows changed without a changeset"));
        return;
    }
    let spelled = serde_json::to_string(&written).unwrap();
    let read: Vec<Changeset> = serde_json::from_str(&spelled).unwrap();
    assert_eq!(read, written, "a changeset reads back as it was");
    let copy = world.store.copy_in_memory().unwrap();
    apply(&copy, &read);
    assert_eq!(rows(&copy), after, "{}", of("applied a second time"));
    let inverse: Vec<Changeset> = read.iter().rev().map(|changeset| changeset.inverse(world.now())).collect();
    apply(&copy, &inverse);
    assert_eq!(&rows(&copy), before, "{}", of("taken back"));
    apply(&copy, &inverse);
    assert_eq!(&rows(&copy), before, "{}", of("taken back twice"));
    apply(&copy, &read);
    assert_eq!(rows(&copy), after, "{}", of("applied again"));
}

pub(crate) fn cases() -> ProptestConfig {
    let default = ProptestConfig::default();
    let cases = if std::env::var_os("PROPTEST_CASES").is_some() { default.cases } else { 30 };
    ProptestConfig { cases, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(cases())]

    #[test]
    fn a_changeset_is_taken_back_applied_twice_and_replayed(acts in prop::collection::vec(any_act(), 1..14)) {
        let mut world = World { store: Store::in_memory().unwrap(), runs: Vec::new(), day: 0 };
        for act in &acts {
            let (since, before) = (world.store.last_change().unwrap(), rows(&world.store));
            world.act(act);
            check(&world, act, since, &before);
        }
        let replayed = Store::in_memory().unwrap();
        apply(&replayed, &world.store.changesets(0).unwrap());
        prop_assert_eq!(rows(&replayed), rows(&world.store));
        prop_assert_eq!(replayed.check().unwrap().flaws, vec![]);
    }
}
