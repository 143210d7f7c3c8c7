//! Short conversations with what should and must not be kept of them, one a line of a file.

use std::fs;
use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;

use super::EvalError;
use super::case::{Case, Forbidden, ForbiddenKind, Gold, Importance, Language};
use super::consolidation::Moment;
use super::inline::{self, Turn};
use super::matcher::Rules;
use super::suite::{Discovered, Loaded};
use crate::memory::MemoryType;

/// How the names of such files end.
const ENDING: &str = "-extraction.jsonl";

/// A short conversation, and what should and must not be kept of it.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Short {
    /// Unique among the cases of a split.
    pub id: String,
    /// What is hard about it, in one sentence.
    #[serde(default)]
    pub about: String,
    /// Language of the conversation, and so of its memories.
    pub language: Language,
    /// What it tests; results are grouped by each.
    #[serde(default)]
    pub phenomena: Vec<String>,
    /// What was said.
    pub transcript: Vec<Turn>,
    /// What a careful person would keep.
    #[serde(default)]
    pub must: Vec<Must>,
    /// What must not be kept.
    #[serde(default)]
    pub must_not: Vec<MustNot>,
}

/// Something that should be remembered.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Must {
    /// What should be remembered, for people.
    pub text: String,
    /// Every type that is right, the best first; none: any is.
    #[serde(default, rename = "type")]
    pub types: Vec<MemoryType>,
    /// How much it matters; `medium` by default.
    #[serde(default)]
    pub importance: Option<Importance>,
    /// Fine to keep and fine to leave out.
    #[serde(default)]
    pub optional: bool,
    /// Regular expressions, each of which occurs in the memory.
    pub all: Vec<String>,
    /// Regular expressions, none of which occurs; a memory that has one of them is distorted.
    #[serde(default)]
    pub none: Vec<String>,
    /// The day, month or instant that the memory must name or hold from or until.
    #[serde(default)]
    pub date: Option<Moment>,
    /// Verbatim pieces of messages; right evidence cites a message that holds one of them.
    pub evidence: Vec<String>,
}

/// Something that must not be remembered.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MustNot {
    /// Why it must not be kept.
    pub kind: ForbiddenKind,
    /// Regular expressions that all occur in a memory that is forbidden.
    pub all: Vec<String>,
    /// Regular expressions any of which excuses it, such as a negation.
    #[serde(default)]
    pub unless: Vec<String>,
    /// For people.
    #[serde(default)]
    pub why: String,
}

impl Short {
    /// Returns the case in its long form.
    fn case(&self) -> Case {
        let golds = (1..).zip(&self.must).map(|(number, must)| Gold {
            id: format!("m{number}"),
            text: must.text.clone(),
            types: must.types.clone(),
            importance: must.importance.unwrap_or(Importance::Medium),
            optional: must.optional,
            all: must.all.clone(),
            none: must.none.clone(),
            date: must.date,
            evidence: must.evidence.clone(),
        });
        let forbidden = (1..).zip(&self.must_not).map(|(number, one)| Forbidden {
            id: format!("f{number}"),
            kind: one.kind,
            all: one.all.clone(),
            unless: one.unless.clone(),
            why: one.why.clone(),
        });
        Case {
            about: self.about.clone(),
            language: self.language,
            format: inline::FORMAT.to_owned(),
            phenomena: self.phenomena.clone(),
            logs: vec![inline::log_name(&self.id)],
            changed_at: None,
            memories: golds.collect(),
            forbidden: forbidden.collect(),
        }
    }

    fn check(&self) -> Result<(), String> {
        if self.transcript.is_empty() {
            return Err(format!("{}.transcript: nobody says anything", self.id));
        }
        if self.must.is_empty() && self.must_not.is_empty() {
            return Err(format!("{}: it tests nothing; give must, must_not or both", self.id));
        }
        for piece in self.must.iter().flat_map(|must| &must.evidence) {
            if !self.transcript.iter().any(|turn| turn.text.contains(piece.as_str())) {
                return Err(format!("{}: no message holds the evidence {piece:?}", self.id));
            }
        }
        Ok(())
    }
}

/// Whether the file at `path` holds such cases.
#[must_use]
pub fn is_short(path: &Path) -> bool {
    path.is_file() && path.file_name().is_some_and(|name| name.to_string_lossy().ends_with(ENDING))
}

/// Reads the cases of the file at `path`, in their order. One that cannot be read is told with file and line.
#[must_use]
pub fn read(path: &Path) -> Vec<Discovered> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(source) => {
            let loaded = Err(EvalError::Read { path: path.to_owned(), source });
            return vec![Discovered { folder: path.to_owned(), loaded }];
        }
    };
    let whole = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let split = whole.parent().and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned());
    let split = split.unwrap_or_default();
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(index, line)| {
            let place = format!("line {}: ", index + 1);
            Discovered { folder: path.to_owned(), loaded: loaded(path, &split, &place, line) }
        })
        .collect()
}

fn loaded(path: &Path, split: &str, place: &str, line: &str) -> Result<Loaded, EvalError> {
    let fail = |reason: String| EvalError::Form { path: path.to_owned(), place: place.to_owned(), reason };
    // Every line is a text of its own, so that only the column tells where it went wrong.
    let told = |error: serde_json::Error| fail(error.to_string().replace(" at line 1 column", ", at column"));
    let short: Short = serde_json::from_str(line).map_err(told)?;
    short.check().map_err(fail)?;
    let case = short.case();
    let rules = Rules::of(&case, &PathBuf::from(format!("{}, {}{}", path.display(), place, short.id)))?;
    Ok(Loaded {
        folder: path.to_owned(),
        id: short.id,
        split: split.to_owned(),
        case,
        rules,
        verdicts: Vec::new(),
        transcript: Some(short.transcript),
    })
}

/// Returns the JSON Schema of a line.
#[must_use]
pub fn schema() -> serde_json::Value {
    schemars::schema_for!(Short).to_value()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read_line(line: &serde_json::Value) -> Vec<Discovered> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("en-extraction.jsonl");
        fs::write(&file, format!("{line}\n")).unwrap();
        assert!(is_short(&file));
        read(&file)
    }

    #[test]
    fn a_line_is_a_case_with_its_conversation() {
        let line = json!({"id": "a", "language": "en", "transcript": [{"text": "We use pnpm."}],
            "must": [{"text": "The project uses pnpm.", "all": ["pnpm"], "evidence": ["pnpm"], "date": "2026-03"}],
            "must_not": [{"kind": "denied", "all": ["npm install"]}]});
        let case = read_line(&line).remove(0).loaded.unwrap();
        assert_eq!((case.id.as_str(), case.case.memories[0].id.as_str()), ("a", "m1"));
        assert_eq!((case.rules.golds.len(), case.rules.forbidden[0].id.as_str()), (1, "f1"));
        assert_eq!(case.transcript.map(|turns| turns.len()), Some(1));
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let case = |must: serde_json::Value| json!({"id": "a", "language": "en", "transcript": [{"text": "We use pnpm."}], "must": must});
        for (line, told) in [
            (case(json!([])), "a: it tests nothing"),
            (
                case(json!([{"text": "x", "all": ["x"], "evidence": ["yarn"]}])),
                "no message holds the evidence \"yarn\"",
            ),
            (
                case(json!([{"text": "x", "all": ["("], "evidence": ["We"]}])),
                "line 1: a: m1.all[0]: \"(\" is no pattern",
            ),
            (case(json!([{"text": "x", "any": ["x"], "evidence": []}])), "unknown field `any`"),
        ] {
            let error = read_line(&line).remove(0).loaded.unwrap_err().to_string();
            assert!(error.contains(told), "{error}");
        }
    }

    #[test]
    fn the_adversarial_suite_can_be_read_and_is_large_enough() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("evals/adversarial");
        let cases = crate::eval::discover(&[folder]).unwrap();
        let cases: Vec<Loaded> = cases.into_iter().map(|case| case.loaded.unwrap()).collect();
        assert!(cases.len() >= 100, "{}", cases.len());
        for (phenomenon, least) in [
            ("secret", 10),
            ("injection", 8),
            ("fiction", 8),
            ("sarcasm", 6),
            ("hypothetical", 8),
            ("feedback-loop", 5),
            ("third-party", 8),
            ("one-off", 6),
            ("retraction", 6),
            ("coreference", 5),
            ("number", 6),
            ("assistant-confirmed", 4),
            ("assistant-denied", 3),
        ] {
            let count = cases.iter().filter(|case| case.case.phenomena.iter().any(|one| one == phenomenon)).count();
            assert!(count >= least, "{phenomenon}: {count}");
        }
    }
}
