//! `MemoryCode`: coding instructions that a mentor gives over many sessions, and later replaces.
//!
//! ```text
//! dialogue ─▶ sessions as logs ─▶ memories ─▶ current instructions stated, and stated once
//!                                          └▶ replaced instructions still stated by an active memory
//! ```
//!
//! A memory states an instruction if one of its sentences names the key term of the instruction, such as `'x_'`,
//! together with its object, such as `methods`, and does not take the term back ("instead of 'x_'").

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use jiff::{Timestamp, ToSpan as _};
use regex::Regex;
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::published::{FINAL, TUNE, read_part, unusable};
use crate::EvalError;
use crate::extraction::{CaseMessage, Extraction, Prediction};
use crate::files::{Moment, last_part};
use crate::results::{Row, float};
use crate::vocabulary::{Kind, Role};

/// File with the texts of all instructions.
pub(super) const TOPICS: &str = "topics.json";
/// Folder of the dialogues.
const DIALOGUES: &str = "dataset";
/// Time of the first session, 2025-01-06 09:00; the sessions are a day apart.
const FIRST: Timestamp = Timestamp::constant(1_736_154_000, 0);

/// The instructions that dialogues refer to by number.
#[derive(Deserialize)]
struct Topics {
    instructions: Vec<Topic>,
}

#[derive(Deserialize)]
struct Topic {
    id: u32,
    /// Versions of the instruction, each of which replaces the one before.
    text: Vec<String>,
}

/// The file of a dialogue.
#[derive(Deserialize)]
struct DialogueFile {
    context: People,
    /// The instructions given in each session.
    instructions: Vec<Vec<Given>>,
    sessions: Vec<Session>,
}

#[derive(Deserialize)]
struct People {
    mentor: String,
    mentee: String,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Given {
    /// Number and version of an instruction.
    Version(u32, usize),
    /// A session without an instruction has the number -1.
    Nothing(IgnoredAny),
}

#[derive(Deserialize)]
struct Session {
    text: String,
}

/// A dialogue with the instructions that are current and replaced at its end.
#[derive(Debug)]
pub struct Dialogue {
    /// Name of the file without its ending, such as `dialogue_17`.
    pub id: String,
    /// `tune` for even numbers and `final` for odd ones.
    split: &'static str,
    sessions: Vec<Vec<CaseMessage>>,
    current: Vec<Instruction>,
    replaced: Vec<Instruction>,
}

/// Reads the dialogues of the data set in `folder`, ordered by number.
///
/// # Errors
/// [`EvalError::Read`] if a file cannot be read, or [`EvalError::DataSet`] with the invalid file.
pub fn read(folder: &Path) -> Result<Vec<Dialogue>, EvalError> {
    let topics: Topics = read_part(&folder.join(TOPICS))?;
    let topics: BTreeMap<u32, Vec<String>> = topics.instructions.into_iter().map(|one| (one.id, one.text)).collect();
    let place = folder.join(DIALOGUES);
    let entries = fs::read_dir(&place).map_err(|source| EvalError::Read { path: place.clone(), source })?;
    let mut files: Vec<(u32, PathBuf)> = entries
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            Some((last_part(&path).strip_prefix("dialogue_")?.strip_suffix(".json")?.parse().ok()?, path))
        })
        .collect();
    files.sort();
    if files.is_empty() {
        return Err(unusable(&place, "it contains no dialogue_*.json"));
    }
    files.iter().map(|(number, path)| Dialogue::read(*number, path, &topics)).collect()
}

impl Dialogue {
    fn read(number: u32, path: &Path, topics: &BTreeMap<u32, Vec<String>>) -> Result<Self, EvalError> {
        let file: DialogueFile = read_part(path)?;
        let mut given: BTreeMap<u32, Vec<&String>> = BTreeMap::new();
        for one in file.instructions.iter().flatten() {
            if let Given::Version(topic, version) = one {
                let text = topics.get(topic).and_then(|versions| versions.get(*version));
                let missing = || unusable(path, format!("{TOPICS} has no version {version} of instruction {topic}"));
                given.entry(*topic).or_default().push(text.ok_or_else(missing)?);
            }
        }
        let known = |text: &String| Instruction::of(text).ok_or_else(|| unusable(path, format!("{text:?} is unknown")));
        let last = |texts: &Vec<&String>| texts.last().copied().cloned();
        let replaced =
            given.values().flat_map(|texts| texts.iter().filter(move |text| Some(**text) != texts.last().copied()));
        let replaced: BTreeSet<&String> = replaced.copied().collect();
        Ok(Self {
            id: format!("dialogue_{number}"),
            split: if number.is_multiple_of(2) { TUNE } else { FINAL },
            sessions: file.sessions.iter().map(|session| messages(&session.text, &file.context)).collect(),
            current: given.values().filter_map(last).map(|text| known(&text)).collect::<Result<_, _>>()?,
            replaced: replaced.into_iter().map(known).collect::<Result<_, _>>()?,
        })
    }

    /// Returns the sessions as conversations, each with its id.
    pub fn conversations(&self) -> Vec<(String, Vec<CaseMessage>)> {
        let conversation = |(day, messages): (i64, &Vec<CaseMessage>)| {
            let at = FIRST.checked_add((24 * day).hours()).unwrap_or(FIRST);
            let mut messages = messages.clone();
            // The later messages follow at intervals of a minute.
            messages.iter_mut().take(1).for_each(|first| first.at = Some(Moment::Instant(at)));
            (format!("{}-session-{day:03}", at.strftime("%Y-%m-%d")), messages)
        };
        (0..).zip(&self.sessions).filter(|(_, messages)| !messages.is_empty()).map(conversation).collect()
    }
}

/// Returns the messages of a session: the mentor is the user. A line without a name continues the message before.
fn messages(text: &str, people: &People) -> Vec<CaseMessage> {
    static SPOKEN: LazyLock<Regex> = LazyLock::new(|| pattern(r"^\W*([^:*]{1,30}?)\**:\**\s*(.*)$"));
    let mut said: Vec<CaseMessage> = Vec::new();
    for line in text.split('\n').filter(|line| !line.trim().is_empty()) {
        let parts =
            SPOKEN.captures(line).map(|parts| [1, 2].map(|at| parts.get(at).map_or("", |part| part.as_str().trim())));
        let spoken = parts.filter(|[name, _]| *name == people.mentor || *name == people.mentee);
        let (name, text) = match (spoken, said.last_mut()) {
            (Some([name, text]), _) => (name, text),
            (None, Some(last)) => {
                last.text.push('\n');
                last.text.push_str(line.trim());
                continue;
            }
            (None, None) => (people.mentor.as_str(), line.trim()),
        };
        let role = if name == people.mentor { Role::User } else { Role::Assistant };
        said.push(CaseMessage { role, speaker: Some(name.to_owned()), at: None, text: text.to_owned() });
    }
    said
}

/// An instruction, and the patterns by which a text states it.
#[derive(Debug)]
struct Instruction {
    text: String,
    /// The code that the instruction applies to: one of the kinds of [`OBJECTS`].
    object: &'static str,
    /// A word that the sentence must contain, for instructions that apply to all code.
    topic: Option<Regex>,
    term: Regex,
}

/// Kinds of code that instructions apply to, with their names in instructions.
const OBJECTS: [(&str, &str); 6] = [
    ("function argument", "argument"),
    ("function", "function"),
    ("method", "method"),
    ("variable", "variable"),
    ("attribute", "attribute"),
    ("class", "class"),
];

/// Words of instructions that quote no name, with the patterns of their key terms.
const TERMS: [(&str, &str); 9] = [
    ("UPPERCASE", r"\b(?:upper[ -]?case|all[ -]caps|capital letters)\b"),
    ("CamelCase", r"\b(?:camel|pascal)[ -]?case"),
    ("snake_case", r"\bsnake[ _-]?case"),
    ("digit", r"\bdigits?\b"),
    ("annotations", r"\b(?:annotat\w+|type hints?)"),
    ("try", r"\btry\b"),
    ("assert", r"\bassert"),
    ("docstrings", r"\bdoc-?strings?"),
    ("comments", r"\bcomments?\b"),
];

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is valid")
}

impl Instruction {
    fn of(text: &str) -> Option<Self> {
        let (is_import, is_decorator) = (text.contains("import"), text.contains("decorator"));
        let term = match text.split('\'').nth(1) {
            Some(name) => {
                let sign = if is_decorator { "@?" } else { "" };
                format!(r"\b{{start-half}}{sign}{}\b{{end-half}}", regex::escape(name.trim_start_matches('@')))
            }
            None => TERMS.iter().find(|(word, _)| text.contains(word))?.1.to_owned(),
        };
        let topic = match text {
            _ if is_import => Some(pattern(r"\bimport")),
            _ if text.contains("comments") => Some(pattern(r"\bcode\b|\bcoding\b")),
            _ => None,
        };
        let object = OBJECTS.iter().find(|(name, _)| text.contains(name)).map(|(_, object)| *object);
        let object = object.or_else(|| topic.as_ref().map(|_| ""))?;
        Some(Self { text: text.to_owned(), object, topic, term: pattern(&term) })
    }

    /// Returns whether a sentence of `text` names the object and the key term, and does not take the term back.
    fn is_stated_by(&self, text: &str) -> bool {
        if !self.term.is_match(text) {
            return false;
        }
        let sentences = sentences(text);
        (0..sentences.len())
            .any(|at| self.term.find_iter(sentences[at]).any(|hit| self.is_meant(&sentences, at, &hit.range())))
    }

    /// Returns whether the key term at `hit` in sentence number `at` belongs to the object of the instruction.
    ///
    /// The object of a term is the one behind it and a preposition ("'x_' for methods"), or else the nearest before it,
    /// or else the first behind it, with all objects that are joined to it by `and` or `or`. In a sentence without an
    /// object, it is the last of the sentence before, or else the first of the next.
    fn is_meant(&self, sentences: &[&str], at: usize, hit: &Range<usize>) -> bool {
        static TAKEN_BACK: LazyLock<Regex> = LazyLock::new(|| {
            pattern(
                "(?:instead of|no longer|rather than|never|previously|formerly|replac\\w+|used to|stop\\w*|\
                 not (?:use|start|end|add|include))\\b[^.;,]{0,40}$|\\bfrom\\s+['\"`‘“]?$",
            )
        });
        let sentence = sentences[at];
        if TAKEN_BACK.is_match(&sentence[..hit.start]) {
            return false;
        }
        if let Some(topic) = &self.topic {
            return topic.is_match(sentence);
        }
        let found = objects(sentence);
        let before = found.iter().rfind(|(place, _)| place.end <= hit.start);
        let behind = found.iter().find(|(place, _)| place.start >= hit.end);
        let is_linked =
            |place: &Range<usize>| self.text.contains("decorator") || is_link(&sentence[hit.end..place.start]);
        let mut near: Vec<_> =
            behind.filter(|(place, _)| is_linked(place)).or(before).or(behind).into_iter().cloned().collect();
        let is_near = |place: &Range<usize>| near.iter().any(|(other, _)| are_joined(sentence, place, other));
        let joined: Vec<_> = found.iter().filter(|(place, _)| is_near(place)).cloned().collect();
        near.extend(joined);
        if near.is_empty() {
            let last = at.checked_sub(1).and_then(|at| objects(sentences[at]).pop());
            near.extend(last.or_else(|| objects(sentences.get(at + 1)?).into_iter().next()));
        }
        // Annotations of a function are annotations of its arguments.
        let includes = self.text.contains("annotations") && self.object == "function";
        near.iter().any(|(_, object)| *object == self.object || includes && *object == "argument")
    }
}

/// Returns the sentences of a text. Unlike [`crate::text::sentences`], it splits at semicolons and keeps empty lines,
/// because a sentence may refer to its neighbour.
fn sentences(text: &str) -> Vec<&str> {
    static END: LazyLock<Regex> = LazyLock::new(|| pattern(r"[.!?;]\s+|\n"));
    let (mut found, mut start) = (Vec::new(), 0);
    for end in END.find_iter(text) {
        // The punctuation belongs to the sentence.
        found.push(text[start..end.end()].trim_end());
        start = end.end();
    }
    found.push(&text[start..]);
    found
}

/// Returns the objects that a sentence names, each with its place. An argument of a function is one object, not two.
fn objects(sentence: &str) -> Vec<(Range<usize>, &'static str)> {
    static NAMES: LazyLock<Regex> = LazyLock::new(|| {
        pattern(
            r"\b(?:((?:function )?(?:arguments?|parameters?|args?))|(functions?)|(methods?)|(variables?)|(attributes?)|(class(?:es)?))\b",
        )
    });
    static OF_ARGUMENT: LazyLock<Regex> = LazyLock::new(|| pattern(r"^['’]?s?\s+(?:arguments?|parameters?|args?)\b"));
    let named = NAMES.captures_iter(sentence).filter_map(|parts| {
        let (place, object) =
            (1..=6).zip(OBJECTS).find_map(|(at, (_, object))| Some((parts.get(at)?.range(), object)))?;
        let is_owner = matches!(object, "function" | "method") && OF_ARGUMENT.is_match(&sentence[place.end..]);
        let is_argument = object == "variable" && sentence[..place.start].to_lowercase().ends_with("argument ");
        (!is_owner && !is_argument).then_some((place, object))
    });
    named.collect()
}

/// Returns whether the text between a term and an object links them, such as "prefix for all".
fn is_link(between: &str) -> bool {
    static LINK: LazyLock<Regex> = LazyLock::new(|| {
        pattern("^['\"`’”]?\\s*((?:[\\w-]+\\s+){0,3}?)(?:for|in|to|on|of|within)\\s+(?:[\\w']+\\s+){0,3}$")
    });
    let words = |parts: regex::Captures<'_>| parts[1].to_lowercase();
    LINK.captures(between)
        .is_some_and(|parts| !words(parts).split_whitespace().any(|word| matches!(word, "and" | "or")))
}

/// Returns whether a sentence joins two objects by a comma, `and` or `or`.
fn are_joined(sentence: &str, one: &Range<usize>, other: &Range<usize>) -> bool {
    static JOINT: LazyLock<Regex> =
        LazyLock::new(|| pattern(r"^\s*(?:names?)?\s*(?:,|and|or|,\s*and)\s*(?:all|your|the|in)?\s*$"));
    sentence.get(one.end.min(other.end)..one.start.max(other.start)).is_some_and(|between| JOINT.is_match(between))
}

/// Scores the memories at the end of a dialogue.
pub fn score(dialogue: &Dialogue, extraction: &Extraction) -> Row {
    let about = format!("{} sessions, {} current instructions", dialogue.sessions.len(), dialogue.current.len());
    let mut row = Row { split: dialogue.split.to_owned(), about, ..Row::new(Kind::MemoryCode, &dialogue.id) };
    let states = |memory: &&Prediction, one: &Instruction| one.is_stated_by(&memory.content);
    let active = &extraction.predictions;
    for one in &dialogue.current {
        let stating = active.iter().filter(|memory| states(memory, one)).count();
        row.yes("recall", stating > 0);
        row.yes("exactly one", stating == 1);
        if stating == 0 {
            row.fault("missed", &one.text, &one.text, "no active memory states this instruction");
        }
    }
    for one in &dialogue.replaced {
        let still = active.iter().find(|memory| states(memory, one));
        let mut retired = extraction.superseded.iter().chain(&extraction.pending);
        if still.is_some() || retired.any(|memory| states(&memory, one)) {
            row.yes("still active", still.is_some());
        }
        if let Some(memory) = still {
            row.fault("stale", &one.text, &memory.content, "it states an instruction that was replaced");
        }
    }
    let right = active.iter().filter(|memory| dialogue.current.iter().any(|one| states(memory, one))).count();
    row.add("precision", float(right), float(active.len()));
    row
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::PublicSet;
    use super::*;
    use crate::vocabulary::MemoryType;

    /// Writes an invented data set with one dialogue, in which the second session replaces an instruction of the first.
    fn write(folder: &Path, given: &Value) {
        let topics = json!({"instructions": [
            {"id": 4, "text": ["always start method names with 'k_'", "always start method names with 'w_'"]},
            {"id": 7, "text": ["always use docstrings in functions"]}]});
        let dialogue = json!({"context": {"mentor": "Ilka", "mentee": "Ben"}, "instructions": given, "sessions": [
            {"text": "Ilka: Please start method names with 'k_'.\nAnd write docstrings in functions.\n\n**Ben:** I will."},
            {"text": "(They meet again.)\nIlka: From now on, 'w_' it is for methods."}]});
        fs::create_dir_all(folder.join(DIALOGUES)).unwrap();
        fs::write(folder.join(TOPICS), topics.to_string()).unwrap();
        fs::write(folder.join(DIALOGUES).join("dialogue_3.json"), dialogue.to_string()).unwrap();
    }

    fn given() -> Value {
        json!([[[4, 0], [7, 0]], [-1, [4, 1]]])
    }

    fn prediction(text: &str) -> Prediction {
        Prediction::new(MemoryType::Semantic, text, Vec::new())
    }

    #[test]
    fn a_sentence_states_an_instruction_if_it_names_term_and_object() {
        let method = "always start method names with 'k_'";
        let argument = "always end function argument names with '_k'";
        let table = [
            (method, "Method names start with 'k_'.", true),
            (method, "Use `k_` as a prefix for all methods, not functions.", true),
            (method, "Functions and methods start with k_.", true),
            (method, "Name methods well; start them with 'k_'.", true),
            (method, "Function names start with 'k_'.", false),
            (method, "Method names start with 'k_x'.", false),
            (method, "Start method names with 'w_' instead of 'k_'.", false),
            (argument, "Function arguments end with '_k'.", true),
            (argument, "A function's parameters end with '_k'.", true),
            (argument, "Functions end with '_k'.", false),
            ("always use annotations for functions", "Annotate the arguments with type hints.", true),
            ("always add comments in your code", "Comments belong in all code.", true),
            ("always import the 'zlib' module even if it is not used", "Import zlib in each file.", true),
            ("always add the '@later' decorator from the 'x' module to all methods", "Put @later on methods.", true),
            (
                "always add the '@later' decorator from the 'x' module to all methods",
                "Methods: put @later on classes.",
                false,
            ),
        ];
        for (instruction, text, states) in table {
            assert_eq!(Instruction::of(instruction).unwrap().is_stated_by(text), states, "{instruction} / {text}");
        }
        assert!(Instruction::of("be kind").is_none());
    }

    #[test]
    fn current_and_replaced_instructions_are_compared_with_memories() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &given());
        assert_eq!(PublicSet::of(folder.path()), Some(PublicSet::MemoryCode));
        let dialogue = read(folder.path()).unwrap().remove(0);
        let said = dialogue.conversations();
        let said: Vec<_> = said.iter().map(|(id, messages)| (id.as_str(), messages.len())).collect();
        assert_eq!(said, [("2025-01-06-session-000", 2), ("2025-01-07-session-001", 2)]);
        let [first, _] = &dialogue.sessions[0][..] else { panic!("two messages") };
        assert_eq!(first.text, "Please start method names with 'k_'.\nAnd write docstrings in functions.");
        let old = prediction("Method names start with 'k_'.");
        let new = prediction("Method names start with 'w_'.");
        let scored = |active: &[&Prediction], superseded: &[&Prediction]| {
            let extraction = Extraction {
                predictions: active.iter().copied().cloned().collect(),
                superseded: superseded.iter().copied().cloned().collect(),
                ..Extraction::default()
            };
            let row = score(&dialogue, &extraction);
            assert_eq!(row.split, "final");
            ["recall", "exactly one", "still active", "precision"].map(|name| {
                let ratio = row.measures.get(name).copied().unwrap_or_default();
                (ratio.numerator, ratio.denominator)
            })
        };
        assert_eq!(scored(&[&new], &[&old]), [(1.0, 2.0), (1.0, 2.0), (0.0, 1.0), (1.0, 1.0)]);
        assert_eq!(scored(&[&new, &new, &old], &[]), [(1.0, 2.0), (0.0, 2.0), (1.0, 1.0), (2.0, 3.0)]);
        assert_eq!(scored(&[], &[]), [(0.0, 2.0), (0.0, 2.0), (0.0, 0.0), (0.0, 0.0)]);
    }

    #[test]
    fn an_unusable_file_is_named_with_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(DIALOGUES).join("dialogue_3.json");
        let error = || read(folder.path()).unwrap_err().to_string();
        write(folder.path(), &json!([[[4, 2]]]));
        let remedy = "; obtain the data set again, or see evals/README.md for its layout";
        assert_eq!(error(), format!("{}: {TOPICS} has no version 2 of instruction 4{remedy}", file.display()));
        let text = fs::read_to_string(&file).unwrap();
        fs::write(&file, &text[..text.len() / 2]).unwrap();
        assert!(error().starts_with(&format!("{}: EOF while parsing", file.display())), "{}", error());
        fs::remove_file(&file).unwrap();
        assert!(error().contains("dataset: it contains no dialogue_*.json"), "{}", error());
        fs::remove_dir(folder.path().join(DIALOGUES)).unwrap();
        assert!(error().starts_with("cannot read "), "{}", error());
    }
}
