//! Published corrections of the labels, where a person has them: a file, or a folder of files, of an audit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::file::{Question, Sample, ids};
use crate::eval::EvalError;

/// What corrections there are, by question.
#[derive(Debug, Default)]
pub struct Corrections {
    entries: BTreeMap<String, Corrected>,
}

#[derive(Debug)]
struct Corrected {
    kind: String,
    answer: Option<String>,
    evidence: Value,
}

/// What corrections came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
pub struct Mended {
    /// Questions whose evidence is another.
    pub evidence: usize,
    /// Questions whose answer is wrong, and that are asked of retrieval alone.
    pub answers: usize,
}

impl Corrections {
    /// Reads the corrections at `path`: a JSON array of objects with `question`, `error_type`, `correct_evidence` and
    /// `correct_answer`, or a folder with such files named `errors*.json` in or below it.
    ///
    /// # Errors
    /// [`EvalError`] if a file cannot be read or is none.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let mut corrections = Self::default();
        for file in files(path) {
            let text =
                std::fs::read_to_string(&file).map_err(|source| EvalError::Read { path: file.clone(), source })?;
            let form = |reason: String| EvalError::Form { path: file.clone(), place: String::new(), reason };
            let value: Value = serde_json::from_str(&text).map_err(|error| form(error.to_string()))?;
            let entries = value.as_array().ok_or_else(|| form("no array of corrections".to_owned()))?;
            for entry in entries {
                let Some(question) = entry["question"].as_str() else {
                    return Err(form("a correction names no question".to_owned()));
                };
                let corrected = Corrected {
                    kind: entry["error_type"].as_str().unwrap_or_default().to_owned(),
                    answer: entry["correct_answer"].as_str().map(str::to_owned),
                    evidence: entry["correct_evidence"].clone(),
                };
                corrections.entries.insert(question.to_owned(), corrected);
            }
        }
        Ok(corrections)
    }

    /// Corrects the questions of `sample`: the evidence where that is wrong. Where the answer is wrong, the question is
    /// asked of retrieval alone, since the corrected answer is an explanation and no text to look for.
    pub fn apply(&self, sample: &mut Sample) -> Mended {
        let mut mended = Mended::default();
        let known: Vec<String> = sample.turns.iter().map(|turn| turn.id.clone()).collect();
        let mut mend = |question: &mut Question| {
            let Some(corrected) = self.entries.get(&question.question) else { return };
            let mut evidence = ids(&corrected.evidence);
            evidence.retain(|id| known.contains(id));
            if !evidence.is_empty() && evidence != question.evidence {
                question.evidence = evidence;
                mended.evidence += 1;
            }
            let same = corrected.answer.as_deref() == Some(question.answer.as_str());
            if !same && corrected.kind != "WRONG_CITATION" {
                question.answer.clear();
                mended.answers += 1;
            }
        };
        sample.asked.iter_mut().for_each(&mut mend);
        // The same question once more, counted once.
        for question in &mut sample.questions {
            if let Some(asked) = sample.asked.iter().find(|asked| asked.question == question.question) {
                *question = asked.clone();
            }
        }
        sample.questions.retain(|question| !question.answer.is_empty());
        mended
    }
}

fn files(path: &Path) -> Vec<PathBuf> {
    if path.is_file() {
        return vec![path.to_owned()];
    }
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    let is_one = |path: &Path| {
        path.extension().is_some_and(|ending| ending == "json")
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("errors"))
    };
    entries.map(walkdir::DirEntry::into_path).filter(|path| is_one(path)).collect()
}
