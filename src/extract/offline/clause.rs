//! A recognised clause: its speaker, the value it states, the key of that value, and the wording of the claim.

use jiff::civil::{Date, DateTime};
use regex::Captures;

use super::language::{Act, LanguageRules};
use super::product::{self, Named};
use crate::memory::{Audience, Claim, MemoryType};
use transcripts::Message;

/// The speaker of a message, and its time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Voice<'a> {
    /// The person's name, in conversations among people.
    pub(super) speaker: Option<&'a str>,
    /// The speaker's local time.
    pub(super) now: Option<DateTime>,
}

impl<'a> Voice<'a> {
    /// Returns the speaker and the time of `message`.
    pub(super) fn of(message: &'a Message) -> Self {
        Self { speaker: message.speaker.as_deref(), now: message.time.map(|time| time.civil()) }
    }
}

/// A cue that matched a clause, with its captures.
pub(super) struct Hit<'a> {
    pub(super) language: &'static LanguageRules,
    pub(super) act: &'a Act,
    pub(super) confidence: f64,
    /// Whether the speaker asked to remember the statement.
    pub(super) asked: bool,
    pub(super) clause: &'a str,
    pub(super) found: Captures<'a>,
}

/// What a clause states.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Finding {
    pub(super) claim: Claim,
    pub(super) audience: Audience,
    /// The first day that the sentence mentions.
    pub(super) since: Option<Date>,
}

/// Maximum length of a value that is kept under a key, in characters.
const MAX_VALUE_CHARS: usize = 80;

/// The attribute and the value, if they are known.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) attribute: Option<String>,
    pub(super) value: Option<String>,
}

/// Returns the captured value `name` without trailing words, or `None` if it is not meaningful on its own.
pub(super) fn value(hit: &Hit<'_>, name: &str) -> Option<String> {
    let text = hit.found.name(name)?.as_str();
    let end = hit.language.value_end.find(text).map_or(text.len(), |found| found.start());
    let value = text[..end].trim().trim_end_matches(['.', '!', ',', '。', '！', '，', ' ']);
    let says_nothing = value.is_empty() || hit.language.empty_value.is_match(value);
    let switched = *hit.act == Act::Decision && hit.language.points(value);
    (!says_nothing && !switched && value.chars().count() <= 200).then(|| value.to_owned())
}

/// Returns the clause, cut before a subordinate clause that refers to something outside the sentence, or `None` if the
/// main clause itself refers to such a thing.
pub(super) fn until_pointing(hit: &Hit<'_>) -> Option<String> {
    let Some(pointing) = hit.language.pointing(hit.clause) else { return Some(hit.clause.to_owned()) };
    let cut = hit
        .language
        .value_end
        .find_iter(hit.clause)
        .map(|found| found.start())
        .filter(|&at| at < pointing.start())
        .last()?;
    let captured = ["v", "gone", "years"].iter().find_map(|name| hit.found.name(name))?;
    let kept = hit.clause[..cut].trim_end_matches([',', ' ', ';', '，']);
    (captured.start() < kept.len()).then(|| kept.to_owned())
}

/// Maximum byte position in a value at which a known name can be the topic of the value.
const MAX_NAME_AT: usize = 30;

/// Returns the slot of the known names in `value`. If several known names belong to one attribute, the slot has no
/// value.
pub(super) fn slot_of(value: &str, over: &str) -> Slot {
    let mut names = product::named(value);
    // In "move from X to Y", X is what is given up.
    let is_left = |at: usize| value[..at].ends_with("from ") && value[at..].contains(" to ");
    names.retain(|named| named.at <= MAX_NAME_AT && !is_left(named.at));
    let Some(Named { attribute, value: first, .. }) = names.first() else {
        let known = product::named(over).into_iter().find(|named| named.at == 0 && over.split(' ').count() <= 3);
        let attribute = known.map(|named| named.attribute.to_owned());
        return Slot { value: attribute.is_some().then(|| plain_value(value)), attribute };
    };
    let rest = alternatives_start(value);
    let others =
        names[1..].iter().any(|other| other.attribute == *attribute && other.value != *first && other.at < rest);
    if others {
        return Slot { attribute: Some((*attribute).to_owned()), value: None };
    }
    Slot { attribute: Some((*attribute).to_owned()), value: Some(first.clone()) }
}

/// Returns the position in `value` at which the rejected alternatives begin, such as Y in "X instead of Y".
pub(super) fn alternatives_start(value: &str) -> usize {
    let lower = value.to_ascii_lowercase();
    ["instead of", " rather than", " over ", ", not ", " not ", "而不是", "代替", " from "]
        .iter()
        .filter_map(|word| lower.find(word))
        .min()
        .unwrap_or(value.len())
}

pub(super) fn plain_value(value: &str) -> String {
    value[..alternatives_start(value)].trim().trim_matches(['`', '"', '\'', '“', '”', '「', '」']).to_owned()
}

pub(super) fn preference_key(attribute: &str) -> String {
    if matches!(attribute, "os" | "timezone") {
        format!("user.{attribute}")
    } else {
        format!("user.preference.{attribute}")
    }
}

/// Returns the project's key. A part of the project, such as staging, has its own key.
pub(super) fn project_key(hit: &Hit<'_>, attribute: &str) -> String {
    let part = hit.language.parts.iter().find(|(pattern, _)| pattern.is_match(hit.clause)).map(|(_, name)| name);
    let own = !matches!(
        attribute,
        "test_runner" | "e2e_tests" | "ci" | "linter" | "formatter" | "package_manager" | "issue_tracker"
    );
    match part {
        Some(part) if own => format!("project.{part}.{attribute}"),
        Some(_) | None => format!("project.{attribute}"),
    }
}

/// Returns both key and value or neither, because a key without a value cannot be compared.
pub(super) fn keyed(key: Option<String>, value: Option<String>) -> (Option<String>, Option<String>) {
    match (key, value) {
        (Some(key), Some(value)) if !value.is_empty() && value.chars().count() <= MAX_VALUE_CHARS => {
            (Some(key), Some(value))
        }
        (_, _) => (None, None),
    }
}

/// Returns `value` as the last part of a key: its first words or, with `last_word`, only the main noun.
pub(super) fn slug(value: &str, last_word: bool) -> String {
    let words = value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let mut words: Vec<String> = words.collect();
    if last_word {
        words.drain(..words.len().saturating_sub(1));
    }
    words.truncate(4);
    words.join("_")
}

/// Returns `clause` as a sentence in the third person, or as a quotation if that is not safe.
pub(super) fn words(language: &LanguageRules, clause: &str, voice: &Voice<'_>) -> String {
    match language.third_person(clause, voice.speaker) {
        Some(turned) => finished(&turned, language),
        None => quoted(language, clause, voice),
    }
}

/// Returns `clause` as a quotation.
pub(super) fn quoted(language: &LanguageRules, clause: &str, voice: &Voice<'_>) -> String {
    fill(&language.phrases.said, &[("{who}", &who(language, voice)), ("{x}", &clause.replace('"', "'"))])
}

/// Returns the speaker's name, or the phrase for the user.
pub(super) fn who(language: &LanguageRules, voice: &Voice<'_>) -> String {
    voice.speaker.unwrap_or(&language.phrases.user).to_owned()
}

/// Fills the placeholders of a sentence frame.
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

/// Returns `text` with an initial capital and a full stop.
pub(super) fn finished(text: &str, language: &LanguageRules) -> String {
    let text = text.trim().trim_end_matches(['.', '!', ',', ';', '。', '！', '，', '；']);
    format!("{}{}", capitalised(text), language.phrases.stop)
}

/// Returns `text` with an initial capital.
pub(super) fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

/// Returns the first few words of `content` without its subject.
pub(super) fn title(content: &str, language: &LanguageRules, voice: &Voice<'_>) -> String {
    let user = language.phrases.user.as_str();
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

/// Returns `title` without trailing function words.
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

/// Returns a claim with a title taken from its content.
pub(super) fn claim(
    memory_type: MemoryType,
    category: &str,
    content: String,
    language: &LanguageRules,
    voice: &Voice<'_>,
) -> Claim {
    let title = title(&content, language, voice);
    Claim::new(memory_type, category, title, content)
}

/// Whether `text` ends in the middle of a sentence, as half of a wrapped line does.
pub(super) fn breaks_off(text: &str) -> bool {
    let last = text.rsplit(' ').next().unwrap_or("");
    let waits = text.ends_with([':', '{', '(', ',', '：', '，']);
    waits
        || [
            "the", "a", "an", "of", "and", "or", "by", "with", "if", "when", "that", "is", "are", "as", "unless",
            "your", "its",
        ]
        .contains(&last)
}
