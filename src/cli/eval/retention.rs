//! Answer retention on a `LoCoMo` file.

use std::path::Path;
use std::time::Instant;

use afterthought::eval::Unit;
use afterthought::eval::locomo::{self, Corrections, Kept, Mended, Retention, Sample};
use afterthought::eval::rows::{Row, Spent, content};
use futures::{FutureExt as _, StreamExt as _, stream};
use serde::{Deserialize, Serialize};

use super::imported;
use super::suite::Job;
use super::tell::number;
use crate::cli::printer::{BOLD, DIM, Printer, counted, one_line, spelled};

/// Questions that are told of unless all are asked for.
const QUESTIONS: usize = 10;

/// Runs the conversations of `file` and tells what is left of their answers; returns whether one failed.
pub(super) async fn run(job: &Job<'_>, file: &Path, corrections: Option<&Path>) -> anyhow::Result<bool> {
    let out = job.context.out;
    let bar = out.progress();
    bar.set_message(format!("{}", file.display()));
    let mut samples = locomo::read(file)?;
    let mut file_content = content(file)?;
    if let Some(path) = corrections {
        correct(&mut samples, path, out)?;
        file_content.push_str(&content(path)?);
    }
    let ran: Vec<(String, anyhow::Result<Finished>)> = stream::iter(samples)
        .map(|sample| async {
            let key = job.gather.key(locomo::KIND, &format!("{file_content} {}", sample.id), job.repeat);
            let id = sample.id.clone();
            let finished = match job.gather.kept(&key) {
                Some(kept) => Ok(kept),
                None => one(job, sample).boxed_local().await.and_then(|finished| {
                    job.gather.keep(&key, &finished)?;
                    Ok(finished)
                }),
            };
            (id, finished)
        })
        .buffered(job.args.jobs)
        .collect()
        .await;
    bar.finish_and_clear();
    job.gather.define(locomo::defined());
    let mut failed = false;
    let (mut good, mut rows) = (Vec::new(), Vec::new());
    for (id, finished) in ran {
        match finished {
            Ok(Finished { retention, notes, cost, asked }) => {
                rows.extend(asked);
                notes.iter().for_each(|note| out.warn(format_args!("{id}: {note}")));
                job.gather.row(Row { cost, ..retention.row(&id) }, file, job.repeat);
                good.push(retention);
            }
            Err(error) => {
                failed = true;
                let told = spelled(&error);
                out.error_text(&format!("{id}: {told}; it is left out"));
                let kind = locomo::KIND.to_owned();
                job.gather.row(Row { kind, case: id, error: Some(told), ..Row::default() }, file, job.repeat);
            }
        }
    }
    if !good.is_empty() && job.is_told() {
        tell(job, &Retention::sum(&good), out)?;
    }
    Ok(failed | imported::locomo(job, file, rows)?)
}

/// Corrects the labels of `samples` by what was published of them.
fn correct(samples: &mut [Sample], path: &Path, out: &Printer) -> anyhow::Result<()> {
    let found = Corrections::read(path)?;
    let mended: Vec<Mended> = samples.iter_mut().map(|sample| found.apply(sample)).collect();
    let sum = |of: fn(&Mended) -> usize| mended.iter().map(of).sum::<usize>() as u64;
    let (evidence, answers) = (sum(|one| one.evidence), sum(|one| one.answers));
    let (citations, questions) = (counted(evidence, "citation"), counted(answers, "question"));
    out.note(format_args!("{citations} corrected; {questions} asked of retrieval alone, since the answer is wrong"));
    Ok(())
}

/// What a conversation came to, as it is kept.
#[derive(Serialize, Deserialize)]
struct Finished {
    retention: Retention,
    notes: Vec<String>,
    cost: Spent,
    /// What its questions and its facts come to.
    asked: Vec<Row>,
}

async fn one(job: &Job<'_>, sample: Sample) -> anyhow::Result<Finished> {
    let begun = Instant::now();
    let mut ran = locomo::run_sample(&sample, job.subject, job.options).await?;
    let notes = std::mem::take(&mut ran.notes);
    let mut asked = locomo::context::rows(&sample, &ran)?;
    asked.push(locomo::observed::row(&sample, &ran));
    let retention = locomo::measure(&[(sample, ran)]);
    let ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    let cost = Spent { money: job.cost(retention.usage), ms, ..Spent::of(retention.usage) };
    Ok(Finished { retention, notes, cost, asked })
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
