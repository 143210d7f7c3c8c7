//! Public sets: `LoCoMo` beyond what is retained, `LongMemEval` and `HaluMem`.

use std::path::{Path, PathBuf};

use afterthought::eval::asking::Retriever;
use afterthought::eval::external::{Looked, Set};
use afterthought::eval::locomo::{context, observed};
use afterthought::eval::rows::Row;
use afterthought::eval::{external, halumem, longmemeval};
use anyhow::bail;
use futures::FutureExt as _;

use super::args::RetrieverArg;
use super::measured::{self, Told};
use super::retention;
use super::suite::Job;
use crate::cli::embed::embedder;
use crate::cli::printer::spelled;

/// Measures on a public set.
pub(super) async fn run(job: &Job<'_>, file: &Path, corrections: Option<&Path>) -> anyhow::Result<bool> {
    match Set::of(file) {
        Some(Set::LongMemEval) => longmemeval(job, file).await,
        Some(Set::HaluMem) => halumem(job, file).await,
        Some(Set::Locomo) => retention::run(job, file, corrections).await,
        None => bail!("{} is of no set that is known; see evals/README.md", file.display()),
    }
}

/// Measures on the set that `told` tells of, where it is there; one that is not is skipped.
pub(super) async fn look(job: &Job<'_>, told: &Path) -> anyhow::Result<bool> {
    match external::look(told, |name| std::env::var_os(name).map(PathBuf::from))? {
        Looked::Found(_, path, corrections) => run(job, &path, corrections.as_deref()).await,
        Looked::Absent(set) => {
            let (name, variable, home) = (&set.name, &set.variable, &set.home);
            job.context.out.note(format_args!("{name} is skipped: {variable} names no file; it is at {home}"));
            Ok(false)
        }
    }
}

/// Tells what retrieval brings for the questions of `LoCoMo` conversations, and how the memories stand to their facts.
pub(super) fn locomo(job: &Job<'_>, file: &Path, rows: Vec<Row>) -> anyhow::Result<bool> {
    let (questions, facts): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.kind == context::KIND);
    let columns = &["turns recall@10", "turns complete", "memories complete", "kept", "complete of kept"];
    let (label, measures) = (job.label.clone(), context::defined());
    let mut failed = measured::take(job, file, Told { label, measures, rows: questions, columns })?;
    let columns = &["recall", "precision", "F1", "evidence", "open dates"];
    let (label, measures) = (job.label.clone(), observed::defined());
    failed |= measured::take(job, file, Told { label, measures, rows: facts, columns })?;
    Ok(failed)
}

/// Asks the questions of a `LongMemEval` file of their haystacks.
pub(super) async fn longmemeval(job: &Job<'_>, file: &Path) -> anyhow::Result<bool> {
    let out = job.context.out;
    let items = longmemeval::read(file)?;
    let embedder = embedder(&job.context.settings()?)?;
    let retriever = retriever(job, embedder.as_ref());
    let (bar, mut rows) = (out.progress(), Vec::new());
    for (done, item) in items.iter().enumerate() {
        bar.set_message(format!("{done} of {} questions", items.len()));
        rows.push(longmemeval::row(item, &retriever).await?);
    }
    bar.finish_and_clear();
    let columns = &["session any@5", "session any@10", "session all@10", "turn recall@10", "complete"];
    let (label, measures) = (retriever.name(), longmemeval::defined());
    measured::take(job, file, Told { label, measures, rows, columns })
}

/// Runs the pipeline over the users of a `HaluMem` file, and asks a store that holds every point besides.
pub(super) async fn halumem(job: &Job<'_>, file: &Path) -> anyhow::Result<bool> {
    let out = job.context.out;
    let embedder = embedder(&job.context.settings()?)?;
    let retriever = retriever(job, embedder.as_ref());
    let (mut rows, mut found, mut failed) = (Vec::new(), Vec::new(), false);
    for user in halumem::read(file)? {
        found.extend(halumem::retrieval(&user, &retriever).await?);
        match halumem::run_user(&user, job.subject, job.options).boxed_local().await {
            Ok(ran) => rows.extend(halumem::rows(&user, &ran)?),
            Err(error) => {
                failed = true;
                out.error_text(&format!("{}: {}; it is left out", user.uuid, spelled(&error.into())));
            }
        }
    }
    let (users, questions): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|row| row.kind == halumem::KIND);
    let of = |kind: &str| halumem::defined().into_iter().filter(|one| one.kind == kind).collect::<Vec<_>>();
    let columns = &["recall", "precision", "interference", "updated", "stale"];
    let label = job.label.clone();
    failed |= measured::take(job, file, Told { label, measures: of(halumem::KIND), rows: users, columns })?;
    let label = job.label.clone();
    failed |=
        measured::take(job, file, Told { label, measures: of(halumem::QUESTIONS), rows: questions, columns: &[] })?;
    let (label, measures) = (retriever.name(), halumem::retrieval_defined());
    failed |= measured::take(job, file, Told { label, measures, rows: found, columns: &[] })?;
    Ok(failed)
}

/// Returns what answers queries in this run.
pub(super) const fn retriever<'a>(job: &Job<'_>, embedder: Option<&'a afterthought::embed::Embedder>) -> Retriever<'a> {
    match job.args.retriever {
        RetrieverArg::Search => Retriever::Search(embedder),
        RetrieverArg::Random => Retriever::Random,
        RetrieverArg::Everything => Retriever::Everything,
        RetrieverArg::Nothing => Retriever::Nothing,
    }
}
