//! Whether a candidate's words come from what people said: dates, numbers, and text that was injected.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use jiff::civil::{Date, date};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};
use regex::Regex;

use super::quote::units;

/// Words in a run that is compared with injected text.
const SHINGLE: usize = 3;
/// Runs that a text must have before it is compared.
const MIN_SHINGLES: usize = 4;
/// Share of runs found in injected text from which a text restates it.
const RESTATES: f64 = 0.8;
/// Injected text that is compared, in bytes; boot files stand at the beginning.
const MAX_INJECTED_BYTES: usize = 400_000;
/// Numbers up to this may be days, months, hours or counts that were spelled in words.
const SMALL: u64 = 31;

/// Which end of a year, month or day is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// Its first second.
    First,
    /// Its last second.
    Last,
}

/// Reads a year, a month, a day or a full time stamp as the instant of its `edge` on a clock at `offset_seconds`.
pub(super) fn instant(text: &str, edge: Edge, offset_seconds: i32) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    // What follows a day, e.g. a time without offset, is beyond the precision that is asked for.
    let day = text.get(..10).filter(|_| text.get(10..11).is_none_or(|next| next == "T" || next == " ")).unwrap_or(text);
    let parts: Vec<&str> = day.split('-').collect();
    let number = |part: &str, digits: usize| (part.len() == digits).then(|| part.parse::<i16>().ok()).flatten();
    let (first, next) = match parts[..] {
        [year] => {
            let first = Date::new(number(year, 4)?, 1, 1).ok()?;
            (first, first.checked_add(1.year()))
        }
        [year, month] => {
            let first = Date::new(number(year, 4)?, i8::try_from(number(month, 2)?).ok()?, 1).ok()?;
            (first, first.checked_add(1.month()))
        }
        [year, month, day] => {
            let (month, day) = (i8::try_from(number(month, 2)?).ok()?, i8::try_from(number(day, 2)?).ok()?);
            let first = Date::new(number(year, 4)?, month, day).ok()?;
            (first, first.checked_add(1.day()))
        }
        _ => return None,
    };
    // Nobody remembers beyond these years; a date there is a slip.
    if !(date(1000, 1, 1)..date(4000, 1, 1)).contains(&first) {
        return None;
    }
    let offset = Offset::from_seconds(offset_seconds).unwrap_or(Offset::UTC);
    let at = |date: Date| offset.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok();
    match edge {
        Edge::First => at(first),
        Edge::Last => at(next.ok()?)?.checked_sub(1.second()).ok(),
    }
}

static NUMBER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\p{Nd}+(?:[.,:_'’ ]?\p{Nd}+)*").expect("the pattern is constant and a test compiles it")
});

/// Words of several languages behind which a number can hide.
static NUMBER_WORD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)hundred|thousand|million|billion|dozen|half|double|(?:twen|thir|for|fif|six|seven|eigh|nine)ty|percent|hundert|tausend|zig\b|ßig\b|\bcent\b|\bmil(?:le)?\b|\bcien|enta\b|ante\b|[〇零十百千万萬亿億]|백|천|만|сто|тысяч|десят",
    )
    .expect("the pattern is constant and a test compiles it")
});

/// Returns a number of `content` that clearly comes from nowhere: not in `sources`, no date, and too large for a count
/// that was spelled in words.
pub(super) fn foreign_number<'t>(content: &'t str, sources: &[&str]) -> Option<&'t str> {
    let candidates: Vec<&str> =
        NUMBER.find_iter(content).map(|found| found.as_str()).filter(|n| is_telling(n)).collect();
    if candidates.is_empty() || sources.iter().any(|source| NUMBER_WORD.is_match(source)) {
        return None;
    }
    let known: HashSet<String> =
        sources.iter().flat_map(|source| NUMBER.find_iter(source)).map(|found| digits(found.as_str())).collect();
    candidates.into_iter().find(|number| {
        let wanted = digits(number);
        let stem = wanted.trim_end_matches('0');
        // "12k" may become 12,000, and "3.14.159" may be quoted in part.
        !known
            .iter()
            .any(|one| one.contains(&wanted) || one.trim_end_matches('0') == stem || wanted.contains(one.as_str()))
    })
}

fn digits(number: &str) -> String {
    number
        .chars()
        .filter_map(|c| c.to_digit(10).or_else(|| wide_digit(c)))
        .filter_map(|d| char::from_digit(d, 10))
        .collect()
}

fn wide_digit(c: char) -> Option<u32> {
    matches!(c, '０'..='９').then(|| u32::from(c) - u32::from('０'))
}

/// Whether a number says something that no date or small count would.
fn is_telling(number: &str) -> bool {
    let is_time = number.contains(':');
    let value: u64 = digits(number).parse().unwrap_or(u64::MAX);
    !is_time && value > SMALL && !(1900..=2100).contains(&value)
}

/// What was injected into a conversation, for finding memories that only repeat it.
#[derive(Debug, Default)]
pub(super) struct Injected {
    /// Hash of each run of words to the first message that has it.
    runs: HashMap<u64, usize>,
}

impl Injected {
    /// Reads injected texts, each with the index of its message, in order.
    pub(super) fn new<'t>(texts: impl Iterator<Item = (usize, &'t str)>) -> Self {
        let (mut injected, mut bytes) = (Self::default(), 0);
        for (index, text) in texts {
            let room = MAX_INJECTED_BYTES.saturating_sub(bytes);
            let text = &text[..text.floor_char_boundary(room)];
            bytes += text.len();
            for run in runs(text) {
                injected.runs.entry(run).or_insert(index);
            }
        }
        injected
    }

    /// Whether `text` mostly repeats what was injected before message `before`.
    pub(super) fn restates(&self, text: &str, before: usize) -> bool {
        let runs = runs(text);
        let known = runs.iter().filter(|run| self.runs.get(run).is_some_and(|&index| index < before)).count();
        #[expect(clippy::cast_precision_loss, reason = "a text has far fewer runs than a float has digits")]
        let share = known as f64 / runs.len().max(1) as f64;
        runs.len() >= MIN_SHINGLES && share >= RESTATES
    }
}

fn runs(text: &str) -> Vec<u64> {
    use std::hash::{DefaultHasher, Hash as _, Hasher as _};
    let hash = |run: &[String]| {
        let mut hasher = DefaultHasher::new();
        run.hash(&mut hasher);
        hasher.finish()
    };
    units(text).windows(SHINGLE).map(hash).collect()
}

/// Whether a text says nothing once the placeholders of secrets are taken out of it.
pub(super) fn is_only_secret(content: &str, quote: &str, value: Option<&str>) -> bool {
    let blank = |text: &str| PLACEHOLDER.replace_all(text, " ").chars().all(|c| !c.is_alphanumeric());
    // A placeholder inside a word, as in an address, leaves the rest telling; one that stands alone is the point.
    let is_point = ALONE.is_match(content) && units(&PLACEHOLDER.replace_all(content, " ")).len() < 8;
    blank(content) || blank(quote) || value.is_some_and(|value| PLACEHOLDER.is_match(value) && blank(value)) || is_point
}

static PLACEHOLDER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)[\[<{«]{1,2}(?:redacted|private|secret)[^\]>}»\n]{0,80}[\]>}»]{1,2}")
        .expect("the pattern is constant and a test compiles it")
});

static ALONE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:^|[\s'\x22`“:是为：])[\[<{«]{1,2}(?:redacted|private|secret)[^\]>}»\n]{0,80}[\]>}»]{1,2}(?:$|[\s'\x22`”.,;!?。，])")
        .expect("the pattern is constant and a test compiles it")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_three_precisions_cover_their_whole_span() {
        for (text, first, last) in [
            ("2026", "2025-12-31T22:00:00Z", "2026-12-31T21:59:59Z"),
            ("2026-02", "2026-01-31T22:00:00Z", "2026-02-28T21:59:59Z"),
            (" 2024-02-29 ", "2024-02-28T22:00:00Z", "2024-02-29T21:59:59Z"),
            ("2024-02-29T10:00", "2024-02-28T22:00:00Z", "2024-02-29T21:59:59Z"),
            ("2026-03-01T14:00:00+02:00", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
        ] {
            let at = |edge| instant(text, edge, 7_200).map(|at| at.to_string());
            assert_eq!((at(Edge::First).as_deref(), at(Edge::Last).as_deref()), (Some(first), Some(last)), "{text}");
        }
        for text in [
            "",
            "soon",
            "2026-13",
            "2026-02-30",
            "26",
            "2026-3-1",
            "0001",
            "9999",
            "2026-03-011",
            "March 2026",
            "去年",
            "-2026",
        ] {
            assert_eq!(instant(text, Edge::First, 0), None, "{text}");
        }
    }

    #[test]
    fn only_numbers_from_nowhere_are_foreign() {
        let sources = ["The pool has 250 connections since v3.14, limit 12k", "listening on 8080"];
        for content in [
            "250 connections",
            "version 3.14 is used",
            "a limit of 12,000",
            "port 8080",
            "on 2026-02-27 at 15:45",
            "three of 7",
            "in 2019",
            "２５０ connections",
            "no number",
        ] {
            assert_eq!(foreign_number(content, &sources), None, "{content}");
        }
        assert_eq!(foreign_number("The pool has 300 connections.", &sources), Some("300"));
        assert_eq!(foreign_number("The pool has 300 connections.", &["three hundred of them"]), None);
        assert_eq!(foreign_number("连接数是300", &["连接数是三百"]), None);
        assert_eq!(foreign_number("连接数是300", &["连接数是250"]), Some("300"));
    }

    #[test]
    fn repeating_an_earlier_boot_file_is_restating() {
        let injected = Injected::new(
            [(2, "Use pnpm for all packages and run the linter before each commit. 所有提交信息都用英文书写")]
                .into_iter(),
        );
        assert!(injected.restates("Run the linter before each commit.", 3));
        assert!(injected.restates("提交信息都用英文", 3));
        assert!(!injected.restates("Run the linter before each commit.", 2));
        assert!(!injected.restates("Run the formatter before each merge to main.", 3));
        assert!(!injected.restates("use pnpm", 3));
    }

    #[test]
    fn a_memory_that_is_only_a_secret_says_nothing() {
        let hidden = |name: &str| format!("[REDACTED:{name}]");
        for content in
            [hidden("x"), format!("The user's API key is {}.", hidden("key")), format!("密码是{}", hidden("k"))]
        {
            assert!(is_only_secret(&content, "the key is", None), "{content}");
        }
        assert!(is_only_secret("The key rotates.", &hidden("k"), None));
        assert!(is_only_secret("The key rotates.", "rotates", Some(&hidden("k"))));
        let address = format!("The staging database is postgres://app:{}@db.internal/shop.", hidden("password"));
        assert!(!is_only_secret(&address, "staging database", Some(&address)));
        assert!(!is_only_secret("Secrets live in Vault (secret store).", "in Vault", Some("Vault")));
    }
}
