//! The whole data flow of a run: read, extract, consolidate, and write.
//!
//! A run has two halves. First, every new window is extracted, with a bounded number of calls in flight; each result is
//! stored as soon as it is available. Then the results are consolidated in the order in which the conversations took
//! place, regardless of the order in which the replies arrived. Each conversation is one transaction. If the process
//! ends at any point, nothing that was stored is lost. The next run on the same logs continues from that point and ends
//! in the same state.

#[cfg(feature = "scale")]
mod assign;
mod batch;
mod consolidate;
mod estimate;
mod extract;
mod jobs;
mod model;
mod projects;
mod read;
mod reread;
mod run;
mod summary;
mod windows;

use std::collections::HashMap;
use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use jiff::Timestamp;
use sha2::{Digest as _, Sha256};
use transcripts::{INGESTORS, IngestError, hex};

use projects::ProjectResolver;

use crate::config::ExtractorChoice;
use crate::extract::offline;
use crate::extract::window::WindowBudget;
use crate::guard::Guard;
use crate::llm::{Budget, Complete, LlmError};
use crate::memory::{Memory, Namespace};
use crate::project::ShippedLogs;
use crate::store::{FileOutcome, FileRead, RunId, RunStatus, Store, StoreError};

#[cfg(feature = "scale")]
pub(crate) use assign::{AssignedLog, PlacementOptions, assign, assign_conversations};
pub(crate) use batch::Batching;
pub use consolidate::FullSummary;
pub(crate) use consolidate::{FullPass, ImportResult, ImportedMemory, consolidate_imported, full_pass};
pub(crate) use estimate::{Basis, Estimate, RequestCounter, SourceTotals, Survey, estimate, survey};
pub(crate) use jobs::{
    Fault, LINGER, Scan, WATCH_LEASE, WORKER_LEASE, WorkerEnd, WorkerOptions, WorkerReport, is_subagents, is_unread,
    lower_priority, request_for, scan, work_off,
};
pub(crate) use model::CachedModel;
pub(crate) use projects::{NamingError, ProjectAlias, ProjectMerge, give_folder, merge, name_project, project_at};
pub(crate) use read::{FileReport, LinkedFiles, OtherNames, ReadEvent, Stamp, conversations, named_project, path_key};
pub use read::{Selection, Sources};
pub(crate) use reread::conversation;
pub use run::run;
pub(crate) use run::{RunPlan, plan};
pub use summary::{Failure, Files, SelectionCounts, Summary};

/// Maximum number of known memories shown to the model with a window.
pub(crate) const MAX_KNOWN: usize = 8;

/// The options of a run, except for the logs and the store.
#[derive(Debug, Clone)]
pub struct Options {
    /// The logs to read.
    pub sources: Sources,
    /// The part of the logs that is selected.
    pub selection: Selection,
    /// Which finished and unchanged logs are opened again.
    pub reread: RereadPolicy,
    /// The namespace for all memories, instead of one namespace per project.
    pub namespace: Option<Namespace>,
    /// The namespace for memories about the user, instead of `global`.
    pub user: Option<Namespace>,
    /// Memories that the model is shown as known, in addition to the closest stored ones.
    pub known: Vec<Memory>,
    /// Categories that are allowed.
    pub categories: Vec<String>,
    /// The user's instructions on what to keep or discard.
    pub instructions: Option<InstructionText>,
    /// The size of the windows.
    pub window: WindowBudget,
    /// Maximum number of calls in flight.
    pub jobs: usize,
}

/// Instructions in prose on what to keep or discard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionText {
    /// The text.
    pub text: String,
    /// The project that the instructions apply to; `None` for all projects.
    pub project: Option<Namespace>,
}

/// Which finished and unchanged logs are opened again.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RereadPolicy {
    /// No logs.
    #[default]
    Nothing,
    /// Logs with unusable records, and files of unknown format, so that each is reported again.
    Flawed,
    /// All logs.
    All,
    /// All logs, including conversations that a person erased.
    Erased,
}

/// The extractor that reads windows.
#[derive(Debug)]
pub enum Extractor<'a, C> {
    /// A model reads the windows.
    Llm(&'a C),
    /// The offline rules read the windows.
    Rules,
}

impl<C> Clone for Extractor<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Extractor<'_, C> {}

impl<C: Complete> Extractor<'_, C> {
    /// Returns the name used in the ledger. A window that a model has read counts as read for every model and prompt,
    /// because reading it again would cost money. The rules cost nothing, so each new version of the rules reads the
    /// window again.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Llm(_) => "llm",
            Self::Rules => offline::VERSION,
        }
    }

    /// Returns the display name.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Llm(model) => model.model().to_owned(),
            Self::Rules => offline::VERSION.to_owned(),
        }
    }
}

/// Progress of a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// A file was read to its end.
    File(&'a FileReport),
    /// A window was extracted; the event contains the current counts.
    Window(&'a Summary),
    /// A detail, such as a file that was left out, or a window from which nothing was learnt.
    Detail(&'a str),
    /// The candidates of one conversation were consolidated, and written unless this is a plan.
    Consolidated(&'a crate::consolidate::Plan),
    /// A batch was submitted to the provider, or its results were collected.
    Batch(&'a str),
    /// A message that the user should see but that is not a failure.
    Warning(&'a str),
    /// A failure that did not end the run.
    Failure(&'a Failure),
}

/// Reasons why a run could not be started or completed. The contents of the ledger are kept.
#[derive(Debug, thiserror::Error)]
pub enum PipelineError {
    /// Nothing could be read.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Other processes kept changing the same memories.
    #[error("other processes kept changing the same memories, {attempts} times in a row; run the same command again")]
    Contended {
        /// Number of plans that became stale.
        attempts: usize,
    },
    /// The model's server does not support a feature that the run needs; nothing was started.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// A model was requested, but none is configured.
    #[error(
        "no model is configured; set OPENAI_API_KEY, another provider's key or OPENAI_BASE_URL, or use --extractor rules"
    )]
    NoModel,
}

/// Returns whether the model is used, given the user's choice and whether a model is configured.
///
/// # Errors
/// [`PipelineError::NoModel`] if the model is requested but none is configured.
pub(crate) fn choose(choice: ExtractorChoice, model_is_configured: bool) -> Result<bool, PipelineError> {
    match choice {
        ExtractorChoice::Auto => Ok(model_is_configured),
        ExtractorChoice::Rules => Ok(false),
        ExtractorChoice::Llm if model_is_configured => Ok(true),
        ExtractorChoice::Llm => Err(PipelineError::NoModel),
    }
}

/// The parts of a run: store, guard, extractor, budget and options.
pub struct Pipeline<'a, C> {
    /// The store with the memories and the ledger.
    pub store: &'a Store,
    /// The guard that redacts secrets.
    pub guard: &'a Guard,
    /// The extractor that reads windows.
    pub extractor: Extractor<'a, C>,
    /// The cost limit.
    pub budget: &'a Budget,
    /// The options of the run.
    pub options: Options,
    /// The options for sending requests about windows in batches; `None` to send the requests directly.
    batching: Option<Batching<'a>>,
    /// The owner of claimed windows: the ID of the run.
    owner: String,
    /// Start time of this run; for a resumed run, the time of its first start.
    started_at: Timestamp,
    /// Resolves the project of a conversation.
    projects: ProjectResolver,
    /// A hash of everything that determines the results from a log, apart from the log and the extractor.
    signature: String,
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
        let signature = signature(&options, guard);
        let (owner, started_at, projects) = (String::new(), Timestamp::now(), ProjectResolver::on_this_machine());
        Self { store, guard, extractor, budget, options, batching: None, owner, started_at, projects, signature }
    }

    /// Sends requests about windows in batches, if a model is used. The run checks at its start whether the server
    /// supports batches.
    pub(crate) fn in_batches(self, batching: Batching<'a>) -> Self {
        Self { batching: Some(batching), ..self }
    }

    /// Returns whether requests about windows are sent in batches.
    const fn asks_in_batches(&self) -> bool {
        self.batching.is_some() && matches!(self.extractor, Extractor::Llm(_))
    }

    /// Looks up the projects, and starts reading the selected logs.
    fn start_reading(&mut self) -> Result<tokio::sync::mpsc::Receiver<read::ReadEvent>, PipelineError> {
        self.look_up_projects()?;
        let Options { sources, selection, namespace, .. } = &self.options;
        // If the user specifies where all memories belong, the user vouches for the logs.
        let shipped = (!sources.are_own && namespace.is_none()).then(ShippedLogs::on_this_machine);
        Ok(read::start(sources, selection, self.finished()?, self.guard.clone(), shipped)?)
    }

    /// Returns the logs that need not be opened, because they were finished with the same extractor and the same
    /// signature.
    fn finished(&self) -> Result<HashMap<String, FileRead>, StoreError> {
        let all = || self.store.files_read(self.extractor.kind(), &self.signature);
        match self.options.reread {
            RereadPolicy::Nothing => all(),
            RereadPolicy::Flawed => {
                let mut finished = all()?;
                finished.retain(|_, file| file.skipped_records == 0 && file.outcome != FileOutcome::PassedOver);
                Ok(finished)
            }
            // Finished windows are still recorded, so opening the logs again takes time but requires no calls.
            RereadPolicy::All | RereadPolicy::Erased => Ok(HashMap::new()),
        }
    }

    /// Looks up requested projects by names that only the store contains: a name that a person assigned, the name of a
    /// project that was merged into another, or the address of a repository.
    fn look_up_projects(&mut self) -> Result<(), StoreError> {
        let mut found = Vec::new();
        for name in self.options.selection.names() {
            match self.store.project(name) {
                Ok(project) => found.push(self.store.merged_into(&project.namespace)?),
                // The name may be that of a new folder, or of several folders.
                Err(StoreError::UnknownProject { .. } | StoreError::AmbiguousProject { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.options.selection.namespaces.extend(found);
        Ok(())
    }

    /// Records that a log is finished.
    fn note(&self, file: Option<FileRead>) {
        let noted = file.map_or(Ok(()), |file| {
            self.store.file_read(self.extractor.kind(), &self.signature, &file, Timestamp::now())
        });
        // The run is complete without this record, so this is not a failure.
        if let Err(error) = noted {
            tracing::warn!("could not record that a log is finished, so the next run opens it again: {error}");
        }
    }

    /// Returns the model with the ledger as a cache, if a model is used.
    fn model(&self) -> Option<CachedModel<'a, C>> {
        match self.extractor {
            Extractor::Llm(model) => {
                let direct = CachedModel::new(model, self.store, self.guard, self.budget);
                Some(match self.batching {
                    Some(batching) => direct.in_batches(model, self.budget, batching),
                    None => direct,
                })
            }
            Extractor::Rules => None,
        }
    }
}

/// Returns a hash of everything that determines the results from a log, apart from the log and the extractor: the code
/// that reads the log, the guard, the size of windows, and the options.
fn signature(options: &Options, guard: &Guard) -> String {
    let mut hasher = Sha256::new();
    let formats: Vec<_> = INGESTORS.iter().map(|ingestor| (ingestor.name(), ingestor.rule())).collect();
    let namespace = options.namespace.as_ref().map(ToString::to_string);
    // If any of these changes, every log is opened again; finished windows are still recorded and cost nothing.
    let code = (env!("CARGO_PKG_VERSION"), env!("AFTERTHOUGHT_READING_CODE"), formats);
    hasher.update(format!("{code:?} {guard:?} {:?} {:?} {namespace:?}", options.window, options.sources.format));
    hex(&hasher.finalize()[..16])
}

/// Interval between heartbeats; a run counts as dead after a minute without a heartbeat.
const HEARTBEAT: Duration = Duration::from_secs(15);

/// Records the outcome of a run, with its summary.
fn end_run(store: &Store, run: &RunId, is_ok: bool, summary: &impl serde::Serialize) -> Result<(), StoreError> {
    let status = if is_ok { RunStatus::Finished } else { RunStatus::Failed };
    let summary = serde_json::to_value(summary).expect("a summary contains only values that JSON can represent");
    store.finish_run(run, status, &summary, Timestamp::now())
}

/// Returns the result of `work`; meanwhile, renews the heartbeat of `run` at the interval `every`.
async fn keep_alive<T>(store: &Store, run: &RunId, every: Duration, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    loop {
        match future::select(work.as_mut(), pin!(tokio::time::sleep(every))).await {
            Either::Left((done, _)) => return done,
            Either::Right(((), _)) => {
                // One missed heartbeat does not justify abandoning paid work, and the next heartbeat may succeed.
                if let Err(error) = store.heartbeat(run, Timestamp::now()) {
                    tracing::warn!("could not record that the run is still in progress: {error}");
                }
            }
        }
    }
}

#[cfg(test)]
mod heartbeat_tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn a_run_that_waits_for_a_call_stays_alive() {
        let store = Store::in_memory().unwrap();
        let long_ago = Timestamp::now() - jiff::SignedDuration::from_mins(2);
        let run = store.begin_run("run", &json!([]), long_ago).unwrap();
        assert!(!store.run("last").unwrap().is_alive(Timestamp::now()));
        let call = async {
            while !store.run("last").unwrap().is_alive(Timestamp::now()) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let waited = keep_alive(&store, &run.id, Duration::from_millis(5), call);
        tokio::time::timeout(Duration::from_mins(1), waited).await.expect("no heartbeat while the call was waited for");
    }
}
