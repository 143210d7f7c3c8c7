//! Judges by a trained classifier whether a new claim makes a known one untrue.
//!
//! Changes are expressed in more ways than rules can list. The classifier has learned from pairs of statements by many
//! authors. It sees the words of both claims, where words that they share count as the same, and what the rules found. If
//! a model has answered, its answer counts instead.

use std::rc::Rc;

use crate::consolidate::compare::ended::{LEARNED, TOPIC_MOVED, is_end};
use crate::consolidate::compare::pair::{ClaimRelation, PairFinding};
use crate::consolidate::compare::tokens::is_stop_word;
use crate::consolidate::compare::view::{ONCE, View, guard, is_order, is_record, other_people};
use crate::text::language::Language;
use crate::text::linear::{FeatureBuilder, Features, LinearModel, without_numbers};
use crate::text::recent::RecentResults;
use crate::text::script::is_wide;
use crate::text::tokens::units;

static MODEL: LinearModel<'static> = LinearModel::new(include_bytes!("changes.weights"));

/// Maximum length of a claim that is judged, in bytes. The authors of the examples wrote one or two sentences.
const MAX_BYTES: usize = 600;

/// A change that a rule found is confirmed if the score, increased for the share of common terms, is above this number.
const CONFIRMED: f32 = 28.0;

/// A change that is not confirmed is left to a person if the score is above this number.
const DOUBTFUL: f32 = -15.0;

/// Weight of the share of common terms in the score of a change that a rule found, and of one that no rule found. The less
/// two claims have in common, the more often a change is one of something else.
const SHARE_FOR_RULES: f32 = 30.0;
const SHARE: f32 = 100.0;

/// The highest share that counts for a change that no rule found.
const MAX_SHARE: f32 = 0.5;

/// A change that no rule found retires the known claim if the score, increased for the share, is above the first of these
/// numbers; a person decides if it is above the second.
const RETIRES: f32 = 67.0;
const WAITS: f32 = 60.0;

/// Languages of the pairs from which the classifier has learned.
const LEARNED_FROM: [Language; 4] = [Language::English, Language::German, Language::Spanish, Language::Chinese];

/// Returns what the rules found, confirmed or doubted. `alike` is the share of common terms.
pub(super) fn reviewed(incoming: &View<'_>, known: &View<'_>, found: PairFinding, alike: f64) -> PairFinding {
    let is_change = matches!(found.pairing, ClaimRelation::Opposed | ClaimRelation::Contested);
    // Rules that compare the same sentence with another value hardly ever err, and rules for a topic consider all memories
    // about it.
    let is_by_phrase = is_end(found.why) && found.why != TOPIC_MOVED;
    if !is_change || !is_by_phrase || is_unlike_examples(incoming, known) {
        return found;
    }
    let score = MODEL.score(&features(&incoming.claim.content, &known.claim.content, &found));
    PairFinding { pairing: reviewed_by(score, alike), ..found }
}

fn reviewed_by(score: f32, alike: f64) -> ClaimRelation {
    if score + SHARE_FOR_RULES * share(alike) > CONFIRMED {
        ClaimRelation::Opposed
    } else if score > DOUBTFUL {
        ClaimRelation::Contested
    } else {
        ClaimRelation::Unsure
    }
}

/// Returns the finding that the new claim makes the known one untrue, if no rule relates them.
pub(super) fn learned(incoming: &View<'_>, known: &View<'_>, found: PairFinding, alike: f64) -> Option<PairFinding> {
    let is_free = matches!(found.pairing, ClaimRelation::Apart | ClaimRelation::Unsure);
    let is_learned = |view: &View<'_>| view.language.is_some_and(|language| LEARNED_FROM.contains(&language));
    // A new event may end a state, but a record of an event remains true.
    let is_guarded = || guard(incoming, known).is_some_and(|why| why != ONCE) || is_record(known);
    if !is_free
        || is_order(known)
        || incoming.language != known.language
        || !is_learned(incoming)
        || is_unlike_examples(incoming, known)
        || is_guarded()
    {
        return None;
    }
    let score = MODEL.score(&features(&incoming.claim.content, &known.claim.content, &found));
    let pairing = learned_by(score, alike, found.pairing)?;
    let learned = PairFinding { pairing, why: LEARNED, ..found };
    // Two attributes may be one that is spelt differently, or two of which one changed.
    let has_other_key = incoming.key.is_some() && known.key.is_some() && !incoming.same_key(known);
    Some(if has_other_key { learned.in_doubt() } else { learned })
}

fn learned_by(score: f32, alike: f64, by_rules: ClaimRelation) -> Option<ClaimRelation> {
    let score = score + SHARE * share(alike).min(MAX_SHARE);
    if score > RETIRES {
        return Some(ClaimRelation::Opposed);
    }
    // What the rules are unsure of is linked, so both claims are shown together anyway.
    (score > WAITS && by_rules == ClaimRelation::Apart).then_some(ClaimRelation::Contested)
}

#[expect(clippy::cast_possible_truncation, reason = "a share is a small number")]
fn share(alike: f64) -> f32 {
    alike as f32
}

/// Whether two claims are not of the kind that the classifier has learned from. An attribute with two values is a matter for
/// the rules, and so are orders, which apply beside one another.
fn is_unlike_examples(incoming: &View<'_>, known: &View<'_>) -> bool {
    let (new, old) = (incoming.claim, known.claim);
    incoming.same_key(known) && new.value.is_some() && old.value.is_some()
        || is_order(incoming) && is_order(known)
        || other_people(incoming, known)
        || new.content.len().max(old.content.len()) > MAX_BYTES
}

/// The words of a claim.
struct Wording {
    units: Vec<String>,
    /// The beginning of each word, by which most forms of the same word are recognised.
    roots: Vec<String>,
    /// Whether many of the words, more than two fifths, are characters of a script without spaces.
    is_wide: bool,
}

impl Wording {
    fn of(text: &str) -> Rc<Self> {
        thread_local!(static RECENT: RecentResults<Rc<Wording>> = RecentResults::default());
        let examine = || {
            let units = units(text);
            let wide = units.iter().filter(|unit| unit.chars().any(is_wide)).count();
            Rc::new(Self {
                roots: units.iter().map(|unit| root(unit)).collect(),
                is_wide: wide * 5 > units.len() * 2,
                units,
            })
        };
        RECENT.with(|recent| recent.get(text, examine))
    }

    /// Returns for each word whether `other` has it, too. In a script without spaces, a single common character is not
    /// significant.
    fn shared(&self, other: &Self) -> Vec<bool> {
        let is_in = |root: &String| other.roots.contains(root);
        if !self.is_wide {
            return self.roots.iter().map(is_in).collect();
        }
        let mut shared: Vec<bool> =
            self.units.iter().map(|unit| !unit.chars().any(is_wide) && other.units.contains(unit)).collect();
        for (at, pair) in self.units.windows(2).enumerate() {
            if other.units.windows(2).any(|theirs| theirs == pair) {
                shared[at] = true;
                shared[at + 1] = true;
            }
        }
        shared
    }
}

/// Returns the first seven tenths of a word, at least four letters.
fn root(word: &str) -> String {
    let length = word.chars().count();
    word.chars().take((length * 7 / 10).max(4)).collect()
}

/// A word that both claims contain.
const SHARED: &str = "=";

/// Returns the features of a pair of claims.
pub(super) fn features(incoming: &str, known: &str, found: &PairFinding) -> Features {
    let (new, old) = (Wording::of(incoming), Wording::of(known));
    let (in_old, in_new) = (new.shared(&old), old.shared(&new));
    let mut features = FeatureBuilder::default();
    features.add_all(b'r', [format!("{:?}", found.pairing).as_str(), found.why]);
    let ours = abstracted(&new, &in_old);
    add_runs(&mut features, b'n', &ours, if new.is_wide { 4 } else { 3 });
    add_runs(&mut features, b'o', &abstracted(&old, &in_new), if new.is_wide { 4 } else { 2 });
    if !new.is_wide {
        let own: Vec<&str> = ours.iter().map(String::as_str).filter(|word| *word != SHARED).collect();
        for (at, word) in own.iter().enumerate() {
            for other in own.iter().skip(at + 2).take(2) {
                features.add_all(b's', [*word, *other]);
            }
        }
    }
    add_amounts(&mut features, &new, &in_old, *b"aA");
    add_amounts(&mut features, &old, &in_new, *b"bB");
    features.finish()
}

/// Returns the words of a claim with [`SHARED`] for each run of words that the other claim has, between marks of its ends.
fn abstracted(wording: &Wording, shared: &[bool]) -> Vec<String> {
    let mut words = vec!["^".to_owned()];
    for (unit, is_shared) in wording.units.iter().zip(shared) {
        let is_common = *is_shared && (wording.is_wide || !is_stop_word(unit));
        let word = if is_common { SHARED.to_owned() } else { without_numbers(unit) };
        if word != SHARED || words.last().is_none_or(|last| last != SHARED) {
            words.push(word);
        }
    }
    words.push("$".to_owned());
    words
}

/// Adds all runs of up to `longest` words.
fn add_runs(features: &mut FeatureBuilder, kind: u8, words: &[String], longest: usize) {
    for length in 1..=longest {
        for run in words.windows(length) {
            features.add_all(kind, run.iter().map(String::as_str));
        }
    }
}

/// Adds the share of words that the other claim has, too, and the number of those that it lacks.
fn add_amounts(features: &mut FeatureBuilder, wording: &Wording, shared: &[bool], kinds: [u8; 2]) {
    let words = wording.units.iter().zip(shared).filter(|(unit, _)| wording.is_wide || !is_stop_word(unit));
    let (both, own): (Vec<_>, Vec<_>) = words.partition(|(_, is_shared)| **is_shared);
    let all = (both.len() + own.len()).max(1);
    for tenth in (1..=9).filter(|tenth| both.len() * 10 >= tenth * all) {
        features.add(kinds[0], &tenth.to_string());
    }
    for count in [1, 2, 3, 4, 6, 8].into_iter().filter(|count| own.len() >= *count) {
        features.add(kinds[1], &count.to_string());
    }
}

#[cfg(test)]
#[path = "change_model_tests.rs"]
mod tests;
