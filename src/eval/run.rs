//! Running the whole pipeline over the logs of a case, into a store of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use super::EvalError;
use super::control::Control;
use super::meter::{Meter, Usage};
use super::prediction::Prediction;
use super::suite::Loaded;
use crate::extract::WindowBudget;
use crate::guard::Guard;
use crate::llm::{Budget, Complete};
use crate::memory::{Memory, Namespace, Status};
use crate::pipeline::{self, Extractor, Options, Pipeline, Reread, Selection, Sources, Summary, conversations};
use crate::store::{Filter, Order, Store};
use crate::transcript::Transcript;

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
    /// What memories say that wait for a person.
    pub pending: Vec<String>,
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
    for log in &case.case.logs {
        let copy = place.folder().join("logs").join(log);
        copy_log(&case.folder.join(log), &copy, case.case.changed_at.unwrap_or(CHANGED_AT))?;
        logs.push(copy);
    }
    let sources = Sources { paths: logs, ..Sources::default() };
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
    ran.transcripts = read.transcripts;
    Ok(ran)
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
            Status::Superseded => ran.superseded.push(said(memory)),
            Status::Pending => ran.pending.push(said(memory)),
            Status::Forgotten | Status::Expired => {}
        }
    }
    Ok(ran)
}

fn said(memory: Memory) -> String {
    memory.claim.content
}

/// The folder of one case: kept, or gone when it is dropped.
pub(super) enum Place {
    Kept(PathBuf),
    Passing(tempfile::TempDir),
}

impl Place {
    /// Makes a new folder for `label`, below `keep` if that is given.
    pub(super) fn new(keep: Option<&Path>, label: &str) -> Result<Self, EvalError> {
        let Some(keep) = keep else {
            let folder = tempfile::tempdir().map_err(|source| prepare(&std::env::temp_dir(), source))?;
            return Ok(Self::Passing(folder));
        };
        let folder = keep.join(label);
        if folder.exists() {
            return Err(EvalError::Failed(format!(
                "{} is there already, with the memories of an earlier run; name another folder with --keep",
                folder.display()
            )));
        }
        fs::create_dir_all(&folder).map_err(|source| prepare(&folder, source))?;
        Ok(Self::Kept(folder))
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Passing(folder) => folder.path(),
        }
    }
}

pub(super) fn prepare(path: &Path, source: std::io::Error) -> EvalError {
    EvalError::Prepare { path: path.to_owned(), source }
}

/// Copies a log, so that its name and the time of its last change are the same on every machine.
fn copy_log(from: &Path, to: &Path, changed_at: Timestamp) -> Result<(), EvalError> {
    for entry in walkdir::WalkDir::new(from).sort_by_file_name() {
        let entry = entry.map_err(|error| prepare(from, error.into()))?;
        let rest = entry.path().strip_prefix(from).unwrap_or(Path::new(""));
        let copy = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
        let made = if entry.file_type().is_dir() {
            fs::create_dir_all(&copy)
        } else {
            copy_file(entry.path(), &copy, changed_at)
        };
        made.map_err(|source| prepare(&copy, source))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, changed_at: Timestamp) -> std::io::Result<()> {
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder)?;
    }
    // Not a copy of the file with its rights: a suite may be read-only.
    fs::write(to, fs::read(from)?)?;
    fs::File::options().write(true).open(to)?.set_modified(SystemTime::from(changed_at))
}
