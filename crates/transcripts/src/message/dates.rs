//! Dates and times as people and programs write them: times of day, titles, headers and printed times.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::SignedDuration;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use regex::{Captures, Regex};

use crate::{MessageTime, TimeSource};

/// Reads `[HH:]MM:SS`, optionally with a fraction after a dot or a comma.
pub(crate) fn clock(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (clock, fraction) = text.rsplit_once(['.', ',']).unwrap_or((text, ""));
    let fields: Vec<u64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match fields[..] {
        [minutes, seconds] => (0, minutes, seconds),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let whole = hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
    // `.5` is half a second, so a fraction is padded on the right.
    let millis = number(format!("{fraction:0<3}").get(..3)?)?;
    Duration::from_secs(whole).checked_add(Duration::from_millis(millis))
}

fn number(digits: &str) -> Option<u64> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// If a time of day is earlier than the previous one by more than this, midnight has passed.
// Lines of a chat may be a few seconds out of order without a change of day.
const PAST_MIDNIGHT: SignedDuration = SignedDuration::from_hours(12);

/// Counts the days of a chat that contains only times of day.
pub(crate) struct Days {
    start: Option<MessageTime>,
    past: i64,
    last: SignedDuration,
}

impl Days {
    /// Starts on the day of `start`; if `start` is unknown, so are all times.
    pub(crate) const fn starting(start: Option<MessageTime>) -> Self {
        Self { start, past: 0, last: SignedDuration::ZERO }
    }

    /// Returns the time of the next line, where `clock` is the time since midnight.
    pub(crate) fn time_of_day(&mut self, clock: SignedDuration) -> Option<MessageTime> {
        let start = self.start?;
        if clock + PAST_MIDNIGHT < self.last {
            self.past += 1;
        }
        self.last = clock;
        let midnight = Offset::UTC.to_timestamp(start.civil().date().to_datetime(Time::midnight())).ok()?;
        let since = clock.checked_add(SignedDuration::from_hours(self.past.checked_mul(24)?))?;
        Some(MessageTime { at: midnight.checked_add(since).ok()?, offset_seconds: None, ..start })
    }
}

/// Names of the months from January, in English, German, Spanish, French, Portuguese, Italian and Dutch, with
/// abbreviations.
const MONTHS: [&str; 12] = [
    "jan|january|januar|jänner|januari|ene|enero|janvier|janeiro|gennaio",
    "feb|february|februar|februari|febrero|février|fevereiro|febbraio",
    "mar|march|märz|maerz|maart|marzo|mars|março",
    "apr|april|abr|abril|avril|aprile",
    "may|mai|mayo|mei|maio|maggio",
    "jun|june|juni|junio|juin|junho|giugno",
    "jul|july|juli|julio|juillet|julho|luglio",
    "aug|august|augustus|ago|agosto|août",
    "sep|sept|september|septiembre|setiembre|septembre|setembro|settembre",
    "oct|okt|october|oktober|octubre|octobre|outubro|ottobre",
    "nov|november|noviembre|novembre|novembro",
    "dec|dez|dic|december|dezember|diciembre|décembre|dezembro|dicembre",
];

static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    let months = MONTHS.join("|");
    let day = r"(?:(?:(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})";
    let numbers = r"|\b(?P<day5>\d{1,2})\.(?P<month5>\d{1,2})\.(?P<year5>\d{4})|\b(?P<one>\d{1,2})[-/](?P<other>\d{1,2})[-/](?P<year6>\d{4})";
    let named = format!(
        r"|\b(?P<name>{months})\.?[\s-]+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?,?[\s-]+(?P<year2>\d{{4}})|\b(?P<day3>\d{{1,2}})(?:st|nd|rd|th|\.)?[\s-]+(?:(?:of|de)\s+)?(?P<name3>{months})\.?,?[\s-]+(?:del?\s+)?(?P<year3>\d{{4}}))\b|(?P<year4>\d{{4}})\s?年\s?(?P<month4>\d{{1,2}})\s?月\s?(?P<day4>\d{{1,2}})\s?日)"
    );
    let time = r"(?:\s*(?:,|T|at|-)?\s*(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?\s*(?P<half>[ap]\.?m\b)?";
    let zone = r"(?:\s*\b(?P<zone>Z|UTC|GMT)(?P<offset>[+-]\d{1,2}(?::?\d{2})?)?)?)?";
    Regex::new(&format!("(?i){day}{numbers}{named}{time}{zone}")).expect("the pattern is constant")
});

/// Returns whether the date between `before` and `after` is the beginning or the end of a span of time, rather than the
/// day of a conversation: `Notes since 2019-05-01`.
///
/// If only a dash separates the date from other numbers, these must be a whole date rather than a time of day or a
/// version.
pub(crate) fn is_bound(before: &str, after: &str) -> bool {
    patterns! {
        BEFORE = r"(?i)(?:^|\D)(?:\d{4}[-./_]\d{1,2}[-./_]\d{1,2}|\d{1,2}[-./_]\d{1,2}[-./_]\d{4})(?:,?[\sT_]\d{1,2}[-.:_h]\d{2}(?:[-.:_]\d{2})?)?[\s_]*[-–—][\s_]*$|(?:^|[^\p{L}])(?:since|until|till|to|before|after|by|due|seit|bis|ab|desde|hasta|depuis|jusqu'au)(?:[\s_-]+(?:the|dem|zum|am|el|le|au))?[\s:_-]*$";
        AFTER = r"(?i)^[\s_]*(?:(?:to|until|till|through|bis|hasta|au)\b|[-–—][\s_]*(?:\d{4}[-./_]\d{1,2}[-./_]\d{1,2}|\d{1,2}[-./_]\d{1,2}[-./_]\d{4})(?:\D|$))";
    }
    BEFORE.is_match(before) || AFTER.is_match(after)
}

/// Returns the first date in `text`, with any adjacent time of day and offset. The offset is known only if it is given
/// as a number or as UTC.
///
/// The times of speeches are computed from this time and the elapsed time, hence [`TimeSource::Derived`].
pub(crate) fn written_in(text: &str) -> Option<MessageTime> {
    let is_own = |found: &Captures<'_>| {
        let whole = found.get_match();
        let (before, after) = (&text[..whole.start()], &text[whole.end()..]);
        // Digits of a longer number are part of an id.
        !before.ends_with(|c: char| c.is_ascii_digit()) && !is_bound(before, after)
    };
    WRITTEN.captures_iter(text).filter(is_own).find_map(|found| time_of(&found))
}

fn time_of(found: &Captures<'_>) -> Option<MessageTime> {
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let number = |name: &str| group(name).and_then(|digits| digits.parse::<i8>().ok());
    let year = ["year", "year2", "year3", "year4", "year5", "year6"].into_iter().find_map(group)?.parse().ok()?;
    let (month, day) = if let Some((one, other)) = number("one").zip(number("other")) {
        // Some countries write the month first, so the order is known only if one number cannot be a month.
        if one != other && one.max(other) <= 12 {
            return None;
        }
        (one.min(other), one.max(other))
    } else {
        let named = || month_of(group("name").or(group("name3"))?);
        let month = ["month", "month4", "month5"].into_iter().find_map(number).or_else(named)?;
        (month, ["day", "day2", "day3", "day4", "day5"].into_iter().find_map(number)?)
    };
    let time = match number("hour").zip(number("minute")) {
        Some((hour, minute)) => Time::new(hour_of_day(hour, group("half")), minute, number("second").unwrap_or(0), 0),
        None => Ok(Time::midnight()),
    };
    let civil: DateTime = Date::new(year, month, day).ok()?.to_datetime(time.ok()?);
    let offset_seconds = group("zone").and_then(|_| seconds_of(group("offset").unwrap_or("+0")));
    let offset = Offset::from_seconds(offset_seconds.unwrap_or(0)).ok()?;
    Some(MessageTime { at: offset.to_timestamp(civil).ok()?, offset_seconds, source: TimeSource::Derived })
}

/// Reads `Mon May  3 07:20:24 2004`, as programs print a time; the time of day may be missing.
pub(crate) fn printed(text: &str) -> Option<DateTime> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let month = words.iter().position(|word| word.get(..3).is_some_and(|word| month_of(word).is_some()))?;
    let year = words.iter().skip(month).find_map(|word| word.parse::<i16>().ok().filter(|year| *year > 1_000))?;
    let date = Date::new(year, month_of(&words[month][..3])?, words.get(month + 1)?.parse().ok()?).ok()?;
    let since = words.iter().skip(month).find_map(|word| clock(word).filter(|_| word.matches(':').count() == 2));
    date.to_datetime(Time::midnight()).checked_add(since.unwrap_or_default()).ok()
}

/// Returns the number of the month with this name or abbreviation.
pub(crate) fn month_of(name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    let place = MONTHS.iter().position(|names| names.split('|').any(|one| one == name))?;
    i8::try_from(place + 1).ok()
}

/// Converts an hour on a 12-hour clock to an hour of the day. Without `half`, the hour is returned unchanged.
pub(crate) fn hour_of_day(hour: i8, half: Option<&str>) -> i8 {
    match half.map(|half| half.starts_with(['p', 'P'])) {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        Some(_) | None => hour,
    }
}

/// Reads `GMT+5:30` or `UTC`.
pub(crate) fn named_offset(text: &str) -> Option<i32> {
    let offset = text.strip_prefix("GMT").or_else(|| text.strip_prefix("UTC"))?;
    if offset.is_empty() { Some(0) } else { seconds_of(offset) }
}

/// Reads `+1`, `-0530` or `+05:30`.
pub(crate) fn seconds_of(offset: &str) -> Option<i32> {
    let (sign, digits) = offset.split_at_checked(1)?;
    let digits = digits.replace(':', "");
    let (hours, minutes) = if digits.len() > 2 { digits.split_at(digits.len() - 2) } else { (digits.as_str(), "0") };
    let seconds = hours.parse::<i32>().ok()? * 3_600 + minutes.parse::<i32>().ok()? * 60;
    Some(if sign == "-" { -seconds } else { seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_are_read_with_and_without_hours_and_fractions() {
        let rows = [
            ("00:01.500", Some(1_500)),
            ("1:00:01,5", Some(3_601_500)),
            (" 0:12 ", Some(12_000)),
            ("00:00:01.2345", Some(1_234)),
            ("12", None),
            ("+1:02", None),
            ("1:2:3:4", None),
            ("99999999999999999999:00", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(clock(text), expected.map(Duration::from_millis), "{text}");
        }
    }
}

#[cfg(test)]
mod dates_tests {
    use super::*;

    #[test]
    fn printed_times_are_read() {
        let rows = [
            ("Mon May  3 07:20:24 2004", Some("2004-05-03T07:20:24")),
            ("Wed Jan 14 2026", Some("2026-01-14T00:00:00")),
            ("Thu Feb 30 10:00:00 2026", None),
            ("May", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(printed(text).map(|time| time.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn dates_are_found_in_every_spelling_and_offsets_only_where_they_are_written() {
        let rows = [
            ("Mon, Mar 4, 2024 10:00AM • 32:10", Some(("2024-03-04T10:00:00Z", None))),
            ("Mon, Mar 4, 2024 • 32:10", Some(("2024-03-04T00:00:00Z", None))),
            ("March 4, 2024, 12:05 am", Some(("2024-03-04T00:05:00Z", None))),
            ("Sync (2024-03-04 10:00 GMT) - Transcript", Some(("2024-03-04T10:00:00Z", Some(0)))),
            ("Sync - 2024/03/04 09:58 GMT+05:30 - Transcript", Some(("2024-03-04T04:28:00Z", Some(19_800)))),
            ("2024-03-04 10:00 CET", Some(("2024-03-04T10:00:00Z", None))),
            ("4 September 2024 at 1:30 PM", Some(("2024-09-04T13:30:00Z", None))),
            ("2024-13-04, then May 5, 2024", Some(("2024-05-05T00:00:00Z", None))),
            ("2024年3月4日（周一）10:00", Some(("2024-03-04T00:00:00Z", None))),
            ("Besprechung am 4.3.2024, 10:00 Uhr", Some(("2024-03-04T10:00:00Z", None))),
            ("# Besprechung vom 14. Januar 2024", Some(("2024-01-14T00:00:00Z", None))),
            ("Transcript of the call on January 14th, 2024", Some(("2024-01-14T00:00:00Z", None))),
            ("Call of the 3rd of March 2024", Some(("2024-03-03T00:00:00Z", None))),
            ("Fecha: 14 de enero de 2024", Some(("2024-01-14T00:00:00Z", None))),
            ("Réunion du 14 février 2024 à 9 h", Some(("2024-02-14T00:00:00Z", None))),
            ("Date: 14/01/2024", Some(("2024-01-14T00:00:00Z", None))),
            ("Date: 01/14/2024", Some(("2024-01-14T00:00:00Z", None))),
            ("Date: 03/03/2024", Some(("2024-03-03T00:00:00Z", None))),
            ("Date: 04/03/2024", None),
            ("# Notes since 2019-05-01", None),
            ("Notizen seit dem 1. Mai 2019", None),
            ("Notas desde el 1 de mayo de 2019", None),
            ("from 2024-03-04 to 2024-03-08", None),
            ("2024-03-04 – 2024-03-08", None),
            ("4.3.2024 - 8.3.2024", None),
            ("Release 1.2 - 2024-03-04", Some(("2024-03-04T00:00:00Z", None))),
            ("Besprechung am 4.3.2024, 10.00 - 11.30 Uhr", Some(("2024-03-04T10:00:00Z", None))),
            ("Sync 2024-03-04 10:00 - 11:30", Some(("2024-03-04T10:00:00Z", None))),
            ("until May 3, 2024: notes of May 1, 2024", Some(("2024-05-01T00:00:00Z", None))),
            ("Call from 4 March 2024", Some(("2024-03-04T00:00:00Z", None))),
            ("12024-03-04", None),
            ("version 1.2.30", None),
            ("Dismay 4, 2024", None),
            ("may 99, 2024 10:00 GMT+99", None),
            ("no date", None),
        ];
        for (text, expected) in rows {
            let pieces = written_in(text).map(|time| (time.at.to_string(), time.offset_seconds));
            assert_eq!(pieces, expected.map(|(at, offset)| (at.to_owned(), offset)), "{text}");
        }
    }
}
