//! Claims in much the same sentence: what the few words that differ make of them.

use super::features::{Polarity, Turn};
use super::figures::{is_measured, unit};
use super::guards::{extra, is_episode};
use super::key::{Arity, arity};
use super::pair::Pairing;
use super::slots::{Slot, each_adds, only_substitution, slots};
use super::text::normalise;
use super::tokens::is_stop_word;
use super::view::{RETIRE_OVERLAP, View};
use super::words::Words;

/// What is known of two claims before their sentences are laid side by side.
pub(super) struct Frame {
    pub(super) same_subject: bool,
    /// Whether their words are much the same.
    pub(super) close: bool,
}

/// Content words that claims share from which two details may hang on one fact.
const CORE_WORDS: usize = 3;

/// Part of the shorter claim's words that they must share for that.
const CORE_OVERLAP: f64 = 0.4;

/// Part of the known claim's words that the incoming one must hold to say of it, without a common tag, that it is over.
const SAME_MATTER: f64 = 0.6;

/// Shared units before a number from which it tells how much, and not which one.
const UNITS_BEFORE: usize = 3;

/// Returns what two claims are to each other by the places where their sentences differ, if that tells.
pub(super) fn by_frame(a: &View<'_>, b: &View<'_>, words: &Words, frame: &Frame) -> Option<(Pairing, &'static str)> {
    if leaves(a, b, words, frame) {
        return Some((Pairing::Opposed, "says that it moved on from there"));
    }
    let dated = words.shared + 1 >= CORE_WORDS && !a.features.figures.is_disjoint(&b.features.figures);
    let core = words.shared >= CORE_WORDS || dated;
    let alike = frame.close || (core && words.overlap() >= CORE_OVERLAP);
    let one_turn = a.features.polarity == b.features.polarity
        && a.features.polarity != Polarity::Mixed
        && a.features.except == b.features.except
        && a.features.settings == b.features.settings;
    if !alike || !one_turn || is_episode(a) != is_episode(b) {
        return None;
    }
    let slots = slots(&a.features.text, &b.features.text)?;
    if frame.close && is_another_number(a, b, words, &slots, frame) {
        return Some((Pairing::Opposed, "another number in the same words"));
    }
    if frame.close && takes_its_place(a, b, &slots) {
        return Some((Pairing::Opposed, "another value in the place of the known one"));
    }
    let keys_differ = a.key.is_some() && b.key.is_some() && !a.same_key(b);
    let has_own = words.known_only > 0 || extra(b, a).any();
    if core && !keys_differ && has_own && !same_measure_differs(a, b) && each_adds(&slots) {
        return Some((Pairing::Both, "the same fact, each with its own detail"));
    }
    None
}

/// Whether the incoming claim says that what the known one tells is over, and what holds instead.
fn leaves(a: &View<'_>, b: &View<'_>, words: &Words, frame: &Frame) -> bool {
    let whole = words.shared + words.known_only;
    let matter = if frame.same_subject {
        words.overlap() >= RETIRE_OVERLAP
    } else {
        words.shared >= 2 && words.part(words.shared, whole) >= SAME_MATTER
    };
    let brings = extra(a, b).any() || words.incoming_only > 0;
    let told = a.leaves_what_names(b) || (frame.same_subject && a.features.cue == Some(Turn::Corrected));
    matter && brings && is_episode(b) == is_episode(a) && told
}

/// Whether a word that is no number stands where the other claim has another one.
pub(super) fn names_another_thing(a: &View<'_>, b: &View<'_>) -> bool {
    let names = |units: &[String], view: &View<'_>| {
        let value = view.claim.value.as_deref().map(normalise).unwrap_or_default();
        let is_kana = |unit: &str| unit.chars().all(|c| matches!(c, '\u{3040}'..='\u{309F}'));
        let is_number = |unit: &str| unit.starts_with(|c: char| c.is_ascii_digit());
        units
            .iter()
            .any(|unit| !is_number(unit) && !is_kana(unit) && !is_stop_word(unit) && !value.contains(unit.as_str()))
    };
    slots(&a.features.text, &b.features.text)
        .is_some_and(|slots| slots.iter().any(|slot| names(&slot.incoming, a) && names(&slot.known, b)))
}

/// Whether one number stands in the place of another of its kind, and the claims are of one thing.
fn is_another_number(a: &View<'_>, b: &View<'_>, words: &Words, slots: &[Slot], frame: &Frame) -> bool {
    let (left, right) = (&a.features, &b.features);
    let new: Vec<&String> = left.figures.difference(&right.figures).collect();
    let old: Vec<&String> = right.figures.difference(&left.figures).collect();
    let ([.., x], [y]) = (new.as_slice(), old.as_slice()) else { return false };
    let names = extra(a, b).entities || extra(b, a).entities;
    if names || words.known_only > 0 || is_episode(a) || a.features.also || new.len() > 4 {
        return false;
    }
    let x = new.iter().find(|figure| unit(figure) == unit(y)).unwrap_or(x);
    let one_kind = unit(x) == unit(y);
    let begun = a.claim.valid_from.is_some() && b.claim.valid_from.is_none();
    let says_so = left.cue.is_some() || begun;
    let told_apart =
        slots.iter().find(|slot| !slot.known.is_empty()).is_some_and(|slot| slot.shared_before >= UNITS_BEFORE);
    let one_talk = !a.places.is_disjoint(&b.places) && !a.speakers.is_empty() && a.speakers != b.speakers;
    let exact = words.incoming_only == 0 && new.len() == 1 && is_measured(x);
    let grown = left.cue == Some(Turn::Changed) && is_measured(x) && a.about == b.about;
    one_kind && told_apart && ((frame.same_subject && (says_so || exact)) || (one_talk && exact) || grown)
}

/// Whether another word stands where the value of the known claim's attribute stood, which has one value at a time.
fn takes_its_place(a: &View<'_>, b: &View<'_>, slots: &[Slot]) -> bool {
    let (Some(key), Some(value), None) = (&b.key, &b.claim.value, &a.key) else { return false };
    let Some(slot) = only_substitution(slots) else { return false };
    let stood = normalise(&slot.known.concat());
    let value: String = normalise(value).split_whitespace().collect();
    arity(key) == Arity::Single && !stood.is_empty() && stood == value && !a.features.also
}

/// Whether each claim measures something of one kind, with another result.
fn same_measure_differs(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features.figures, &b.features.figures);
    left.difference(right).any(|x| right.difference(left).any(|y| unit(x) == unit(y)))
}
