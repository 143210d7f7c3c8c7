//! Statements that give an attribute its value without a key, as in "the Node version is 22".

use super::features::Polarity;
use super::key::{Arity, arity, canonical};
use super::slots::{slots, units};
use super::view::{View, Words, is_episode};

/// Maximum number of units of a value.
const MAX_VALUE_UNITS: usize = 3;

/// Words after which the value of the attribute follows, the longest first.
const COPULAS: &[&[&str]] = &[&["is", "called"], &["is", "named"], &["is", "set", "to"], &["is"]];

/// Whether two claims without keys are the same sentence up to its end, where each gives a different value to an
/// attribute that has one value at a time.
pub(super) fn give_other_values(a: &View<'_>, b: &View<'_>, words: &Words) -> bool {
    let (left, right) = (&a.features, &b.features);
    let is_plain = |view: &View<'_>| {
        let features = &view.features;
        view.key.is_none()
            && features.polarity == Polarity::Positive
            && !features.also
            && !features.planned
            && !is_episode(view)
    };
    let is_short = words.incoming_only <= MAX_VALUE_UNITS && words.known_only <= MAX_VALUE_UNITS;
    if !is_short || !is_plain(a) || !is_plain(b) || left.except != right.except || left.settings != right.settings {
        return false;
    }
    let Some(slots) = slots(&left.text, &right.text) else { return false };
    let [slot] = slots.as_slice() else { return false };
    let sentence = units(&left.text);
    let frame = &sentence[..slot.shared_before];
    let ends_with_value = frame.len() + slot.incoming.len() == sentence.len();
    let has_size = |value: &[String]| (1..=MAX_VALUE_UNITS).contains(&value.len());
    if !ends_with_value || !has_size(&slot.incoming) || !has_size(&slot.known) {
        return false;
    }
    // "The database is slow" does not identify the database, so only names and numbers are values.
    let is_value = |view: &View<'_>, value: &[String]| {
        value
            .iter()
            .all(|unit| view.features.entities.contains(unit) || unit.starts_with(|first: char| first.is_ascii_digit()))
    };
    match attribute(frame) {
        Some(Named::Stated) => true,
        Some(Named::Described) => is_value(a, &slot.incoming) && is_value(b, &slot.known),
        None => false,
    }
}

/// How a sentence names an attribute.
enum Named {
    /// Any words that follow are the value: "the staging database is called".
    Stated,
    /// A value or a description follows: "the staging database is".
    Described,
}

/// Returns how the words before a value name an attribute that has one value at a time; `None` if they do not.
fn attribute(frame: &[String]) -> Option<Named> {
    /// Words at the start that refer to one of several things of a kind.
    const ONE_OF_SEVERAL: &[&str] = &["a", "an", "one", "each", "every", "some", "any", "another"];
    let words: Vec<&str> = frame.iter().map(String::as_str).collect();
    if words.first().is_none_or(|first| ONE_OF_SEVERAL.contains(first)) {
        return None;
    }
    // The verb itself may name the attribute: "lives in", "is deployed on".
    if let [.., verb, preposition] = words.as_slice() {
        let key = format!("{verb}_{preposition}");
        if canonical(&key) != key && arity(&canonical(&key)) == Arity::Single {
            return Some(Named::Described);
        }
    }
    let (name, copula) = COPULAS.iter().find_map(|copula| Some((words.strip_suffix(*copula)?, copula)))?;
    let name = name.strip_prefix(&["the"]).unwrap_or(name);
    let (last, before) = name.split_last()?;
    // A name alone may refer to anything.
    let has_one = |key: &str| arity(&canonical(key)) == Arity::Single;
    let pair = before.last().map(|first| format!("{first}_{last}"));
    let is_single = (has_one(last) && *last != "name") || pair.is_some_and(|pair| has_one(&pair));
    is_single.then_some(if copula.len() > 1 { Named::Stated } else { Named::Described })
}
