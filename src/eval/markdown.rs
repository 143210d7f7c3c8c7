//! A report as Markdown.

use std::fmt::Write as _;

use super::case_report::{CaseReport, Entry};
use super::measures::{MEASURES, Unit};
use super::report::{Group, Measured, Report};

/// Returns `report` as a document: the measures, the tables by group, and what went wrong case by case.
#[must_use]
pub fn markdown(report: &Report) -> String {
    let mut text = String::new();
    write_all(report, &mut text).expect("writing to a String cannot fail");
    text
}

fn write_all(report: &Report, to: &mut String) -> std::fmt::Result {
    let counts = &report.overall.counts;
    writeln!(to, "# Extraction by {}\n", report.extractor)?;
    writeln!(to, "{} cases, {} memories\n", counts.cases, counts.memories)?;
    writeln!(to, "| measure | value | 95 % interval | |\n|---|---|---|---|")?;
    for (measure, measured) in MEASURES.iter().zip(&report.overall.measures) {
        let value = spelled(measured.value, measure.unit);
        writeln!(to, "| {} | {value} | {} | {} |", measure.name, bounds(measured, measure.unit), measure.about)?;
    }
    let used = counts.usage;
    writeln!(
        to,
        "\n{} calls, {} prompt tokens, {} completion tokens{}",
        used.calls,
        used.prompt_tokens,
        used.completion_tokens,
        report.cost.map_or_else(String::new, |cost| format!(", ${cost:.4}"))
    )?;
    let tables = [
        ("split", &report.splits),
        ("language", &report.languages),
        ("format", &report.formats),
        ("phenomenon", &report.phenomena),
    ];
    for (what, groups) in tables {
        write_groups(what, groups, to)?;
    }
    writeln!(to, "\n## Cases")?;
    report.cases.iter().try_for_each(|case| write_case(case, to))
}

fn write_groups(what: &str, groups: &[Group], to: &mut String) -> std::fmt::Result {
    writeln!(to, "\n## By {what}\n")?;
    writeln!(to, "| {what} | cases | {} |", MEASURES.iter().map(|one| one.name).collect::<Vec<_>>().join(" | "))?;
    writeln!(to, "|---|---|{}", "---|".repeat(MEASURES.len()))?;
    for group in groups {
        let values = MEASURES.iter().zip(&group.measures).map(|(measure, one)| spelled(one.value, measure.unit));
        writeln!(to, "| {} | {} | {} |", group.name, group.counts.cases, values.collect::<Vec<_>>().join(" | "))?;
    }
    Ok(())
}

fn write_case(case: &CaseReport, to: &mut String) -> std::fmt::Result {
    writeln!(to, "\n### {}\n\n{}\n", case.case, case.about)?;
    if let Some(error) = &case.error {
        return writeln!(to, "- **failed**: {error}");
    }
    for flaw in &case.flaws {
        writeln!(to, "- *to mend in the case*: {flaw}")?;
    }
    for note in &case.notes {
        writeln!(to, "- *note*: {note}")?;
    }
    for missed in &case.missed {
        writeln!(to, "- **missed** {} ({}): {}", missed.id, missed.importance, missed.text)?;
    }
    for entry in &case.memories {
        if let Some(complaint) = entry.complaint() {
            writeln!(to, "- **{complaint}**: {}{}", entry.content, quote_of(entry))?;
        }
    }
    Ok(())
}

fn quote_of(entry: &Entry) -> String {
    entry.evidence.first().map_or_else(String::new, |cited| {
        format!(" — “{}”", cited.quote.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

/// Returns a value as people read it; `–` where there is none.
pub(super) fn spelled(value: Option<f64>, unit: Unit) -> String {
    match (value, unit) {
        (None, _) => "–".to_owned(),
        (Some(value), Unit::Share | Unit::Fault) => format!("{value:.3}"),
        (Some(value), Unit::Number) => format!("{value:.2}"),
    }
}

fn bounds(measured: &Measured, unit: Unit) -> String {
    measured.interval.map_or_else(String::new, |interval| {
        format!("{}–{}", spelled(Some(interval.low), unit), spelled(Some(interval.high), unit))
    })
}
