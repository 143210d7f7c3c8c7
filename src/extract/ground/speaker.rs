//! A claim about one person that rests on what another said of themselves.

use std::sync::LazyLock;

use regex::Regex;

/// The speaker as the subject, in several languages.
static FIRST_PERSON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:i|i'm|i've|i'd|i'll|my|ich|mein(?:e[rnms]?)?|yo|mi|mis|je|j'ai|mon|ma|mes|io|mio|mia|eu|meu|minha)\b|我(?:[^们們]|$)|私|僕|俺|(?:^|\s)(?:나는|내가|저는|제가|내|제)\s",
    )
    .expect("the pattern is constant and a test compiles it")
});

/// Who said what, for one claim.
#[derive(Debug, Clone, Copy)]
pub(super) struct Said<'a> {
    /// The quote.
    pub quote: &'a str,
    /// Who is quoted.
    pub speaker: &'a str,
    /// Everybody who speaks in the conversation.
    pub speakers: &'a [&'a str],
    /// Who else is cited.
    pub others: &'a [&'a str],
    /// The text of all messages that are cited.
    pub cited: &'a str,
}

/// Returns the participant to whom `content` gives what the quoted speaker says in the first person.
pub(super) fn other_subject<'a>(content: &str, said: &Said<'a>) -> Option<&'a str> {
    let (content, cited) = (content.to_lowercase(), said.cited.to_lowercase());
    let same = |one: &str, two: &str| {
        let (one, two) = (one.to_lowercase(), two.to_lowercase());
        one.contains(&two) || two.contains(&one)
    };
    let quote = said.quote.replace('’', "'");
    if !FIRST_PERSON.is_match(&quote) || starts_with_name(&content, said.speaker) || names(&content, said.speaker) {
        return None;
    }
    said.speakers.iter().copied().find(|other| {
        !same(other, said.speaker)
            && starts_with_name(&content, other)
            && !names(&cited, other)
            && !said.others.iter().any(|cited| same(cited, other))
    })
}

fn first(name: &str) -> String {
    name.split_whitespace().next().unwrap_or_default().to_lowercase()
}

fn starts_with_name(content: &str, name: &str) -> bool {
    let name = first(name);
    let rest = (name.chars().count() > 1).then(|| content.strip_prefix(&name)).flatten();
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Whether a name stands in a folded text, not as a part of a longer word.
fn names(text: &str, name: &str) -> bool {
    let name = first(name);
    text.match_indices(&name).any(|(at, _)| {
        let (before, after) = (text[..at].chars().next_back(), text[at + name.len()..].chars().next());
        let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphabetic());
        !is_letter(before) && !is_letter(after)
    })
}
