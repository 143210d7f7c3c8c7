//! Consolidation cases: running them, and handing on what they came to.

use std::io::Write as _;
use std::path::PathBuf;

use afterthought::eval::consolidation::{self, Decider, Report};
use afterthought::eval::rows::Spent;
use afterthought::eval::{Control, InFlight, Subject};
use afterthought::llm::{Budgeted, Complete};
use anyhow::{Context as _, bail};
use futures::FutureExt as _;

use super::args::ExtractorArg;
use super::settled::tell;
use super::suite::Job;

/// Runs the cases of `files` and tells what came of them; returns whether something could not be read.
pub(super) async fn run(job: &Job<'_>, files: &[PathBuf], is_only: bool) -> anyhow::Result<bool> {
    let cases = consolidation::read(files);
    let bar = job.context.out.progress();
    bar.set_message(format!("{} pairs and {} streams", cases.pairs.len(), cases.streams.len()));
    let model = match job.subject {
        Subject::Llm(source) => Some(InFlight::new(Budgeted::new(source, job.options.budget), job.args.jobs)),
        Subject::Rules | Subject::Control(_) => None,
    };
    let (decider, label) = (decider(job, model.as_ref())?, label(job));
    let ran = consolidation::run(&cases, decider, &label, job.args.distractors, job.options.guard);
    let mut report = ran.boxed_local().await?;
    bar.finish_and_clear();
    report.cost = job.cost(report.usage);
    let refused = model.as_ref().and_then(InFlight::refused);
    gather(job, files, &report, refused.as_deref());
    if let Some(path) = &job.args.markdown {
        let mut file = std::fs::File::options().create(true).write(true).truncate(is_only).append(!is_only).open(path);
        let written = file.as_mut().map(|file| file.write_all(consolidation::markdown(&report).as_bytes()));
        written
            .map_err(|error| anyhow::anyhow!(error.to_string()))
            .and_then(|done| Ok(done?))
            .with_context(|| format!("cannot write {}; check the folder and its permissions", path.display()))?;
    }
    let out = job.context.out;
    if out.is_json() {
        out.json(&report)?;
    } else if job.is_told() {
        tell(&report, out)?;
    }
    if let Some(why) = &refused {
        out.error_text(&format!(
            "the model was not asked about everything, so this does not tell what it can do: {why}"
        ));
    }
    for told in &report.unreadable {
        out.error_text(told);
    }
    Ok(!report.unreadable.is_empty() || refused.is_some())
}

/// Hands on the rows; where the model was refused an answer they say so and measure nothing.
fn gather(job: &Job<'_>, files: &[PathBuf], report: &Report, refused: Option<&str>) {
    job.gather.define(consolidation::defined());
    let folder = |file: &PathBuf| {
        file.canonicalize().ok()?.parent()?.file_name().map(|name| name.to_string_lossy().into_owned())
    };
    let place =
        |split: &str| files.iter().find(|file| folder(file).as_deref() == Some(split)).or_else(|| files.first());
    for mut row in report.rows() {
        if let Some(why) = refused {
            row.error = Some(why.to_owned());
            row.measures.clear();
        }
        if let Some(place) = place(&row.split) {
            job.gather.row(row, place, job.repeat);
        }
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time since the run began")]
    let ms = (report.seconds * 1_000.0) as u64;
    let cost = Spent { money: report.cost, ms, ..Spent::of(report.usage) };
    if let Some(place) = files.first() {
        job.gather.shared(cost, place, job.repeat);
    }
}

fn decider<'a, C: Complete>(job: &Job<'_>, model: Option<&'a C>) -> anyhow::Result<Decider<'a, C>> {
    Ok(match (job.args.extractor, job.subject, model) {
        (Some(ExtractorArg::Similarity), _, _) => Decider::Likeness,
        (_, _, Some(model)) => Decider::Model(model),
        (_, Subject::Rules | Subject::Llm(_), None) => Decider::Rules,
        (_, Subject::Control(Control::Nothing), _) => Decider::AlwaysNew,
        (_, Subject::Control(Control::EverySentence | Control::FirstPerson | Control::Invented), _) => {
            bail!("consolidation has no such control; use --extractor none or similarity")
        }
    })
}

/// Returns the name of what is measured; the rules of consolidation are not those of extraction.
fn label(job: &Job<'_>) -> String {
    match (job.args.extractor, job.subject) {
        (Some(ExtractorArg::Similarity), _) => "similarity".to_owned(),
        (_, Subject::Rules) => "rules".to_owned(),
        (_, Subject::Llm(_) | Subject::Control(_)) => job.label.clone(),
    }
}
