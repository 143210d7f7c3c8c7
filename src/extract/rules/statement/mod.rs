//! Statements that last, kept in their speaker's own words.
//!
//! A sentence with a strong cue of a lasting kind is quoted, attributed, and its relative dates are resolved beside it: so
//! nothing is made up, and no grammar is needed. What is turned to the third person elsewhere is not quoted again.

mod ended;
mod kind;
mod passage;
mod retract;
mod stale;
mod table;

use super::build::Finding;
use super::gather::{Gathered, voice};
use super::own;
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use super::words::{capitalised, fill};
use crate::extract::Task;
use crate::memory::{Audience, Candidate, Claim};
use crate::text::language::{Language, detect_read};
use crate::text::relative;
use transcripts::Message;

pub(super) use ended::ended;
use kind::Kind;
use passage::Passage;
pub(super) use stale::outdated;
pub(super) use table::Table;

/// How sure it is that a sentence with a cue and without a veto is worth keeping.
const CONFIDENCE: f64 = 0.7;
/// Messages of people after a window in which corrections of it are looked for.
const MAX_AHEAD: usize = 300;
/// Longest message that is read ahead, in bytes.
const MAX_CORRECTION_BYTES: usize = 600;
/// Statements of one message that "I mixed that up" takes back at most: of more, it is not known which.
const MAX_WITHDRAWN: usize = 2;
/// Messages of people back to which "I mixed that up" reaches, where others have spoken in between.
const MAX_BETWEEN: usize = 3;
/// Most words of a sentence that only says that the one before it was a joke.
const MAX_JEST_WORDS: usize = 4;
/// Longest title, in characters.
const MAX_TITLE_CHARS: usize = 60;

/// Returns what the tables say of the sentences that `message` says.
pub(super) fn lines<'a>(message: &Message, said: &[&'a str]) -> Vec<Line<'a>> {
    let usual = detect_read(&message.text, None);
    said.iter().map(|said| Line::read(said, usual)).collect()
}

/// Takes the sentences out of `said` and `lines` that the one after them calls a joke.
pub(super) fn without_jests<'a>(said: &mut Vec<&'a str>, lines: &mut Vec<Line<'a>>) {
    for at in (1..lines.len()).rev().filter(|&at| lines[at].jests).collect::<Vec<_>>() {
        said.remove(at - 1);
        lines.remove(at - 1);
    }
}

/// Takes back the earlier statements that `message` corrects; `amends` says whether one of its lines amends anything,
/// and is asked only where the message shares words with a statement, since to read the lines costs the most.
///
/// "I mixed that up" names nothing: it takes back what the same person said in `before`, unless that was much.
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
    let told = retract::told(&message.text);
    // What has a key is replaced by its next value, with its history.
    let is_met = |candidate: &Candidate| candidate.claim.key.is_none() && told.replaces(candidate);
    if gathered.candidates().iter().any(is_met) && amends() {
        gathered.take_back(is_met);
    }
}

/// Whether `message` begins by taking back the one `before` it, in whose language it is if it is too short to tell.
fn withdraws(message: &Message, before: &Message) -> bool {
    let text = fold(message.text.trim_start());
    detect_read(&text, detect_read(&before.text, None)).is_some_and(|tongue| table::of(tongue).withdraws(&text))
}

/// Returns the last message before message `at` of the transcript by the person who says `message`, if it is not far.
pub(super) fn last_of_same<'a>(task: &Task<'a>, at: usize, message: &Message) -> Option<&'a Message> {
    let before = task.transcript.messages[..at].iter().rev().filter(|before| before.is_human());
    before.take(MAX_BETWEEN).find(|before| before.speaker == message.speaker)
}

/// Whether one of `lines` amends anything.
pub(super) fn amends(lines: &[Line<'_>]) -> bool {
    lines.iter().any(|line| line.amends)
}

/// Takes back what the person corrects in the messages after the window, as far as they are read ahead.
///
/// Windows end where they must, not where people have made up their minds; this is bounded, so that many windows of a long
/// log cost no more than few.
pub(super) fn corrected_later(task: &Task<'_>, gathered: &mut Gathered<'_>) {
    if gathered.is_empty() {
        return;
    }
    let later = (task.span.end..).zip(&task.transcript.messages[task.span.end..]).filter(|(_, one)| one.is_human());
    for (at, message) in later.take(MAX_AHEAD).filter(|(_, one)| one.text.len() <= MAX_CORRECTION_BYTES) {
        let before = last_of_same(task, at, message);
        take_back(message, before, || amends(&lines(message, &own::said(&message.text))), gathered);
    }
}

/// Adds the statements among `lines`; `told` marks those that are kept in other words already.
pub(super) fn stated(message: &Message, lines: &[Line<'_>], told: &[bool], gathered: &mut Gathered<'_>) {
    for passage in passage::passages(lines, told, message.speaker.is_some()) {
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

/// A sentence with what its language's table says of it.
#[expect(clippy::struct_excessive_bools, reason = "each is what a section of the table says by itself")]
pub(super) struct Line<'a> {
    said: &'a str,
    text: String,
    tongue: Option<Language>,
    cue: Option<Kind>,
    forbidden: bool,
    leans: bool,
    points: bool,
    /// Whether it goes on with, or takes back, what stands before it.
    amends: bool,
    /// Whether it begins something else.
    shifts: bool,
    /// Whether it is nothing but "just kidding".
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
        let Some(table) = tongue.map(table::of) else { return line };
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

/// Returns the slice of `text` from the start of `first` to the end of `last`, both slices of it, where it is no page.
fn joined<'t>(text: &'t str, first: &str, last: &str) -> Option<&'t str> {
    let base = text.as_ptr() as usize;
    let start = (first.as_ptr() as usize).checked_sub(base)?;
    let end = (last.as_ptr() as usize).checked_sub(base)? + last.len();
    text.get(start..end).filter(|slice| slice.chars().count() <= 2 * MAX_SENTENCE_CHARS)
}

fn finding(passage: &Passage, lines: &[Line<'_>], message: &Message) -> Option<Finding> {
    let voice = voice(message);
    let line = &lines[passage.cued];
    let tongue = line.tongue?;
    let text: Vec<&str> = lines[passage.first..=passage.last].iter().map(|line| line.text.as_str()).collect();
    let text = text.join(if tongue == Language::Chinese { "" } else { " " });
    let among_people = voice.speaker.is_some() && tongue != Language::Chinese;
    let work = table::of(tongue).is_work(&text);
    if among_people && passage.kind.must_name() && !work && !names_something(&text) {
        return None;
    }
    let dated = relative::annotated(tongue, &text, voice.now);
    let frame = frame(tongue);
    let who = voice.speaker.unwrap_or(frame.user);
    let x = capitalised(&dated.text.replace(frame.marks, "'"));
    let content = fill(frame.said, &[("{who}", who), ("{x}", &x)]);
    let shelf = passage.kind.shelf();
    // "She plays the cello" is no title without who she is.
    let named = if line.leans { &lines[passage.first] } else { line };
    let mut claim = Claim::new(shelf.memory_type, shelf.category, title(&named.text, tongue), content);
    claim.importance = shelf.importance;
    claim.confidence = CONFIDENCE;
    let audience = if shelf.personal || !work { Audience::User } else { Audience::Project };
    Some(Finding { claim, audience, since: dated.first })
}

/// Whether `text` has a number, or a name of something other than the one who is spoken to.
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

/// How a quotation is framed; `{who}` and `{x}` are filled in.
struct Frame {
    user: &'static str,
    said: &'static str,
    /// Quotation marks that must not stand within.
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

/// Words with which no title ends.
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
