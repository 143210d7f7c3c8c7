//! Running a suite of cases.

use std::path::PathBuf;
use std::time::Instant;

use afterthought::eval::matchers::{self, Judge, Vectors};
use afterthought::eval::rows::{Row, content};
use afterthought::eval::{
    self, CaseReport, Discovered, KIND, Loaded, MEASURES, Measure, Messages, Ran, Report, Usage, case_row, flaws,
    markdown, run_case, score,
};
use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::suite::Job;
use super::{matching, tell, worst};
use crate::cli::embed::embedder;
use crate::cli::printer::spelled;

/// Runs every case in or below `paths` and tells what came of them; returns whether one failed.
pub(super) async fn run(job: &Job<'_>, paths: &[PathBuf]) -> anyhow::Result<bool> {
    let found = eval::discover(paths)?;
    let out = job.context.out;
    let (bar, all) = (out.progress(), found.len());
    let done = std::cell::Cell::new(0);
    let embedder = if job.args.agreement { embedder(&job.context.settings()?)? } else { None };
    let vectors = embedder.as_ref().map(Vectors::of).transpose()?.flatten();
    let ran: Vec<Finished> = stream::iter(found)
        .map(|found| async {
            let report = finished(job, found, vectors.as_ref()).await;
            done.set(done.get() + 1);
            bar.set_message(format!("{} of {all} cases", done.get()));
            report
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    bar.finish_and_clear();
    job.gather.define(MEASURES.iter().map(Measure::defined).collect());
    let (mut cases, mut agreed) = (Vec::with_capacity(ran.len()), Vec::new());
    for Finished { report, row, agreement } in ran {
        agreed.extend(agreement);
        job.gather.row(row, &report.folder, job.repeat);
        cases.push(report);
    }
    let mut usage = Usage::default();
    cases.iter().filter_map(|case| case.counts.as_ref()).for_each(|counts| usage += counts.usage);
    let report = Report::new(job.label.clone(), cases, job.cost(usage));
    write_files(job, &report)?;
    if out.is_json() {
        out.json(&report)?;
    } else if job.is_told() {
        tell::report(&report, out)?;
        worst::tell(&report, out)?;
    }
    if let Some(place) = paths.first().filter(|_| job.args.agreement) {
        matching::tell(job, place, agreed, vectors.is_some())?;
    }
    for (case, error) in report.failed() {
        out.error_text(&format!("{}: {error}", case.case));
    }
    Ok(report.failed().next().is_some())
}

/// What a case came to, as it is kept.
#[derive(Serialize, Deserialize)]
struct Finished {
    report: CaseReport,
    row: Row,
    /// How the ways of matching agree with its patterns, where that was asked for.
    agreement: Option<Row>,
}

impl Finished {
    fn failed(report: CaseReport) -> Self {
        Self { row: case_row(&report, None, &[]), report, agreement: None }
    }
}

/// Returns what an earlier run has kept of a case, else runs it and keeps what it comes to.
async fn finished(job: &Job<'_>, found: Discovered, vectors: Option<&Vectors<'_>>) -> Finished {
    let content = content(&found.folder).ok();
    // A file may hold many cases.
    let label = found.loaded.as_ref().map(Loaded::label).unwrap_or_default();
    let place = format!("{} {label}", found.folder.display());
    // What is told of the ways of matching depends on models of its own.
    let content = content.filter(|_| !job.args.agreement);
    let key = content.map(|content| job.gather.key(KIND, &format!("{content} {place}"), job.repeat));
    if let Some(kept) = key.as_ref().and_then(|key| job.gather.kept(key)) {
        return kept;
    }
    let mut finished = one(job, found, vectors).await;
    if let Some(key) = key.filter(|_| finished.report.error.is_none())
        && let Err(error) = job.gather.keep(&key, &finished)
    {
        finished.report.notes.push(format!("it is not kept: {}", spelled(&error)));
    }
    finished
}

async fn one(job: &Job<'_>, found: Discovered, vectors: Option<&Vectors<'_>>) -> Finished {
    let case = match found.loaded {
        Ok(case) => case,
        Err(error) => return Finished::failed(CaseReport::unreadable(found.folder, spelled(&error.into()))),
    };
    if job.options.cancel.is_cancelled() {
        return Finished::failed(CaseReport::failed(&case, "interrupted before it began".to_owned()));
    }
    let begun = Instant::now();
    // Behind a box, since the types of nested futures grow beyond what the compiler follows.
    match run_case(&case, job.subject, job.options).boxed_local().await {
        Ok(mut ran) => {
            let transcripts = std::mem::take(&mut ran.transcripts);
            let messages = Messages::of(&transcripts);
            let scored = score(&case.rules, case.case.language, &ran.predictions, &messages, &case.verdicts);
            let flaws = flaws(&case.case, &case.rules, &messages);
            let agreement = if job.args.agreement { agreement(job, &case, &ran, vectors).await } else { None };
            let report = CaseReport::scored(&case, ran, scored, flaws);
            let mut row = case_row(&report, Some(&case), &transcripts);
            row.cost.money = report.counts.as_ref().and_then(|counts| job.cost(counts.usage));
            row.cost.ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
            Finished { report, row, agreement }
        }
        Err(error) => Finished::failed(CaseReport::failed(&case, spelled(&error.into()))),
    }
}

async fn agreement(job: &Job<'_>, case: &Loaded, ran: &Ran, vectors: Option<&Vectors<'_>>) -> Option<Row> {
    let judge = job.judge.map(Judge::new);
    let row = matchers::agreement(&case.label(), &case.rules, &ran.predictions, vectors, judge.as_ref()).await;
    // What a model that fails does not say counts for nothing.
    row.ok()
}

fn write_files(job: &Job<'_>, report: &Report) -> anyhow::Result<()> {
    if let Some(path) = &job.args.markdown {
        std::fs::write(path, markdown(report)).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(path) = &job.args.unlisted {
        let unlisted: Vec<_> = report.unlisted().collect();
        let text = serde_json::to_string_pretty(&unlisted)? + "\n";
        std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))?;
        job.context.out.note(format_args!("{} memories without a verdict are in {}", unlisted.len(), path.display()));
    }
    Ok(())
}
