//! Extraction cases: a conversation, the memories to extract from it, and the memories that must not be extracted.

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use jiff::{Timestamp, ToSpan as _};
use regex::{Regex, RegexBuilder};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::EvalError;
use crate::files::Moment;
use crate::files::{LineCase, Placed, format_error, is_file_of, last_part, read_cases, read_json};
use crate::text::{normalize, normalize_pattern};
use crate::vocabulary::{ForbiddenKind, Importance, Language, MemoryType, Role, Ruling};

/// Name of the file that describes a case in a separate folder.
const CASE_FILE: &str = "case.json";
/// Name of the file in the same folder that contains an independent reader's verdicts.
const VERDICT_FILE: &str = "judged.json";
/// Format of conversations that are written in the case itself.
pub const INLINE_FORMAT: &str = "openai-chat";

/// A conversation, the memories to extract from it, and the memories that must not be extracted.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// One sentence that describes why this conversation is difficult.
    pub(crate) about: String,
    /// Language of the conversation and of its memories.
    pub(crate) language: Language,
    /// Format of the logs, as `afterthought log formats` lists it.
    pub format: String,
    /// Freely chosen names of what the case tests; results are grouped by them.
    #[serde(default)]
    pub(crate) phenomena: Vec<String>,
    /// Files and folders next to the case, in the order in which they are read.
    pub logs: Vec<PathBuf>,
    /// Modification time of logs that contain no date. By default the start of 2026.
    #[schemars(with = "Option<String>")]
    pub changed_at: Option<Timestamp>,
    /// Memories that a careful person would keep.
    pub(crate) memories: Vec<Gold>,
    /// Memories that must not be kept.
    #[serde(default)]
    pub(crate) forbidden: Vec<Forbidden>,
}

/// A memory that should be extracted.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Gold {
    /// Id, unique within the case, such as `m1`. Cases in a JSON Lines file number their memories instead.
    #[serde(default)]
    pub(crate) id: String,
    /// A description of the memory for human readers.
    pub(crate) text: String,
    /// Every correct type, the best first. A case in a JSON Lines file may omit it; then any type is correct.
    #[serde(default, rename = "type")]
    pub(crate) types: Vec<MemoryType>,
    /// How much the memory matters; `medium` by default.
    #[serde(default)]
    pub(crate) importance: Importance,
    /// Whether leaving out the memory is acceptable. Such a memory counts neither for recall nor against precision.
    #[serde(default)]
    pub(crate) optional: bool,
    /// Regular expressions that must all match the memory.
    pub(crate) all: Vec<String>,
    /// Regular expressions that must not match; a memory that matches one of them distorts the fact.
    #[serde(default)]
    pub(crate) none: Vec<String>,
    /// The day, month or instant that the memory must mention, or at which its validity must begin or end.
    pub(crate) date: Option<Moment>,
    /// Verbatim parts of messages; correct evidence cites a message that contains one of them.
    pub(crate) evidence: Vec<String>,
}

/// A memory that must not be extracted.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Forbidden {
    /// Id, unique within the case, such as `f1`. Cases in a JSON Lines file number their entries instead.
    #[serde(default)]
    pub(crate) id: String,
    /// The reason why the memory must not be kept.
    pub(crate) kind: ForbiddenKind,
    /// Regular expressions that all match a forbidden memory.
    pub(crate) all: Vec<String>,
    /// Regular expressions, each of which excuses a memory that it matches, such as a negation.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// An explanation for human readers.
    #[serde(default)]
    pub(crate) why: String,
}

/// An independent reader's verdict on a memory that no gold memory matches.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReaderVerdict {
    /// The exact content of the memory.
    pub(crate) content: String,
    /// Whether the memory is worth keeping.
    pub(crate) verdict: Ruling,
    /// The reason.
    #[serde(default)]
    pub(crate) why: String,
}

/// A short conversation on one line of a JSON Lines file, with the memories that should and must not be extracted.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ShortCase {
    /// Id, unique among the cases of a split.
    pub id: String,
    /// One sentence that describes why the case is difficult.
    #[serde(default)]
    pub(crate) about: String,
    /// Language of the conversation and of its memories.
    pub(crate) language: Language,
    /// Names of what the case tests; results are grouped by each name.
    #[serde(default)]
    pub(crate) phenomena: Vec<String>,
    /// The conversation.
    pub transcript: Vec<CaseMessage>,
    /// Memories that a careful person would keep.
    #[serde(default)]
    pub(crate) must: Vec<Gold>,
    /// Memories that must not be kept.
    #[serde(default)]
    pub(crate) must_not: Vec<Forbidden>,
}

/// A message of a conversation that is written in the case itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CaseMessage {
    /// Author of the message; a person by default.
    #[serde(default)]
    pub role: Role,
    /// The author's name, in a conversation of several people.
    pub speaker: Option<String>,
    /// Time of the message; by default one minute after the preceding message.
    pub at: Option<Moment>,
    /// The text of the message.
    pub text: String,
}

/// Returns `messages` as the text of a log in the `openai-chat` format.
pub fn inline_log(id: &str, messages: &[CaseMessage]) -> String {
    let mut last: Option<Timestamp> = None;
    let mut made: Vec<Value> = Vec::with_capacity(messages.len());
    for (number, said) in (1..).zip(messages) {
        // The times are one minute apart, so that sorting the messages by time preserves their order.
        let next = last.map(|last| last.checked_add(1.minute()).unwrap_or(last));
        last = said.at.map(Moment::noon).or(next);
        let mut message = json!({"id": format!("m{number}"), "role": said.role, "content": said.text});
        if let Some(name) = &said.speaker {
            message["name"] = json!(name);
        }
        if let Some(at) = last {
            message["created_at"] = json!(at.to_string());
        }
        made.push(message);
    }
    json!({"id": format!("conversation-{id}"), "messages": made}).to_string()
}

impl LineCase for ShortCase {
    const ENDING: &'static str = "-extraction.jsonl";

    fn id(&self) -> &str {
        &self.id
    }

    fn check(&self) -> Result<(), String> {
        if self.transcript.is_empty() {
            return Err(format!("{}.transcript: no message", self.id));
        }
        if self.must.is_empty() && self.must_not.is_empty() {
            return Err(format!("{}: the case tests nothing; give must, must_not or both", self.id));
        }
        for piece in self.must.iter().flat_map(|must| &must.evidence) {
            // A typo in the evidence would make every citation wrong, regardless of the extractor.
            if !self.transcript.iter().any(|message| message.text.contains(piece.as_str())) {
                return Err(format!("{}: no message contains the evidence {piece:?}", self.id));
            }
        }
        let compiled = Patterns::compile(&self.to_case());
        compiled.map(drop).map_err(|(place, reason)| format!("{}: {place}{reason}", self.id))
    }
}

impl ShortCase {
    /// Returns the case in its long form, with its entries numbered.
    fn to_case(&self) -> Case {
        let numbered = |letter: &str, number: usize| format!("{letter}{}", number + 1);
        let golds = self.must.iter().enumerate();
        let forbidden = self.must_not.iter().enumerate();
        Case {
            about: self.about.clone(),
            language: self.language,
            format: INLINE_FORMAT.to_owned(),
            phenomena: self.phenomena.clone(),
            logs: vec![PathBuf::from(format!("{}.json", self.id.replace(['/', '\\'], "-")))],
            changed_at: None,
            memories: golds.map(|(at, gold)| Gold { id: numbered("m", at), ..gold.clone() }).collect(),
            forbidden: forbidden.map(|(at, one)| Forbidden { id: numbered("f", at), ..one.clone() }).collect(),
        }
    }
}

/// The gold and forbidden memories of a case, with compiled patterns.
#[derive(Debug)]
pub(crate) struct Patterns {
    pub(crate) golds: Vec<GoldPatterns>,
    pub(crate) forbidden: Vec<ForbiddenPatterns>,
}

/// A gold memory with its patterns.
#[derive(Debug)]
pub(crate) struct GoldPatterns {
    pub(crate) gold: Gold,
    pub(crate) all: Vec<Regex>,
    none: Vec<Regex>,
    /// The evidence, normalised.
    evidence: Vec<String>,
}

/// Relation of a text to a gold memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Match {
    /// The text states the memory.
    Stated,
    /// The text states the memory wrongly.
    Distorted,
    /// The text does not state the memory.
    Absent,
}

/// A forbidden memory with its patterns.
#[derive(Debug)]
pub(crate) struct ForbiddenPatterns {
    pub(crate) entry: Forbidden,
    pub(crate) all: Vec<Regex>,
    unless: Vec<Regex>,
}

/// A position in a case, such as `m1.all[0]: `, and the fault at this position.
pub(crate) type PatternFault = (String, String);

impl Patterns {
    /// Compiles the patterns of `case`. An entry that cannot match anything, or that matches everything, is a fault.
    pub(super) fn compile(case: &Case) -> Result<Self, PatternFault> {
        let mut ids = BTreeSet::new();
        let entries = case.memories.iter().map(|gold| &gold.id).chain(case.forbidden.iter().map(|one| &one.id));
        for id in entries {
            if id.is_empty() {
                return Err(("id: ".to_owned(), "missing".to_owned()));
            }
            if !ids.insert(id) {
                return Err((format!("{id}: "), "two entries have this id".to_owned()));
            }
        }
        if case.logs.is_empty() {
            return Err(("logs: ".to_owned(), "no log is given".to_owned()));
        }
        let gold = |gold: &Gold| -> Result<_, PatternFault> {
            Ok(GoldPatterns {
                all: required(&gold.id, &gold.all)?,
                none: compile(&gold.id, "none", &gold.none)?,
                evidence: gold.evidence.iter().map(|piece| normalize(piece)).collect(),
                gold: gold.clone(),
            })
        };
        let forbidden = |one: &Forbidden| -> Result<_, PatternFault> {
            let (all, unless) = (required(&one.id, &one.all)?, compile(&one.id, "unless", &one.unless)?);
            Ok(ForbiddenPatterns { entry: one.clone(), all, unless })
        };
        Ok(Self {
            golds: case.memories.iter().map(gold).collect::<Result<_, _>>()?,
            forbidden: case.forbidden.iter().map(forbidden).collect::<Result<_, _>>()?,
        })
    }
}

impl GoldPatterns {
    /// Compares a normalised text with this memory.
    pub(crate) fn compare(&self, text: &str) -> Match {
        // Checked before `none`: text about something else does not distort this memory.
        if !self.all.iter().all(|pattern| pattern.is_match(text)) {
            Match::Absent
        } else if self.none.iter().any(|pattern| pattern.is_match(text)) {
            Match::Distorted
        } else {
            Match::Stated
        }
    }

    /// Returns all patterns of this memory.
    pub(crate) fn all_and_none(&self) -> impl Iterator<Item = &Regex> {
        self.all.iter().chain(&self.none)
    }

    /// Returns whether a normalised text contains a part of this memory.
    pub(crate) fn touches(&self, text: &str) -> bool {
        self.all.iter().any(|pattern| pattern.is_match(text))
    }

    /// Returns whether a normalised message contains a part of the evidence.
    pub(crate) fn rests_on(&self, message: &str) -> bool {
        self.evidence.iter().any(|piece| message.contains(piece.as_str()))
    }

    /// Returns the parts of the evidence that do not occur in any of the normalised `messages`.
    pub(crate) fn missing_evidence<'a>(&'a self, messages: &'a [&str]) -> impl Iterator<Item = &'a str> {
        let found = |piece: &String| messages.iter().any(|message| message.contains(piece.as_str()));
        self.evidence.iter().filter(move |piece| !found(piece)).map(String::as_str)
    }

    pub(crate) const fn has_evidence(&self) -> bool {
        !self.evidence.is_empty()
    }
}

impl ForbiddenPatterns {
    /// Returns whether a normalised text states the forbidden memory.
    pub(crate) fn matches(&self, text: &str) -> bool {
        self.all.iter().all(|pattern| pattern.is_match(text))
            && !self.unless.iter().any(|pattern| pattern.is_match(text))
    }
}

fn required(id: &str, patterns: &[String]) -> Result<Vec<Regex>, PatternFault> {
    if patterns.is_empty() {
        return Err((format!("{id}.all: "), "no pattern is given, so everything would match".to_owned()));
    }
    compile(id, "all", patterns)
}

/// Compiles the `patterns` in `field` of the entry `id`.
pub(crate) fn compile(id: &str, field: &str, patterns: &[String]) -> Result<Vec<Regex>, PatternFault> {
    let compile = |(at, pattern): (usize, &String)| {
        let place = format!("{id}.{field}[{at}]: ");
        // Multi-line, because each text of a memory is on its own line and `^` should match at the start of each.
        let regex = RegexBuilder::new(&normalize_pattern(pattern)).case_insensitive(true).multi_line(true).build();
        let regex = regex
            .map_err(|error| (place.clone(), format!("{pattern:?} is not a valid pattern: {}", last_line(&error))))?;
        // A stray `|` at the end is easily overlooked and would make every memory correct.
        if regex.is_match("") {
            return Err((place, format!("{pattern:?} matches everything")));
        }
        Ok(regex)
    };
    patterns.iter().enumerate().map(compile).collect()
}

/// The regex parser marks the position on several lines and gives the reason on the last line.
fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim().trim_start_matches("error: ").to_owned()
}

/// A case that was read from a file, with its patterns compiled.
#[derive(Debug)]
pub struct LoadedCase {
    /// Folder of the case, or its file if the file contains many cases.
    pub folder: PathBuf,
    /// Id of the case: the name of its folder, or the id on its line.
    pub id: String,
    /// Name of the folder that contains the case, such as `dev` or `unseen`.
    pub(crate) split: String,
    /// The case.
    pub case: Case,
    /// Patterns of the case.
    pub(crate) patterns: Patterns,
    /// An independent reader's verdicts.
    pub(crate) verdicts: Vec<ReaderVerdict>,
    /// The conversation, if it is written in the case itself.
    pub conversation: Option<Vec<CaseMessage>>,
}

impl LoadedCase {
    fn read(folder: &Path) -> Result<Self, EvalError> {
        let file = folder.join(CASE_FILE);
        let case: Case = read_json(&file)?;
        let form = |place: &str, reason: String| format_error(&file, place, reason);
        if let Some(gold) = case.memories.iter().find(|gold| gold.types.is_empty()) {
            return Err(form(&format!("{}.type: ", gold.id), "no type is given".to_owned()));
        }
        let patterns = Patterns::compile(&case).map_err(|(place, reason)| form(&place, reason))?;
        if let Some(log) = case.logs.iter().find(|log| !folder.join(log).exists()) {
            return Err(form("logs: ", format!("there is no {} in the same folder", log.display())));
        }
        // A path such as `.` has no last part; the canonical path provides the names of the case and its split.
        let whole = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        let verdicts = folder.join(VERDICT_FILE);
        Ok(Self {
            folder: folder.to_owned(),
            id: last_part(&whole),
            split: whole.parent().map(last_part).unwrap_or_default(),
            case,
            patterns,
            verdicts: if verdicts.exists() { read_json(&verdicts)? } else { Vec::new() },
            conversation: None,
        })
    }

    fn of_line(placed: Placed<ShortCase>) -> Result<Self, EvalError> {
        let case = placed.case.to_case();
        let patterns = Patterns::compile(&case);
        Ok(Self {
            folder: placed.file.clone(),
            patterns: patterns.map_err(|(place, reason)| format_error(&placed.file, &place, reason))?,
            id: placed.case.id,
            split: placed.split,
            case,
            verdicts: Vec::new(),
            conversation: Some(placed.case.transcript),
        })
    }

    /// Returns `split/id`, unique among all cases of a suite.
    pub fn label(&self) -> String {
        format!("{}/{}", self.split, self.id)
    }
}

/// Returns whether there is an extraction case in or below `path`.
pub fn has_cases(path: &Path) -> bool {
    walkdir::WalkDir::new(path).into_iter().filter_map(Result::ok).any(|entry| {
        (entry.file_name() == CASE_FILE && entry.file_type().is_file()) || is_file_of::<ShortCase>(entry.path())
    })
}

/// A folder or file, and the case in it or the reason why it cannot be read.
pub type DiscoveredCase = (PathBuf, Result<LoadedCase, EvalError>);

/// Reads every extraction case in or below `paths`, sorted by path.
///
/// # Errors
/// [`EvalError::NoCases`] for a path without a case, or [`EvalError::Read`] for a folder that cannot be read.
pub fn discover(paths: &[PathBuf]) -> Result<Vec<DiscoveredCase>, EvalError> {
    let mut places = Vec::new();
    for path in paths {
        let before = places.len();
        if last_part(path) == CASE_FILE && path.is_file() {
            places.extend(path.parent().map(Path::to_owned));
        }
        for entry in walkdir::WalkDir::new(path).sort_by_file_name() {
            let entry = match entry.map_err(|error| (error.path().unwrap_or(path).to_owned(), error.into_io_error())) {
                Ok(entry) => entry,
                // Cases in such a folder would be missing from the results.
                Err((path, Some(source))) if source.kind() == ErrorKind::PermissionDenied => {
                    return Err(EvalError::Read { path, source });
                }
                Err(_) => continue,
            };
            // Depth 0 is the path itself, which was handled above.
            if entry.depth() > 0 && entry.file_name() == CASE_FILE && entry.file_type().is_file() {
                places.extend(entry.path().parent().map(Path::to_owned));
            } else if is_file_of::<ShortCase>(entry.path()) {
                places.push(entry.into_path());
            }
        }
        if places.len() == before {
            return Err(EvalError::NoCases { path: path.clone() });
        }
    }
    let mut seen = BTreeSet::new();
    // A folder and its subfolder may both be given, but no case counts twice.
    places.retain(|place| seen.insert(place.canonicalize().unwrap_or_else(|_| place.clone())));
    let mut found = Vec::new();
    for place in places {
        if !place.is_file() {
            let loaded = LoadedCase::read(&place);
            found.push((place, loaded));
            continue;
        }
        let (cases, errors) = read_cases::<ShortCase>(std::slice::from_ref(&place));
        found.extend(cases.into_iter().map(|placed| (place.clone(), LoadedCase::of_line(placed))));
        found.extend(errors.into_iter().map(|error| (place.clone(), Err(error))));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(line: &Value) -> DiscoveredCase {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("en-extraction.jsonl");
        std::fs::write(&file, format!("{line}\n")).unwrap();
        discover(&[file]).unwrap().remove(0)
    }

    #[test]
    fn a_line_is_a_case_with_its_conversation() {
        let line = json!({"id": "a", "language": "en", "transcript": [{"text": "We use pnpm."}],
            "must": [{"text": "The project uses pnpm.", "all": ["pnpm"], "evidence": ["pnpm"], "date": "2026-03"}],
            "must_not": [{"kind": "denied", "all": ["npm install"]}]});
        let case = read_line(&line).1.unwrap();
        assert_eq!((case.id.as_str(), case.case.memories[0].id.as_str()), ("a", "m1"));
        assert_eq!((case.patterns.golds.len(), case.patterns.forbidden[0].entry.id.as_str()), (1, "f1"));
        assert_eq!(case.conversation.map(|messages| messages.len()), Some(1));
    }

    #[test]
    fn faults_are_reported_with_their_line() {
        let case =
            |must: Value| json!({"id": "a", "language": "en", "transcript": [{"text": "We use pnpm."}], "must": must});
        for (line, expected) in [
            (case(json!([])), "line 1: a: the case tests nothing"),
            (
                case(json!([{"text": "x", "all": ["x"], "evidence": ["yarn"]}])),
                "no message contains the evidence \"yarn\"",
            ),
            (
                case(json!([{"text": "x", "all": ["("], "evidence": ["We"]}])),
                "line 1: a: m1.all[0]: \"(\" is not a valid pattern",
            ),
            (case(json!([{"text": "x", "any": ["x"], "evidence": []}])), "unknown field `any`"),
        ] {
            let error = read_line(&line).1.unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn the_adversarial_suite_can_be_read_and_is_large_enough() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../evals/adversarial");
        let cases: Vec<LoadedCase> = discover(&[folder]).unwrap().into_iter().map(|(_, case)| case.unwrap()).collect();
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
