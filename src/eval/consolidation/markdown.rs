//! A report as Markdown.

use std::fmt::Write as _;

use super::counts::{Good, MEASURES};
use super::report::{Group, PairReport, Report, StreamReport};
use crate::consolidate::Decision;
use crate::eval::Measured;

/// Returns `report` as a document: the measures of each split, what was decided, the tables by group, and what went wrong.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    write_all(report, &mut text).expect("writing to a String cannot fail");
    text
}

fn write_all(report: &Report, to: &mut String) -> std::fmt::Result {
    writeln!(to, "# Consolidation by {}\n", report.extractor)?;
    let counts = &report.overall.counts;
    writeln!(
        to,
        "{} pairs, {} streams, {} distractors in each namespace\n",
        counts.pairs, counts.streams, report.distractors
    )?;
    let used = report.usage;
    writeln!(
        to,
        "{} calls ({} an incoming memory), {} prompt tokens, {} completion tokens; a second run asks {} times, makes {} \
         memories and changes {}",
        used.calls,
        report.calls_an_incoming().map_or_else(|| "–".to_owned(), |calls| format!("{calls:.3}")),
        used.prompt_tokens,
        used.completion_tokens,
        report.asked_again,
        counts.growth,
        counts.changed_again
    )?;
    for split in &report.splits {
        write_split(split, to)?;
    }
    for (what, groups) in
        [("language", &report.languages), ("phenomenon", &report.phenomena), ("hard kind", &report.hard)]
    {
        write_groups(what, groups, to)?;
    }
    writeln!(to, "\n## What went wrong\n")?;
    report.pairs.iter().filter(|pair| !pair.faults.is_empty()).try_for_each(|pair| write_pair(pair, to))?;
    report.streams.iter().filter(|stream| !stream.exact).try_for_each(|stream| write_stream(stream, to))
}

fn write_split(split: &Group, to: &mut String) -> std::fmt::Result {
    writeln!(to, "\n## {}\n\n| measure | value | 95 % interval | |\n|---|---|---|---|", split.name)?;
    for (measure, measured) in MEASURES.iter().zip(&split.measures) {
        let value = spelled(measured.value, measure.good);
        writeln!(to, "| {} | {value} | {} | {} |", measure.name, bounds(measured), measure.about)?;
    }
    if split.counts.confusion.is_empty() {
        return Ok(());
    }
    let names: Vec<&str> = Decision::ALL.iter().map(|decision| decision.as_str()).collect();
    writeln!(to, "\n| expected | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()))?;
    for (expected, decided) in &split.counts.confusion {
        let cells: Vec<String> =
            names.iter().map(|name| decided.get(name).map_or_else(String::new, u64::to_string)).collect();
        writeln!(to, "| {expected} | {} |", cells.join(" | "))?;
    }
    Ok(())
}

fn write_groups(what: &str, groups: &[Group], to: &mut String) -> std::fmt::Result {
    const SHOWN: &[&str] = &["accuracy", "all right", "false merges", "missed", "streams", "misplaced"];
    if groups.is_empty() {
        return Ok(());
    }
    writeln!(to, "\n## By {what}\n\n| {what} | pairs | streams | {} |", SHOWN.join(" | "))?;
    writeln!(to, "|---|---|---|{}", "---|".repeat(SHOWN.len()))?;
    for group in groups {
        let values: Vec<String> = SHOWN.iter().map(|name| spelled(group.value(name), Good::High)).collect();
        writeln!(
            to,
            "| {} | {} | {} | {} |",
            group.name,
            group.counts.pairs,
            group.counts.streams,
            values.join(" | ")
        )?;
    }
    Ok(())
}

fn write_pair(pair: &PairReport, to: &mut String) -> std::fmt::Result {
    let faults: Vec<&str> = pair.faults.iter().map(|fault| fault.as_str()).collect();
    writeln!(to, "- **{}/{}**: {}", pair.split, pair.id, faults.join(", "))?;
    writeln!(to, "  - known: {}\n  - incoming: {}", one_line(&pair.known), one_line(&pair.incoming))?;
    writeln!(to, "  - expected {}, got {}: {}", pair.expected, pair.got, one_line(&pair.reason))
}

fn write_stream(stream: &StreamReport, to: &mut String) -> std::fmt::Result {
    let faults: Vec<String> = stream.faults.iter().map(|one| format!("{} {}", one.event, one.fault.as_str())).collect();
    writeln!(to, "- **{}/{}**: {}", stream.split, stream.id, faults.join(", "))?;
    stream.events.iter().try_for_each(|(id, said)| writeln!(to, "  - {id}: {}", one_line(said)))?;
    writeln!(to, "  - expected {}; got {}", stream.expected, stream.got)?;
    stream.decided.iter().try_for_each(|decided| writeln!(to, "  - {}", one_line(decided)))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a value as people read it; `–` where there is none.
pub(super) fn spelled(value: Option<f64>, good: Good) -> String {
    match (value, good) {
        (None, _) => "–".to_owned(),
        (Some(value), Good::High | Good::Low) => format!("{value:.3}"),
        (Some(value), Good::None) => format!("{value:.0}"),
    }
}

fn bounds(measured: &Measured) -> String {
    measured.interval.map_or_else(String::new, |interval| format!("{:.3}–{:.3}", interval.low, interval.high))
}
