//! Numbers.

use std::collections::HashSet;
use std::sync::LazyLock;

use regex::Regex;

/// Numbers up to this may be days, months, hours or counts that were spelled in words.
const SMALL: u64 = 31;

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
pub(in super::super) fn foreign_number<'t>(content: &'t str, sources: &[&str]) -> Option<&'t str> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
