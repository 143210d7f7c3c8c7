//! What the cases came to, as one object that a program can read.

use std::collections::BTreeMap;

use serde::Serialize;

use super::counts::{Counts, MEASURES};
use super::file::Placed;
use super::form::{Hard, Pair, Stream};
use super::pair_score::{Fate, PairFault};
use super::stream_score::{Left, Misplaced};
use super::streams::Ended;
use crate::consolidate::{Conflict, Decision};
use crate::eval::interval::drawn;
use crate::eval::{Measured, Usage};
use crate::memory::Status;

/// What all cases came to.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What was measured: the model, the rules, or a control.
    pub extractor: String,
    /// Distractors in each namespace.
    pub distractors: usize,
    /// All cases.
    pub overall: Group,
    /// The cases of each split.
    pub splits: Vec<Group>,
    /// The cases of each language.
    pub languages: Vec<Group>,
    /// The cases of each phenomenon.
    pub phenomena: Vec<Group>,
    /// The hard pairs of each kind.
    pub hard: Vec<Group>,
    /// Each pair, in the order of the files.
    pub pairs: Vec<PairReport>,
    /// Each stream, in the order of the files.
    pub streams: Vec<StreamReport>,
    /// What could not be read.
    pub unreadable: Vec<String>,
    /// Memories that arrived; a second run's are not counted.
    pub incoming: u64,
    /// What the model was asked.
    pub usage: Usage,
    /// Questions that were not answered.
    pub failed_calls: u64,
    /// Questions that a second run of the streams would ask.
    pub asked_again: u64,
    /// Distractors that are no longer recalled.
    pub distractors_retired: u64,
    /// Time for everything.
    pub seconds: f64,
    /// Dollars for all, where the price is known.
    pub cost: Option<f64>,
}

/// Some cases together, with the measures in the order of [`MEASURES`].
pub type Group = crate::eval::Group<Counts>;

/// What became of a pair.
#[derive(Debug, Serialize)]
pub struct PairReport {
    /// Its id.
    pub id: String,
    /// Its split.
    pub split: String,
    /// Its language.
    pub language: String,
    /// What it tests.
    pub phenomenon: String,
    /// Why it is hard.
    pub hard: Option<String>,
    /// What is known.
    pub known: String,
    /// What comes.
    pub incoming: String,
    /// What should be done, such as `contradict (changed, late) or add`.
    pub expected: String,
    /// What was done.
    pub got: String,
    /// The reason that was given.
    pub reason: String,
    /// What went wrong.
    pub faults: Vec<PairFault>,
    /// What was counted.
    #[serde(skip)]
    pub counts: Counts,
}

/// How a stream ended.
#[derive(Debug, Serialize)]
pub struct StreamReport {
    /// Its id.
    pub id: String,
    /// Its split.
    pub split: String,
    /// Its language.
    pub language: String,
    /// What it tests.
    pub phenomena: Vec<String>,
    /// Whether it ends exactly as it should.
    pub exact: bool,
    /// What went wrong.
    pub faults: Vec<Misplaced>,
    /// What each event says, in order.
    pub events: Vec<(String, String)>,
    /// Groups that should be recalled, those that should wait behind them.
    pub expected: String,
    /// Groups that are and do.
    pub got: String,
    /// What was decided about each event, in the order in which it was.
    pub decided: Vec<String>,
    /// Memories that a second run made.
    pub growth: u64,
    /// Memories that it changed.
    pub changed_again: u64,
    /// What was counted.
    #[serde(skip)]
    pub counts: Counts,
}

impl PairReport {
    pub(super) fn new(
        placed: &Placed<Pair>,
        fate: &Fate,
        reason: &str,
        faults: Vec<PairFault>,
        mut counts: Counts,
    ) -> Self {
        let pair = &placed.case;
        counts.incoming = 1;
        Self {
            id: pair.id.clone(),
            split: placed.split.clone(),
            language: placed.language.clone(),
            phenomenon: pair.phenomenon.clone(),
            hard: pair.hard.map(Hard::name),
            known: pair.known.content.clone(),
            incoming: pair.incoming.content.clone(),
            expected: expected(pair),
            got: spelled(fate.decision, fate.conflict, fate.late, fate.waits)
                + if fate.elsewhere { " of another memory" } else { "" },
            reason: reason.to_owned(),
            faults,
            counts,
        }
    }
}

fn expected(pair: &Pair) -> String {
    let mut text = spelled(pair.expect, pair.why, pair.late, false);
    for other in &pair.accepted {
        text.push_str(" or ");
        text.push_str(other.as_str());
    }
    text
}

fn spelled(decision: Decision, conflict: Option<Conflict>, late: bool, waits: bool) -> String {
    let marks = [conflict.map(Conflict::as_str), late.then_some("late"), waits.then_some("waits")];
    let marks: Vec<&str> = marks.into_iter().flatten().collect();
    if marks.is_empty() {
        decision.as_str().to_owned()
    } else {
        format!("{} ({})", decision.as_str(), marks.join(", "))
    }
}

impl StreamReport {
    pub(super) fn new(placed: &Placed<Stream>, ended: &Ended, faults: Vec<Misplaced>, mut counts: Counts) -> Self {
        let stream = &placed.case;
        counts.growth = ended.growth;
        counts.changed_again = ended.changed;
        counts.distractors_retired = ended.distractors_retired;
        let wanted = |groups: &[Vec<String>]| groups.iter().map(|group| group.join("+")).collect();
        let found = |status: Status| {
            let groups = ended.end.memories.iter().filter(|left| left.status == status);
            groups.map(|left: &Left| left.events.iter().cloned().collect::<Vec<_>>().join("+")).collect()
        };
        let said = stream.events.iter().filter_map(super::form::Event::told);
        counts.incoming = stream.events.iter().filter(|event| event.id().is_some()).count() as u64;
        Self {
            id: stream.id.clone(),
            split: placed.split.clone(),
            language: placed.language.clone(),
            phenomena: stream.phenomenon.clone(),
            exact: counts.streams_exact == 1,
            faults,
            events: said.collect(),
            expected: groups(wanted(&stream.active), wanted(&stream.waiting)),
            got: groups(found(Status::Active), found(Status::Pending)),
            decided: ended.decided.clone(),
            growth: ended.growth,
            changed_again: ended.changed,
            counts,
        }
    }
}

fn groups(mut active: Vec<String>, mut waiting: Vec<String>) -> String {
    active.sort();
    waiting.sort();
    let active = active.join(" ");
    if waiting.is_empty() { active } else { format!("{active} | waiting: {}", waiting.join(" ")) }
}

impl Report {
    pub(super) fn new(label: &str, distractors: usize, pairs: Vec<PairReport>, streams: Vec<StreamReport>) -> Self {
        let all: Vec<&Counts> =
            pairs.iter().map(|one| &one.counts).chain(streams.iter().map(|one| &one.counts)).collect();
        let overall = Group::new("all", &all, true);
        let mut splits = Grouping::default();
        let mut languages = Grouping::default();
        let mut phenomena = Grouping::default();
        let mut hard = Grouping::default();
        for pair in &pairs {
            splits.put(&pair.split, &pair.counts);
            languages.put(&pair.language, &pair.counts);
            phenomena.put(&pair.phenomenon, &pair.counts);
            if let Some(kind) = &pair.hard {
                hard.put(kind, &pair.counts);
            }
        }
        for stream in &streams {
            splits.put(&stream.split, &stream.counts);
            languages.put(&stream.language, &stream.counts);
            stream.phenomena.iter().for_each(|phenomenon| phenomena.put(phenomenon, &stream.counts));
        }
        Self {
            extractor: label.to_owned(),
            distractors,
            splits: splits.groups(true),
            languages: languages.groups(false),
            phenomena: phenomena.groups(false),
            hard: hard.groups(false),
            distractors_retired: overall.counts.distractors_retired,
            overall,
            pairs,
            streams,
            unreadable: Vec::new(),
            incoming: 0,
            usage: Usage::default(),
            failed_calls: 0,
            asked_again: 0,
            seconds: 0.0,
            cost: None,
        }
    }

    /// Returns calls for each memory that arrived.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "counts of cases are far below 2^52")]
    pub fn calls_an_incoming(&self) -> Option<f64> {
        (self.incoming > 0).then(|| self.usage.calls as f64 / self.incoming as f64)
    }
}

/// Cases by what they have in common.
#[derive(Debug, Default)]
struct Grouping<'a>(BTreeMap<String, Vec<&'a Counts>>);

impl<'a> Grouping<'a> {
    fn put(&mut self, name: &str, counts: &'a Counts) {
        self.0.entry(name.to_owned()).or_default().push(counts);
    }

    fn groups(self, with_intervals: bool) -> Vec<Group> {
        self.0.into_iter().map(|(name, counts)| Group::new(&name, &counts, with_intervals)).collect()
    }
}

impl Group {
    fn new(name: &str, cases: &[&Counts], with_intervals: bool) -> Self {
        let counts = Counts::sum(cases.iter().copied());
        let of: Vec<_> = MEASURES.iter().map(|measure| |counts: &Counts| measure.of(counts)).collect();
        let intervals = if with_intervals { drawn(cases, Counts::sum, &of) } else { vec![None; of.len()] };
        let measures = MEASURES.iter().zip(intervals).map(|(measure, interval)| Measured {
            name: measure.name,
            value: measure.of(&counts),
            interval: interval.filter(|_| measure.good != super::counts::Good::None),
        });
        Self { name: name.to_owned(), measures: measures.collect(), counts }
    }

    /// Returns the value of the measure of this name.
    #[must_use]
    pub fn value(&self, name: &str) -> Option<f64> {
        self.measures.iter().find(|measured| measured.name == name)?.value
    }
}
