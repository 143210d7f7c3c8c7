//! Cases that ask a store: queries, briefs and questions.

use std::path::PathBuf;

use afterthought::eval::asking::{self, Kind};
use afterthought::eval::rows::Row;

use super::measured::{self, Told};
use super::suite::Job;
use crate::cli::embed::embedder;
use crate::cli::printer::spelled;

/// Asks everything in `files` and tells what came; returns whether a case could not be run.
pub(super) async fn run(job: &Job<'_>, files: &[PathBuf]) -> anyhow::Result<bool> {
    let cases = asking::read(files);
    let embedder = embedder(&job.context.settings()?)?;
    let retriever = super::imported::retriever(job, embedder.as_ref());
    Kind::ALL.iter().for_each(|kind| job.gather.define(asking::measures(*kind)));
    let mut rows = Vec::new();
    for placed in &cases.lines {
        for mut row in asking::run(placed, &retriever, job.subject, job.options).await? {
            row.cost.money = job.price.map(|price| price.cost(row.cost.prompt_tokens, row.cost.completion_tokens));
            job.gather.row(row.clone(), &placed.file, job.repeat);
            rows.push(row);
        }
    }
    let mut failed = !cases.unreadable.is_empty();
    for kind in Kind::ALL {
        let label = match kind {
            Kind::Recall | Kind::Brief => retriever.name(),
            Kind::Qa => format!("{} over {}", retriever.name(), job.label),
        };
        let rows: Vec<Row> = rows.iter().filter(|row| row.kind == kind.name()).cloned().collect();
        let columns: &[&str] = match kind {
            Kind::Recall => &["recall@1", "recall@10", "MRR", "forbidden@10", "empty kept"],
            Kind::Brief => &["held", "all held", "leaks", "empty kept", "tokens"],
            Kind::Qa => &["complete", "kept", "found of kept", "misled", "abstained"],
        };
        failed |= measured::tell(job, Told { label, measures: asking::measures(*kind), rows, columns })?;
    }
    for error in cases.unreadable {
        job.context.out.error_text(&spelled(&error.into()));
    }
    Ok(failed)
}
