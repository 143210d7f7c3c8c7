//! Runs that read logs, with their plans, estimates and models.

use std::path::{Component, Path, PathBuf};

use glob::Pattern;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::model::{model_settings, price_of, prices, reachable};
use super::{ApiError, Memories, budget};
use crate::config::{Config, ExtractorChoice, Layer, Setting};
use crate::consolidate::{self, AppliedPlan, SavedPlan, SavedPlanError, apply_saved};
use crate::extract::window::WindowBudget;
use crate::guard::Guard;
use crate::llm::{
    Budget, Client, Complete as _, DEFAULT_MODEL, Limits, ModelSettings, Price, Recorder, Replay, Source,
};
use crate::memory::Namespace;
use crate::pipeline::{
    self, Batching, Estimate, Event, Extractor, InstructionText, Options, Pipeline, PipelineError, RequestCounter,
    RereadPolicy, RunPlan, Selection, Sources, Summary,
};
use crate::project::plain;
use crate::store::{RunId, RunStatus, StoreError};

/// Options for access to a model that supplement the settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModelOptions {
    /// Folder into which every exchange with the server is written.
    pub record: Option<PathBuf>,
    /// Folder of recorded exchanges, which provide the replies instead of a server.
    pub replay: Option<PathBuf>,
    /// Price of the model, which replaces the price in the table.
    pub price: Option<Price>,
}

/// The model in use; empty if the offline rules extract and decide.
#[derive(Debug)]
pub(crate) struct Model {
    pub(super) source: Option<Source>,
    pub(super) price: Option<Price>,
    reason: Option<String>,
}

impl Model {
    /// Chooses a recording, the configured model, an Ollama server on this machine, or the rules, according to the
    /// settings.
    ///
    /// # Errors
    /// [`ApiError`] if the requested model is not configured, or the configuration cannot be used.
    pub(crate) async fn choose(config: &Config, options: &ModelOptions) -> Result<Self, ApiError> {
        // A recording needs no server, so the program does not look for a local one.
        let settings = match options.replay {
            Some(_) => model_settings(config)?,
            None => reachable(config).await?,
        };
        // A model that the user requested is never replaced silently.
        let is_asked_for = config.model.layer == Layer::Flag && config.extractor.value != ExtractorChoice::Rules;
        if is_asked_for && settings.is_none() && options.replay.is_none() {
            return Err(PipelineError::NoModel.into());
        }
        if !pipeline::choose(config.extractor.value, settings.is_some() || options.replay.is_some())? {
            return Ok(Self { source: None, price: options.price, reason: None });
        }
        let reason = settings.as_ref().and_then(|settings| settings.reason.clone());
        let source = source_of(config, settings, options.record.as_deref(), options.replay.as_deref())?;
        Ok(Self { source: Some(source), price: options.price, reason })
    }

    /// Returns the model with replies and limits that the workers of a queue share.
    #[cfg(feature = "scale")]
    pub(super) fn shared(
        self,
        replies: std::sync::Arc<dyn crate::llm::shared::ReplyStore>,
        config: &Config,
    ) -> Result<Self, ApiError> {
        let Some(source) = self.source else { return Ok(self) };
        let price = price_of(&prices(config)?, crate::llm::Complete::model(&source), self.price);
        let shared = crate::llm::shared::SharedSource::new(source, replies, price, Guard::from(&config.guard));
        Ok(Self { source: Some(Source::Shared(Box::new(shared))), ..self })
    }

    /// Returns the name of the model; `None` if the rules extract and decide.
    pub(crate) fn name(&self) -> Option<&str> {
        self.source.as_ref().map(Source::model)
    }

    /// Returns the reason for choosing this model, if nobody specified a model.
    pub(crate) fn reason(&self) -> Option<&str> {
        self.reason.as_deref()
    }

    /// Whether requests may be sent in batches.
    pub(crate) fn has_batches(&self) -> bool {
        self.source.as_ref().and_then(Source::server).is_none_or(Client::has_batches)
    }

    pub(super) fn extractor(&self) -> Extractor<'_, Source> {
        self.source.as_ref().map_or(Extractor::Rules, Extractor::Llm)
    }
}

/// Returns the source of replies: a server, a server whose exchanges are written into the folder `record`, or the
/// exchanges recorded in the folder `replay`.
///
/// # Errors
/// [`ApiError`] if no model is configured, or a folder cannot be used.
pub(crate) fn source_of(
    config: &Config,
    settings: Option<ModelSettings>,
    record: Option<&Path>,
    replay: Option<&Path>,
) -> Result<Source, ApiError> {
    if let Some(folder) = replay {
        // A recording needs neither key nor server, so the settings may be missing here.
        let named = config.model.value.clone().or(settings.map(|settings| settings.model));
        let unnamed =
            || ApiError::Unusable("a recording requires a specific model; choose one with --model".to_owned());
        return Ok(Source::Replayed(Replay::new(folder, named.ok_or_else(unnamed)?)?));
    }
    let client = Client::new(settings.ok_or(PipelineError::NoModel)?)?;
    Ok(match record {
        Some(folder) => Source::Recorded(Recorder::new(client, folder, &Guard::from(&config.guard))?),
        None => Source::Server(client),
    })
}

/// The logs that a run reads.
#[derive(Debug, Clone, Default)]
pub(crate) struct RunRequest {
    /// Logs to read.
    pub sources: Sources,
    /// Selects messages, projects and files in the logs.
    pub selection: Selection,
    /// Which finished and unchanged logs are opened again.
    pub reread: RereadPolicy,
    /// Identity of the run; an interrupted run with the same identity is resumed.
    pub arguments: Value,
}

/// An estimate of what a run would send.
#[derive(Debug)]
pub(crate) struct RunEstimate {
    /// Counts, tokens and cost.
    pub estimate: Estimate,
    /// Whether a model was specified; otherwise the estimate is for [`DEFAULT_MODEL`].
    pub is_named: bool,
}

impl Memories {
    /// Extracts memories from logs, consolidates them with the known ones, and writes them as a run that
    /// [`Memories::undo`] reverses. If `batches` is given, requests are sent in batches; if it is true, the run waits
    /// for their replies.
    ///
    /// Failures are listed in the summary. After a cancellation, no new window is started. Windows in flight are
    /// finished, and the results so far are written.
    ///
    /// # Errors
    /// [`ApiError`] if nothing can be read, or the database cannot be written; finished work is kept.
    pub(crate) async fn extract_logs(
        &self,
        model: &Model,
        request: RunRequest,
        batches: Option<bool>,
        cancel: CancellationToken,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<Summary, ApiError> {
        self.check_maintainer(&self.config.namespace(), super::Author::Person)?;
        let (arguments, options) = self.run_options(request);
        let budget = self.budget_of(model)?;
        let pipeline = Pipeline::new(self.ledger(EXTRACT)?, &self.guard, model.extractor(), &budget, options);
        // Batches require a server; a recording contains only single replies.
        let server = model.source.as_ref().and_then(Source::server);
        let pipeline = match server.zip(batches) {
            Some((client, waits)) => pipeline.in_batches(Batching { client, waits }),
            None => pipeline,
        };
        Ok(pipeline::run(pipeline, &arguments, cancel, watch).await?)
    }

    /// Does the same as [`Memories::extract_logs`] in a copy of the memories, and returns the plan of its changes.
    /// Replies of a model are stored in the database, so that the actual run does not pay for them again.
    ///
    /// # Errors
    /// As for [`Memories::extract_logs`].
    pub(crate) async fn plan_logs(
        &self,
        model: &Model,
        request: RunRequest,
        cancel: CancellationToken,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<(Summary, SavedPlan), ApiError> {
        self.check_maintainer(&self.config.namespace(), super::Author::Person)?;
        let (arguments, options) = self.run_options(request);
        let (store, budget) = (self.ledger(EXTRACT)?, self.budget_of(model)?);
        let pipeline = Pipeline::new(store, &self.guard, model.extractor(), &budget, options);
        let mut changes = Vec::new();
        let mut watch = |event: &Event<'_>| {
            if let Event::Consolidated(plan) = event {
                changes.extend(plan.changes.iter().cloned());
            }
            watch(event);
        };
        let RunPlan { summary, seen, ledger } = pipeline::plan(pipeline, &arguments, cancel, &mut watch).await?;
        let plan = SavedPlan::new(store.identity()?, seen, changes, ledger, Timestamp::now());
        Ok((summary, plan))
    }

    /// Estimates what a run would send and cost. The estimate sends nothing, so any model can be specified, even
    /// without a server.
    ///
    /// # Errors
    /// [`ApiError`] if nothing can be read.
    pub(crate) async fn estimate_logs(
        &self,
        request: RunRequest,
        price: Option<Price>,
        in_batches: bool,
        cancel: CancellationToken,
        watch: &mut dyn FnMut(&Event<'_>),
    ) -> Result<RunEstimate, ApiError> {
        let asks = self.config.extractor.value != ExtractorChoice::Rules;
        let configured = model_settings(&self.config)?.map(|settings| settings.model);
        let named = configured.or_else(|| self.config.model.value.clone());
        let is_named = named.is_some() || !asks;
        let model = if asks { named.unwrap_or_else(|| DEFAULT_MODEL.to_owned()) } else { String::new() };
        let price = price_of(&prices(&self.config)?, &model, price);
        let price = price.map(|price| if in_batches { price.in_batch() } else { price });
        // The budget has no limits; otherwise the estimate would stop at the end of the budget.
        let (counter, budget) = (RequestCounter::new(&model), Budget::new(Limits::default(), price, &model)?);
        let extractor = if asks { Extractor::Llm(&counter) } else { Extractor::Rules };
        let (arguments, options) = self.run_options(request);
        let pipeline = Pipeline::new(self.ledger(EXTRACT)?, &self.guard, extractor, &budget, options);
        let estimate = pipeline::estimate(pipeline, price, &arguments, cancel, watch).await?;
        Ok(RunEstimate { estimate, is_named })
    }

    pub(super) fn budget_of(&self, model: &Model) -> Result<Budget, ApiError> {
        let label = model.extractor().label();
        // The rules cost nothing, so no limit applies to them.
        if model.name().is_none() {
            return Ok(Budget::new(Limits::default(), None, &label)?);
        }
        budget(&self.config, &label, model.price, self.ledger(EXTRACT)?)
    }

    /// Returns the options of a run, including those that the settings define for all runs.
    pub(super) fn run_options(&self, request: RunRequest) -> (Value, Options) {
        let RunRequest { sources, selection, reread, arguments } = request;
        let options = Options {
            sources,
            selection,
            reread,
            namespace: self.config.namespace(),
            user: None,
            known: Vec::new(),
            categories: self.config.categories.value.clone(),
            instructions: self.instructions(),
            window: WindowBudget { tokens: self.config.window_tokens.value, ..WindowBudget::default() },
            jobs: self.config.jobs.value,
        };
        (arguments, options)
    }

    fn instructions(&self) -> Option<InstructionText> {
        let Setting { value, layer } = &self.config.instructions;
        let text = value.clone()?;
        // A project's file is part of a repository, so its instructions must not affect the memories of other projects.
        let project = match layer {
            Layer::Project(file) => {
                let folder = file.parent().unwrap_or(file).to_string_lossy();
                Some(self.known_namespace_of(&folder).ok().flatten().unwrap_or_else(Namespace::global))
            }
            Layer::Default | Layer::User(_) | Layer::Environment(_) | Layer::Flag => None,
        };
        Some(InstructionText { text, project })
    }
}

const EXTRACT: &str = "extract memories";

/// The outcome of `Memories::apply_plan`.
#[derive(Debug)]
pub(crate) struct PlanOutcome {
    /// The run that can be undone.
    pub run: RunId,
    /// The changes that were written.
    pub done: AppliedPlan,
    /// Counts of the run.
    pub summary: Value,
}

impl Memories {
    /// Returns the run that has applied a plan, if there is one.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn applied_by(&self, plan: &SavedPlan) -> Result<Option<RunId>, ApiError> {
        Ok(consolidate::applied_by(self.ledger(APPLY)?, plan)?)
    }

    /// Applies a saved plan in one transaction, as a run that [`Memories::undo`] reverses.
    ///
    /// # Errors
    /// [`SavedPlanError`] if the plan was applied before, belongs to another database, or cannot be written.
    pub(crate) fn apply_plan(&self, plan: &SavedPlan) -> Result<PlanOutcome, SavedPlanError> {
        let store = self.ledger(APPLY).map_err(|_| StoreError::Missing { path: self.config.db.value.clone() })?;
        let run = store.begin_run(consolidate::APPLY, &plan.arguments(), Timestamp::now())?.id;
        let done = apply_saved(store, plan, &run, Timestamp::now());
        let (status, summary) = match &done {
            Ok(done) => (RunStatus::Finished, done.summary()),
            Err(_) => (RunStatus::Failed, json!({})),
        };
        // The run is ended before an error is returned, so that it does not look interrupted.
        store.finish_run(&run, status, &summary, Timestamp::now())?;
        Ok(PlanOutcome { run, done: done?, summary })
    }
}

const APPLY: &str = "apply a plan";

impl AppliedPlan {
    /// Returns the number of changes that were decided again because a memory had changed.
    pub(crate) fn decided_again(&self) -> usize {
        self.changes.iter().filter(|reviewed| reviewed.instead_of.is_some()).count()
    }

    fn summary(&self) -> Value {
        json!({
            "decisions": self.applied.counts,
            "waiting": self.changes.iter().filter(|reviewed| reviewed.change.pending).count(),
            "decided_again": self.decided_again(),
            "windows": self.windows,
        })
    }
}

/// Returns the patterns of logs and projects that the settings deny.
///
/// # Errors
/// [`ApiError::Invalid`].
pub(crate) fn denied_paths(config: &Config) -> Result<Vec<Pattern>, ApiError> {
    path_patterns("the setting deny", &config.guard.deny.value)
}

/// Parses path patterns, in which `~/` means the home folder and a leading `./` is ignored; `origin` is the source of
/// the patterns. A folder that is reached through a link is also matched at its actual place, because agents write
/// actual places into their logs.
///
/// # Errors
/// [`ApiError::Invalid`].
pub(crate) fn path_patterns(origin: &'static str, texts: &[String]) -> Result<Vec<Pattern>, ApiError> {
    let home = etcetera::home_dir().ok();
    let parsed = |text: &String| {
        // Windows accepts both separators; paths are compared with `/`.
        let even = text.replace('\\', "/");
        let whole = match (even.strip_prefix("~/"), &home) {
            (Some(rest), Some(home)) => home.join(rest.trim_start_matches('/')).to_string_lossy().replace('\\', "/"),
            // People copy `./logs/private` from their own command, but a run may reach the same folder by another path.
            _ => even.trim_start_matches("./").to_owned(),
        };
        let whole = without_dots(&whole);
        let actual = at_actual_place(&whole);
        let pattern = |whole: &String| {
            Pattern::new(whole)
                .map_err(|error| ApiError::Invalid(format!("cannot understand {origin} {text:?}: {}", error.msg)))
        };
        std::iter::once(&whole).chain(&actual).map(pattern).collect::<Result<Vec<_>, _>>()
    };
    Ok(texts.iter().map(parsed).collect::<Result<Vec<_>, _>>()?.concat())
}

/// Returns a pattern without the parts `.` and the double slashes that people paste, because no path contains them.
fn without_dots(pattern: &str) -> String {
    // Two slashes at the start name another machine on Windows.
    let (start, rest) = match pattern.strip_prefix('/') {
        Some(rest) if rest.starts_with('/') => return pattern.to_owned(),
        Some(rest) => ("/", rest),
        None => ("", pattern),
    };
    let parts: Vec<&str> = rest.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let end = if rest.ends_with('/') && !parts.is_empty() { "/" } else { "" };
    format!("{start}{}{end}", parts.join("/"))
}

/// Returns a pattern with the full path of a folder in which links are resolved, if it has any.
fn at_actual_place(pattern: &str) -> Option<String> {
    let path = Path::new(pattern);
    if !path.is_absolute() {
        return None;
    }
    let is_literal = |part: &Component<'_>| !part.as_os_str().to_string_lossy().contains(['*', '?', '[']);
    let literal: PathBuf = path.components().take_while(is_literal).collect();
    let (folder, actual) = literal.ancestors().find_map(|folder| Some((folder, folder.canonicalize().ok()?)))?;
    let rest = path.strip_prefix(folder).ok()?.to_string_lossy().into_owned();
    let end = if pattern.ends_with('/') { "/" } else { "" };
    let actual = Pattern::escape(&plain(&actual).replace('\\', "/"));
    let slash = if rest.is_empty() || actual.ends_with('/') { "" } else { "/" };
    Some(format!("{actual}{slash}{rest}{end}"))
        .filter(|actual| actual.trim_end_matches('/') != pattern.trim_end_matches('/'))
}

#[cfg(test)]
mod tests {
    use super::path_patterns;

    #[test]
    fn a_path_below_the_working_directory_is_denied_by_whatever_path_it_is_reached() {
        let patterns = path_patterns("--exclude", &["./logs/private".to_owned(), "logs/private".to_owned()]).unwrap();
        assert_eq!(patterns[0], patterns[1]);
        let texts = ["C:\\logs\\private", "C:/logs/private", ".\\logs\\private", "~\\private", "~/private"];
        let patterns = path_patterns("--exclude", &texts.map(str::to_owned)).unwrap();
        assert_eq!((&patterns[0], &patterns[3]), (&patterns[1], &patterns[4]), "both separators of Windows count");
        assert_eq!(patterns[2].as_str(), "logs/private");
        let texts = ["~/private", "~/./private", "~//private/.", "/a/./b//c/", "/a/b/c/"];
        let patterns = path_patterns("the setting deny", &texts.map(str::to_owned)).unwrap();
        assert!(patterns[0] == patterns[1] && patterns[1] == patterns[2] && patterns[3] == patterns[4], "{patterns:?}");
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_behind_a_link_is_denied_at_its_actual_place() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("disk/clients")).unwrap();
        std::os::unix::fs::symlink(root.join("disk/clients"), root.join("clients")).unwrap();
        let root = root.to_string_lossy();
        let matched = |end: &str| {
            let patterns = path_patterns("the setting deny", &[format!("{root}/clients{end}")]).unwrap();
            patterns.into_iter().map(|one| one.as_str().to_owned()).collect::<Vec<_>>()
        };
        for end in ["", "/", "/**", "/acme/later", "/*/private"] {
            assert_eq!(matched(end), [format!("{root}/clients{end}"), format!("{root}/disk/clients{end}")], "{end}");
        }
        let direct = path_patterns("the setting deny", &[format!("{root}/disk/clients/**")]).unwrap();
        assert_eq!(direct.len(), 1);
    }
}
