//! Answer retention on a `LoCoMo` file.

use std::path::Path;

use afterthought::eval::locomo::{self, Kept, Retention, Sample};
use afterthought::eval::{Ran, Unit};
use futures::{FutureExt as _, StreamExt as _, stream};

use super::Job;
use super::tell::number;
use crate::cli::printer::{BOLD, DIM, Printer, counted, one_line, spelled};

/// Questions that are told of unless all are asked for.
const QUESTIONS: usize = 10;

/// Runs the conversations of `file` and tells what is left of their answers; returns whether one failed.
pub(super) async fn run(job: &Job<'_>, file: &Path) -> anyhow::Result<bool> {
    let out = job.context.out;
    let bar = out.progress();
    bar.set_message(format!("{}", file.display()));
    let samples = locomo::read(file)?;
    let ran: Vec<(Sample, Result<Ran, _>)> = stream::iter(samples)
        .map(|sample| async {
            let ran = locomo::run_sample(&sample, job.subject, job.options).boxed_local().await;
            (sample, ran)
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    bar.finish_and_clear();
    let mut failed = false;
    let mut good = Vec::new();
    for (sample, ran) in ran {
        match ran {
            Ok(ran) => {
                ran.notes.iter().for_each(|note| out.warn(format_args!("{}: {note}", sample.id)));
                good.push((sample, ran));
            }
            Err(error) => {
                failed = true;
                out.error_text(&format!("{}: {}; it is left out", sample.id, spelled(&error.into())));
            }
        }
    }
    if !good.is_empty() {
        tell(job, &locomo::measure(&good), out)?;
    }
    Ok(failed)
}

fn tell(job: &Job<'_>, found: &Retention, out: &Printer) -> anyhow::Result<()> {
    let cost = job.cost(found.usage);
    if out.is_json() {
        return Ok(out.json(&serde_json::json!({"extractor": job.label, "cost": cost, "locomo": found}))?);
    }
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}: {}, {}, {} tokens",
        job.label,
        counted(found.conversations as u64, "conversation"),
        counted(found.turns as u64, "turn"),
        found.source_tokens
    ))?;
    let observations = found.rows.iter().find(|row| row.name == "observations").map_or(0, |row| row.texts);
    let cells = |row: &Kept| {
        [
            if row.name == "memories" { format!("memories of {}", job.label) } else { row.name.clone() },
            row.texts.to_string(),
            number(share(row.texts, observations), Unit::Number),
            number(row.retention(), Unit::Share),
            number(row.tokens_per(found.source_tokens), Unit::Share),
            number(row.open_share(), Unit::Share),
            number(share(row.soft_dates, row.texts), Unit::Share),
        ]
    };
    let header = ["", "texts", "per observation", "retention", "tokens per token", "open dates", "vague dates"];
    out.table(header, found.rows.iter().map(cells).collect())?;
    out.line(format_args!(
        "retention: {} of categories 1 and 4; {} without evidence left out",
        counted(found.rows.first().map_or(0, |row| row.questions) as u64, "question"),
        found.without_evidence
    ))?;
    let used = found.usage;
    if used.calls + used.failed_calls > 0 {
        let money = cost.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
        let (calls, prompt, completion) = (counted(used.calls, "call"), used.prompt_tokens, used.completion_tokens);
        out.line(format_args!("{calls}, {prompt} prompt tokens, {completion} completion tokens{money}"))?;
    }
    lost(found, out)
}

/// Tells of questions whose answer stands in the turns and is not left in the memories.
fn lost(found: &Retention, out: &Printer) -> anyhow::Result<()> {
    let lost: Vec<_> = found.lost.iter().filter(|lost| lost.in_turns).collect();
    let shown = if out.is_verbose() { lost.len() } else { QUESTIONS.min(lost.len()) };
    for one in &lost[..shown] {
        out.line(format_args!("  {} {DIM}{}{DIM:#} {}", one.conversation, one.question, one_line(&one.answer, 160)))?;
        for memory in &one.memories {
            out.detail(format_args!("      {memory}"));
        }
    }
    if lost.len() > shown {
        out.note(format_args!(
            "{} more answers are in the turns and not in the memories; -v tells all",
            lost.len() - shown
        ));
    }
    Ok(())
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn share(part: usize, whole: usize) -> Option<f64> {
    (whole > 0).then(|| part as f64 / whole as f64)
}
