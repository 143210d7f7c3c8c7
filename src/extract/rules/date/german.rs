//! German relative dates.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::DateTime;
use regex::{Captures, Regex};

use super::{Dated, Resolved, Unit, coming, latest, note, shifted, spoken_week, week, weekday_at, weekday_in};

const WEEKDAYS: [&str; 7] = ["montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag", "sonntag"];
const NUMBERS: [&str; 12] =
    ["ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf"];

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let number = NUMBERS.join("|");
    let weekdays = WEEKDAYS.join("|");
    Regex::new(&format!(
        r"(?x)\b(?:(?P<day>(?i:vorgestern|gestern|heute|übermorgen)|(?:bis|ab|erst|gleich|schon)\ morgen)
        |(?i:(?P<dir>letzte|vergangene|diese|nächste|kommende)[nrs]?\ (?P<unit>woche|monat|jahr|wochenende|{weekdays}))
        |(?i:seit\ (?:dem\ )?(?P<since>{weekdays}))
        |(?i:vor\ (?P<ago>\d{{1,3}}|{number})(?:e[rmn])?\ (?P<span>tag|woche|monat|jahr)(?:en?|n)?)
        |(?i:in\ (?P<ahead>\d{{1,3}}|{number})(?:e[rmn])?\ (?P<far>tag|woche|monat|jahr)(?:en?|n)?))\b",
    ))
    .expect("the pattern is a constant")
});

/// Puts ISO dates beside German relative dates; `now` is the reading of the speaker's own clock.
pub(super) fn german(text: &str, now: Option<DateTime>) -> Dated {
    note(text, now, &PATTERN, resolve, |found| found[0].to_lowercase().starts_with("bis"))
}

fn resolve(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let today = now.date();
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    if let Some(word) = lower("day") {
        let ahead = match word.as_str() {
            "vorgestern" => -2,
            "gestern" => -1,
            "heute" => 0,
            "übermorgen" => 2,
            _ => 1,
        };
        return Some(Resolved::day(today.checked_add(ahead.days()).ok()?, ""));
    }
    if let (Some(direction), Some(unit)) = (lower("dir"), lower("unit")) {
        let ahead = match direction.as_str() {
            "letzte" | "vergangene" => -1,
            "diese" => 0,
            _ => 1,
        };
        return match unit.as_str() {
            "woche" => Some(spoken_week(week(today, ahead)?, "Woche ab")),
            "wochenende" if ahead == 0 => Some(spoken_week(weekday_in(week(today, 0)?, weekday_at(5)?)?, "ab")),
            "wochenende" => None,
            "monat" => Some(Resolved::month(today.first_of_month().checked_add(ahead.months()).ok()?, "")),
            "jahr" => Some(Resolved::year(today.first_of_year().checked_add(ahead.years()).ok()?, "")),
            name => {
                let weekday = weekday_at(WEEKDAYS.iter().position(|other| *other == name)?)?;
                let date = match direction.as_str() {
                    "letzte" | "vergangene" => latest(today, weekday)?,
                    "diese" => weekday_in(week(today, 0)?, weekday)?,
                    "kommende" => coming(today, weekday)?,
                    // "Nächsten Freitag" is this one for some and the one after it for others.
                    _ => return None,
                };
                Some(Resolved::day(date, ""))
            }
        };
    }
    if let Some(name) = lower("since") {
        return Some(Resolved::day(latest(today, weekday_at(WEEKDAYS.iter().position(|other| *other == name)?)?)?, ""));
    }
    let (count, unit, sign) = match (lower("ago"), lower("ahead")) {
        (Some(count), _) => (count, lower("span")?, -1),
        (None, Some(count)) => (count, lower("far")?, 1),
        (None, None) => return None,
    };
    let at = NUMBERS.iter().position(|other| *other == count).and_then(|at| i32::try_from(at + 1).ok());
    let count = sign * at.or_else(|| count.parse().ok())?;
    let unit = match unit.as_str() {
        "tag" => Unit::Day,
        "woche" => Unit::Week,
        "monat" => Unit::Month,
        _ => Unit::Year,
    };
    shifted(now, count, unit)
}
