//! The worst cases: what was said on one side, what it should have come to on the other.

use std::fmt::{Result, Write as _};

use super::Topic;
use super::svg::escaped;
use super::{letter, plots::colour};
use crate::eval::rows::{Found, Row, Spoken};

/// Cases of each run that are shown.
const CASES: usize = 8;
/// What went wrong in one case that is shown.
const FINDINGS: usize = 40;

/// Writes the worst cases of each run of `topic`, the worst first.
pub(super) fn write(topic: &Topic<'_>, to: &mut String) -> Result {
    for (run, results, _) in &topic.runs {
        let is_ours = |row: &&Row| row.suite == topic.suite && row.kind == topic.kind;
        let mut rows: Vec<(usize, &Row)> = results
            .rows
            .iter()
            .filter(is_ours)
            .map(|row| (faults(row), row))
            .filter(|(faults, _)| *faults > 0)
            .collect();
        rows.sort_by_key(|(faults, row)| (std::cmp::Reverse(*faults), row.repeat));
        if rows.is_empty() {
            continue;
        }
        let label = escaped(&results.manifest.label);
        writeln!(
            to,
            "<h3><i class=\"{}\"></i>{} {label}: {} cases with faults</h3>",
            colour(*run),
            letter(*run),
            rows.len()
        )?;
        for (place, (faults, row)) in rows.iter().take(CASES).enumerate() {
            case(row, *faults, place == 0, to)?;
        }
        if rows.len() > CASES {
            writeln!(to, "<p class=\"dim\">{} more are in the JSON.</p>", rows.len() - CASES)?;
        }
    }
    Ok(())
}

fn faults(row: &Row) -> usize {
    row.findings.iter().filter(|found| found.counts).count()
}

fn case(row: &Row, faults: usize, is_open: bool, to: &mut String) -> Result {
    let open = if is_open { " open" } else { "" };
    let run = if row.repeat > 1 { format!(", run {}", row.repeat) } else { String::new() };
    writeln!(
        to,
        "<details class=\"case\"{open}><summary><b>{}</b>{run} <span class=\"count\">{faults} fault{}</span> \
         <span class=\"dim\" dir=\"auto\">{}</span></summary>",
        escaped(&row.case),
        if faults == 1 { "" } else { "s" },
        escaped(&row.about)
    )?;
    writeln!(
        to,
        "<div class=\"sides\">\n<div class=\"said\" tabindex=\"0\" role=\"region\" aria-label=\"What was said\">"
    )?;
    row.said.iter().try_for_each(|spoken| message(spoken, &row.findings, to))?;
    if row.said.is_empty() {
        writeln!(to, "<p class=\"dim\">What was said is not in the results.</p>")?;
    }
    writeln!(to, "</div>\n<ul class=\"findings\">")?;
    row.findings.iter().take(FINDINGS).try_for_each(|found| finding(found, to))?;
    if row.findings.len() > FINDINGS {
        writeln!(to, "<li class=\"dim\">{} more are in the JSON</li>", row.findings.len() - FINDINGS)?;
    }
    writeln!(to, "</ul>\n</div></details>")
}

fn message(spoken: &Spoken, findings: &[Found], to: &mut String) -> Result {
    let quotes: Vec<(&str, bool)> = findings
        .iter()
        .flat_map(|found| found.evidence.iter().map(move |quoted| (quoted, found.what == "missed")))
        .filter(|(quoted, _)| quoted.message.as_deref() == Some(spoken.id.as_str()))
        .map(|(quoted, is_missed)| (quoted.quote.as_str(), is_missed))
        .collect();
    writeln!(
        to,
        "<p><span class=\"who\">{} {}</span> <span class=\"text\" dir=\"auto\">{}</span></p>",
        name(&spoken.id),
        escaped(if spoken.speaker == spoken.id { "" } else { &spoken.speaker }),
        marked(&spoken.text, &quotes)
    )
}

/// Returns the id of a message, a long one cut, as it is shown.
fn name(id: &str) -> String {
    const SHOWN: usize = 12;
    if id.chars().count() <= SHOWN {
        return escaped(id);
    }
    let begin: String = id.chars().take(SHOWN - 4).collect();
    format!("<span title=\"{}\">{}…</span>", escaped(id), escaped(&begin))
}

/// Returns `text`, escaped, with the quotes in it marked: what was missed, and what was taken wrongly.
fn marked(text: &str, quotes: &[(&str, bool)]) -> String {
    let mut spans: Vec<(usize, usize, bool)> = quotes
        .iter()
        .filter(|(quote, _)| !quote.is_empty())
        .filter_map(|(quote, is_missed)| text.find(quote).map(|at| (at, at + quote.len(), *is_missed)))
        .collect();
    spans.sort_unstable();
    let (mut safe, mut from) = (String::new(), 0);
    for (begin, end, is_missed) in spans {
        // What overlaps is marked once.
        if begin < from {
            continue;
        }
        safe += &escaped(&text[from..begin]);
        let class = if is_missed { "missed" } else { "wrong" };
        safe.extend(["<mark class=\"", class, "\">", &escaped(&text[begin..end]), "</mark>"]);
        from = end;
    }
    safe + &escaped(&text[from..])
}

fn finding(found: &Found, to: &mut String) -> Result {
    let class = match (found.counts, found.what.as_str()) {
        (false, _) => "aside",
        (true, "missed") => "missed",
        (true, _) => "wrong",
    };
    writeln!(
        to,
        "<li class=\"{class}\"><span class=\"what\">{}</span> <span dir=\"auto\">{}</span>",
        escaped(&found.what),
        escaped(&found.text)
    )?;
    if !found.why.is_empty() {
        writeln!(to, "<div class=\"dim\" dir=\"auto\">{}</div>", escaped(&found.why))?;
    }
    for quoted in found.evidence.iter().filter(|quoted| !quoted.quote.is_empty()) {
        let message = quoted.message.as_ref().map_or_else(String::new, |id| format!("{} ", name(id)));
        writeln!(
            to,
            "<blockquote><span class=\"who\">{message}</span><span dir=\"auto\">{}</span></blockquote>",
            escaped(&quoted.quote)
        )?;
    }
    writeln!(to, "</li>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_are_marked_once_and_everything_is_escaped() {
        let text = "We <b>deploy</b> on Fridays, never on Mondays.";
        let found = marked(
            text,
            &[("on Fridays", true), ("Fridays, never", false), ("<b>deploy</b>", false), ("gone", true), ("", true)],
        );
        assert_eq!(
            found,
            "We <mark class=\"wrong\">&lt;b&gt;deploy&lt;/b&gt;</mark> <mark class=\"missed\">on Fridays</mark>, never on Mondays."
        );
    }
}
