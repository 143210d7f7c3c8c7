//! `setup`: finds agents, logs and models, connects the agents, and reads the first logs.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::api::{Filter, Model, ModelOptions, Order, Query, SourceTotals, logins, survey};
use crate::memory::Status;
use crate::serve::hook::{self, Agent};
use anyhow::{Context as _, bail};
use serde_json::json;

use super::agent::{command_changes, parsed, program_words, settings_change, settings_of};
use super::args::{Context, arguments, home, machine};
use super::changes::{Change, FileOutcome, edited, patched, report, show, take_back, text_of, write_recorded};
use super::exit::ExitStatus;
use super::hosts::{HOSTS, Host};
use super::list::lines;
use super::model::runtime;
use super::printer::{BOLD, DIM, Printer, can_ask, counted, is_yes, size};

/// Number of memories that are shown at the end.
const SHOWN: usize = 5;

/// Connect all agents on this machine, and read their logs
///
/// Installs hooks and MCP servers. Lists the agents, logs and models on this machine, the files to change and the logs
/// to read, and asks before it changes or reads any of them. --undo restores every file byte for byte, and keeps the
/// memories.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought setup\n  afterthought setup --dry-run\n  afterthought setup --undo")]
pub(crate) struct SetupArgs {
    /// Install without asking, and read logs with the offline rules
    #[arg(short, long)]
    yes: bool,
    /// Show what would be written, but write nothing
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,
    /// Restore every changed file to its original content
    #[arg(long, conflicts_with_all = ["yes", "dry_run"])]
    undo: bool,
}

pub(crate) fn run(args: &SetupArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let record = context.global.folders()?.state.join("setup.json");
    if args.undo {
        return undo(&record, context);
    }
    let out = context.out;
    let hosts: Vec<&Host> = HOSTS.iter().filter(|host| is_used(host)).collect();
    let found = survey(&machine(), &[], context.memories_if_any()?.as_ref()).context("cannot look for logs")?;
    if hosts.is_empty() && found.is_empty() {
        return Ok(out.nothing("neither agents nor their logs were found; pass a log to `afterthought run`"));
    }
    let mut changes = Vec::new();
    heading("Agents, and the files that connect them", out)?;
    for host in hosts {
        match changes_of(host, context) {
            Ok(of_host) => {
                describe(host, &of_host, context)?;
                changes.extend(of_host);
            }
            // One faulty file must not keep the other agents from being connected.
            Err(error) => out.error(&error.context(format!("{} is not changed", host.name))),
        }
    }
    heading("Logs", out)?;
    for one in &found {
        let SourceTotals { files, bytes, files_new, .. } = one.total;
        let (files, bytes, new) = (counted(files, "file"), size(bytes), files_new);
        if out.is_json() {
            out.json(one)?;
        } else {
            out.line(format_args!("  {:<12} {files} of {bytes}, {new} not read yet", one.source))?;
        }
    }
    let model = runtime()?.block_on(Model::choose(&context.settings()?, &ModelOptions::default()))?;
    heading("Model", out)?;
    if !out.is_json() {
        out.text(format_args!("  {}", described(&model)))?;
    }
    if model.name().is_some() && !args.yes && !found.is_empty() {
        heading("Cost of reading the logs", out)?;
        super::run::run(&arguments(&["--from", "all", "--estimate"])?, context)?;
    }
    if args.dry_run {
        changes.iter().try_for_each(|change| show(out, change))?;
        out.note("nothing was written; `afterthought setup` asks before it writes");
        return Ok(ExitStatus::Success);
    }
    if !args.yes && !can_ask() {
        bail!("cannot ask for confirmation; add --yes, or use --dry-run to see the changes");
    }
    if !changes.is_empty() && (args.yes || is_yes(&format!("Write {}?", counted(changes.len(), "file")))?) {
        write_recorded(&changes, &record, out)?;
        out.note(format_args!("{DIM}`afterthought setup --undo` restores these files{DIM:#}"));
        if changes.iter().any(|change| change.path.ends_with("hooks.json")) {
            out.note("Codex runs new hooks only once you trust them: open /hooks in Codex");
        }
    }
    if found.is_empty() { Ok(ExitStatus::Success) } else { read_logs(args.yes, &model, context) }
}

/// Describes the model that would be used, and how to choose another.
fn described(model: &Model) -> String {
    match (model.reason().or(model.name()), logins().first()) {
        (Some(found), _) => found.to_owned(),
        (None, Some(login)) => {
            format!(
                "none is configured, so the offline rules are used, which cost nothing; to use the login of {login}, \
                 pass `--model {login}` to `afterthought run`"
            )
        }
        (None, None) => {
            "none is configured, so the offline rules are used, which cost nothing; `afterthought status --check` \
             shows how to configure a model"
                .to_owned()
        }
    }
}

/// Reads the logs of all agents, and shows the most important memories.
fn read_logs(is_silent: bool, model: &Model, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let how = match model.name() {
        Some(name) if !is_silent => format!("with {name}, which receives their text"),
        _ => "with the offline rules".to_owned(),
    };
    if !is_silent && !is_yes(&format!("Read the logs now, {how}?"))? {
        out.note("`afterthought run --from all` reads the logs later; --estimate shows what this costs");
        return Ok(ExitStatus::Success);
    }
    let mut words = vec!["--from", "all"];
    if is_silent || model.name().is_none() {
        words.extend(["--extractor", "rules"]);
    }
    let status = super::run::run(&arguments(&words)?, context)?;
    show_best(context)?;
    Ok(status)
}

/// Shows the most important memories of all projects, and the next step.
fn show_best(context: &Context<'_>) -> anyhow::Result<()> {
    let (memories, out) = (context.memories()?, context.out);
    let filter = Filter { statuses: vec![Status::Active], ..Filter::default() };
    let query = Query { filter, order: Order::Importance, limit: SHOWN, ..Query::default() };
    let best = memories.query_memories(&query)?;
    if out.is_json() {
        return Ok(best.iter().try_for_each(|memory| out.json(memory))?);
    }
    if best.is_empty() {
        out.note("next: `afterthought remember TEXT`, or start a session with your agent");
        return Ok(());
    }
    out.line("")?;
    heading("The most important memories", out)?;
    best.iter().try_for_each(|memory| lines(memory, out))?;
    out.note("next: `afterthought search WORDS`, or start a session with your agent");
    Ok(())
}

fn heading(text: &str, out: &Printer) -> anyhow::Result<()> {
    Ok(if out.is_json() { Ok(()) } else { out.line(format_args!("{BOLD}{text}{BOLD:#}")) }?)
}

/// Returns the changes that connect `host`: its hooks, if it has any, its commands, and the MCP server.
fn changes_of(host: &Host, context: &Context<'_>) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    if let Ok(agent) = host.name.parse::<Agent>() {
        let settings = settings_of(agent, false)?;
        changes.extend(settings_change(agent, Some(false), &settings, context)?);
        if agent == Agent::ClaudeCode {
            changes.extend(command_changes(&settings.with_file_name("commands"), false)?);
        }
    }
    let path = settings_path(host)?;
    let before = text_of(&path)?;
    let words: Vec<String> =
        program_words(context)?.into_iter().chain(["serve".to_owned(), "mcp".to_owned()]).collect();
    let after = host
        .register(before.as_deref().unwrap_or_default(), &words)
        .with_context(|| format!("{} was not changed", path.display()))?;
    if before.as_deref() != Some(after.as_str()) {
        changes.push(Change { path, before, after: Some(after) });
    }
    Ok(changes)
}

fn describe(host: &Host, changes: &[Change], context: &Context<'_>) -> anyhow::Result<()> {
    let out = context.out;
    if out.is_json() {
        let files: Vec<_> = changes.iter().map(|change| &change.path).collect();
        return Ok(out.json(&json!({"agent": host.name, "files": files}))?);
    }
    let has_hooks = host.name.parse::<Agent>().is_ok();
    let what = match (changes.is_empty(), has_hooks) {
        (true, _) => "connected already".to_owned(),
        (false, true) => format!("hooks and MCP server, {}", counted(changes.len(), "file")),
        (false, false) => format!("MCP server, {}", counted(changes.len(), "file")),
    };
    out.line(format_args!("  {:<12} {what}", host.name))?;
    for change in changes {
        let is_new = if change.before.is_some() { "" } else { " (new)" };
        out.line(format_args!("               {DIM}{}{is_new}{DIM:#}", change.path.display()))?;
    }
    Ok(())
}

fn undo(record: &Path, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let done = take_back(record, without_ours)?;
    if done.is_empty() {
        return Ok(
            out.nothing("nothing to undo: no setup is recorded; `afterthought agent uninstall AGENT` removes hooks")
        );
    }
    for (path, outcome) in done {
        let what = match outcome {
            FileOutcome::Restored => "is restored",
            FileOutcome::Removed => "is removed, because it did not exist before",
            FileOutcome::ChangedSince => "was changed later, so only the entries of afterthought were removed",
            FileOutcome::Gone => "is gone",
        };
        report(out, &path, what, outcome != FileOutcome::Gone)?;
    }
    Ok(ExitStatus::Success)
}

/// Removes the hooks and the MCP server from a file that was changed after the setup.
fn without_ours(path: &Path) -> anyhow::Result<()> {
    let Some(before) = text_of(path)? else { return Ok(()) };
    let host = HOSTS.iter().find(|host| settings_path(host).is_ok_and(|settings| settings == path));
    let after = match host {
        Some(host) => host.unregister(&before)?,
        None if path.extension().is_some_and(|kind| kind == "json") => {
            let settings = parsed(&before, path)?;
            let clean = hook::uninstall(&settings)?;
            edited(&before, |text| patched(text, &settings, &clean))?
        }
        // A slash command that somebody has edited is not removed.
        None => return Ok(()),
    };
    super::changes::replace(path, &after)
}

fn environment(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value: &OsString| !value.is_empty()).map(PathBuf::from)
}

fn settings_path(host: &Host) -> anyhow::Result<PathBuf> {
    Ok(host.settings(&home()?, &environment))
}

fn is_used(host: &Host) -> bool {
    home().is_ok_and(|home| host.is_used(&home, &environment))
}
