//! `run` and `plan`: the main job.

use std::path::PathBuf;

use afterthought::config::{Config, ExtractorChoice, Partial};
use afterthought::extract::window::WindowBudget;
use afterthought::guard::{Guard, GuardSettings};
use afterthought::llm::{Budget, Client, Limits, ModelSettings, Prices, Recorder, Replay, Source};
use afterthought::pipeline::{self, Event, Extractor, Options, Pipeline, Sources, Summary};
use afterthought::store::Store;
use anyhow::Context as _;
use clap::ValueEnum;
use indicatif::ProgressBar;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::Printer;
use super::report;

/// Turn conversation logs into memories
///
/// Reads files, folders, patterns, or - for standard input. Work that an earlier run has finished is not repeated; what
/// was interrupted or failed is taken up again. One Ctrl-C starts no new window, finishes those under way and writes
/// what is there; exits 3 if windows were left. A second one ends at once.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought run ~/.claude/projects ~/.codex/sessions\n  afterthought run 'meetings/**/*.vtt' --extractor rules\n  afterthought run export/conversations.json --max-cost 0.50"
)]
pub struct RunArgs {
    #[command(flatten)]
    shared: Shared,
    /// Show what would change, as `plan` does
    #[arg(long)]
    dry_run: bool,
}

/// Show what `run` would change, as a diff, and write no memory
///
/// Replies of a model are kept in the ledger, so that the run that follows does not pay for them again.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought plan ~/.claude/projects")]
pub struct PlanArgs {
    #[command(flatten)]
    shared: Shared,
}

#[derive(Debug, clap::Args)]
struct Shared {
    /// Log files, folders, patterns, or - for standard input
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read everything as this format, see `afterthought formats`
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// What reads the conversations [default: auto]
    #[arg(long, value_enum)]
    extractor: Option<ExtractorArg>,
    /// Name of the model [env: AFTERTHOUGHT_MODEL]
    #[arg(long)]
    model: Option<String>,
    /// Base URL of an OpenAI-compatible server [env: OPENAI_BASE_URL]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Calls in flight [default: 4]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Tokens of conversation in one call [default: 6000]
    #[arg(long, value_name = "N")]
    window_tokens: Option<usize>,
    /// Most dollars to spend [default: no limit]
    #[arg(long, value_name = "DOLLARS")]
    max_cost: Option<f64>,
    /// Most tokens to spend [default: no limit]
    #[arg(long, value_name = "N")]
    max_tokens: Option<u64>,
    /// File that says in prose what to keep and never to keep
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Write every exchange with the model into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "replay")]
    record: Option<PathBuf>,
    /// Answer from exchanges recorded in this folder, without any server
    #[arg(long, value_name = "DIR")]
    replay: Option<PathBuf>,
}

/// What reads the conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum ExtractorArg {
    /// The model where one is configured, else the rules
    Auto,
    /// The model
    Llm,
    /// The offline rules
    Rules,
}

/// Whether memories are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Write,
    Plan,
}

pub fn run(args: &RunArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    start(&args.shared, if args.dry_run { Mode::Plan } else { Mode::Write }, context)
}

pub fn plan(args: &PlanArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    start(&args.shared, Mode::Plan, context)
}

impl Shared {
    fn settings(&self, context: &Context<'_>) -> anyhow::Result<Config> {
        let instructions = self.instructions.as_ref().map(|path| {
            std::fs::read_to_string(path).with_context(|| {
                format!("cannot read instructions {}; check the path and its permissions", path.display())
            })
        });
        context.global.settings(Partial {
            extractor: self.extractor.map(|choice| match choice {
                ExtractorArg::Auto => ExtractorChoice::Auto,
                ExtractorArg::Llm => ExtractorChoice::Llm,
                ExtractorArg::Rules => ExtractorChoice::Rules,
            }),
            model: self.model.clone(),
            base_url: self.base_url.clone(),
            jobs: self.jobs,
            window_tokens: self.window_tokens,
            max_cost: self.max_cost,
            max_tokens: self.max_tokens,
            instructions: instructions.transpose()?,
            ..Partial::default()
        })
    }

    fn options(&self, config: &Config) -> Options {
        Options {
            sources: Sources { paths: self.paths.clone(), format: self.format.clone() },
            namespace: config.namespace.value.clone(),
            categories: config.categories.value.clone(),
            instructions: config.instructions.value.clone(),
            window: WindowBudget { tokens: config.window_tokens.value, ..WindowBudget::default() },
            jobs: config.jobs.value,
        }
    }
}

fn start(args: &Shared, mode: Mode, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let config = args.settings(context)?;
    let settings = model_settings(&config)?;
    let with_model = pipeline::choose(config.extractor.value, settings.is_some() || args.replay.is_some())?;
    let guard = Guard::new(&GuardSettings::default());
    let source = if with_model { Some(source(args, &config, settings, &guard)?) } else { None };
    let job = Job { args, mode, config: &config, context, guard: &guard };
    // One worker beside this thread, so that an interrupt is seen while this one computes.
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let extractor = source.as_ref().map_or(Extractor::Rules, Extractor::Llm);
    runtime.context("cannot start")?.block_on(job.go(extractor))
}

/// Returns where replies come from: a server, a server that is recorded, or a recording.
fn source<'g>(
    args: &Shared,
    config: &Config,
    settings: Option<ModelSettings>,
    guard: &'g Guard,
) -> anyhow::Result<Source<'g>> {
    if let Some(folder) = &args.replay {
        let named = config.model.value.clone().or(settings.map(|settings| settings.model));
        let model = named.context("a recording is told by its model; name it with --model")?;
        return Ok(Source::Replayed(Replay::new(folder, model)?));
    }
    let client = Client::new(settings.context("no model is configured")?)?;
    Ok(match &args.record {
        Some(folder) => Source::Recorded(Recorder::new(client, folder, guard)?),
        None => Source::Server(client),
    })
}

/// Returns how to reach the model; `None` if neither a key nor a server is configured.
fn model_settings(config: &Config) -> anyhow::Result<Option<ModelSettings>> {
    let lookup = |name: &str| match name {
        "OPENAI_API_KEY" => std::env::var(&config.api_key_env.value).ok(),
        "OPENAI_BASE_URL" => config.base_url.value.clone(),
        "AFTERTHOUGHT_MODEL" => config.model.value.clone(),
        _ => std::env::var(name).ok(),
    };
    let settings = ModelSettings::from_env(lookup)?;
    Ok(settings.map(|settings| ModelSettings {
        temperature: Some(config.temperature.value),
        timeout: std::time::Duration::from_secs(config.timeout_seconds.value),
        ..settings
    }))
}

/// One run or plan that is about to begin.
struct Job<'a> {
    args: &'a Shared,
    mode: Mode,
    config: &'a Config,
    context: &'a Context<'a>,
    guard: &'a Guard,
}

impl Job<'_> {
    async fn go(&self, extractor: Extractor<'_, Source<'_>>) -> anyhow::Result<ExitStatus> {
        let store = self.store(extractor)?;
        let budget = self.budget(&extractor.label())?;
        let pipeline = Pipeline::new(&store, self.guard, extractor, &budget, self.args.options(self.config));
        let (cancel, out) = (CancellationToken::new(), self.context.out);
        stop_on_interrupt(cancel.clone());
        let bar = out.progress();
        let mut told = report::Told::new(out, self.mode == Mode::Plan);
        let mut hint = self.without_model(pipeline.extractor);
        let mut watch = |event: &Event<'_>| {
            let is_under_way = !matches!(event, Event::Failure(_));
            if let Some(hint) = hint.take_if(|_| is_under_way) {
                bar.suspend(|| out.note(hint));
            }
            follow(event, &bar, out, &mut told);
        };
        let summary = match self.mode {
            Mode::Write => pipeline::run(pipeline, &self.arguments(), cancel, &mut watch).await?,
            Mode::Plan => pipeline::plan(pipeline, &self.arguments(), cancel, &mut watch).await?,
        };
        bar.finish_and_clear();
        told.finish(&summary)?;
        Ok(exit_status(&summary))
    }

    /// Returns what to tell, once there is something to read, where only the lack of a model made the rules read.
    fn without_model(&self, extractor: Extractor<'_, Source<'_>>) -> Option<&'static str> {
        let fell_back = matches!(extractor, Extractor::Rules) && self.config.extractor.value == ExtractorChoice::Auto;
        fell_back
            .then_some("no model is configured, so the offline rules read; `afterthought doctor` tells how to set one")
    }

    /// Opens the database. A plan by rules has nothing to keep, so it does not make one.
    fn store(&self, extractor: Extractor<'_, Source<'_>>) -> anyhow::Result<Store> {
        let path = &self.config.db.value;
        let makes_none = self.mode == Mode::Plan && matches!(extractor, Extractor::Rules) && !path.exists();
        Ok(if makes_none { Store::in_memory()? } else { Store::open(path)? })
    }

    fn budget(&self, model: &str) -> anyhow::Result<Budget> {
        let limits = Limits { max_cost: self.config.max_cost.value, max_tokens: self.config.max_tokens.value };
        Ok(Budget::new(limits, Prices::default().of(model), model)?)
    }

    /// What tells one run from another when an interrupted one is looked for.
    fn arguments(&self) -> serde_json::Value {
        json!({
            "paths": self.args.paths,
            "format": self.args.format,
            "namespace": self.config.namespace.value.as_ref().map(ToString::to_string),
        })
    }
}

fn exit_status(summary: &Summary) -> ExitStatus {
    let nothing_was_read = summary.files.failed > 0 && summary.files.read == 0;
    let read_windows = summary.windows.ok + summary.windows.ok_empty + summary.windows.partial;
    let nothing_was_answered = summary.halted.is_some() && read_windows == 0;
    if nothing_was_read || nothing_was_answered {
        ExitStatus::Error
    } else if summary.has_failures() {
        ExitStatus::Failures
    } else {
        ExitStatus::Success
    }
}

/// Lets the first interrupt finish what is paid for, and the second end the process.
fn stop_on_interrupt(cancel: CancellationToken) {
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            cancel.cancel();
        }
        if tokio::signal::ctrl_c().await.is_ok() {
            #[expect(clippy::exit, reason = "the person asked twice")]
            std::process::exit(130);
        }
    });
}

/// Tells an event. The bar is out of the way while a line is printed; to move it meanwhile would wait for ever.
fn follow(event: &Event<'_>, bar: &ProgressBar, out: &Printer, told: &mut report::Told<'_>) {
    match event {
        Event::File(report) => bar.suspend(|| {
            for skipped in &report.skipped {
                out.detail(format_args!("{}:{}: {}", report.path.display(), skipped.record, skipped.reason));
            }
        }),
        Event::Window(summary) => bar.set_message(format!(
            "{} conversations, {} messages, {} windows, {} calls",
            summary.transcripts, summary.messages, summary.windows.total, summary.llm_calls
        )),
        Event::Settled(plan) => bar.suspend(|| told.plan(plan)),
        Event::Warning(text) => bar.suspend(|| out.warn(text)),
        Event::Failure(failure) => bar.suspend(|| {
            if failure.why.contains(&failure.what) {
                out.error_text(&failure.why);
            } else {
                out.error_text(&format!("{}: {}", failure.what, failure.why));
            }
        }),
    }
}
