//! The worker that extracts queued logs, each as a separate run with the settings of its project.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use transcripts::{Found, Kind, Transcript};

use super::model::{cost_of, price_of, prices, spent_today};
use super::run::denied_paths;
use super::{ApiError, Memories, Model, ModelOptions, RunRequest};
use crate::config::Config;
use crate::guard::Guard;
use crate::llm::{Budget, Limits};
use crate::pipeline::{
    self, Event, Fault, Pipeline, RereadPolicy, Scan, Selection, Sources, Summary, WorkerOptions, WorkerReport,
};
use crate::store::{Job, LeaseOutcome, Spent};

/// Agent name of the logs in a folder that a person specified.
pub(crate) const NAMED_FILES: &str = "files";
/// Maximum number of memories for which vectors are computed in addition to other work; a separate command handles the
/// rest.
pub(crate) const EMBEDDED_ASIDE: usize = 256;
/// US dollars that background work may spend per day if no limit is set.
// Nobody watches this work, so its cost is limited even if no limit was set.
const COST_PER_DAY: f64 = 1.0;
/// Minimum amount, in US dollars, that must be left before the extraction of a log starts.
// With less, not even a small request fits, and starting would be pointless.
const LEAST_SLICE: f64 = 0.001;

/// Events that a [`Worker`] reports in addition to the end of each log.
#[derive(Debug)]
pub(crate) enum WorkerEvent<'a> {
    /// The model that is about to be used.
    Model(&'a Model),
    /// A detail for verbose output.
    Detail(String),
}

/// Extracts queued logs.
pub(crate) struct Worker<'a> {
    /// Returns the settings for a folder, or for the working directory if no folder is given; `Err` contains the reason
    /// why they cannot be read.
    pub settings: &'a dyn Fn(Option<&Path>) -> Result<Config, String>,
    /// Access to the model.
    pub options: ModelOptions,
    /// Number of logs that are extracted at the same time, among which the day's budget is divided.
    pub at_a_time: usize,
    /// A token that, when cancelled, stops the worker after the windows in flight.
    pub cancel: CancellationToken,
    /// A callback for each event.
    pub report: &'a dyn Fn(WorkerEvent<'_>),
    /// Dollars that each log in progress may spend, so that together they stay within the day's limit.
    pub slices: RefCell<HashMap<i64, f64>>,
}

impl Worker<'_> {
    /// Extracts the log of a job; `Ok(Err)` contains the reason why the log was not extracted.
    ///
    /// # Errors
    /// [`ApiError`] if the log cannot be read, or the database cannot be written.
    pub(crate) async fn extract(&self, job: &Job) -> Result<Result<(), Fault>, ApiError> {
        // The future is on the heap, since it contains a whole run.
        let outcome = Box::pin(self.extract_log(job)).await;
        // The share is released regardless of the outcome, so that the next log can use it.
        self.slices.borrow_mut().remove(&job.id);
        outcome
    }

    async fn extract_log(&self, job: &Job) -> Result<Result<(), Fault>, ApiError> {
        let folder = job.project.as_deref().map(Path::new).filter(|folder| folder.is_dir());
        let config = match (self.settings)(folder) {
            Ok(config) => config,
            Err(why) => return Ok(Err(Fault::Failed(why))),
        };
        let extraction = &config.memory.extraction;
        if !config.memory.enabled.value || !extraction.auto_extract.value {
            let why = "memory.enabled or memory.extraction.auto_extract is off in the settings of the log's project"
                .to_owned();
            // The job is kept and checked again in a day, because the setting may have been turned on by then.
            return Ok(Err(Fault::Later(Timestamp::now() + SignedDuration::from_hours(24), why)));
        }
        let least = extraction.min_messages_for_extraction.value;
        if is_too_short(job, least, &config).await? {
            let why = format!("it has fewer than {least} messages (memory.extraction.min_messages_for_extraction)");
            return Ok(Err(Fault::LeftOut(why)));
        }
        let model = Model::choose(&config, &self.options).await?;
        (self.report)(WorkerEvent::Model(&model));
        // Each log has its own connection, since logs extracted at the same time are written in separate transactions.
        let memories = Memories::builder().config(config).writable().open()?;
        let budget = match self.budget(job, &model, &memories)? {
            Ok(budget) => budget,
            Err(fault) => return Ok(Err(fault)),
        };
        let store = memories.ledger("extract memories")?;
        let deny = denied_paths(&memories.config)?;
        let (arguments, options) = memories.run_options(RunRequest {
            sources: sources(job),
            selection: Selection { zone: Some(Zoned::now().time_zone().clone()), deny, ..Selection::default() },
            // A log that was queued again but has not changed costs nothing.
            reread: RereadPolicy::Nothing,
            arguments: json!({"paths": [job.path], "by": "jobs"}),
        });
        let pipeline = Pipeline::new(store, &memories.guard, model.extractor(), &budget, options);
        let mut watch = |event: &Event<'_>| {
            if let Event::Warning(text) = event {
                (self.report)(WorkerEvent::Detail((*text).to_owned()));
            }
        };
        let summary = pipeline::run(pipeline, &arguments, self.cancel.clone(), &mut watch).await?;
        if let Err(error) = memories.embed_waiting(EMBEDDED_ASIDE, self.cancel.clone()).await {
            // The memories are stored, and their vectors wait for `db embed` or the next log.
            (self.report)(WorkerEvent::Detail(format!("no vectors were computed: {error}")));
        }
        Ok(judge(&job.path, job.agent == NAMED_FILES, &summary, budget.is_limited()))
    }

    /// Returns the budget of this log, which is its share of the day's remaining budget, or a fault with the time of
    /// the next attempt.
    fn budget(&self, job: &Job, model: &Model, memories: &Memories) -> Result<Result<Budget, Fault>, ApiError> {
        let (config, label) = (&memories.config, model.extractor().label());
        // The rules cost nothing, so they need no share of the day's budget.
        if model.name().is_none() {
            return Ok(Ok(Budget::new(Limits::default(), None, &label)?));
        }
        let prices = prices(config)?;
        let price = price_of(&prices, &label, model.price);
        // Without a price, no cost could be counted against a limit, so no limit is assumed.
        let limit = config.max_cost_per_day.value.or_else(|| price.map(|_| COST_PER_DAY));
        let mut limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, day: None };
        if let Some(limit) = limit {
            let cost = |one: &Spent| cost_of(one, prices.of(&one.model).or(model.price));
            let spent = spent_today(memories.ledger(QUEUE)?, cost)?;
            let mut slices = self.slices.borrow_mut();
            let left = limit - spent - slices.values().sum::<f64>();
            if left < LEAST_SLICE {
                // While shares are reserved for other logs, parts of these shares may soon be released.
                let until = if slices.is_empty() { tomorrow(&Zoned::now()) } else { soon() };
                return Ok(Err(Fault::Later(until, format!("the daily limit of ${limit} has been reached"))));
            }
            // Logs are extracted in parallel, so each gets its share of the day's remaining budget.
            #[expect(clippy::cast_precision_loss, reason = "only a few logs are processed at a time")]
            let slice = left / self.at_a_time.max(1).saturating_sub(slices.len()).max(1) as f64;
            slices.insert(job.id, slice);
            limits.max_cost = Some(limits.max_cost.map_or(slice, |cost| cost.min(slice)));
        }
        Ok(Ok(Budget::new(limits, price, &label)?))
    }
}

impl Memories {
    /// Extracts queued logs with `work`, unless another process is extracting them.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read or written; claimed logs become free again when their leases expire.
    pub(crate) async fn work_off<F: Future<Output = Result<(), Fault>>>(
        &self,
        shift: WorkerOptions<'_>,
        work: impl Fn(Job) -> F,
    ) -> Result<WorkerReport, ApiError> {
        Ok(pipeline::work_off(self.ledger(QUEUE)?, shift, work).await?)
    }

    /// Queues the logs that are finished and not yet read, and returns their number. Each log is given with its agent.
    ///
    /// # Errors
    /// [`ApiError`] if the queue cannot be written.
    pub(crate) fn queue_finished(
        &self,
        logs: impl IntoIterator<Item = (String, Found)>,
        scan: &Scan,
    ) -> Result<usize, ApiError> {
        Ok(pipeline::scan(self.ledger(QUEUE)?, logs, scan, Timestamp::now())?)
    }

    /// Acquires or renews the lease `name` for `owner`.
    ///
    /// # Errors
    /// [`ApiError`] if the lease cannot be written.
    pub(crate) fn lease(&self, name: &str, owner: &str) -> Result<LeaseOutcome, ApiError> {
        Ok(self.ledger(QUEUE)?.lease(name, owner, Timestamp::now())?)
    }

    /// Releases the lease `name` of `owner`.
    ///
    /// # Errors
    /// [`ApiError`] if the lease cannot be written.
    pub(crate) fn end_lease(&self, name: &str, owner: &str) -> Result<(), ApiError> {
        Ok(self.ledger(QUEUE)?.end_lease(name, owner)?)
    }
}

const QUEUE: &str = "extract queued logs";

/// Whether every conversation of the log has fewer messages than `least`; the log is checked again when it has grown.
async fn is_too_short(job: &Job, least: usize, config: &Config) -> Result<bool, ApiError> {
    let read = pipeline::conversations(&sources(job), &Guard::from(&config.guard)).await?;
    let said = |transcript: &Transcript| transcript.messages.iter().filter(|one| one.kind == Kind::Prose).count();
    Ok(!read.transcripts.is_empty() && read.transcripts.iter().all(|transcript| said(transcript) < least))
}

/// Returns the fault of the run on the log `path`, if there is one. In a folder that a person specified, some files may
/// not be logs.
pub(super) fn judge(path: &str, is_in_named: bool, summary: &Summary, is_limited: bool) -> Result<(), Fault> {
    if summary.interrupted {
        return Err(Fault::Later(Timestamp::now(), "it was interrupted".to_owned()));
    }
    if let Some(why) = &summary.halted {
        // The cost counts towards the day's limit automatically, and the next attempt checks the remaining budget.
        let is_spent = is_limited && why.contains("the limit of");
        return Err(if is_spent { Fault::Later(soon(), why.clone()) } else { Fault::Failed(why.clone()) });
    }
    if let Some(failure) = summary.failures.first() {
        return Err(Fault::Failed(failure.why.clone()));
    }
    match summary.windows.failed {
        0 => {}
        1 => return Err(Fault::Failed("1 window could not be extracted".to_owned())),
        many => return Err(Fault::Failed(format!("{many} windows could not be extracted"))),
    }
    if summary.windows.held > 0 {
        return Err(Fault::Later(soon(), "another process is extracting it".to_owned()));
    }
    // In a folder that a person specified, files other than logs are ignored. An agent's file is a log if it is not
    // empty.
    let is_left = summary.files.passed_over > 0 && is_in_named;
    let was_looked_into = summary.files.read + summary.files.unchanged > 0 || summary.filtered.any();
    if !was_looked_into && !is_left && Path::new(path).metadata().is_ok_and(|data| data.len() > 0) {
        return Err(Fault::Failed(format!("{path} is not a readable log")));
    }
    if summary.filtered.any() && summary.windows.total == 0 {
        let is_erased = summary.filtered.conversations_erased > 0;
        let why = if is_erased { "it was erased" } else { "the setting guard.deny excludes it" };
        return Err(Fault::LeftOut(why.to_owned()));
    }
    if is_left && summary.files.read + summary.files.unchanged == 0 {
        return Err(Fault::LeftOut("its format is unknown".to_owned()));
    }
    Ok(())
}

fn soon() -> Timestamp {
    Timestamp::now() + SignedDuration::from_mins(2)
}

/// Returns the first moment of the next day in local time.
fn tomorrow(today: &Zoned) -> Timestamp {
    // The day is not simply 24 hours, because it is longer or shorter when the clocks change.
    let next = today.start_of_day().and_then(|start| start.checked_add(1.day()));
    next.map_or_else(|_| Timestamp::now() + SignedDuration::from_hours(24), |next| next.timestamp())
}

fn sources(job: &Job) -> Sources {
    let found = vec![Found { path: PathBuf::from(&job.path), named: false }];
    Sources { found, ..Sources::default() }
}
