//! Finding and reading the files, strictly: a label that is wrong in itself would measure nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::form::{BriefCase, Kept, QaCase, RecallCase};
use super::measure::Kind;
use crate::eval::EvalError;
use crate::eval::matcher::compiled;
use crate::eval::rows::Row;
use crate::memory::CATEGORIES;

/// A case of any kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Line {
    /// Queries, and which memories come.
    Recall(RecallCase),
    /// Situations, and which memories the brief holds.
    Brief(BriefCase),
    /// Questions, and whether their answers can be given.
    Qa(QaCase),
}

impl Line {
    /// Returns its id.
    #[must_use]
    pub fn id(&self) -> &str {
        match self {
            Self::Recall(case) => &case.id,
            Self::Brief(case) => &case.id,
            Self::Qa(case) => &case.id,
        }
    }
}

/// A case with where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed {
    /// Its file.
    pub file: PathBuf,
    /// Name of the file's folder, such as `dev`.
    pub split: String,
    /// What the file's name begins with, such as `en`.
    pub language: String,
    /// The case.
    pub case: Line,
}

impl Placed {
    /// Returns the row of the question `id`, without its suite and what was counted.
    pub(super) fn row(&self, kind: Kind, id: &str, ask: &str, phenomena: &[String]) -> Row {
        Row {
            kind: kind.name().to_owned(),
            case: format!("{}/{}/{id}", self.split, self.case.id()),
            split: self.split.clone(),
            language: Some(self.language.clone()),
            phenomena: phenomena.to_vec(),
            about: ask.to_owned(),
            ..Row::default()
        }
    }
}

/// All cases below some paths.
#[derive(Debug, Default)]
pub struct Cases {
    /// The cases, by file and line.
    pub lines: Vec<Placed>,
    /// What could not be read, each told with file, line, field and remedy.
    pub unreadable: Vec<EvalError>,
}

fn kind(path: &Path) -> Option<Kind> {
    let name = path.file_name()?.to_string_lossy();
    Kind::ALL.iter().copied().find(|kind| name.ends_with(kind.ending()))
}

/// Returns the files of such cases in or below `path`, by name.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    let files = entries.filter(|entry| entry.file_type().is_file()).map(walkdir::DirEntry::into_path);
    files.filter(|path| kind(path).is_some()).collect()
}

/// Reads all `files`. A line that cannot be read is told and left out.
#[must_use]
pub fn read(files: &[PathBuf]) -> Cases {
    let mut cases = Cases::default();
    let mut seen = BTreeSet::new();
    for file in files {
        let whole = file.canonicalize().unwrap_or_else(|_| file.clone());
        let Some(kind) = kind(file).filter(|_| seen.insert(whole.clone())) else { continue };
        match fs::read_to_string(file) {
            Ok(text) => read_lines(kind, file, &whole, &text, &mut cases),
            Err(source) => cases.unreadable.push(EvalError::Read { path: file.clone(), source }),
        }
    }
    let mut once = BTreeSet::new();
    for placed in &cases.lines {
        if !once.insert((&placed.split, placed.case.id())) {
            let place = format!("{}: ", placed.case.id());
            let reason = "two cases have this id; give one of them another".to_owned();
            cases.unreadable.push(EvalError::Form { path: PathBuf::from(&placed.split), place, reason });
        }
    }
    cases
}

fn read_lines(kind: Kind, file: &Path, whole: &Path, text: &str, cases: &mut Cases) {
    let name = |path: Option<&Path>| {
        path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    };
    let (split, own) = (name(whole.parent()), name(Some(whole)));
    let language = own.trim_end_matches(kind.ending()).to_owned();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let read = match kind {
            Kind::Recall => parsed(line, check_recall).map(Line::Recall),
            Kind::Brief => parsed(line, check_brief).map(Line::Brief),
            Kind::Qa => parsed(line, check_qa).map(Line::Qa),
        };
        match read {
            Ok(case) => cases.lines.push(Placed {
                file: file.to_owned(),
                split: split.clone(),
                language: language.clone(),
                case,
            }),
            Err(reason) => {
                let place = format!("line {}: ", index + 1);
                cases.unreadable.push(EvalError::Form { path: file.to_owned(), place, reason });
            }
        }
    }
}

fn parsed<T: DeserializeOwned>(line: &str, check: fn(&T) -> Result<(), String>) -> Result<T, String> {
    // Every line is a text of its own, so that only the column tells where it went wrong.
    let told = |error: serde_json::Error| error.to_string().replace(" at line 1 column", ", at column");
    let case = serde_json::from_str::<T>(line).map_err(told)?;
    check(&case)?;
    Ok(case)
}

fn check_recall(case: &RecallCase) -> Result<(), String> {
    let known = check_memories(&case.memories)?;
    check_ids("query", case.queries.iter().map(|query| &query.id))?;
    for query in &case.queries {
        let only = query.only.iter().flatten();
        check_known(&query.id, &known, query.must.iter().chain(&query.must_not).chain(only))?;
        check_sides(&query.id, &query.must, &query.must_not)?;
        check_purpose(&query.id, query.empty, !query.must.is_empty() || !query.must_not.is_empty())?;
    }
    Ok(())
}

fn check_brief(case: &BriefCase) -> Result<(), String> {
    let known = check_memories(&case.memories)?;
    check_ids("situation", case.situations.iter().map(|situation| &situation.id))?;
    for situation in &case.situations {
        check_known(&situation.id, &known, situation.must.iter().chain(&situation.must_not))?;
        check_sides(&situation.id, &situation.must, &situation.must_not)?;
        let asks = !situation.must.is_empty() || !situation.must_not.is_empty() || !situation.never.is_empty();
        check_purpose(&situation.id, situation.empty, asks)?;
        check_patterns(&situation.id, "never", &situation.never)?;
    }
    Ok(())
}

fn check_qa(case: &QaCase) -> Result<(), String> {
    if case.transcript.is_empty() == case.memories.is_empty() {
        return Err("give either a transcript or memories, and not both".to_owned());
    }
    check_memories(&case.memories)?;
    check_ids("question", case.questions.iter().map(|question| &question.id))?;
    for question in &case.questions {
        check_patterns(&question.id, "must", &question.must)?;
        check_patterns(&question.id, "must_not", &question.must_not)?;
        let there = |piece: &String| {
            case.transcript.iter().any(|said| said.text.contains(piece.as_str()))
                || case.memories.iter().any(|kept| kept.id == *piece)
        };
        if let Some(piece) = question.evidence.iter().find(|piece| !there(piece)) {
            return Err(format!("{}.evidence: {piece:?} stands in no message and is no memory's id", question.id));
        }
        if question.must.is_empty() != question.evidence.is_empty() {
            return Err(format!(
                "{}: must and evidence belong together; leave out both where there is no answer",
                question.id
            ));
        }
    }
    Ok(())
}

fn check_memories(memories: &[Kept]) -> Result<BTreeSet<&str>, String> {
    check_ids("memory", memories.iter().map(|kept| &kept.id))?;
    for kept in memories {
        if kept.content.trim().is_empty() {
            return Err(format!("{}.content: it says nothing; write what is remembered", kept.id));
        }
        if [kept.importance, kept.confidence].iter().flatten().any(|share| !(0.0..=1.0).contains(share)) {
            return Err(format!("{}: importance and confidence are numbers from 0 to 1", kept.id));
        }
        if let Some(category) = kept.category.as_deref().filter(|category| !CATEGORIES.contains(category)) {
            return Err(format!("{}.category: {category:?} is none; use one of {}", kept.id, CATEGORIES.join(", ")));
        }
    }
    Ok(memories.iter().map(|kept| kept.id.as_str()).collect())
}

fn check_ids<'a>(what: &str, ids: impl Iterator<Item = &'a String>) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for id in ids {
        if !seen.insert(id) {
            return Err(format!("{id}: two of them have this id; give one {what} another"));
        }
    }
    Ok(())
}

fn check_known<'a>(id: &str, known: &BTreeSet<&str>, named: impl Iterator<Item = &'a String>) -> Result<(), String> {
    for name in named {
        if !known.contains(name.as_str()) {
            return Err(format!("{id}: no memory is called {name:?}; name one"));
        }
    }
    Ok(())
}

fn check_sides(id: &str, must: &[String], must_not: &[String]) -> Result<(), String> {
    match must.iter().find(|name| must_not.contains(name)) {
        Some(name) => Err(format!("{id}: {name:?} both must and must not come; decide")),
        None => Ok(()),
    }
}

fn check_purpose(id: &str, empty: bool, asks: bool) -> Result<(), String> {
    if empty == asks {
        return Err(format!("{id}: give either must and must_not, or empty where nothing may come"));
    }
    Ok(())
}

fn check_patterns(id: &str, field: &str, patterns: &[String]) -> Result<(), String> {
    compiled(id, field, patterns).map(drop).map_err(|(place, why)| format!("{place}{why}"))
}
