//! Facts with a text that says each, one that says something else, and one that is too vague: what a way of matching is
//! worth.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::judge::{Judge, Judged, TRUSTED};
use super::{Likeness, Vectors, verdicts};
use crate::eval::EvalError;
use crate::eval::draft::Draft;
use crate::eval::rows::{Better, Defined, Ratio, Row, RowUnit};
use crate::llm::Complete;

/// Kind of the rows.
pub const KIND: &str = "matchers";
/// How the names of the files end.
const ENDING: &str = "-triples.jsonl";
/// The judge's name among the ways of matching.
const JUDGE: &str = "judge";

/// A fact with three texts.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Triple {
    /// Unique within the file.
    pub id: String,
    /// The fact.
    pub fact: String,
    /// Says it in other words.
    pub says: String,
    /// Says in much the same words what is not so: another number, name, direction or sense.
    pub wrong: String,
    /// Is about it and does not say it.
    pub vague: String,
}

/// Returns the JSON Schema of a line.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Triple).to_value()
}

/// Returns the files of triples in or below `path`, by name.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))).collect()
}

/// Reads the triples of a file, with the language that its name begins with.
///
/// # Errors
/// [`EvalError`] naming the line that is none.
pub fn read(path: &Path) -> Result<Vec<(String, Triple)>, EvalError> {
    let text = fs::read_to_string(path).map_err(|source| EvalError::Read { path: path.to_owned(), source })?;
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let language = name.trim_end_matches(ENDING).to_owned();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let triple = serde_json::from_str(line).map_err(|error| EvalError::Form {
                path: path.to_owned(),
                place: format!("line {}: ", index + 1),
                reason: error.to_string(),
            })?;
            Ok((language.clone(), triple))
        })
        .collect()
}

/// Returns what the rows measure: of each way of matching, whether it takes what is right, and what is not.
#[must_use]
pub fn defined(with_cosine: bool, with_judge: bool) -> Vec<Defined> {
    let mut names: Vec<&str> = Likeness::OWN.iter().map(|one| one.name()).collect();
    names.extend(with_cosine.then_some(Likeness::Cosine.name()));
    names.extend(with_judge.then_some(JUDGE));
    let of = |name: &str| {
        let measure = |what: &str, about: &str, better| {
            Defined::new(KIND, &format!("{name} {what}"), about, better, RowUnit::Share)
        };
        [
            measure("says", "texts that say the fact and are taken to", Better::Higher),
            measure("wrong", "texts that say something else and are taken to say it", Better::Lower),
            measure("vague", "texts that are too vague and are taken to say it", Better::Lower),
        ]
    };
    names.into_iter().flat_map(of).collect()
}

/// Tries every way of matching on `triples`.
///
/// # Errors
/// [`EvalError::Embed`] if the model that makes vectors fails. What the judge does not answer counts for nothing.
pub async fn rows<C: Complete>(
    triples: &[(String, Triple)],
    vectors: Option<&Vectors<'_>>,
    judge: Option<&Judge<'_, C>>,
) -> Result<Vec<Row>, EvalError> {
    let pairs: Vec<(&str, &str)> = triples
        .iter()
        .flat_map(|(_, one)| [&one.says, &one.wrong, &one.vague].map(|text| (one.fact.as_str(), text.as_str())))
        .collect();
    let judged = match judge {
        Some(judge) => judge.judge(&pairs).await,
        None => Vec::new(),
    };
    let mut rows = Vec::new();
    for (number, (language, triple)) in triples.iter().enumerate() {
        let mut draft = Draft::of(Row {
            kind: KIND.to_owned(),
            case: format!("{language}/{}", triple.id),
            language: Some(language.clone()),
            about: triple.fact.clone(),
            ..Row::default()
        });
        for (place, what) in ["says", "wrong", "vague"].into_iter().enumerate() {
            let at = number * 3 + place;
            let (fact, text) = pairs[at];
            for (name, accepts) in verdicts(fact, text, vectors).await? {
                draft.yes(&format!("{name} {what}"), accepts);
            }
            if let Some(verdict) = judged.get(at).copied().flatten() {
                draft.yes(&format!("{JUDGE} {what}"), verdict == Judged::Says);
                if (verdict == Judged::Says) != (what == "says") {
                    draft.fault("misjudged", what, text, &format!("the judge takes it as {verdict:?}"));
                }
            }
        }
        rows.push(draft.done());
    }
    Ok(rows)
}

/// Whether the judge rejects enough of what is wrong and of what is vague for its figures to be shown.
#[must_use]
pub fn trusted(rows: &[Row]) -> bool {
    let rejects = |what: &str| {
        let name = format!("{JUDGE} {what}");
        let sum =
            rows.iter().filter_map(|row| row.measures.get(&name)).fold(Ratio::default(), |sum, one| sum.plus(*one));
        sum.value(RowUnit::Share).is_some_and(|accepted| 1.0 - accepted >= TRUSTED)
    };
    rejects("wrong") && rejects("vague")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_likeness_of_words_can_be_trusted_with_what_is_wrong() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/matchers");
        let triples: Vec<_> = files(&folder).iter().flat_map(|file| read(file).unwrap()).collect();
        assert!(triples.len() >= 40);
        let rows = futures::executor::block_on(rows::<crate::llm::Client>(&triples, None, None)).unwrap();
        let share = |name: &str| {
            let sum = rows.iter().fold(Ratio::default(), |sum, row| sum.plus(row.measures[name]));
            sum.value(RowUnit::Share).unwrap()
        };
        assert!(share("token-f1 wrong") > share("token-f1 says"), "contradictions keep the words, paraphrases do not");
        assert!(share("exact wrong") < 0.01 && share("exact says") < 0.01);
        assert!(!trusted(&rows), "a judge that was not asked is not trusted");
    }
}
