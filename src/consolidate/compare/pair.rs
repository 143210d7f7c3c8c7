//! Compares an incoming claim with one known claim, by their words only.

use std::collections::BTreeSet;

use super::another::is_about_another_thing;
use super::attribute::give_other_values;
use super::caution::{is_supposed, may_be_left_elsewhere};
use super::certainty::Certainty;
use super::ended::{ends, ends_something_else, has_other_subject, shares_only_speaker};
use super::features::{Features, Polarity, Turn, WEEKDAYS, differ_in_kind, is_measured, unit};
use super::key::{Arity, Values, are_numbers, arity, compare, is_list};
use super::order::{ExchangeFinding, exchange};
use super::slots::{Slot, each_adds, only_substitution, slots, units};
use super::tokens::is_stop_word;
use super::view::{About, RETIRE_OVERLAP, View, Words, extra, guard, is_episode, is_order, part};
use crate::text::change::turns_to_another;
use crate::text::normalise::comparable;
use crate::text::script::is_hiragana;

/// The relation of an incoming claim to a known claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClaimRelation {
    /// The incoming claim says nothing new.
    Same,
    /// The incoming claim says the same and more.
    More,
    /// Each claim says something that the other lacks.
    Both,
    /// The claims cannot both be true at the same time.
    Opposed,
    /// One claim probably ends the other, which only a person can confirm.
    Contested,
    /// The words are not sufficient to decide.
    Unsure,
    /// The claims are about different things.
    Apart,
}

/// A relation and the reason for it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct PairFinding {
    /// The relation of the incoming claim to the known claim.
    pub pairing: ClaimRelation,
    /// A short reason for people to read. The classifier of changes has learned from it, so its weights must be trained
    /// again after a change.
    pub why: &'static str,
    /// Ratio of the shared content words to the content words of the shorter claim, from 0 to 1.
    pub overlap: f64,
}

impl PairFinding {
    /// Returns the finding if only a person can confirm it.
    pub(in crate::consolidate) fn in_doubt(self) -> Self {
        Self { pairing: ClaimRelation::Contested, ..self }
    }
}

/// Minimum overlap for a closer examination of two claims each of which has words that the other lacks.
const GREY_OVERLAP: f64 = 0.6;

/// Minimum overlap for a closer examination of two claims with a common subject.
const GREY_OVERLAP_SAME_SUBJECT: f64 = 0.5;

/// Minimum overlap at which a claim and a negated claim are considered to be about the same thing.
const OPPOSED_OVERLAP: f64 = 0.75;
/// Maximum number of words that only one of two opposite claims contains.
const OPPOSED_EXTRA_WORDS: usize = 3;

/// Minimum number of new content words for which a different wording of the same value is kept in addition to the known
/// wording.
const DETAIL_WORDS: usize = 4;

/// Returns how `incoming` relates to `known`. `hinted` is true if the extractor named `known` as the memory that
/// `incoming` replaces.
#[must_use]
pub(crate) fn pair(incoming: &View<'_>, known: &View<'_>, hinted: bool) -> PairFinding {
    let words = Words::of(incoming, known);
    let (pairing, why) = by_statement(incoming, known, &words, hinted);
    // A claim that explicitly ends another claim needs no words in common with it except the name.
    let (pairing, why) = match (pairing, ends(incoming, known)) {
        (ClaimRelation::Same, _) | (_, None) => (pairing, why),
        (_, Some((Certainty::Certain, why))) => (ClaimRelation::Opposed, why),
        (ClaimRelation::Apart | ClaimRelation::Unsure | ClaimRelation::Contested, Some((Certainty::Likely, why))) => {
            (ClaimRelation::Contested, why)
        }
        (ClaimRelation::More | ClaimRelation::Both | ClaimRelation::Opposed, Some((Certainty::Likely, _))) => {
            (pairing, why)
        }
    };
    PairFinding { pairing, why, overlap: words.overlap() }
}

/// Returns the relation that [`pair`] finds, if it is [`ClaimRelation::Same`] or [`ClaimRelation::More`].
// Phrases of changes, whose patterns take long to compile, cannot turn any other relation into one of these.
pub(crate) fn repeated(incoming: &View<'_>, known: &View<'_>) -> Option<ClaimRelation> {
    let (pairing, _) = by_statement(incoming, known, &Words::of(incoming, known), false);
    let is_ended = || matches!(ends(incoming, known), Some((Certainty::Certain, _)));
    let is_it = pairing == ClaimRelation::Same || pairing == ClaimRelation::More && !is_ended();
    is_it.then_some(pairing)
}

/// Returns the relation of two claims, apart from phrases which say that something has ended, and the reason.
fn by_statement(incoming: &View<'_>, known: &View<'_>, words: &Words, hinted: bool) -> (ClaimRelation, &'static str) {
    let (pairing, why) = match guard(incoming, known) {
        Some(why) => (ClaimRelation::Apart, why),
        None if shares_only_speaker(incoming, known) => (ClaimRelation::Apart, "only the speaker is the same"),
        // This comes after the guard, because the same words from two speakers are two facts.
        None if incoming.features.text == known.features.text => (ClaimRelation::Same, "the same words"),
        None => match exchange(incoming, known) {
            Some(ExchangeFinding::Preference) => (ClaimRelation::Opposed, "prefers the reverse"),
            Some(ExchangeFinding::Roles) => (ClaimRelation::Unsure, "the same words in a different order"),
            None if incoming.same_key(known) => by_key(incoming, known, words, hinted),
            None => match by_words(incoming, known, words, hinted) {
                (ClaimRelation::Opposed, _) if has_other_subject(incoming, known) => {
                    (ClaimRelation::Contested, "it may be about something else")
                }
                found => found,
            },
        },
    };
    match pairing {
        ClaimRelation::Opposed | ClaimRelation::Contested | ClaimRelation::Unsure
            if ends_something_else(incoming, known) =>
        {
            (ClaimRelation::Apart, "something else has ended")
        }
        pairing => (pairing, why),
    }
}

/// Compares two claims about one attribute.
fn by_key(a: &View<'_>, b: &View<'_>, words: &Words, hinted: bool) -> (ClaimRelation, &'static str) {
    let values = compare(a.claim.value.as_deref(), b.claim.value.as_deref());
    let turned = a.features.polarity != b.features.polarity;
    if a.features.polarity == Polarity::Mixed || b.features.polarity == Polarity::Mixed {
        return match values {
            Some(Values::Equal) if !turned => detail(a, b, words),
            _ => (ClaimRelation::Unsure, "several negations"),
        };
    }
    let arity = arity(a.key.as_deref().unwrap_or_default());
    match values {
        Some(Values::Equal | Values::More | Values::Less) if turned => turned_round(a, b, words),
        Some(Values::Equal | Values::More | Values::Less) => detail(a, b, words),
        Some(Values::Different) => another_value(a, b, arity, hinted),
        // `React` in `React Native` means something else, which the words alone do not show.
        Some(Values::Unclear) => (ClaimRelation::Unsure, "one value is part of the other"),
        None => by_words(a, b, words, hinted),
    }
}

/// Compares a claim and its negation. The claims are opposed unless one is about a case that the other does not
/// mention.
fn turned_round(a: &View<'_>, b: &View<'_>, words: &Words) -> (ClaimRelation, &'static str) {
    if a.features.except != b.features.except || a.features.settings != b.features.settings {
        return (ClaimRelation::Unsure, "one is true only in a special case");
    }
    // More words around a negation may negate something else: "is vegetarian" and "eats no meat since vegetarian".
    let extra_words = if a.features.polarity == Polarity::Negative { words.incoming_only } else { words.known_only };
    if extra_words <= 1 && (words.overlap() >= RETIRE_OVERLAP || words.shared == 0) {
        return (ClaimRelation::Opposed, "says the opposite");
    }
    (ClaimRelation::Unsure, "may say the opposite")
}

fn another_value(a: &View<'_>, b: &View<'_>, arity: Arity, hinted: bool) -> (ClaimRelation, &'static str) {
    // A decision about one attribute that names the value of an earlier decision takes its place.
    let are_decisions = [a, b].iter().all(|view| view.claim.category == "decision");
    let says_so = (a.features.cue.is_some() || are_decisions) && names_value(a, b);
    let special = a.features.settings != b.features.settings || a.features.except != b.features.except;
    let (x, y) = (a.claim.value.as_deref().unwrap_or_default(), b.claim.value.as_deref().unwrap_or_default());
    // Numbers come first: a quantity has one value at a time even if the attribute may have several.
    if are_numbers(x, y) {
        return another_number(a, b, special);
    }
    if a.features.also && !says_so {
        return (ClaimRelation::Apart, "a different value alongside the known one");
    }
    match arity {
        // Words in two languages do not show whether they mean different things.
        Arity::Single if !says_so && a.language == b.language && names_another_thing(a, b) => {
            (ClaimRelation::Unsure, "a different value, but perhaps about something else")
        }
        Arity::Single if special => (ClaimRelation::Unsure, "a different value in a special case"),
        Arity::Single => (ClaimRelation::Opposed, "a different value of the same attribute"),
        // A value of a list is replaced as well if the text says that the new value replaces it.
        Arity::Many | Arity::Open if says_so => {
            (ClaimRelation::Opposed, "the new text says that it replaces the known value")
        }
        // "Switched to" says that the earlier value no longer applies, even for an attribute that may have several
        // values.
        Arity::Open if a.features.cue == Some(Turn::Changed) && turns_to_another(&a.claim.content) => {
            (ClaimRelation::Opposed, "the new text says that the value has changed")
        }
        Arity::Open if is_only_one(a) && is_only_one(b) => {
            (ClaimRelation::Opposed, "a different value of the same attribute")
        }
        Arity::Open if hinted => (ClaimRelation::Opposed, "a different value, marked as replacing the known one"),
        // A hint is not enough here: another value usually exists alongside the known one.
        Arity::Many if hinted => (ClaimRelation::Unsure, "marked as replacing the known memory"),
        Arity::Many => (ClaimRelation::Apart, "one of several values"),
        Arity::Open => (ClaimRelation::Unsure, "a different value, which may exist alongside the known one"),
    }
}

/// Whether the words refer to the only thing of its kind, as in "my preferred framework is React".
fn is_only_one(view: &View<'_>) -> bool {
    const ONLY: &str = "preferred |favourite |favorite |default |primary |bevorzugte|lieblings|preferido |preferida |favorito |\
        favorita |préféré|首选|最喜欢的|默认";
    let words = view.features.text.as_str();
    ONLY.split('|').any(|one| words.contains(one))
}

/// Something that is counted or measured has one number at a time, unless the claims are about different things.
fn another_number(a: &View<'_>, b: &View<'_>, special: bool) -> (ClaimRelation, &'static str) {
    let (new, old) = (extra(a, b), extra(b, a));
    if special || names_another_thing(a, b) || numbers_aside_differ(a, b) || (new.entities && old.entities) {
        (ClaimRelation::Unsure, "a different number, but perhaps about something else")
    } else if is_episode(a) || is_episode(b) {
        (ClaimRelation::Unsure, "a different number on a different occasion")
    } else {
        (ClaimRelation::Opposed, "a different number for the same attribute")
    }
}

/// Whether each claim has, apart from its value, a number that the other lacks, as in `room 2 seats 40` and `room 5
/// seats 90`.
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

/// Whether `a` mentions the value of `b`.
fn names_value(a: &View<'_>, b: &View<'_>) -> bool {
    let value = b.claim.value.as_deref().map(comparable).unwrap_or_default();
    value.chars().count() > 1 && a.features.text.contains(&value)
}

/// Compares the details of two claims with the same value.
fn detail(a: &View<'_>, b: &View<'_>, words: &Words) -> (ClaimRelation, &'static str) {
    let (new, old) = (extra(a, b), extra(b, a));
    if new.figures && old.figures {
        return (ClaimRelation::Unsure, "the same value with different numbers");
    }
    if is_swapped(a, b, words) {
        return (ClaimRelation::Unsure, "the same words in a different order");
    }
    if a.features.except != b.features.except || a.features.settings != b.features.settings {
        return (ClaimRelation::Unsure, "one is true only in a special case");
    }
    let new_detail = new.any() || words.incoming_only >= DETAIL_WORDS;
    let old_detail = old.any() || words.known_only >= DETAIL_WORDS;
    match (new_detail, old_detail) {
        (false, _) => (ClaimRelation::Same, "the same value in other words"),
        (true, false) => (ClaimRelation::More, "the same value in more detail"),
        (true, true) => (ClaimRelation::Both, "the same value, but with different details"),
    }
}

/// Compares two claims that are not known to have the same attribute.
fn by_words(a: &View<'_>, b: &View<'_>, words: &Words, hinted: bool) -> (ClaimRelation, &'static str) {
    let same_subject = a.subject.is_some() && a.subject == b.subject;
    let enough = if same_subject { GREY_OVERLAP_SAME_SUBJECT } else { GREY_OVERLAP };
    let short = words.shared > 0 && words.overlap() >= 1.0 && containment(a, b) != (false, false);
    let close = words.overlap() >= enough && (words.shared >= 2 || words.is_all_shared(a) || short);
    if is_now_another(a, b, words) {
        return (ClaimRelation::Opposed, "the new text says that something else has taken its place");
    }
    if give_other_values(a, b, words) {
        return (ClaimRelation::Opposed, "a different value of the same attribute");
    }
    if let Some(found) = by_frame(a, b, words, &Frame { same_subject, close }) {
        return found;
    }
    if !close {
        return if hinted {
            (ClaimRelation::Unsure, "marked as replacing the known memory")
        } else {
            (ClaimRelation::Apart, "other words")
        };
    }
    if is_swapped(a, b, words) {
        return (ClaimRelation::Unsure, "the same words in a different order");
    }
    let (new, old) = (extra(a, b), extra(b, a));
    let keys_differ = a.key.is_some() && b.key.is_some() && !a.same_key(b);
    if keys_differ && !are_one_value(a, b, words) {
        let whole = words.incoming_only == 0 && words.known_only == 0 && !(new.any() && old.any());
        return if whole || hinted {
            (ClaimRelation::Unsure, "the same words, but a different attribute")
        } else {
            (ClaimRelation::Apart, "another attribute")
        };
    }
    if a.features.polarity != b.features.polarity {
        return opposite(a, b, words);
    }
    if (new.figures && old.figures) || (new.entities && old.entities) {
        return if hinted || (same_subject && a.features.cue.is_some()) {
            (ClaimRelation::Unsure, "different names or numbers, and words that indicate a change")
        } else {
            (ClaimRelation::Apart, "other names or numbers")
        };
    }
    let special = a.features.except != b.features.except || a.features.settings != b.features.settings;
    // An event and a habit can have exactly the same words, but neither replaces the other.
    let one_is_an_event = is_episode(a) != is_episode(b);
    if a.features.polarity == Polarity::Mixed || special || one_is_an_event {
        return (ClaimRelation::Unsure, "nearly the same words, used differently");
    }
    let (known_whole, incoming_whole) =
        if words.incoming_only > 0 || words.known_only > 0 { containment(a, b) } else { (true, true) };
    let news = (words.incoming_only > 0 && !incoming_whole) || new.any();
    let left_out = (words.known_only > 0 && !known_whole) || old.any();
    let moved_on = a.features.cue.is_some() && b.features.cue.is_none() && new.any();
    match (news, left_out) {
        (false, _) => (ClaimRelation::Same, "nothing new"),
        (true, false) if is_turned_about(a, b) => (ClaimRelation::Unsure, "the same words in a different order"),
        (true, false) if moved_on => (ClaimRelation::Unsure, "the known words, and words that indicate a change"),
        (true, false) => (ClaimRelation::More, "the known words and more"),
        (true, true) => (ClaimRelation::Unsure, "nearly the same words"),
    }
}

/// Whether claims with differently named attributes state the same thing. Such claims have exactly the same words, or
/// the same value and only words that also appear in the known claim.
fn are_one_value(a: &View<'_>, b: &View<'_>, words: &Words) -> bool {
    let (new, old) = (extra(a, b), extra(b, a));
    let same_words = words.incoming_only == 0 && words.known_only == 0 && !new.any() && !old.any();
    let equal = compare(a.claim.value.as_deref(), b.claim.value.as_deref()) == Some(Values::Equal);
    let same_subject = a.about == b.about;
    same_subject && (same_words || (equal && words.incoming_only == 0 && !new.any()))
}

/// Whether the same names appear in a different order, as in `from A to B` and `from B to A`, or the claims begin with
/// different names.
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

fn opposite(a: &View<'_>, b: &View<'_>, words: &Words) -> (ClaimRelation, &'static str) {
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
        return (ClaimRelation::Unsure, "may say the opposite");
    }
    let denies = a.features.polarity == Polarity::Negative;
    // `no longer` together with all words of the known claim ends it, even if other words follow.
    let all_known = words.known_only == 0 || containment(a, b).0;
    if denies && one_matter && a.features.cue == Some(Turn::Changed) && all_known && !old.any() && !is_supposed(a) {
        return (ClaimRelation::Opposed, "the new text says that the known state has ended");
    }
    // `does not smoke in the car` does not apply to other places, and `guide dogs are allowed` does not apply to other
    // dogs.
    let narrower = words.incoming_only > 0 || new.any() || (!denies && (words.known_only > 0 || old.any()));
    if narrower && a.features.cue.is_none() {
        return (ClaimRelation::Unsure, "it may be negated only in a special case");
    }
    let whole = words.incoming_only == 0 || words.known_only == 0;
    // A negation with many more words, or in an instruction compared with a fact, may be about something else.
    let alike =
        words.incoming_only + words.known_only <= OPPOSED_EXTRA_WORDS && a.claim.memory_type == b.claim.memory_type;
    if one_matter && whole && alike && words.overlap() >= OPPOSED_OVERLAP {
        (ClaimRelation::Opposed, "says the opposite")
    } else {
        (ClaimRelation::Unsure, "may say the opposite")
    }
}

/// Findings about two claims that are made before the sentences of the claims are aligned.
struct Frame {
    same_subject: bool,
    /// Whether the words of both claims are nearly the same.
    close: bool,
}

/// Minimum number of shared content words at which two details may belong to the same fact.
const CORE_WORDS: usize = 3;

/// Share of the shorter claim's words that both claims must also have in common in that case.
const CORE_OVERLAP: f64 = 0.33;

/// Share of the known claim's words that an incoming claim without a common subject must contain in order to end it.
const SAME_MATTER: f64 = 0.6;

/// Minimum number of shared units for one text to count as containing all of the other.
const UNITS_CONTAINED: usize = 3;

/// Minimum number of shared units before a number for it to be a quantity rather than a label.
const UNITS_BEFORE: usize = 3;

/// Compares two claims by the positions where their sentences differ; `None` if these positions are not sufficient to
/// decide.
fn by_frame(a: &View<'_>, b: &View<'_>, words: &Words, frame: &Frame) -> Option<(ClaimRelation, &'static str)> {
    if leaves(a, b, words, frame) && !is_supposed(a) {
        let is_sure = a.same_key(b) || !may_be_left_elsewhere(a, b);
        let pairing = if is_sure { ClaimRelation::Opposed } else { ClaimRelation::Contested };
        return Some((pairing, "the new text says that the known value no longer applies"));
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
    if frame.close && is_another_number(a, b, words, &slots, frame) && !is_about_another_thing(a, b) {
        return Some((ClaimRelation::Opposed, "a different number in the same words"));
    }
    if (frame.close || placed) && takes_its_place(a, b, &slots) {
        return Some((ClaimRelation::Opposed, "a different value in place of the known one"));
    }
    let keys_differ = a.key.is_some() && b.key.is_some() && !a.same_key(b);
    let has_own = words.known_only > 0 || extra(b, a).any();
    let moved_on = a.features.cue.is_some() && b.features.cue.is_none();
    // Two orders that have words in common are still two orders.
    let are_orders = is_order(a) && is_order(b);
    if core && !keys_differ && !are_orders && has_own && !moved_on && !same_measure_differs(a, b) && each_adds(&slots) {
        return Some((ClaimRelation::Both, "the same fact, but each with a different detail"));
    }
    None
}

/// Whether the incoming claim ends what the known claim states, and names the replacement.
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
    let announced = a.leaves_what_names(b) || (frame.same_subject && a.features.cue == Some(Turn::Corrected));
    matter && brings && is_episode(b) == is_episode(a) && announced
}

/// Whether two sentences have exactly the same words in a different order, and begin with different words.
fn is_reordered(a: &View<'_>, b: &View<'_>) -> bool {
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

/// Returns the noun before the first topic or subject particle in Japanese and Korean.
fn topic(text: &str) -> Option<&str> {
    let end = text.find(['は', 'が']).or_else(|| {
        text.char_indices()
            .zip(text.chars().skip(1).chain([' ']))
            .find_map(|((at, c), next)| (at > 0 && next == ' ' && matches!(c, '은' | '는' | '이' | '가')).then_some(at))
    })?;
    text.get(..end)
}

/// Returns whether the incoming claim contains all units of the known claim in order, and whether the reverse is true.
fn containment(a: &View<'_>, b: &View<'_>) -> (bool, bool) {
    let Some(slots) = slots(&a.features.text, &b.features.text) else { return (false, false) };
    let long = |text: &str| units(text).len() >= UNITS_CONTAINED;
    let known_whole = slots.iter().all(|slot| slot.known.is_empty()) && long(&b.features.text);
    let incoming_whole = slots.iter().all(|slot| slot.incoming.is_empty()) && long(&a.features.text);
    (known_whole, incoming_whole)
}

/// Whether a word other than the value differs between the claims or precedes their common beginning. In that case, the
/// attribute belongs to a different thing or to a special case.
fn names_another_thing(a: &View<'_>, b: &View<'_>) -> bool {
    let value = |view: &View<'_>| view.claim.value.as_deref().map(Features::of).unwrap_or_default();
    let (x, y) = (value(a), value(b));
    if days(&x).is_empty() && days(&y).is_empty() && days(&a.features) != days(&b.features) {
        return true;
    }
    let values = format!("{} {}", x.text, y.text);
    // Words that express a change show that both claims are about the same thing, regardless of which one is the
    // incoming claim.
    let has_cue = a.features.cue.is_some() || b.features.cue.is_some();
    let (left, right) = (frame_words(a, &x), frame_words(b, &y));
    let shared = left.intersection(&right).count();
    let much_alike = shared > 0 && shared * 2 >= left.len().min(right.len()) && !has_cue;
    slots(&a.features.text, &b.features.text).is_some_and(|slots| {
        slots.iter().any(|slot| {
            let new = names(&slot.incoming, &values, &slot.known);
            let old = names(&slot.known, &values, &slot.incoming);
            let at_start = slot.shared_before <= 1 && shared > 0;
            let narrowed = slot.is_narrowing() && (new || old) && !has_cue;
            (new && old && (much_alike || at_start)) || (at_start && much_alike && (new || old)) || narrowed
        })
    })
}

/// Returns the days of the week mentioned in a text.
fn days(features: &Features) -> Vec<&str> {
    WEEKDAYS.iter().filter(|day| features.figures.contains(**day)).copied().collect()
}

/// Returns the content words of a claim without those of its value.
fn frame_words<'a>(view: &'a View<'_>, value: &Features) -> BTreeSet<&'a str> {
    view.features.tokens.iter().filter(|token| !value.tokens.contains(*token)).map(String::as_str).collect()
}

/// Whether two words are probably forms of the same word.
fn begin_alike(x: &str, y: &str) -> bool {
    const ROOT: usize = 4;
    let letters = x.len() >= ROOT && x.bytes().all(|byte| byte.is_ascii_lowercase());
    x == y || (letters && x.bytes().take(ROOT).eq(y.bytes().take(ROOT)))
}

/// Whether any of the units names something, apart from the values, function words and words that express a change.
fn names(units: &[String], values: &str, others: &[String]) -> bool {
    let is_kana = |unit: &str| unit.chars().all(is_hiragana);
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

/// Whether a word that both claims contain has moved to or from the position after a word that expresses a direction,
/// as in `tabs to spaces`.
fn is_turned_about(a: &View<'_>, b: &View<'_>) -> bool {
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

/// Whether one number replaces another number of the same kind, and the claims are about the same thing.
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
    // If only the new claim has a starting time, this indicates a change, even without any word for it.
    let begun = a.claim.valid_from.is_some() && b.claim.valid_from.is_none();
    let says_so = left.cue.is_some() || begun;
    let distinguished =
        slots.iter().find(|slot| !slot.known.is_empty()).is_some_and(|slot| slot.shared_before >= UNITS_BEFORE);
    let one_talk = !a.places.is_disjoint(&b.places) && !a.speakers.is_empty() && a.speakers != b.speakers;
    let exact = words.incoming_only == 0 && new.len() == 1 && is_measured(x);
    let grown = left.cue == Some(Turn::Changed) && is_measured(x) && a.about == b.about;
    one_kind && distinguished && ((frame.same_subject && (says_so || exact)) || (one_talk && exact) || grown)
}

/// Whether a different word replaces the value of the known claim's attribute, which has one value at a time.
fn takes_its_place(a: &View<'_>, b: &View<'_>, slots: &[Slot]) -> bool {
    // This needs an incoming claim without a key, since an extracted attribute is more reliable than a position.
    let (Some(key), Some(value), None) = (&b.key, &b.claim.value, &a.key) else { return false };
    let Some(slot) = only_substitution(slots) else { return false };
    let stood = comparable(&slot.known.concat());
    let value: String = comparable(value).split_whitespace().collect();
    let framed = slot.shared_before >= UNITS_CONTAINED;
    framed && arity(key) == Arity::Single && !stood.is_empty() && stood == value && !a.features.also
}

/// Whether the incoming claim says, with a word such as "now", that another name replaces the one in the known claim:
/// "the API is now deployed on Fly.io" after "the API is deployed on Heroku".
fn is_now_another(a: &View<'_>, b: &View<'_>, words: &Words) -> bool {
    /// Words before the name that show that a thing has one such name or place at a time.
    const PLACES: &[&str] = &[
        "is", "are", "on", "in", "at", "by", "ist", "sind", "auf", "bei", "von", "es", "está", "son", "en", "por",
        "est", "sont", "sur",
    ];
    let (left, right) = (&a.features, &b.features);
    let is_said = left.cue == Some(Turn::Changed) && right.cue.is_none() && !left.also && !left.planned;
    let is_one_kind = left.polarity == Polarity::Positive
        && right.polarity == Polarity::Positive
        && left.except == right.except
        && left.settings == right.settings
        && !is_episode(a)
        && !is_episode(b);
    if !is_said || !is_one_kind || words.shared == 0 || words.incoming_only > 1 || words.known_only > 1 {
        return false;
    }
    let Some(slots) = slots(&left.text, &right.text) else { return false };
    let is_cue = |unit: &String| Features::of(unit).cue == Some(Turn::Changed);
    let [slot] = slots.iter().filter(|slot| !slot.incoming.iter().all(is_cue)).collect::<Vec<_>>()[..] else {
        return false;
    };
    let new: Vec<&String> = slot.incoming.iter().filter(|unit| !is_cue(unit)).collect();
    let stands_at_place = units(&right.text)
        .windows(2)
        .any(|pair| slot.known.first() == Some(&pair[1]) && PLACES.contains(&pair[0].as_str()));
    slots.iter().all(|slot| slot.known.is_empty() || slot.is_substitution())
        && !new.is_empty()
        && new.iter().all(|unit| left.entities.contains(*unit))
        && !slot.known.is_empty()
        && slot.known.iter().all(|unit| right.entities.contains(unit))
        && stands_at_place
}

/// Whether both claims measure something of the same kind, with different results.
fn same_measure_differs(a: &View<'_>, b: &View<'_>) -> bool {
    differ_in_kind(&a.features.figures, &b.features.figures, unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{Claim, MemoryType, Procedure, Structured};

    #[test]
    fn a_claim_repeats_another_if_the_comparison_of_all_words_finds_so() {
        let texts = [
            "The mailer uses Postbox.",
            "The mailer uses Postbox for receipts in production.",
            "We moved the mailer off Postbox.",
            "We no longer use Postbox for receipts.",
            "Use tabs instead of spaces.",
            "Use tabs.",
            "The user drinks tea.",
            "The user does not drink tea.",
            "The user drinks tea every morning at seven.",
        ];
        let claim = |text: &str| Claim::new(MemoryType::Semantic, "fact", text, text);
        let claims = texts.map(claim);
        let mut found = Vec::new();
        for (a, b) in claims.iter().flat_map(|a| claims.iter().map(move |b| (a, b))) {
            let (a, b) = (View::of(a, &[]), View::of(b, &[]));
            let whole = pair(&a, &b, false).pairing;
            let is_it = matches!(whole, ClaimRelation::Same | ClaimRelation::More);
            assert_eq!(repeated(&a, &b), is_it.then_some(whole));
            found.extend(repeated(&a, &b));
        }
        assert!(found.contains(&ClaimRelation::Same) && found.contains(&ClaimRelation::More), "{found:?}");
    }

    #[test]
    fn two_orders_with_words_in_common_are_not_joined() {
        let related = |is_order: bool| {
            let claim = |text: &str| {
                let procedure = Procedure {
                    name: text.to_owned(),
                    description: text.to_owned(),
                    steps: vec![text.to_owned()],
                    triggers: Vec::new(),
                    priority: None,
                };
                let structured = is_order.then_some(Structured::Procedure(procedure));
                Claim { structured, ..Claim::new(MemoryType::Procedural, "convention", text, text) }
            };
            let known = claim("Nora bakes her rye bread for one hour in a stone oven.");
            let incoming = claim("Nora bakes her rye bread for one hour at 250 °C, with caraway.");
            pair(&View::of(&incoming, &[]), &View::of(&known, &[]), false).pairing
        };
        assert_eq!(related(false), ClaimRelation::Both);
        assert_ne!(related(true), ClaimRelation::Both);
    }
}
