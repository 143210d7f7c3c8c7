//! Compares the order of words: "tabs over spaces" and "spaces over tabs" have the same words but opposite meanings.

use std::collections::BTreeSet;

use super::features::Polarity;
use super::slots::units;
use super::tokens::is_stop_word;
use super::view::{View, is_episode};
use crate::text::tokens::is_listed;

/// Function words whose two sides may be exchanged without changing the meaning.
const SYMMETRIC: &str = "and or with und oder mit y o e u con et ou avec , the a an der die das";

/// Words between the two things of a comparison: the first thing is preferred to the second.
const COMPARING: &str = "over to than of before als dem statt vor que a al sobre à au";

/// Further words between two things that do not have the same role.
const DIRECTING: &str = "after from into by for on under against behind above below nach von auf für gegen unter über \
    después de por para en tras après pour sur sous par";

/// Words that express a preference.
const PREFERRING: &str = "prefer prefers preferred preferring rather favour favours favor favors like likes love loves \
    value values rank ranks choose chooses trust trusts better more bevorzugt bevorzuge bevorzugen lieber zieht ziehe \
    ziehen mag schätzt schätze prefiere prefiero preferimos mejor gusta gustan más préfère préfères préférons aime \
    aimons mieux plutôt";

/// Comparisons in scripts without spaces, in which the order of the characters matters.
const WIDE_COMPARING: &[&str] = &["比", "胜过", "多于", "优于", "而不是", "而非", "より"];

/// Words in these scripts that express a preference.
const WIDE_PREFERRING: &[&str] = &["喜欢", "偏好", "偏爱", "宁愿", "更", "好き", "好む"];

/// Two claims with the same words on opposite sides of one function word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ExchangeFinding {
    /// Each claim prefers what the other one does not.
    Preference,
    /// Each thing has the role that the other one has in the other claim.
    Roles,
}

/// Returns how two claims with the same content words differ in their order; `None` if the order does not change the
/// meaning, as when a detail moves to the front.
pub(super) fn exchange(a: &View<'_>, b: &View<'_>) -> Option<ExchangeFinding> {
    let (left, right) = (&a.features, &b.features);
    if left.text == right.text || left.figures != right.figures {
        return None;
    }
    let same_words = left.tokens == right.tokens && left.entities == right.entities;
    // Pairs of characters change with the order, so texts without spaces are compared by single characters.
    let may_be_wide = !left.text.is_ascii() && left.text.len() == right.text.len();
    if !same_words && !may_be_wide {
        return None;
    }
    let (x, y) = (units(&left.text), units(&right.text));
    if !same_words && sorted(&x) != sorted(&y) {
        return None;
    }
    let relates = |word: &str| is_stop_word(word) || is_listed(COMPARING, word) || is_listed(DIRECTING, word);
    let around = |word: &&String| relates(word) && !is_listed(SYMMETRIC, word) && is_exchanged_around(word, &x, &y);
    let words: Vec<&String> = x.iter().filter(around).collect();
    let is_wide = WIDE_COMPARING.iter().any(|one| left.text.contains(one) && right.text.contains(one))
        && sorted(&x) == sorted(&y);
    if words.is_empty() && !is_wide {
        return None;
    }
    let is_one_kind = left.polarity == right.polarity
        && left.polarity != Polarity::Mixed
        && left.except == right.except
        && left.settings == right.settings
        && is_episode(a) == is_episode(b);
    let prefers =
        x.iter().any(|unit| is_listed(PREFERRING, unit)) && words.iter().any(|word| is_listed(COMPARING, word));
    let wide_prefers = is_wide && WIDE_PREFERRING.iter().any(|one| left.text.contains(one));
    Some(if is_one_kind && (prefers || wide_prefers) { ExchangeFinding::Preference } else { ExchangeFinding::Roles })
}

/// Whether a content word before `word` in one text comes after it in the other text, and the reverse is true of
/// another content word.
fn is_exchanged_around(word: &str, a: &[String], b: &[String]) -> bool {
    let Some(((a_before, a_after), (b_before, b_after))) = sides(word, a).zip(sides(word, b)) else { return false };
    let moves = |from: &BTreeSet<&str>, to: &BTreeSet<&str>| from.intersection(to).next().is_some();
    moves(&a_before, &b_after) && moves(&a_after, &b_before)
}

/// Returns the content words that occur only before the single `word`, and those that occur only after it.
fn sides<'a>(word: &str, units: &'a [String]) -> Option<(BTreeSet<&'a str>, BTreeSet<&'a str>)> {
    let mut places = units.iter().enumerate().filter(|(_, unit)| *unit == word).map(|(place, _)| place);
    let place = places.next().filter(|_| places.next().is_none())?;
    let content = |units: &'a [String]| -> BTreeSet<&'a str> {
        units.iter().map(String::as_str).filter(|unit| *unit != "," && !is_stop_word(unit)).collect()
    };
    let (before, after) = (content(&units[..place]), content(&units[place + 1..]));
    Some((&before - &after, &after - &before))
}

fn sorted(units: &[String]) -> Vec<&str> {
    let mut units: Vec<&str> = units.iter().map(String::as_str).collect();
    units.sort_unstable();
    units
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::consolidate::tests::testing::known;

    fn found(a: &str, b: &str) -> Option<ExchangeFinding> {
        let [a, b] = [a, b].map(|text| known("a", text));
        exchange(&View::of(&a.memory.claim, &[]), &View::of(&b.memory.claim, &[]))
    }

    #[test]
    fn a_preference_the_other_way_round_is_found_in_any_language() {
        for (a, b) in [
            ("The user prefers rebase over merge.", "The user prefers merge over rebase."),
            ("The user prefers light mode to dark mode.", "The user now prefers dark mode to light mode."),
            ("I would rather test than debug.", "I would rather debug than test."),
            ("The user values speed more than safety.", "The user values safety more than speed."),
            ("Der Nutzer mag Tee lieber als Kaffee.", "Der Nutzer mag Kaffee lieber als Tee."),
            ("El usuario prefiere el té al café.", "El usuario prefiere el café al té."),
            ("用户喜欢茶胜过咖啡。", "用户喜欢咖啡胜过茶。"),
        ] {
            assert_eq!(found(a, b), Some(ExchangeFinding::Preference), "{a}");
        }
    }

    #[test]
    fn exchanged_roles_are_told_from_a_detail_that_moves() {
        assert_eq!(
            found("The worker waits for the queue.", "The queue waits for the worker."),
            Some(ExchangeFinding::Roles)
        );
        assert_eq!(
            found("Run the linter before the tests.", "Run the tests before the linter."),
            Some(ExchangeFinding::Roles)
        );
        for (a, b) in [
            ("On weekends the user bakes bread.", "The user bakes bread on weekends."),
            ("The team meets with the designers on Mondays.", "On Mondays the team meets with the designers."),
            ("The user plays the flute and the oboe.", "The user plays the oboe and the flute."),
        ] {
            assert_eq!(found(a, b), None, "{a}");
        }
    }
}
