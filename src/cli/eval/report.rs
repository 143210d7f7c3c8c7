//! `eval report`: what runs came to, as documents.

use std::path::{Path, PathBuf};

use afterthought::eval::Tally;
use afterthought::eval::pages::{html, markdown_of};
use afterthought::eval::rows::Results;
use anyhow::{Context as _, bail};

use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{BOLD, Printer};

/// Write what runs came to as Markdown, JSON and one HTML page
///
/// Reads files that `eval --out` has written. The page needs neither network nor scripts: quality against cost, each
/// phenomenon with its interval, what was taken for what, and the worst cases with what was said and what it should have
/// come to. All text of conversations is escaped.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval report run.json --out report\n  afterthought eval report rules.json model.json --out report.html"
)]
pub(super) struct ReportArgs {
    /// Results to tell of
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
    /// Folder for report.md, report.json and report.html, or one file that ends in .md, .json or .html
    #[arg(long, value_name = "DIR|FILE")]
    out: PathBuf,
}

pub(super) fn run(args: &ReportArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let results = args.results.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>, _>>()?;
    let json = || Ok::<_, anyhow::Error>(serde_json::to_string_pretty(&results)? + "\n");
    let ending = args.out.extension().map(|ending| ending.to_string_lossy().into_owned());
    let written = match ending.as_deref() {
        Some("md") => vec![(args.out.clone(), markdown_of(&results))],
        Some("html") => vec![(args.out.clone(), html(&results))],
        Some("json") => vec![(args.out.clone(), json()?)],
        Some(other) if !args.out.is_dir() => bail!("a report is written as .md, .json or .html, not as .{other}"),
        Some(_) | None => vec![
            (args.out.join("report.md"), markdown_of(&results)),
            (args.out.join("report.json"), json()?),
            (args.out.join("report.html"), html(&results)),
        ],
    };
    for (path, text) in &written {
        write(path, text)?;
        context.out.note(format_args!("{} is written", path.display()));
    }
    Ok(ExitStatus::Success)
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    }
    std::fs::write(path, text).with_context(|| format!("cannot write {}; check its permissions", path.display()))
}

/// Tells of each measure how it came out over several runs of the same cases.
pub(super) fn over_runs(results: &Results, out: &Printer) -> anyhow::Result<()> {
    let runs: Vec<Vec<Tally>> = (1..=results.manifest.repeat)
        .map(|repeat| {
            let rows = results.rows.iter().filter(|row| row.repeat == repeat).cloned().collect();
            Tally::all(&Results { rows, ..results.clone() })
        })
        .collect();
    for tally in Tally::all(results) {
        let of_runs: Vec<Vec<Option<f64>>> = runs
            .iter()
            .filter_map(|run| run.iter().find(|one| one.suite == tally.suite && one.kind == tally.kind))
            .map(|run| run.over(&run.everything()))
            .collect();
        out.line("")?;
        out.line(format_args!("{BOLD}{}{BOLD:#} ({}) over {} runs", tally.suite, tally.kind, results.manifest.repeat))?;
        let rows = tally.measures.iter().enumerate().map(|(at, measure)| {
            let values: Vec<f64> = of_runs.iter().filter_map(|run| run.get(at).copied().flatten()).collect();
            let [mean, deviation, low, high] =
                spread(&values).map(|value| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}")));
            [measure.name.clone(), mean, deviation, low, high]
        });
        out.table(["measure", "mean", "sd", "least", "most"], rows.collect())?;
    }
    Ok(())
}

/// Returns mean, standard deviation, least and most.
fn spread(values: &[f64]) -> [Option<f64>; 4] {
    #[expect(clippy::cast_precision_loss, reason = "runs are few")]
    let count = values.len() as f64;
    if values.is_empty() {
        return [None; 4];
    }
    let mean = values.iter().sum::<f64>() / count;
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    let deviation = (values.len() > 1).then(|| (squares / (count - 1.0)).sqrt());
    let ordered = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    [Some(mean), deviation, ordered(f64::min), ordered(f64::max)]
}
