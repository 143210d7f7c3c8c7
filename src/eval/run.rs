//! Running the whole pipeline over the logs of a case, into a store of its own.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::EvalError;
use super::control::Control;
use super::inline;
use super::meter::{Meter, Usage};
use super::place::{Place, copy_log, prepare};
use super::prediction::Prediction;
use super::suite::Loaded;
use crate::extract::WindowBudget;
use crate::guard::Guard;
use crate::llm::{Budget, Complete};
use crate::memory::{Memory, Namespace, Status};
use crate::pipeline::{self, Extractor, Options, Pipeline, Reread, Selection, Sources, Summary, conversations};
use crate::store::{Filter, Order, Store};
use transcripts::Transcript;

/// When logs without a date of their own were last changed, where the case does not tell: 2026-01-01.
const CHANGED_AT: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// What is measured.
#[derive(Debug)]
pub enum Subject<'a, C> {
    /// The pipeline with a model.
    Llm(&'a C),
    /// The pipeline with the offline rules.
    Rules,
    /// An extractor that must fail.
    Control(Control),
}

impl<C> Clone for Subject<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Subject<'_, C> {}

/// What a run needs besides logs and extractor.
#[derive(Debug)]
pub struct RunOptions<'a> {
    /// What takes secrets out.
    pub guard: &'a Guard,
    /// What may be spent on all cases together.
    pub budget: &'a Budget,
    /// Namespace for everything, instead of one by project.
    pub namespace: Option<Namespace>,
    /// Categories that are allowed.
    pub categories: Vec<String>,
    /// What the person asked to keep or never to keep.
    pub instructions: Option<String>,
    /// Size of the windows.
    pub window: WindowBudget,
    /// Calls in flight in each case.
    pub calls_in_flight: usize,
    /// Whether every log is read a second time, into the same store, to see what that adds.
    pub again: bool,
    /// Folder in which the stores are kept; elsewhere they are gone with the run.
    pub keep: Option<PathBuf>,
    /// Starts nothing new once it is cancelled.
    pub cancel: CancellationToken,
}

/// What came of the logs of a case.
#[derive(Debug, Default)]
pub struct Ran {
    /// The active memories, in the order of learning.
    pub predictions: Vec<Prediction>,
    /// What memories say whose place others took.
    pub superseded: Vec<String>,
    /// The same memories, in the form in which they are scored.
    pub retired: Vec<Prediction>,
    /// What memories say that wait for a person.
    pub pending: Vec<String>,
    /// Active memories before the logs were read again, and what came of that, where they were.
    pub again: Option<(u64, u64)>,
    /// The conversations as the extractor saw them.
    pub transcripts: Vec<Transcript>,
    /// What the model was asked.
    pub usage: Usage,
    /// What went wrong without spoiling the result.
    pub notes: Vec<String>,
}

/// Runs `case` and returns what came of it.
///
/// # Errors
/// [`EvalError`] if it could not be run to its end: then nothing of it may be scored.
pub async fn run_case<C: Complete>(
    case: &Loaded,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Ran, EvalError> {
    let place = Place::new(options.keep.as_deref(), &case.label())?;
    let mut logs = Vec::new();
    if let Some(transcript) = &case.transcript {
        logs.push(inline::write_log(&place.folder().join("logs"), &case.id, transcript)?);
    }
    for log in case.case.logs.iter().filter(|_| case.transcript.is_none()) {
        let copy = place.folder().join("logs").join(log);
        copy_log(&case.folder.join(log), &copy, case.case.changed_at.unwrap_or(CHANGED_AT))?;
        logs.push(copy);
    }
    let format = case.transcript.as_ref().map(|_| inline::FORMAT.to_owned());
    let sources = Sources { paths: logs, format, ..Sources::default() };
    let ran = run_logs(&sources, &place.folder().join("memories.db"), subject, options).await?;
    if let Some(other) = ran.transcripts.iter().find(|transcript| transcript.source != case.case.format) {
        return Err(EvalError::Failed(format!(
            "the case says that its logs are {}, but they are read as {}; mend the logs or the case",
            case.case.format, other.source
        )));
    }
    Ok(ran)
}

/// Runs the logs of `sources` into a new store at `database`.
///
/// # Errors
/// As [`run_case`].
pub async fn run_logs<C: Complete>(
    sources: &Sources,
    database: &Path,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Ran, EvalError> {
    let read = conversations(sources, options.guard).await?;
    if let Some((path, error)) = read.failed.into_iter().next() {
        return Err(EvalError::Failed(format!("{}: {error}", path.display())));
    }
    if read.transcripts.is_empty() {
        return Err(EvalError::Failed(
            "there is no conversation in the logs; `afterthought run LOG -v` tells why".into(),
        ));
    }
    let mut ran = match subject {
        Subject::Control(control) => Ran { predictions: control.extract(&read.transcripts), ..Ran::default() },
        Subject::Rules => run_pipeline::<Meter<'_, C>>(sources, database, Extractor::Rules, options).await?,
        Subject::Llm(model) => {
            let meter = Meter::new(model);
            let ran = run_pipeline(sources, database, Extractor::Llm(&meter), options).await?;
            Ran { usage: meter.used(), ..ran }
        }
    };
    if options.again && !matches!(subject, Subject::Control(_)) {
        ran.again = Some(read_again(sources, database, subject, options, ran.predictions.len()).await?);
    }
    ran.transcripts = read.transcripts;
    Ok(ran)
}

/// Imports copies of the same logs, as somebody does who exports them once more, and returns how many memories were
/// recalled before and how many came.
async fn read_again<C: Complete>(
    sources: &Sources,
    database: &Path,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
    before: usize,
) -> Result<(u64, u64), EvalError> {
    let copies = tempfile::tempdir().map_err(|source| prepare(&std::env::temp_dir(), source))?;
    let mut paths = Vec::new();
    for path in &sources.paths {
        let copy = copies.path().join(path.file_name().unwrap_or_default());
        copy_log(path, &copy, CHANGED_AT)?;
        paths.push(copy);
    }
    let again = Sources { paths, ..sources.clone() };
    let ran = match subject {
        Subject::Control(_) => return Ok((0, 0)),
        Subject::Rules => run_pipeline::<C>(&again, database, Extractor::Rules, options).await?,
        Subject::Llm(model) => run_pipeline(&again, database, Extractor::Llm(model), options).await?,
    };
    Ok((before as u64, ran.predictions.len().saturating_sub(before) as u64))
}

async fn run_pipeline<C: Complete>(
    sources: &Sources,
    database: &Path,
    extractor: Extractor<'_, C>,
    options: &RunOptions<'_>,
) -> Result<Ran, EvalError> {
    let store = Store::open(database)?;
    let run_options = Options {
        sources: sources.clone(),
        selection: Selection::default(),
        reread: Reread::Nothing,
        namespace: options.namespace.clone(),
        categories: options.categories.clone(),
        instructions: options.instructions.clone(),
        window: options.window,
        jobs: options.calls_in_flight,
    };
    let pipeline = Pipeline::new(&store, options.guard, extractor, options.budget, run_options);
    let arguments = serde_json::json!({"eval": database.display().to_string()});
    let summary = pipeline::run(pipeline, &arguments, options.cancel.clone(), &mut |_| {}).await?;
    if let Some(why) = spoilt(&summary) {
        return Err(EvalError::Failed(why));
    }
    let mut ran = memories(&store)?;
    ran.notes.extend(summary.failures.iter().map(|failure| format!("{}: {}", failure.what, failure.why)));
    Ok(ran)
}

/// Returns why the memories of a run do not show what the extractor can do, if they do not.
fn spoilt(summary: &Summary) -> Option<String> {
    let first = || summary.failures.first().map(|failure| format!("{}: {}", failure.what, failure.why));
    if let Some(why) = &summary.halted {
        return Some(why.clone());
    }
    if summary.interrupted {
        return Some("interrupted".to_owned());
    }
    let failed = summary.windows.failed + summary.files.failed;
    (failed > 0).then(|| first().unwrap_or_else(|| "a part of the logs could not be read".to_owned()))
}

fn memories(store: &Store) -> Result<Ran, EvalError> {
    let mut ran = Ran::default();
    let all = Filter { statuses: Vec::new(), ..Filter::default() };
    for memory in store.list(&all, Order::Id, usize::MAX >> 1, 0)? {
        match memory.status {
            Status::Active => ran.predictions.push(Prediction::of(&memory, store.evidence(&memory.id)?)),
            Status::Superseded => {
                ran.retired.push(Prediction::of(&memory, store.evidence(&memory.id)?));
                ran.superseded.push(said(memory));
            }
            Status::Pending => ran.pending.push(said(memory)),
            Status::Forgotten | Status::Expired => {}
        }
    }
    Ok(ran)
}

fn said(memory: Memory) -> String {
    memory.claim.content
}
