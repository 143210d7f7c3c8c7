//! Hooks in the settings of agents: shown, asked about, backed up, and taken out again on demand.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use afterthought::serve::hook::{Agent, install, uninstall};
use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use similar::{ChangeTag, TextDiff};

use super::commands;
use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{ADDED, DIM, Printer, REMOVED};
use crate::cli::question::{can_ask, is_yes};

/// Options of `init claude-code` and `init codex`.
#[derive(Debug, clap::Args)]
pub(super) struct AgentArgs {
    /// For this folder alone: the settings in it that are yours and not the team's
    #[arg(long)]
    project: bool,
    /// Learn from sessions of sub-agents, too
    #[arg(long)]
    subagents: bool,
    /// Take the hooks out again
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    asking: Asking,
}

/// Whether somebody is asked before anything is written.
#[derive(Debug, clap::Args)]
struct Asking {
    /// Show what would be written, and write nothing
    #[arg(long)]
    dry_run: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

/// What is to become of a file.
#[derive(Debug)]
pub(super) struct Change {
    pub(super) path: PathBuf,
    /// What is in it; `None` where it is not there.
    pub(super) before: Option<String>,
    /// What is to be in it; `None` where it is to go.
    pub(super) after: Option<String>,
}

pub(super) fn run(agent: Agent, args: &AgentArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let out = context.out;
    let settings = settings_of(agent, args.project)?;
    let mut changes: Vec<Change> = settings_change(agent, args, &settings, context)?.into_iter().collect();
    if changes.is_empty() {
        tell(out, &settings, if args.undo { "holds no hooks of afterthought" } else { "is as it should be" }, false)?;
    }
    if agent == Agent::ClaudeCode {
        let folder = settings.with_file_name("commands");
        let found = commands::changes(&folder, args.undo);
        changes.extend(found.with_context(|| format!("cannot read {}", folder.display()))?);
        for other in commands::foreign(&folder) {
            out.note(format_args!("{} is not of afterthought and is left as it is", other.display()));
        }
    }
    if changes.is_empty() {
        return Ok(ExitStatus::Success);
    }
    if !out.is_json() {
        changes.iter().try_for_each(|change| show(out, change))?;
    }
    if args.asking.dry_run {
        changes.iter().try_for_each(|change| tell(out, &change.path, "would be changed", false))?;
        return Ok(ExitStatus::Success);
    }
    let names = changes.iter().map(|change| change.path.display().to_string()).collect::<Vec<_>>().join(", ");
    if !args.asking.yes && !can_ask() {
        bail!("nobody can be asked whether to write {names}; add --yes, or --dry-run to look only");
    }
    if !args.asking.yes && !is_yes(&format!("Write this to {names}?"))? {
        changes.iter().try_for_each(|change| tell(out, &change.path, "is left as it is", false))?;
        return Ok(ExitStatus::NoMatch);
    }
    changes.iter().try_for_each(|change| write(change, out))?;
    advise(agent, args, out);
    Ok(ExitStatus::Success)
}

/// Returns what is to become of the settings, if anything.
fn settings_change(
    agent: Agent,
    args: &AgentArgs,
    path: &Path,
    context: &Context<'_>,
) -> anyhow::Result<Option<Change>> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", path.display())),
    };
    let before = parsed(&text, path)?;
    let after =
        if args.undo { uninstall(&before) } else { install(&before, agent, &program(context)?, args.subagents) };
    let after = after.with_context(|| format!("{} is left as it is", path.display()))?;
    if after == before {
        return Ok(None);
    }
    let after = serde_json::to_string_pretty(&after).context("cannot spell the settings")? + "\n";
    Ok(Some(Change { path: path.to_owned(), before: Some(text).filter(|text| !text.is_empty()), after: Some(after) }))
}

fn write(change: &Change, out: &Printer) -> anyhow::Result<()> {
    let path = &change.path;
    let Some(after) = &change.after else {
        fs::remove_file(path).with_context(|| format!("cannot remove {}", path.display()))?;
        return tell(out, path, "is removed", true);
    };
    let backup = change.before.as_ref().map(|_| back_up(path)).transpose()?;
    replace(path, after)?;
    if let Some(backup) = backup {
        out.note(format_args!("{DIM}as it was: {}{DIM:#}", backup.display()));
    }
    tell(out, path, "is written", true)
}

fn advise(agent: Agent, args: &AgentArgs, out: &Printer) {
    if args.undo {
        return;
    }
    match agent {
        Agent::ClaudeCode => out.note("sessions that begin from now on have the hooks; `afterthought doctor` tells when they fire"),
        Agent::Codex => out.note(
            "Codex runs new hooks only once you trust them: open /hooks in it; `afterthought doctor` tells when they fire",
        ),
    }
}

/// Returns where an agent's settings are.
pub(in crate::cli) fn settings_of(agent: Agent, project: bool) -> anyhow::Result<PathBuf> {
    let home = |variable: &str, folder: &str| -> anyhow::Result<PathBuf> {
        let set = std::env::var_os(variable).filter(|value| !value.is_empty());
        match set {
            Some(folder) => Ok(PathBuf::from(folder)),
            None => Ok(etcetera::home_dir().context("there is no home folder")?.join(folder)),
        }
    };
    Ok(match (agent, project) {
        (Agent::ClaudeCode, false) => home("CLAUDE_CONFIG_DIR", ".claude")?.join("settings.json"),
        // The team's file beside it would hold a path of this machine.
        (Agent::ClaudeCode, true) => PathBuf::from(".claude/settings.local.json"),
        (Agent::Codex, false) => home("CODEX_HOME", ".codex")?.join("hooks.json"),
        (Agent::Codex, true) => PathBuf::from(".codex/hooks.json"),
    })
}

pub(in crate::cli) fn parsed(text: &str, path: &Path) -> anyhow::Result<Value> {
    if text.trim().is_empty() {
        return Ok(json!({}));
    }
    serde_json::from_str(text.trim_start_matches('\u{feff}'))
        .with_context(|| format!("{} is no valid JSON and is left as it is; put that right first", path.display()))
}

/// Returns how a shell calls this program, with the options that hooks need.
fn program(context: &Context<'_>) -> anyhow::Result<String> {
    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let absolute = |path: &Path| std::path::absolute(path).with_context(|| format!("cannot use {}", path.display()));
    let mut words = vec![quoted(&program.to_string_lossy())];
    for (option, path) in [("--db", &context.global.db), ("--config", &context.global.config)] {
        if let Some(path) = path {
            words.extend([option.to_owned(), quoted(&absolute(path)?.to_string_lossy())]);
        }
    }
    if let Some(namespace) = &context.global.namespace {
        words.extend(["--namespace".to_owned(), quoted(&namespace.to_string())]);
    }
    Ok(words.join(" "))
}

fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "/._-+:@%".contains(letter);
    if word.chars().all(is_plain) {
        word.to_owned()
    } else if cfg!(windows) {
        format!("\"{word}\"")
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn show(out: &Printer, change: &Change) -> anyhow::Result<()> {
    let [before, after] = [&change.before, &change.after].map(|text| text.as_deref().unwrap_or_default());
    out.line(format_args!("{DIM}{}{DIM:#}", change.path.display()))?;
    for change in TextDiff::from_lines(before, after).unified_diff().context_radius(2).iter_hunks().flat_map(|hunk| {
        hunk.iter_changes().map(|change| (change.tag(), change.value().trim_end().to_owned())).collect::<Vec<_>>()
    }) {
        match change {
            (ChangeTag::Insert, line) => out.line(format_args!("{ADDED}+ {line}{ADDED:#}"))?,
            (ChangeTag::Delete, line) => out.line(format_args!("{REMOVED}- {line}{REMOVED:#}"))?,
            (ChangeTag::Equal, line) => out.line(format_args!("  {line}"))?,
        }
    }
    Ok(())
}

fn tell(out: &Printer, path: &Path, what: &str, wrote: bool) -> anyhow::Result<()> {
    if out.is_json() {
        out.json(&json!({"settings": path, "wrote": wrote, "state": what}))?;
    } else {
        out.line(format_args!("{} {what}", path.display()))?;
    }
    Ok(())
}

/// Copies the file beside itself, under a name that is free.
fn back_up(path: &Path) -> anyhow::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let backup = (1..).map(|number| path.with_file_name(format!("{name}.before-afterthought-{number}")));
    let backup = backup.into_iter().find(|backup| !backup.exists()).context("no name is free for a backup")?;
    fs::copy(path, &backup).with_context(|| format!("cannot back up {}", path.display()))?;
    Ok(backup)
}

/// Puts `text` in the place of the file in one step; a link to it stays one.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let folder = target.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let failed = || format!("cannot write {}", path.display());
    fs::create_dir_all(folder).with_context(failed)?;
    let mut fresh = tempfile::NamedTempFile::new_in(folder).with_context(failed)?;
    fresh.write_all(text.as_bytes()).with_context(failed)?;
    if let Ok(data) = fs::metadata(&target) {
        fs::set_permissions(fresh.path(), data.permissions()).with_context(failed)?;
    }
    fresh.persist(&target).map(drop).with_context(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_as_a_shell_takes_them() {
        assert_eq!(quoted("/opt/bin/afterthought"), "/opt/bin/afterthought");
        if !cfg!(windows) {
            assert_eq!(quoted("/it's here/x"), r"'/it'\''s here/x'");
        }
    }

    #[test]
    fn a_backup_never_takes_the_place_of_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "{}").unwrap();
        assert!(back_up(&path).unwrap().ends_with("settings.json.before-afterthought-1"));
        assert!(back_up(&path).unwrap().ends_with("settings.json.before-afterthought-2"));
    }
}
