//! Running a suite of cases.

use std::path::PathBuf;

use afterthought::eval::{self, CaseReport, Discovered, Messages, Report, Usage, flaws, markdown, run_case, score};
use anyhow::Context as _;
use futures::{FutureExt as _, StreamExt as _, stream};

use super::{Job, tell, worst};
use crate::cli::printer::spelled;

/// Runs every case in or below `paths` and tells what came of them; returns whether one failed.
pub(super) async fn run(job: &Job<'_>, paths: &[PathBuf]) -> anyhow::Result<bool> {
    let found = eval::discover(paths)?;
    let out = job.context.out;
    let (bar, all) = (out.progress(), found.len());
    let done = std::cell::Cell::new(0);
    let cases: Vec<CaseReport> = stream::iter(found)
        .map(|found| async {
            let report = one(job, found).await;
            done.set(done.get() + 1);
            bar.set_message(format!("{} of {all} cases", done.get()));
            report
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    bar.finish_and_clear();
    let mut usage = Usage::default();
    cases.iter().filter_map(|case| case.counts.as_ref()).for_each(|counts| usage += counts.usage);
    let report = Report::new(job.label.clone(), cases, job.cost(usage));
    write_files(job, &report)?;
    if out.is_json() {
        out.json(&report)?;
    } else {
        tell::report(&report, out)?;
        worst::tell(&report, out)?;
    }
    for (case, error) in report.failed() {
        out.error_text(&format!("{}: {error}", case.case));
    }
    Ok(report.failed().next().is_some())
}

async fn one(job: &Job<'_>, found: Discovered) -> CaseReport {
    let case = match found.loaded {
        Ok(case) => case,
        Err(error) => return CaseReport::unreadable(found.folder, spelled(&error.into())),
    };
    if job.options.cancel.is_cancelled() {
        return CaseReport::failed(&case, "interrupted before it began".to_owned());
    }
    // Behind a box, since the types of nested futures grow beyond what the compiler follows.
    match run_case(&case, job.subject, job.options).boxed_local().await {
        Ok(ran) => {
            let messages = Messages::of(&ran.transcripts);
            let scored = score(&case.rules, case.case.language, &ran.predictions, &messages, &case.verdicts);
            let flaws = flaws(&case.case, &case.rules, &messages);
            CaseReport::scored(&case, ran, scored, flaws)
        }
        Err(error) => CaseReport::failed(&case, spelled(&error.into())),
    }
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
