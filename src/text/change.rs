//! Phrases that express that something has ended or changed, with the words for that thing.
//!
//! A phrase counts only if it is explicit and its subject is the speaker or the thing itself, or is missing, as in "we
//! moved off Heroku", "Heroku is gone" and "forget what I said about Heroku". Statements about actions of other people,
//! questions and suppositions do not count.

use std::sync::LazyLock;

use regex::{Captures, Match};
use serde::Deserialize;

use super::pattern_set::{PatternSet, Patterns};
use super::tokens::is_listed;

/// The kind of change that a phrase expresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ChangeEffect {
    /// The thing has ended.
    Ended,
    /// Something else replaces the thing, as in "instead of tabs".
    Replaced,
    /// The thing has a different value, as in "the port was changed to 8080".
    Moved,
}

/// A phrase that expresses a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChangePassage {
    /// The kind of change.
    pub kind: ChangeEffect,
    /// The words for the thing, without articles.
    pub named: String,
    /// Whether the thing is the subject of its clause, as in "Heroku is gone".
    pub is_subject: bool,
    /// The responsibility that somebody handed over, such as "the release checklist" in "Tomasz handed the release
    /// checklist over".
    pub matter: Option<String>,
    /// The rest of the clause after the name.
    pub rest: String,
    /// The whole clause.
    pub clause: String,
    /// The words of the clause before the phrase, such as the subject of a Chinese sentence.
    pub lead: String,
    /// The verb after "no longer", if the phrase does not determine it: `own` in "no longer own".
    pub verb: Option<String>,
}

const START: &str = r#"(?:^|[,;:!?…"“„«(]\s*|[.。！，；：]\s*|\s[–—-]\s|\b(?:and|but|so|und|aber|et|mais|y|pero)\s)"#;
const ENGLISH_WE: &str = r"(?:(?:i|we|they|the user|(?:the|our) (?:[\w-]+ )?(?:team|group|company|department|office|club)|you can|you may)(?:'ve| have|'re| are|'m| am|'d| had| has|'s)?\s)?(?:(?:just|finally|recently|now|already|also|all|actually|completely|officially|then|since|meanwhile|therefore)\s)*";

/// The rules in `changes.toml`.
#[derive(Deserialize)]
struct Rules {
    forms: Forms,
    /// Words that show that a change does not last, has not happened, or was refused.
    passing: Patterns,
    /// Words that show that somebody else made the change.
    others: Patterns,
    /// Words that state a change to something else.
    turns: Patterns,
    /// Words that state that the speaker moved to another home.
    home: Patterns,
    /// Words before a name that do not belong to it.
    before: String,
    /// Words that end a name.
    after: String,
}

/// Forms of phrases, each with the change that it expresses.
#[derive(Deserialize)]
#[serde(from = "Vec<(ChangeEffect, String)>")]
struct Forms {
    kinds: Vec<ChangeEffect>,
    patterns: PatternSet,
}

impl From<Vec<(ChangeEffect, String)>> for Forms {
    fn from(forms: Vec<(ChangeEffect, String)>) -> Self {
        let pattern = |form: &String| format!("(?i){}", form.replace("@S", START).replace("@W", ENGLISH_WE));
        let patterns = PatternSet::new(forms.iter().map(|(_, form)| pattern(form)));
        Self { kinds: forms.into_iter().map(|(kind, _)| kind).collect(), patterns }
    }
}

static RULES: LazyLock<Rules> =
    LazyLock::new(|| toml::from_str(include_str!("changes.toml")).expect("the rules are constants"));

/// Returns whether `text` states that somebody changed to something else, even if it does not mention the previous
/// thing.
pub(crate) fn turns_to_another(text: &str) -> bool {
    RULES.turns.is_match(text) && !RULES.passing.is_match(text)
}

/// Returns whether `text` states that the speaker moved to another home.
pub(crate) fn moves_home(text: &str) -> bool {
    RULES.home.is_match(text) && !RULES.passing.is_match(text) && !RULES.others.is_match(text)
}

/// Maximum length of text that is searched, in bytes; statements of changes are short.
const MAX_BYTES: usize = 600;

/// Returns the phrases in `text` that express changes. Sentences with questions, suppositions or temporary changes are
/// ignored.
pub(crate) fn phrases(text: &str) -> Vec<ChangePassage> {
    if text.len() > MAX_BYTES {
        return Vec::new();
    }
    let text = &text.replace('’', "'");
    let Forms { patterns, kinds } = &RULES.forms;
    let mut found = Vec::new();
    for sentence in sentences(text) {
        let mut candidates = patterns.candidates(sentence).peekable();
        if candidates.peek().is_some() && !RULES.passing.is_match(sentence) {
            found.extend(candidates.flat_map(|(place, pattern)| {
                pattern.captures_iter(sentence).filter_map(move |hit| phrase(sentence, &hit, kinds[place]))
            }));
        }
    }
    found
}

/// Splits `text` after marks that end a sentence. A full stop within `Fly.io` or `3.10` is not such a mark.
fn sentences(text: &str) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_spaced = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        if matches!(c, '。' | '！' | '？') || (matches!(c, '.' | '!' | '?') && is_spaced) {
            let end = at + c.len_utf8();
            parts.push(text[start..end].trim());
            start = end;
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

fn phrase(sentence: &str, hit: &Captures<'_>, kind: ChangeEffect) -> Option<ChangePassage> {
    let (whole, old) = (hit.get(0)?, hit.name("old")?);
    let end = sentence[whole.end()..].find([',', ';', ':', '，', '；']).map_or(sentence.len(), |at| whole.end() + at);
    let clause = &sentence[whole.start()..end];
    if RULES.others.is_match(clause) {
        return None;
    }
    let is_subject = !whole.as_str()[..old.start() - whole.start()].contains(char::is_alphabetic);
    let words: Vec<&str> = old.as_str().split(' ').filter(|word| !word.is_empty()).collect();
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    let start = words.iter().position(|word| !is_listed(&RULES.before, &bare(word)))?;
    let length =
        words[start..].iter().position(|word| is_listed(&RULES.after, &bare(word))).unwrap_or(words.len() - start);
    let named = words[start..start + length].join(" ");
    // French articles are written together with the noun.
    let named = ["l'", "d'", "L'", "D'"].iter().find_map(|one| named.strip_prefix(one)).unwrap_or(&named);
    let named = named.trim_end_matches(['.', '!', '。', '！', ' ', '"', '“', '”', '»']).to_owned();
    let tail = hit.name("tail").map_or("", |tail| tail.as_str());
    let rest = format!("{} {tail}", words[start + length..].join(" ")).trim().to_owned();
    let [matter, verb] = ["what", "verb"].map(|name| hit.name(name).map(|group| group.as_str().to_owned()));
    let lead = lead(sentence, &whole).to_owned();
    let clause = clause.to_owned();
    (!named.is_empty()).then_some(ChangePassage { kind, named, is_subject, matter, rest, clause, lead, verb })
}

/// Returns the words of the clause before `phrase`; none if the phrase begins the clause.
fn lead<'a>(sentence: &'a str, phrase: &Match<'_>) -> &'a str {
    let begins = phrase.as_str().starts_with(|c: char| !c.is_alphanumeric());
    let before = if begins { "" } else { &sentence[..phrase.start()] };
    before.rsplit([',', ';', ':', '.', '，', '；', '：', '。']).next().unwrap_or_default().trim()
}

/// Returns whether `word`, in lower case, is an article, a preposition or a similar word in one of the languages.
pub(crate) fn is_function_word(word: &str) -> bool {
    is_listed(&RULES.before, word) || is_listed(&RULES.after, word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_names_what_is_over() {
        for (text, named) in [
            ("We finally moved the mailer off Lettermint: since May it is on Postbox.", "Lettermint"),
            ("Lettermint is gone, mail goes through Postbox.", "Lettermint"),
            ("Forget what I said about Lettermint.", "Lettermint"),
            ("We dropped 3.9 last week.", "3.9"),
            ("Use pear instead of quince for the demo.", "quince"),
            ("The retro was moved to Thursday.", "retro"),
            ("Den Vertrag mit Lettermint haben wir gekündigt.", "Vertrag mit Lettermint"),
            ("Statt Quitte nehmen wir Birne.", "Quitte"),
            ("On a quitté Lettermint.", "Lettermint"),
            ("Ya no usamos Lettermint.", "Lettermint"),
            ("邮件已经从信使换到邮筒了。", "信使"),
            ("The parser is not a library but a service.", "library"),
            ("The bakery team gave up sprints in May.", "sprints"),
            ("Die Farbe ist nicht Blau, sondern Grün.", "Blau"),
            ("Der Hinweis auf Quitte war ein Irrtum.", "Hinweis"),
            ("El color no es azul, sino verde.", "azul"),
            ("Lo de la quinta fue un malentendido.", "quinta"),
            ("封面不是蓝色，而是绿色。", "蓝色"),
        ] {
            let found: Vec<String> = phrases(text).into_iter().map(|phrase| phrase.named).collect();
            assert!(found.iter().any(|one| one == named || one.starts_with(named)), "{text}: {found:?}");
        }
    }

    #[test]
    fn what_is_asked_supposed_passing_or_done_by_others_is_none() {
        for text in [
            "Should we drop Lettermint?",
            "If we dropped Lettermint, we would save money.",
            "We moved off Lettermint for now.",
            "The plan to leave Lettermint was rejected.",
            "My parents cancelled their trip to Malta.",
            "We never dropped Lettermint.",
            "We decided not to drop Lettermint.",
            "Wir sind vorübergehend von Birne auf Quitte umgestiegen.",
            "如果不用信使了呢？",
        ] {
            assert_eq!(phrases(text), [], "{text}");
        }
    }
}
