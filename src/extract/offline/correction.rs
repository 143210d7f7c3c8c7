//! Lasting statements, kept in their speaker's own words.
//!
//! A sentence with a strong cue for a lasting kind is quoted and attributed, and its relative dates are resolved next
//! to the quotation, so nothing is invented and no grammar is needed. A sentence that the clause rules have already put
//! into the third person is not quoted again.

use std::collections::BTreeSet;

use super::candidates::Gathered;
use super::clause::{Finding, Voice, capitalised, fill};
use super::cues::{Kind, Table};
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use crate::extract::Task;
use crate::memory::{Audience, Candidate, Claim};
use crate::text::language::{Language, detect_read};
use crate::text::relative;
use crate::text::script::{count_han, is_han};
use transcripts::Message;

/// Confidence that a sentence with a cue and without a veto is worth keeping.
const CONFIDENCE: f64 = 0.7;
/// Maximum number of statements in a message that "I mixed that up" can retract; if there are more, it is ambiguous.
const MAX_WITHDRAWN: usize = 2;
/// Number of people's messages that "I mixed that up" reaches back if others have spoken in between.
const MAX_BETWEEN: usize = 3;
/// Maximum number of words in a sentence that only says that the previous one was a joke.
const MAX_JEST_WORDS: usize = 4;
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 60;

/// Returns what the tables say about each sentence of `said`, which `message` contains.
pub(super) fn lines<'a>(message: &Message, said: &[&'a str]) -> Vec<Line<'a>> {
    let usual = detect_read(&message.text, None);
    said.iter().map(|said| Line::read(said, usual)).collect()
}

/// Removes the sentences that the next sentence calls a joke from `said` and `lines`.
pub(super) fn without_jests<'a>(said: &mut Vec<&'a str>, lines: &mut Vec<Line<'a>>) {
    // From the end, so that a removal does not shift the positions that follow in the loop.
    for at in (1..lines.len()).rev().filter(|&at| lines[at].jests).collect::<Vec<_>>() {
        said.remove(at - 1);
        lines.remove(at - 1);
    }
}

/// Removes the earlier statements that `message` corrects. `amends` returns whether one of its lines corrects anything;
/// it is called only if the message shares words with a statement, since reading the lines is the most expensive part.
///
/// "I mixed that up" names no topic: it retracts what the same person said in `before`, unless there are several
/// statements.
pub(super) fn take_back(
    message: &Message,
    before: Option<&Message>,
    amends: impl FnOnce() -> bool,
    gathered: &mut Gathered<'_>,
) {
    if let Some(before) = before {
        let is_last =
            |candidate: &Candidate| candidate.evidence.iter().any(|piece| piece.messages.contains(&before.id));
        let count = gathered.candidates().iter().filter(|candidate| is_last(candidate)).count();
        if (1..=MAX_WITHDRAWN).contains(&count) && withdraws(message, before) {
            gathered.take_back(is_last);
        }
    }
    let correction = Correction::of(&message.text);
    // A candidate with a key is replaced by its next value, which keeps its history.
    let is_met = |candidate: &Candidate| candidate.claim.key.is_none() && correction.replaces(candidate);
    if gathered.candidates().iter().any(is_met) && amends() {
        gathered.take_back(is_met);
    }
}

/// Whether `message` begins by retracting the message `before`. If `message` is too short for its language to be
/// detected, the language of `before` is used.
fn withdraws(message: &Message, before: &Message) -> bool {
    let text = fold(message.text.trim_start());
    detect_read(&text, detect_read(&before.text, None)).is_some_and(|tongue| Table::of(tongue).withdraws(&text))
}

/// Returns the last message before index `at` of the transcript by the author of `message`, if it is close enough.
pub(super) fn last_of_same<'a>(task: &Task<'a>, at: usize, message: &Message) -> Option<&'a Message> {
    let before = task.transcript.messages[..at].iter().rev().filter(|before| before.is_human());
    before.take(MAX_BETWEEN).find(|before| before.speaker == message.speaker)
}

/// Whether one of `lines` corrects anything.
pub(super) fn amends(lines: &[Line<'_>]) -> bool {
    lines.iter().any(|line| line.amends)
}

/// Adds the statements among `lines`; `kept` marks those that are already kept in other words.
pub(super) fn stated(message: &Message, lines: &[Line<'_>], kept: &[bool], gathered: &mut Gathered<'_>) {
    for passage in passages(lines, kept, message.speaker.is_some()) {
        if let Some(finding) = finding(&passage, lines, message) {
            let first = lines[passage.first].said;
            let quotes: Vec<_> = (passage.first..=passage.last).map(|at| (message, lines[at].said)).collect();
            let together = joined(&message.text, first, lines[passage.last].said);
            match together {
                Some(quote) => gathered.add(finding, &[(message, quote)]),
                None => gathered.add(finding, &quotes),
            }
        }
    }
}

/// A sentence, with what its language's table says about it.
#[expect(clippy::struct_excessive_bools, reason = "each is what a section of the table says by itself")]
pub(super) struct Line<'a> {
    said: &'a str,
    text: String,
    tongue: Option<Language>,
    cue: Option<Kind>,
    forbidden: bool,
    leans: bool,
    points: bool,
    /// Whether it continues or retracts what precedes it.
    amends: bool,
    /// Whether it changes the topic.
    shifts: bool,
    /// Whether it consists only of words like "just kidding".
    jests: bool,
}

impl<'a> Line<'a> {
    fn read(said: &'a str, usual: Option<Language>) -> Self {
        let text = fold(said);
        let tongue = detect_read(&text, usual);
        let mut line = Self {
            said,
            text,
            tongue,
            cue: None,
            forbidden: true,
            leans: true,
            points: true,
            amends: false,
            shifts: true,
            jests: false,
        };
        let Some(table) = tongue.map(Table::of) else { return line };
        // A sentence with a redacted part would be remembered without what it was about.
        if line.text.chars().count() > MAX_SENTENCE_CHARS || line.text.contains("[redacted:") {
            return line;
        }
        let bare = table.without_lead(&line.text).to_owned();
        line.forbidden = table.forbids(&line.text) || table.forbids(&bare);
        line.cue = if line.forbidden { None } else { table.cue(&bare) };
        line.leans = table.leans(&bare);
        line.points = table.points(&bare);
        line.amends = table.amends(&line.text) || table.amends(&bare);
        line.shifts = table.shifts(&line.text);
        line.jests = line.text.split(' ').count() <= MAX_JEST_WORDS && table.withdraws(&line.text);
        line.text = bare;
        line
    }
}

/// Returns the slice of `text` from the start of `first` to the end of `last`, both slices of it, unless it is too
/// long.
fn joined<'t>(text: &'t str, first: &str, last: &str) -> Option<&'t str> {
    let base = text.as_ptr() as usize;
    let start = (first.as_ptr() as usize).checked_sub(base)?;
    let end = (last.as_ptr() as usize).checked_sub(base)? + last.len();
    text.get(start..end).filter(|slice| slice.chars().count() <= 2 * MAX_SENTENCE_CHARS)
}

fn finding(passage: &Passage, lines: &[Line<'_>], message: &Message) -> Option<Finding> {
    let voice = Voice::of(message);
    let line = &lines[passage.cued];
    let tongue = line.tongue?;
    let text: Vec<&str> = lines[passage.first..=passage.last].iter().map(|line| line.text.as_str()).collect();
    let text = text.join(if tongue == Language::Chinese { "" } else { " " });
    let among_people = voice.speaker.is_some() && tongue != Language::Chinese;
    let work = Table::of(tongue).is_work(&text);
    // Chats are full of temporary statements; a statement that names nothing is considered temporary.
    if among_people && passage.kind.must_name() && !work && !names_something(&text) {
        return None;
    }
    let dated = relative::annotated(tongue, &text, voice.now);
    let frame = frame(tongue);
    let who = voice.speaker.unwrap_or(frame.user);
    // The frame's own quotation marks within the text would end the quotation early.
    let x = capitalised(&dated.text.replace(frame.marks, "'"));
    let content = fill(frame.said, &[("{who}", who), ("{x}", &x)]);
    let shelf = passage.kind.shelf();
    // "She plays the cello" is not a title unless it says who she is.
    let named = if line.leans { &lines[passage.first] } else { line };
    let mut claim = Claim::new(shelf.memory_type, shelf.category, title(&named.text, tongue), content);
    claim.importance = shelf.importance;
    claim.confidence = CONFIDENCE;
    let audience = if shelf.personal || !work { Audience::User } else { Audience::Project };
    Some(Finding { claim, audience, since: dated.first })
}

/// Whether `text` contains a number, or a name other than that of the person addressed.
fn names_something(text: &str) -> bool {
    let mut starts = true;
    let mut called = false;
    for word in text.split(' ') {
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let is_name =
            bare.starts_with(char::is_uppercase) && !starts && !called && bare != "I" && !bare.starts_with("I'");
        if bare.contains(|c: char| c.is_ascii_digit()) || (is_name && !word.ends_with('!')) {
            return true;
        }
        starts = word.ends_with(['.', '!', '?', ':', '…']);
        called = word.ends_with(',');
    }
    false
}

/// The frame of a quotation, with the placeholders `{who}` and `{x}`.
struct Frame {
    user: &'static str,
    said: &'static str,
    /// Quotation marks that must not appear within the quotation.
    marks: &'static [char],
}

const fn frame(tongue: Language) -> Frame {
    match tongue {
        Language::Chinese => Frame { user: "用户", said: "{who}说：“{x}”", marks: &['“', '”'] },
        Language::Spanish => Frame { user: "El usuario", said: "{who} dijo: «{x}»", marks: &['«', '»'] },
        Language::German => Frame { user: "Der Nutzer", said: "{who} sagte: „{x}“", marks: &['„', '“'] },
        _ => Frame { user: "The user", said: "{who} said: \"{x}\"", marks: &['"'] },
    }
}

/// Words that never end a title.
const JOINING: &[&str] =
    &["and", "or", "but", "the", "a", "und", "oder", "aber", "der", "die", "das", "y", "o", "pero", "el", "la"];

/// Returns the first words of a sentence.
fn title(text: &str, tongue: Language) -> String {
    let text = text.trim_end_matches(['.', '!', '。', '！', ' ']);
    if tongue == Language::Chinese {
        return text.chars().take(30).collect();
    }
    let mut title = String::new();
    for word in text.split(' ').take(9) {
        if !title.is_empty() && title.chars().count() + word.chars().count() >= MAX_TITLE_CHARS {
            break;
        }
        if !title.is_empty() {
            title.push(' ');
        }
        title.push_str(word);
    }
    let mut title: String = title.chars().take(MAX_TITLE_CHARS).collect();
    loop {
        title.truncate(title.trim_end_matches([',', ';', ':', ' ', '-']).len());
        let Some((rest, last)) = title.rsplit_once(' ') else { break };
        if !JOINING.contains(&last) {
            break;
        }
        title.truncate(rest.len());
    }
    capitalised(&title)
}

/// Longest statement consisting of several sentences, in characters.
const MAX_PASSAGE_CHARS: usize = 320;
/// Minimum number of words, or half the number of Chinese characters, in a statement.
const MIN_WORDS: usize = 5;
/// The same for a statement about who somebody is, or what they like or cannot bear.
const MIN_PLAIN_WORDS: usize = 3;

/// Minimum number of words in a sentence that provides the subject of the next one.
const MIN_JOINED_WORDS: usize = 3;
/// Minimum number of words in a statement that contains "it" or "that" and has no sentence before it.
const MIN_CLEAR_WORDS: usize = 8;

/// A run of sentences that is kept as one statement.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// First sentence.
    pub(super) first: usize,
    /// Last sentence.
    pub(super) last: usize,
    /// The sentence that contains the cue.
    pub(super) cued: usize,
    /// The kind of the statement.
    pub(super) kind: Kind,
}

/// Returns the statements among `lines`, in order; none of them includes a sentence that is `kept` elsewhere.
///
/// Among people, whose messages are short, adjacent sentences form one statement; a person writing to an assistant
/// makes one statement per sentence, with requests between them.
pub(super) fn passages(lines: &[Line<'_>], kept: &[bool], among_people: bool) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let Some(kind) = line.cue.filter(|_| !kept[at]) else { continue };
        let fits = |first: usize, last: usize| length(lines, first, last) <= MAX_PASSAGE_CHARS;
        let joins = |other: usize| !lines[other].forbidden && !kept[other] && lines[other].tongue == line.tongue;
        let is_short = count_words(&line.text) < if kind.is_plain() { MIN_PLAIN_WORDS } else { MIN_WORDS };
        let taken = found.last().map(|last| last.last);
        let (mut first, mut last) = (at, at);
        if let Some(before) = at.checked_sub(1).filter(|&before| taken.is_none_or(|taken| taken < before)) {
            // "Wait, they moved it" does not continue the previous sentence: it retracts it.
            let leans = ((line.leans || line.points) && !line.amends) || is_short;
            let wanted = (among_people && !line.shifts) || leans;
            if wanted && joins(before) && count_words(&lines[before].text) >= MIN_JOINED_WORDS && fits(before, at) {
                first = before;
            }
        }
        while last + 1 < lines.len() && joins(last + 1) && fits(first, last + 1) {
            let next = &lines[last + 1];
            let goes_on = among_people || next.amends || (next.leans && next.cue.is_some());
            if next.shifts || !goes_on {
                break;
            }
            last += 1;
        }
        if taken.is_some_and(|taken| taken >= at) {
            continue;
        }
        let needs = line.leans || is_short || (line.points && count_words(&line.text) < MIN_CLEAR_WORDS);
        let whole = first < at || !needs || (among_people && last > at && !line.leans);
        if whole {
            found.push(Passage { first, last, cued: at, kind });
        }
    }
    found
}

fn length(lines: &[Line<'_>], first: usize, last: usize) -> usize {
    lines[first..=last].iter().map(|line| line.said.chars().count() + 1).sum()
}

fn count_words(text: &str) -> usize {
    let han = count_han(text);
    text.split(' ').count() + han / 2
}

/// Minimum number of letters in a word that identifies a topic.
const MIN_LETTERS: usize = 4;
/// Minimum number of words that a correction shares with the statement it retracts, if none of them names the topic.
const MIN_SHARED_WORDS: usize = 2;
/// Longest topic at the start of a message, in characters: "exam news: …".
const MAX_TOPIC_CHARS: usize = 40;

/// Words that do not identify a topic.
#[rustfmt::skip]
const COMMON: &[&str] = &[
    "about", "after", "again", "also", "always", "back", "before", "being", "come", "does", "done", "down", "each", "every", "first", "from",
    "have", "here", "into", "just", "know", "last", "later", "like", "make", "more", "most", "must", "need", "never", "news", "next", "only", "over", "said", "same", "small", "some", "still", "take",
    "than", "that", "their", "them", "then", "there", "they", "thing", "this", "time", "update", "user", "very", "want", "week", "weeks", "well", "were", "what", "when", "which", "will", "with", "would", "year",
    "your", "yesterday", "today", "tomorrow", "march", "april", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
    "aber", "alle", "auch", "dann", "dass", "doch", "eine", "einen", "haben", "ihre", "immer", "jetzt", "kein", "keine", "mein", "meine", "nach", "nicht", "noch", "nutzer", "nur", "oder", "sagte", "schon", "sein", "seit", "sind", "wieder", "woche", "wird",
    "ahora", "algo", "como", "cuando", "desde", "dijo", "donde", "ella", "ellos", "entre", "esta", "este", "hasta", "para", "pero", "porque", "siempre", "sobre", "también", "tengo", "tiene", "todo", "todos", "usuario", "viene",
];

/// The words of a correction.
pub(super) struct Correction {
    words: BTreeSet<String>,
    /// Words that identify the topic on their own: names, and the words before the first colon.
    topics: BTreeSet<String>,
}

impl Correction {
    /// Returns the words of the correction `text`.
    fn of(text: &str) -> Self {
        let topic = text.split_once(':').map_or("", |(topic, _)| topic);
        let topic = if topic.chars().count() <= MAX_TOPIC_CHARS { topic } else { "" };
        // The first word of a text is always capitalised.
        let names = split_words(text).skip(1).filter(|word| word.starts_with(char::is_uppercase));
        let topics = split_words(topic).chain(names).map(str::to_lowercase).filter(|word| is_topic_word(word));
        Self { words: topic_words(text), topics: topics.collect() }
    }

    /// Whether the correction has the same topic as `candidate`.
    pub(super) fn replaces(&self, candidate: &Candidate) -> bool {
        candidate.evidence.iter().any(|piece| {
            let said = topic_words(&piece.quote);
            let shared = self.words.intersection(&said).count();
            shared >= MIN_SHARED_WORDS || self.topics.intersection(&said).next().is_some()
        })
    }
}

pub(super) fn topic_words(text: &str) -> BTreeSet<String> {
    let mut words: BTreeSet<String> =
        split_words(text).map(str::to_lowercase).filter(|word| is_topic_word(word)).collect();
    let han: Vec<char> = text.chars().filter(|c| is_han(*c)).collect();
    // Most Chinese words are two characters.
    words.extend(han.windows(2).map(|pair| pair.iter().collect::<String>()));
    words
}

fn split_words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !(c.is_alphanumeric() || c == '-')).filter(|word| !word.is_empty())
}

fn is_topic_word(word: &str) -> bool {
    word.chars().count() >= MIN_LETTERS && !COMMON.contains(&word) && !word.starts_with(|c: char| c.is_ascii_digit())
}
