//! English relative dates.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::{Date, DateTime, Weekday};
use regex::{Captures, Regex};

use super::{Dated, Resolved, Unit, nearest, replace, shifted, week, weekday_in};

pub(super) const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];
pub(super) const WEEKDAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
const NUMBERS: [&str; 12] =
    ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"];

pub(super) static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let number = format!(r"\d{{1,3}}|an?|{}", NUMBERS.join("|"));
    let months = "jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?";
    Regex::new(&format!(
        r"(?ix)\b(?:(?P<before>since|until|till|by|from|before|after|of|as\ of|starting|effective|on|in|during|about|around|over|at)\s+)?
        (?:(?P<day>the\ day\ before\ yesterday|the\ day\ after\ tomorrow|yesterday|tomorrow|today)(?:\s+(?P<part>morning|afternoon|evening|night))?
        |(?P<near>last\ night|tonight|this\ (?:morning|afternoon|evening))
        |(?:(?:earlier|later)\s+)?(?P<dir>last|next|this)\s+(?P<unit>week|weekend|month|quarter|year|fortnight|{weekdays}|{full_months})
        |(?P<n>{number})\s+(?P<span>minute|hour|day|week|fortnight|month|year)s?\s+(?P<way>ago|from\ (?:now|today))
        |in\s+(?P<m>{number})\s+(?P<ahead>minute|hour|day|week|fortnight|month|year)s?
        |(?P<month>{months})\.?\s+(?P<dom>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s+(?P<y>\d{{4}}))?
        |(?P<dom2>\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?(?P<month2>{months})(?:,?\s+(?P<y2>\d{{4}}))?
        |(?P<month3>{full_months}))\b",
        weekdays = WEEKDAYS.join("|"),
        full_months = MONTHS.join("|"),
    ))
    .expect("the pattern is a constant")
});

/// Puts ISO dates in the place of English relative dates; `now` is the reading of the speaker's own clock.
pub(in super::super) fn english(text: &str, now: Option<DateTime>) -> Dated {
    replace(text, now, &PATTERN, resolve, spell, |found| {
        matches!(before(found).as_str(), "until" | "till" | "by" | "before")
    })
}

pub(super) fn before(found: &Captures<'_>) -> String {
    found.name("before").map(|word| word.as_str().to_lowercase()).unwrap_or_default()
}

fn spell(found: &Captures<'_>, resolved: &Resolved) -> String {
    match before(found).as_str() {
        "" | "on" | "in" | "about" | "around" | "over" | "at" if resolved.preposition.is_empty() => {
            resolved.words.clone()
        }
        "" | "on" | "in" | "about" | "around" | "over" | "at" => format!("{} {}", resolved.preposition, resolved.words),
        _ => format!("{} {}", &found["before"], resolved.words),
    }
}

pub(super) fn resolve(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let today = now.date();
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    if let Some(word) = lower("day") {
        return Some(part_of_day(today.checked_add(days_ahead(&word).days()).ok()?, lower("part").as_deref()));
    }
    if let Some(word) = lower("near") {
        let night = if word == "last night" { today.yesterday().ok()? } else { today };
        let part = word.strip_prefix("this ").unwrap_or("night");
        return Some(part_of_day(night, Some(part)));
    }
    if let (Some(count), Some(unit)) = (lower("n"), lower("span")) {
        let sign = if lower("way").is_some_and(|way| way == "ago") { -1 } else { 1 };
        return counted(now, &count, &unit, sign);
    }
    if let (Some(count), Some(unit)) = (lower("m"), lower("ahead")) {
        return counted(now, &count, &unit, 1);
    }
    if let Some(direction) = lower("dir") {
        let ahead = match direction.as_str() {
            "last" => -1,
            "next" => 1,
            _ => 0,
        };
        return named(&lower("unit")?, ahead, today);
    }
    calendar(found, today)
}

fn days_ahead(word: &str) -> i32 {
    match word {
        "the day before yesterday" => -2,
        "yesterday" => -1,
        "tomorrow" => 1,
        "the day after tomorrow" => 2,
        _ => 0,
    }
}

fn part_of_day(date: Date, part: Option<&str>) -> Resolved {
    match part {
        None => Resolved::day(date, "on"),
        Some("night") => Resolved { date, words: format!("the night of {date}"), preposition: "on" },
        Some(part) => Resolved { date, words: format!("the {part} of {date}"), preposition: "in" },
    }
}

fn counted(now: DateTime, count: &str, unit: &str, sign: i32) -> Option<Resolved> {
    let count = sign * number(count)?;
    match unit {
        "minute" => shifted(now, count, Unit::Minute),
        "hour" => shifted(now, count, Unit::Hour),
        "day" => shifted(now, count, Unit::Day),
        "week" => shifted(now, count, Unit::Week),
        "fortnight" => shifted(now, count * 2, Unit::Week),
        "month" => shifted(now, count, Unit::Month),
        _ => shifted(now, count, Unit::Year),
    }
}

fn number(word: &str) -> Option<i32> {
    if word == "a" || word == "an" {
        return Some(1);
    }
    let position = NUMBERS.iter().position(|other| *other == word);
    position.map_or_else(|| word.parse().ok(), |at| i32::try_from(at + 1).ok())
}

/// Resolves "last week", "next Friday", "this quarter", "last March".
fn named(unit: &str, ahead: i32, today: Date) -> Option<Resolved> {
    match unit {
        "week" => {
            let date = week(today, ahead)?;
            Some(Resolved { date, words: format!("the week of {date}"), preposition: "in" })
        }
        "weekend" => {
            let date = weekday_in(week(today, ahead)?, Weekday::Saturday)?;
            Some(Resolved { date, words: format!("the weekend of {date}"), preposition: "on" })
        }
        "fortnight" => None,
        "month" => Some(Resolved::month(today.first_of_month().checked_add(ahead.months()).ok()?, "in")),
        "quarter" => {
            let date = today.first_of_month().checked_add((ahead * 3).months()).ok()?;
            let quarter = (date.month() - 1) / 3;
            let first = Date::new(date.year(), quarter * 3 + 1, 1).ok()?;
            Some(Resolved {
                date: first,
                words: format!("the {}. quarter of {}", quarter + 1, date.year()),
                preposition: "in",
            })
        }
        "year" => Some(Resolved::year(today.first_of_year().checked_add(ahead.years()).ok()?, "in")),
        name => {
            weekday(name, ahead, today).map(|date| Resolved::day(date, "on")).or_else(|| month_of(name, ahead, today))
        }
    }
}

/// "last Friday" is the latest one before today, "this" the one of this week, "next" the one of the next week.
fn weekday(name: &str, ahead: i32, today: Date) -> Option<Date> {
    let offset = i8::try_from(WEEKDAYS.iter().position(|other| *other == name)?).ok()?;
    let weekday = Weekday::from_monday_zero_offset(offset).ok()?;
    if ahead < 0 { today.nth_weekday(-1, weekday).ok() } else { weekday_in(week(today, ahead)?, weekday) }
}

/// "last March" is the latest one that is over, "next" the first that has not begun, "this" the one of this year.
fn month_of(name: &str, ahead: i32, today: Date) -> Option<Resolved> {
    let month = month_number(name)?;
    let year = match ahead {
        -1 if month >= today.month() => today.year() - 1,
        1 if month <= today.month() => today.year() + 1,
        _ => today.year(),
    };
    Some(Resolved::month(Date::new(year, month, 1).ok()?, "in"))
}

pub(super) fn month_number(name: &str) -> Option<i8> {
    let start = name.get(..3)?;
    i8::try_from(MONTHS.iter().position(|month| month.starts_with(start))? + 1).ok()
}

/// Resolves "since April 10" and "until 3 May"; which year "on April 10" means, nobody says.
fn calendar(found: &Captures<'_>, today: Date) -> Option<Resolved> {
    let text =
        |names: [&str; 2]| names.iter().find_map(|name| found.name(name)).map(|word| word.as_str().to_lowercase());
    let is_ahead = match before(found).as_str() {
        "since" => Some(false),
        "until" | "till" | "by" | "before" => Some(true),
        _ => None,
    };
    if let Some(name) = found.name("month3") {
        let month = month_number(&name.as_str().to_lowercase())?;
        let date = nearest(today.first_of_month(), month, 1, is_ahead?)?;
        return Some(Resolved::month(date, "in"));
    }
    let (month, day) = (month_number(&text(["month", "month2"])?)?, text(["dom", "dom2"])?.parse().ok()?);
    let date = match text(["y", "y2"]) {
        Some(year) => Date::new(year.parse().ok()?, month, day).ok()?,
        None => nearest(today, month, day, is_ahead?)?,
    };
    Some(Resolved::day(date, "on"))
}
