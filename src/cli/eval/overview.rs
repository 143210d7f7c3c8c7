//! `eval results`: runs all suites of a page, and writes the page.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use afterthought_eval::overview::Overview;
use afterthought_eval::results::Results;
use anyhow::{Context as _, ensure};

use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::set_message;

use super::results::write_or_print;

/// Write a page with the figures of all suites
///
/// Reads the suites and their runs from FILE, runs them, and writes the page as Markdown. Suites whose data set is not
/// on this machine are listed as not measured. Paths in FILE are relative to the working directory.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval results --out docs/results.md\n  afterthought eval results --results target/results --out docs/results.md"
)]
pub(super) struct ResultsArgs {
    /// Description of the page
    #[arg(value_name = "FILE", default_value = "evals/results.toml")]
    page: PathBuf,
    /// Use the result files in this folder, and write missing ones into it
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Write the page into this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &ResultsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let overview = Overview::read(&args.page)?;
    let temporary = tempfile::tempdir().context("cannot create a temporary folder")?;
    let folder = args.results.as_deref().unwrap_or(temporary.path());
    let (bar, mut results) = (context.out.progress(), Vec::new());
    for suite in &overview.suites {
        let mut runs = Vec::new();
        for (place, run) in suite.runs.iter().enumerate() {
            let Some(arguments) = suite.arguments(run, |name| std::env::var(name).ok()) else { continue };
            let file = folder.join(suite.file_name(place + 1));
            if !file.exists() {
                set_message(&bar, &arguments.join(" "));
                measure(&arguments, &file)?;
            }
            runs.push(Results::read(&file)?);
        }
        results.push(runs);
    }
    bar.finish_and_clear();
    let text = overview.to_markdown(&results);
    write_or_print(&text, args.out.as_deref(), context)
}

/// Runs `eval` with `arguments` in a process of its own, because a run may use other prompts or another model.
fn measure(arguments: &[String], file: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.arg("eval").args(arguments).arg("--out").arg(file).arg("-q").stdout(Stdio::null());
    let status = command.status().context("cannot start a run")?;
    let is_complete = status.success() || status.code() == Some(i32::from(ExitStatus::Failures.code()));
    ensure!(is_complete, "`afterthought eval {}` failed", arguments.join(" "));
    Ok(())
}
