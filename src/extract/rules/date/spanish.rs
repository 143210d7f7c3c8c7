//! Spanish relative dates.

use std::sync::LazyLock;

use jiff::ToSpan;
use jiff::civil::DateTime;
use regex::{Captures, Regex};

use super::{Dated, Resolved, Unit, coming, latest, note, shifted, spoken_week, week, weekday_at, weekday_in};

const WEEKDAYS: [&str; 7] = ["lunes", "martes", "miércoles", "jueves", "viernes", "sábado", "domingo"];
const NUMBERS: [&str; 12] =
    ["un", "dos", "tres", "cuatro", "cinco", "seis", "siete", "ocho", "nueve", "diez", "once", "doce"];

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let number = NUMBERS.join("|");
    let weekdays = WEEKDAYS.join("|");
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

/// Puts ISO dates beside Spanish relative dates; `now` is the reading of the speaker's own clock.
pub(super) fn spanish(text: &str, now: Option<DateTime>) -> Dated {
    note(text, now, &PATTERN, resolve, |found| found[0].to_lowercase().starts_with("hasta"))
}

fn resolve(found: &Captures<'_>, now: DateTime) -> Option<Resolved> {
    let today = now.date();
    let lower = |name: &str| found.name(name).map(|word| word.as_str().to_lowercase());
    if let Some(word) = lower("day") {
        let ahead = match word.as_str() {
            "anteayer" => -2,
            "ayer" | "anoche" => -1,
            "hoy" => 0,
            "pasado mañana" => 2,
            _ => 1,
        };
        return Some(Resolved::day(today.checked_add(ahead.days()).ok()?, ""));
    }
    let weekday = |name: &str| weekday_at(WEEKDAYS.iter().position(|other| *other == name)?);
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
                // On a Saturday, "el domingo que viene" is hardly tomorrow.
                (date != today.tomorrow().ok()?).then(|| Resolved::day(date, ""))
            }
        };
    }
    let (count, unit, sign) = match (lower("ago"), lower("ahead")) {
        (Some(count), _) => (count, lower("span")?, -1),
        (None, Some(count)) => (count, lower("far")?, 1),
        (None, None) => return None,
    };
    let bare = if count == "una" { "un" } else { count.as_str() };
    let at = NUMBERS.iter().position(|other| *other == bare).and_then(|at| i32::try_from(at + 1).ok());
    let count = sign * at.or_else(|| bare.parse().ok())?;
    let unit = match unit.as_str() {
        "día" => Unit::Day,
        "semana" => Unit::Week,
        "mes" => Unit::Month,
        _ => Unit::Year,
    };
    shifted(now, count, unit)
}
