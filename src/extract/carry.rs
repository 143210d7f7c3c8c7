//! What a later window of a long session is shown of what was said long before it; without a model, so that windows
//! stay apart, and pure.
//!
//! Shown again are a person's first words, which say what the session is about, and earlier words of persons to which
//! the window comes back: those that share rare words with it.

use std::collections::{HashMap, HashSet};

use super::Span;
use super::frame::CARRIED_TOKENS;
use super::signal::has_human_signal;
use super::stamp::STAMP_TOKENS;
use transcripts::Message;

/// Most messages shown again.
const MAX_CARRIED: usize = 4;
/// Upper bound of their tokens: number, label and clip marker, stamp and text of each.
pub(super) const MAX_CARRIED_TOKENS: usize = MAX_CARRIED * (CARRIED_TOKENS + STAMP_TOKENS + 12);
/// Messages of persons that are looked at, the last before the context.
const MAX_LOOKED_AT: usize = 1_000;
/// Bytes that are looked at of each.
const MAX_TEXT_BYTES: usize = 4_000;
/// A word is telling if at most one in this many messages has it.
const RARE: usize = 8;
/// Telling words that a message must share with the window.
const MIN_SHARED: usize = 2;

/// Returns the indexes of the messages to show again with a window: in order, all before its context.
pub(super) fn carried(messages: &[Message], span: Span) -> Vec<usize> {
    let speaks = |index: &usize| has_human_signal(std::slice::from_ref(&messages[*index]));
    let mut earlier: Vec<usize> = (0..span.context_start).rev().filter(speaks).take(MAX_LOOKED_AT).collect();
    earlier.reverse();
    let Some(goal) = (0..span.context_start).find(speaks) else { return Vec::new() };
    let said: Vec<HashSet<String>> = earlier.iter().map(|&index| terms(&messages[index].text)).collect();
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for term in said.iter().flatten() {
        *counts.entry(term).or_default() += 1;
    }
    let window = &messages[span.start..span.end];
    let wanted: HashSet<String> = window.iter().filter(|one| one.is_human()).flat_map(|one| terms(&one.text)).collect();
    let rare = (earlier.len() / RARE).max(1);
    let shared = |terms: &HashSet<String>| {
        terms.iter().filter(|term| wanted.contains(*term) && counts[term.as_str()] <= rare).count()
    };
    let mut ranked: Vec<(usize, usize)> = earlier
        .iter()
        .zip(&said)
        .filter(|&(&index, _)| index != goal)
        .map(|(&index, terms)| (shared(terms), index))
        .filter(|&(shared, _)| shared >= MIN_SHARED)
        .collect();
    // The later of two that share as much is closer to what holds now.
    ranked.sort_unstable_by(|a, b| b.cmp(a));
    let mut shown: Vec<usize> = ranked.into_iter().map(|(_, index)| index).take(MAX_CARRIED - 1).collect();
    shown.push(goal);
    shown.sort_unstable();
    shown
}

/// Returns what a text can be found by: its longer words and numbers, and of scripts without spaces each two signs.
fn terms(text: &str) -> HashSet<String> {
    let text = &text[..text.floor_char_boundary(MAX_TEXT_BYTES)];
    let mut terms = HashSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let signs: Vec<char> = word.chars().collect();
        if signs.iter().any(|&sign| is_ideographic(sign)) {
            terms.extend(signs.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else if signs.len() >= 4 || signs.iter().any(char::is_ascii_digit) {
            terms.insert(word.to_lowercase());
        }
    }
    terms
}

fn is_ideographic(sign: char) -> bool {
    matches!(sign, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn carried_by(texts: &[&str], context_start: usize, start: usize) -> Vec<usize> {
        let messages: Vec<Message> = texts.iter().map(|&text| Message::user(text)).collect();
        carried(&messages, Span { context_start, start, end: messages.len() })
    }

    #[test]
    fn the_goal_and_what_the_window_comes_back_to_are_shown_again() {
        let texts = [
            "ok",
            "Let us move the invoices to Postgres",
            "The printer Zephyr jams whenever it gets recycled paper",
            "Lunch was nice",
            "The weather is fine today",
            "Context of the window",
            "Zephyr jams again, and recycled paper was not even in it",
        ];
        assert_eq!(carried_by(&texts, 5, 6), [1, 2]);
        assert_eq!(carried_by(&texts, 2, 6), [1], "the context is shown anyway");
        assert_eq!(carried_by(&texts, 0, 6), [] as [usize; 0]);
        assert_eq!(carried_by(&texts, 1, 6), [] as [usize; 0], "nothing was said before");
    }

    #[test]
    fn chinese_is_found_by_pairs_of_signs() {
        let texts = ["我们来做账单系统", "打印机卡纸的时候要先关电源", "今天天气很好", "上下文", "打印机又卡纸了"];
        assert_eq!(carried_by(&texts, 3, 4), [0, 1]);
    }

    #[test]
    fn words_that_everybody_uses_tell_nothing_and_few_messages_are_shown() {
        let common: Vec<String> = (0..40).map(|n| format!("The server needs a restart, ticket {n}")).collect();
        let mut texts: Vec<&str> = common.iter().map(String::as_str).collect();
        texts.push("The server needs a restart");
        assert_eq!(carried_by(&texts, 40, 40), [0]);
        let named: Vec<String> = (0..6).map(|n| format!("Zephyr{n} prints on recycled{n} paper")).collect();
        let all = named.join(" ");
        let texts: Vec<&str> = named.iter().map(String::as_str).chain([all.as_str()]).collect();
        assert_eq!(carried_by(&texts, 6, 6), [0, 3, 4, 5]);
    }
}
