//! What an incoming claim is to one known claim, by its words alone.

use std::collections::BTreeSet;

use crate::memory::{Claim, Evidence, MemoryType};

use super::features::{Features, Polarity, TimeScope};
use super::key::{Arity, Values, arity, canonical, compare};
use super::text::normalise;

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

/// How much of the shorter claim the other must share before one may take the other's place without a common key.
pub const RETIRE_OVERLAP: f64 = 0.5;

/// Overlap from which two claims with different words on both sides are looked at more closely.
const GREY_OVERLAP: f64 = 0.6;

/// The same, for claims of one subject.
const GREY_OVERLAP_SAME_SUBJECT: f64 = 0.5;

/// Overlap from which a claim and its negation are held to be about one thing.
const OPPOSED_OVERLAP: f64 = 0.75;

/// New content words that make a wording of an equal value worth keeping beside the known one.
const DETAIL_WORDS: usize = 4;

/// A claim made ready for comparing.
#[derive(Debug, Clone)]
pub struct View<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// What its content says.
    pub features: Features,
    /// Its attribute, see [`canonical`].
    pub key: Option<String>,
    /// Its subject, normalised.
    pub subject: Option<String>,
    speakers: BTreeSet<String>,
    about: About,
}

/// Whom or what a claim speaks about, by its first words.
#[derive(Debug, Clone, PartialEq, Eq)]
enum About {
    User,
    Project,
    Other(String),
}

impl<'a> View<'a> {
    /// Returns `claim` with what the guards look at.
    #[must_use]
    pub fn of(claim: &'a Claim, evidence: &[Evidence]) -> Self {
        let key = claim.key.as_deref().map(canonical).filter(|key| !key.is_empty());
        let mut features = Features::of(&claim.content);
        if let Some(key) = &key {
            features.people.extend(Features::of(&key.replace(['.', '_'], " ")).people);
        }
        let speakers = evidence.iter().filter_map(|piece| piece.speaker.as_deref()).map(normalise);
        Self {
            claim,
            about: about(&features),
            features,
            key,
            subject: claim.subject.as_deref().map(normalise).filter(|subject| !subject.is_empty()),
            speakers: speakers.filter(|name| !matches!(name.as_str(), "" | "user" | "human" | "you" | "me")).collect(),
        }
    }

    /// Whether both name one attribute.
    #[must_use]
    pub fn same_key(&self, other: &Self) -> bool {
        self.key.is_some() && self.key == other.key
    }

    /// Whether one may take the other's place at all: the same attribute, or the same subject in much the same words.
    #[must_use]
    pub fn may_retire(&self, other: &Self) -> bool {
        let same_subject = self.subject.is_some() && self.subject == other.subject;
        let attribute_open = self.key.is_none() || other.key.is_none();
        self.same_key(other) || (same_subject && attribute_open && Words::of(self, other).overlap() >= RETIRE_OVERLAP)
    }
}

fn about(features: &Features) -> About {
    const USER: &str = "user user's users usuario usuaria nutzer benutzer nutzerin i my";
    const PROJECT: &str = "project project's proyecto projekt repository repo app";
    const BARE_USER: &[&str] = &["用户", "使用者", "我", "ユーザー", "ユーザ", "사용자", "私"];
    const BARE_PROJECT: &[&str] = &["项目", "本项目", "该项目", "プロジェクト", "프로젝트"];
    let mut words =
        features.text.split(' ').filter(|word| !matches!(*word, "the" | "el" | "la" | "der" | "die" | "das"));
    let first = words.next().unwrap_or_default();
    let is = |list: &str, bare: &[&str]| {
        list.split(' ').any(|word| word == first) || bare.iter().any(|word| first.starts_with(word))
    };
    if is(USER, BARE_USER) {
        About::User
    } else if is(PROJECT, BARE_PROJECT) {
        About::Project
    } else {
        About::Other(first.chars().take(40).collect())
    }
}

/// The content words of two claims, set against each other.
struct Words {
    shared: usize,
    incoming_only: usize,
    known_only: usize,
}

impl Words {
    fn of(incoming: &View<'_>, known: &View<'_>) -> Self {
        let (a, b) = (&incoming.features.tokens, &known.features.tokens);
        let mut unmatched: Vec<&String> = b.difference(a).collect();
        let incoming_only = a.difference(b).filter(|token| {
            let twin = unmatched.iter().position(|other| is_variant(token, other));
            twin.map(|at| unmatched.swap_remove(at)).is_none()
        });
        // Where the known claim is contained whole, a pair of characters that only came to stand together is no news.
        let rejoined = |token: &&&String| {
            let wide = token.chars().count() == 2 && !token.is_ascii();
            wide && token.chars().all(|c| known.features.text.contains(c))
        };
        let incoming_only: Vec<&String> = incoming_only.collect();
        let news = incoming_only.iter().filter(|token| !unmatched.is_empty() || !rejoined(token)).count();
        let incoming_only = news;
        Self { shared: a.len() - incoming_only, incoming_only, known_only: unmatched.len() }
    }

    fn overlap(&self) -> f64 {
        ratio(self.shared, self.shared + self.incoming_only.min(self.known_only))
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of words, far below 2^52")]
fn ratio(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whether two words are spellings of one: long, alike in nearly every letter, beginning alike.
fn is_variant(a: &str, b: &str) -> bool {
    let letters =
        |word: &str| word.len() >= 5 && word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    a.as_bytes().first() == b.as_bytes().first()
        && letters(a)
        && letters(b)
        && strsim::normalized_levenshtein(a, b) >= 0.8
}

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

/// Names the difference that no similarity bridges.
pub(super) fn guard(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let (left, right) = (&a.features, &b.features);
    if left.people != right.people || speakers_differ(a, b) || subjects_differ(a, b) {
        return Some("about another person");
    }
    if left.planned != right.planned {
        return Some("one is a plan, the other a fact");
    }
    if (left.time == TimeScope::Once) != (right.time == TimeScope::Once) {
        return Some("one happened once, the other is usual");
    }
    if is_event(a) && is_event(b) && days_differ(a, b) {
        return Some("happened on different days");
    }
    if !left.settings.is_empty() && !right.settings.is_empty() && left.settings != right.settings {
        return Some("in other surroundings");
    }
    None
}

/// Names what forbids that two claims become one, even if somebody calls them alike.
pub(super) fn unmergeable(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let (new, old) = (extra(a, b), extra(b, a));
    if a.features.polarity != b.features.polarity {
        Some("one is a negation")
    } else if new.figures && old.figures {
        Some("other numbers")
    } else if new.entities && old.entities {
        Some("other names")
    } else {
        guard(a, b)
    }
}

fn speakers_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let alike = |x: &String| b.speakers.iter().any(|y| x.contains(y.as_str()) || y.contains(x.as_str()));
    a.about == About::User
        && b.about == About::User
        && !b.speakers.is_empty()
        && !a.speakers.is_empty()
        && !a.speakers.iter().any(alike)
}

/// Whether the first words name different subjects. A common key settles it; else a first word that the other claim
/// does not hold is somebody or something else.
fn subjects_differ(a: &View<'_>, b: &View<'_>) -> bool {
    if a.same_key(b) {
        return false;
    }
    match (&a.about, &b.about) {
        (About::Other(name), About::User | About::Project) => !b.features.text.contains(name.as_str()),
        (About::User | About::Project, About::Other(name)) => !a.features.text.contains(name.as_str()),
        (About::User, About::Project) | (About::Project, About::User) => true,
        (About::User, About::User) | (About::Project, About::Project) | (About::Other(_), About::Other(_)) => false,
    }
}

fn is_event(view: &View<'_>) -> bool {
    view.claim.memory_type == MemoryType::Episodic || view.features.time == TimeScope::Once
}

fn days_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let day = |view: &View<'_>| view.claim.valid_from.map(|at| at.as_second().div_euclid(86_400));
    day(a).zip(day(b)).is_some_and(|(a, b)| a != b)
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
    if words.overlap() >= RETIRE_OVERLAP || words.shared == 0 {
        return (Pairing::Opposed, "says the opposite");
    }
    (Pairing::Unsure, "may say the opposite")
}

fn another_value(a: &View<'_>, b: &View<'_>, arity: Arity, hinted: bool) -> (Pairing, &'static str) {
    let says_so = a.features.cue.is_some() && names_value(a, b);
    let special = a.features.settings != b.features.settings || a.features.except != b.features.except;
    match arity {
        Arity::Single if special => (Pairing::Unsure, "another value in a special case"),
        Arity::Single => (Pairing::Opposed, "another value of one attribute"),
        Arity::Many | Arity::Open if says_so => (Pairing::Opposed, "says that it replaces the known value"),
        Arity::Open if hinted => (Pairing::Opposed, "another value, named as the one it replaces"),
        Arity::Many if hinted => (Pairing::Unsure, "named as the one it replaces"),
        Arity::Many => (Pairing::Apart, "one of several values"),
        Arity::Open => (Pairing::Unsure, "another value, which may stand beside the known one"),
    }
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
    if a.features.except != b.features.except {
        return (Pairing::Unsure, "one names an exception");
    }
    let new_detail = new.any() || words.incoming_only >= DETAIL_WORDS;
    let old_detail = old.any() || words.known_only >= DETAIL_WORDS;
    match (new_detail, old_detail) {
        (false, _) => (Pairing::Same, "the same value in other words"),
        (true, false) => (Pairing::More, "the same value in more detail"),
        (true, true) => (Pairing::Both, "the same value, each with its own detail"),
    }
}

/// Which kinds of names and numbers one claim has that the other lacks.
struct Extra {
    figures: bool,
    entities: bool,
}

impl Extra {
    const fn any(&self) -> bool {
        self.figures || self.entities
    }
}

fn extra(a: &View<'_>, b: &View<'_>) -> Extra {
    Extra {
        figures: !a.features.figures.is_subset(&b.features.figures),
        entities: a.features.entities.iter().any(|name| !b.features.text.contains(name.as_str())),
    }
}

/// Compares two claims whose attribute is not known to be the same.
fn by_words(a: &View<'_>, b: &View<'_>, words: &Words, hinted: bool) -> (Pairing, &'static str) {
    let same_subject = a.subject.is_some() && a.subject == b.subject;
    let enough = if same_subject { GREY_OVERLAP_SAME_SUBJECT } else { GREY_OVERLAP };
    let close = words.overlap() >= enough && words.shared >= 2;
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
    let keys_differ = a.key.is_some() && b.key.is_some() && a.key != b.key;
    if keys_differ {
        let whole = words.incoming_only == 0 && words.known_only == 0;
        return if whole || hinted {
            (Pairing::Unsure, "the same words, another attribute")
        } else {
            (Pairing::Apart, "another attribute")
        };
    }
    if a.features.polarity != b.features.polarity {
        return opposite(a, b, words);
    }
    let (new, old) = (extra(a, b), extra(b, a));
    if (new.figures && old.figures) || (new.entities && old.entities) {
        return if hinted || (same_subject && a.features.cue.is_some()) {
            (Pairing::Unsure, "other names or numbers, and words of change")
        } else {
            (Pairing::Apart, "other names or numbers")
        };
    }
    if a.features.polarity == Polarity::Mixed || a.features.except != b.features.except {
        return (Pairing::Unsure, "much the same words, another turn");
    }
    match (words.incoming_only > 0 || new.any(), words.known_only > 0 || old.any()) {
        (false, _) => (Pairing::Same, "nothing that is not known"),
        (true, false) => (Pairing::More, "the known words and more"),
        (true, true) => (Pairing::Unsure, "much the same words"),
    }
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
    let other_first =
        matches!((&a.about, &b.about), (About::Other(x), About::Other(y)) if x != y && x.is_ascii() && y.is_ascii());
    (whole && other_first) || order(a) != order(b)
}

fn opposite(a: &View<'_>, b: &View<'_>, words: &Words) -> (Pairing, &'static str) {
    let (new, old) = (extra(a, b), extra(b, a));
    let mixed = a.features.polarity == Polarity::Mixed || b.features.polarity == Polarity::Mixed;
    let one_matter = a.subject == b.subject || a.subject.is_none() || b.subject.is_none();
    if (new.any() && old.any())
        || a.features.except != b.features.except
        || a.features.settings != b.features.settings
        || mixed
    {
        return (Pairing::Unsure, "may say the opposite");
    }
    let whole = words.incoming_only == 0 || words.known_only == 0;
    if one_matter && whole && words.overlap() >= OPPOSED_OVERLAP {
        (Pairing::Opposed, "says the opposite")
    } else {
        (Pairing::Unsure, "may say the opposite")
    }
}
