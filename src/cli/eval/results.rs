//! `eval compare`, `eval gate` and `eval report`: what is done with result files.

use std::fmt::Write as _;
use std::path::PathBuf;

use afterthought_eval::compare::{
    CaseChange, Comparison, Difference, Direction, MeasureChange, SuiteComparison, Verdict, compare,
};
use afterthought_eval::gate::{Baseline, Ruling, SuiteRuling, judge};
use afterthought_eval::report::{Block, Cell, Tone, results_to_markdown};
use afterthought_eval::results::Results;
use afterthought_eval::row::Unit;
use anstyle::Style;
use anyhow::{Context as _, bail, ensure};

use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted, one_line};

/// Changed cases that are listed, unless all are wanted.
const CHANGES: usize = 8;
/// Findings of a changed case, or improvements of a suite, that are listed unless all are wanted.
const LINES: usize = 6;
/// Longest text on one line, in characters.
const WIDTH: usize = 220;

/// Prints the blocks of a report.
pub(super) fn print_blocks(blocks: &[Block], out: &Printer) -> anyhow::Result<()> {
    for block in blocks {
        match block {
            Block::Heading(title) => out.line(format_args!("{BOLD}{title}{BOLD:#}\n"))?,
            Block::Line(line) => out.line(format_args!("{line}\n"))?,
            Block::Table(rows) => {
                print_table(rows, out)?;
                out.line("")?;
            }
            Block::Case(case, about, lines) => {
                out.line(format_args!("{BOLD}{case}{BOLD:#}  {DIM}{}{DIM:#}", one_line(about, WIDTH)))?;
                for (tone, line) in lines {
                    let style = style(*tone);
                    // The fault is coloured, the text is not.
                    let line = one_line(line, WIDTH);
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
    if rows.iter().flatten().all(|cell| cell.tone == Tone::Plain) {
        let texts = rows.iter().map(|cells| cells.iter().map(|cell| cell.text.clone()).collect());
        return Ok(out.rows(texts.collect())?);
    }
    // Tables of the printer would count the codes of colours as text.
    let columns = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |at: usize| rows.iter().filter_map(|cells| cells.get(at)).map(|cell| cell.text.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|at| width(at).unwrap_or_default()).collect();
    for cells in rows {
        let mut line = String::new();
        let used = cells.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |last| last + 1);
        for (at, cell) in cells[..used].iter().enumerate() {
            let (style, text) = (style(cell.tone), &cell.text);
            let gap = if at + 1 < used { widths[at] + 2 - text.chars().count() } else { 0 };
            let gap = gap.saturating_sub(1);
            let _ = write!(line, " {style}{text}{style:#}{:gap$}", "");
        }
        out.line(line)?;
    }
    Ok(())
}

const fn style(tone: Tone) -> Style {
    match tone {
        Tone::Plain => Style::new(),
        Tone::Good => ADDED,
        Tone::Middling => CHANGED,
        Tone::Bad => REMOVED,
        Tone::Dim => DIM,
    }
}

/// Compare two runs of the same cases
///
/// Reads two files written by `eval --out`. Shows each measure's difference with its 95 % interval (paired bootstrap over
/// cases), the probability of a difference as large by chance (paired randomisation test, also corrected for all measures
/// after Holm), and the smallest difference that this number of cases would show in 80 of 100 runs. Then shows what both
/// cost, and the cases that changed.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval compare before.json after.json\n  afterthought eval compare a.json b.json --json"
)]
pub(super) struct CompareArgs {
    /// The first run
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second run, which is compared with it
    #[arg(value_name = "B")]
    b: PathBuf,
}

pub(super) fn run_compare(args: &CompareArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let found = compare(&Results::read(&args.a)?, &Results::read(&args.b)?)?;
    let out = context.out;
    if out.is_json() {
        out.json(&found)?;
    } else {
        print_comparison(&found, out)?;
    }
    Ok(ExitStatus::Success)
}

fn print_comparison(found: &Comparison, out: &Printer) -> anyhow::Result<()> {
    for (name, manifest) in [("A", &found.a), ("B", &found.b)] {
        out.line(format_args!("{BOLD}{name}{BOLD:#}  {}", manifest.summary()))?;
    }
    for suite in &found.suites {
        print_suite(suite, out)?;
    }
    for alone in &found.alone {
        out.note(format_args!("{alone} is in one of the two alone, and left out"));
    }
    Ok(())
}

fn print_suite(suite: &SuiteComparison, out: &Printer) -> anyhow::Result<()> {
    out.line("")?;
    let left_out = match suite.left_out.len() {
        0 => String::new(),
        count => format!(", {count} left out that only one has run"),
    };
    out.line(format_args!(
        "{BOLD}{}{BOLD:#} ({}): {}{left_out}",
        suite.suite,
        suite.kind,
        counted(suite.cases as u64, "case")
    ))?;
    if suite.changed {
        out.warn(format_args!("the cases of {} were changed between the two runs", suite.suite));
    }
    let header = ["measure", "A", "B", "B − A", "95 % interval", "p", "p of all", "shows from", ""];
    out.table(header, suite.measures.iter().map(cells).collect())?;
    for (name, cost) in ["A", "B"].iter().zip(&suite.cost) {
        out.line(format_args!("{name} cost {}", cost.summary()))?;
    }
    print_changes(&suite.changes, out)
}

fn cells(one: &Difference) -> [String; 9] {
    let number = |value: Option<f64>| one.unit.format(value);
    let signed = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| self::signed(value, one.unit));
    let chance = |p: Option<f64>| {
        p.map_or_else(|| "–".to_owned(), |p| if p < 0.001 { "<.001".into() } else { format!("{p:.3}") })
    };
    let (style, word) = match one.verdict {
        Verdict::Better => (ADDED, "better"),
        Verdict::Worse => (REMOVED, "worse"),
        Verdict::Unclear => (DIM, "unclear"),
        Verdict::Same => (DIM, "same"),
    };
    let interval = one
        .interval
        .map(|bounds| format!("{} to {}", self::signed(bounds.low, one.unit), self::signed(bounds.high, one.unit)));
    [
        one.name.clone(),
        number(one.a),
        number(one.b),
        signed(one.difference),
        interval.unwrap_or_else(|| "–".to_owned()),
        chance(one.p),
        chance(one.p_of_all),
        one.least.map_or_else(|| "–".to_owned(), |least| format!("±{}", one.unit.format(Some(least)))),
        format!("{style}{word}{style:#}"),
    ]
}

fn signed(value: f64, unit: Unit) -> String {
    let text = unit.format(Some(value.abs()));
    match value {
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

fn print_changes(changes: &[CaseChange], out: &Printer) -> anyhow::Result<()> {
    let ways = [(Direction::Worse, "worse"), (Direction::Mixed, "mixed"), (Direction::Better, "better")];
    let counts: Vec<String> = ways
        .iter()
        .map(|(way, word)| format!("{} {word}", changes.iter().filter(|change| change.direction == *way).count()))
        .collect();
    out.line(format_args!("cases that changed: {}", counts.join(", ")))?;
    let shown = if out.is_verbose() { changes.len() } else { CHANGES };
    for change in changes.iter().take(shown) {
        let (style, word): (Style, &str) = match change.direction {
            Direction::Worse => (REMOVED, "worse"),
            Direction::Mixed => (CHANGED, "mixed"),
            Direction::Better => (ADDED, "better"),
        };
        let measures: Vec<String> = change.measures.iter().map(describe_change).collect();
        out.line(format_args!("  {style}{word:<6}{style:#} {}  {DIM}{}{DIM:#}", change.case, measures.join(", ")))?;
        let lines = change.broken.iter().map(|text| (REMOVED, '-', text));
        let lines: Vec<_> = lines.chain(change.fixed.iter().map(|text| (ADDED, '+', text))).collect();
        let most = if out.is_verbose() { lines.len() } else { LINES };
        for (style, mark, text) in lines.iter().take(most) {
            out.line(format_args!("    {style}{mark}{style:#} {}", one_line(text, WIDTH)))?;
        }
        if lines.len() > most {
            out.line(format_args!("    {DIM}and {} more; -v shows all{DIM:#}", lines.len() - most))?;
        }
    }
    if changes.len() > shown {
        out.note(format_args!("{} more cases changed; -v shows all", changes.len() - shown));
    }
    Ok(())
}

fn describe_change(one: &MeasureChange) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    format!("{} {} → {}", one.name, number(one.a), number(one.b))
}

/// Check results against a baseline
///
/// Reads files written by `eval --out`. A suite that yields the same figures in every run (rules, controls, recorded
/// replies) must match the baseline exactly: no measure of any case may be worse. Others are compared by the 95 % interval
/// over cases. A suite of the baseline that was not run is skipped and named; figures that cannot be compared are an
/// error. Exits 1 if something got worse, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval gate --baseline evals/baseline.json smoke.json\n  afterthought eval gate --baseline evals/baseline.json --renew smoke.json"
)]
pub(super) struct GateArgs {
    /// The baseline
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Accept the figures of these runs into the baseline; its other suites stay unchanged
    #[arg(long)]
    renew: bool,
    /// Results to judge
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
}

pub(super) fn run_gate(args: &GateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let results = args.results.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>, _>>()?;
    let out = context.out;
    if args.renew {
        let mut baseline = if args.baseline.exists() { Baseline::read(&args.baseline)? } else { Baseline::default() };
        let renewed = baseline.renew(&results)?;
        ensure!(!renewed.is_empty(), "the results have no rows, so there is nothing to accept");
        baseline.write(&args.baseline)?;
        out.note(format_args!("{} now has {}", args.baseline.display(), renewed.join(", ")));
        return Ok(ExitStatus::Success);
    }
    let judged = judge(&Baseline::read(&args.baseline)?, &results);
    if out.is_json() {
        out.json(&judged)?;
    } else {
        judged.iter().try_for_each(|one| print_ruling(one, out))?;
    }
    let is_better = judged.iter().any(|one| one.ruling == Ruling::Passed && !one.better.is_empty());
    if is_better {
        out.note("improvements are not in the baseline until it is renewed with --renew");
    }
    Ok(match judged.iter().map(|one| one.ruling).max() {
        Some(Ruling::Wrong) => ExitStatus::Error,
        Some(Ruling::Worse) => ExitStatus::NoMatch,
        Some(Ruling::Passed | Ruling::Skipped) | None => ExitStatus::Success,
    })
}

fn print_ruling(judged: &SuiteRuling, out: &Printer) -> anyhow::Result<()> {
    let (style, word) = match judged.ruling {
        Ruling::Passed => (ADDED, "passed"),
        Ruling::Skipped => (DIM, "skipped"),
        Ruling::Worse => (REMOVED, "worse"),
        Ruling::Wrong => (REMOVED, "error"),
    };
    let how = match (judged.ruling, judged.exact) {
        (Ruling::Skipped, _) => "it was not run",
        (_, true) => "exactly",
        (_, false) => "by interval",
    };
    out.line(format_args!("{style}{word:<8}{style:#}{BOLD}{}{BOLD:#}  {DIM}{how}{DIM:#}", judged.suite))?;
    for line in &judged.worse {
        out.line(format_args!("  {REMOVED}-{REMOVED:#} {line}"))?;
    }
    let shown = if out.is_verbose() { judged.better.len() } else { LINES };
    for line in judged.better.iter().take(shown) {
        out.line(format_args!("  {CHANGED}+{CHANGED:#} {line}"))?;
    }
    if judged.better.len() > shown {
        out.line(format_args!("  {DIM}and {} more; -v shows all{DIM:#}", judged.better.len() - shown))?;
    }
    Ok(())
}

/// Write a report about runs as Markdown or JSON
///
/// Reads files written by `eval --out`: measures with their intervals, groups of cases, expected and actual values, and the
/// worst cases. All text of conversations is escaped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval report run.json --out report\n  afterthought eval report rules.json model.json --out report.md"
)]
pub(super) struct ReportArgs {
    /// Results to report
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// Folder for report.md and report.json, or one file that ends in .md or .json
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
}

pub(super) fn run_report(args: &ReportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let results = args.results.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>, _>>()?;
    let json = || Ok::<_, anyhow::Error>(serde_json::to_string_pretty(&results)? + "\n");
    let ending = args.out.extension().map(|ending| ending.to_string_lossy().into_owned());
    let written = match ending.as_deref() {
        Some("md") => vec![(args.out.clone(), results_to_markdown(&results))],
        Some("json") => vec![(args.out.clone(), json()?)],
        Some(other) if !args.out.is_dir() => bail!("a report is written as .md or .json, not as .{other}"),
        Some(_) | None => {
            vec![(args.out.join("report.md"), results_to_markdown(&results)), (args.out.join("report.json"), json()?)]
        }
    };
    for (path, text) in &written {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        std::fs::write(path, text)
            .with_context(|| format!("cannot write {}; check its permissions", path.display()))?;
        context.out.note(format_args!("wrote {}", path.display()));
    }
    Ok(ExitStatus::Success)
}
