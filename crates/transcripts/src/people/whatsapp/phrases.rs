//! Phrases that the program itself writes in an export, in the languages of phones.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::message::words::{self, list};

/// The type of file that each phrase replaces. Android uses one phrase for all types, and iOS one for each type.
static OMITTED: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
    let kinds = ["media", "image", "video", "audio", "sticker", "file", "contact"];
    let lists = kinds.map(|kind| (format!("whatsapp omitted {kind}"), kind));
    words::values(&lists.each_ref().map(|(name, kind)| (name.as_str(), *kind)))
});

/// Opening quotation marks, each with its closing marks.
const QUOTES: &[(char, &[char])] = &[('‘', &['’']), ('“', &['”']), ('„', &['“', '”']), ('«', &['»']), ('「', &['」'])];

/// Returns the type of the omitted file, if `text` represents one.
pub(crate) fn omitted(text: &str) -> Option<&'static str> {
    OMITTED.get(text.trim().to_lowercase().as_str()).copied()
}

/// Returns whether `text` states that the preceding file is attached.
pub(crate) fn is_attached(text: &str) -> bool {
    list("whatsapp attached").contains(&text.trim().to_lowercase().as_str())
}

/// Returns whether `text` takes the place of a deleted message.
pub(crate) fn is_deleted(text: &str) -> bool {
    let text = text.trim().trim_end_matches(['.', '。', '!']).to_lowercase();
    // The phrase may be followed by the name of the person who removed the message: "deleted by admin Ana".
    let is_rest = |rest: &str| rest.is_empty() || rest.starts_with(" by ");
    list("whatsapp deleted").iter().any(|phrase| text.strip_prefix(phrase).is_some_and(is_rest))
}

/// Returns whether `text` is the note that a message was edited.
pub(crate) fn is_edited(text: &str) -> bool {
    list("whatsapp edited").contains(&text.trim().trim_end_matches('.').to_lowercase().as_str())
}

/// Returns whether `text` is the notice with which a chat begins.
pub(crate) fn is_encryption_notice(text: &str) -> bool {
    let text = text.to_lowercase();
    text.chars().count() > 15 && list("whatsapp encrypted").iter().any(|phrase| text.contains(phrase))
}

/// Returns whether `name`, the text before a colon, is not an author but part of a line from the program, such as a
/// quoted subject or a sentence.
pub(crate) fn is_no_author(name: &str) -> bool {
    let name = name.to_lowercase();
    let count = |mark: char| name.matches(mark).count();
    let low = count('„') > 0;
    let is_open = |(open, close): &(char, &[char])| {
        // After a low opening mark, the high mark is a closing mark.
        !(low && *open == '“') && count(*open) > close.iter().map(|mark| count(*mark)).sum()
    };
    let quotes_open = count('"') % 2 == 1 || QUOTES.iter().any(is_open);
    name.split_whitespace().count() > 8 || quotes_open || name.contains("end-to-end")
}

/// Returns whether `text` begins with a phrase of the list called `phrases`.
pub(crate) fn begins(text: &str, phrases: &str) -> bool {
    let start = text.trim_start().chars().take(24).collect::<String>().to_lowercase();
    list(phrases).iter().any(|phrase| start.starts_with(phrase))
}
