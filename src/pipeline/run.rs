//! One run from its first file to its summary.

use std::cell::RefCell;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::extraction::extract_all;
use super::settle::settle_ledger;
use super::{Event, Extractor, Ledgered, Options, PipelineError, ReadEvent, Summary, heartbeat, read};
use crate::guard::{Guard, Redacted};
use crate::llm::{Budget, Complete};
use crate::store::{RunId, RunStatus, Store};
use crate::transcript::Transcript;

/// Everything a run works with.
pub struct Pipeline<'a, C> {
    /// Where memories and the ledger are.
    pub store: &'a Store,
    /// What takes secrets out.
    pub guard: &'a Guard,
    /// How windows are read.
    pub extractor: Extractor<'a, C>,
    /// What may be spent.
    pub budget: &'a Budget,
    /// What to read, and how.
    pub options: Options,
    /// Who claims windows: the run's id.
    pub(super) owner: String,
    /// When the run began, or the interrupted run that it goes on with.
    pub(super) started_at: Timestamp,
}

/// The summary under way, and whoever watches it.
pub(super) struct Tally<'a> {
    pub(super) summary: Summary,
    pub(super) watch: &'a mut dyn FnMut(&Event<'_>),
}

impl Tally<'_> {
    pub(super) fn fail(&mut self, what: impl Into<String>, why: impl Into<String>) {
        self.summary.fail(what, why);
        if let Some(failure) = self.summary.failures.last() {
            (self.watch)(&Event::Failure(failure));
        }
    }

    /// Counts what the reader says; returns the transcript if it brings one.
    pub(super) fn read(&mut self, event: ReadEvent) -> Option<Redacted<Transcript>> {
        match event {
            ReadEvent::Transcript(transcript, cleaned) => {
                self.summary.transcripts += 1;
                self.summary.messages += transcript.messages.len() as u64;
                for (kind, count) in cleaned.counts() {
                    *self.summary.redacted.entry(kind.to_owned()).or_default() += count as u64;
                }
                return Some(*transcript);
            }
            ReadEvent::FileRead(report) => {
                let files = &mut self.summary.files;
                *if report.format.is_some() { &mut files.read } else { &mut files.passed_over } += 1;
                files.skipped_records += report.skipped.len() as u64;
                files.repaired_records += report.repaired as u64;
                (self.watch)(&Event::File(&report));
            }
            ReadEvent::FileFailed(path, error) => {
                self.summary.files.failed += 1;
                self.fail(path.display().to_string(), full_text(&error));
            }
        }
        None
    }
}

/// Returns an error with its causes on one line.
fn full_text(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

impl<'a, C: Complete> Pipeline<'a, C> {
    /// Returns a pipeline that is ready to run.
    #[must_use]
    pub fn new(
        store: &'a Store,
        guard: &'a Guard,
        extractor: Extractor<'a, C>,
        budget: &'a Budget,
        options: Options,
    ) -> Self {
        Self { store, guard, extractor, budget, options, owner: String::new(), started_at: Timestamp::now() }
    }

    fn model(&self) -> Option<Ledgered<'a, C>> {
        match self.extractor {
            Extractor::Llm(model) => Some(Ledgered::new(model, self.store, self.guard, self.budget)),
            Extractor::Rules => None,
        }
    }
}

/// Reads, extracts, consolidates and writes; goes on with an interrupted run of the same command and `arguments`.
///
/// What fails on the way is in the summary. Cancelling starts no new window, finishes those in flight, and writes what
/// is there.
///
/// # Errors
/// [`PipelineError`] if nothing can be read or the database cannot be written; the ledger keeps what was finished.
pub async fn run<C: Complete>(
    pipeline: Pipeline<'_, C>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    let model = pipeline.model();
    go(pipeline, model, arguments, cancel, watch).await
}

/// Does what [`run`] does to a copy of the memories, which is dropped: the changes are told as [`Event::Settled`].
///
/// Replies of a model are kept in the ledger, so that the run that follows does not pay for them again.
///
/// # Errors
/// As [`run`].
pub async fn plan<C: Complete>(
    pipeline: Pipeline<'_, C>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    let model = pipeline.model();
    let copy = pipeline.store.copy_in_memory()?;
    let summary = go(Pipeline { store: &copy, ..pipeline }, model, arguments, cancel, watch).await?;
    Ok(Summary { run: None, ..summary })
}

async fn go<C: Complete>(
    mut pipeline: Pipeline<'_, C>,
    model: Option<Ledgered<'_, C>>,
    arguments: &serde_json::Value,
    cancel: CancellationToken,
    watch: &mut dyn FnMut(&Event<'_>),
) -> Result<Summary, PipelineError> {
    let reader = read::start(&pipeline.options.sources, pipeline.guard.clone())?;
    let run = pipeline.store.begin_run("run", arguments, Timestamp::now())?;
    pipeline.owner = run.id.as_str().to_owned();
    pipeline.started_at = run.started_at;
    let tally = RefCell::new(Tally { summary: begin(&pipeline), watch });
    tally.borrow_mut().summary.run = Some(pipeline.owner.clone());
    let work = async {
        extract_all(&pipeline, model.as_ref(), reader, cancel, &tally).await?;
        settle_ledger(&pipeline, model.as_ref(), &run.id, &tally).await
    };
    let outcome = heartbeat::during(pipeline.store, &run.id, heartbeat::EVERY, work).await;
    let mut summary = tally.into_inner().summary;
    close(&pipeline, model.as_ref(), &mut summary);
    finish(&pipeline, &run.id, &outcome, &summary)?;
    outcome.map(|()| summary)
}

fn begin<C: Complete>(pipeline: &Pipeline<'_, C>) -> Summary {
    Summary { extractor: pipeline.extractor.label(), ..Summary::default() }
}

/// Adds what is known only at the end: the cost, and why the model was not asked to the end.
fn close<C: Complete>(pipeline: &Pipeline<'_, C>, model: Option<&Ledgered<'_, C>>, summary: &mut Summary) {
    summary.cost = pipeline.budget.spent_cost();
    if let Some(error) = model.and_then(Ledgered::halted) {
        summary.halted = Some(error.to_string());
    }
}

fn finish<C: Complete>(
    pipeline: &Pipeline<'_, C>,
    run: &RunId,
    outcome: &Result<(), PipelineError>,
    summary: &Summary,
) -> Result<(), PipelineError> {
    let status = if outcome.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    let value = serde_json::to_value(summary).expect("a summary holds nothing that JSON cannot");
    Ok(pipeline.store.finish_run(run, status, &value, Timestamp::now())?)
}
