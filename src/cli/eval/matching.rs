//! Ways of matching: what each is worth on triples, and how far it agrees with the patterns of cases.

use std::path::{Path, PathBuf};

use afterthought::eval::matchers::{self, Judge, TRUSTED, Vectors};
use afterthought::eval::rows::Row;
use afterthought::llm::Complete as _;

use super::measured::{self, Told};
use super::suite::Job;
use crate::cli::embed::embedder;

/// Tries every way of matching on the triples of `files`.
///
/// The judge's figures are shown only if it rejects what is wrong and what is vague.
pub(super) async fn run(job: &Job<'_>, files: &[PathBuf]) -> anyhow::Result<bool> {
    let mut triples = Vec::new();
    for file in files {
        triples.extend(matchers::read(file)?);
    }
    let embedder = embedder(&job.context.settings()?)?;
    let vectors = embedder.as_ref().map(Vectors::of).transpose()?.flatten();
    let judge = job.judge.map(Judge::new);
    let mut rows = matchers::rows(&triples, vectors.as_ref(), judge.as_ref()).await?;
    let is_trusted = judge.is_some() && matchers::trusted(&rows);
    if let (Some(judge), false) = (job.judge, is_trusted) {
        job.context.out.warn(format_args!(
            "{} accepts too much as a judge: it must reject {TRUSTED} of what is wrong and of what is vague; its figures are not shown",
            judge.model()
        ));
        rows.iter_mut().for_each(without_judge);
    }
    let measures = matchers::defined(vectors.is_some(), is_trusted);
    let place = files.first().map_or(Path::new("."), PathBuf::as_path);
    measured::take(job, place, Told { label: job.label.clone(), measures, rows, columns: &[] })
}

/// Tells how far the ways of matching agree with the patterns of the cases that were run.
pub(super) fn tell(job: &Job<'_>, place: &Path, rows: Vec<Row>, with_cosine: bool) -> anyhow::Result<bool> {
    let measures = matchers::agreement_defined(with_cosine, job.judge.is_some());
    measured::take(job, place, Told { label: job.label.clone(), measures, rows, columns: &[] })
}

fn without_judge(row: &mut Row) {
    row.measures.retain(|name, _| !name.starts_with("judge "));
    row.findings.retain(|found| found.what != "misjudged");
}
