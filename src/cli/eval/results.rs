//! `eval compare`, `eval gate` and `eval report`, which work on result files.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use afterthought_eval::compare::compare;
use afterthought_eval::gate::{Baseline, Ruling, judge};
use afterthought_eval::overview::Overview;
use afterthought_eval::report::{Block, Cell, Detail, Rating, to_markdown};
use afterthought_eval::results::Results;
use anyhow::{Context as _, ensure};

use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{ADDED, BOLD, CHANGED, DIM, PLAIN, Printer, REMOVED, StyleMark, one_line, set_message};

/// Maximum length of text on one line, in characters.
const WIDTH: usize = 220;

/// Prints the blocks of a report.
pub(super) fn print_blocks(blocks: &[Block], out: &Printer) -> anyhow::Result<()> {
    for block in blocks {
        match block {
            Block::Heading(title) => out.line(format_args!("{BOLD}{title}{BOLD:#}\n"))?,
            Block::Line(line) => out.line(format_args!("{line}\n"))?,
            Block::Table(rows) => print_table(rows, out)?,
            Block::Case(case, about, lines) => {
                let (tone, about) = (style(about.tone), one_line(&about.text, WIDTH));
                out.line(format_args!("{BOLD}{case}{BOLD:#}  {tone}{about}{tone:#}"))?;
                for line in lines {
                    let style = style(line.tone);
                    // The fault is coloured, the text is not.
                    let line = one_line(&line.text, WIDTH);
                    let (head, rest) = line.split_once(": ").unwrap_or((&line, ""));
                    let colon = if rest.is_empty() { "" } else { ": " };
                    out.line(format_args!("  {style}{head}{style:#}{colon}{rest}"))?;
                }
                out.line("")?;
            }
            Block::Note(line) => out.note(line),
        }
    }
    Ok(())
}

/// Prints a table, with colours where cells have an assessment.
fn print_table(rows: &[Vec<Cell>], out: &Printer) -> anyhow::Result<()> {
    if rows.iter().flatten().all(|cell| cell.tone == Rating::Plain) {
        let mut rows = rows.iter().map(|cells| cells.iter().map(|cell| cell.text.clone()));
        out.table(rows.next().into_iter().flatten(), rows)?;
        return Ok(out.line("")?);
    }
    // The printer's tables would count colour codes as text.
    let length = |cells: &Vec<Cell>, at: usize| cells.get(at).map_or(0, |cell| cell.text.chars().count());
    for cells in rows {
        let mut line = String::new();
        // Trailing empty cells would only add spaces at the end of the line.
        let used = cells.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        for (at, cell) in cells[..used].iter().enumerate() {
            let width = rows.iter().map(|cells| length(cells, at)).max().unwrap_or_default();
            let (style, text) = (style(cell.tone), &cell.text);
            let gap = if at + 1 < used { width + 1 - length(cells, at) } else { 0 };
            let _ = write!(line, " {style}{text}{style:#}{:gap$}", "");
        }
        out.line(line)?;
    }
    Ok(out.line("")?)
}

const fn style(tone: Rating) -> StyleMark {
    match tone {
        Rating::Plain => PLAIN,
        Rating::Good => ADDED,
        Rating::Middling => CHANGED,
        Rating::Bad => REMOVED,
        Rating::Dim => DIM,
    }
}

/// Returns the level of detail of printed reports.
pub(super) fn detail(out: &Printer) -> Detail {
    if out.is_verbose() { Detail::Full } else { Detail::Short }
}

fn read_all(paths: &[PathBuf]) -> anyhow::Result<Vec<Results>> {
    Ok(paths.iter().map(|path| Results::read(path)).collect::<Result<_, _>>()?)
}

/// Compare two runs of the same cases
///
/// Reads two files written by `eval --out`. For each measure, shows the difference with its 95 % confidence interval
/// (paired bootstrap across cases), the p-value (paired randomisation test, also with Holm's correction for all
/// measures), and the smallest difference that this number of cases would detect in 80 of 100 runs. Also shows the cost
/// of both runs, and the cases that changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval compare before.json after.json\n  afterthought eval compare a.json b.json --json"
)]
pub(super) struct CompareArgs {
    /// Results of the first run
    #[arg(value_name = "A")]
    a: PathBuf,
    /// Results of the second run, which is compared with the first
    #[arg(value_name = "B")]
    b: PathBuf,
}

pub(super) fn run_compare(args: &CompareArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (found, out) = (compare(&Results::read(&args.a)?, &Results::read(&args.b)?)?, context.out);
    if out.is_json() {
        out.json(&found)?;
    } else {
        print_blocks(&found.blocks(detail(out)), out)?;
    }
    Ok(ExitStatus::Success)
}

/// Check results against a baseline
///
/// Reads files written by `eval --out`. There is no tolerance for a suite that yields the same figures in every run
/// (rules, controls, recorded replies): no measure of any case may be worse than in the baseline. Scores of other
/// suites are compared using the 95 % confidence interval across cases. If a suite in the baseline was not run, the
/// command reports this and skips it. If figures cannot be compared, this is an error. Exits 1 if something got worse,
/// and 2 on an error.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval gate --baseline evals/baseline.json smoke.json\n  afterthought eval gate --baseline evals/baseline.json --renew smoke.json"
)]
pub(super) struct GateArgs {
    /// Baseline file
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Record these figures in the baseline; keep other suites
    #[arg(long)]
    renew: bool,
    /// Results to check
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
}

pub(super) fn run_gate(args: &GateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let (results, out) = (read_all(&args.results)?, context.out);
    if args.renew {
        // The first renewal creates the file.
        let mut baseline = if args.baseline.exists() { Baseline::read(&args.baseline)? } else { Baseline::default() };
        let renewed = baseline.renew(&results)?;
        ensure!(!renewed.is_empty(), "the results have no rows, so there are no figures to record in the baseline");
        baseline.write(&args.baseline)?;
        out.note(format_args!("{} now has {}", args.baseline.display(), renewed.join(", ")));
        return Ok(ExitStatus::Success);
    }
    let judged = judge(&Baseline::read(&args.baseline)?, &results);
    if out.is_json() {
        out.json(&judged)?;
    } else {
        print_blocks(&judged.iter().map(|one| one.block(detail(out))).collect::<Vec<_>>(), out)?;
    }
    if judged.iter().any(afterthought_eval::gate::SuiteRuling::is_better) {
        out.note("improvements are recorded in the baseline only with --renew");
    }
    Ok(match judged.iter().map(|one| one.ruling).max() {
        Some(Ruling::Wrong) => ExitStatus::Error,
        // Exit 1 distinguishes a regression from an error, which is 2.
        Some(Ruling::Worse) => ExitStatus::NoMatch,
        Some(Ruling::Passed | Ruling::Skipped) | None => ExitStatus::Success,
    })
}

/// Write a report about runs as Markdown
///
/// Reads files written by `eval --out`. The report contains measures with their intervals, groups of cases, expected
/// and actual values, and all findings. All text from conversations is escaped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval report run.json\n  afterthought eval report rules.json model.json --out report.md"
)]
pub(super) struct ReportArgs {
    /// Results to report
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// Write the report to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run_report(args: &ReportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let text = to_markdown(&read_all(&args.results)?);
    write_or_print(&text, args.out.as_deref(), context)
}

/// Writes `text` into a file, or prints it if no file is given.
pub(super) fn write_or_print(text: &str, file: Option<&Path>, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    if let Some(path) = file {
        std::fs::write(path, text)
            .with_context(|| format!("cannot write {}; check the folder and its permissions", path.display()))?;
        context.out.note(format_args!("wrote {}", path.display()));
    } else {
        context.out.line(text.trim_end())?;
    }
    Ok(ExitStatus::Success)
}

/// Write a page with the figures of all suites
///
/// Reads the suites and their runs from FILE, runs them, and writes the page as Markdown. Suites whose data sets are
/// not on this machine are listed as not measured. Paths in FILE are relative to the working directory.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval results --out docs/results.md\n  afterthought eval results --results target/results --out docs/results.md"
)]
pub(super) struct ResultsArgs {
    /// File that describes the page
    #[arg(value_name = "FILE", default_value = "evals/results.toml")]
    page: PathBuf,
    /// Folder of result files; missing ones are written there
    #[arg(long, value_name = "DIR")]
    results: Option<PathBuf>,
    /// Write the page to this file [default: standard output]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run_results(args: &ResultsArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
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

/// Runs `eval` with `arguments` in a separate process, because each run may use different prompts or a different model.
fn measure(arguments: &[String], file: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(std::env::current_exe().context("cannot find this program")?);
    command.arg("eval").args(arguments).arg("--out").arg(file).arg("-q").stdout(Stdio::null());
    let status = command.status().context("cannot start a run")?;
    let is_complete = status.success() || status.code() == Some(i32::from(ExitStatus::Failures.code()));
    ensure!(is_complete, "`afterthought eval {}` failed", arguments.join(" "));
    Ok(())
}
