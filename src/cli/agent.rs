//! Installs, uninstalls and lists hooks in the settings of agents.

use std::fs;
use std::path::{Path, PathBuf};

use crate::api::on_path;
use crate::serve::hook::{self, Agent, commands_in};
use anyhow::{Context as _, bail, ensure};
use clap::Subcommand;
use serde_json::{Value, json};
use transcripts::true_path;

use super::args::{self, Context};
use super::changes::{Change, backup_of, edited, patched, report, show, text_of, write};
use super::exit::ExitStatus;
use super::printer::{Printer, can_ask, is_yes};

/// Commands about coding agents.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Install hooks in the settings of an agent
    ///
    /// Shows the change, asks before writing it, and keeps a copy of the original file. With --yes, only the names of the
    /// written files are shown. Claude Code also gets the slash
    /// commands /remember, /recall and /forget.
    #[command(
        after_help = "Examples:\n  afterthought agent install claude-code --dry-run\n  afterthought agent install codex --yes"
    )]
    Install {
        #[command(flatten)]
        target: Target,
        /// Also extract memories from sessions of sub-agents
        #[arg(long)]
        subagents: bool,
    },
    /// Remove the hooks from the settings of an agent
    #[command(after_help = "Example:\n  afterthought agent uninstall claude-code --dry-run")]
    Uninstall {
        #[command(flatten)]
        target: Target,
    },
    /// List supported agents and the hooks installed in them
    #[command(after_help = "Example:\n  afterthought agent list")]
    List,
}

/// The settings to change, and whether to ask first.
#[derive(Debug, clap::Args)]
pub(crate) struct Target {
    /// Agent: claude-code or codex
    #[arg(value_name = "AGENT")]
    agent: Agent,
    /// Change your settings for this folder, not for all projects
    #[arg(long)]
    project: bool,
    /// Show what would be written, but write nothing
    #[arg(long)]
    dry_run: bool,
    /// Write without asking
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(command: &AgentCommand, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    match command {
        AgentCommand::Install { target, subagents } => change(target, Some(*subagents), context),
        AgentCommand::Uninstall { target } => change(target, None, context),
        AgentCommand::List => list(context.out),
    }
}

fn list(out: &Printer) -> anyhow::Result<ExitStatus> {
    let mut rows = Vec::new();
    for agent in Agent::ALL.iter().copied() {
        for is_project in [false, true] {
            let path = settings_of(agent, is_project)?;
            // A missing file is the normal case and means that no hooks are installed.
            let text = fs::read_to_string(&path).unwrap_or_default();
            let hooks = commands_in(&parsed(&text, &path)?).len();
            rows.push(json!({"agent": agent.as_str(), "settings": path, "project": is_project, "hooks": hooks}));
        }
    }
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let header = ["agent", "hooks", "settings"];
    out.list(&rows, header, |row| header.map(|field| text(&row[field])))?;
    Ok(ExitStatus::Success)
}

/// Installs the hooks, including those for sub-agents if `install` is `Some(true)`, or removes the hooks if it is
/// `None`.
fn change(target: &Target, install: Option<bool>, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (out, agent) = (context.out, target.agent);
    let settings = settings_of(agent, target.project)?;
    let mut changes: Vec<Change> = settings_change(agent, install, &settings, context)?.into_iter().collect();
    if changes.is_empty() {
        report(out, &settings, if install.is_some() { "needs no change" } else { "has no afterthought hooks" }, false)?;
    }
    if agent == Agent::ClaudeCode {
        let folder = settings.with_file_name("commands");
        // Only Claude Code supports files for custom slash commands.
        let found = command_changes(&folder, install.is_none());
        changes.extend(found.with_context(|| format!("cannot read {}", folder.display()))?);
        for (path, text) in command_files(&folder) {
            if fs::read_to_string(&path).is_ok_and(|found| found != text) {
                out.note(format_args!("{} was not written by afterthought, so it is not changed", path.display()));
            }
        }
    }
    if changes.is_empty() {
        return Ok(ExitStatus::Success);
    }
    if target.project {
        changes.iter().try_for_each(|change| stays_inside(&change.path))?;
    }
    // Without a question to answer, the list of the written files is enough.
    if !out.is_json() && (target.dry_run || !target.yes) {
        changes.iter().try_for_each(|change| show(out, change))?;
    }
    if target.dry_run {
        changes.iter().try_for_each(|change| report(out, &change.path, "would be changed", false))?;
        return Ok(ExitStatus::Success);
    }
    let names = changes.iter().map(|change| change.path.display().to_string()).collect::<Vec<_>>().join(", ");
    // A script without a terminal must not wait for an answer, and must not count as consent.
    if !target.yes && !can_ask() {
        bail!("cannot ask for confirmation before writing {names}; add --yes, or use --dry-run to see the changes");
    }
    if !target.yes && !is_yes(&format!("Write this to {names}?"))? {
        changes.iter().try_for_each(|change| report(out, &change.path, "is not changed", false))?;
        return Ok(ExitStatus::NoMatch);
    }
    changes.iter().try_for_each(|change| write(change, out))?;
    if install.is_some() {
        advise(agent, out);
    }
    Ok(ExitStatus::Success)
}

/// Refuses a path in the working directory that leads out of it through a link, which may come from somebody else's
/// repository.
fn stays_inside(path: &Path) -> anyhow::Result<()> {
    let whole = std::path::absolute(path)?;
    let existing = whole.ancestors().find_map(|folder| folder.canonicalize().ok());
    let folder = std::env::current_dir()?.canonicalize()?;
    let is_inside = existing.is_none_or(|existing| existing.starts_with(&folder));
    ensure!(
        is_inside,
        "{} leads out of this folder through a link, so nothing was written; remove the link",
        path.display()
    );
    Ok(())
}

/// Returns the change to the settings, if there is one.
pub(super) fn settings_change(
    agent: Agent,
    install: Option<bool>,
    path: &Path,
    context: &Context<'_>,
) -> anyhow::Result<Option<Change>> {
    let found = text_of(path)?;
    let text = found.clone().unwrap_or_default();
    // The settings are compared as JSON and not as text, so that formatting alone does not cause a rewrite.
    let before = parsed(&text, path)?;
    let after = match install {
        Some(subagents) => hook::install(&before, agent, &program(context)?, subagents),
        None => hook::uninstall(&before),
    };
    let after = after.with_context(|| format!("{} was not changed", path.display()))?;
    if after == before {
        return Ok(None);
    }
    let is_nothing = |value: &Value| value.as_object().is_some_and(serde_json::Map::is_empty);
    // A link was made by the person, and may lead to a file that is shared between machines.
    if install.is_none() && is_nothing(&after) && !path.is_symlink() && !existed_before(path)? {
        return Ok(Some(Change { path: path.to_owned(), before: Some(text), after: None }));
    }
    let after = edited(&text, |text| patched(text, &before, &after))?;
    Ok(Some(Change { path: path.to_owned(), before: found, after: Some(after) }))
}

/// Returns whether the settings existed before an installation: each change of an existing file leaves a copy of it.
fn existed_before(path: &Path) -> anyhow::Result<bool> {
    let Some(text) = text_of(&backup_of(path, 1))? else { return Ok(false) };
    let Ok(former) = parsed(&text, path) else { return Ok(true) };
    // A second installation copies what the first one wrote.
    let is_own = !commands_in(&former).is_empty() && hook::uninstall(&former).is_ok_and(|rest| rest == json!({}));
    Ok(!is_own)
}

fn advise(agent: Agent, out: &Printer) {
    out.note(match agent {
        Agent::ClaudeCode => "new sessions use the hooks; `afterthought status --check` shows when they last ran",
        Agent::Codex => {
            "Codex runs new hooks only once you trust them: open /hooks in Codex; `afterthought status --check` shows \
             when they last ran"
        }
    });
}

/// Returns the path of an agent's settings file.
pub(super) fn settings_of(agent: Agent, project: bool) -> anyhow::Result<PathBuf> {
    let home = |variable: &str, folder: &str| -> anyhow::Result<PathBuf> {
        let set = std::env::var_os(variable).filter(|value| !value.is_empty());
        set.map_or_else(|| Ok(args::home()?.join(folder)), |folder| Ok(PathBuf::from(folder)))
    };
    Ok(match (agent, project) {
        (Agent::ClaudeCode, false) => home("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
        // `settings.json` is shared with the team, and hooks contain a path on this machine.
        (Agent::ClaudeCode, true) => PathBuf::from(".claude/settings.local.json"),
        (Agent::Codex, false) => home("CODEX_HOME", ".codex")?.join("hooks.json"),
        (Agent::Codex, true) => PathBuf::from(".codex/hooks.json"),
    })
}

pub(super) fn parsed(text: &str, path: &Path) -> anyhow::Result<Value> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    // Editors on Windows may write a byte order mark, which JSON does not allow.
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .with_context(|| format!("{} is not valid JSON and was not changed; fix it first", path.display()))
}

/// Returns the shell command that starts this program, with the options that hooks need.
fn program(context: &Context<'_>) -> anyhow::Result<String> {
    let mut words = program_words(context)?;
    // On Windows, an agent runs hooks in Git Bash, cmd or PowerShell, which differ in quoting. Only a command without
    // quotes works in all of them.
    let is_on_path =
        || on_path("afterthought").is_some_and(|found| true_path(&found) == true_path(Path::new(&words[0])));
    if cfg!(windows) && quoted(&words[0], true).starts_with('"') && is_on_path() {
        "afterthought".clone_into(&mut words[0]);
    }
    Ok(words.iter().map(|word| quoted(word, cfg!(windows))).collect::<Vec<_>>().join(" "))
}

/// Returns the path of this program and the options that agents need.
pub(super) fn program_words(context: &Context<'_>) -> anyhow::Result<Vec<String>> {
    // The full path is used, since agents may run hooks with a different `PATH`.
    let program = std::env::current_exe().context("cannot find the path of this program")?;
    let absolute = |path: &Path| std::path::absolute(path).with_context(|| format!("cannot use {}", path.display()));
    let mut words = vec![program.to_string_lossy().into_owned()];
    for (option, path) in [("--db", &context.global.db), ("--config", &context.global.config)] {
        if let Some(path) = path {
            words.extend([option.to_owned(), absolute(path)?.to_string_lossy().into_owned()]);
        }
    }
    if let Some(namespace) = &context.global.namespace {
        words.extend(["--namespace".to_owned(), namespace.to_string()]);
    }
    Ok(words)
}

fn quoted(word: &str, is_windows: bool) -> String {
    // Git Bash, in which Claude Code runs hooks on Windows, removes backslashes. All shells there accept `/`.
    let word = if is_windows { word.replace('\\', "/") } else { word.to_owned() };
    // Plain words stay unquoted, because the line is shown to the person and compared with installed commands.
    let is_plain =
        |letter: char| letter.is_alphanumeric() || "/._-+:@%".contains(letter) || is_windows && letter == '~';
    if word.chars().all(is_plain) {
        word
    } else if is_windows {
        format!("\"{word}\"")
    } else {
        // Within single quotes, only the quote itself is special, so the quotation is closed, the quote escaped, and
        // the quotation opened again.
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Slash commands of Claude Code: name, description, and argument hint.
///
/// Each is a file whose text the hook understands, so that the hook works whether it receives the typed command or the
/// expanded text. Without the files, Claude Code would reject a prompt that begins with an unknown command.
const COMMANDS: [(&str, &str, &str); 3] = [
    ("remember", "Remember something for later sessions", "what to remember"),
    ("recall", "Show the model what is remembered about something", "what to look for"),
    ("forget", "Forget a memory", "id, or what it is about"),
];

/// Returns the files to write to or remove from `folder`; a file with the same name that this program did not write is
/// not changed.
pub(super) fn command_changes(folder: &Path, undo: bool) -> anyhow::Result<Vec<Change>> {
    let mut changes = Vec::new();
    for (path, text) in command_files(folder) {
        let before = text_of(&path)?;
        // Only an exact copy is removed: an edited command may contain the person's own work.
        let is_ours = before.as_deref().is_some_and(|before| before == text);
        match (undo, is_ours) {
            (false, false) if before.is_none() => changes.push(Change { path, before, after: Some(text) }),
            (true, true) if !path.is_symlink() => changes.push(Change { path, before, after: None }),
            (false | true, _) => {}
        }
    }
    Ok(changes)
}

/// Returns the path and the text of each command.
fn command_files(folder: &Path) -> [(PathBuf, String); 3] {
    COMMANDS.map(|(name, does, follows)| {
        let text = format!(
            "---\ndescription: {does} (afterthought)\nargument-hint: <{follows}>\ndisable-model-invocation: true\n---\n/{name} $ARGUMENTS\n"
        );
        (folder.join(format!("{name}.md")), text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        assert_eq!(quoted("/opt/bin/afterthought", false), "/opt/bin/afterthought");
        assert_eq!(quoted("/it's here/x", false), r"'/it'\''s here/x'");
        let table = [
            (r"C:\Users\Ana\.cargo\bin\afterthought.exe", "C:/Users/Ana/.cargo/bin/afterthought.exe"),
            (r"C:\PROGRA~1\afterthought.exe", "C:/PROGRA~1/afterthought.exe"),
            (r"C:\Program Files\afterthought.exe", "\"C:/Program Files/afterthought.exe\""),
        ];
        for (path, word) in table {
            assert_eq!(quoted(path, true), word, "{path}");
        }
    }
}
