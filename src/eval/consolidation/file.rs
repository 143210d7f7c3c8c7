//! Finding and reading the files, strictly: a label that is wrong in itself would measure nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;

use super::form::{Act, Event, Pair, Said, Stream};
use crate::consolidate::Decision;
use crate::eval::EvalError;
use crate::memory::CATEGORIES;

const PAIRS: &str = "-pairs.jsonl";
const STREAMS: &str = "-streams.jsonl";

/// A case with where it stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Placed<T> {
    /// Name of the file's folder, such as `dev`.
    pub split: String,
    /// What the file's name begins with, such as `en`.
    pub language: String,
    /// The case.
    pub case: T,
}

/// All cases below some paths.
#[derive(Debug, Default)]
pub struct Cases {
    /// The pairs, by file and line.
    pub pairs: Vec<Placed<Pair>>,
    /// The streams, by file and line.
    pub streams: Vec<Placed<Stream>>,
    /// What could not be read, each told with file, line, field and remedy.
    pub unreadable: Vec<EvalError>,
}

/// Whether a path is a file of pairs or streams.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().map(|name| name.to_string_lossy());
    path.is_file() && name.is_some_and(|name| name.ends_with(PAIRS) || name.ends_with(STREAMS))
}

/// Returns the files of pairs and streams in or below `path`, by name.
#[must_use]
pub fn files(path: &Path) -> Vec<PathBuf> {
    let entries = walkdir::WalkDir::new(path).sort_by_file_name().into_iter().filter_map(Result::ok);
    entries.map(walkdir::DirEntry::into_path).filter(|path| is_ours(path)).collect()
}

/// Reads all `files`. A line that cannot be read is told and left out; so is a case whose labels cannot be.
#[must_use]
pub fn read(files: &[PathBuf]) -> Cases {
    let mut cases = Cases::default();
    let mut seen = BTreeSet::new();
    for file in files {
        let whole = file.canonicalize().unwrap_or_else(|_| file.clone());
        if !seen.insert(whole.clone()) {
            continue;
        }
        let text = match fs::read_to_string(file) {
            Ok(text) => text,
            Err(source) => {
                cases.unreadable.push(EvalError::Read { path: file.clone(), source });
                continue;
            }
        };
        let place = Origin::of(file, &whole);
        if place.is_pairs {
            cases.pairs.extend(place.cases(&text, check_pair, &mut cases.unreadable));
        } else {
            cases.streams.extend(place.cases(&text, check_stream, &mut cases.unreadable));
        }
    }
    let ids = cases.pairs.iter().map(|one| (&one.split, &one.case.id));
    let ids = ids.chain(cases.streams.iter().map(|one| (&one.split, &one.case.id)));
    let mut once = BTreeSet::new();
    for (split, id) in ids.filter(|id| !once.insert(*id)) {
        cases.unreadable.push(form(Path::new(split), id, "two cases have this id; give one of them another"));
    }
    cases
}

/// Where the lines of a file come from.
struct Origin<'a> {
    file: &'a Path,
    split: String,
    language: String,
    is_pairs: bool,
}

impl<'a> Origin<'a> {
    fn of(file: &'a Path, whole: &Path) -> Self {
        let name = |path: Option<&Path>| {
            path.and_then(Path::file_name).map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
        };
        let own = name(Some(whole));
        let language = own.trim_end_matches(PAIRS).trim_end_matches(STREAMS).to_owned();
        Self { file, split: name(whole.parent()), language, is_pairs: own.ends_with(PAIRS) }
    }

    fn cases<T: DeserializeOwned>(
        &self,
        text: &str,
        check: fn(&T) -> Result<(), Fault>,
        unreadable: &mut Vec<EvalError>,
    ) -> Vec<Placed<T>> {
        let mut found = Vec::new();
        for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let parsed = serde_json::from_str::<T>(line).map_err(|error| (String::new(), told(&error)));
            match parsed.and_then(|case| check(&case).map(|()| case)) {
                Ok(case) => {
                    found.push(Placed { split: self.split.clone(), language: self.language.clone(), case });
                }
                Err((field, reason)) => {
                    let field = if field.is_empty() { field } else { format!("{field}: ") };
                    unreadable.push(form(self.file, &format!("line {}", index + 1), &format!("{field}{reason}")));
                }
            }
        }
        found
    }
}

/// A field and what is wrong with it.
type Fault = (String, String);

fn fault<T>(field: impl Into<String>, reason: impl Into<String>) -> Result<T, Fault> {
    Err((field.into(), reason.into()))
}

/// Every line is a text of its own, so that only the column tells where it went wrong.
fn told(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column", ", at column").replace(", at column 0", "")
}

fn form(path: &Path, place: &str, reason: &str) -> EvalError {
    EvalError::Form { path: path.to_owned(), place: format!("{place}: "), reason: reason.to_owned() }
}

fn check_said(field: &str, said: &Said) -> Result<(), Fault> {
    if said.content.trim().is_empty() {
        return fault(format!("{field}.content"), "it says nothing; write what is remembered");
    }
    for (name, share) in [("confidence", said.confidence), ("importance", said.importance)] {
        if share.is_some_and(|share| !(0.0..=1.0).contains(&share)) {
            return fault(format!("{field}.{name}"), "it is no share; write a number from 0 to 1");
        }
    }
    match &said.category {
        Some(category) if !CATEGORIES.contains(&category.as_str()) => {
            fault(format!("{field}.category"), format!("{category:?} is none; use one of {}", CATEGORIES.join(", ")))
        }
        _ => Ok(()),
    }
}

fn check_pair(pair: &Pair) -> Result<(), Fault> {
    check_said("known", &pair.known)?;
    check_said("incoming", &pair.incoming)?;
    let contradicts = pair.expect == Decision::Contradict;
    if contradicts && pair.why.is_none() {
        return fault("why", "a contradiction needs it; write changed, corrected or conflict");
    }
    if !contradicts && !pair.accepted.contains(&Decision::Contradict) && (pair.why.is_some() || pair.late || pair.part)
    {
        return fault("why, late, part", "they belong to a contradiction; leave them out, or expect contradict");
    }
    let joins = [Decision::Skip, Decision::Support, Decision::Merge, Decision::Refine];
    if pair.hard.is_some() && joins.contains(&pair.expect) {
        return fault("hard", "what is hard is never joined; expect add or contradict, or leave hard out");
    }
    Ok(())
}

fn check_stream(stream: &Stream) -> Result<(), Fault> {
    let mut ids = BTreeSet::new();
    let mut arrival = 0;
    for (index, event) in stream.events.iter().enumerate() {
        let field = event.id().map_or_else(|| format!("events[{index}]"), str::to_owned);
        if event.arrival() < arrival || event.arrival() == 0 {
            return fault(format!("{field}.arrival"), "arrivals begin with 1 and never go back; mend the order");
        }
        arrival = event.arrival();
        let earlier = match event {
            Event::Act(act) => Some((&act.target, "target")),
            Event::Again(again) => Some((&again.again, "again")),
            Event::Memory(arriving) => {
                check_said(&field, &arriving.said)?;
                None
            }
        };
        if let Some((id, name)) = earlier.filter(|(id, _)| !ids.contains(id.as_str())) {
            return fault(format!("{field}.{name}"), format!("no earlier event is called {id:?}; name one"));
        }
        if let Some(id) = event.id().filter(|id| !ids.insert(*id)) {
            return fault(format!("{id}.id"), "two events have it; give one of them another");
        }
    }
    check_acts(stream)?;
    let mut places: Vec<&str> = stream.active.iter().chain(&stream.waiting).flatten().map(String::as_str).collect();
    places.extend(stream.gone.iter().map(String::as_str));
    for id in &ids {
        let count = places.iter().filter(|place| *place == id).count();
        if count != 1 {
            let told = format!("{id:?} stands {count} times; let it stand once in all of them together");
            return fault("active, waiting, gone", told);
        }
    }
    let linked = stream.links.iter().flat_map(|(from, _, to)| [from.as_str(), to.as_str()]);
    match places.iter().copied().chain(linked).find(|id| !ids.contains(id)) {
        Some(id) => fault("active, waiting, gone, links", format!("no event is called {id:?}; name one")),
        None => Ok(()),
    }
}

/// Acts come at the beginning of their arrival.
fn check_acts(stream: &Stream) -> Result<(), Fault> {
    let mut said = 0;
    for (index, event) in stream.events.iter().enumerate() {
        match event {
            Event::Act(Act { arrival, .. }) if *arrival == said => {
                let told = "a person acts before the memories of an arrival come; move it before them, or to the next";
                return fault(format!("events[{index}].arrival"), told);
            }
            Event::Act(_) => {}
            Event::Again(_) | Event::Memory(_) => said = event.arrival(),
        }
    }
    Ok(())
}
