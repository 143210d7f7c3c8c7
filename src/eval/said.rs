//! What was said, as far as a reader needs it to judge what went wrong.

use std::collections::BTreeSet;

use super::rows::{Found, Spoken};
use super::text::normal;
use transcripts::{Message, Role, Transcript};

/// Characters of a conversation that are shown whole.
const WHOLE: usize = 12_000;
/// Characters of one message that are shown.
const MESSAGE: usize = 1_200;
/// Messages shown on each side of one that matters, where the conversation is longer.
const AROUND: usize = 2;

/// Returns the id of the first message that holds `quote`, spaces, quotation marks and capitals aside.
pub(super) fn holding(transcripts: &[Transcript], quote: &str) -> Option<String> {
    let wanted = normal(quote);
    let mut messages = labelled(transcripts);
    messages.find(|(_, message)| normal(&message.text).contains(&wanted)).map(|(label, _)| label)
}

/// Returns what tells a message from all others of the case: its id, behind the number of its conversation if there are
/// several.
pub(super) fn label(transcripts: &[Transcript], key: &str, id: &str) -> String {
    match transcripts.iter().position(|transcript| transcript.key() == key) {
        Some(at) if transcripts.len() > 1 => format!("{}/{id}", at + 1),
        Some(_) | None => id.to_owned(),
    }
}

fn labelled(transcripts: &[Transcript]) -> impl Iterator<Item = (String, &Message)> {
    transcripts.iter().flat_map(move |transcript| {
        let key = transcript.key();
        transcript.messages.iter().map(move |message| (label(transcripts, &key, &message.id), message))
    })
}

/// Returns what was said, whole if it is short, else around the messages that `findings` rest on; nothing where nothing
/// went wrong. What is left out shows as one entry without speaker.
pub(super) fn said(transcripts: &[Transcript], findings: &[Found]) -> Vec<Spoken> {
    if findings.is_empty() {
        return Vec::new();
    }
    let messages: Vec<(String, &Message)> = labelled(transcripts).collect();
    let length: usize = messages.iter().map(|(_, message)| message.text.chars().count().min(MESSAGE)).sum();
    let matters: BTreeSet<&str> =
        findings.iter().flat_map(|found| &found.evidence).filter_map(|one| one.message.as_deref()).collect();
    let near = |at: usize| {
        let around = at.saturating_sub(AROUND)..(at + AROUND + 1).min(messages.len());
        messages[around].iter().any(|(label, _)| matters.contains(label.as_str()))
    };
    let mut shown: Vec<Spoken> = Vec::new();
    let mut left_out = 0_usize;
    for (at, (label, message)) in messages.iter().enumerate() {
        if length > WHOLE && !near(at) {
            left_out += 1;
            continue;
        }
        shown.extend(gap(&mut left_out));
        shown.push(spoken(label, message));
    }
    shown.extend(gap(&mut left_out));
    shown
}

fn gap(left_out: &mut usize) -> Option<Spoken> {
    let count = std::mem::take(left_out);
    let text = format!("[… {count} more message{} …]", if count == 1 { "" } else { "s" });
    (count > 0).then(|| Spoken { text, ..Spoken::default() })
}

fn spoken(label: &str, message: &Message) -> Spoken {
    let role = match message.role {
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::System => "system",
        Role::Tool => "tool",
        Role::Other => "other",
    };
    let mut text: String = message.text.chars().take(MESSAGE).collect();
    if message.text.chars().nth(MESSAGE).is_some() {
        text.push('…');
    }
    let speaker = message.speaker.clone().unwrap_or_else(|| role.to_owned());
    Spoken { id: label.to_owned(), speaker, text }
}
