//! `blame`, `fix` and `how`, which query the work ledger.

use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use jiff::Timestamp;
use serde::Serialize;

use crate::api::{
    FileUsage, Filter, FoundTask, Freshness, KnownError, KnownRemedy, Memories, NamespaceSubtree, RecordedRemedy,
    Usage, commit_of_line, on_one_line, spelled_states,
};

use crate::memory::Remedy;

use super::args::Context;
use super::exit::ExitStatus;
use super::list::in_project_of_folder;
use super::printer::{BOLD, DIM, Printer, counted, day, one_line};

/// Maximum size of a command's output that is read from standard input, in bytes.
const MAX_INPUT_BYTES: u64 = 1 << 20;

/// The scope of a query.
#[derive(Debug, clap::Args)]
pub(crate) struct AskArgs {
    /// Search all projects, not only this folder's project
    #[arg(long)]
    everywhere: bool,
    /// Show at most this many results
    #[arg(short = 'n', long, value_name = "N", default_value_t = 10)]
    limit: usize,
}

impl AskArgs {
    fn filter(&self, memories: &Memories, context: &Context<'_>) -> anyhow::Result<Filter> {
        let namespaces = context.settings()?.namespace().map(NamespaceSubtree::Under).into_iter().collect();
        let filter = Filter { namespaces, ..Filter::default() };
        if self.everywhere { Ok(filter) } else { in_project_of_folder(filter, memories, context.out) }
    }

    /// Prints the results up to the limit, as JSON or by `print`.
    fn print<T: Serialize>(
        &self,
        found: &[T],
        print: impl Fn(&T, &Printer) -> anyhow::Result<()>,
        out: &Printer,
    ) -> anyhow::Result<()> {
        found
            .iter()
            .take(self.limit)
            .try_for_each(|one| if out.is_json() { Ok(out.json(one)?) } else { print(one, out) })
    }

    /// Returns the exit status, and prints `nothing` if there are no results, with a hint about `--everywhere` if
    /// `filter` is limited to a project.
    fn end(&self, is_empty: bool, nothing: &str, filter: &Filter, out: &Printer) -> ExitStatus {
        let is_limited = !self.everywhere && !filter.namespaces.is_empty();
        let hint = if is_limited { "; --everywhere searches all projects" } else { "" };
        out.unless_empty(is_empty, format_args!("{nothing}{hint}"))
    }
}

/// Show which tasks touched a file, and why
///
/// Reads the work ledger, which `run` fills from the logs of coding agents. Tasks that changed the file come first. For
/// FILE:LINE, runs `git blame` on the committed text and shows the task that made the commit, if that task is known. Exits 1 when no task
/// touched the file.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought blame src/loader.py\n  afterthought blame src/loader.py:120\n  afterthought blame loader.py --everywhere --json"
)]
pub(crate) struct BlameArgs {
    /// File, or FILE:LINE
    #[arg(value_name = "PATH")]
    path: String,
    #[command(flatten)]
    reach: AskArgs,
}

pub(crate) fn blame(args: &BlameArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let (path, line) = match args.path.rsplit_once(':').map(|(path, line)| (path, line.parse::<usize>())) {
        Some((path, Ok(line))) => (path, Some(line)),
        _ => (args.path.as_str(), None),
    };
    let commit = line.map(|line| commit_of_line(Path::new(path), line)).transpose()?.flatten();
    let filter = args.reach.filter(&memories, context)?;
    let mut touches = memories.blame(&in_project(path), commit.as_deref(), &filter)?;
    touches.truncate(args.reach.limit);
    memories.judge_file(&mut touches)?;
    args.reach.print(&touches, print_touch, context.out)?;
    Ok(args.reach.end(touches.is_empty(), "no task touched this file", &filter, context.out))
}

/// Returns the path relative to its repository, or unchanged if it is not in a repository.
fn in_project(path: &str) -> String {
    let Ok(whole) = std::path::absolute(path) else { return path.to_owned() };
    let root = whole.ancestors().skip(1).find(|folder| folder.join(".git").exists());
    let inside = root.and_then(|root| whole.strip_prefix(root).ok()).and_then(Path::to_str);
    inside.map_or_else(|| path.to_owned(), str::to_owned)
}

fn print_touch(touch: &FileUsage, out: &Printer) -> anyhow::Result<()> {
    out.line(format_args!("{BOLD}{}{BOLD:#} {}", when(touch.ended_at), one_line(&touch.goal, 200)))?;
    let now = touch.freshness.as_ref().map(|now| format!("; {}", now.state)).unwrap_or_default();
    let (path, did, reason) = (&touch.path, &touch.did, one_line(&touch.reason, 120));
    out.line(format_args!("     {path}: {did}{now}; {} ({reason})", touch.outcome))?;
    if let Some(report) = &touch.report {
        out.line(format_args!("     {DIM}“{}”{DIM:#}", one_line(&report.text, 200)))?;
    }
    for commit in &touch.commits {
        out.line(format_args!("     {DIM}commit {}{DIM:#}", one_line(commit, 120)))?;
    }
    out.line(format_args!(
        "     {DIM}{} · {} · messages {}{DIM:#}",
        touch.task,
        touch.transcript,
        touch.messages.join(", ")
    ))?;
    Ok(())
}

/// Show how an error was fixed in the past
///
/// Reads the work ledger, and the remedies that hooks recorded during sessions. Ignores paths, numbers and hashes in
/// the error. From the ledger, shows only remedies that helped in a second session, or that changed something mentioned
/// in the error. Also shows how often each remedy helped. Exits 1 when no remedy is known.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought fix \"ModuleNotFoundError: No module named 'yaml'\"\n  make test 2>&1 | afterthought fix -\n  cargo test 2>&1 | afterthought fix - --command \"cargo test\""
)]
pub(crate) struct FixArgs {
    /// Error message, or - to read a command's output from standard input
    #[arg(required = true)]
    error: Vec<String>,
    /// Command that failed; remedies that fit it come first
    #[arg(long, value_name = "COMMAND")]
    command: Option<String>,
    #[command(flatten)]
    reach: AskArgs,
}

pub(crate) fn fix(args: &FixArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let printed = if args.error == ["-"] {
        let mut bytes = Vec::new();
        std::io::stdin().take(MAX_INPUT_BYTES).read_to_end(&mut bytes).context("cannot read standard input")?;
        String::from_utf8_lossy(&bytes).into_owned()
    } else {
        args.error.join(" ")
    };
    ensure!(!printed.trim().is_empty(), "there is no error to look up");
    let filter = args.reach.filter(&memories, context)?;
    let mut known = memories.fix(&printed, args.command.as_deref(), &filter)?;
    known.remedies.truncate(args.reach.limit);
    known.recorded.truncate(args.reach.limit);
    if context.out.is_json() {
        context.out.json(&known)?;
    } else {
        print_known(&known, context.out)?;
    }
    let is_empty = known.remedies.is_empty() && known.recorded.is_empty();
    Ok(args.reach.end(is_empty, "no reliable remedy for this error is known", &filter, context.out))
}

fn print_known(known: &KnownError, out: &Printer) -> anyhow::Result<()> {
    for remedy in &known.remedies {
        let Remedy { command, files, commands, .. } = &remedy.cleared;
        let KnownRemedy { times, of, error, .. } = remedy;
        out.line(format_args!("{BOLD}cleared in {times} of {of} cases{BOLD:#} {}", one_line(error, 200)))?;
        out.line(format_args!("     failed:  {}", one_line(&remedy.failed, 160)))?;
        if !files.is_empty() {
            out.line(format_args!("     changed: {}", one_line(&files.join(", "), 200)))?;
        }
        for before in commands {
            out.line(format_args!("     ran:     {}", one_line(before, 160)))?;
        }
        out.line(format_args!("     worked:  {}", one_line(command, 160)))?;
        let (at, message) = (when(remedy.at), &remedy.cleared.message);
        let origin = format!("{at} · {} · {} · message {message}", remedy.task, remedy.transcript);
        out.line(format_args!("     {DIM}{}{DIM:#}", on_one_line(&origin)))?;
    }
    for RecordedRemedy { memory, content, outcome, at } in &known.recorded {
        out.line(format_args!("{BOLD}recorded by a hook{BOLD:#} {}", one_line(content, 300)))?;
        let (at, helped) = (when(*at), counted(outcome.helped, "time"));
        out.line(format_args!("     {DIM}{at} · helped {helped} when it was shown · {}{DIM:#}", memory.short()))?;
    }
    if known.open > 0 && !known.remedies.is_empty() {
        out.note(format_args!(
            "occurred {}, not cleared in {}",
            counted(known.occurred, "time"),
            counted(known.open, "task")
        ));
    }
    Ok(())
}

/// Show how a command is run in this project
///
/// Reads the work ledger. Lists the recorded invocations of a command, or of the commands for a topic, with the number
/// of times that each one ran and failed. Successful invocations come first. Exits 1 if there are none.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought how test\n  afterthought how cargo test\n  afterthought how docker --everywhere"
)]
pub(crate) struct HowArgs {
    /// Command or topic
    #[arg(required = true, value_name = "COMMAND")]
    command: Vec<String>,
    #[command(flatten)]
    reach: AskArgs,
}

pub(crate) fn how(args: &HowArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let Some(memories) = context.existing_memories()? else { return Ok(ExitStatus::NoMatch) };
    let filter = args.reach.filter(&memories, context)?;
    let usages = memories.how(&args.command.join(" "), &filter)?;
    args.reach.print(&usages, print_usage, context.out)?;
    Ok(args.reach.end(usages.is_empty(), "no such command is known", &filter, context.out))
}

fn print_usage(usage: &Usage, out: &Printer) -> anyhow::Result<()> {
    let folder = usage.folder.as_ref().map(|folder| format!(" in {folder}")).unwrap_or_default();
    out.line(format_args!("{BOLD}{}{BOLD:#}", one_line(&usage.command, 200)))?;
    let worked = usage.runs - usage.failed;
    let (runs, tasks, at) = (counted(usage.runs, "run"), counted(usage.tasks, "task"), when(usage.at));
    out.line(format_args!(
        "     {DIM}{worked} of {runs} succeeded, {tasks}, last {at}{folder} · {}{DIM:#}",
        usage.task
    ))?;
    if let Some(error) = &usage.error {
        out.line(format_args!("     fails: {}", one_line(error, 160)))?;
    }
    Ok(())
}

/// Prints a task found by a search.
pub(crate) fn print_task(task: &FoundTask, explain: bool, out: &Printer) -> anyhow::Result<()> {
    out.line(format_args!("{BOLD}{:.2}{BOLD:#} {}", task.score.total, one_line(&task.goal, 200)))?;
    let (at, id) = (when(task.ended_at), &task.task);
    out.line(format_args!("     {DIM}task · {} · {at} · {} · {id}{DIM:#}", task.namespace, task.outcome))?;
    if !task.files.is_empty() {
        out.line(format_args!("     {DIM}changed: {}{DIM:#}", one_line(&task.files.join(", "), 200)))?;
    }
    print_freshness(&task.freshness, out)?;
    if explain {
        let (words, files) = (task.score.words, task.score.files);
        out.line(format_args!(
            "     {DIM}words {words:.2} · tasks of the same files {files:.2} (weighted parts){DIM:#}"
        ))?;
        out.line(format_args!("     {DIM}words: {}{DIM:#}", one_line(&task.matched.join(", "), 200)))?;
    }
    Ok(())
}

/// Prints the current state of a result's references: changed references first, and none that cannot be verified.
pub(crate) fn print_freshness(named: &[Freshness], out: &Printer) -> anyhow::Result<()> {
    if let Some(states) = spelled_states(named) {
        out.line(format_args!("     {DIM}now: {}{DIM:#}", one_line(&states, 200)))?;
    }
    Ok(())
}

fn when(at: Option<Timestamp>) -> String {
    at.map_or_else(|| "undated".to_owned(), day)
}
