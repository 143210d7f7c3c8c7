//! Runs that read logs: `run`, `run --estimate` and `runs plan`.

use std::path::{Path, PathBuf};

use crate::api::{
    AuditChannel, Basis, DEFAULT_MODEL, Event, Maintenance, Memories, Model, RereadPolicy, RunEstimate, RunId,
    RunRequest, Selection, Sources, Summary, denied_paths, logins, named_project, on_one_line, path_patterns,
};
use crate::config::{Config, ExtractorChoice, Partial};
use anyhow::{Context as _, anyhow, bail, ensure};
use indicatif::ProgressBar;
use jiff::Zoned;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use transcripts::known;

use super::apply;
use super::args::{Context, End, instructions_in, machine, moment, must_be_folder, now};
use super::exit::ExitStatus;
use super::model::{ModelArgs, runtime, stop_on_interrupt};
use super::printer::{BOLD, Printer, counted, set_message};
use super::report::{self, RunReporter};
use super::sync::start_in_background;

/// Turn conversation logs into memories
///
/// Reads files, folders, glob patterns, or - for standard input. Finished work is not repeated; interrupted and failed
/// work is resumed. After the first Ctrl-C, the run finishes the windows in progress and writes their memories; a
/// second Ctrl-C stops it at once. Exits 3 if any work failed or is unfinished.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought run --from claude-code --since 30d --estimate\n  afterthought run --from claude-code --from codex\n  afterthought run 'meetings/**/*.vtt' --extractor rules\n  afterthought run export/conversations.json --max-cost 0.50\n  afterthought run --from all --batch-api --no-wait"
)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    logs: LogArgs,
    /// Show what would change, but write no memories
    #[arg(long)]
    dry_run: bool,
    /// Save the plan that --dry-run shows, for use with `runs apply`
    #[arg(long, value_name = "FILE", requires = "dry_run")]
    out: Option<PathBuf>,
    /// Show what would be sent and what it would cost, but send nothing
    #[arg(long, conflicts_with_all = ["dry_run", "record", "replay"])]
    estimate: bool,
    #[command(flatten)]
    batches: Batches,
    /// Add the logs to the queue in this PostgreSQL database instead of extracting them; a PATH may be the address of
    /// objects, e.g. s3://bucket/prefix; --max-cost limits the queue
    #[cfg(feature = "scale")]
    #[arg(long, value_name = "ADDRESS", conflicts_with_all = ["dry_run", "estimate", "batch_api"])]
    queue: Option<String>,
}

/// Whether requests are sent in batches.
#[derive(Debug, clap::Args)]
struct Batches {
    /// Send requests in batches, which take up to a day at about half the cost
    #[arg(long, conflicts_with_all = ["dry_run", "record", "replay"])]
    batch_api: bool,
    /// Do not wait for batches; exit 3 if replies are outstanding
    #[arg(long, requires = "batch_api", conflicts_with = "estimate")]
    no_wait: bool,
}

/// Show what `run` would change, as a diff, but write no memories
///
/// The model's replies are stored, so the next run does not pay for them again. With --out, the plan is saved with one
/// change per line; delete the lines that you do not want, and pass the file to `runs apply`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought runs plan ~/.claude/projects\n  afterthought runs plan ~/.claude/projects --out plan.json"
)]
pub(crate) struct PlanArgs {
    #[command(flatten)]
    logs: LogArgs,
    /// Save the plan, for use with `runs apply`
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl RunArgs {
    /// Whether the command writes the changes instead of only showing them.
    pub(crate) fn writes(&self) -> bool {
        #[cfg(feature = "scale")]
        if self.queue.is_some() {
            return false;
        }
        !self.dry_run && !self.estimate
    }
}

/// Logs to read, and how.
#[derive(Debug, clap::Args)]
struct LogArgs {
    /// Log files, folders, glob patterns, or - for standard input
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read this program's logs (see `log list`), or `all`
    #[arg(long, value_name = "NAME")]
    from: Vec<String>,
    /// Search this folder for logs that programs such as aider keep in project folders
    #[arg(long, value_name = "FOLDER", requires = "from")]
    below: Vec<PathBuf>,
    /// Skip messages before this time, e.g. 7d, 2027-01-31
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Skip messages after this time, or after this day
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Read only this project: its name or folder
    #[arg(long, value_name = "NAME|PATH")]
    project: Vec<String>,
    /// Skip files, folders and projects that match, e.g. 'private-*' or private/; the setting guard.deny does so in
    /// every run
    #[arg(long, value_name = "PATTERN")]
    exclude: Vec<String>,
    /// Read unchanged logs again; finished work costs nothing
    #[arg(long)]
    reread: bool,
    /// Read all logs again, even erased conversations
    #[arg(long)]
    reread_erased: bool,
    /// Read every log in this format (see `log formats`)
    #[arg(long, value_name = "NAME")]
    format: Option<String>,
    /// Treat logs that git tracks as your own rather than as part of a repository that anybody may have written
    #[arg(long)]
    trusted: bool,
    /// Attribute captions that name no speaker to this person, e.g. for a talk
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,
    #[command(flatten)]
    model: ModelArgs,
    /// Send up to this many conversation tokens per request [default: 8000]
    #[arg(long, value_name = "N")]
    window_tokens: Option<usize>,
    /// Follow the instructions in this file on what to keep or leave out
    #[arg(long, value_name = "FILE")]
    instructions: Option<PathBuf>,
    /// Redact, keep or drop personal data: cards, ibans, ids, emails, phones or addresses
    #[arg(long, value_name = "KIND=ACTION")]
    pii: Vec<String>,
}

impl LogArgs {
    fn sources(&self) -> anyhow::Result<Sources> {
        // Without this check, `run` without arguments would read nothing and report success.
        ensure!(
            !self.paths.is_empty() || !self.from.is_empty(),
            "no log is given; pass a PATH, or --from NAME with a name from `afterthought log list`"
        );
        self.below.iter().try_for_each(|folder| must_be_folder("--below ", folder))?;
        let found = known::logs_of(&self.from, &machine(), &self.below)?;
        let speaker = self.speaker.as_deref().map(str::trim).map(str::to_owned);
        ensure!(speaker.as_deref() != Some(""), "--speaker is empty; give a name, or leave it out");
        Ok(Sources {
            paths: self.paths.clone(),
            found,
            format: self.format.clone(),
            speaker,
            are_own: self.trusted,
            ..Sources::default()
        })
    }

    fn settings(&self, context: &Context<'_>) -> anyhow::Result<Config> {
        let mut config = context.global.settings(Partial {
            window_tokens: self.window_tokens,
            instructions: instructions_in(self.instructions.as_deref())?,
            ..self.model.settings()
        })?;
        config.deny_as_projects_do(&context.global.folders()?, &self.paths)?;
        for text in &self.pii {
            config.guard.change(text).map_err(|why| anyhow!("--pii {text}: {why}"))?;
        }
        Ok(config)
    }

    fn selection(&self, config: &Config, now: &Zoned) -> anyhow::Result<Selection> {
        let time = |flag: &str, text: &Option<String>, end| {
            let moment = text.as_deref().map(|text| moment(text, end, now).map_err(|why| anyhow!("{flag} {why}")));
            moment.transpose()
        };
        let (since, until) = (time("--since", &self.since, End::Since)?, time("--until", &self.until, End::Until)?);
        if let (Some(since), Some(until)) = (since, until) {
            let (from, to) = (self.since.as_deref().unwrap_or_default(), self.until.as_deref().unwrap_or_default());
            // Swapped times would select nothing and look like an empty log.
            ensure!(since < until, "--since {from} is not before --until {to}; swap the two times");
        }
        // An unset shell variable expands to an empty text, and an empty filter is certainly a mistake.
        for (flag, texts) in [("--project", &self.project), ("--exclude", &self.exclude)] {
            ensure!(!texts.iter().any(|text| text.trim().is_empty()), "{flag} is empty; give a value, or leave it out");
        }
        let directory = std::env::current_dir().context("cannot find the working directory")?;
        let home = machine().home;
        Ok(Selection {
            since,
            until,
            zone: Some(now.time_zone().clone()),
            namespaces: Vec::new(),
            projects: self.project.iter().map(|text| named_project(text, &directory, home.as_deref())).collect(),
            exclude: path_patterns("--exclude", &self.exclude)?,
            // Folders that the settings deny are excluded even when they are named on the command line.
            deny: denied_paths(config)?,
        })
    }

    fn request(&self, config: &Config, is_verbose: bool) -> anyhow::Result<RunRequest> {
        Ok(RunRequest {
            sources: self.sources()?,
            selection: self.selection(config, &now().to_zoned(TimeZone::system()))?,
            // With -v, the run prints the records that could not be used, which requires reading the logs again.
            reread: match (self.reread, is_verbose) {
                _ if self.reread_erased => RereadPolicy::Erased,
                // An earlier run may have read the captions without a speaker.
                _ if self.speaker.is_some() => RereadPolicy::All,
                (true, _) => RereadPolicy::All,
                (false, true) => RereadPolicy::Flawed,
                (false, false) => RereadPolicy::Nothing,
            },
            // An interrupted run with the same arguments is resumed.
            arguments: json!({
                "paths": self.paths,
                "from": self.from,
                "since": self.since,
                "until": self.until,
                "project": self.project,
                "exclude": self.exclude,
                "format": self.format,
                "speaker": self.speaker,
                "namespace": config.namespace.value,
            }),
        })
    }
}

/// Whether a run writes, or only makes a plan.
#[derive(Debug, Clone, Copy)]
enum Mode<'a> {
    /// The changes are written. With `Some`, requests are sent in batches; the value determines whether the run waits
    /// for the replies.
    Write(Option<bool>),
    /// The plan is shown, and saved in this file if one is given.
    Plan(Option<&'a Path>),
}

pub(crate) fn run(args: &RunArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    #[cfg(feature = "scale")]
    if let Some(address) = &args.queue {
        ensure!(args.logs.speaker.is_none(), "--speaker does not apply to a queue; name the speakers in the files");
        let config = args.logs.settings(context)?;
        let request = args.logs.request(&config, false)?;
        return super::queue::fill(address, &config, request, args.logs.model.max_cost, context);
    }
    if args.estimate {
        return estimate(&args.logs, args.batches.batch_api, context);
    }
    let mode = match (args.dry_run, args.batches.batch_api) {
        (true, _) => Mode::Plan(args.out.as_deref()),
        (false, false) => Mode::Write(None),
        (false, true) => Mode::Write(Some(!args.batches.no_wait)),
    };
    extract(&args.logs, mode, context)
}

pub(crate) fn plan(args: &PlanArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    extract(&args.logs, Mode::Plan(args.out.as_deref()), context)
}

fn extract(args: &LogArgs, mode: Mode<'_>, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, out, runtime) = (args.settings(context)?, context.out, runtime()?);
    let model = runtime.block_on(args.model.choose(&config, out))?;
    if matches!(mode, Mode::Write(Some(_))) {
        let name = model.name().context(
            "--batch-api needs a model; set OPENAI_API_KEY, ANTHROPIC_API_KEY or OPENAI_BASE_URL, or leave it out for the offline rules",
        )?;
        ensure!(
            model.has_batches(),
            "{name}: batches require a server with the batch API of OpenAI or Anthropic; omit --batch-api, or choose \
             another model"
        );
    }
    // A mistake in the arguments about what to read is reported before a database is created.
    let request = args.request(&config, out.is_verbose())?;
    let mut hint = without_model(&model, &config);
    let memories = open(config, mode, &model)?;
    let bar = out.progress();
    let mut reporter = RunReporter::new(out, &memories, matches!(mode, Mode::Plan(_)));
    let mut watch = |event: &Event<'_>| {
        // If the logs cannot even be read, advice about a model would only distract.
        let is_under_way = !matches!(event, Event::Failure(_));
        if let Some(hint) = hint.take_if(|_| is_under_way) {
            bar.suspend(|| out.note(hint));
        }
        follow(event, &bar, out, &mut reporter);
    };
    let work = async {
        let cancel = CancellationToken::new();
        stop_on_interrupt(cancel.clone(), args.model.grace);
        match mode {
            Mode::Write(batches) => {
                let summary = memories.extract_logs(&model, request, batches, cancel, &mut watch).await?;
                Ok::<_, anyhow::Error>((summary, None))
            }
            Mode::Plan(_) => {
                let (summary, plan) = memories.plan_logs(&model, request, cancel, &mut watch).await?;
                Ok((summary, Some(plan)))
            }
        }
    };
    let (summary, plan) = runtime.block_on(work)?;
    bar.finish_and_clear();
    // The plan is saved before the summary is printed: a closed pipe must not lose the plan.
    if let (Mode::Plan(Some(path)), Some(plan)) = (mode, plan) {
        apply::save(path, &plan, out)?;
    }
    let run = summary.run.clone().map(RunId::from_stored);
    reporter.print_summary(&summary, run.as_ref().map(RunId::short))?;
    // A mistyped pattern would otherwise let through exactly what somebody wanted to keep out. Files that have not
    // changed are not opened, so nothing is known about conversations in these files that an earlier run left out.
    let left_out = summary.filtered.files_excluded + summary.filtered.conversations_excluded;
    if left_out == 0 && summary.files.unchanged > 0 && !args.exclude.is_empty() {
        out.note("--exclude matched no file; check the pattern, which was not compared with conversations in unchanged files");
    } else if left_out == 0 && summary.files.unchanged == 0 {
        if !args.exclude.is_empty() {
            out.warn("--exclude matched no file and no conversation; check the pattern");
        } else if !memories.config().guard.deny.value.is_empty() {
            out.note("the setting guard.deny matched no file and no conversation of this run");
        }
    }
    // A person who uses neither servers nor hooks has no other process that expires and purges memories.
    if matches!(mode, Mode::Write(_))
        && let Err(error) = memories.maintain(Maintenance::Expired, None)
    {
        out.warn(format_args!("cannot expire memories; `afterthought db maintain` does it later: {error}"));
    }
    if matches!(mode, Mode::Write(_)) {
        start_in_background(&memories, context);
    }
    // Without --format, a folder may contain no logs at all, but a format that was specified is expected in it.
    if let Some(format) = args.format.as_ref().filter(|_| summary.has_only_other_formats()) {
        bail!("no file has the format {format}; leave out --format, or see `afterthought log formats`");
    }
    Ok(exit_status(&summary))
}

/// Returns a note for runs that use the rules because there is no model, which is printed once logs to read are found.
fn without_model(model: &Model, config: &Config) -> Option<String> {
    let fell_back = model.name().is_none() && config.extractor.value == ExtractorChoice::Auto;
    fell_back.then(|| {
        let remedy = match logins().first() {
            Some(login) => format!("to use the login of {login}, which is installed, pass --model {login}"),
            None => "`afterthought status --check` shows how to configure a model".to_owned(),
        };
        format!(
            "no model is configured and no Ollama server responds, so the offline rules are used, which keep only \
             explicit statements; {remedy}"
        )
    })
}

/// Opens the database. A plan that the rules make and that is not saved has nothing to store, so no database is created
/// for it.
fn open(config: Config, mode: Mode<'_>, model: &Model) -> anyhow::Result<Memories> {
    // With the rules there are no paid replies to store, so their plan needs no database file.
    let creates_none = matches!(mode, Mode::Plan(None)) && model.name().is_none() && !config.db.value.exists();
    let builder = Memories::builder().config(config).through(AuditChannel::Command);
    Ok(if creates_none { builder.path("memory:").open()? } else { builder.writable().open()? })
}

fn exit_status(summary: &Summary) -> ExitStatus {
    // Exit 2 is for runs that achieved nothing; partial work exits 3, so that scripts know to run it again.
    let read_windows = summary.windows.ok + summary.windows.ok_empty + summary.windows.partial;
    let nothing_was_answered = summary.halted.is_some() && read_windows == 0;
    if summary.has_read_nothing() || nothing_was_answered {
        ExitStatus::Error
    } else if summary.has_failures() {
        ExitStatus::Failures
    } else {
        ExitStatus::Success
    }
}

/// Reports an event. The progress bar is suspended while a line is printed; updating it in the meantime would deadlock.
fn follow(event: &Event<'_>, bar: &ProgressBar, out: &Printer, reporter: &mut RunReporter<'_>) {
    match event {
        Event::File(report) => bar.suspend(|| {
            if report.format.is_none() && !report.is_dataset {
                out.detail(format_args!("{}: unknown format, or empty", report.path.display()));
            }
            for skipped in &report.skipped {
                out.detail(format_args!("{}:{}: {}", report.path.display(), skipped.record, skipped.reason));
            }
        }),
        Event::Window(summary) => set_message(
            bar,
            &format!(
                "{}, {}, {}, {}",
                counted(summary.transcripts, "conversation"),
                counted(summary.messages, "message"),
                counted(summary.windows.total, "window"),
                counted(summary.llm_calls, "call")
            ),
        ),
        Event::Detail(text) => bar.suspend(|| out.detail(text)),
        Event::Consolidated(plan) => bar.suspend(|| reporter.print_changes(plan)),
        Event::Batch(text) => bar.suspend(|| out.note(text)),
        Event::Warning(text) => bar.suspend(|| out.warn(on_one_line(text))),
        Event::Failure(failure) => bar.suspend(|| reporter.print_failure(failure)),
    }
}

/// Prints what the run would send and cost. No key is needed, and a model without a server can be specified.
fn estimate(args: &LogArgs, in_batches: bool, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, out) = (args.settings(context)?, context.out);
    let request = args.request(&config, false)?;
    let exists = config.db.value.exists();
    let builder = Memories::builder().config(config).through(AuditChannel::Command);
    // An estimate neither creates a database nor updates its schema.
    let memories = if exists { builder.read_only().open()? } else { builder.path("memory:").open()? };
    let bar = out.progress();
    let mut reporter = RunReporter::new(out, &memories, true);
    let mut watch = |event: &Event<'_>| follow(event, &bar, out, &mut reporter);
    let counting = async {
        let cancel = CancellationToken::new();
        stop_on_interrupt(cancel.clone(), args.model.grace);
        memories.estimate_logs(request, args.model.price, in_batches, cancel, &mut watch).await
    };
    let estimated = runtime()?.block_on(counting)?;
    bar.finish_and_clear();
    reporter.end().context("cannot write the output")?;
    print_estimate(&estimated, out)?;
    let estimate = &estimated.estimate;
    let nothing_was_read = estimate.files.failed > 0 && estimate.files.seen() == 0;
    Ok(match (nothing_was_read, estimate.interrupted || !estimate.failures.is_empty()) {
        (true, _) => ExitStatus::Error,
        (_, true) => ExitStatus::Failures,
        (false, false) => ExitStatus::Success,
    })
}

fn print_estimate(estimated: &RunEstimate, out: &Printer) -> anyhow::Result<()> {
    let RunEstimate { estimate, is_named, .. } = estimated;
    if !is_named {
        out.note(format_args!(
            "no model is configured, so this estimate is for {DEFAULT_MODEL}; --model selects another"
        ));
    }
    if out.is_json() {
        return Ok(out.json(estimate)?);
    }
    let windows = estimate.windows;
    out.line(format_args!(
        "{}, {}, {}: {} to extract, {} extracted before, {} without a person's words",
        counted(estimate.transcripts, "conversation"),
        counted(estimate.messages, "message"),
        counted(windows.total, "window"),
        windows.new,
        windows.known,
        windows.no_signal,
    ))?;
    report::print_files(out, estimate.files, estimate.filtered, estimate.transcripts);
    if estimate.interrupted {
        out.warn("interrupted; the rest is not counted");
    }
    if estimate.llm_calls + estimate.cached_replies == 0 {
        out.line(format_args!("{BOLD}no call{BOLD:#}: {} would send nothing", estimate.extractor))?;
        return Ok(());
    }
    let basis = match estimate.completion_tokens_from {
        Basis::Ledger => "the average so far",
        Basis::Assumed => "an assumption",
    };
    out.line(format_args!(
        "{} to the model ({} answered by stored replies), {} tokens to send, about {} to receive ({} a reply, {basis})",
        counted(estimate.llm_calls, "call"),
        estimate.cached_replies,
        estimate.prompt_tokens,
        estimate.completion_tokens,
        estimate.completion_tokens_per_call,
    ))?;
    match estimate.cost {
        Some(cost) => out.line(format_args!("{BOLD}about ${cost:.4}{BOLD:#} with {}", estimate.extractor))?,
        None => out.line(format_args!(
            "the price of {} is not known; set it with --price PROMPT,COMPLETION, in dollars per million tokens",
            estimate.extractor
        ))?,
    }
    out.note(
        "not included: retries, and about one call for every 20 to 40 new memories, to compare them with stored ones",
    );
    Ok(())
}
