//! Working off what is due, with the model and the limits that the settings of each project ask for.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use afterthought::api::embed_waiting;
use afterthought::config::Config;
use afterthought::extract::window::WindowBudget;
use afterthought::guard::Guard;
use afterthought::llm::{Budget, Limits, Source};
use afterthought::pipeline::{self, Event, Extractor, Options, Pipeline, Reread, Selection, Sources, Summary};
use afterthought::serve::hook::{Fault, HookLog, LINGER, Shift, Until, lower_priority, work_off};
use afterthought::store::{Job, Spent, Store};
use anyhow::Context as _;
use jiff::{SignedDuration, Timestamp, ToSpan as _, Zoned};
use serde_json::json;
use tokio_util::sync::CancellationToken;
use transcripts::Found;
use transcripts::{Kind, Transcript};

use crate::cli::args::{Context, now};
use crate::cli::embed::{BESIDE, catch_up};
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{counted, one_line, spelled};
use crate::cli::run::{Asking, Tape, exchange, guard_of, patterns, reachable, runtime, stop_on_interrupt};
use crate::cli::spend::prices;

/// Dollars that work in the background may spend a day where nothing else is set.
const COST_PER_DAY: f64 = 1.0;
/// What logs are said to be of that stand in a folder that a person named.
pub(in crate::cli) const FILES: &str = "files";
/// Least dollars that it is worth to begin with.
const LEAST_SLICE: f64 = 0.001;

/// Process the queue of logs that are due
///
/// Does nothing while another process works on the queue.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought runs work --max-cost 0.50")]
pub struct WorkArgs {
    /// Extract this many logs at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    at_a_time: usize,
    /// Wait for sessions that are about to finish, at low priority
    #[arg(long, hide = true)]
    detached: bool,
    #[command(flatten)]
    asking: Asking,
}

pub(in crate::cli) fn run(args: &WorkArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if args.detached {
        lower_priority();
        // What a person had remembered in a prompt waits for its vector.
        catch_up(context);
    }
    let store = context.store()?;
    let cancel = CancellationToken::new();
    let extraction = Extraction::new(context, &args.asking, args.at_a_time, cancel.clone());
    let until = Until::NothingIn(if args.detached { LINGER } else { SignedDuration::ZERO });
    let mut report = |job: &Job, fault: Option<&Fault>| tell(context, job, fault);
    let shift = Shift {
        store: &store,
        at_a_time: args.at_a_time,
        until,
        cancel: cancel.clone(),
        every: None,
        report: &mut report,
    };
    let worked = runtime()?.block_on(async {
        stop_on_interrupt(cancel);
        work_off(shift, |job| extraction.of(job)).await
    });
    if let Err(error) = &worked
        && args.detached
    {
        // Nobody reads its standard error.
        HookLog::beside(&context.settings()?.db.value).note("worker", &error.to_string(), now());
    }
    let worked = worked?;
    if let Some(pid) = worked.busy {
        context.out.note(format_args!("process {pid} is at it already"));
    } else if context.out.is_json() {
        context.out.json(&json!({"done": worked.done, "left": worked.left}))?;
    } else {
        let done = counted(worked.done, "log");
        context.out.line(format_args!("{done} extracted, {} left", worked.left))?;
    }
    Ok(if worked.left > 0 { ExitStatus::Failures } else { ExitStatus::Success })
}

/// Tells how a job ended.
pub(in crate::cli) fn tell(context: &Context<'_>, job: &Job, fault: Option<&Fault>) {
    match fault {
        None => context.out.note(format_args!("extracted {}", job.path)),
        Some(Fault::Failed(why)) => context.out.error_text(&format!("{}: {}", job.path, one_line(why, 300))),
        Some(Fault::Later(until, why)) => {
            context.out.note(format_args!("{} is put off until {until:.0}: {}", job.path, one_line(why, 300)));
        }
    }
}

/// Extracts logs, each as a run of its own.
pub(in crate::cli) struct Extraction<'a> {
    context: &'a Context<'a>,
    asking: &'a Asking,
    /// Extract this many logs at a time, among which the day's money is shared out.
    at_a_time: usize,
    cancel: CancellationToken,
    /// What logs that are under way may spend, so that together they stay within the day's limit.
    slices: RefCell<HashMap<i64, f64>>,
}

impl<'a> Extraction<'a> {
    pub(in crate::cli) fn new(
        context: &'a Context<'a>,
        asking: &'a Asking,
        at_a_time: usize,
        cancel: CancellationToken,
    ) -> Self {
        Self { context, asking, at_a_time: at_a_time.max(1), cancel, slices: RefCell::default() }
    }

    /// Extracts the log of a job.
    pub(in crate::cli) async fn of(&self, job: Job) -> Result<(), Fault> {
        // On the heap, since it holds a whole run.
        let outcome = Box::pin(self.extract(&job)).await;
        self.slices.borrow_mut().remove(&job.id);
        outcome.unwrap_or_else(|error| Err(Fault::Failed(spelled(&error))))
    }

    async fn extract(&self, job: &Job) -> anyhow::Result<Result<(), Fault>> {
        let folder = job.project.as_deref().map(Path::new).filter(|folder| folder.is_dir());
        let here = std::env::current_dir().context("cannot tell the working directory")?;
        let config = self.context.global.settings_at(folder.unwrap_or(&here), self.asking.settings())?;
        let extraction = &config.memory.extraction;
        if !config.memory.enabled.value || !extraction.auto_extract.value {
            let why = "memory.enabled or memory.extraction.auto_extract is off there".to_owned();
            return Ok(Err(Fault::Later(now() + SignedDuration::from_hours(24), why)));
        }
        let guard = guard_of(&config);
        if Self::is_too_short(job, extraction.min_messages_for_extraction.value, &guard).await? {
            return Ok(Ok(()));
        }
        let settings = match self.asking.replay {
            Some(_) => None,
            None => reachable(&config, self.context.out).await?,
        };
        let has_model = settings.is_some() || self.asking.replay.is_some();
        let with_model = pipeline::choose(config.extractor.value, has_model)?;
        let tape = Tape { record: self.asking.record.as_deref(), replay: self.asking.replay.as_deref() };
        let source = if with_model { Some(exchange(tape, &config, settings, &guard)?) } else { None };
        let extractor = source.as_ref().map_or(Extractor::Rules, Extractor::Llm);
        // A connection of its own: what is extracted together is written apart.
        let store = Store::open(&config.db.value)?.with_guard(guard.clone());
        let budget = match self.budget(job, extractor, &config, &store)? {
            Ok(budget) => budget,
            Err(fault) => return Ok(Err(fault)),
        };
        let pipeline = Pipeline::new(&store, &guard, extractor, &budget, options(job, &config)?);
        let arguments = json!({"paths": [job.path], "by": "jobs"});
        let mut watch = |event: &Event<'_>| {
            if let Event::Warning(text) = event {
                self.context.out.detail(text);
            }
        };
        let summary = pipeline::run(pipeline, &arguments, self.cancel.clone(), &mut watch).await?;
        if let Err(error) = embed_waiting(&config, &store, BESIDE, self.cancel.clone()).await {
            // The memories are there, and wait for `embed` or the next log.
            self.context.out.detail(format_args!("no vectors were made: {error}"));
        }
        Ok(Self::judge(job, &summary, &budget))
    }

    /// Whether every conversation of the log has fewer messages than are worth a reading; it is looked at again when it grew.
    async fn is_too_short(job: &Job, least: usize, guard: &Guard) -> anyhow::Result<bool> {
        let read = pipeline::conversations(&sources(job), guard).await?;
        let said = |transcript: &Transcript| transcript.messages.iter().filter(|one| one.kind == Kind::Prose).count();
        Ok(!read.transcripts.is_empty() && read.transcripts.iter().all(|transcript| said(transcript) < least))
    }

    /// Returns what this log may spend: its share of what is left of the day, or when there is money again.
    fn budget(
        &self,
        job: &Job,
        extractor: Extractor<'_, Source<'_>>,
        config: &Config,
        store: &Store,
    ) -> anyhow::Result<Result<Budget, Fault>> {
        let model = extractor.label();
        if matches!(extractor, Extractor::Rules) {
            return Ok(Ok(Budget::new(Limits::default(), None, &model)?));
        }
        let prices = prices(config)?;
        let price = self.asking.price_of(&model, &prices);
        let limit = config.max_cost_per_day.value.or_else(|| price.map(|_| COST_PER_DAY));
        let mut limits = Limits { max_cost: config.max_cost.value, max_tokens: config.max_tokens.value, day: None };
        if let Some(limit) = limit {
            let today = Zoned::now();
            let cost = |one: Spent| {
                let price = prices.of(&one.model).or(self.asking.price);
                price.map_or(0.0, |price| price.cost(one.prompt_tokens, one.completion_tokens))
            };
            let spent: f64 = store.spending(today.date(), today.time_zone())?.into_iter().map(cost).sum();
            let mut slices = self.slices.borrow_mut();
            let left = limit - spent - slices.values().sum::<f64>();
            if left < LEAST_SLICE {
                let until = if slices.is_empty() { tomorrow(&today) } else { now() + SignedDuration::from_mins(2) };
                return Ok(Err(Fault::Later(until, format!("the ${limit} of the day are spent"))));
            }
            #[expect(clippy::cast_precision_loss, reason = "logs at a time are few")]
            let slice = left / self.at_a_time.saturating_sub(slices.len()).max(1) as f64;
            slices.insert(job.id, slice);
            limits.max_cost = Some(limits.max_cost.map_or(slice, |cost| cost.min(slice)));
        }
        Ok(Ok(Budget::new(limits, price, &model)?))
    }

    fn judge(job: &Job, summary: &Summary, budget: &Budget) -> Result<(), Fault> {
        let soon = now() + SignedDuration::from_mins(2);
        if summary.interrupted {
            return Err(Fault::Later(now(), "it was interrupted".to_owned()));
        }
        if let Some(why) = &summary.halted {
            // What was spent counts against the day by itself; the next attempt finds out whether anything is left.
            let is_spent = budget.is_limited() && why.contains("the limit of");
            return Err(if is_spent { Fault::Later(soon, why.clone()) } else { Fault::Failed(why.clone()) });
        }
        if let Some(failure) = summary.failures.first() {
            return Err(Fault::Failed(failure.why.clone()));
        }
        if summary.windows.failed > 0 {
            return Err(Fault::Failed(format!("{} could not be extracted", counted(summary.windows.failed, "window"))));
        }
        if summary.windows.held > 0 {
            return Err(Fault::Later(soon, "another process is at it".to_owned()));
        }
        // In a folder that a person named, files that are no logs are left alone; an agent's log is one, unless it is empty.
        let is_left = summary.files.passed_over > 0 && job.agent == FILES;
        let was_looked_into = summary.files.read + summary.files.unchanged > 0 || summary.filtered.any();
        if !was_looked_into && !is_left && Path::new(&job.path).metadata().is_ok_and(|data| data.len() > 0) {
            return Err(Fault::Failed(format!("{} is no log that can be read", job.path)));
        }
        Ok(())
    }
}

/// Returns the first moment of the next day by this machine's clock.
fn tomorrow(today: &Zoned) -> Timestamp {
    let next = today.start_of_day().and_then(|start| start.checked_add(1.day()));
    next.map_or_else(|_| now() + SignedDuration::from_hours(24), |next| next.timestamp())
}

fn sources(job: &Job) -> Sources {
    let found = vec![Found { path: PathBuf::from(&job.path), named: false }];
    Sources { found, ..Sources::default() }
}

fn options(job: &Job, config: &Config) -> anyhow::Result<Options> {
    Ok(Options {
        sources: sources(job),
        selection: Selection {
            zone: Some(Zoned::now().time_zone().clone()),
            exclude: patterns("the setting deny", &config.guard.deny.value)?,
            ..Selection::default()
        },
        reread: Reread::Nothing,
        namespace: config.namespace(),
        categories: config.categories.value.clone(),
        instructions: config.instructions.value.clone(),
        window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
        jobs: config.jobs.value,
    })
}
