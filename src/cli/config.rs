//! Shows the settings in force, and writes a settings file to start from.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Subcommand;
use clap_complete::Shell;
use serde_json::json;

use crate::config::{Config, Folders, Layer, PROJECT_FILE, ProjectFile, TrustedFiles, template};

use super::args::Context;
use super::exit::ExitStatus;
use super::printer::{Printer, one_line};

/// Commands about settings.
#[derive(Debug, Subcommand)]
pub(crate) enum ConfigCommand {
    Init(InitArgs),
    Show(ShowArgs),
    Completions(CompletionsArgs),
}

/// Write a settings file that explains every setting
///
/// Writes your personal settings file or, with --project, an afterthought.toml in this folder. Never changes an
/// existing file.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought config init")]
pub(crate) struct InitArgs {
    /// Write afterthought.toml for the project in this folder
    #[arg(long)]
    project: bool,
}

const PROJECT_SETTINGS: &str = "\
# Settings of afterthought for this project. `afterthought project trust` puts each change into effect.

# The project of conversations in this folder or below it. Folders that name the same project share it.
# project = \"NAME\"

# What is kept.
# instructions = \"Keep decisions on the public API. Never keep names of customers.\"
# categories = [\"fact\", \"decision\", \"convention\", \"solution\"]

# [guard]
# Personal data that is redacted, in addition to what your own settings name.
# redact = [\"emails\", \"phones\"]
# Logs that are never read, as patterns, and files whose content no model may see.
# deny = [\"clients/**\"]
# deny_files = [\"*.pem\"]
";

/// Show the effective settings and where each comes from
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  afterthought config show\n  afterthought config show memory.retrieval")]
pub(crate) struct ShowArgs {
    /// Show only settings whose names begin with this prefix
    #[arg(value_name = "NAME")]
    prefix: Option<String>,
}

/// Runs a command about settings; `whole` returns the whole command line, for completions.
pub(crate) fn run(
    command: &ConfigCommand,
    whole: fn() -> clap::Command,
    context: &Context<'_>,
) -> anyhow::Result<ExitStatus> {
    match command {
        ConfigCommand::Init(args) => init(args, context),
        ConfigCommand::Show(args) => show(args, context),
        ConfigCommand::Completions(args) => completions(args, whole(), context.out),
    }
}

/// Maximum length of a value in the table, in characters.
const MAX_VALUE_CHARS: usize = 60;

fn show(args: &ShowArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (config, out) = (context.settings()?, context.out);
    let prefix = args.prefix.as_deref().unwrap_or_default();
    let shown: Vec<_> = config.each().into_iter().filter(|(name, ..)| name.starts_with(prefix)).collect();
    if shown.is_empty() {
        return Ok(out.nothing(format_args!("no setting begins with {prefix:?}; see `afterthought config show`")));
    }
    let text = |value: &serde_json::Value| {
        // The column is as wide as its widest value; --json prints long lists in full.
        if value.is_null() { "not set".to_owned() } else { one_line(&value.to_string(), MAX_VALUE_CHARS) }
    };
    let source = |layer: &Layer| layer.to_string();
    let rows = shown.into_iter();
    let rows: Vec<_> =
        rows.map(|(name, value, layer)| json!({"setting": name, "value": value, "source": source(layer)})).collect();
    out.list(&rows, ["setting", "value", "source"], |row| {
        [
            row["setting"].as_str().unwrap_or_default().to_owned(),
            text(&row["value"]),
            row["source"].as_str().unwrap_or_default().to_owned(),
        ]
    })?;
    Ok(ExitStatus::Success)
}

fn init(args: &InitArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (path, text) = if args.project {
        (PathBuf::from(PROJECT_FILE), PROJECT_SETTINGS.to_owned())
    } else {
        (Folders::of_platform()?.user_file, template(&Config::documentation()))
    };
    write_new(&path, &text)?;
    if args.project
        && let (Some(Ok(file)), Ok(folders)) = (ProjectFile::of(Path::new("")), context.global.folders())
    {
        // The new file sets nothing yet, so it is trusted. If this cannot be recorded, the next command reports that
        // the file is not trusted.
        TrustedFiles::in_state(&folders.state).add(&file).ok();
    }
    context.out.show(&json!({"wrote": path}), format_args!("wrote {}", path.display()))?;
    Ok(ExitStatus::Success)
}

fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    if path.exists() {
        bail!("{} already exists; edit it, or move it away first", path.display());
    }
    if let Some(folder) = path.parent() {
        crate::private::create_folder(folder)
            .with_context(|| format!("cannot create the folder {}", folder.display()))?;
    }
    // `create_new` closes the gap between the check above and the write, so no file is ever overwritten.
    let file = crate::private::options().write(true).create_new(true).open(path);
    let mut file = file.with_context(|| format!("cannot write {}", path.display()))?;
    file.write_all(text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))
}

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  afterthought config completions bash > ~/.afterthought-completions.bash")]
pub(crate) struct CompletionsArgs {
    /// Shell
    shell: Shell,
}

fn completions(args: &CompletionsArgs, mut whole: clap::Command, out: &Printer) -> anyhow::Result<ExitStatus> {
    // The script is written to memory first, because `generate` panics if it cannot write, for example to a closed
    // pipe.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut whole, "afterthought", &mut script);
    out.line(String::from_utf8_lossy(&script).trim_end())?;
    Ok(ExitStatus::Success)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Partial;

    #[test]
    fn the_settings_that_are_written_are_understood_once_uncommented() {
        for text in [template(&Config::documentation()).as_str(), PROJECT_SETTINGS] {
            let set: Vec<&str> = text
                .lines()
                .filter_map(|line| line.strip_prefix("# "))
                .filter(|line| line.starts_with('[') || line.split_whitespace().nth(1) == Some("="))
                .collect();
            let partial: Partial = toml::from_str(&set.join("\n")).unwrap();
            assert_ne!(partial, Partial::default());
            assert!(partial.guard.deny.is_some() && partial.guard.redact.is_some(), "{text}");
        }
    }
}
