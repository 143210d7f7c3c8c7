//! The measures of a suite on a terminal.

use afterthought::eval::{Counts, Group, Interval, MEASURES, Report, Unit};
use anstyle::Style;

use crate::cli::printer::{ADDED, BOLD, CHANGED, DIM, Printer, REMOVED, counted};

/// Shares from which on a measure is shown as good, and from which on as middling.
const GOOD: f64 = 0.95;
const MIDDLING: f64 = 0.8;

pub(super) fn report(report: &Report, out: &Printer) -> anyhow::Result<()> {
    let counts = &report.overall.counts;
    out.line(format_args!(
        "{BOLD}{}{BOLD:#}: {}, {}",
        report.extractor,
        counted(counts.cases, "case"),
        memories(counts.memories)
    ))?;
    if counts.cases == 0 {
        return Ok(());
    }
    out.line("")?;
    measures(&report.overall, out)?;
    out.line("")?;
    standings(counts, out)?;
    cost(report, out)?;
    for (name, groups) in [
        ("split", &report.splits),
        ("language", &report.languages),
        ("format", &report.formats),
        ("phenomenon", &report.phenomena),
    ] {
        self::groups(name, groups, out)?;
    }
    cases(report, out)
}

fn measures(group: &Group, out: &Printer) -> anyhow::Result<()> {
    for (measure, measured) in MEASURES.iter().zip(&group.measures) {
        let value = number(measured.value, measure.unit);
        let style = style(measured.value, measure.unit);
        let bounds = measured.interval.map_or_else(String::new, |interval| bounds(interval, measure.unit));
        out.line(format_args!(
            "{:<18}{style}{value:>6}{style:#}  {DIM}{bounds:<15}{}{DIM:#}",
            measure.name, measure.about
        ))?;
    }
    Ok(())
}

fn standings(counts: &Counts, out: &Printer) -> anyhow::Result<()> {
    out.line(format_args!(
        "{} right, {} optional, {} unlisted ({} kept by a reader, {} unjudged), {}, {} distorted, {} forbidden",
        counts.right,
        counts.optional,
        counts.unlisted,
        counts.unlisted_kept,
        counts.unlisted_unjudged,
        counted(counts.duplicates, "duplicate"),
        counts.distorted,
        counts.forbidden,
    ))?;
    if counts.superseded + counts.pending > 0 {
        let (superseded, pending) = (counts.superseded, counts.pending);
        out.line(format_args!("besides, {superseded} superseded and {pending} waiting for a person"))?;
    }
    if !counts.forbidden_kinds.is_empty() {
        let kinds: Vec<String> = counts.forbidden_kinds.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        out.line(format_args!("{REMOVED}forbidden{REMOVED:#}: {}", kinds.join(", ")))?;
    }
    Ok(())
}

fn cost(report: &Report, out: &Printer) -> anyhow::Result<()> {
    let used = report.overall.counts.usage;
    if used.calls + used.failed_calls > 0 {
        let money = report.cost.map_or_else(String::new, |cost| format!(", ${cost:.4}"));
        out.line(format_args!(
            "{}, {} prompt tokens, {} completion tokens{money}",
            counted(used.calls, "call"),
            used.prompt_tokens,
            used.completion_tokens
        ))?;
    }
    Ok(())
}

fn groups(name: &str, groups: &[Group], out: &Printer) -> anyhow::Result<()> {
    if groups.is_empty() {
        return Ok(());
    }
    out.line("")?;
    let cells = |group: &Group| {
        let value = |name: &str| {
            let unit = MEASURES.iter().find(|measure| measure.name == name).map_or(Unit::Share, |measure| measure.unit);
            number(group.measure(name).and_then(|measured| measured.value), unit)
        };
        [
            group.name.clone(),
            group.counts.cases.to_string(),
            value("recall"),
            value("recall high"),
            value("precision"),
            value("precision judged"),
            value("type"),
            value("evidence"),
            group.counts.forbidden.to_string(),
        ]
    };
    let header = [name, "cases", "recall", "high", "precision", "judged", "type", "evidence", "forbidden"];
    Ok(out.table(header, groups.iter().map(cells).collect())?)
}

fn cases(report: &Report, out: &Printer) -> anyhow::Result<()> {
    out.line("")?;
    let cells = |case: &afterthought::eval::CaseReport| {
        let counts = case.counts.as_ref();
        let cell = |of: fn(&Counts) -> String| counts.map_or_else(|| "–".to_owned(), of);
        let share = |counts: &Counts, name: &str| {
            number(MEASURES.iter().find(|one| one.name == name).and_then(|one| one.of(counts)), Unit::Share)
        };
        [
            case.case.clone(),
            if case.error.is_some() {
                "failed".to_owned()
            } else {
                counts.map_or_else(String::new, |one| share(one, "recall"))
            },
            counts.map_or_else(|| "–".to_owned(), |one| share(one, "precision")),
            cell(|one| one.memories.to_string()),
            cell(|one| one.unlisted.to_string()),
            cell(|one| one.duplicates.to_string()),
            cell(|one| one.distorted.to_string()),
            cell(|one| one.forbidden.to_string()),
            cell(|one| one.usage.calls.to_string()),
            cell(|one| (one.usage.prompt_tokens + one.usage.completion_tokens).to_string()),
        ]
    };
    let header = [
        "case",
        "recall",
        "precision",
        "memories",
        "unlisted",
        "duplicates",
        "distorted",
        "forbidden",
        "calls",
        "tokens",
    ];
    Ok(out.table(header, report.cases.iter().map(cells).collect())?)
}

/// Returns a value as people read it; `–` where there is none.
pub(super) fn number(value: Option<f64>, unit: Unit) -> String {
    match (value, unit) {
        (None, _) => "–".to_owned(),
        (Some(value), Unit::Share | Unit::Fault) => format!("{value:.3}"),
        (Some(value), Unit::Number) => format!("{value:.2}"),
    }
}

fn bounds(interval: Interval, unit: Unit) -> String {
    format!("{}–{}", number(Some(interval.low), unit), number(Some(interval.high), unit))
}

fn style(value: Option<f64>, unit: Unit) -> Style {
    match (value, unit) {
        (None, _) => DIM,
        (Some(value), Unit::Share) if value >= GOOD => ADDED,
        (Some(value), Unit::Share) if value >= MIDDLING => CHANGED,
        (Some(0.0), Unit::Fault | Unit::Number) => ADDED,
        (Some(_), Unit::Share | Unit::Fault | Unit::Number) => REMOVED,
    }
}

fn memories(count: u64) -> String {
    if count == 1 { "1 memory".to_owned() } else { format!("{count} memories") }
}
