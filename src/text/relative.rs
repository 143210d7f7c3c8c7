//! Resolves relative dates, using the time at which they were said, in the speaker's local time.
//!
//! Ambiguous dates are not changed: "on Monday", "a few days ago", "on 10 April" without a year.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, ToSpan};
use regex::{Captures, Regex};
use serde::Deserialize;

use super::date::{WeekdayNames, month, weekday, weekday_pattern};
use super::language::Language;
use super::number::count;

/// Text with its relative dates resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dated {
    /// The text.
    pub(crate) text: String,
    /// The first resolved day that the text mentions as the start of a period or the date of an event. The last day of
    /// a period does not count.
    pub(crate) first: Option<Date>,
}

/// Returns `text` with an ISO date in brackets after each relative date. `now` is the speaker's local time.
pub(crate) fn annotated(language: Language, text: &str, now: Option<DateTime>) -> Dated {
    match language {
        Language::English => annotated_english(text, now),
        Language::Chinese => annotated_chinese(text, now),
        Language::Spanish => note(text, now, &SPANISH, spanish, |found| found[0].to_lowercase().starts_with("hasta")),
        Language::German => note(text, now, &GERMAN, german, |found| found[0].to_lowercase().starts_with("bis")),
        _ => Dated { text: text.to_owned(), first: None },
    }
}

/// Words for relative dates, with the number of days or years from now that they denote.
#[derive(Deserialize)]
struct Words {
    days: HashMap<String, i32>,
    years: HashMap<String, i32>,
}

static WORDS: LazyLock<Words> =
    LazyLock::new(|| toml::from_str(include_str!("relative.toml")).expect("the table is a constant"));

/// Returns the day that a word denotes, such as "gestern", or the last word of a phrase, such as "bis morgen".
fn day_named(word: &str, today: Date) -> Option<Date> {
    let last = || WORDS.days.get(word.rsplit(' ').next()?);
    today.checked_add(WORDS.days.get(word).or_else(last)?.days()).ok()
}

/// The date that a relative date resolves to.
struct Resolved {
    date: Date,
    words: String,
    /// The preposition to put before the date if the original, such as "yesterday", has no preposition.
    preposition: &'static str,
}

impl Resolved {
    fn day(date: Date, preposition: &'static str) -> Self {
        Self { date, words: date.to_string(), preposition }
    }

    fn month(date: Date, preposition: &'static str) -> Self {
        Self { date: date.first_of_month(), words: date.strftime("%Y-%m").to_string(), preposition }
    }

    fn year(date: Date, preposition: &'static str) -> Self {
        Self { date: date.first_of_year(), words: date.year().to_string(), preposition }
    }
}

/// Replaces each match of `pattern` that `resolve` understands with the text that `spell` returns.
fn replace(
    text: &str,
    now: Option<DateTime>,
    pattern: &Regex,
    resolve: fn(&Captures<'_>, DateTime) -> Option<Resolved>,
    spell: fn(&Captures<'_>, &Resolved) -> String,
    is_end: fn(&Captures<'_>) -> bool,
) -> Dated {
    let Some(now) = now else { return Dated { text: text.to_owned(), first: None } };
    let mut first = None;
    let text = pattern.replace_all(text, |found: &Captures<'_>| match resolve(found, now) {
        Some(resolved) => {
            if !is_end(found) {
                first.get_or_insert(resolved.date);
            }
            spell(found, &resolved)
        }
        None => found[0].to_owned(),
    });
    Dated { text: text.into_owned(), first }
}

/// Inserts, after each match of `pattern`, the date that `resolve` returns for it, in brackets.
fn note(
    text: &str,
    now: Option<DateTime>,
    pattern: &Regex,
    resolve: fn(&Captures<'_>, DateTime) -> Option<Resolved>,
    is_end: fn(&Captures<'_>) -> bool,
) -> Dated {
    replace(text, now, pattern, resolve, |found, resolved| format!("{} ({})", &found[0], resolved.words), is_end)
}

/// Returns the week that begins on `monday`, with `words` before the date.
fn spoken_week(monday: Date, words: &str) -> Resolved {
    Resolved { date: monday, words: format!("{words} {monday}"), preposition: "" }
}

/// A unit of the calendar or the clock.
#[derive(Clone, Copy)]
enum Unit {
    Minute,
    Hour,
    Day,
    Week,
    Month,
    Year,
}

impl Unit {
    /// Returns the unit with this name, in the singular.
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "minute" | "分钟" => Self::Minute,
            "hour" | "小时" | "钟头" => Self::Hour,
            "day" | "tag" | "día" | "天" | "日" => Self::Day,
            "week" | "woche" | "semana" | "周" | "星期" | "礼拜" => Self::Week,
            "month" | "monat" | "mes" | "月" => Self::Month,
            "year" | "jahr" | "año" | "年" => Self::Year,
            _ => return None,
        })
    }

    fn times(self, count: i32) -> Span {
        match self {
            Self::Minute => count.minutes(),
            Self::Hour => count.hours(),
            Self::Day => count.days(),
            Self::Week => count.weeks(),
            Self::Month => count.months(),
            Self::Year => count.years(),
        }
    }
}

/// Returns the time that is `count` units from `now`, with the precision of the unit.
fn shifted(now: DateTime, count: i32, unit: Unit) -> Option<Resolved> {
    // Hours are counted from the time of day, because "ten hours ago" may be on the previous day.
    let date = now.checked_add(unit.times(count)).ok()?.date();
    Some(match unit {
        Unit::Minute | Unit::Hour | Unit::Day => Resolved::day(date, "on"),
        Unit::Week => Resolved::day(date, "around"),
        Unit::Month => Resolved::month(date, "in"),
        Unit::Year => Resolved::year(date, "in"),
    })
}

/// Returns the Monday of the week that is `ahead` weeks after the week of `today`.
fn week(today: Date, ahead: i32) -> Option<Date> {
    let since_monday = i32::from(today.weekday().to_monday_zero_offset());
    today.checked_sub(since_monday.days()).ok()?.checked_add(ahead.weeks()).ok()
}

/// Returns a weekday in the week that begins on `monday`.
fn weekday_in(monday: Date, weekday: Weekday) -> Option<Date> {
    monday.checked_add(i32::from(weekday.to_monday_zero_offset()).days()).ok()
}

/// Returns the latest date with this `month` and `day` that is not after `today` or, with `is_ahead`, the first such
/// date that is not before `today`.
fn nearest(today: Date, month: i8, day: i8, is_ahead: bool) -> Option<Date> {
    let step: i16 = if is_ahead { 1 } else { -1 };
    // 29 February recurs within eight years.
    (0..=8).find_map(|count| {
        let date = Date::new(today.year().checked_add(step * count)?, month, day).ok()?;
        (if is_ahead { date >= today } else { date <= today }).then_some(date)
    })
}

/// Returns the latest `weekday` before `today`.
fn latest(today: Date, weekday: Weekday) -> Option<Date> {
    today.nth_weekday(-1, weekday).ok()
}

/// Returns the first `weekday` after `today`.
fn coming(today: Date, weekday: Weekday) -> Option<Date> {
    today.nth_weekday(1, weekday).ok()
}

const ENGLISH_MONTHS: &str = "january|february|march|april|may|june|july|august|september|october|november|december";

static ENGLISH: LazyLock<Regex> = LazyLock::new(|| {
    let number = r"\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve";
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
        weekdays = weekday_pattern(WeekdayNames::English),
        full_months = ENGLISH_MONTHS,
    ))
    .expect("the pattern is a constant")
});

/// Replaces English relative dates with ISO dates. `now` is the speaker's local time.
pub(crate) fn english(text: &str, now: Option<DateTime>) -> Dated {
    replace(text, now, &ENGLISH, resolve_english, spell, ends_a_time)
}

fn before(found: &Captures<'_>) -> String {
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

fn resolve_english(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let today = now.date();
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    if let Some(word) = lower("day") {
        return Some(part_of_day(day_named(&word, today)?, lower("part").as_deref()));
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
        return english_unit(&lower("unit")?, ahead, today);
    }
    calendar(found, today)
}

fn part_of_day(date: Date, part: Option<&str>) -> Resolved {
    match part {
        None => Resolved::day(date, "on"),
        Some("night") => Resolved { date, words: format!("the night of {date}"), preposition: "on" },
        Some(part) => Resolved { date, words: format!("the {part} of {date}"), preposition: "in" },
    }
}

fn counted(now: DateTime, number: &str, unit: &str, sign: i32) -> Option<Resolved> {
    let count = sign * count(number)?;
    if unit == "fortnight" { shifted(now, count * 2, Unit::Week) } else { shifted(now, count, Unit::named(unit)?) }
}

/// Resolves "last week", "next Friday", "this quarter", "last March".
fn english_unit(unit: &str, ahead: i32, today: Date) -> Option<Resolved> {
    match unit {
        "week" => {
            let date = week(today, ahead)?;
            Some(Resolved { date, words: format!("the week of {date}"), preposition: "in" })
        }
        "weekend" => {
            let date = weekday_in(week(today, ahead)?, Weekday::Saturday)?;
            Some(Resolved { date, words: format!("the weekend of {date}"), preposition: "on" })
        }
        // "Last fortnight" refers to a period without a definite first day.
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
        name => english_weekday(name, ahead, today)
            .map(|date| Resolved::day(date, "on"))
            .or_else(|| month_of(name, ahead, today)),
    }
}

/// Resolves a weekday: "last Friday" is the latest Friday before today, "this Friday" is in this week, and "next
/// Friday" is in the next week.
fn english_weekday(name: &str, ahead: i32, today: Date) -> Option<Date> {
    let weekday = weekday(name)?;
    if ahead < 0 { latest(today, weekday) } else { weekday_in(week(today, ahead)?, weekday) }
}

/// Resolves a month: "last March" is the latest March that has ended, "next March" is the first March that has not
/// begun, and "this March" is in this year.
fn month_of(name: &str, ahead: i32, today: Date) -> Option<Resolved> {
    let month = month(name)?;
    let year = match ahead {
        -1 if month >= today.month() => today.year() - 1,
        1 if month <= today.month() => today.year() + 1,
        _ => today.year(),
    };
    Some(Resolved::month(Date::new(year, month, 1).ok()?, "in"))
}

/// Resolves "since April 10" and "until 3 May". The year of "on April 10" is unknown.
fn calendar(found: &Captures<'_>, today: Date) -> Option<Resolved> {
    let text =
        |names: [&str; 2]| names.iter().find_map(|name| found.name(name)).map(|word| word.as_str().to_lowercase());
    let is_ahead = match before(found).as_str() {
        "since" => Some(false),
        "until" | "till" | "by" | "before" => Some(true),
        _ => None,
    };
    if let Some(name) = found.name("month3") {
        let month = month(name.as_str())?;
        let date = nearest(today.first_of_month(), month, 1, is_ahead?)?;
        return Some(Resolved::month(date, "in"));
    }
    let (month, day) = (month(&text(["month", "month2"])?)?, text(["dom", "dom2"])?.parse().ok()?);
    let date = match text(["y", "y2"]) {
        Some(year) => Date::new(year.parse().ok()?, month, day).ok()?,
        None => nearest(today, month, day, is_ahead?)?,
    };
    Some(Resolved::day(date, "on"))
}

/// Returns whether a match denotes the end of a period rather than its beginning.
fn ends_a_time(found: &Captures<'_>) -> bool {
    matches!(before(found).as_str(), "until" | "till" | "by" | "before")
}

#[rustfmt::skip]
const ORDINALS: [&str; 31] = [
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth",
    "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth", "twentieth", "twenty-first", "twenty-second",
    "twenty-third", "twenty-fourth", "twenty-fifth", "twenty-sixth", "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth",
    "thirty-first",
];

/// Adds ISO dates after English relative dates. `now` is the speaker's local time.
fn annotated_english(text: &str, now: Option<DateTime>) -> Dated {
    let noted = note(text, now, &ENGLISH, resolve_english, ends_a_time);
    let past = PAST.is_match(text) && !AHEAD.is_match(text);
    let resolve = if past { weekday_gone } else { weekday_ahead };
    let with_weekdays =
        note(&noted.text, now, &WEEKDAY, resolve, |found| matches!(before(found).as_str(), "until" | "till" | "by"));
    let with_days = note(&with_weekdays.text, now, &DAY, day_of_month, |_| false);
    Dated { first: noted.first.or(with_weekdays.first).or(with_days.first), ..with_days }
}

/// A weekday alone; the tense determines the week.
static WEEKDAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?i)\b(?:(?P<before>on|by|until|till|before|since|due|due on|is|starts|starting|from) )?(?P<weekday>{weekdays})\b(?:,? (?:the )?(?P<nth>\d{{1,2}}|{ordinals})(?:st|nd|rd|th)?\b(?:(?: of)? (?P<of>{months})\b)?)?",
        weekdays = weekday_pattern(WeekdayNames::English),
        ordinals = ORDINALS.join("|"),
        months = months(),
    ))
    .expect("the pattern is a constant")
});
/// A day in words, as in "the first of May".
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
    bare_weekday(found, now, |before| {
        !matches!(before, "by" | "until" | "till" | "due" | "due on" | "starting" | "starts")
    })
}

fn weekday_ahead(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    bare_weekday(found, now, |before| before == "since")
}

/// Resolves a weekday to the last or the next such day, depending on the preposition.
fn bare_weekday(found: &Captures<'_>, now: DateTime, is_past: fn(&str) -> bool) -> Option<Resolved> {
    let weekday = weekday(&found.name("weekday")?.as_str().to_lowercase())?;
    if found.name("nth").is_some() {
        return day_and_weekday(found, weekday, now);
    }
    let before = before(found);
    if matches!(before.as_str(), "" | "is") {
        return None;
    }
    let date = if is_past(&before) { latest(now.date(), weekday)? } else { coming(now.date(), weekday)? };
    Some(Resolved::day(date, "on"))
}

/// Returns the nearest day, preferably in the future, with this weekday and this day of the month, as in "Monday the
/// twenty-third".
fn day_and_weekday(found: &Captures<'_>, weekday: Weekday, now: DateTime) -> Option<Resolved> {
    let day = day(found)?;
    let named = found.name("of").and_then(|name| month(name.as_str()));
    let is_it =
        |date: &Date| date.weekday() == weekday && date.day() == day && named.is_none_or(|month| date.month() == month);
    let near = |step: i32| {
        (0..=200).filter_map(move |count: i32| now.date().checked_add((count * step).days()).ok()).find(is_it)
    };
    near(1).or_else(|| near(-1)).map(|date| Resolved::day(date, "on"))
}

/// Returns the day that is expressed in words, in the year in which it is nearest to today.
fn day_of_month(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let day = day(found)?;
    let month = month(found.name("of")?.as_str())?;
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
    ENGLISH_MONTHS.split('|').map(|month| format!("{}(?:{})?", &month[..3], &month[3..])).collect::<Vec<_>>().join("|")
}

static GERMAN: LazyLock<Regex> = LazyLock::new(|| {
    let number = "ein|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf";
    let weekdays = weekday_pattern(WeekdayNames::German);
    // "Morgen" alone is also the German word for "morning", so it counts only after words such as `bis` and `ab`.
    Regex::new(&format!(
        r"(?x)\b(?:(?P<day>(?i:vorgestern|gestern|heute|übermorgen)|(?:bis|ab|erst|gleich|schon)\ morgen)
        |(?i:(?P<dir>letzte|vergangene|diese|nächste|kommende)[nrs]?\ (?P<unit>woche|monat|jahr|wochenende|{weekdays}))
        |(?i:seit\ (?:dem\ )?(?P<since>{weekdays}))
        |(?i:vor\ (?P<ago>\d{{1,3}}|{number})(?:e[rmn])?\ (?P<span>tag|woche|monat|jahr)(?:en?|n)?)
        |(?i:in\ (?P<ahead>\d{{1,3}}|{number})(?:e[rmn])?\ (?P<far>tag|woche|monat|jahr)(?:en?|n)?))\b",
    ))
    .expect("the pattern is a constant")
});

fn german(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let today = now.date();
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    if let Some(word) = lower("day") {
        return Some(Resolved::day(day_named(&word, today)?, ""));
    }
    if let (Some(direction), Some(unit)) = (lower("dir"), lower("unit")) {
        let ahead = match direction.as_str() {
            "letzte" | "vergangene" => -1,
            "diese" => 0,
            _ => 1,
        };
        return match unit.as_str() {
            "woche" => Some(spoken_week(week(today, ahead)?, "Woche ab")),
            "wochenende" if ahead == 0 => Some(spoken_week(weekday_in(week(today, 0)?, Weekday::Saturday)?, "ab")),
            "wochenende" => None,
            "monat" => Some(Resolved::month(today.first_of_month().checked_add(ahead.months()).ok()?, "")),
            "jahr" => Some(Resolved::year(today.first_of_year().checked_add(ahead.years()).ok()?, "")),
            name => {
                let weekday = weekday(name)?;
                let date = match direction.as_str() {
                    "letzte" | "vergangene" => latest(today, weekday)?,
                    "diese" => weekday_in(week(today, 0)?, weekday)?,
                    "kommende" => coming(today, weekday)?,
                    // "Nächsten Freitag" means this Friday to some people and the following Friday to others.
                    _ => return None,
                };
                Some(Resolved::day(date, ""))
            }
        };
    }
    if let Some(name) = lower("since") {
        return Some(Resolved::day(latest(today, weekday(&name)?)?, ""));
    }
    in_units(found, now)
}

/// Resolves "vor drei Tagen", "hace tres días", "in drei Tagen" and "dentro de tres días".
fn in_units(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    let past = lower("ago").zip(lower("span")).map(|(number, unit)| (number, unit, -1));
    let (number, unit, sign) = past.or_else(|| Some((lower("ahead")?, lower("far")?, 1)))?;
    shifted(now, sign * count(&number)?, Unit::named(&unit)?)
}

static SPANISH: LazyLock<Regex> = LazyLock::new(|| {
    let number = "un|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|diez|once|doce";
    let weekdays = weekday_pattern(WeekdayNames::Spanish);
    // "Mañana" also means "morning", so it counts only after `pasado`, `desde`, `hasta` and `para`.
    Regex::new(&format!(
        r"(?ix)\b(?:(?P<day>anteayer|ayer|anoche|hoy|pasado\ mañana|(?:desde|hasta|para)\ mañana)
        |(?:el|la|los|las)?\ ?(?P<unit>semana|mes|año|{weekdays})\ (?P<dir>pasad[oa]|que\ viene|próxim[oa])
        |(?:el|la)\ próxim[oa]\ (?P<near>semana|mes|año|{weekdays})
        |este\ (?P<this>{weekdays})
        |hace\ (?P<ago>\d{{1,3}}|{number}a?)\ (?P<span>día|semana|mes|año)(?:e?s)?
        |dentro\ de\ (?P<ahead>\d{{1,3}}|{number}a?)\ (?P<far>día|semana|mes|año)(?:e?s)?)\b",
    ))
    .expect("the pattern is a constant")
});

fn spanish(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let today = now.date();
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    if let Some(word) = lower("day") {
        return Some(Resolved::day(day_named(&word, today)?, ""));
    }
    if let Some(name) = lower("this") {
        return Some(Resolved::day(weekday_in(week(today, 0)?, weekday(&name)?)?, ""));
    }
    if let Some(unit) = lower("unit").or_else(|| lower("near")) {
        let ahead = if lower("dir").is_some_and(|direction| direction.starts_with("pasad")) { -1 } else { 1 };
        return match unit.as_str() {
            "semana" => Some(spoken_week(week(today, ahead)?, "semana del")),
            "mes" => Some(Resolved::month(today.first_of_month().checked_add(ahead.months()).ok()?, "")),
            "año" => Some(Resolved::year(today.first_of_year().checked_add(ahead.years()).ok()?, "")),
            name if ahead < 0 => Some(Resolved::day(latest(today, weekday(name)?)?, "")),
            name => {
                let date = coming(today, weekday(name)?)?;
                // On a Saturday, "el domingo que viene" is unlikely to mean tomorrow.
                (date != today.tomorrow().ok()?).then(|| Resolved::day(date, ""))
            }
        };
    }
    in_units(found, now)
}

static CHINESE: LazyLock<Regex> = LazyLock::new(|| {
    // Longer words come before their own prefixes, because a pattern uses the first alternative that matches.
    Regex::new(
        r"(?x)(?P<day>大前天|大后天|前天|昨天|今天|明天|后天|昨日|今日|明日)
        |(?P<night>昨晚|昨夜|今晚|今早|今晨|明早|明晚)
        |(?P<week>上上|下下|上|下|这|本)个?(?:周|星期|礼拜)(?P<weekday>[一二三四五六日天末])?
        |(?P<month>上上|下下|上|下|这|本)个?月(?:(?P<date>\d{1,2})[日号])?
        |(?P<year>大前年|前年|去年|今年|明年|后年)
        |(?P<half>半年)(?P<halfway>之?前|以前|之?后|以后)
        |(?P<n>\d{1,3}|[一两二三四五六七八九十]{1,3})个?(?P<span>分钟|小时|钟头|天|日|周|星期|礼拜|月|年)(?P<way>之?前|以前|之?后|以后)
        |自从?(?P<cm>\d{1,2})月(?P<cd>\d{1,2})[日号](?:以来|起|开始)?",
    )
    .expect("the pattern is a constant")
});

/// Replaces Chinese relative dates with ISO dates. `now` is the speaker's local time.
pub(crate) fn chinese(text: &str, now: Option<DateTime>) -> Dated {
    replace(text, now, &CHINESE, resolve_chinese, |_, resolved| resolved.words.clone(), |_| false)
}

/// Adds ISO dates after Chinese relative dates. `now` is the speaker's local time.
fn annotated_chinese(text: &str, now: Option<DateTime>) -> Dated {
    replace(
        text,
        now,
        &CHINESE,
        resolve_chinese,
        |found, resolved| format!("{}（{}）", &found[0], resolved.words),
        |_| false,
    )
}

fn resolve_chinese(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let (today, named) = (now.date(), |name: &str| found.name(name).map(|word| word.as_str()));
    if let Some(word) = named("day") {
        return Some(Resolved::day(day_named(word, today)?, ""));
    }
    if let Some(word) = named("night") {
        let date = day_named(word, today)?;
        let part = if word.ends_with(['早', '晨']) { "早上" } else { "晚上" };
        return Some(Resolved { date, words: format!("{date}{part}"), preposition: "" });
    }
    if let Some(word) = named("week") {
        return in_week(week(today, steps(word))?, named("weekday"));
    }
    if let Some(word) = named("month") {
        return in_month(today.first_of_month().checked_add(steps(word).months()).ok()?, named("date"));
    }
    if let Some(word) = named("year") {
        let date = today.first_of_year().checked_add(WORDS.years.get(word)?.years()).ok()?;
        return Some(Resolved { words: format!("{}年", date.year()), ..Resolved::year(date, "") });
    }
    if named("half").is_some() {
        return in_month(shifted(now, 6 * sign(named("halfway")?), Unit::Month)?.date, None);
    }
    if let (Some(month), Some(day)) = (named("cm"), named("cd")) {
        let date = nearest(today, month.parse().ok()?, day.parse().ok()?, false)?;
        return Some(Resolved { date, words: format!("自{date}起"), preposition: "" });
    }
    let unit = Unit::named(named("span")?)?;
    let resolved = shifted(now, count(named("n")?)? * sign(named("way")?), unit)?;
    Some(match unit {
        Unit::Year => Resolved { words: format!("{}年", resolved.words), ..resolved },
        Unit::Month => in_month(resolved.date, None)?,
        Unit::Minute | Unit::Hour | Unit::Day | Unit::Week => resolved,
    })
}

/// Returns the number of weeks or months that "上", "上上", "下" and similar words represent.
fn steps(word: &str) -> i32 {
    let count = |c: char| i32::try_from(word.chars().filter(|other| *other == c).count()).unwrap_or_default();
    count('下') - count('上')
}

fn sign(way: &str) -> i32 {
    if way.ends_with('前') { -1 } else { 1 }
}

fn in_week(monday: Date, weekday: Option<&str>) -> Option<Resolved> {
    let Some(name) = weekday else {
        return Some(Resolved { date: monday, words: format!("{monday}那一周"), preposition: "" });
    };
    if name == "末" {
        let date = weekday_in(monday, Weekday::Saturday)?;
        return Some(Resolved { date, words: format!("{date}那个周末"), preposition: "" });
    }
    let at = "一二三四五六日".chars().position(|c| name.starts_with(c)).or((name == "天").then_some(6))?;
    let weekday = Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()?;
    Some(Resolved::day(weekday_in(monday, weekday)?, ""))
}

fn in_month(month: Date, day: Option<&str>) -> Option<Resolved> {
    if let Some(day) = day {
        return Some(Resolved::day(Date::new(month.year(), month.month(), day.parse().ok()?).ok()?, ""));
    }
    Some(Resolved { words: month.strftime("%Y年%-m月").to_string(), ..Resolved::month(month, "") })
}

#[cfg(test)]
mod tests {
    use transcripts::{MessageTime, TimeSource, parse_rfc3339};

    use super::*;

    /// Returns the text with its dates resolved, as if it had been said in a message at this time.
    fn said_at(stamp: &str, text: &str) -> String {
        let (at, offset) = parse_rfc3339(stamp).unwrap();
        let time = MessageTime { at, offset_seconds: Some(offset), source: TimeSource::Log };
        let read = if text.is_ascii() { english } else { chinese };
        read(text, Some(time.civil())).text
    }

    /// A Wednesday at noon, in UTC.
    const WEDNESDAY: &str = "2026-03-04T12:00:00Z";

    #[test]
    fn english_relative_dates_become_absolute() {
        for (text, expected) in [
            ("moved yesterday", "moved on 2026-03-03"),
            ("since yesterday", "since 2026-03-03"),
            ("today we decided", "on 2026-03-04 we decided"),
            ("tomorrow", "on 2026-03-05"),
            ("the day before yesterday", "on 2026-03-02"),
            ("the day after tomorrow", "on 2026-03-06"),
            ("yesterday evening", "in the evening of 2026-03-03"),
            ("tomorrow night", "on the night of 2026-03-05"),
            ("last night", "on the night of 2026-03-03"),
            ("tonight", "on the night of 2026-03-04"),
            ("this morning", "in the morning of 2026-03-04"),
            ("last week", "in the week of 2026-02-23"),
            ("earlier this week", "in the week of 2026-03-02"),
            ("over the weekend", "over the weekend"),
            ("last weekend", "on the weekend of 2026-02-28"),
            ("this weekend", "on the weekend of 2026-03-07"),
            ("next month", "in 2026-04"),
            ("last month", "in 2026-02"),
            ("last quarter", "in the 4. quarter of 2025"),
            ("next quarter", "in the 2. quarter of 2026"),
            ("last year", "in 2025"),
            ("next Friday", "on 2026-03-13"),
            ("this Friday", "on 2026-03-06"),
            ("on last Friday", "on 2026-02-27"),
            ("last Wednesday", "on 2026-02-25"),
            ("last March", "in 2025-03"),
            ("last January", "in 2026-01"),
            ("next March", "in 2027-03"),
            ("next May", "in 2026-05"),
            ("3 days ago", "on 2026-03-01"),
            ("two weeks ago", "around 2026-02-18"),
            ("a fortnight ago", "around 2026-02-18"),
            ("twelve months ago", "in 2025-03"),
            ("an hour ago", "on 2026-03-04"),
            ("thirteen hours ago", "thirteen hours ago"),
            ("13 hours ago", "on 2026-03-03"),
            ("in two days", "on 2026-03-06"),
            ("two days from now", "on 2026-03-06"),
            ("a week from today", "around 2026-03-11"),
            ("a year ago", "in 2025"),
            ("by next Friday", "by 2026-03-13"),
            ("since April 10", "since 2025-04-10"),
            ("since 10th of February", "since 2026-02-10"),
            ("until May 3rd", "until 2026-05-03"),
            ("by 1 March", "by 2027-03-01"),
            ("since October", "since 2025-10"),
            ("since Feb. 29", "since 2024-02-29"),
            ("on April 10, 2025", "on 2025-04-10"),
            ("2 Jan 2026", "on 2026-01-02"),
            // Ambiguous dates are not changed.
            ("on April 10", "on April 10"),
            ("on Monday", "on Monday"),
            ("a few days ago", "a few days ago"),
            ("we may 2 of us", "we may 2 of us"),
            ("in March", "in March"),
            ("todays list", "todays list"),
            ("since February 30", "since February 30"),
        ] {
            assert_eq!(said_at(WEDNESDAY, text), expected, "{text}");
        }
    }

    #[test]
    fn chinese_relative_dates_become_absolute() {
        for (text, expected) in [
            ("昨天搬家", "2026-03-03搬家"),
            ("明天上线", "2026-03-05上线"),
            ("前天", "2026-03-02"),
            ("大前天", "2026-03-01"),
            ("大后天", "2026-03-07"),
            ("昨晚加班", "2026-03-03晚上加班"),
            ("今早", "2026-03-04早上"),
            ("下周三发布", "2026-03-11发布"),
            ("上周五", "2026-02-27"),
            ("上上周一", "2026-02-16"),
            ("这周日", "2026-03-08"),
            ("下个星期天", "2026-03-15"),
            ("上周末", "2026-02-28那个周末"),
            ("上周", "2026-02-23那一周"),
            ("上个月", "2026年2月"),
            ("上个月5号", "2026-02-05"),
            ("下个月", "2026年4月"),
            ("去年", "2025年"),
            ("去年5月", "2025年5月"),
            ("后年", "2028年"),
            ("三天前", "2026-03-01"),
            ("二十天前", "2026-02-12"),
            ("十二天后", "2026-03-16"),
            ("13小时前", "2026-03-03"),
            ("两年前", "2024年"),
            ("两个月前", "2026年1月"),
            ("半年前", "2025年9月"),
            ("自4月10日以来", "自2025-04-10起"),
            ("十几天前", "十几天前"),
            ("周三", "周三"),
        ] {
            assert_eq!(said_at(WEDNESDAY, text), expected, "{text}");
        }
    }

    #[test]
    fn the_day_is_the_one_on_the_speakers_clock() {
        for (stamp, text, expected) in [
            // The same instant is on Sunday in London and already on Monday in Tokyo.
            ("2026-03-01T23:30:00Z", "yesterday", "on 2026-02-28"),
            ("2026-03-02T08:30:00+09:00", "yesterday", "on 2026-03-01"),
            ("2026-03-01T18:30:00-05:00", "tomorrow", "on 2026-03-02"),
            ("2026-03-01T23:30:00Z", "last week", "in the week of 2026-02-16"),
            ("2026-03-02T08:30:00+09:00", "last week", "in the week of 2026-02-23"),
            ("2026-03-01T23:30:00Z", "this month", "in 2026-03"),
            ("2026-02-28T23:30:00-08:00", "this month", "in 2026-02"),
            ("2026-01-01T00:30:00+01:00", "an hour ago", "on 2025-12-31"),
            ("2025-12-31T23:30:00Z", "an hour ago", "on 2025-12-31"),
            ("2025-12-31T23:30:00Z", "next year", "in 2026"),
            ("2026-01-01T05:00:00+05:30", "last year", "in 2025"),
            ("2024-02-28T22:00:00Z", "tomorrow", "on 2024-02-29"),
            ("2026-03-31T12:00:00Z", "a month ago", "in 2026-02"),
            ("2026-03-02T07:00:00+08:00", "昨天", "2026-03-01"),
            ("2026-03-01T23:00:00Z", "昨天", "2026-02-28"),
            ("2026-01-01T00:10:00+08:00", "半个小时前和20分钟前", "半个小时前和2025-12-31"),
        ] {
            assert_eq!(said_at(stamp, text), expected, "{stamp} {text}");
        }
    }

    #[test]
    fn what_ends_a_time_does_not_begin_it() {
        let now = Some(jiff::civil::date(2026, 3, 4).at(12, 0, 0, 0));
        for (text, first) in [
            ("since April 10", Some(jiff::civil::date(2025, 4, 10))),
            ("from tomorrow", Some(jiff::civil::date(2026, 3, 5))),
            ("until tomorrow", None),
            ("by next Friday", None),
        ] {
            assert_eq!(english(text, now).first, first, "{text}");
        }
    }

    #[test]
    fn words_stay_where_the_day_is_not_known() {
        assert_eq!(english("yesterday", None), Dated { text: "yesterday".into(), first: None });
    }

    #[test]
    fn the_end_of_the_calendar_is_survived() {
        for now in [DateTime::MAX, DateTime::MIN] {
            for text in [
                "in 900 years",
                "900 years ago",
                "tomorrow",
                "yesterday",
                "next week",
                "last week",
                "since May",
                "by May",
            ] {
                english(text, Some(now));
            }
            chinese("三天后和三天前", Some(now));
        }
    }

    #[test]
    fn spoken_dates_get_their_day_beside_them() {
        // A Wednesday.
        let now = Some(jiff::civil::date(2026, 3, 4).at(12, 0, 0, 0));
        for (language, text, expected) in [
            (Language::English, "due next Friday", "due next Friday (2026-03-13)"),
            (Language::English, "I sold it on Friday", "I sold it on Friday (2026-02-27)"),
            (Language::English, "the freeze ends on Sunday", "the freeze ends on Sunday (2026-03-08)"),
            (Language::English, "starts Monday the twenty-third", "starts Monday the twenty-third (2026-03-23)"),
            (Language::English, "is Saturday 28 Feb at 5", "is Saturday 28 Feb (2026-02-28) at 5"),
            (Language::English, "from the first of May", "from the first of May (2026-05-01)"),
            (Language::English, "Sundays are free", "Sundays are free"),
            (Language::German, "seit gestern am Montag", "seit gestern (2026-03-03) am Montag"),
            (Language::German, "am kommenden Montag", "am kommenden Montag (2026-03-09)"),
            (Language::German, "nächsten Montag", "nächsten Montag"),
            (Language::German, "vor zwei Tagen, Guten Morgen", "vor zwei Tagen (2026-03-02), Guten Morgen"),
            (Language::German, "letzte Woche", "letzte Woche (Woche ab 2026-02-23)"),
            (Language::Spanish, "ayer vendí el coche", "ayer (2026-03-03) vendí el coche"),
            (Language::Spanish, "desde el lunes pasado", "desde el lunes pasado (2026-03-02)"),
            (Language::Spanish, "el domingo que viene", "el domingo que viene (2026-03-08)"),
            (Language::Spanish, "el jueves que viene", "el jueves que viene"),
            (Language::Spanish, "hace dos meses", "hace dos meses (2026-01)"),
            (Language::Chinese, "下周三上线", "下周三（2026-03-11）上线"),
        ] {
            assert_eq!(annotated(language, text, now).text, expected);
            assert_eq!(annotated(language, text, None).text, text);
        }
    }
}
