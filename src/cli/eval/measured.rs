//! Rows of one kind on a terminal: every measure, groups of cases, and what went wrong.

use std::path::Path;

use afterthought::eval::rows::{Better, Defined, Manifest, Results, Row, RowUnit};
use afterthought::eval::{By, CaseTally, Tally};
use serde_json::json;

use super::suite::Job;
use crate::cli::printer::{BOLD, DIM, Printer, REMOVED, counted, one_line};

/// Cases that went wrong of which is told unless all are asked for.
const WORST: usize = 12;

/// What is told of.
pub(super) struct Told<'a> {
    /// What was measured.
    pub label: String,
    /// What the rows measure.
    pub measures: Vec<Defined>,
    /// The rows, of one kind.
    pub rows: Vec<Row>,
    /// The measures of which groups of cases are told; five.
    pub columns: &'a [&'a str],
}

/// Takes in some rows of cases that lie at `place`, if there are any, and tells of them; returns whether one of them could
/// not be run.
pub(super) fn take(job: &Job<'_>, place: &Path, told: Told<'_>) -> anyhow::Result<bool> {
    job.gather.define(told.measures.clone());
    told.rows.iter().for_each(|row| job.gather.row(row.clone(), place, job.repeat));
    tell(job, told)
}

/// Tells of some rows, if there are any; returns whether one of them could not be run.
pub(super) fn tell(job: &Job<'_>, told: Told<'_>) -> anyhow::Result<bool> {
    let out = job.context.out;
    let Some(kind) = told.rows.first().map(|row| row.kind.clone()) else { return Ok(false) };
    let results = Results::new(Manifest::default(), told.measures, told.rows);
    if out.is_json() {
        let (label, measures, rows) = (&told.label, &results.measures, &results.rows);
        out.json(
            &json!({"kind": kind, "label": label, "measures": values(&results), "defined": measures, "rows": rows}),
        )?;
    } else if job.is_told() {
        for tally in Tally::all(&results) {
            head(&told.label, &tally, &results.rows, out)?;
            for by in By::ALL {
                groups(&tally, by, told.columns, out)?;
            }
        }
        worst(&results.rows, out)?;
    }
    let failed: Vec<&Row> = results.rows.iter().filter(|row| row.error.is_some()).collect();
    for row in &failed {
        out.error_text(&format!("{}: {}", row.case, row.error.as_deref().unwrap_or_default()));
    }
    Ok(!failed.is_empty())
}

/// Returns the value of every measure with its interval, by name.
fn values(results: &Results) -> serde_json::Value {
    let mut told = serde_json::Map::new();
    for tally in Tally::all(results) {
        let all = tally.everything();
        let found = tally.over(&all).into_iter().zip(tally.intervals(&all));
        for (measure, (value, interval)) in tally.measures.iter().zip(found) {
            told.insert(measure.name.clone(), json!({"value": value, "interval": interval}));
        }
    }
    told.into()
}

fn head(label: &str, tally: &Tally, rows: &[Row], out: &Printer) -> anyhow::Result<()> {
    let mut times: Vec<u64> = rows.iter().filter(|row| row.error.is_none()).map(|row| row.cost.ms).collect();
    times.sort_unstable();
    let at = |hundredths: usize| times.get(times.len() * hundredths / 100).copied().unwrap_or_default();
    let cases = counted(tally.cases.len() as u64, "case");
    let (p50, p95) = (at(50), at(95));
    out.line(format_args!("{BOLD}{} by {label}{BOLD:#}: {cases}, {p50} ms (p50), {p95} ms (p95)\n", tally.kind))?;
    let all = tally.everything();
    let found = tally.over(&all).into_iter().zip(tally.intervals(&all));
    for (at, (measure, (value, interval))) in tally.measures.iter().zip(found).enumerate() {
        let bounds = interval.map_or_else(String::new, |interval| {
            format!("{}–{}", number(Some(interval.low), measure.unit), number(Some(interval.high), measure.unit))
        });
        let value = number(value, measure.unit);
        let way = if measure.better == Better::Lower { "↓" } else { " " };
        let of = all.iter().filter(|case| case.ratios[at].denominator > 0.0).count();
        out.line(format_args!(
            "{:<19}{value:>7}{way} {DIM}{bounds:<13}{of:>5}  {}{DIM:#}",
            measure.name, measure.about
        ))?;
    }
    Ok(out.line("")?)
}

fn groups(tally: &Tally, by: By, columns: &[&str], out: &Printer) -> anyhow::Result<()> {
    let groups = tally.groups(by);
    let places: Vec<usize> =
        columns.iter().filter_map(|name| tally.measures.iter().position(|measure| measure.name == *name)).collect();
    let [one, two, three, four, five] = places[..] else { return Ok(()) };
    if groups.len() < 2 {
        return Ok(());
    }
    let title = |at: usize| tally.measures[at].name.as_str();
    let header = [by.as_str(), "cases", title(one), title(two), title(three), title(four), title(five)];
    let row = |(name, cases): &(String, Vec<&CaseTally>)| {
        let values = tally.over(cases);
        let cell = |at: usize| number(values[at], tally.measures[at].unit);
        [name.clone(), cases.len().to_string(), cell(one), cell(two), cell(three), cell(four), cell(five)]
    };
    out.table(header, groups.iter().map(row).collect())?;
    Ok(())
}

fn worst(rows: &[Row], out: &Printer) -> anyhow::Result<()> {
    let wrong: Vec<&Row> = rows.iter().filter(|row| !row.findings.is_empty()).collect();
    let shown = if out.is_verbose() { wrong.len() } else { WORST.min(wrong.len()) };
    for row in &wrong[..shown] {
        out.line(format_args!("  {} {DIM}{}{DIM:#}", row.case, one_line(&row.about, 120)))?;
        for found in &row.findings {
            let (what, id, text) = (&found.what, one_line(&found.id, 60), one_line(&found.text, 120));
            out.line(format_args!("      {REMOVED}{what}{REMOVED:#} {id} {DIM}{text}{DIM:#}"))?;
        }
    }
    if wrong.len() > shown {
        out.note(format_args!("{} more went wrong; -v tells all", wrong.len() - shown));
    }
    Ok(())
}

fn number(value: Option<f64>, unit: RowUnit) -> String {
    match (value, unit) {
        (None, _) => "–".to_owned(),
        (Some(value), RowUnit::Share) => format!("{value:.3}"),
        (Some(value), RowUnit::Number | RowUnit::Count) => format!("{value:.1}"),
    }
}
