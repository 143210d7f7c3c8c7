//! Reports on runs, composed of blocks that the program prints as text and this module writes as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::blocks::{Part, counted, table};
use crate::closed_loop;
use crate::compare::deviation;
use crate::measure::{Better, Measure, Unit};
use crate::results::{Confusion, Cost, Finding, Manifest, Results, Row, SharedCost, float};
use crate::tally::{CaseTally, GROUPS, Interval, Tally};
use crate::text::on_one_line;
use crate::vocabulary::Kind;

pub use crate::blocks::{Block, Cell, Detail, Rating};

/// Number of cases with findings that a short report lists.
const CASES: usize = 12;
/// Number of findings that a short report lists for each case.
const FINDINGS: usize = 14;
/// Number of measures by which a short report compares groups of cases.
const COLUMNS: usize = 8;

/// The rows of one run under one label.
#[derive(Debug)]
pub struct Report {
    /// Description of the subject of the report.
    label: String,
    results: Results,
}

impl Report {
    /// Returns a report on `rows`, which do not belong to a suite; `shared` is the cost of requests for all rows
    /// together.
    pub fn new(label: &str, rows: Vec<Row>, shared: Option<Cost>) -> Self {
        let mut results = Results::new(Manifest::default(), rows);
        results.shared.extend(shared.map(|cost| SharedCost { cost, ..SharedCost::default() }));
        Self { label: label.to_owned(), results }
    }

    /// Returns an object for each kind of row, for programs.
    pub fn to_json(&self) -> Vec<serde_json::Value> {
        let object = |tally: &Tally| {
            let values: serde_json::Map<_, _> = tally
                .measures
                .iter()
                .zip(tally.totals())
                .map(|(measure, (value, interval))| {
                    (measure.name.clone(), json!({"value": value, "interval": interval}))
                })
                .collect();
            let rows: Vec<&Row> = tally.rows_of(&self.results).collect();
            json!({
                "kind": tally.kind, "label": self.label, "cases": tally.cases.len(), "measures": values,
                "counts": counts(&rows), "cost": tally.cost(&self.results, rows.iter().copied()), "defined": tally.measures, "rows": rows,
            })
        };
        Tally::all(&self.results).iter().map(object).collect()
    }

    /// Returns the report for people: for each kind the measures, totals, groups of cases, and findings.
    pub fn blocks(&self, detail: Detail) -> Vec<Block> {
        let mut blocks = closed_loop::tables(&self.results);
        for tally in Tally::all(&self.results) {
            // A short report about the closed loop consists of its tables.
            if tally.kind == Kind::Loop.as_str() && detail == Detail::Short {
                continue;
            }
            let rows: Vec<&Row> = tally.rows_of(&self.results).collect();
            let title = format!("{} by {}: {}", tally.kind, self.label, counted(tally.cases.len(), "case"));
            let of = if tally.suite.is_empty() { String::new() } else { format!("{}: ", tally.suite) };
            blocks.push(Block::Heading(of + &title));
            if !tally.cases.is_empty() {
                blocks.push(measure_table(&tally));
                blocks.extend(totals_line(&rows));
                blocks.push(Block::Line(tally.cost(&self.results, rows.iter().copied()).summary() + &latency(&rows)));
                blocks.extend(confusion_tables(&rows));
                blocks.extend((0..GROUPS.len()).filter_map(|by| group_table(&tally, by, detail)));
            }
            blocks.extend(findings(&rows, detail));
        }
        blocks
    }
}

/// Returns the sums of all counts of `rows`.
fn counts(rows: &[&Row]) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (name, count) in rows.iter().flat_map(|row| &row.counts) {
        *sums.entry(name.clone()).or_default() += count;
    }
    sums
}

fn totals_line(rows: &[&Row]) -> Option<Block> {
    let sums = counts(rows).into_iter().filter(|(_, count)| *count > 0);
    let parts: Vec<String> = sums.map(|(name, count)| format!("{count} {}", name.replace('_', " "))).collect();
    (!parts.is_empty()).then(|| Block::Line(parts.join(", ")))
}

/// Returns the median and the 95th percentile of the time per row.
fn latency(rows: &[&Row]) -> String {
    let mut times: Vec<u64> = rows.iter().filter(|row| row.error.is_none()).map(|row| row.cost.ms).collect();
    times.sort_unstable();
    let at = |hundredths: usize| times.get(times.len() * hundredths / 100).copied().unwrap_or_default();
    format!("; {} ms (p50), {} ms (p95) per case", at(50), at(95))
}

fn measure_table(tally: &Tally) -> Block {
    type Total = (Option<f64>, Option<Interval>);
    let totals = tally.measures.iter().zip(tally.totals()).enumerate();
    let row = |(at, (measure, (value, interval))): (usize, (&Measure, Total))| {
        let cases = tally.cases.iter().filter(|case| case.ratios[at].denominator > 0.0).count();
        let cases = if measure.harmonic_of.is_some() { String::new() } else { cases.to_string() };
        vec![
            Cell::plain(&measure.name),
            Cell::new(measure.unit.format(value), tone(value, measure)),
            Cell::dim(interval.map_or_else(String::new, |interval| bounds(interval, measure.unit))),
            Cell::dim(cases),
            Cell::plain(if measure.better == Better::Lower { "↓" } else { "" }),
            Cell::dim(&measure.about),
        ]
    };
    table(&["measure", "value", "95 % interval", "cases", "", ""], totals.map(row))
}

pub(crate) fn bounds(interval: Interval, unit: Unit) -> String {
    format!("{}–{}", unit.format(Some(interval.low)), unit.format(Some(interval.high)))
}

fn tone(value: Option<f64>, measure: &Measure) -> Rating {
    match (value, measure.better, measure.unit) {
        (None, _, _) => Rating::Dim,
        (Some(value), Better::Higher, _) if value >= 0.95 => Rating::Good,
        (Some(value), Better::Higher, _) if value >= 0.8 => Rating::Middling,
        (Some(value), Better::Lower, Unit::Share) if value <= 0.03 => Rating::Good,
        (Some(value), Better::Lower, Unit::Share) if value <= 0.1 => Rating::Middling,
        (Some(value), Better::Lower, Unit::Count) if value < 0.5 => Rating::Good,
        // A number per case has no natural scale, so no threshold would fit every measure.
        (Some(_), Better::Lower, Unit::Number) => Rating::Plain,
        (Some(_), Better::Higher | Better::Lower, _) => Rating::Bad,
    }
}

/// Returns a table of expected and actual values for each choice.
fn confusion_tables(rows: &[&Row]) -> Vec<Block> {
    let all: Vec<&Confusion> = rows.iter().flat_map(|row| &row.confusion).collect();
    let distinct = |names: Vec<&str>| -> Vec<String> {
        let names: BTreeSet<&str> = names.into_iter().collect();
        names.into_iter().map(str::to_owned).collect()
    };
    let table_of = |of: &String| {
        let own: Vec<&&Confusion> = all.iter().filter(|one| one.of == *of).collect();
        let columns = distinct(own.iter().map(|one| one.got.as_str()).collect());
        let header: Vec<String> = std::iter::once(format!("expected {of}")).chain(columns.iter().cloned()).collect();
        let row = |expected: String| {
            let count = |got: &String| -> u64 {
                own.iter().filter(|one| one.expected == expected && one.got == *got).map(|one| one.count).sum()
            };
            let counts = columns.iter().map(|got| match count(got) {
                0 => Cell::dim("·"),
                count => Cell::plain(count.to_string()),
            });
            std::iter::once(Cell::plain(&expected)).chain(counts).collect()
        };
        table(&header, distinct(own.iter().map(|one| one.expected.as_str()).collect()).into_iter().map(row))
    };
    distinct(all.iter().map(|one| one.of.as_str()).collect()).iter().map(table_of).collect()
}

fn group_table(tally: &Tally, by: usize, detail: Detail) -> Option<Block> {
    let groups = tally.groups(by);
    // A single group would only repeat the totals.
    if groups.len() < 2 {
        return None;
    }
    let measured = |at: &usize| tally.cases.iter().any(|case| case.ratios[*at].denominator > 0.0);
    let chosen: Vec<usize> = (0..tally.measures.len())
        .filter(|at| tally.measures[*at].harmonic_of.is_some() || measured(at))
        .take(detail.limits(COLUMNS, 0).0)
        .collect();
    let names = chosen.iter().map(|&at| tally.measures[at].name.as_str());
    let header: Vec<&str> = [GROUPS[by], "cases"].into_iter().chain(names).collect();
    let row = |(name, cases): (String, Vec<&CaseTally>)| {
        let values = tally.over(&cases);
        let values = chosen.iter().map(|&at| Cell::plain(tally.measures[at].unit.format(values[at])));
        [Cell::of(&[Part::Quoted(&name)], Rating::Plain), Cell::plain(cases.len().to_string())]
            .into_iter()
            .chain(values)
            .collect()
    };
    Some(table(&header, groups.into_iter().map(row)))
}

/// Returns the cases with findings, worst first.
fn findings(rows: &[&Row], detail: Detail) -> Vec<Block> {
    let counting = |row: &Row| row.findings.iter().filter(|finding| finding.counts).count();
    let mut wrong: Vec<&&Row> = rows.iter().filter(|row| !row.findings.is_empty()).collect();
    wrong.sort_by_key(|row| std::cmp::Reverse(counting(row)));
    let (shown, most) = detail.limits(CASES, FINDINGS);
    let case = |row: &&&Row| {
        let lines = row.findings.iter().map(finding_line).collect();
        Block::case(&row.case, Cell::of(&[Part::Quoted(&on_one_line(&row.about))], Rating::Dim), lines, most)
    };
    let mut blocks: Vec<Block> = wrong.iter().take(shown).map(case).collect();
    blocks.extend(Block::left_out(wrong.len(), shown, "cases have findings"));
    blocks
}

fn finding_line(finding: &Finding) -> Cell {
    let why = on_one_line(&finding.why);
    let [open, close] = if why.is_empty() { ["", ""] } else { [" (", ")"] };
    let quote = finding.evidence.first().filter(|quote| quote.quote != finding.text);
    let quote = quote.map_or_else(String::new, |quote| format!(" — “{}”", on_one_line(&quote.quote)));
    // A memory's name adds information that its text does not contain.
    let says_more = finding.id.chars().count() < 20 && finding.id != finding.what;
    let id = if says_more { format!(" {}", finding.id) } else { String::new() };
    let text = if finding.text.is_empty() { String::new() } else { format!(": {}", on_one_line(&finding.text)) };
    let before = id + open;
    let after = format!("{close}{text}{quote}");
    let parts = [Part::Words(&finding.what), Part::Quoted(&before), Part::Words(&why), Part::Quoted(&after)];
    Cell::of(&parts, if finding.counts { Rating::Bad } else { Rating::Dim })
}

/// Returns the spread of every measure over several runs of the same cases.
pub fn spread_over_runs(results: &Results) -> Vec<Block> {
    let runs: Vec<Vec<Tally>> = (1..=results.manifest.repeat)
        .map(|repeat| {
            let rows = results.rows.iter().filter(|row| row.repeat == repeat).cloned().collect();
            Tally::all(&Results { rows, ..results.clone() })
        })
        .collect();
    let mut blocks = Vec::new();
    for tally in Tally::all(results) {
        let of_runs: Vec<Vec<Option<f64>>> = runs
            .iter()
            .filter_map(|run| run.iter().find(|one| one.is_same_suite(&tally)))
            .map(|run| run.over(&run.everything()))
            .collect();
        blocks.push(Block::Heading(format!("{} ({}) over {} runs", tally.suite, tally.kind, results.manifest.repeat)));
        let row = |(at, measure): (usize, &Measure)| {
            let values: Vec<f64> = of_runs.iter().filter_map(|run| run.get(at).copied().flatten()).collect();
            let spread = spread(&values).map(|value| Cell::plain(Unit::Share.format(value)));
            std::iter::once(Cell::plain(&measure.name)).chain(spread).collect()
        };
        let rows = tally.measures.iter().enumerate().map(row);
        blocks.push(table(&["measure", "mean", "sd", "least", "most"], rows));
    }
    blocks
}

/// Returns the mean, the standard deviation, the minimum and the maximum.
fn spread(values: &[f64]) -> [Option<f64>; 4] {
    if values.is_empty() {
        return [None; 4];
    }
    let mean = values.iter().sum::<f64>() / float(values.len());
    let ordered = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
    [Some(mean), deviation(values), ordered(f64::min), ordered(f64::max)]
}

impl Manifest {
    /// Returns a one-line description of the run.
    pub(crate) fn summary(&self) -> String {
        let prompts: String = self.prompts.chars().take(8).collect();
        let folder = self.prompt_folder.as_ref().map_or_else(String::new, |folder| format!(" of {}", folder.display()));
        let revision = self.revision.as_ref().map_or_else(String::new, |revision| format!(" at {revision}"));
        let runs = if self.repeat > 1 { format!(", {} runs", self.repeat) } else { String::new() };
        format!("{}, prompts {prompts}{folder}, afterthought {}{revision}{runs}", self.label, self.program)
    }
}

/// Returns a Markdown document about result files, each with its manifest.
pub fn to_markdown(all: &[Results]) -> String {
    let mut blocks = Vec::new();
    for results in all {
        blocks.push(Block::Heading(results.manifest.summary()));
        blocks.extend(blocks_of(results, Detail::Full));
    }
    markdown_of(&blocks)
}

/// Returns the report about a result file, after the cases that could not be run.
pub fn blocks_of(results: &Results, detail: Detail) -> Vec<Block> {
    let failed = results.rows.iter().filter_map(|row| Some((&row.case, row.error.as_ref()?)));
    let mut blocks: Vec<Block> =
        failed.map(|(case, error)| Block::Line(format!("could not run {case}: {error}"))).collect();
    let report = Report { label: results.manifest.label.clone(), results: results.clone() };
    blocks.extend(report.blocks(detail));
    blocks
}

/// Returns blocks as Markdown. Text from conversations is escaped, so that it cannot act as markup.
fn markdown_of(blocks: &[Block]) -> String {
    let mut text = "# Evaluation\n".to_owned();
    write_blocks(blocks, 2, &mut text).expect("writing to a String cannot fail");
    text
}

/// Writes blocks as Markdown, with headings of the given level.
pub(crate) fn write_blocks(blocks: &[Block], level: usize, to: &mut String) -> std::fmt::Result {
    for block in blocks {
        match block {
            Block::Heading(title) => writeln!(to, "\n{} {}", "#".repeat(level), escaped(title))?,
            Block::Line(line) | Block::Note(line) => writeln!(to, "\n{}", escaped(line))?,
            Block::Table(rows) => {
                writeln!(to)?;
                for (at, cells) in rows.iter().enumerate() {
                    let cells: Vec<String> = cells.iter().map(|cell| escaped(&cell.text)).collect();
                    writeln!(to, "| {} |", cells.join(" | "))?;
                    if at == 0 {
                        writeln!(to, "|{}", "---|".repeat(cells.len()))?;
                    }
                }
            }
            Block::Case(case, about, lines) => {
                let about = if about.text.is_empty() { String::new() } else { format!(": {}", escaped(&about.text)) };
                writeln!(to, "\n**{}**{about}\n", escaped(case))?;
                lines.iter().try_for_each(|line| writeln!(to, "- {}", escaped(&line.text)))?;
            }
        }
    }
    Ok(())
}

/// Returns `text` on one line, with every character escaped that Markdown or HTML would interpret as markup.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for one in on_one_line(text).chars() {
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
    fn text_of_conversations_contains_no_markup() {
        assert_eq!(escaped("<script>\n| a\\*b*"), "&lt;script\\> \\| a\\\\\\*b\\*");
    }

    #[test]
    fn the_worst_cases_come_first_and_the_rest_is_counted() {
        let results = crate::tally::tests::results(&[("a1", [1, 2], [1, 1], 0), ("b1", [2, 2], [1, 1], 0)]);
        let mut rows = results.rows;
        for row in &mut rows {
            row.suite.clear();
        }
        rows[0].fault("missed", "m1", "Ana sings.", "");
        let report = Report::new("rules", rows, None);
        let blocks = report.blocks(Detail::Short);
        assert!(matches!(&blocks[0], Block::Heading(title) if title == "extraction by rules: 2 cases"));
        let line = blocks.iter().find_map(|block| match block {
            Block::Case(name, _, lines) if name == "a1" => lines.first(),
            _ => None,
        });
        let line = line.unwrap_or_else(|| panic!("{blocks:?}"));
        assert_eq!((line.text.as_str(), line.tone), ("missed m1: Ana sings.", Rating::Bad));
        assert_eq!(line.quoted, [6..9, 9..21]);
        let markdown = markdown_of(&blocks);
        assert!(
            markdown.contains("| recall | 0.750 | 0.500–1.000 | 2 |  | required memories that were found |"),
            "{markdown}"
        );
        assert_eq!(report.to_json()[0]["measures"]["recall"]["value"], 0.75);
    }
}
