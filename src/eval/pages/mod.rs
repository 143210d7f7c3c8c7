//! What runs came to, as documents: Markdown, and one HTML page that needs nothing besides itself.

mod html;
mod markdown;
mod plots;
mod svg;
mod worst;

pub use html::html;
pub use markdown::markdown_of;

use super::rows::{Manifest, Results, RowUnit, Spent};
use super::tally::Tally;

/// Returns a value as people read it.
fn number(value: Option<f64>, unit: RowUnit) -> String {
    match (value, unit) {
        (None, _) => "–".to_owned(),
        (Some(value), RowUnit::Share) => format!("{value:.3}"),
        (Some(value), RowUnit::Number) => format!("{value:.2}"),
        (Some(value), RowUnit::Count) => format!("{value:.0}"),
    }
}

/// Returns what was spent on a suite; kinds of it that were asked about together share it.
fn cost_of(results: &Results, suite: &str) -> Spent {
    let own = results.rows.iter().filter(|row| row.suite == suite).map(|row| row.cost);
    let shared = results.shared.iter().filter(|shared| shared.suite == suite).map(|shared| shared.cost);
    own.chain(shared).fold(Spent { money: Some(0.0), ..Spent::default() }, Spent::plus)
}

/// Returns the name of a run among others: letters as columns have them.
fn letter(at: usize) -> String {
    let last = char::from(b'A' + u8::try_from(at % 26).unwrap_or_default());
    if at < 26 { last.to_string() } else { format!("{last}{}", at / 26) }
}

/// A suite and kind, with the runs that have it.
struct Topic<'a> {
    suite: String,
    kind: String,
    /// The place of the run, the run, and its cases.
    runs: Vec<(usize, &'a Results, Tally)>,
}

/// Returns every suite and kind, in the order in which the runs first have it.
fn topics(all: &[Results]) -> Vec<Topic<'_>> {
    let mut found: Vec<Topic<'_>> = Vec::new();
    for (at, results) in all.iter().enumerate() {
        for tally in Tally::all(results) {
            match found.iter_mut().find(|topic| topic.suite == tally.suite && topic.kind == tally.kind) {
                Some(topic) => topic.runs.push((at, results, tally)),
                None => found.push(Topic {
                    suite: tally.suite.clone(),
                    kind: tally.kind.clone(),
                    runs: vec![(at, results, tally)],
                }),
            }
        }
    }
    found
}

/// Returns what was run, as pairs of what and which.
fn facts(manifest: &Manifest) -> Vec<(&'static str, String)> {
    let suites = manifest.suites.iter().map(|suite| format!("{} ({:.8})", suite.name, suite.content));
    // The categories are long, and the same in nearly every run; the JSON has them.
    let is_told =
        |(name, value): &(&String, &serde_json::Value)| *name != "categories" && !value.is_null() && *value != 0;
    let options = manifest.options.iter().filter(is_told);
    let mut facts = vec![
        ("measured", format!("{} ({})", manifest.label, manifest.extractor)),
        ("suites", suites.collect::<Vec<_>>().join(", ")),
        (
            "prompts",
            match &manifest.prompt_folder {
                Some(folder) => format!("{:.8}, of {}", manifest.prompts, folder.display()),
                None => format!("{:.8}, those of the program", manifest.prompts),
            },
        ),
        ("program", format!("afterthought {} {}", manifest.program, manifest.revision.as_deref().unwrap_or_default())),
        ("same in every run", if manifest.deterministic { "yes" } else { "no" }.to_owned()),
        ("runs of each case", manifest.repeat.to_string()),
        ("begun", manifest.started.strftime("%Y-%m-%d %H:%M UTC").to_string()),
        ("rows of an earlier run", manifest.cache_hits.to_string()),
    ];
    facts.push(("options", options.map(|(name, value)| format!("{name} {value}")).collect::<Vec<_>>().join(", ")));
    facts
}
