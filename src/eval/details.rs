//! What is measured of memories beyond whether they are right: dates, importance, and what was lost on the way.

use super::case::Importance;
use super::consolidation::Moment;
use super::counts::Counts;
use super::locomo::{Open, open_date};
use super::matcher::{Match, Rules};
use super::prediction::Prediction;
use super::score::{Finding, Standing};
use super::text::normal;

/// Least importance of a memory that is of high, and of one that is of medium importance.
const HIGH: f64 = 0.7;
const MEDIUM: f64 = 0.4;

impl Importance {
    /// Returns what a memory of this importance counts for in the weighted recall.
    #[must_use]
    pub const fn weight(self) -> u64 {
        match self {
            Self::High => 3,
            Self::Medium => 2,
            Self::Low => 1,
        }
    }

    /// Returns the importance that a number from 0 to 1 stands for.
    #[must_use]
    pub fn of(number: f64) -> Self {
        if number >= HIGH {
            Self::High
        } else if number >= MEDIUM {
            Self::Medium
        } else {
            Self::Low
        }
    }
}

/// Counts the dates and the importance of memories that are right or optional, and dates that any leaves open.
pub(super) fn count_details(rules: &Rules, predictions: &[Prediction], findings: &[Finding], counts: &mut Counts) {
    let mut ranked: Vec<(Importance, f64)> = Vec::new();
    for (prediction, finding) in predictions.iter().zip(findings) {
        counts.open_dates += u64::from(open_date(&prediction.content) == Open::Hard);
        if !matches!(finding.standing, Standing::Right | Standing::Optional) {
            continue;
        }
        let golds = || finding.golds.iter().map(|&gold| &rules.golds[gold]);
        let dates: Vec<Moment> = golds().filter_map(|gold| gold.date).collect();
        if !dates.is_empty() {
            counts.dated += 1;
            counts.date_right += u64::from(dates.iter().all(|date| tells(prediction, *date)));
        }
        if let (Some(number), Some(expected)) = (prediction.importance, golds().map(|gold| gold.importance).min()) {
            counts.weighed += 1;
            counts.weighed_right += u64::from(Importance::of(number) == expected);
            ranked.push((expected, number));
        }
    }
    count_order(&ranked, counts);
}

/// Whether a memory names the day or month, or holds from or until it.
fn tells(prediction: &Prediction, date: Moment) -> bool {
    let (first, last) = (date.first(), date.last());
    if prediction.valid.iter().any(|at| (first..=last).contains(at)) {
        return true;
    }
    let day = first.to_zoned(jiff::tz::TimeZone::UTC).date();
    let (year, month, number) = (day.year(), i32::from(day.month()), day.day());
    let spelled = if matches!(date, Moment::Month(_)) {
        vec![format!("{year}-{month:02}"), format!("{year}年{month}月"), day.strftime("%B %Y").to_string()]
    } else {
        vec![
            day.to_string(),
            format!("{month}月{number}日"),
            day.strftime("%B %-d").to_string(),
            day.strftime("%-d %B").to_string(),
            day.strftime("%-d. %B").to_string(),
        ]
    };
    let text = &prediction.searched;
    spelled.iter().any(|date| text.contains(&normal(date)))
}

/// Counts pairs of memories of unlike importance that are in the right order; one of equals counts half.
fn count_order(ranked: &[(Importance, f64)], counts: &mut Counts) {
    for (at, (one, first)) in ranked.iter().enumerate() {
        for (other, second) in &ranked[at + 1..] {
            if one == other {
                continue;
            }
            // The more important comes first in the order of the kinds.
            let (upper, lower) = if one < other { (first, second) } else { (second, first) };
            counts.order_pairs += 2;
            counts.order_right += if upper > lower { 2 } else { u64::from((upper - lower).abs() < f64::EPSILON) };
        }
    }
}

/// Counts what was extracted and is not recalled in the end, of memories whose place others took.
///
/// A required gold memory is lost if a superseded memory says it and the active ones do not; such a memory was wrongly
/// retired. Returns the ids of the gold memories that were lost.
pub(super) fn count_lost(rules: &Rules, recalled: &[bool], retired: &[Prediction], counts: &mut Counts) -> Vec<String> {
    let says = |gold: usize, prediction: &Prediction| rules.golds[gold].matches(&prediction.searched) == Match::Yes;
    let required: Vec<usize> = (0..rules.golds.len()).filter(|&gold| !rules.golds[gold].optional).collect();
    let mut lost = Vec::new();
    for &gold in &required {
        let was_said = retired.iter().any(|one| says(gold, one));
        counts.extracted += u64::from(recalled[gold] || was_said);
        if was_said && !recalled[gold] {
            counts.lost += 1;
            lost.push(rules.golds[gold].id.clone());
        }
    }
    let is_wrong = |one: &&Prediction| required.iter().any(|&gold| !recalled[gold] && says(gold, one));
    counts.retired += retired.len() as u64;
    counts.wrongly_retired += retired.iter().filter(is_wrong).count() as u64;
    lost
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::MemoryType;

    fn says(content: &str, importance: f64) -> Prediction {
        Prediction { importance: Some(importance), ..Prediction::new(MemoryType::Semantic, content, Vec::new()) }
    }

    #[test]
    fn a_date_is_told_in_words_in_digits_or_by_the_time_that_a_memory_holds_from() {
        let day: Moment = serde_json::from_str("\"2026-03-09\"").unwrap();
        let month: Moment = serde_json::from_str("\"2026-03\"").unwrap();
        for (text, date, told) in [
            ("Launch on 2026-03-09.", day, true),
            ("Launch on 9 March 2026.", day, true),
            ("Launch on March 9.", day, true),
            ("2026年3月9日上线。", day, true),
            ("Launch on 2026-03-10.", day, false),
            ("Launch in March 2026.", month, true),
            ("Launch in 2026-04.", month, false),
        ] {
            assert_eq!(tells(&says(text, 0.5), date), told, "{text}");
        }
        let held = Prediction { valid: vec![day.said()], ..says("The launch.", 0.5) };
        assert!(tells(&held, day) && tells(&held, month));
    }

    #[test]
    fn importance_in_the_wrong_order_counts_against_and_a_tie_half() {
        let mut counts = Counts::default();
        count_order(&[(Importance::High, 0.9), (Importance::Low, 0.2), (Importance::Medium, 0.2)], &mut counts);
        assert_eq!((counts.order_right, counts.order_pairs), (5, 6));
        let mut counts = Counts::default();
        count_order(&[(Importance::Low, 0.9), (Importance::High, 0.2)], &mut counts);
        assert_eq!((counts.order_right, counts.order_pairs), (0, 2));
    }
}
