//! The same as Markdown, for a pull request or a wiki.

use std::fmt::{Result, Write as _};

use super::{Topic, cost_of, facts, letter, number, topics};
use crate::eval::rows::{Results, Row};
use crate::eval::tally::By;

/// Cases with faults that are told of.
const CASES: usize = 10;
/// What went wrong in one case that is told.
const FINDINGS: usize = 8;

/// Returns a document about `all` runs. Text of conversations stands in it as code or escaped, so that it is no markup.
#[must_use]
pub fn markdown_of(all: &[Results]) -> String {
    let mut text = String::new();
    write_all(all, &mut text).expect("writing to a String cannot fail");
    text
}

fn write_all(all: &[Results], to: &mut String) -> Result {
    writeln!(to, "# Evaluation\n")?;
    for (at, results) in all.iter().enumerate() {
        let facts = facts(&results.manifest).into_iter().filter(|(_, what)| !what.is_empty());
        let told: Vec<String> = facts.map(|(name, what)| format!("{name} {}", plain(&what))).collect();
        writeln!(to, "- **{}**: {}", letter(at), told.join("; "))?;
    }
    topics(all).iter().try_for_each(|topic| section(topic, to))
}

fn section(topic: &Topic<'_>, to: &mut String) -> Result {
    writeln!(to, "\n## {} ({})\n", plain(&topic.suite), plain(&topic.kind))?;
    for (run, _, tally) in &topic.runs {
        for (case, error) in &tally.failed {
            writeln!(to, "- {} could not run {}: {}", letter(*run), plain(case), plain(error))?;
        }
    }
    measures(topic, to)?;
    for (run, results, tally) in &topic.runs {
        let cost = cost_of(results, &topic.suite).spelled();
        writeln!(to, "\n{}: {} cases, {cost}", letter(*run), tally.cases.len())?;
    }
    for by in By::ALL {
        groups(topic, by, to)?;
    }
    worst(topic, to)
}

fn measures(topic: &Topic<'_>, to: &mut String) -> Result {
    let names: Vec<String> = topic
        .runs
        .iter()
        .map(|(run, results, _)| format!("{} {}", letter(*run), plain(&results.manifest.label)))
        .collect();
    writeln!(to, "| measure | {} |\n|---|{}", names.join(" | "), "---|".repeat(names.len()))?;
    let found: Vec<_> = topic.runs.iter().map(|(_, _, tally)| tally.whole()).collect();
    let Some((_, _, first)) = topic.runs.first() else { return Ok(()) };
    for measure in &first.measures {
        let cells = topic.runs.iter().zip(&found).map(|((_, _, tally), found)| {
            let at = tally.measures.iter().position(|own| own.name == measure.name)?;
            let (value, interval) = found.get(at).copied().unwrap_or_default();
            let bounds = interval.map_or_else(String::new, |one| {
                format!(" ({}–{})", number(Some(one.low), measure.unit), number(Some(one.high), measure.unit))
            });
            Some(number(value, measure.unit) + &bounds)
        });
        let cells: Vec<String> = cells.map(Option::unwrap_or_default).collect();
        writeln!(to, "| {} | {} |", measure.name, cells.join(" | "))?;
    }
    Ok(())
}

fn groups(topic: &Topic<'_>, by: By, to: &mut String) -> Result {
    for (run, _, tally) in &topic.runs {
        let groups = tally.groups(by);
        if groups.len() < 2 {
            continue;
        }
        let names: Vec<&str> = tally.measures.iter().map(|measure| measure.name.as_str()).collect();
        writeln!(to, "\n### {} by {}\n", letter(*run), by.as_str())?;
        writeln!(to, "| {} | cases | {} |\n|---|---|{}", by.as_str(), names.join(" | "), "---|".repeat(names.len()))?;
        for (name, cases) in groups {
            let values =
                tally.measures.iter().zip(tally.over(&cases)).map(|(measure, value)| number(value, measure.unit));
            writeln!(to, "| {} | {} | {} |", plain(&name), cases.len(), values.collect::<Vec<_>>().join(" | "))?;
        }
    }
    Ok(())
}

fn worst(topic: &Topic<'_>, to: &mut String) -> Result {
    for (run, results, _) in &topic.runs {
        let faults = |row: &Row| row.findings.iter().filter(|found| found.counts).count();
        let is_ours = |row: &&Row| row.suite == topic.suite && row.kind == topic.kind && faults(row) > 0;
        let mut rows: Vec<&Row> = results.rows.iter().filter(is_ours).collect();
        rows.sort_by_key(|row| std::cmp::Reverse(faults(row)));
        if !rows.is_empty() {
            writeln!(to, "\n### {}: the worst cases", letter(*run))?;
        }
        for row in rows.into_iter().take(CASES) {
            writeln!(to, "\n**{}**: {}\n", plain(&row.case), plain(&row.about))?;
            for found in row.findings.iter().filter(|found| found.counts).take(FINDINGS) {
                let why = if found.why.is_empty() { String::new() } else { format!(" — {}", plain(&found.why)) };
                writeln!(to, "- {}: {}{why}", found.what, plain(&found.text))?;
                for quoted in &found.evidence {
                    writeln!(to, "  > {}", plain(&quoted.quote))?;
                }
            }
        }
    }
    Ok(())
}

/// Returns `text` on one line, with every character escaped that Markdown or HTML would take for markup.
fn plain(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for one in text.split_whitespace().collect::<Vec<_>>().join(" ").chars() {
        match one {
            '<' => safe.push_str("&lt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '!' | '>' | '~' => {
                safe.push('\\');
                safe.push(one);
            }
            one => safe.push(one),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_of_conversations_is_no_markup() {
        assert_eq!(plain("<script>\n| a\\*b*"), "&lt;script\\> \\| a\\\\\\*b\\*");
    }
}
