//! Running everything: pairs, then streams, and what they came to.

use std::time::Instant;

use super::decider::Decider;
use super::file::Cases;
use super::home::Templates;
use super::report::{PairReport, Report, StreamReport};
use super::{pair_score, pairs, stream_score, streams};
use crate::eval::{EvalError, Meter, Usage};
use crate::guard::Guard;
use crate::llm::Complete;

/// Memories that are settled together, as in a run of the pipeline.
pub(super) const BATCH: usize = 200;

/// What settling needs, and what it counts for all cases together.
#[derive(Debug)]
pub(super) struct Settling<'a> {
    pub(super) guard: &'a Guard,
    pub(super) templates: &'a mut Templates,
    pub(super) incoming: u64,
    pub(super) failed_calls: u64,
    pub(super) asked_again: u64,
    pub(super) distractors_retired: u64,
}

/// Runs all of `cases`, each among so many distractors, and tells what came of them.
///
/// # Errors
/// [`EvalError`] if a store cannot be used.
pub async fn run<C: Complete>(
    cases: &Cases,
    decider: Decider<'_, C>,
    label: &str,
    distractors: usize,
    guard: &Guard,
) -> Result<Report, EvalError> {
    match decider {
        Decider::Model(model) => {
            let meter = Meter::new(model);
            let mut report = measured(cases, Decider::Model(&meter), label, distractors, guard).await?;
            report.usage = meter.used();
            Ok(report)
        }
        Decider::Rules => measured::<C>(cases, Decider::Rules, label, distractors, guard).await,
        Decider::AlwaysNew => measured::<C>(cases, Decider::AlwaysNew, label, distractors, guard).await,
        Decider::Likeness => measured::<C>(cases, Decider::Likeness, label, distractors, guard).await,
    }
}

async fn measured<C: Complete>(
    cases: &Cases,
    decider: Decider<'_, C>,
    label: &str,
    distractors: usize,
    guard: &Guard,
) -> Result<Report, EvalError> {
    let mut templates = Templates::new(distractors);
    let mut settling = Settling {
        guard,
        templates: &mut templates,
        incoming: cases.pairs.len() as u64,
        failed_calls: 0,
        asked_again: 0,
        distractors_retired: 0,
    };
    let begun = Instant::now();
    let fates = pairs::run(&cases.pairs, decider, &mut settling).await?;
    let ends = streams::run(&cases.streams, decider, &mut settling).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let pairs = cases.pairs.iter().zip(&fates).map(|(pair, (fate, reason))| {
        let (faults, counts) = pair_score::score(&pair.case, fate);
        PairReport::new(pair, fate, reason, faults, counts)
    });
    let streams = cases.streams.iter().zip(&ends).map(|(stream, ended)| {
        let (faults, counts) = stream_score::score(&stream.case, &ended.end);
        StreamReport::new(stream, ended, faults, counts)
    });
    let mut report = Report::new(label, distractors, pairs.collect(), streams.collect());
    report.unreadable = cases.unreadable.iter().map(ToString::to_string).collect();
    report.seconds = seconds;
    report.failed_calls = settling.failed_calls;
    report.asked_again = settling.asked_again;
    report.incoming = settling.incoming;
    report.distractors_retired += settling.distractors_retired;
    report.usage = Usage::default();
    Ok(report)
}
