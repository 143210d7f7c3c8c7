//! Explicit statements in Spanish and German, kept in the words of the speaker.
//!
//! There are no rules that convert sentences of these languages to the third person. A sentence is therefore quoted,
//! followed by its resolved relative dates.

use super::clause::{Finding, Voice, capitalised, fill};
use super::cues::{Kind, Table};
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use crate::memory::{Audience, Claim};
use crate::text::language::{Language, detect_read};
use crate::text::person::is_about_this_project;
use crate::text::relative;
use transcripts::Message;

/// Confidence that a sentence with a cue and without a veto is worth keeping.
const CONFIDENCE: f64 = 0.75;
/// Minimum number of words in a statement.
const MIN_WORDS: usize = 3;
/// Maximum number of words in a title.
const MAX_TITLE_WORDS: usize = 9;
/// Maximum length of a title, in characters.
const MAX_TITLE_CHARS: usize = 60;

/// Returns the explicit statement in `said`, a sentence of `message`, if its language is Spanish or German.
pub(super) fn sentence(message: &Message, said: &str, voice: &Voice<'_>) -> Option<Finding> {
    let text = fold(said);
    if text.chars().count() > MAX_SENTENCE_CHARS || text.contains("[redacted:") {
        return None;
    }
    // Most sentences are in a language with its own clause rules. Detecting this for one sentence is cheaper than for
    // the whole message.
    let language = detect_read(&text, None).or_else(|| detect_read(&message.text, None))?;
    let frame = frame(language)?;
    let table = Table::of(language);
    let bare = table.without_lead(&text);
    if table.veto.is_match(&text) || table.veto.is_match(bare) || bare.split(' ').count() < MIN_WORDS {
        return None;
    }
    let kind = table.cue(bare)?;
    // In a conversation among people, orders apply only to that day, and statements of likes are small talk.
    if voice.speaker.is_some() && !matches!(kind, Kind::Decision | Kind::Own) {
        return None;
    }
    let dated = relative::annotated(language, bare, voice.now);
    let who = voice.speaker.unwrap_or(frame.user);
    let words = capitalised(&dated.text.replace(frame.marks, "'"));
    let content = fill(frame.said, &[("{who}", who), ("{x}", &words)]);
    let shelf = kind.shelf();
    let mut claim = Claim::new(shelf.memory_type, shelf.category, title(bare), content);
    claim.importance = shelf.importance;
    claim.confidence = CONFIDENCE;
    let is_personal = (shelf.is_personal || table.manner.is_match(bare)) && !is_about_this_project(bare);
    let audience = if is_personal { Audience::User } else { Audience::Project };
    Some(Finding { claim, audience, since: dated.first })
}

/// The sentence around a quotation, in which `{who}` and `{x}` are filled in.
struct Frame {
    user: &'static str,
    said: &'static str,
    /// Quotation marks that must not appear inside a quotation.
    marks: &'static [char],
}

const fn frame(language: Language) -> Option<Frame> {
    match language {
        Language::Spanish => Some(Frame { user: "El usuario", said: "{who} dijo: «{x}»", marks: &['«', '»'] }),
        Language::German => Some(Frame { user: "Der Nutzer", said: "{who} sagte: „{x}“", marks: &['„', '“'] }),
        _ => None,
    }
}

/// Words that must not be the last word of a title.
const JOINING: &[&str] = &["und", "oder", "aber", "der", "die", "das", "y", "o", "pero", "el", "la"];

/// Returns the first words of a sentence.
pub(in crate::extract) fn title(text: &str) -> String {
    let text = text.trim_end_matches(['.', '!', ' ']);
    let mut title = String::new();
    for word in text.split(' ').take(MAX_TITLE_WORDS) {
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
