//! Sentences that say that something has ended or changed. They are kept only if they change a known memory.

use super::clause::{Finding, Voice, fill};
use super::cues::Table;
use super::language;
use super::sentence::{MAX_SENTENCE_CHARS, fold};
use crate::memory::{Audience, Claim, MemoryType};
use crate::text::change;
use crate::text::language::{Language, detect_read};
use crate::text::relative;
use transcripts::Message;

/// Confidence that an explicit change is meant.
const CONFIDENCE: f64 = 0.8;
/// Maximum number of characters in a title.
const MAX_TITLE_CHARS: usize = 60;

/// Returns the change stated in `said`, a sentence of `message`, and the words that state it. These are the sentence
/// and the `next` sentence, which often names the replacement.
pub(super) fn sentence<'t>(
    message: &'t Message,
    said: &'t str,
    next: Option<&'t str>,
    voice: &Voice<'_>,
) -> Option<(Finding, &'t str)> {
    let text = fold(said);
    if change::phrases(&text).is_empty() && !change::moves_home(&text) {
        return None;
    }
    let language = detect_read(&text, None).or_else(|| detect_read(&message.text, None))?;
    if is_unusable(&text) || forbids(language, &text) {
        return None;
    }
    let next = next.filter(|next| {
        let next = fold(next);
        !is_unusable(&next) && !next.ends_with(['?', '？']) && !forbids(language, &next)
    });
    let quote = next.and_then(|next| joined(&message.text, said, next)).unwrap_or(said);
    let dated = match language {
        Language::English => relative::english(&fold(quote), voice.now),
        Language::Chinese => relative::chinese(&fold(quote), voice.now),
        _ => relative::annotated(language, &fold(quote), voice.now),
    };
    let (user, frame) = frame(language);
    let who = voice.speaker.unwrap_or(user);
    let content =
        fill(frame, &[("{who}", who), ("{x}", dated.text.replace(['"', '“', '”', '„', '«', '»'], "'").trim())]);
    let title: String = text.chars().take(MAX_TITLE_CHARS).collect();
    let mut claim = Claim::new(MemoryType::Semantic, "fact", title.trim_end_matches(['.', '。', ',', ' ']), content);
    claim.importance = 0.6;
    claim.confidence = CONFIDENCE;
    Some((Finding { claim, audience: Audience::Project, since: None }, quote))
}

fn is_unusable(text: &str) -> bool {
    text.chars().count() > MAX_SENTENCE_CHARS || text.contains("[redacted:")
}

/// Whether `text` is not a serious and lasting statement of its speaker, according to the rules of the language.
fn forbids(language: Language, text: &str) -> bool {
    let table = Table::of(language);
    let rules = language::of(text).filter(|_| matches!(language, Language::English | Language::Chinese));
    // These are requests about the conversation, which the tables forbid as tasks.
    let forgets = ["vergiss", "bitte vergiss", "olvida"].iter().any(|start| text.to_lowercase().starts_with(start));
    rules.map_or_else(
        || table.veto.is_match(text) && !forgets,
        |rules| rules.forbids(text) || rules.is_conditional(text),
    )
}

/// Returns the part of `text` from the start of `first` to the end of `second`, which follows `first`.
pub(super) fn joined<'t>(text: &'t str, first: &str, second: &str) -> Option<&'t str> {
    let base = text.as_ptr() as usize;
    let start = (first.as_ptr() as usize).checked_sub(base)?;
    let end = (second.as_ptr() as usize).checked_sub(base)? + second.len();
    text.get(start..end)
}

/// Returns the words for the user, and the sentence frame of a quotation.
const fn frame(language: Language) -> (&'static str, &'static str) {
    match language {
        Language::Chinese => ("用户", "{who}说：“{x}”"),
        Language::Spanish => ("El usuario", "{who} dijo: «{x}»"),
        Language::German => ("Der Nutzer", "{who} sagte: „{x}“"),
        _ => ("The user", "{who} said: \"{x}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quoted(text: &str) -> Option<String> {
        let message = Message::user(text);
        let said = crate::extract::offline::sentence::own_sentences(&message.text);
        let found = sentence(&message, said.first()?, said.get(1).copied(), &Voice::of(&message));
        found.map(|(finding, quote)| {
            assert!(message.text.contains(quote));
            finding.claim.content
        })
    }

    #[test]
    fn a_change_is_quoted_with_the_sentence_after_it() {
        for (text, expected) in [
            (
                "The printer contract ran out. We print at the library.",
                Some("The user said: \"The printer contract ran out. We print at the library.\""),
            ),
            ("We dropped Sketch. Can you update the docs?", Some("The user said: \"We dropped Sketch.\"")),
            (
                "Vergiss das mit Quarkus, es wird Micronaut.",
                Some("Der Nutzer sagte: „Vergiss das mit Quarkus, es wird Micronaut.“"),
            ),
            ("Should we drop Sketch?", None),
            ("Maybe we dropped Sketch too early.", None),
            ("We like Sketch.", None),
        ] {
            assert_eq!(quoted(text).as_deref(), expected, "{text}");
        }
    }
}
