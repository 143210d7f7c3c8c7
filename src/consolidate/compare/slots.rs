//! Aligns two texts and finds the positions where one text has words that the other lacks or replaces.

use std::collections::BTreeSet;

use crate::text::script::Script;
use crate::text::tokens::is_listed;

/// Maximum number of units of text that are aligned.
// The table of common units grows with the square of this number.
const MAX_UNITS: usize = 120;

/// A position where two texts differ, with the units of each text. A unit is a word, a Han character, or a comma.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) incoming: Vec<String>,
    pub(super) known: Vec<String>,
    /// Number of preceding units that both texts share.
    pub(super) shared_before: usize,
    /// Whether both texts have a comma immediately before this position.
    pub(super) after_comma: bool,
}

impl Slot {
    /// Whether only one text has units at this position, and these units narrow the statement, as in `for students`.
    pub(super) fn is_narrowing(&self) -> bool {
        const OF: &[&str] = &["for", "of", "für", "para", "de", "del", "der", "des", "von"];
        let alone = if self.known.is_empty() { &self.incoming } else { &self.known };
        !self.is_substitution() && alone.first().is_some_and(|unit| OF.contains(&unit.as_str()))
    }

    /// Returns the word that opens a detail at this position, if there is a detail; after a comma, any word can open
    /// one.
    fn opener<'a>(&self, units: &'a [String]) -> Option<&'a str> {
        if self.after_comma { units.first().map(String::as_str) } else { opener(units) }
    }

    /// Whether each text has its own units at this position.
    pub(super) const fn is_substitution(&self) -> bool {
        !self.incoming.is_empty() && !self.known.is_empty()
    }
}

/// Returns the positions where two normalised texts differ, in order; `None` if the texts are too long to be aligned.
pub(super) fn slots(incoming: &str, known: &str) -> Option<Vec<Slot>> {
    let (a, b) = (units(incoming), units(known));
    (a.len() <= MAX_UNITS && b.len() <= MAX_UNITS).then(|| differences(&a, &b))
}

fn differences(a: &[String], b: &[String]) -> Vec<Slot> {
    let common = longest_common(a, b);
    let (mut slots, mut slot) = (Vec::new(), Slot::default());
    let (mut i, mut j, mut shared) = (0, 0, 0);
    while i < a.len() || j < b.len() {
        if i < a.len() && j < b.len() && a[i] == b[j] {
            if slot != Slot::default() {
                slots.push(std::mem::take(&mut slot));
            }
            (i, j, shared) = (i + 1, j + 1, shared + 1);
            slot.shared_before = shared;
            slot.after_comma = a[i - 1] == ",";
        } else if j == b.len() || (i < a.len() && common[i + 1][j] >= common[i][j + 1]) {
            slot.incoming.push(a[i].clone());
            i += 1;
        } else {
            slot.known.push(b[j].clone());
            j += 1;
        }
    }
    slots.push(slot);
    slots.retain(|slot| !slot.incoming.is_empty() || !slot.known.is_empty());
    slots
}

/// Returns a table that contains, at `[i][j]`, the length of the longest common subsequence of `a[i..]` and `b[j..]`.
fn longest_common(a: &[String], b: &[String]) -> Vec<Vec<u16>> {
    let mut table = vec![vec![0_u16; b.len() + 1]; a.len() + 1];
    for i in (0..a.len()).rev() {
        for j in (0..b.len()).rev() {
            table[i][j] = if a[i] == b[j] { table[i + 1][j + 1] + 1 } else { table[i + 1][j].max(table[i][j + 1]) };
        }
    }
    table
}

/// Splits a normalised text into units.
pub(super) fn units(text: &str) -> Vec<String> {
    let mut units: Vec<String> = Vec::new();
    let mut running = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let script = Script::of(c);
        let inside = |next: Option<&char>| next.is_some_and(|next| Script::of(*next) == Some(Script::Spaced));
        match script {
            // Every Han character is a separate unit, because a wrong word boundary would hide a difference.
            Some(Script::Han) => units.push(c.to_string()),
            Some(_) if running.is_some() && running == script => {
                if let Some(last) = units.last_mut() {
                    last.push(c);
                }
            }
            Some(_) => units.push(c.to_string()),
            // A punctuation mark between two letters belongs to the word, as in `node.js` and `don't`.
            None if running == Some(Script::Spaced) && !c.is_whitespace() && inside(chars.peek()) => {
                if let Some(last) = units.last_mut() {
                    last.push(c);
                }
                continue;
            }
            None if matches!(c, ',' | ';' | '，' | '；' | '、') => units.push(",".to_owned()),
            None => {}
        }
        running = script;
    }
    units
}

/// Words that connect a detail to its clause, in the languages with spaces.
const OPENERS: &str = "in at on for with by from to because since until after before during via through when while where who \
    which whose that so as under over near against between without if and but about every \
    a al en con por para desde hasta cuando donde que y sin sobre de del según tras durante porque cada \
    im am an auf für mit von vom bei beim aus zu zum zur nach weil da wenn wo seit bis und durch wegen während ohne unter über \
    damit jeden jede";

/// Words that connect a detail to its clause in Chinese, and Japanese particles that follow the words that both texts
/// share.
const WIDE_OPENERS: &str = "跟在和与因从由用为对给于到以按每并且了にのでとへ";

/// The last characters of particles that connect a noun to its clause in Japanese.
const WIDE_TIES: &str = "でらにとへの";

/// Particles that connect a Korean noun to its clause; the last word of a detail ends with such a particle.
const HANGUL_TIES: &[&str] =
    &["에서", "에게", "한테", "부터", "까지", "으로", "마다", "하고", "에", "로", "와", "과", "서", "며", "고"];

/// Returns the word that opens a detail, if these units are a detail: a preposition or similar word, or the first word
/// of a clause after a comma.
fn opener(units: &[String]) -> Option<&str> {
    let first = units.first()?;
    if first == "," {
        return units.get(1).map(String::as_str);
    }
    let is_wide = first.chars().count() == 1 && WIDE_OPENERS.contains(first.as_str());
    if is_wide || is_listed(OPENERS, first) {
        return Some(first);
    }
    let last = units.last()?;
    if last.chars().count() == 1 && WIDE_TIES.contains(last.as_str()) {
        return Some(last);
    }
    HANGUL_TIES.iter().find(|tie| last.ends_with(**tie)).copied()
}

/// Whether each of two texts only adds details of a different kind to the words that they share.
///
/// Texts with different words in the same position state different facts (`in Oslo`, `in Rome`), and so do texts in
/// which a word has moved.
pub(super) fn each_adds(slots: &[Slot]) -> bool {
    let own = |side: fn(&Slot) -> &Vec<String>| {
        slots.iter().flat_map(side).filter(|unit| unit.chars().count() > 2).collect::<BTreeSet<_>>()
    };
    // If both texts have a word in different positions, its role may have changed, as in who gave what to whom.
    let moved = !own(|slot| &slot.incoming).is_disjoint(&own(|slot| &slot.known));
    let details = slots.iter().all(|slot| {
        // `before the review` and `after the review` are values of the same detail, and differ in the preposition.
        let is_bare = |units: &[String]| matches!(units, [one] if slot.opener(units) == Some(one));
        !slot.is_substitution()
            || !(is_bare(&slot.incoming) && is_bare(&slot.known))
                && matches!((slot.opener(&slot.incoming), slot.opener(&slot.known)), (Some(x), Some(y)) if x != y)
    });
    let adds = |side: fn(&Slot) -> &Vec<String>| slots.iter().any(|slot| !side(slot).is_empty());
    !moved && details && adds(|slot| &slot.incoming) && adds(|slot| &slot.known)
}

/// Returns the only position where each text has its own units, if the known text adds nothing elsewhere.
pub(super) fn only_substitution(slots: &[Slot]) -> Option<&Slot> {
    let mut found = slots.iter().filter(|slot| slot.is_substitution());
    let first = found.next()?;
    (found.next().is_none() && slots.iter().all(|slot| slot.known.is_empty() || slot.is_substitution()))
        .then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adds(a: &str, b: &str) -> bool {
        each_adds(&slots(a, b).unwrap())
    }

    #[test]
    fn details_of_another_kind_are_told_from_another_value() {
        assert!(adds("the choir sings on mondays with ada", "the choir sings on mondays in the old hall"));
        assert!(adds("der chor probt montags, weil der saal frei ist", "der chor probt montags mit ada"));
        assert!(adds("用户周一跟老师学画画", "用户周一在学校学画画"));
        assert!(adds("사용자는 월요일마다 학교에서 노래한다", "사용자는 월요일마다 친구에게 노래한다"));
        assert!(!adds("the choir sings in oslo", "the choir sings in rome"));
        assert!(!adds("the choir sings before the meal", "the choir sings after the meal"));
        assert!(!adds("trains go from oslo to rome", "trains go from rome to oslo"));
        assert!(!adds("the choir sings", "the choir sings with ada"));
        assert!(!adds("用户喜欢茶", "用户喜欢酒"));
    }

    #[test]
    fn the_place_that_differs_is_found() {
        let slots = slots("the server listens on 9000 now", "the server listens on 8000").unwrap();
        let place = only_substitution(&slots).unwrap();
        assert_eq!(
            (place.incoming.join(" "), place.known.join(" "), place.shared_before),
            ("9000 now".into(), "8000".into(), 4)
        );
    }
}
