//! `eval compare`: what two runs of the same cases tell of each other.

use std::path::PathBuf;

use afterthought::eval::compare::{Compared, Comparison, Difference, Flip, Moved, Sure, Way, compare};
use afterthought::eval::rows::{Manifest, Results, RowUnit};
use anstyle::Style;

use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted, one_line};

/// Changed cases that are told of unless all are asked for.
const FLIPS: usize = 8;
/// What came and went in a case that is told unless all is asked for.
const LINES: usize = 4;
/// Longest text that is told on one line, in characters.
const WIDTH: usize = 160;

/// Compare two results, case by case
///
/// Reads two files that `eval --out` has written. Of each measure it tells the difference with its 95 % interval (paired
/// bootstrap over cases), how probable a difference as large is by chance (paired randomisation test, also with all
/// measures taken together, after Holm), and the least difference that so many cases would show in 80 of 100 runs; then
/// what both cost, and the cases that changed either way.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval compare before.json after.json\n  afterthought eval compare a.json b.json --json"
)]
pub(super) struct CompareArgs {
    /// The first run
    #[arg(value_name = "A")]
    a: PathBuf,
    /// The second run, which is held against it
    #[arg(value_name = "B")]
    b: PathBuf,
}

pub(super) fn run(args: &CompareArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let found = compare(&Results::read(&args.a)?, &Results::read(&args.b)?)?;
    let out = context.out;
    if out.is_json() {
        out.json(&found)?;
    } else {
        tell(&found, out)?;
    }
    Ok(ExitStatus::Success)
}

fn tell(found: &Comparison, out: &Printer) -> anyhow::Result<()> {
    for (name, manifest) in [("A", &found.a), ("B", &found.b)] {
        out.line(format_args!("{BOLD}{name}{BOLD:#}  {}", about(manifest)))?;
    }
    for suite in &found.suites {
        self::suite(suite, out)?;
    }
    for alone in &found.alone {
        out.note(format_args!("{alone} is in one of the two alone, and left out"));
    }
    Ok(())
}

/// Returns what was run, on one line.
pub(super) fn about(manifest: &Manifest) -> String {
    let prompts: String = manifest.prompts.chars().take(8).collect();
    let folder = manifest.prompt_folder.as_ref().map_or_else(String::new, |folder| format!(" of {}", folder.display()));
    let revision = manifest.revision.as_ref().map_or_else(String::new, |revision| format!(" at {revision}"));
    let runs = if manifest.repeat > 1 { format!(", {} runs", manifest.repeat) } else { String::new() };
    format!("{}, prompts {prompts}{folder}, afterthought {}{revision}{runs}", manifest.label, manifest.program)
}

fn suite(suite: &Compared, out: &Printer) -> anyhow::Result<()> {
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
        out.line(format_args!("{name} cost {}", cost.spelled()))?;
    }
    flips(&suite.flips, out)
}

fn cells(one: &Difference) -> [String; 9] {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| self::number(value, one.unit));
    let signed = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| self::signed(value, one.unit));
    let chance = |p: Option<f64>| {
        p.map_or_else(|| "–".to_owned(), |p| if p < 0.001 { "<.001".into() } else { format!("{p:.3}") })
    };
    let (style, word) = match one.verdict {
        Sure::Better => (ADDED, "better"),
        Sure::Worse => (REMOVED, "worse"),
        Sure::Unclear => (DIM, "unclear"),
        Sure::Same => (DIM, "same"),
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
        one.least.map_or_else(|| "–".to_owned(), |least| format!("±{}", self::number(least, one.unit))),
        format!("{style}{word}{style:#}"),
    ]
}

fn number(value: f64, unit: RowUnit) -> String {
    match unit {
        RowUnit::Share => format!("{value:.3}"),
        RowUnit::Number => format!("{value:.2}"),
        RowUnit::Count => format!("{value:.0}"),
    }
}

fn signed(value: f64, unit: RowUnit) -> String {
    let text = number(value.abs(), unit);
    match value {
        value if value < 0.0 => format!("−{text}"),
        _ => format!("+{text}"),
    }
}

fn flips(flips: &[Flip], out: &Printer) -> anyhow::Result<()> {
    let ways = [(Way::Worse, "worse"), (Way::Mixed, "mixed"), (Way::Better, "better")];
    let counts: Vec<String> = ways
        .iter()
        .map(|(way, word)| format!("{} {word}", flips.iter().filter(|flip| flip.way == *way).count()))
        .collect();
    out.line(format_args!("cases that changed: {}", counts.join(", ")))?;
    let shown = if out.is_verbose() { flips.len() } else { FLIPS };
    for flip in flips.iter().take(shown) {
        let (style, word): (Style, &str) = match flip.way {
            Way::Worse => (REMOVED, "worse"),
            Way::Mixed => (CHANGED, "mixed"),
            Way::Better => (ADDED, "better"),
        };
        let moved: Vec<String> = flip.measures.iter().map(moved).collect();
        out.line(format_args!("  {style}{word:<6}{style:#} {}  {DIM}{}{DIM:#}", flip.case, moved.join(", ")))?;
        let lines = flip.broken.iter().map(|text| (REMOVED, '-', text));
        let lines: Vec<_> = lines.chain(flip.mended.iter().map(|text| (ADDED, '+', text))).collect();
        let most = if out.is_verbose() { lines.len() } else { LINES };
        for (style, mark, text) in lines.iter().take(most) {
            out.line(format_args!("    {style}{mark}{style:#} {}", one_line(text, WIDTH)))?;
        }
        if lines.len() > most {
            out.line(format_args!("    {DIM}and {} more; -v tells all{DIM:#}", lines.len() - most))?;
        }
    }
    if flips.len() > shown {
        out.note(format_args!("{} more cases changed; -v tells all", flips.len() - shown));
    }
    Ok(())
}

fn moved(one: &Moved) -> String {
    let number = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.2}"));
    format!("{} {} → {}", one.name, number(one.a), number(one.b))
}
