//! Days that share a month with a date beside them, and months that stand alone.

use std::sync::LazyLock;

use regex::Regex;

use super::written::{Days, Written, month};

/// What may stand between the days of one month.
const JOINT: &str = r"\s*(?:,|–|-|—|/|~|&|\+|\bto\b|\bthrough\b|\buntil\b|\band\b|\bor\b|\bbis\b|\bund\b|\boder\b|\bal\b|\by\b|\bo\b|\ba\b|\bhasta\b|至|到|和|、)\s*(?:the\s|el\s|den\s|zum\s|dem\s)?";

static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)(?:^|[^\d.,:])(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|º|日|号)?{JOINT}$"))
        .expect("the pattern is constant and a test compiles it")
});
static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^{JOINT}(?P<day>\d{{1,2}})(?:st|nd|rd|th|日|号|\b)"))
        .expect("the pattern is constant and a test compiles it")
});

/// Most days before or behind a date.
const MAX_DAYS: usize = 8;

/// Adds the days that are told together with one of `found`, the dates of `text`: the 20th of "20.–22. März".
pub(super) fn ranges(text: &str, found: &mut Vec<Written>) {
    for place in 0..found.len() {
        let [days] = found[place].meanings[..] else { continue };
        if days.first != days.last {
            continue;
        }
        let (mut start, mut end) = (found[place].at.start, found[place].at.end);
        let is_free = |at: usize, found: &[Written]| !found.iter().any(|one| one.at.contains(&at));
        for _ in 0..MAX_DAYS {
            let Some(day) = BEFORE.captures(&text[..start]).and_then(|found| found.name("day")) else { break };
            let Some(days) = same_month(days, day.as_str()).filter(|_| is_free(day.start(), found)) else { break };
            start = day.start();
            found.push(Written { at: day.range(), meanings: vec![days] });
        }
        // "March 20-22" and 3月20日至22日; behind "20 March" a number is one of something else.
        while !text[..end].ends_with(char::is_alphabetic) || text[..end].ends_with(['日', '号', '號']) {
            let Some(day) = AFTER.captures(&text[end..]).and_then(|found| found.name("day")) else { break };
            let at = end + day.start()..end + day.end();
            let Some(days) = same_month(days, day.as_str()).filter(|_| is_free(at.start, found)) else { break };
            if text[at.end..].starts_with([':', '%', '月', '-', '.', '/']) {
                break;
            }
            end = at.end;
            found.push(Written { at, meanings: vec![days] });
        }
    }
}

fn same_month(days: Days, day: &str) -> Option<Days> {
    Days::day(days.year, days.first.0, day.parse().ok()?)
}

/// Returns the months that are named in `text` outside of `dates`; "may" and "march" only with a capital.
pub(super) fn bare_months(text: &str, dates: &[Written]) -> Vec<Days> {
    let words = text.split(|c: char| !c.is_alphabetic());
    let at = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let is_in_date = |word: &str| dates.iter().any(|one| one.at.contains(&at(word)));
    let is_month = |word: &&str| match word.to_lowercase().as_str() {
        "mar" | "mars" | "ago" | "abr" | "ene" | "dec" | "" => false,
        "may" | "march" | "jan" | "august" | "mai" => word.starts_with(char::is_uppercase),
        _ => true,
    };
    words
        .filter(is_month)
        .filter(|word| !is_in_date(word))
        .filter_map(month)
        .filter_map(|month| Days::months(None, month, month))
        .collect()
}
