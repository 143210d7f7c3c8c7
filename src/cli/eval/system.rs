//! Runs the pipeline on the logs of a case, with a separate store.

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::SystemTime;

use crate::config::Config;
use crate::extract::WindowBudget;
use crate::guard::Guard;
use crate::llm::{Budget, Complete, LlmError, Reply, Request};
use crate::memory::{Evidence, Memory, Namespace, Status, Structured};
use crate::pipeline::{
    self, Extractor, InstructionText, Options, Pipeline, RereadPolicy, Selection, Sources, Summary, conversations,
};
use crate::store::{Filter, Order, Store};
use afterthought_eval::extraction::{
    CaseMessage, Citation, Control, Conversation, Extraction, INLINE_FORMAT, LoadedCase, Message, Prediction,
    inline_log,
};
use afterthought_eval::results::Cost;
use afterthought_eval::vocabulary::Role;
use anyhow::{Context as _, anyhow, bail, ensure};
use jiff::Timestamp;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use transcripts::{Kind, Transcript};

/// Modification time of logs without a date, unless the case specifies one: 2026-01-01.
pub(super) const CHANGED_AT: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// The system that is measured.
pub(super) enum Subject<'a, C> {
    /// The pipeline with a model.
    Llm(&'a C),
    /// The pipeline with the offline rules.
    Rules,
    /// A control extractor, which is expected to fail.
    Control(Control),
}

impl<C> Clone for Subject<'_, C> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<C> Copy for Subject<'_, C> {}

/// Settings of all runs.
pub(super) struct RunOptions<'a> {
    pub(super) guard: &'a Guard,
    /// Limit on the total cost of all cases.
    pub(super) budget: &'a Budget,
    /// Namespace for everything, instead of one for each project.
    pub(super) namespace: Option<Namespace>,
    pub(super) categories: Vec<String>,
    pub(super) instructions: Option<String>,
    pub(super) window: WindowBudget,
    pub(super) calls_in_flight: usize,
    /// Whether every log is read a second time into the same store.
    pub(super) again: bool,
    /// Folder in which the stores are kept; otherwise they are deleted after the run.
    pub(super) keep: Option<PathBuf>,
    pub(super) cancel: CancellationToken,
}

impl<'a> RunOptions<'a> {
    /// Returns the options that follow from the settings, with a namespace for each project.
    pub(super) fn of(config: &Config, guard: &'a Guard, budget: &'a Budget, cancel: CancellationToken) -> Self {
        Self {
            guard,
            budget,
            namespace: None,
            categories: config.categories.value.clone(),
            instructions: config.instructions.value.clone(),
            window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
            calls_in_flight: config.jobs.value,
            again: false,
            keep: None,
            cancel,
        }
    }
}

/// Folder of one case.
pub(super) enum CaseFolder {
    Kept(PathBuf),
    Temporary(tempfile::TempDir),
}

impl CaseFolder {
    /// Creates a new folder for `label`, below `keep` if that is given.
    pub(super) fn new(keep: Option<&Path>, label: &str) -> anyhow::Result<Self> {
        let Some(keep) = keep else {
            return Ok(Self::Temporary(tempfile::tempdir().context("cannot create a temporary folder for the case")?));
        };
        // Other processes of the run have different working directories.
        let folder = std::path::absolute(keep.join(label)).context("cannot find the working directory")?;
        ensure!(
            !folder.exists(),
            "{} already exists and contains memories of an earlier run; choose another folder with --keep",
            folder.display()
        );
        create_folder(&folder)?;
        Ok(Self::Kept(folder))
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Self::Kept(folder) => folder,
            Self::Temporary(folder) => folder.path(),
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path().join("memories.db")
    }

    /// Writes `messages` as a log and returns its path.
    pub(super) fn write_log(&self, id: &str, messages: &[CaseMessage]) -> anyhow::Result<PathBuf> {
        let log = self.path().join("logs").join(format!("{}.json", id.replace(['/', '\\'], "-")));
        create_folder(&self.path().join("logs"))?;
        fs::write(&log, inline_log(id, messages)).with_context(|| format!("cannot write {}", log.display()))?;
        Ok(log)
    }
}

fn create_folder(folder: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}; check its permissions", folder.display()))
}

/// Copies a log, so that its name and modification time are the same on every machine.
fn copy_log(from: &Path, to: &Path, changed_at: Timestamp) -> anyhow::Result<()> {
    for entry in walkdir::WalkDir::new(from).sort_by_file_name() {
        let entry = entry?;
        let rest = entry.path().strip_prefix(from).unwrap_or(Path::new(""));
        let copy = if rest.as_os_str().is_empty() { to.to_owned() } else { to.join(rest) };
        if entry.file_type().is_dir() {
            create_folder(&copy)?;
            continue;
        }
        create_folder(copy.parent().unwrap_or(to))?;
        // The file is not copied with its permissions: a suite may be read-only.
        let written = fs::read(entry.path())
            .and_then(|text| fs::write(&copy, text))
            .and_then(|()| fs::File::options().write(true).open(&copy)?.set_modified(SystemTime::from(changed_at)));
        written.with_context(|| format!("cannot copy {} to {}", entry.path().display(), copy.display()))?;
    }
    Ok(())
}

/// Returns sources for logs in the format of cases.
pub(super) fn inline_sources(paths: Vec<PathBuf>) -> Sources {
    Sources { paths, format: Some(INLINE_FORMAT.to_owned()), ..Sources::default() }
}

/// Runs `case`. An error means that no part of it may be scored.
pub(super) async fn run_case<C: Complete>(
    case: &LoadedCase,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> anyhow::Result<Extraction> {
    let folder = CaseFolder::new(options.keep.as_deref(), &case.label())?;
    // Every log is read from a copy, so that its path and time do not depend on the machine.
    let sources = if let Some(messages) = &case.conversation {
        inline_sources(vec![folder.write_log(&case.id, messages)?])
    } else {
        let mut paths = Vec::new();
        for log in &case.case.logs {
            let copy = folder.path().join("logs").join(log);
            copy_log(&case.folder.join(log), &copy, case.case.changed_at.unwrap_or(CHANGED_AT))?;
            paths.push(copy);
        }
        Sources { paths, ..Sources::default() }
    };
    let extraction = run_logs(&sources, &folder.database(), subject, options).await?;
    if let Some(other) = extraction.conversations.iter().find(|one| one.format != case.case.format) {
        bail!(
            "the case declares the format of its logs as {}, but it was recognised as {}; correct the logs or the case",
            case.case.format,
            other.format
        );
    }
    Ok(extraction)
}

/// Runs the logs of `sources` into a new store at `database`.
pub(super) async fn run_logs<C: Complete>(
    sources: &Sources,
    database: &Path,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> anyhow::Result<Extraction> {
    let read = conversations(sources, options.guard).await?;
    // A log that is skipped silently would look like missed memories.
    if let Some((path, error)) = read.failed.into_iter().next() {
        bail!("{}: {error}", path.display());
    }
    ensure!(!read.transcripts.is_empty(), "there is no conversation in the logs; `afterthought run LOG -v` shows why");
    let conversations: Vec<Conversation> = read.transcripts.iter().map(conversation).collect();
    let mut extraction = match subject {
        Subject::Control(control) => {
            Extraction { predictions: control.extract(&conversations), ..Extraction::default() }
        }
        Subject::Rules => run_pipeline::<Meter<'_, C>>(sources, database, Extractor::Rules, options).await?,
        Subject::Llm(model) => {
            let meter = Meter::new(model);
            let extraction = run_pipeline(sources, database, Extractor::Llm(&meter), options).await?;
            Extraction { usage: meter.used(), ..extraction }
        }
    };
    // Controls do not keep a store, so a second reading could not find anything in it.
    if options.again && !matches!(subject, Subject::Control(_)) {
        let before = extraction.predictions.len() as u64;
        let after = reread(sources, database, subject, options).await?;
        extraction.reread = Some((before, after.saturating_sub(before)));
    }
    extraction.conversations = conversations;
    Ok(extraction)
}

/// Imports copies of the same logs, as if they had been exported again, and returns the number of active memories.
async fn reread<C: Complete>(
    sources: &Sources,
    database: &Path,
    subject: Subject<'_, C>,
    options: &RunOptions<'_>,
) -> anyhow::Result<u64> {
    let copies = tempfile::tempdir()?;
    let mut paths = Vec::new();
    for path in &sources.paths {
        let copy = copies.path().join(path.file_name().unwrap_or_default());
        // The copy has a different path, as a new export would have, so that the log is read again instead of being
        // skipped.
        copy_log(path, &copy, CHANGED_AT)?;
        paths.push(copy);
    }
    let again = Sources { paths, ..sources.clone() };
    let extractor = match subject {
        Subject::Llm(model) => Extractor::Llm(model),
        Subject::Rules | Subject::Control(_) => Extractor::Rules,
    };
    Ok(run_pipeline(&again, database, extractor, options).await?.predictions.len() as u64)
}

async fn run_pipeline<C: Complete>(
    sources: &Sources,
    database: &Path,
    extractor: Extractor<'_, C>,
    options: &RunOptions<'_>,
) -> anyhow::Result<Extraction> {
    let store = Store::open(database)?;
    let run_options = Options {
        sources: Sources { are_own: true, ..sources.clone() },
        selection: Selection::default(),
        reread: RereadPolicy::Nothing,
        namespace: options.namespace.clone(),
        user: None,
        known: Vec::new(),
        categories: options.categories.clone(),
        instructions: options.instructions.clone().map(|text| InstructionText { text, project: None }),
        window: options.window,
        jobs: options.calls_in_flight,
    };
    let pipeline = Pipeline::new(&store, options.guard, extractor, options.budget, run_options);
    let arguments = serde_json::json!({"eval": database.display().to_string()});
    let summary = pipeline::run(pipeline, &arguments, options.cancel.clone(), &mut |_| {}).await?;
    if let Some(why) = incomplete(&summary) {
        return Err(anyhow!(why));
    }
    let mut extraction = memories(&store)?;
    extraction.notes.extend(summary.failures.iter().map(|failure| format!("{}: {}", failure.what, failure.why)));
    Ok(extraction)
}

/// Returns why a run is incomplete, so that its memories do not reflect the quality of the extractor; `None` if it is
/// complete.
fn incomplete(summary: &Summary) -> Option<String> {
    let first = || summary.failures.first().map(|failure| format!("{}: {}", failure.what, failure.why));
    if let Some(why) = &summary.halted {
        return Some(why.clone());
    }
    if summary.interrupted {
        return Some("interrupted".to_owned());
    }
    // Partly read logs would look like low recall of the extractor.
    let failed = summary.windows.failed + summary.files.failed;
    (failed > 0).then(|| first().unwrap_or_else(|| "a part of the logs could not be read".to_owned()))
}

fn memories(store: &Store) -> anyhow::Result<Extraction> {
    let mut extraction = Extraction::default();
    let all = Filter { statuses: Vec::new(), ..Filter::default() };
    for memory in store.list(&all, Order::Id, usize::MAX >> 1, 0)? {
        match memory.status {
            Status::Active => extraction.predictions.push(prediction(&memory, store.evidence(&memory.id)?)?),
            Status::Superseded => extraction.superseded.push(prediction(&memory, store.evidence(&memory.id)?)?),
            Status::Pending => extraction.pending.push(prediction(&memory, store.evidence(&memory.id)?)?),
            Status::Forgotten | Status::Expired => {}
        }
    }
    Ok(extraction)
}

/// Returns the texts of a memory in which patterns are searched, each with the name of its field.
pub(super) fn texts_of(memory: &Memory) -> Vec<(&'static str, &str)> {
    let claim = &memory.claim;
    let mut texts: Vec<(&str, &str)> = vec![("title", &claim.title), ("content", &claim.content)];
    texts.extend(claim.value.as_deref().map(|value| ("value", value)));
    match &claim.structured {
        Some(Structured::Episode(episode)) => {
            texts.extend([("situation", episode.situation.as_str()), ("action", &episode.action)]);
            texts.extend(episode.reasoning.as_deref().map(|reasoning| ("reasoning", reasoning)));
            texts.extend(episode.learnings.iter().map(|learning| ("learnings", learning.as_str())));
        }
        Some(Structured::Procedure(procedure)) => {
            texts.extend([("name", procedure.name.as_str()), ("description", &procedure.description)]);
            texts.extend(procedure.steps.iter().map(|step| ("steps", step.as_str())));
            texts.extend(procedure.triggers.iter().map(|trigger| ("triggers", trigger.as_str())));
        }
        // These parts only repeat the content and the value.
        Some(Structured::Pattern { .. } | Structured::Blocker { .. } | Structured::Profile { .. }) | None => {}
    }
    texts
}

fn prediction(memory: &Memory, evidence: Vec<Evidence>) -> anyhow::Result<Prediction> {
    let claim = &memory.claim;
    let citations = evidence.into_iter().map(|piece| Citation {
        conversation: piece.transcript,
        messages: piece.messages,
        quote: piece.quote,
        speaker: piece.speaker,
    });
    let memory_type = claim.memory_type.as_str().parse().map_err(|error: String| anyhow!(error))?;
    let mut prediction = Prediction::new(memory_type, &claim.content, citations.collect()).with_texts(texts_of(memory));
    prediction.importance = Some(claim.importance);
    prediction.valid = [claim.valid_from, claim.valid_to, claim.expires_at].into_iter().flatten().collect();
    Ok(prediction)
}

fn conversation(transcript: &Transcript) -> Conversation {
    let message = |message: &transcripts::Message| Message {
        id: message.id.clone(),
        role: match message.role {
            transcripts::Role::User => Role::User,
            transcripts::Role::Assistant => Role::Assistant,
            transcripts::Role::System => Role::System,
            transcripts::Role::Tool => Role::Tool,
            transcripts::Role::Other => Role::Other,
        },
        speaker: message.speaker.clone(),
        text: message.text.clone(),
        is_prose: message.kind == Kind::Prose,
    };
    Conversation {
        key: transcript.key(),
        format: transcript.source.clone(),
        messages: transcript.messages.iter().map(message).collect(),
    }
}

/// Forwards requests and counts them.
pub(super) struct Meter<'a, C> {
    inner: &'a C,
    used: Cell<Cost>,
}

impl<'a, C> Meter<'a, C> {
    pub(super) fn new(inner: &'a C) -> Self {
        Self { inner, used: Cell::default() }
    }

    pub(super) const fn used(&self) -> Cost {
        self.used.get()
    }
}

impl<C: Complete> Complete for Meter<'_, C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, crate::llm::Cost), LlmError> {
        let answer = self.inner.complete(request).await;
        let mut used = self.used.get();
        match &answer {
            Ok((reply, _)) => {
                // Calls are counted here rather than by the ledger, so that recorded replies count with their original
                // cost.
                used.calls += 1;
                used.prompt_tokens += request.prompt_tokens();
                used.completion_tokens += reply.completion_tokens;
            }
            Err(_) => used.failed_calls += 1,
        }
        self.used.set(used);
        answer
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}

/// Forwards a limited number of requests at a time, and keeps the first refusal.
pub(super) struct InFlight<C> {
    inner: C,
    permits: Semaphore,
    refused: Mutex<Option<String>>,
}

impl<C: Complete> InFlight<C> {
    pub(super) fn new(inner: C, limit: usize) -> Self {
        Self { inner, permits: Semaphore::new(limit.max(1)), refused: Mutex::default() }
    }

    /// Returns why a request was refused before it was sent, if any was: a limit was reached, or the recording does not
    /// contain the request. Decisions made without the request do not reflect the quality of the model.
    pub(super) fn refused(&self) -> Option<String> {
        self.refused.lock().ok()?.clone()
    }
}

impl<C: Complete> Complete for InFlight<C> {
    async fn complete(&self, request: &Request) -> Result<(Reply, crate::llm::Cost), LlmError> {
        // The semaphore is never closed.
        let _permit = self.permits.acquire().await;
        let answer = self.inner.complete(request).await;
        if let Err(error @ (LlmError::Budget { .. } | LlmError::NotRecorded { .. })) = &answer
            && let Ok(mut refused) = self.refused.lock()
        {
            // Only the first refusal is kept: after a limit is reached, every further request is refused for the same
            // reason.
            refused.get_or_insert_with(|| error.to_string());
        }
        answer
    }

    fn model(&self) -> &str {
        self.inner.model()
    }
}
