//! English dates as they are spoken: weekdays by themselves, and days that are spelled.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Weekday};
use regex::{Captures, Regex};

use super::english::{MONTHS, PATTERN, WEEKDAYS, before, month_number, resolve};
use super::{Dated, Resolved, coming, latest, note, weekday_at};

#[rustfmt::skip]
const ORDINALS: [&str; 31] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second",
    "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth",
    "thirty-first",
];

/// Puts ISO dates beside English relative dates; `now` is the reading of the speaker's own clock.
pub(super) fn noted(text: &str, now: Option<DateTime>) -> Dated {
    let noted = note(text, now, &PATTERN, resolve, |found| {
        matches!(before(found).as_str(), "until" | "till" | "by" | "before")
    });
    let past = PAST.is_match(text) && !AHEAD.is_match(text);
    let resolve = if past { weekday_gone } else { weekday_ahead };
    let with_weekdays =
        note(&noted.text, now, &WEEKDAY, resolve, |found| matches!(before(found).as_str(), "until" | "till" | "by"));
    let with_days = note(&with_weekdays.text, now, &DAY, day_of_month, |_| false);
    Dated { first: noted.first.or(with_weekdays.first).or(with_days.first), ..with_days }
}

/// A weekday by itself: which one is meant, the tense tells.
static WEEKDAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?i)\b(?:(?P<before>on|by|until|till|before|since|due|due on|is|starts|starting|from) )?(?P<weekday>{weekdays})\b(?:,? (?:the )?(?P<nth>\d{{1,2}}|{ordinals})(?:st|nd|rd|th)?\b(?:(?: of)? (?P<of>{months})\b)?)?",
        weekdays = WEEKDAYS.join("|"),
        ordinals = ORDINALS.join("|"),
        months = months(),
    ))
    .expect("the pattern is a constant")
});
/// A day that is spelled: "the first of May".
static DAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)\b(?:the )?(?P<nth>{}) of (?P<of>{})\b", ORDINALS.join("|"), months()))
        .expect("the pattern is a constant")
});
static PAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:was|were|had|went|came|got|did|bought|sold|sat|told|put|took|made|left|lost|broke|met|ran|saw|gave|began|\w{2,}ed)\b")
        .expect("the pattern is a constant")
});
static AHEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:will|going to|shall|is|are|must|can|\w+'ll|due|starts?|ends?)\b")
        .expect("the pattern is a constant")
});

fn weekday_gone(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let weekday = named_weekday(found)?;
    if found.name("nth").is_some() {
        return day_and_weekday(found, weekday, now);
    }
    if matches!(before(found).as_str(), "" | "is") {
        return None;
    }
    let ahead = matches!(before(found).as_str(), "by" | "until" | "till" | "due" | "due on" | "starting" | "starts");
    let date = if ahead { coming(now.date(), weekday)? } else { latest(now.date(), weekday)? };
    Some(Resolved::day(date, "on"))
}

fn weekday_ahead(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let weekday = named_weekday(found)?;
    if found.name("nth").is_some() {
        return day_and_weekday(found, weekday, now);
    }
    if matches!(before(found).as_str(), "" | "is") {
        return None;
    }
    let since = before(found) == "since";
    let date = if since { latest(now.date(), weekday)? } else { coming(now.date(), weekday)? };
    Some(Resolved::day(date, "on"))
}

/// Returns the nearest day with this weekday and this day of the month, ahead first: "Monday the twenty-third".
fn day_and_weekday(found: &Captures<'_>, weekday: Weekday, now: DateTime) -> Option<Resolved> {
    let day = day(found)?;
    let month = found.name("of").and_then(|name| month_number(&name.as_str().to_lowercase()));
    let is_it =
        |date: &Date| date.weekday() == weekday && date.day() == day && month.is_none_or(|month| date.month() == month);
    let near = |step: i32| {
        (0..=200).filter_map(move |count: i32| now.date().checked_add((count * step).days()).ok()).find(is_it)
    };
    near(1).or_else(|| near(-1)).map(|date| Resolved::day(date, "on"))
}

fn named_weekday(found: &Captures<'_>) -> Option<Weekday> {
    let name = found.name("weekday")?.as_str().to_lowercase();
    weekday_at(WEEKDAYS.iter().position(|other| *other == name)?)
}

/// Returns the day that is spelled, of the year in which it lies nearest.
fn day_of_month(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let day = day(found)?;
    let month = month_number(&found.name("of")?.as_str().to_lowercase())?;
    let today = now.date();
    let years = [0, 1, -1].into_iter().filter_map(|step| Date::new(today.year() + step, month, day).ok());
    let date = years.min_by_key(|date| (*date - today).get_days().abs())?;
    Some(Resolved::day(date, "on"))
}

fn day(found: &Captures<'_>) -> Option<i8> {
    let text = found.name("nth")?.as_str().to_lowercase();
    let ordinal = ORDINALS.iter().position(|other| *other == text).and_then(|at| i8::try_from(at + 1).ok());
    ordinal.or_else(|| text.parse().ok())
}

fn months() -> String {
    MONTHS.iter().map(|month| format!("{}(?:{})?", &month[..3], &month[3..])).collect::<Vec<_>>().join("|")
}
