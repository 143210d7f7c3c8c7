//! What an incoming claim is to one known claim, by its words alone.

use super::features::{Features, Polarity, Turn};
use super::frame::{Frame, begin_alike, by_frame, containment, is_reordered, is_turned_about, names_another_thing};
use super::guards::{extra, guard, is_episode};
use super::key::{Arity, Values, are_numbers, arity, compare, is_list};
use super::text::normalise;
use super::view::{About, RETIRE_OVERLAP, View};
use super::words::Words;

/// What an incoming claim is to a known one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pairing {
    /// It says nothing that is not known.
    Same,
    /// It says the same and more.
    More,
    /// Each says something that the other lacks.
    Both,
    /// Both cannot hold at the same time.
    Opposed,
    /// The words do not settle it.
    Unsure,
    /// They are about different things.
    Apart,
}

/// A pairing with the reason for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Paired {
    /// What the incoming claim is to the known one.
    pub pairing: Pairing,
    /// Why, in a few words, for people.
    pub why: &'static str,
    /// Shared content words over those of the shorter claim, 0–1.
    pub overlap: f64,
}

/// Overlap from which two claims with different words on both sides are looked at more closely.
const GREY_OVERLAP: f64 = 0.6;

/// The same, for claims of one subject.
const GREY_OVERLAP_SAME_SUBJECT: f64 = 0.5;

/// Overlap from which a claim and its negation are held to be about one thing.
const OPPOSED_OVERLAP: f64 = 0.75;
/// Most words that only one of two opposite claims has.
const OPPOSED_EXTRA_WORDS: usize = 3;

/// New content words that make a wording of an equal value worth keeping beside the known one.
const DETAIL_WORDS: usize = 4;

/// Returns what `incoming` is to `known`. `hinted` says that the extractor named `known` as what `incoming` replaces.
#[must_use]
pub fn pair(incoming: &View<'_>, known: &View<'_>, hinted: bool) -> Paired {
    let words = Words::of(incoming, known);
    let overlap = words.overlap();
    let (pairing, why) = match guard(incoming, known) {
        Some(why) => (Pairing::Apart, why),
        None if incoming.features.text == known.features.text => (Pairing::Same, "the same words"),
        None if incoming.same_key(known) => by_key(incoming, known, &words, hinted),
        None => by_words(incoming, known, &words, hinted),
    };
    Paired { pairing, why, overlap }
}

/// Compares two claims of one attribute.
fn by_key(a: &View<'_>, b: &View<'_>, words: &Words, hinted: bool) -> (Pairing, &'static str) {
    let values = compare(a.claim.value.as_deref(), b.claim.value.as_deref());
    let turned = a.features.polarity != b.features.polarity;
    if a.features.polarity == Polarity::Mixed || b.features.polarity == Polarity::Mixed {
        return match values {
            Some(Values::Equal) if !turned => detail(a, b, words),
            _ => (Pairing::Unsure, "several negations"),
        };
    }
    let arity = arity(a.key.as_deref().unwrap_or_default());
    match values {
        Some(Values::Equal | Values::More | Values::Less) if turned => turned_round(a, b, words),
        Some(Values::Equal | Values::More | Values::Less) => detail(a, b, words),
        Some(Values::Different) => another_value(a, b, arity, hinted),
        Some(Values::Unclear) => (Pairing::Unsure, "one value is part of the other"),
        None => by_words(a, b, words, hinted),
    }
}

/// A claim and its opposite, unless one is about a case that the other leaves out.
fn turned_round(a: &View<'_>, b: &View<'_>, words: &Words) -> (Pairing, &'static str) {
    if a.features.except != b.features.except || a.features.settings != b.features.settings {
        return (Pairing::Unsure, "one holds in a special case only");
    }
    // More words around a negation may deny something else: "is vegetarian" and "eats no meat since vegetarian".
    let extra_words = if a.features.polarity == Polarity::Negative { words.incoming_only } else { words.known_only };
    if extra_words <= 1 && (words.overlap() >= RETIRE_OVERLAP || words.shared == 0) {
        return (Pairing::Opposed, "says the opposite");
    }
    (Pairing::Unsure, "may say the opposite")
}

fn another_value(a: &View<'_>, b: &View<'_>, arity: Arity, hinted: bool) -> (Pairing, &'static str) {
    let says_so = a.features.cue.is_some() && names_value(a, b);
    let special = a.features.settings != b.features.settings || a.features.except != b.features.except;
    let (x, y) = (a.claim.value.as_deref().unwrap_or_default(), b.claim.value.as_deref().unwrap_or_default());
    if are_numbers(x, y) {
        return another_number(a, b, special);
    }
    if a.features.also && !says_so {
        return (Pairing::Apart, "stands beside the known value");
    }
    match arity {
        // Words of two languages do not tell whether another thing is meant.
        Arity::Single if !says_so && a.language == b.language && names_another_thing(a, b) => {
            (Pairing::Unsure, "another value, perhaps of another thing")
        }
        Arity::Single if special => (Pairing::Unsure, "another value in a special case"),
        Arity::Single => (Pairing::Opposed, "another value of one attribute"),
        Arity::Many | Arity::Open if says_so => (Pairing::Opposed, "says that it replaces the known value"),
        Arity::Open if hinted => (Pairing::Opposed, "another value, named as the one it replaces"),
        Arity::Many if hinted => (Pairing::Unsure, "named as the one it replaces"),
        Arity::Many => (Pairing::Apart, "one of several values"),
        Arity::Open => (Pairing::Unsure, "another value, which may stand beside the known one"),
    }
}

/// What is counted or measured has one number at a time, unless it is another thing that is.
fn another_number(a: &View<'_>, b: &View<'_>, special: bool) -> (Pairing, &'static str) {
    let (new, old) = (extra(a, b), extra(b, a));
    if special || names_another_thing(a, b) || numbers_aside_differ(a, b) || (new.entities && old.entities) {
        (Pairing::Unsure, "another number, perhaps of another thing")
    } else if is_episode(a) || is_episode(b) {
        (Pairing::Unsure, "another number on another occasion")
    } else {
        (Pairing::Opposed, "another number of one attribute")
    }
}

/// Whether each claim has a number, besides its value, that the other lacks: `room 2 seats 40`, `room 5 seats 90`.
fn numbers_aside_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let aside = |view: &View<'_>, other: &View<'_>| {
        let value = Features::of(view.claim.value.as_deref().unwrap_or_default());
        let digits = |figure: &str| figure.trim_end_matches(|c: char| !c.is_ascii_digit()).to_owned();
        let of_value: Vec<String> = value.figures.iter().map(|figure| digits(figure)).collect();
        let own = view.features.figures.difference(&other.features.figures);
        own.into_iter().any(|figure| !of_value.contains(&digits(figure)))
    };
    aside(a, b) && aside(b, a)
}

/// Whether `a` mentions the value that `b` holds.
fn names_value(a: &View<'_>, b: &View<'_>) -> bool {
    let value = b.claim.value.as_deref().map(normalise).unwrap_or_default();
    value.chars().count() > 1 && a.features.text.contains(&value)
}

/// Tells which of two claims of one value says more.
fn detail(a: &View<'_>, b: &View<'_>, words: &Words) -> (Pairing, &'static str) {
    let (new, old) = (extra(a, b), extra(b, a));
    if new.figures && old.figures {
        return (Pairing::Unsure, "the same value with other numbers");
    }
    if is_swapped(a, b, words) {
        return (Pairing::Unsure, "the same words in another order");
    }
    if a.features.except != b.features.except || a.features.settings != b.features.settings {
        return (Pairing::Unsure, "one holds in a special case only");
    }
    let new_detail = new.any() || words.incoming_only >= DETAIL_WORDS;
    let old_detail = old.any() || words.known_only >= DETAIL_WORDS;
    match (new_detail, old_detail) {
        (false, _) => (Pairing::Same, "the same value in other words"),
        (true, false) => (Pairing::More, "the same value in more detail"),
        (true, true) => (Pairing::Both, "the same value, each with its own detail"),
    }
}

/// Compares two claims whose attribute is not known to be the same.
fn by_words(a: &View<'_>, b: &View<'_>, words: &Words, hinted: bool) -> (Pairing, &'static str) {
    let same_subject = a.subject.is_some() && a.subject == b.subject;
    let enough = if same_subject { GREY_OVERLAP_SAME_SUBJECT } else { GREY_OVERLAP };
    let short = words.shared > 0 && words.overlap() >= 1.0 && containment(a, b) != (false, false);
    let close = words.overlap() >= enough && (words.shared >= 2 || words.is_all_shared(a) || short);
    if let Some(found) = by_frame(a, b, words, &Frame { same_subject, close }) {
        return found;
    }
    if !close {
        return if hinted {
            (Pairing::Unsure, "named as the one it replaces")
        } else {
            (Pairing::Apart, "other words")
        };
    }
    if is_swapped(a, b, words) {
        return (Pairing::Unsure, "the same words in another order");
    }
    let (new, old) = (extra(a, b), extra(b, a));
    let keys_differ = a.key.is_some() && b.key.is_some() && !a.same_key(b);
    if keys_differ && !are_one_value(a, b, words) {
        let whole = words.incoming_only == 0 && words.known_only == 0 && !(new.any() && old.any());
        return if whole || hinted {
            (Pairing::Unsure, "the same words, another attribute")
        } else {
            (Pairing::Apart, "another attribute")
        };
    }
    if a.features.polarity != b.features.polarity {
        return opposite(a, b, words);
    }
    if (new.figures && old.figures) || (new.entities && old.entities) {
        return if hinted || (same_subject && a.features.cue.is_some()) {
            (Pairing::Unsure, "other names or numbers, and words of change")
        } else {
            (Pairing::Apart, "other names or numbers")
        };
    }
    let special = a.features.except != b.features.except || a.features.settings != b.features.settings;
    let one_is_an_event = is_episode(a) != is_episode(b);
    if a.features.polarity == Polarity::Mixed || special || one_is_an_event {
        return (Pairing::Unsure, "much the same words, another turn");
    }
    let (known_whole, incoming_whole) =
        if words.incoming_only > 0 || words.known_only > 0 { containment(a, b) } else { (true, true) };
    let news = (words.incoming_only > 0 && !incoming_whole) || new.any();
    let left_out = (words.known_only > 0 && !known_whole) || old.any();
    let moved_on = a.features.cue.is_some() && b.features.cue.is_none() && new.any();
    match (news, left_out) {
        (false, _) => (Pairing::Same, "nothing that is not known"),
        (true, false) if is_turned_about(a, b) => (Pairing::Unsure, "the same words in another order"),
        (true, false) if moved_on => (Pairing::Unsure, "the known words, and others of change"),
        (true, false) => (Pairing::More, "the known words and more"),
        (true, true) => (Pairing::Unsure, "much the same words"),
    }
}

/// Whether claims of differently named attributes say one thing: the same words throughout, or one value in words that
/// the known claim has all of.
fn are_one_value(a: &View<'_>, b: &View<'_>, words: &Words) -> bool {
    let (new, old) = (extra(a, b), extra(b, a));
    let same_words = words.incoming_only == 0 && words.known_only == 0 && !new.any() && !old.any();
    let equal = compare(a.claim.value.as_deref(), b.claim.value.as_deref()) == Some(Values::Equal);
    let same_subject = a.about == b.about;
    same_subject && (same_words || (equal && words.incoming_only == 0 && !new.any()))
}

/// Whether the same names stand in another order, as in `from A to B` and `from B to A`, or another one comes first.
fn is_swapped(a: &View<'_>, b: &View<'_>, words: &Words) -> bool {
    let order = |view: &View<'_>| {
        let shared = a.features.entities.intersection(&b.features.entities);
        let mut names: Vec<(Option<usize>, &String)> =
            shared.map(|name| (view.features.text.find(name.as_str()), name)).collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name.clone()).collect::<Vec<_>>()
    };
    let whole = words.incoming_only == 0 && words.known_only == 0;
    let other_first = matches!((&a.about, &b.about), (About::Other(x), About::Other(y)) if x.is_ascii() && y.is_ascii() && !begin_alike(x, y));
    let both_other = matches!((&a.about, &b.about), (About::Other(_), About::Other(_)));
    (whole && other_first) || (both_other && is_reordered(a, b)) || order(a) != order(b)
}

fn opposite(a: &View<'_>, b: &View<'_>, words: &Words) -> (Pairing, &'static str) {
    let (new, old) = (extra(a, b), extra(b, a));
    let mixed = a.features.polarity == Polarity::Mixed || b.features.polarity == Polarity::Mixed;
    let one_matter = a.subject == b.subject || a.subject.is_none() || b.subject.is_none();
    let one_of_several = [a, b].iter().any(|view| view.claim.value.as_deref().is_some_and(is_list));
    if (new.any() && old.any())
        || one_of_several
        || a.features.except != b.features.except
        || a.features.settings != b.features.settings
        || mixed
    {
        return (Pairing::Unsure, "may say the opposite");
    }
    let denies = a.features.polarity == Polarity::Negative;
    // `no longer` with all that was known is the end of it, whatever is told besides.
    let all_known = words.known_only == 0 || containment(a, b).0;
    if denies && one_matter && a.features.cue == Some(Turn::Changed) && all_known && !old.any() {
        return (Pairing::Opposed, "says that it is over");
    }
    // `does not smoke in the car` leaves all other places open, and `guide dogs are allowed` all other dogs out.
    let narrower = words.incoming_only > 0 || new.any() || (!denies && (words.known_only > 0 || old.any()));
    if narrower && a.features.cue.is_none() {
        return (Pairing::Unsure, "may be denied in a special case only");
    }
    let whole = words.incoming_only == 0 || words.known_only == 0;
    // A negation among many more words, or in an instruction beside a fact, may be about something else.
    let alike =
        words.incoming_only + words.known_only <= OPPOSED_EXTRA_WORDS && a.claim.memory_type == b.claim.memory_type;
    if one_matter && whole && alike && words.overlap() >= OPPOSED_OVERLAP {
        (Pairing::Opposed, "says the opposite")
    } else {
        (Pairing::Unsure, "may say the opposite")
    }
}
