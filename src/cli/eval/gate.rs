//! `eval gate`: whether anything got worse than what was agreed on.

use std::path::PathBuf;

use afterthought::eval::gate::{Baseline, Judged, Ruling, judge};
use afterthought::eval::rows::Results;
use anyhow::ensure;

use crate::cli::args::Context;
use crate::cli::exit::ExitStatus;
use crate::cli::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED};

/// What got better that is told unless all is asked for.
const LINES: usize = 6;

/// Check results against a baseline
///
/// Reads files that `eval --out` has written. A suite that gives the same figures in every run (rules, controls, recorded
/// answers) is held against the baseline exactly: no measure of any case may be worse. Others are held against it by the
/// 95 % interval over cases. A suite of the baseline that was not run is skipped and named; figures that cannot be
/// compared are an error. Exits 1 if something got worse, 2 on an error.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  afterthought eval gate --baseline evals/baseline.json smoke.json\n  afterthought eval gate --baseline evals/baseline.json --renew smoke.json"
)]
pub(super) struct GateArgs {
    /// File with what was agreed on
    #[arg(long, value_name = "FILE")]
    baseline: PathBuf,
    /// Take the figures of these runs into the baseline; other suites in it stay as they are
    #[arg(long)]
    renew: bool,
    /// Results to judge
    #[arg(value_name = "RESULT", required = true)]
    results: Vec<PathBuf>,
}

pub(super) fn run(args: &GateArgs, context: &Context<'_>) -> anyhow::Result<ExitStatus> {
    let results = args.results.iter().map(|path| Results::read(path)).collect::<Result<Vec<_>, _>>()?;
    let out = context.out;
    if args.renew {
        let mut baseline = if args.baseline.exists() { Baseline::read(&args.baseline)? } else { Baseline::default() };
        let renewed = baseline.renew(&results)?;
        ensure!(!renewed.is_empty(), "the results have no rows, so there is nothing to agree on");
        baseline.write(&args.baseline)?;
        out.note(format_args!("{} now has {}", args.baseline.display(), renewed.join(", ")));
        return Ok(ExitStatus::Success);
    }
    let judged = judge(&Baseline::read(&args.baseline)?, &results);
    if out.is_json() {
        out.json(&judged)?;
    } else {
        judged.iter().try_for_each(|one| tell(one, out))?;
    }
    let is_better = judged.iter().any(|one| one.ruling == Ruling::Passed && !one.better.is_empty());
    if is_better {
        out.note("what got better is not held until the baseline is renewed with --renew");
    }
    Ok(match judged.iter().map(|one| one.ruling).max() {
        Some(Ruling::Wrong) => ExitStatus::Error,
        Some(Ruling::Worse) => ExitStatus::NoMatch,
        Some(Ruling::Passed | Ruling::Skipped) | None => ExitStatus::Success,
    })
}

fn tell(judged: &Judged, out: &Printer) -> anyhow::Result<()> {
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
        out.line(format_args!("  {DIM}and {} more; -v tells all{DIM:#}", judged.better.len() - shown))?;
    }
    Ok(())
}
