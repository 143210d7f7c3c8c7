//! A page with the figures of all suites: for each suite a baseline and the program, offline and with a model.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;

use crate::EvalError;
use crate::blocks::Cell;
use crate::closed_loop;
use crate::compare::{arm_table, arms};
use crate::files::read_toml;
use crate::report::{bounds, write_blocks};
use crate::results::Results;
use crate::tally::Tally;
use crate::vocabulary::Kind;

/// The suites of a page, in the order of the page.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overview {
    /// Text below the title.
    intro: String,
    /// The suites.
    #[serde(rename = "suite")]
    pub suites: Vec<OverviewSuite>,
}

/// A suite and the runs that are reported for it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverviewSuite {
    title: String,
    /// Origin of the cases.
    about: String,
    /// The cases on which the program was tuned, and the cases that were held out.
    tuned: String,
    /// Path of the cases, which replaces `{path}` in the arguments of a run.
    path: Option<String>,
    /// Environment variable that contains the path of cases which are not in the repository.
    variable: Option<String>,
    /// Environment variable that contains the path of corrections of the cases' labels; they are used if it is set.
    corrections: Option<String>,
    /// The split whose cases are reported; all cases by default.
    split: Option<String>,
    /// Names of the reported measures.
    #[serde(default)]
    measures: Vec<String>,
    /// The runs, the baseline first.
    #[serde(rename = "run")]
    pub runs: Vec<OverviewRun>,
}

/// A run of a suite.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OverviewRun {
    name: String,
    /// Arguments of `eval`.
    arguments: Vec<String>,
}

impl Overview {
    /// Reads the description of a page.
    ///
    /// # Errors
    /// [`EvalError`] if the file cannot be read or is invalid.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        read_toml(path)
    }

    /// Returns the page as Markdown. `results` contains the results of each run of each suite; an empty list means that
    /// the cases of the suite are not on this machine.
    pub fn to_markdown(&self, results: &[Vec<Results>]) -> String {
        let mut page = format!("# Results\n\n{}\n", self.intro.trim());
        for (suite, results) in self.suites.iter().zip(results) {
            suite.write(results, &mut page).expect("writing to a String cannot fail");
        }
        page
    }
}

impl OverviewSuite {
    /// Returns the arguments of a run; `None` if the cases are not on this machine.
    pub fn arguments(&self, run: &OverviewRun, variable: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        let path = self.path.clone().or_else(|| variable(self.variable.as_deref()?))?;
        let mut arguments: Vec<String> = run.arguments.iter().map(|one| one.replace("{path}", &path)).collect();
        if let Some(corrections) = self.corrections.as_deref().and_then(variable) {
            arguments.extend(["--corrections".to_owned(), corrections]);
        }
        Some(arguments)
    }

    /// Returns the name of the file with the results of run number `place`, counted from 1.
    pub fn file_name(&self, place: usize) -> String {
        let words = self.title.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.map(str::to_lowercase).collect();
        format!("{}-{place}.json", words.join("-"))
    }

    fn write(&self, results: &[Results], to: &mut String) -> std::fmt::Result {
        writeln!(to, "\n## {}\n\n{}\n\n{}\n", self.title, self.about.trim(), self.tuned.trim())?;
        if results.is_empty() {
            return writeln!(to, "Not measured: the data set was not available.");
        }
        let results: Vec<Results> = results.iter().map(|one| self.part_of(one)).collect();
        writeln!(to, "| run | cases | model | commit | date | seed |\n|---|--:|---|---|---|---|")?;
        for (run, results) in self.runs.iter().zip(&results) {
            let manifest = &results.manifest;
            let (model, commit) = (manifest.model.as_deref(), manifest.revision.as_deref());
            let failed = results.rows.iter().filter(|row| row.error.is_some()).count();
            let failed = if failed > 0 { format!(" ({failed} not run)") } else { String::new() };
            writeln!(
                to,
                "| {} | {}{failed} | {} | {} | {} | {:x} |",
                run.name,
                results.rows.len() - results.rows.iter().filter(|row| row.error.is_some()).count(),
                model.unwrap_or("none"),
                commit.unwrap_or("unknown"),
                manifest.started.strftime("%Y-%m-%d"),
                manifest.seed,
            )?;
        }
        let has = |kind: Kind| results.iter().any(|one| one.rows.iter().any(|row| row.kind == kind.as_str()));
        if has(Kind::Loop) {
            return results.iter().try_for_each(|one| write_blocks(&closed_loop::tables(one), 3, to));
        }
        if has(Kind::LocomoSearch) {
            // Each suite among these rows is a different way of searching.
            let tables = results.iter().map(|one| arm_table(&arms(one.rows.clone()))).collect::<Vec<_>>();
            return write_blocks(&tables, 3, to);
        }
        self.write_measures(&results, to)
    }

    /// Returns the results of the reported split.
    fn part_of(&self, results: &Results) -> Results {
        let mut part = results.clone();
        part.rows.retain(|row| self.split.as_ref().is_none_or(|split| row.split == *split));
        part
    }

    fn write_measures(&self, results: &[Results], to: &mut String) -> std::fmt::Result {
        let tallies: Vec<Vec<Tally>> = results.iter().map(together).collect();
        let names: Vec<&str> = self.runs.iter().take(results.len()).map(|run| run.name.as_str()).collect();
        writeln!(to, "\n| | {} |\n|---|{}", names.join(" | "), "--:|".repeat(names.len()))?;
        let mut kinds: Vec<&str> = Vec::new();
        for tally in tallies.iter().flatten() {
            if !kinds.contains(&tally.kind.as_str()) {
                kinds.push(&tally.kind);
            }
        }
        for kind in &kinds {
            for name in &self.measures {
                let cells: Vec<Option<Cell>> = tallies.iter().map(|run| cell(run, kind, name)).collect();
                if cells.iter().all(Option::is_none) {
                    continue;
                }
                let label = if kinds.len() > 1 { format!("{kind}: {name}") } else { name.clone() };
                let texts = cells.into_iter().map(|cell| cell.map_or_else(|| "–".to_owned(), |cell| cell.text));
                writeln!(to, "| {label} | {} |", texts.collect::<Vec<_>>().join(" | "))?;
            }
        }
        Ok(())
    }
}

/// Returns the tallies of a run, with the cases of all suites of one kind added up.
fn together(results: &Results) -> Vec<Tally> {
    let mut merged = results.clone();
    for row in &mut merged.rows {
        // Cases of different suites may have the same name.
        row.case = format!("{}/{}", std::mem::take(&mut row.suite), row.case);
    }
    Tally::all(&merged)
}

/// Returns the value of a measure with its interval.
fn cell(tallies: &[Tally], kind: &str, name: &str) -> Option<Cell> {
    let tally = tallies.iter().find(|tally| tally.kind == kind)?;
    let place = tally.measures.iter().position(|measure| measure.name == name)?;
    let (value, interval) = tally.totals().swap_remove(place);
    let unit = tally.measures[place].unit;
    let text = unit.format(Some(value?));
    Some(Cell::plain(interval.map_or_else(|| text.clone(), |interval| format!("{text} ({})", bounds(interval, unit)))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::results;

    const PAGE: &str = "intro = 'All figures.'\n[[suite]]\ntitle = 'Own cases'\nabout = 'Invented.'\ntuned = 'Tuned on all.'\n\
        path = 'cases'\nmeasures = ['recall', 'luck']\nrun = [{ name = 'none', arguments = ['{path}', '-q'] }, { name = 'rules', arguments = [] }]\n\
        [[suite]]\ntitle = 'Public'\nabout = 'A set.'\ntuned = 'Nothing.'\nvariable = 'SET'\ncorrections = 'FIXED'\nrun = [{ name = 'x', arguments = ['{path}'] }]\n";

    #[test]
    fn a_page_shows_each_run_with_intervals_and_names_what_was_not_measured() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("page.toml");
        std::fs::write(&path, PAGE).unwrap();
        let overview = Overview::read(&path).unwrap();
        let suites = &overview.suites;
        let arguments = |at: usize, value: Option<&str>| {
            suites[at].arguments(&suites[at].runs[0], |name| value.filter(|_| name == "SET").map(str::to_owned))
        };
        assert_eq!(arguments(0, None), Some(vec!["cases".to_owned(), "-q".to_owned()]));
        assert_eq!((arguments(1, None), arguments(1, Some("s.json"))), (None, Some(vec!["s.json".to_owned()])));

        let both = |name: &str| Some(name.to_lowercase());
        let arguments = suites[1].arguments(&suites[1].runs[0], both);
        assert_eq!(arguments.unwrap(), ["set", "--corrections", "fixed"]);
        assert_eq!(suites[0].file_name(2), "own-cases-2.json");
        let none = results(&[("a", [0, 2], [0, 0], 0), ("b", [0, 2], [0, 0], 0)]);
        let rules = results(&[("a", [1, 2], [1, 1], 0), ("b", [1, 2], [1, 1], 0)]);
        let text = overview.to_markdown(&[vec![none, rules], Vec::new()]);
        assert!(
            text.contains(
                "| | none | rules |\n|---|--:|--:|\n| recall | 0.000 (0.000–0.000) | 0.500 (0.500–0.500) |\n"
            ),
            "{text}"
        );
        assert!(text.contains("| rules | 2 | none | unknown |"), "{text}");
        std::fs::write(&path, PAGE.replacen("measures", "split = 'final'\nmeasures", 1)).unwrap();
        let mut part = results(&[("a", [1, 2], [1, 1], 0), ("b", [0, 2], [1, 1], 0)]);
        part.rows[0].split = "final".to_owned();
        let final_part = Overview::read(&path).unwrap().to_markdown(&[vec![part], Vec::new()]);
        assert!(
            final_part.contains("| none | 1 | none |") && final_part.contains("| recall | 0.500 |"),
            "{final_part}"
        );
        assert!(text.ends_with("Not measured: the data set was not available.\n") && !text.contains("luck"), "{text}");
    }
}
