//! Claims in much the same sentence: what the few words that differ make of them.

use std::collections::BTreeSet;

use super::features::{Features, Polarity, Turn};
use super::figures::{is_measured, unit};
use super::guards::{extra, is_episode};
use super::key::{Arity, arity};
use super::pair::Pairing;
use super::slots::{Slot, each_adds, only_substitution, slots, units};
use super::text::normalise;
use super::tokens::is_stop_word;
use super::view::{RETIRE_OVERLAP, View};
use super::words::{Words, part};

/// What is known of two claims before their sentences are laid side by side.
pub(super) struct Frame {
    pub(super) same_subject: bool,
    /// Whether their words are much the same.
    pub(super) close: bool,
}

/// Content words that claims share from which two details may hang on one fact.
const CORE_WORDS: usize = 3;

/// Part of the shorter claim's words that they must share for that.
const CORE_OVERLAP: f64 = 0.33;

/// Part of the known claim's words that the incoming one must hold to say of it, without a common tag, that it is over.
const SAME_MATTER: f64 = 0.6;

/// Shared units from which one text is held to say all of the other.
const UNITS_CONTAINED: usize = 3;

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
    let placed = b.key.is_some() && a.key.is_none() && words.shared >= 1;
    if !(alike || placed) || !one_turn || is_episode(a) != is_episode(b) {
        return None;
    }
    let slots = slots(&a.features.text, &b.features.text)?;
    if frame.close && is_another_number(a, b, words, &slots, frame) {
        return Some((Pairing::Opposed, "another number in the same words"));
    }
    if (frame.close || placed) && takes_its_place(a, b, &slots) {
        return Some((Pairing::Opposed, "another value in the place of the known one"));
    }
    let keys_differ = a.key.is_some() && b.key.is_some() && !a.same_key(b);
    let has_own = words.known_only > 0 || extra(b, a).any();
    let moved_on = a.features.cue.is_some() && b.features.cue.is_none();
    if core && !keys_differ && has_own && !moved_on && !same_measure_differs(a, b) && each_adds(&slots) {
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
        let (left, right) = (&a.features, &b.features);
        let named =
            left.figures.intersection(&right.figures).count() + left.entities.intersection(&right.entities).count();
        let close = words.overlap() >= RETIRE_OVERLAP || a.same_key(b);
        close && words.shared + named >= 2 && part(words.shared, whole) >= SAME_MATTER
    };
    let brings = extra(a, b).any() || words.incoming_only > 0;
    let told = a.leaves_what_names(b) || (frame.same_subject && a.features.cue == Some(Turn::Corrected));
    matter && brings && is_episode(b) == is_episode(a) && told
}

/// Whether two sentences have the very same words in another order, and begin with different ones.
pub(super) fn is_reordered(a: &View<'_>, b: &View<'_>) -> bool {
    let sorted = |text: &str| {
        let mut units = units(text);
        units.sort_unstable();
        units
    };
    let (x, y) = (&a.features.text, &b.features.text);
    if x == y {
        return false;
    }
    let other_topic = topic(x).zip(topic(y)).is_some_and(|(p, q)| p != q && x.contains(q) && y.contains(p));
    other_topic || sorted(x) == sorted(y)
}

/// The noun before the first particle of the topic or subject, in Japanese and Korean.
fn topic(text: &str) -> Option<&str> {
    let end = text.find(['は', 'が']).or_else(|| {
        text.char_indices()
            .zip(text.chars().skip(1).chain([' ']))
            .find_map(|((at, c), next)| (at > 0 && next == ' ' && matches!(c, '은' | '는' | '이' | '가')).then_some(at))
    })?;
    text.get(..end)
}

/// Which of two claims holds all units of the other in their order: the incoming one, and the known one.
pub(super) fn containment(a: &View<'_>, b: &View<'_>) -> (bool, bool) {
    let Some(slots) = slots(&a.features.text, &b.features.text) else { return (false, false) };
    let long = |text: &str| units(text).len() >= UNITS_CONTAINED;
    let known_whole = slots.iter().all(|slot| slot.known.is_empty()) && long(&b.features.text);
    let incoming_whole = slots.iter().all(|slot| slot.incoming.is_empty()) && long(&a.features.text);
    (known_whole, incoming_whole)
}

/// Whether a word beside the value stands where the other claim has another one, or before what both begin with: the
/// attribute is then one of another thing, or of a special case.
pub(super) fn names_another_thing(a: &View<'_>, b: &View<'_>) -> bool {
    let value = |view: &View<'_>| view.claim.value.as_deref().map(Features::of).unwrap_or_default();
    let (x, y) = (value(a), value(b));
    if days(&x).is_empty() && days(&y).is_empty() && days(&a.features) != days(&b.features) {
        return true;
    }
    let values = format!("{} {}", x.text, y.text);
    // Words of change tell that it is the same thing, whichever of the two comes in.
    let told = a.features.cue.is_some() || b.features.cue.is_some();
    let (left, right) = (frame_words(a, &x), frame_words(b, &y));
    let shared = left.intersection(&right).count();
    let much_alike = shared > 0 && shared * 2 >= left.len().min(right.len()) && !told;
    slots(&a.features.text, &b.features.text).is_some_and(|slots| {
        slots.iter().any(|slot| {
            let new = names(&slot.incoming, &values, &slot.known);
            let old = names(&slot.known, &values, &slot.incoming);
            let at_start = slot.shared_before <= 1 && shared > 0;
            let narrowed = slot.is_narrowing() && (new || old) && !told;
            (new && old && (much_alike || at_start)) || (at_start && much_alike && (new || old)) || narrowed
        })
    })
}

/// Days of the week that a text names.
fn days(features: &Features) -> Vec<&str> {
    const DAYS: &[&str] = &["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
    DAYS.iter().filter(|day| features.figures.contains(**day)).copied().collect()
}

/// The content words of a claim without those of its value.
fn frame_words<'a>(view: &'a View<'_>, value: &Features) -> BTreeSet<&'a str> {
    view.features.tokens.iter().filter(|token| !value.tokens.contains(*token)).map(String::as_str).collect()
}

/// Whether two words are likely forms of one.
pub(super) fn begin_alike(x: &str, y: &str) -> bool {
    const ROOT: usize = 4;
    let letters = x.len() >= ROOT && x.bytes().all(|byte| byte.is_ascii_lowercase());
    x == y || (letters && x.bytes().take(ROOT).eq(y.bytes().take(ROOT)))
}

/// Whether some units, apart from the values, grammar and words of change, name something.
fn names(units: &[String], values: &str, others: &[String]) -> bool {
    let is_kana = |unit: &str| unit.chars().all(|c| matches!(c, '\u{3040}'..='\u{309F}'));
    let is_number =
        |unit: &str| unit.starts_with(|c: char| c.is_ascii_digit()) || !Features::of(unit).figures.is_empty();
    let is_form = |unit: &str| others.iter().any(|other| begin_alike(unit, other));
    let named = units.iter().any(|unit| {
        unit != ","
            && !is_form(unit)
            && !is_number(unit)
            && !is_kana(unit)
            && !is_stop_word(unit)
            && !values.contains(unit.as_str())
    });
    named
        && Features::of(&units.join(if units.iter().all(|unit| unit.chars().count() == 1) { "" } else { " " }))
            .cue
            .is_none()
}

/// Whether a word of both claims moved to or from the place after a word that tells a direction: `tabs to spaces`.
pub(super) fn is_turned_about(a: &View<'_>, b: &View<'_>) -> bool {
    const TOWARDS: &[&str] = &[
        "to", "from", "before", "after", "than", "over", "into", "by", "a", "antes", "después", "que", "zu", "nach",
        "von", "vor", "als", "an", "gegen",
    ];
    let Some(slots) = slots(&a.features.text, &b.features.text) else { return false };
    let own = |side: fn(&Slot) -> &Vec<String>| slots.iter().flat_map(side).cloned().collect::<BTreeSet<String>>();
    let (new, old) = (own(|slot| &slot.incoming), own(|slot| &slot.known));
    let moved: Vec<&String> =
        new.intersection(&old).filter(|unit| unit.chars().count() > 2 && !is_stop_word(unit)).collect();
    let follows = |view: &View<'_>| {
        let units = units(&view.features.text);
        units.windows(2).any(|pair| TOWARDS.contains(&pair[0].as_str()) && moved.contains(&&pair[1]))
    };
    !moved.is_empty() && (follows(a) || follows(b))
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
    let framed = slot.shared_before >= UNITS_CONTAINED;
    framed && arity(key) == Arity::Single && !stood.is_empty() && stood == value && !a.features.also
}

/// Whether each claim measures something of one kind, with another result.
fn same_measure_differs(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features.figures, &b.features.figures);
    left.difference(right).any(|x| right.difference(left).any(|y| unit(x) == unit(y)))
}
