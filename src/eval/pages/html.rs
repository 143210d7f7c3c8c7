//! The HTML page: one file, no script, nothing from elsewhere.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{Result, Write as _};

use super::svg::escaped;
use super::{Topic, cost_of, facts, letter, number, plots, topics, worst};
use crate::eval::rows::{Better, Results, Row, RowUnit};

/// What a browser may do: show, and nothing else.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'";

/// Returns a page about `all` runs.
#[must_use]
pub fn html(all: &[Results]) -> String {
    let mut page = String::new();
    write_page(all, &mut page).expect("writing to a String cannot fail");
    page
}

fn write_page(all: &[Results], to: &mut String) -> Result {
    writeln!(
        to,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>afterthought: evaluation</title>\n<style>\n{}</style>\n</head>\n<body>",
        include_str!("page.css")
    )?;
    writeln!(to, "<h1>Evaluation</h1>")?;
    runs(all, to)?;
    for (place, topic) in topics(all).iter().enumerate() {
        section(topic, place, to)?;
    }
    writeln!(to, "</body>\n</html>")
}

fn runs(all: &[Results], to: &mut String) -> Result {
    writeln!(to, "<table class=\"facts\"><caption>What was run</caption>\n<thead><tr><th></th>")?;
    for (at, results) in all.iter().enumerate() {
        let label = escaped(&results.manifest.label);
        writeln!(to, "<th scope=\"col\"><i class=\"{}\"></i>{} {label}</th>", plots::colour(at), letter(at))?;
    }
    writeln!(to, "</tr></thead>\n<tbody>")?;
    let columns: Vec<Vec<(&str, String)>> = all.iter().map(|results| facts(&results.manifest)).collect();
    let Some(first) = columns.first() else { return writeln!(to, "</tbody></table>") };
    for (row, (name, _)) in first.iter().enumerate().skip(1) {
        write!(to, "<tr><th scope=\"row\">{name}</th>")?;
        for column in &columns {
            write!(to, "<td>{}</td>", escaped(&column[row].1))?;
        }
        writeln!(to, "</tr>")?;
    }
    writeln!(to, "</tbody></table>")
}

fn section(topic: &Topic<'_>, place: usize, to: &mut String) -> Result {
    let cases = topic.runs.iter().map(|(_, _, tally)| tally.cases.len()).max().unwrap_or_default();
    writeln!(
        to,
        "<section>\n<h2>{} <span class=\"dim\">{}, {cases} cases</span></h2>",
        escaped(&topic.suite),
        escaped(&topic.kind)
    )?;
    failed(topic, to)?;
    writeln!(to, "<div class=\"pair\">\n<div>")?;
    measures(topic, to)?;
    writeln!(to, "</div>\n<div>")?;
    if let Some(plot) = plots::against_cost(topic, &format!("cost{place}")) {
        writeln!(to, "<figure><figcaption>Quality against cost</figcaption>\n{plot}</figure>")?;
    }
    for (run, results, _) in &topic.runs {
        let cost = cost_of(results, &topic.suite).spelled();
        writeln!(to, "<p class=\"dim\"><i class=\"{}\"></i>{} cost {cost}</p>", plots::colour(*run), letter(*run))?;
    }
    writeln!(to, "</div>\n</div>")?;
    if let Some(plot) = plots::by_phenomenon(topic, &format!("phenomena{place}")) {
        let legend = if topic.runs.len() > 1 { plots::legend(topic) } else { String::new() };
        writeln!(to, "<h3>By phenomenon</h3>\n{legend}<figure>{plot}</figure>")?;
    }
    confusion(topic, to)?;
    worst::write(topic, to)?;
    writeln!(to, "</section>")
}

fn failed(topic: &Topic<'_>, to: &mut String) -> Result {
    for (run, _, tally) in &topic.runs {
        for (case, error) in &tally.failed {
            writeln!(
                to,
                "<p class=\"failed\">{} could not run {}: {}. It counts for nothing.</p>",
                letter(*run),
                escaped(case),
                escaped(error)
            )?;
        }
    }
    Ok(())
}

fn measures(topic: &Topic<'_>, to: &mut String) -> Result {
    writeln!(
        to,
        "<table class=\"measures\"><caption>Measures, with 95 % intervals over cases</caption>\n<thead><tr><th scope=\"col\">measure</th>"
    )?;
    for (run, results, _) in &topic.runs {
        let label = escaped(&results.manifest.label);
        writeln!(to, "<th scope=\"col\"><i class=\"{}\"></i>{} {label}</th>", plots::colour(*run), letter(*run))?;
    }
    writeln!(to, "</tr></thead>\n<tbody>")?;
    let found: Vec<_> = topic.runs.iter().map(|(_, _, tally)| tally.whole()).collect();
    let Some((_, _, first)) = topic.runs.first() else { return Ok(()) };
    for (at, measure) in first.measures.iter().enumerate() {
        let arrow = match measure.better {
            Better::Higher => "↑",
            Better::Lower => "↓",
        };
        write!(
            to,
            "<tr><th scope=\"row\" title=\"{}\">{} <span class=\"dim\">{arrow}</span></th>",
            escaped(&measure.about),
            escaped(&measure.name)
        )?;
        for ((_, _, tally), found) in topic.runs.iter().zip(&found) {
            let place = tally.measures.iter().position(|own| own.name == measure.name).unwrap_or(at);
            let (value, interval) = found.get(place).copied().unwrap_or_default();
            let bounds = interval.map_or_else(String::new, |one| {
                format!(
                    " <span class=\"dim\">{}–{}</span>",
                    number(Some(one.low), measure.unit),
                    number(Some(one.high), measure.unit)
                )
            });
            write!(to, "<td>{}{bounds}</td>", number(value, measure.unit))?;
        }
        writeln!(to, "</tr>")?;
    }
    writeln!(to, "</tbody></table>")
}

/// Counts by what should have been and what was.
type Matrix = BTreeMap<String, BTreeMap<String, u64>>;

fn confusion(topic: &Topic<'_>, to: &mut String) -> Result {
    let mut is_headed = false;
    for (run, results, _) in &topic.runs {
        let is_ours = |row: &&Row| row.suite == topic.suite && row.kind == topic.kind;
        let mut matrices: BTreeMap<&str, Matrix> = BTreeMap::new();
        for one in results.rows.iter().filter(is_ours).flat_map(|row| &row.confusion) {
            let row = matrices.entry(&one.of).or_default().entry(one.expected.clone()).or_default();
            *row.entry(one.got.clone()).or_default() += one.count;
        }
        if !matrices.is_empty() && !is_headed {
            writeln!(to, "<h3>What was taken for what</h3>\n<div class=\"matrices\">")?;
            is_headed = true;
        }
        for (of, found) in matrices {
            matrix(&format!("{} {}: {of}", letter(*run), results.manifest.label), &found, to)?;
        }
    }
    if is_headed { writeln!(to, "</div>") } else { Ok(()) }
}

fn matrix(caption: &str, found: &Matrix, to: &mut String) -> Result {
    let names: BTreeSet<&String> = found.keys().chain(found.values().flat_map(BTreeMap::keys)).collect();
    writeln!(
        to,
        "<table class=\"matrix\"><caption>{}</caption>\n<thead><tr><th scope=\"col\">should be ↓, was →</th>",
        escaped(caption)
    )?;
    for name in &names {
        write!(to, "<th scope=\"col\">{}</th>", escaped(name))?;
    }
    writeln!(to, "</tr></thead>\n<tbody>")?;
    for expected in names.iter().filter(|name| found.contains_key(**name)) {
        let row = &found[*expected];
        let all: u64 = row.values().sum();
        write!(to, "<tr><th scope=\"row\">{}</th>", escaped(expected))?;
        for got in &names {
            let count = row.get(*got).copied().unwrap_or_default();
            if count == 0 {
                write!(to, "<td class=\"none\">·</td>")?;
                continue;
            }
            let class = if expected == got { "hit" } else { "miss" };
            #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
            let share = number(Some(count as f64 / all.max(1) as f64), RowUnit::Number);
            write!(
                to,
                "<td class=\"{class}\" style=\"--share:{share}\" title=\"{share} of those that should be {}\">{count}</td>",
                escaped(expected)
            )?;
        }
        writeln!(to, "</tr>")?;
    }
    writeln!(to, "</tbody></table>")
}
