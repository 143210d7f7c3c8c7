//! Claims prepared for comparison, and the differences that override any similarity of their words.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::features::{Features, TimeScope};
use super::key::attribute;
use crate::memory::{Claim, Evidence, MemoryType, Structured};
use crate::text::change::{ChangePassage, phrases};
use crate::text::language::{COMPARED, Language, detect};
use crate::text::normalise::comparable;
use crate::text::recent::RecentResults;
use crate::text::tokens::{contains_word, is_listed};

/// Share of the shorter claim that both claims must have in common before one may replace the other without a common
/// key.
// Retiring the wrong memory removes it from every search, so at least half of the words must be shared.
pub(crate) const RETIRE_OVERLAP: f64 = 0.5;

/// A claim prepared for comparison.
#[derive(Debug, Clone)]
pub(crate) struct View<'a> {
    /// The claim.
    pub claim: &'a Claim,
    /// Features of the claim's content.
    pub features: Arc<Features>,
    /// Attribute of the claim; see [`attribute`].
    pub key: Option<String>,
    /// Subject of the claim, normalised for comparison.
    pub subject: Option<String>,
    pub(in crate::consolidate) speakers: BTreeSet<String>,
    /// The conversations in the claim's evidence.
    pub(in crate::consolidate) places: BTreeSet<&'a str>,
    /// The words that were said, from the claim's evidence.
    pub(super) quotes: Vec<&'a str>,
    pub(in crate::consolidate) about: About,
    pub(in crate::consolidate) language: Option<Language>,
    changes: OnceCell<Vec<ChangePassage>>,
}

/// The person or thing that a claim is about, according to its first words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::consolidate) enum About {
    User,
    Project,
    Other(String),
}

impl<'a> View<'a> {
    /// Returns `claim` with everything that a comparison needs.
    #[must_use]
    pub(crate) fn of(claim: &'a Claim, evidence: &'a [Evidence]) -> Self {
        thread_local!(static RECENT: RecentResults<Option<Language>> = RecentResults::default());
        let key = claim.key.as_deref().and_then(attribute);
        let mut features = Features::of(&claim.content);
        if let Some(key) = &key {
            // `user.sister.residence` is about the sister even if the content only says "she".
            let people = &Features::of(&key.replace(['.', '_'], " ")).people;
            if !people.is_subset(&features.people) {
                Arc::make_mut(&mut features).people.extend(people);
            }
        }
        let speakers = evidence.iter().filter_map(|piece| piece.speaker.as_deref()).map(comparable);
        Self {
            claim,
            about: about(&features),
            quotes: evidence.iter().map(|piece| piece.quote.as_str()).collect(),
            places: evidence.iter().map(|piece| piece.transcript.as_str()).collect(),
            language: RECENT.with(|recent| recent.get(&claim.content, || detect(&claim.content, COMPARED))),
            changes: OnceCell::new(),
            features,
            key,
            subject: claim.subject.as_deref().map(comparable).filter(|subject| !subject.is_empty()),
            // Such names may refer to anybody, so the same name twice does not show that the same person spoke.
            speakers: speakers.filter(|name| !matches!(name.as_str(), "" | "user" | "human" | "you" | "me")).collect(),
        }
    }

    /// Whether both claims name the same attribute.
    #[must_use]
    pub(crate) fn same_key(&self, other: &Self) -> bool {
        let (Some(a), Some(b)) = (&self.key, &other.key) else { return false };
        // `flour.supplier` means the same as `supplier.flour`.
        a == b || a.split_once('.').zip(b.rsplit_once('.')).is_some_and(|((x, y), (v, w))| x == w && y == v)
    }

    /// Whether one claim may replace the other at all: both need the same attribute, or the same subject in nearly the
    /// same words.
    #[must_use]
    pub(crate) fn may_retire(&self, other: &Self) -> bool {
        let same_subject = self.subject.is_some() && self.subject == other.subject;
        let attribute_open = self.key.is_none() || other.key.is_none();
        self.same_key(other) || (same_subject && attribute_open && Words::of(self, other).overlap() >= RETIRE_OVERLAP)
    }
}

impl View<'_> {
    /// Returns the phrases of change in the claim, which are searched for only once.
    pub(in crate::consolidate) fn changes(&self) -> &[ChangePassage] {
        self.changes.get_or_init(|| phrases(&self.claim.content))
    }

    /// Whether the claim begins with the name of the person who said it.
    pub(super) fn names_speaker(&self) -> bool {
        let About::Other(name) = &self.about else { return false };
        self.speakers.iter().any(|speaker| speaker.starts_with(name.as_str()))
    }

    /// Whether the words say that a name or number in `other` was left behind, as in `moved from 9 to 10`.
    pub(in crate::consolidate) fn leaves_what_names(&self, other: &Self) -> bool {
        if self.features.cue.is_none() {
            return false;
        }
        let text = format!(" {} ", self.features.text);
        let left = |name: &str| {
            text.match_indices(name).any(|(at, _)| {
                let (before, after) = (&text[..at], &text[at + name.len()..]);
                is_after_leaving(before) || LEFT_AFTER.split('|').any(|word| after.starts_with(word))
            })
        };
        let value = other.claim.value.as_deref().map(comparable).filter(|value| value.chars().count() > 1);
        // In scripts without spaces, names are not recognised as entities, so pairs of characters are used instead.
        let wide = other.features.tokens.iter().filter(|token| !token.is_ascii() && token.chars().count() == 2);
        let named = other.features.entities.iter().chain(&other.features.figures).chain(&value).chain(wide);
        named.into_iter().any(|name| left(name))
            || other.features.text.split([' ', ',']).any(|word| word.chars().count() > 2 && left(word))
    }
}

/// Whether `text` ends with words such as `instead of`, ignoring function words after them: `instead of in the`.
fn is_after_leaving(text: &str) -> bool {
    const SMALL: &[&str] = &[
        "the", "a", "in", "on", "with", "at", "to", "der", "die", "das", "dem", "den", "auf", "mit", "bei", "aus",
        "el", "la", "los", "las", "en", "con", "del",
    ];
    let mut rest = text;
    for _ in 0..3 {
        if LEFT_BEFORE.split('|').any(|word| rest.ends_with(word)) {
            return true;
        }
        let trimmed = rest.trim_end();
        let last = trimmed.rsplit(' ').next().unwrap_or_default();
        if !SMALL.contains(&last) {
            return false;
        }
        rest = &trimmed[..trimmed.len() - last.len()];
    }
    false
}

/// Words that precede the name of what is left behind.
const LEFT_BEFORE: &str = " from | left | quit | instead of | replaced | away from | off | rather than | no longer | no longer on | no longer with | \
     not | never | not from | was never |从|由|离开|告别|辞去|不再用|不再是|不是| von | statt | anstatt | nicht mehr | nicht mehr mit | nicht mehr bei | nicht mehr auf | \
     nicht aus | nicht in | de | desde | en lugar de | en vez de | en lugar del | ya no con | ya no con el | ya no con la | ya no en | ya no usa ";

/// Words that follow the name of what is left behind.
const LEFT_AFTER: &str =
    "から|の代わり|ではなく|をやめ|에서| 대신|换成|改成|改为|搬到|迁到|改用|跳槽|を辞め|を離れ|를 떠나|을 떠나";

fn about(features: &Features) -> About {
    const LEAD: &str =
        "the el la los las der die das dem den des am im do don't not never always please nie immer nunca siempre";
    const USER: &str = "user user's users usuario usuaria nutzer benutzer nutzerin i my";
    const PROJECT: &str = "project project's proyecto projekt repository repo app";
    const BARE_USER: &[&str] = &["用户", "使用者", "我", "ユーザー", "ユーザ", "사용자", "私"];
    const BARE_PROJECT: &[&str] = &["项目", "本项目", "该项目", "プロジェクト", "프로젝트"];
    let mut words = features.text.split(' ').filter(|word| !is_listed(LEAD, word));
    let first = words.next().unwrap_or_default();
    let is = |list: &str, bare: &[&str]| is_listed(list, first) || bare.iter().any(|word| first.starts_with(word));
    if is(USER, BARE_USER) {
        About::User
    } else if is(PROJECT, BARE_PROJECT) {
        About::Project
    } else {
        About::Other(first.chars().take(40).collect())
    }
}

/// Maximum number of pairs of words that are compared letter by letter; longer texts are compared by whole words.
// The cost is the product of both lengths, but claims are far shorter than this limit.
const MAX_COMPARED: usize = 4_096;

/// The content words of two claims, compared with each other.
pub(in crate::consolidate) struct Words {
    pub(in crate::consolidate) shared: usize,
    pub(in crate::consolidate) incoming_only: usize,
    pub(in crate::consolidate) known_only: usize,
}

impl Words {
    pub(in crate::consolidate) fn of(incoming: &View<'_>, known: &View<'_>) -> Self {
        let (a, b) = (&incoming.features.tokens, &known.features.tokens);
        let fuzzy = a.len() * b.len() <= MAX_COMPARED;
        let mut unmatched: Vec<&String> = b.difference(a).collect();
        let incoming_only = a.difference(b).filter(|token| {
            let twin = unmatched.iter().position(|other| fuzzy && is_variant(token, other));
            // Each known word is matched once; otherwise, two incoming words could both count as variants of it.
            twin.map(|at| unmatched.swap_remove(at)).is_none()
        });
        // If the other claim contains the whole known claim, characters that became adjacent are not new information.
        let rejoined = |token: &&&String| {
            let wide = token.chars().count() == 2 && !token.is_ascii();
            wide && token.chars().all(|c| known.features.text.contains(c))
        };
        let incoming_only: Vec<&String> = incoming_only.collect();
        // A noun of one character may appear within a longer one: `猫` in `橘猫`.
        let incoming_text = &incoming.features.text;
        let stands = |token: &str| token.chars().count() == 1 && !token.is_ascii() && incoming_text.contains(token);
        unmatched.retain(|token| !stands(token));
        let news = incoming_only.iter().filter(|token| !unmatched.is_empty() || !rejoined(token)).count();
        let incoming_only = news;
        Self { shared: a.len() - incoming_only, incoming_only, known_only: unmatched.len() }
    }

    /// Whether a claim of only a few words is completely contained in the other claim, as `smokes` in `no longer
    /// smokes`.
    pub(in crate::consolidate) fn is_all_shared(&self, incoming: &View<'_>) -> bool {
        let all_but = self.incoming_only.min(self.known_only);
        !incoming.features.tokens.is_empty()
            && self.shared > 0
            && all_but == 0
            && self.incoming_only + self.known_only <= 1
    }

    pub(in crate::consolidate) fn overlap(&self) -> f64 {
        part(self.shared, self.shared + self.incoming_only.min(self.known_only))
    }
}

/// Returns `part` divided by `whole`; 0 if `whole` is 0.
#[expect(clippy::cast_precision_loss, reason = "word counts are far below 2^52")]
pub(super) fn part(part: usize, whole: usize) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whether two long words are spellings of the same word, with the same beginning and nearly all letters in common.
fn is_variant(a: &str, b: &str) -> bool {
    // Short words are too similar to each other; for example, `cat` and `car` differ in one letter.
    let letters =
        |word: &str| word.len() >= 5 && word.len() <= 40 && word.bytes().all(|byte| byte.is_ascii_alphabetic());
    a.as_bytes().first() == b.as_bytes().first()
        && letters(a)
        && letters(b)
        && strsim::normalized_levenshtein(a, b) >= 0.8
}

/// Reason given if one claim is about a single occasion, and the other is not.
pub(in crate::consolidate) const ONCE: &str = "one happened once, the other is usual";

/// Returns the difference that overrides any similarity, if there is such a difference.
pub(in crate::consolidate) fn guard(a: &View<'_>, b: &View<'_>) -> Option<&'static str> {
    let (left, right) = (&a.features, &b.features);
    if people_differ(left, right) || speakers_differ(a, b) || subjects_differ(a, b) {
        return Some("about another person");
    }
    if left.planned != right.planned {
        return Some("one is a plan, the other a fact");
    }
    if (left.time == TimeScope::Once) != (right.time == TimeScope::Once) {
        return Some(ONCE);
    }
    if is_event(a) && is_event(b) && days_differ(a, b) {
        return Some("happened on different days");
    }
    if !left.settings.is_empty() && !right.settings.is_empty() && left.settings != right.settings {
        return Some("in other circumstances");
    }
    None
}

/// Whether two claims name different people by their relation to the user, or two speakers each talk about themselves.
pub(in crate::consolidate) fn other_people(a: &View<'_>, b: &View<'_>) -> bool {
    let (left, right) = (&a.features.people, &b.features.people);
    // Both claims must mention somebody, because a claim that mentions nobody may be about the same person.
    let any_alike = left.iter().any(|name| right.iter().any(|other| is_same_person(name, other)));
    (!left.is_empty() && !right.is_empty() && !any_alike) || speakers_differ(a, b)
}

/// Whether two texts do not mention the same people by their relation to the user.
pub(super) fn people_differ(a: &Features, b: &Features) -> bool {
    !are_same_people(&a.people, &b.people)
}

fn are_same_people(a: &BTreeSet<&str>, b: &BTreeSet<&str>) -> bool {
    let within = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| a.iter().all(|x| b.iter().any(|y| is_same_person(x, y)));
    within(a, b) && within(b, a)
}

/// Whether two relations may denote the same person: `sister` may be the elder or the younger sister.
fn is_same_person(a: &str, b: &str) -> bool {
    let holds = |whole: &str, part: &str| part.strip_prefix(whole).is_some_and(|rest| rest.starts_with('.'));
    a == b || holds(a, b) || holds(b, a)
}

/// Whether two speakers talk about themselves, and neither mentions the other.
pub(super) fn speakers_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let alike = |x: &String| b.speakers.iter().any(|y| x.contains(y.as_str()) || y.contains(x.as_str()));
    let is_own = |view: &View<'_>| view.about == About::User || view.names_speaker();
    let names =
        |view: &View<'_>, other: &View<'_>| other.speakers.iter().any(|name| contains_word(&view.features.text, name));
    is_own(a)
        && is_own(b)
        && !b.speakers.is_empty()
        && !a.speakers.is_empty()
        && !a.speakers.iter().any(alike)
        && !names(a, b)
        && !names(b, a)
}

/// Whether the first words name different subjects. The subjects count as the same if the attributes are the same.
/// Otherwise, a first word that does not appear in the other claim names a different person or thing.
fn subjects_differ(a: &View<'_>, b: &View<'_>) -> bool {
    if tags_differ(a, b) {
        return true;
    }
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

/// Whether each claim's subject appears in its own words but not in the other claim's, in nearly the same sentence.
pub(super) fn tags_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let (Some(x), Some(y)) = (&a.subject, &b.subject) else { return false };
    let (left, right) = (&a.features, &b.features);
    let own = left.text.contains(x.as_str()) && right.text.contains(y.as_str());
    let other = left.text.contains(y.as_str()) || right.text.contains(x.as_str());
    // Subjects without a word in common may name the same thing in two languages.
    own && !other && !left.tokens.is_disjoint(&right.tokens)
}

pub(in crate::consolidate) fn is_episode(view: &View<'_>) -> bool {
    view.claim.memory_type == MemoryType::Episodic
}

/// Whether a claim is an order that the user gave for later.
pub(in crate::consolidate) fn is_order(view: &View<'_>) -> bool {
    matches!(view.claim.structured, Some(Structured::Procedure(_)))
}

/// Whether a claim is about something that happened or was done once, which remains true.
pub(in crate::consolidate) fn is_record(view: &View<'_>) -> bool {
    is_event(view) || matches!(view.claim.category.as_str(), "task" | "solution" | "mistake")
}

fn is_event(view: &View<'_>) -> bool {
    is_episode(view) || view.features.time == TimeScope::Once
}

fn days_differ(a: &View<'_>, b: &View<'_>) -> bool {
    let day = |view: &View<'_>| view.claim.valid_from.map(|at| at.as_second().div_euclid(86_400));
    day(a).zip(day(b)).is_some_and(|(a, b)| a != b)
}

/// The kinds of names and numbers that one claim has and the other lacks.
pub(in crate::consolidate) struct Extra {
    pub(in crate::consolidate) figures: bool,
    pub(in crate::consolidate) entities: bool,
}

impl Extra {
    pub(in crate::consolidate) const fn any(&self) -> bool {
        self.figures || self.entities
    }
}

pub(in crate::consolidate) fn extra(a: &View<'_>, b: &View<'_>) -> Extra {
    Extra {
        figures: !a.features.figures.is_subset(&b.features.figures),
        entities: a.features.entities.iter().any(|name| !mentions(&b.features.text, name)),
    }
}

/// Maximum length of a name in bytes that has to be a whole word of another text, since the `A` of `plan A` is part of
/// many words.
const SHORT_NAME: usize = 3;

/// Whether `text` contains a name: as a whole word if it is short, and anywhere otherwise.
fn mentions(text: &str, name: &str) -> bool {
    if name.len() > SHORT_NAME || !name.is_ascii() { text.contains(name) } else { contains_word(text, name) }
}
