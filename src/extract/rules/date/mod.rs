//! Relative dates, resolved from the moment at which they were said, on the speaker's own clock.
//!
//! What could be meant in two ways is left as it was said: "on Monday", "a few days ago", "on 10 April" without a year.

mod chinese;
mod english;
mod german;
mod spanish;
mod spoken;
#[cfg(test)]
mod tests;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Span, ToSpan};
use regex::{Captures, Regex};

use super::tongue::Tongue;

pub(super) use chinese::chinese;
pub(super) use english::english;

/// A text with its relative dates put in place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Dated {
    /// The text.
    pub(super) text: String,
    /// First day that it names as a beginning or an event, where one was resolved; not one that it names as an end.
    pub(super) first: Option<Date>,
}

/// Returns `text` with an ISO date in brackets beside each of its relative dates; `now` is the reading of the speaker's clock.
pub(super) fn noted(tongue: Tongue, text: &str, now: Option<DateTime>) -> Dated {
    match tongue {
        Tongue::English => spoken::noted(text, now),
        Tongue::Chinese => chinese::noted(text, now),
        Tongue::Spanish => spanish::spanish(text, now),
        Tongue::German => german::german(text, now),
    }
}

/// What a relative date comes to.
struct Resolved {
    date: Date,
    words: String,
    /// What stands before the words where "yesterday" stood alone.
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

/// Puts what `resolve` makes of each match of `pattern` in its place, as `spell` writes it.
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

/// Puts what `resolve` makes of each match of `pattern` beside it, in brackets.
fn note(
    text: &str,
    now: Option<DateTime>,
    pattern: &Regex,
    resolve: fn(&Captures<'_>, DateTime) -> Option<Resolved>,
    is_end: fn(&Captures<'_>) -> bool,
) -> Dated {
    replace(text, now, pattern, resolve, |found, resolved| format!("{} ({})", &found[0], resolved.words), is_end)
}

/// Returns the week that begins on `monday`, said with `words` before its date.
fn spoken_week(monday: Date, words: &str) -> Resolved {
    Resolved { date: monday, words: format!("{words} {monday}"), preposition: "" }
}

/// A span of the calendar or the clock.
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

/// Returns what lies `count` units from `now`, as exact as the unit is.
fn shifted(now: DateTime, count: i32, unit: Unit) -> Option<Resolved> {
    let date = now.checked_add(unit.times(count)).ok()?.date();
    Some(match unit {
        Unit::Minute | Unit::Hour | Unit::Day => Resolved::day(date, "on"),
        Unit::Week => Resolved::day(date, "around"),
        Unit::Month => Resolved::month(date, "in"),
        Unit::Year => Resolved::year(date, "in"),
    })
}

/// Returns the Monday of the week that lies `ahead` weeks from `today`'s.
fn week(today: Date, ahead: i32) -> Option<Date> {
    let since_monday = i32::from(today.weekday().to_monday_zero_offset());
    today.checked_sub(since_monday.days()).ok()?.checked_add(ahead.weeks()).ok()
}

/// Returns a weekday of the week that begins on `monday`.
fn weekday_in(monday: Date, weekday: Weekday) -> Option<Date> {
    monday.checked_add(i32::from(weekday.to_monday_zero_offset()).days()).ok()
}

/// Returns the latest `month`-`day` that is not after `today`, or with `is_ahead` the next that is not before it.
fn nearest(today: Date, month: i8, day: i8, is_ahead: bool) -> Option<Date> {
    let step: i16 = if is_ahead { 1 } else { -1 };
    // The 29th of February comes again within eight years.
    (0..=8).find_map(|count| {
        let date = Date::new(today.year().checked_add(step * count)?, month, day).ok()?;
        (if is_ahead { date >= today } else { date <= today }).then_some(date)
    })
}

/// Returns the weekday at this place of a week that begins on Monday.
fn weekday_at(place: usize) -> Option<Weekday> {
    Weekday::from_monday_zero_offset(i8::try_from(place).ok()?).ok()
}

/// Returns the latest `weekday` before `today`.
fn latest(today: Date, weekday: Weekday) -> Option<Date> {
    today.nth_weekday(-1, weekday).ok()
}

/// Returns the first `weekday` after `today`.
fn coming(today: Date, weekday: Weekday) -> Option<Date> {
    today.nth_weekday(1, weekday).ok()
}
