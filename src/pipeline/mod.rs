//! The whole flow: read, extract, consolidate, write.
//!
//! A run has two halves. First every new window is extracted, with a bounded number of calls in flight; each result is
//! written to the ledger as soon as it is there. Then the results are consolidated in the order in which the
//! conversations were held, whatever the order in which their windows came back, one transaction a conversation. A
//! process that ends at any point loses nothing that is in the ledger: the next run over the same logs goes on from it
//! and comes to the same state.

mod conversations;
mod batch;
mod cut;
mod estimate;
mod extraction;
mod files;
mod full;
mod heartbeat;
mod held;
mod imported;
mod known;
mod ledgered;
pub mod naming;
mod pack;
mod place;
mod read;
mod restated;
mod run;
mod select;
mod settle;
mod setup;
mod sift;
mod stamp;
mod summary;
mod survey;
mod tally;

use crate::config::ExtractorChoice;
use crate::extract::rules;
use crate::extract::window::WindowBudget;
use crate::llm::LlmError;
use crate::memory::Namespace;
use crate::store::StoreError;
use transcripts::IngestError;

pub use batch::{BatchCounts, Batching};
pub use conversations::{Conversations, conversations};
pub use estimate::{ASSUMED_COMPLETION_TOKENS, Basis, Estimate, EstimatedWindows, Gauge, estimate};
pub use files::FileMark;
pub use full::{FullPass, FullSummary, NamespaceReport, full_pass};
pub use imported::{Arrival, Settled, settle_imported};
pub use ledgered::Ledgered;
pub use place::{Place, project_at};
pub use read::{FileReport, ReadEvent, Sources};
pub use run::{Planned, plan, run};
pub use select::{LeftOut, Selection, named_project};
pub use setup::Pipeline;
pub use stamp::{Stamp, path_key};
pub use summary::{Failure, Files, Filtered, Summary, Windows};
pub use survey::{Holding, Survey, SurveyedFolder, survey};

/// Most known memories that are shown to the model with a window.
pub const MAX_KNOWN: usize = 8;

/// What a run does, apart from where it reads and writes.
#[derive(Debug, Clone)]
pub struct Options {
    /// What to read.
    pub sources: Sources,
    /// Which of it is wanted.
    pub selection: Selection,
    /// Which logs are opened even if they were finished and have not changed.
    pub reread: Reread,
    /// Namespace for everything, instead of one by project.
    pub namespace: Option<Namespace>,
    /// Categories that are allowed.
    pub categories: Vec<String>,
    /// What the person asked to keep or never to keep.
    pub instructions: Option<String>,
    /// Size of the windows.
    pub window: WindowBudget,
    /// Calls in flight.
    pub jobs: usize,
}

/// Which logs are opened even if they were finished and have not changed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Reread {
    /// None.
    #[default]
    Nothing,
    /// Those with records that could not be used, so that each is named again.
    Flawed,
    /// All.
    All,
    /// All, and conversations in them that a person had erased are read again.
    Erased,
}

/// How windows are read.
#[derive(Debug)]
pub enum Extractor<'a, C> {
    /// By a model.
    Llm(&'a C),
    /// By the offline rules.
    Rules,
}

impl<C> Clone for Extractor<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Extractor<'_, C> {}

impl<C: crate::llm::Complete> Extractor<'_, C> {
    /// Returns the spelling in the ledger. A window that a model has read counts as read whatever the model or prompt,
    /// since reading it again would be paid again; the rules cost nothing, so each version of them reads anew.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Llm(_) => "llm",
            Self::Rules => rules::VERSION,
        }
    }

    /// Returns the name for people.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Llm(model) => model.model().to_owned(),
            Self::Rules => rules::VERSION.to_owned(),
        }
    }
}

/// Says what is going on, for whoever shows it.
#[derive(Debug)]
pub enum Event<'a> {
    /// A file was read to its end.
    File(&'a FileReport),
    /// A window was extracted; the counts so far.
    Window(&'a Summary),
    /// The candidates of one conversation were consolidated, and written unless this is a plan.
    Settled(&'a crate::consolidate::Plan),
    /// A batch of the provider was submitted or came back.
    Batch(&'a str),
    /// Something that a person should know, and that is no failure.
    Warning(&'a str),
    /// Something went wrong without ending the run.
    Failure(&'a Failure),
}

/// Why a run could not be done, or not to its end. What is in the ledger stays.
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
        /// Plans that were made in vain.
        attempts: usize,
    },
    /// The model's server cannot do what is needed for the run; nothing was begun.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// The model was asked for but none is configured.
    #[error("no model is configured; set OPENAI_API_KEY or OPENAI_BASE_URL, or use --extractor rules")]
    NoModel,
}

/// Returns whether the model reads, given what is asked for and whether one is configured.
///
/// # Errors
/// [`PipelineError::NoModel`] if the model is asked for and there is none.
pub fn choose(choice: ExtractorChoice, model_is_configured: bool) -> Result<bool, PipelineError> {
    match choice {
        ExtractorChoice::Auto => Ok(model_is_configured),
        ExtractorChoice::Rules => Ok(false),
        ExtractorChoice::Llm if model_is_configured => Ok(true),
        ExtractorChoice::Llm => Err(PipelineError::NoModel),
    }
}
