//! Parts of a conversation in which people do not speak for themselves, such as games, stories and letters for others.

use std::collections::BTreeMap;
use std::ops::Range;

use super::cues::Table;
use super::sentence::{asked_from, fold};
use crate::extract::Task;
use crate::memory::Candidate;
use crate::text::language::detect_read;
use transcripts::{Message, Role};

/// Maximum number of messages before a window in which a scene that continues into it may have begun.
const MAX_BEHIND: usize = 200;

/// Pause, in milliseconds, after which a story or a game has ended unless it is resumed.
const MAX_PAUSE_MS: i64 = 3 * 60 * 60 * 1000;

/// The speaker of a passage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// The person speaks.
    Own,
    /// Somebody else speaks, for as long as the person says that this continues.
    Lent,
    /// Somebody else speaks, whose words the person dictates. Answers to the assistant's questions about these words
    /// are included.
    Dictated,
    /// A character speaks, until the person leaves the role.
    Played,
}

/// The parts of a window's messages that are not meant seriously.
pub(super) struct Scenes {
    /// Byte ranges, by the index of the message in the transcript.
    hidden: BTreeMap<usize, Vec<Range<usize>>>,
    /// The index of each message, by its id.
    places: BTreeMap<String, usize>,
}

impl Scenes {
    /// Returns the scenes of `task`, in time linear in its text and in at most `MAX_BEHIND` messages before it.
    pub(super) fn of(task: &Task<'_>) -> Self {
        let messages = &task.transcript.messages;
        let start = task.span.context_start.min(task.span.start.saturating_sub(MAX_BEHIND));
        let window = &messages[start..task.span.end];
        // In a conversation among people, one phrase from a story does not mean that everybody is playing a role.
        let is_chat = window.iter().any(|message| message.role == Role::Assistant || message.speaker.is_none());
        let mut scenes = Self { hidden: BTreeMap::new(), places: BTreeMap::new() };
        let mut voice = Voice::Own;
        let mut before: Option<&Message> = None;
        // Whether more dictated text is expected, because somebody announced or requested it.
        let mut waits = false;
        for (at, message) in (start..).zip(window) {
            let end = message.text.trim_end();
            if !message.is_human() {
                waits = message.role == Role::Assistant && end.ends_with(['?', '？']);
                continue;
            }
            let paused = before.is_some_and(|before| is_long_after(before, message));
            if voice != Voice::Own && (paused || (voice == Voice::Dictated && !waits)) {
                voice = Voice::Lent;
            }
            before = Some(message);
            waits = end.ends_with([':', '：']);
            let hidden = read(message, is_chat, &mut voice);
            if !hidden.is_empty() {
                scenes.hidden.insert(at, hidden);
                scenes.places.insert(message.id.clone(), at);
            }
        }
        scenes
    }

    /// Whether `said`, a slice of `text` in the message at index `at`, is not meant seriously.
    pub(super) fn hides(&self, at: usize, text: &str, said: &str) -> bool {
        let Some(start) = (said.as_ptr() as usize).checked_sub(text.as_ptr() as usize) else { return false };
        self.covers(at, start..start + said.len())
    }

    /// Whether `candidate` is based on words that are not meant seriously.
    pub(super) fn rests_on_play(&self, task: &Task<'_>, candidate: &Candidate) -> bool {
        candidate.evidence.iter().any(|piece| {
            piece.messages.iter().filter_map(|id| self.places.get(id.as_str())).any(|&at| {
                let found = task.transcript.messages[at].text.find(&piece.quote);
                // A quote that is not found may span several messages, so it is not trusted either.
                found.is_none_or(|start| self.covers(at, start..start + piece.quote.len()))
            })
        })
    }

    fn covers(&self, at: usize, part: Range<usize>) -> bool {
        let hidden = self.hidden.get(&at);
        hidden.is_some_and(|ranges| ranges.iter().any(|range| range.start < part.end && part.start < range.end))
    }
}

/// Whether the time between two messages is so long that a game has probably ended.
fn is_long_after(before: &Message, message: &Message) -> bool {
    let (Some(earlier), Some(later)) = (before.time, message.time) else { return false };
    later.at.as_millisecond() - earlier.at.as_millisecond() > MAX_PAUSE_MS
}

/// Returns the parts of `message` that are not its author's own words, and sets `voice` to the speaker at its end.
fn read(message: &Message, is_chat: bool, voice: &mut Voice) -> Vec<Range<usize>> {
    let text = &message.text;
    let usual = detect_read(text, None);
    let Some(table) = usual.map(Table::of) else {
        // Without a known language, the words that end the game cannot be recognised.
        let all = std::iter::once(0..text.len()).filter(|_| *voice != Voice::Own);
        return all.chain(scripted(text)).collect();
    };
    // "One more thing" and "No, wait" are not dictated text.
    let turns = *voice == Voice::Dictated && (table.shifts.is_match(text.trim_start()) || table.amends.is_match(text));
    if (*voice == Voice::Lent && !table.goes.is_match(text.trim_start())) || turns {
        *voice = Voice::Own;
    }
    let asked = asked_from(text);
    let mut hidden: Vec<Range<usize>> = scripted(text).collect();
    for part in parts(text) {
        let folded = fold(&text[part.clone()]);
        let was = *voice;
        if was != Voice::Own && table.earnest.is_match(&folded) {
            *voice = Voice::Own;
        } else if was != Voice::Played && table.plays.is_match(&folded) {
            *voice = if is_chat { Voice::Played } else { Voice::Lent };
        } else if matches!(was, Voice::Own | Voice::Lent) && table.lends.is_match(&folded) {
            *voice = Voice::Dictated;
        } else if was == Voice::Own && asked.is_some_and(|at| part.contains(&at)) {
            *voice = Voice::Lent;
        }
        if *voice != Voice::Own {
            hidden.push(part);
        }
    }
    hidden
}

/// Labels in capitals that are not roles in a play.
#[rustfmt::skip]
const LABELS: &[&str] = &[
    "answer", "api", "asap", "attention", "btw", "bug", "change", "context", "correction", "date", "deadline", "decision", "edit", "error", "faq",
    "fix", "fyi", "goal", "idea", "important", "info", "news", "note", "notes", "plan", "please", "preference", "question", "remember", "reminder", "rule",
    "rules", "status", "summary", "task", "tldr", "todo", "update", "urgent", "url", "warning", "wip",
    "achtung", "aviso", "entscheidung", "fecha", "frage", "hinweis", "importante", "merke", "nota", "pregunta", "regel", "wichtig",
];
/// Minimum number of separators in a line that is considered a row of data.
const MIN_SEPARATORS: usize = 3;
/// Minimum number of words on both sides of a slash that separates lines of verse.
const MIN_VERSE_WORDS: usize = 3;

/// Returns the lines of `text` that look like a role in a play, a row of data or verse.
fn scripted(text: &str) -> impl Iterator<Item = Range<usize>> + '_ {
    let base = text.as_ptr() as usize;
    let found = text.lines().filter(|line| is_part(line.trim()) || is_row(line) || is_verse(line));
    found.map(move |line| {
        let start = line.as_ptr() as usize - base;
        start..start + line.len()
    })
}

/// Whether `line` is what a character says: `KING: …`, `【三小姐】…`, `—Hola, …`.
fn is_part(line: &str) -> bool {
    if line.starts_with('【') {
        return line.contains('】');
    }
    if let Some(said) = line.strip_prefix('—') {
        return said.starts_with(|c: char| c.is_alphabetic() || matches!(c, '¿' | '¡'));
    }
    let Some((label, said)) = line.split_once(':') else { return false };
    let letters = label.chars().filter(|c| c.is_alphabetic()).count();
    let is_name = label.chars().all(|c| c.is_uppercase() || matches!(c, ' ' | '-' | '\''));
    letters >= 3
        && is_name
        && label.split(' ').count() <= 3
        && said.starts_with(' ')
        && !label.split(' ').any(|word| LABELS.contains(&word.to_lowercase().as_str()))
}

fn is_row(line: &str) -> bool {
    [';', '|', '\t'].iter().any(|separator| line.matches(*separator).count() >= MIN_SEPARATORS)
}

fn is_verse(line: &str) -> bool {
    let is_long = |part: &str| part.split_whitespace().count() >= MIN_VERSE_WORDS;
    line.contains(" / ") && line.split(" / ").all(is_long)
}

/// Returns the sentences of `text`, including their end marks.
fn parts(text: &str) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut start = 0;
    for (at, c) in text.char_indices() {
        if matches!(c, '.' | '!' | '?' | '\n' | '。' | '！' | '？') {
            let end = at + c.len_utf8();
            let next = text[end..].chars().next();
            // A full stop within a word, as in `v1.2` or `fly.io`, does not end a sentence.
            if c != '.' || next.is_none_or(char::is_whitespace) {
                parts.push(start..end);
                start = end;
            }
        }
    }
    parts.push(start..text.len());
    parts.retain(|part| !part.is_empty());
    parts
}
