//! How a claim is worded: third person or quotation, frames, titles.

use super::language::Compiled;
use super::read::Voice;

/// Returns `clause` as a sentence in the third person, or as a quotation where that is not safe.
pub(super) fn words(language: &Compiled, clause: &str, voice: &Voice<'_>) -> String {
    match (language.language.third_person)(clause, voice.speaker) {
        Some(turned) => finished(&turned, language),
        None => quoted(language, clause, voice),
    }
}

/// Returns `clause` as a quotation.
pub(super) fn quoted(language: &Compiled, clause: &str, voice: &Voice<'_>) -> String {
    fill(language.language.phrases.said, &[("{who}", &who(language, voice)), ("{x}", &clause.replace('"', "'"))])
}

/// Returns the speaker's name, or what the user is called.
pub(super) fn who(language: &Compiled, voice: &Voice<'_>) -> String {
    voice.speaker.unwrap_or(language.language.phrases.user).to_owned()
}

/// Fills the gaps of a sentence frame.
pub(super) fn fill(frame: &str, gaps: &[(&str, &str)]) -> String {
    let mut text = String::with_capacity(frame.len() + 64);
    let mut rest = frame;
    while let Some(open) = rest.find('{') {
        text.push_str(&rest[..open]);
        rest = &rest[open..];
        let gap = gaps.iter().find(|(name, _)| rest.starts_with(name));
        let (skip, filling) = gap.map_or((1, "{"), |(name, filling)| (name.len(), filling));
        text.push_str(filling);
        rest = &rest[skip..];
    }
    text.push_str(rest);
    text
}

/// Returns `text` with a capital and a full stop.
pub(super) fn finished(text: &str, language: &Compiled) -> String {
    let text = text.trim().trim_end_matches(['.', '!', ',', ';', '。', '！', '，', '；']);
    format!("{}{}", capitalised(text), language.language.phrases.stop)
}

/// Returns `text` with a capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns the first few words of `content` without its subject.
pub(super) fn title(content: &str, language: &Compiled, voice: &Voice<'_>) -> String {
    let user = language.language.phrases.user;
    let bare = voice.speaker.map_or(content, |_| content).trim_end_matches(['.', '。', '"', '”']);
    let bare =
        bare.strip_prefix(user).map_or(bare, |rest| rest.trim_start_matches("'s ").trim_start_matches('的').trim());
    let mut title = String::new();
    let bare = bare.trim_start_matches("Problem: \"").trim_start_matches("问题：“");
    let bare = bare.split("; ").next().unwrap_or(bare);
    for (count, word) in bare.split(' ').enumerate() {
        if count >= 8 || title.chars().count() + word.chars().count() > 60 {
            break;
        }
        if count > 0 {
            title.push(' ');
        }
        title.push_str(word);
    }
    if title.is_empty() {
        title = bare.chars().take(30).collect();
    }
    capitalised(without_dangling(&title))
}

/// Returns `title` without the little words at its end that wait for more.
fn without_dangling(title: &str) -> &str {
    const DANGLING: &[&str] = &[
        "a", "an", "and", "as", "at", "by", "for", "from", "in", "instead", "is", "of", "on", "or", "over", "than",
        "that", "the", "to", "with", "week",
    ];
    let mut title = title.trim_end_matches([',', ';', ':', ' ', '"', '“']);
    while let Some((head, last)) = title.rsplit_once(' ') {
        if !DANGLING.contains(&last) {
            break;
        }
        title = head.trim_end_matches([',', ';', ':']);
    }
    title
}
