//! What a clause gives a value to: the captured value, its attribute, and the key that both are compared by.

use super::language::Act;
use super::product::{self, Named};
use super::read::Hit;

/// Longest value that is kept under a key, in characters.
const MAX_VALUE_CHARS: usize = 80;
/// Attribute and value, where they can be told.
#[derive(Default)]
pub(super) struct Slot {
    pub(super) attribute: Option<String>,
    pub(super) value: Option<String>,
}

/// Returns the captured value `name` without its end matter, or none where it says nothing by itself.
pub(super) fn value(hit: &Hit<'_>, name: &str) -> Option<String> {
    let text = hit.found.name(name)?.as_str();
    let end = hit.language.value_end.find(text).map_or(text.len(), |found| found.start());
    let value = text[..end].trim().trim_end_matches(['.', '!', ',', '。', '！', '，', ' ']);
    let says_nothing = value.is_empty() || hit.language.empty_value.is_match(value);
    let switched = hit.act == Act::Decision && hit.language.points(value);
    (!says_nothing && !switched && value.chars().count() <= 200).then(|| value.to_owned())
}

/// Returns the clause, cut before a side clause that points outside; none where the statement itself does.
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

/// Last place in a value, in bytes, at which a known name is what the value is about.
const MAX_NAME_AT: usize = 30;

/// Returns the attribute that the known names of `value` belong to; several values of one attribute tell nothing.
pub(super) fn slot_of(value: &str, over: &str) -> Slot {
    let mut names = product::named(value);
    names.retain(|named| named.at <= MAX_NAME_AT);
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

/// Where in `value` the rejected alternatives begin: "X instead of Y".
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

/// Returns the project's key; a part such as staging has a key of its own.
pub(super) fn project_key(hit: &Hit<'_>, attribute: &str) -> String {
    let part = hit.language.parts.iter().find(|(pattern, _)| pattern.is_match(hit.clause)).map(|&(_, name)| name);
    let own = !matches!(
        attribute,
        "test_runner" | "e2e_tests" | "ci" | "linter" | "formatter" | "package_manager" | "issue_tracker"
    );
    match part {
        Some(part) if own => format!("project.{part}.{attribute}"),
        Some(_) | None => format!("project.{attribute}"),
    }
}

/// Returns key and value together or not at all: a key without a value compares with nothing.
pub(super) fn keyed(key: Option<String>, value: Option<String>) -> (Option<String>, Option<String>) {
    match (key, value) {
        (Some(key), Some(value)) if !value.is_empty() && value.chars().count() <= MAX_VALUE_CHARS => {
            (Some(key), Some(value))
        }
        (_, _) => (None, None),
    }
}

/// Returns `value` as the end of a key: its first words, or with `last_word` only the noun that counts.
pub(super) fn slug(value: &str, last_word: bool) -> String {
    let words = value.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase);
    let mut words: Vec<String> = words.collect();
    if last_word {
        words.drain(..words.len().saturating_sub(1));
    }
    words.truncate(4);
    words.join("_")
}
