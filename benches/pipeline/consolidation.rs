//! Cost of a consolidation decision, how this cost grows with the store, and how many duplicates are found.
//!
//! Means are of processor time, which other programs on the same machine affect less. Medians and percentiles are of
//! wall-clock time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use afterthought::consolidate::plan::neighbours::gather;
use afterthought::consolidate::plan::{Answers, CandidateContext, Stage, draft};
use afterthought::consolidate::{IncomingClaim, Plan, apply};
use afterthought::guard::Guard;
use afterthought::memory::{Audience, Candidate, ExtractionMethod, Memory, MemoryId, Namespace};
use afterthought::store::{Filter, Store, StoreError};
use jiff::Timestamp;

use super::claims::{Said, Speech, TWINS, Twin};
use super::report::{Goal, Report, Row, figure, ms};

/// Store sizes, in memories; the first is the reference for the others.
const STORED: [usize; 3] = [1_000, 10_000, 100_000];
const INCOMING: usize = 10_000;
/// One out of this many incoming claims rewords a stored memory.
const TWIN_EVERY: usize = 5;
/// Number of full searches that are timed for comparison with the search for neighbours.
const SEARCHES: usize = 100;

/// Measures 10,000 incoming claims, rules only, against stores of three sizes.
pub fn measure(report: &mut Report) {
    let mut first = None;
    for stored in STORED {
        let took = against(report, stored);
        let first = first.get_or_insert(took);
        let growth = |now: Duration, then: Duration| now.as_secs_f64() / then.as_secs_f64();
        if stored != STORED[0] {
            let linear = figure(stored) / figure(STORED[0]);
            report.add(
                Row::new(
                    format!("growth of finding, {stored} to {} stored", STORED[0]),
                    growth(took.0, first.0),
                    "times",
                )
                .goal(Goal::AtMost(linear.sqrt()))
                .beside("linear", linear),
            );
            report.add(
                Row::new(
                    format!("growth of a decision, {stored} to {} stored", STORED[0]),
                    growth(took.1, first.1),
                    "times",
                )
                .goal(Goal::AtMost(linear.sqrt()))
                .beside("linear", linear),
            );
        }
    }
}

/// Returns the average time of finding neighbours for one claim, and that of the whole decision.
fn against(report: &mut Report, stored: usize) -> (Duration, Duration) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    let (mut speech, guard, now) = (Speech::new(3), Guard::default(), Timestamp::now());
    let said: Vec<Said> = (0..stored).map(|_| speech.say()).collect();
    let (ids, filling) = timed(|| fill(&path, &guard, &said, now));
    let name = |what: &str| format!("{what}, {stored} stored");
    report.add(Row::new(name("writing memories"), figure(stored) / filling.as_secs_f64(), "a second"));
    let store = Store::open(&path).unwrap();
    let (incoming, twins) = incoming(&mut speech, &said, &ids);

    let ((cases, times), looking) = timed(|| look_around(&store, &incoming));
    let searching = Some(search(&store, &incoming));
    let finding = add_times(report, &name("finding"), (looking / each(), times), searching);
    add_recall(report, &name("twins found"), &cases, &twins);

    let alone =
        |case: &CandidateContext| clocked(|| draft(std::slice::from_ref(case), &Answers::new(), Stage::Last, now)).1;
    let (one_by_one, deciding) = timed(|| cases.iter().map(alone).collect::<Vec<Duration>>());
    add_times(report, &name("deciding alone"), (deciding / each(), one_by_one), None);
    let ((changes, _), deciding) = timed(|| draft(&cases, &Answers::new(), Stage::Last, now));
    report.add(Row::new(name("deciding in one batch"), ms(deciding / each()), "ms a claim"));
    let plan = Plan { changes, ..Plan::default() };
    let (applied, applying) = timed(|| apply(&store, &plan, None, now).unwrap());
    report.add(Row::new(name("writing"), ms(applying / each()), "ms a claim"));
    eprintln!("{stored} stored: {:?}", applied.counts);
    let whole = finding + (deciding + applying) / each();
    report.add(Row::new(name("a whole decision"), ms(whole), "ms").beside("finding", ms(finding)));
    (finding, whole)
}

fn each() -> u32 {
    u32::try_from(INCOMING).unwrap()
}

fn fill(path: &Path, guard: &Guard, said: &[Said], now: Timestamp) -> Vec<MemoryId> {
    let store = Store::open(path).unwrap();
    let write = |(part, said): (usize, &[Said])| {
        store.write::<_, StoreError>(None, now, |writer| {
            let made = said.iter().enumerate().map(|(index, said)| {
                let (claim, evidence) = said.claim(part * 1_000 + index);
                let memory = Memory::new(claim, Namespace::global(), "bench", ExtractionMethod::Auto, now);
                let id = memory.id.clone();
                writer.insert(&guard.redact(memory).0, &guard.redact(evidence).0)?;
                Ok(id)
            });
            made.collect::<Result<Vec<MemoryId>, _>>()
        })
    };
    said.chunks(1_000).enumerate().flat_map(|part| write(part).unwrap()).collect()
}

/// Index of an incoming claim, the way it rewords a stored memory, and the ID of that memory.
type Planted<'i> = (usize, Twin, &'i MemoryId);

fn incoming<'i>(speech: &mut Speech, stored: &[Said], ids: &'i [MemoryId]) -> (Vec<IncomingClaim>, Vec<Planted<'i>>) {
    let (mut all, mut twins) = (Vec::with_capacity(INCOMING), Vec::new());
    for index in 0..INCOMING {
        let number = 10_000_000 + index;
        let (claim, evidence) = if index % TWIN_EVERY == 0 {
            let of = (index / TWIN_EVERY * 7_919) % stored.len();
            let twin = TWINS[index / TWIN_EVERY % TWINS.len()];
            let (mut claim, evidence) = speech.again(&stored[of], twin).claim(number);
            if twin == Twin::Case {
                Said::disguise(&mut claim, index / TWIN_EVERY / TWINS.len());
            }
            twins.push((index, twin, &ids[of]));
            (claim, evidence)
        } else {
            speech.say().claim(number)
        };
        let candidate = Candidate {
            claim,
            audience: Audience::User,
            evidence,
            replaces: None,
            is_pasted: false,
            is_shipped: false,
            updates_only: false,
        };
        let (namespace, source) = (Namespace::global(), "bench".into());
        all.push(IncomingClaim {
            candidate,
            namespace,
            source,
            method: ExtractionMethod::Auto,
            id: None,
            past: None,
            needs_review: false,
            is_later: false,
        });
    }
    (all, twins)
}

fn look_around(store: &Store, incoming: &[IncomingClaim]) -> (Vec<CandidateContext>, Vec<Duration>) {
    let one = |incoming: &IncomingClaim| {
        let (mut cases, took) = clocked(|| gather(store, vec![incoming.clone()]).unwrap());
        (cases.remove(0), took)
    };
    incoming.iter().map(one).unzip()
}

/// Returns the average time of a complete ranked search for all words of a claim.
fn search(store: &Store, incoming: &[IncomingClaim]) -> Duration {
    let filter = Filter::exactly(&[Namespace::global()]);
    let texts = incoming.iter().take(SEARCHES).map(|incoming| incoming.candidate.claim.content.as_str());
    let times: Vec<Duration> =
        texts.map(|text| timed(|| store.search_candidates(text, &filter, 20).unwrap()).1).collect();
    mean(&times)
}

fn add_times(
    report: &mut Report,
    what: &str,
    (mean, mut times): (Duration, Vec<Duration>),
    beside: Option<Duration>,
) -> Duration {
    times.sort();
    let at = |share: usize| ms(times[times.len() * share / 100]);
    let row = Row::new(format!("{what}, mean"), ms(mean), "ms a claim");
    report.add(match beside {
        Some(search) => row.beside("a search for the same words", ms(search)),
        None => row,
    });
    report.add(Row::new(format!("{what}, p50"), at(50), "ms"));
    report.add(Row::new(format!("{what}, p95"), at(95), "ms"));
    mean
}

fn mean(times: &[Duration]) -> Duration {
    times.iter().sum::<Duration>() / u32::try_from(times.len()).unwrap()
}

fn add_recall(report: &mut Report, what: &str, cases: &[CandidateContext], twins: &[Planted<'_>]) {
    let mut counts: BTreeMap<Twin, (usize, usize)> = BTreeMap::new();
    for (index, twin, id) in twins {
        let (found, all) = counts.entry(*twin).or_default();
        *found += usize::from(cases[*index].known.iter().any(|known| known.memory.id == **id));
        *all += 1;
    }
    let found: usize = counts.values().map(|(found, _)| found).sum();
    report.add(Row::new(what, figure(found) / figure(twins.len()), "of all").goal(Goal::AtLeast(0.99)));
    for (twin, (found, all)) in counts {
        report.add(Row::new(format!("{what}: {twin:?}"), figure(found) / figure(all), "of these"));
    }
}

/// Returns the result of `work` and its processor time, or the elapsed time where processor time is unknown.
fn timed<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let (before, started) = (on_processor(), Instant::now());
    let result = work();
    let taken =
        before.zip(on_processor()).map_or_else(|| started.elapsed(), |(before, now)| now.saturating_sub(before));
    (result, taken)
}

/// Returns the result of `work` and the elapsed time. Processor time is too coarse for a single claim.
fn clocked<R>(work: impl FnOnce() -> R) -> (R, Duration) {
    let started = Instant::now();
    let result = work();
    (result, started.elapsed())
}

fn on_processor() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}
