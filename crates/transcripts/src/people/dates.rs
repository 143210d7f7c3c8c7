//! Dates as people and meeting programs write them into titles and headers.

use std::sync::LazyLock;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use regex::{Captures, Regex};

use crate::{MessageTime, TimeSource};

const MONTHS: &str = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec";

static WRITTEN: LazyLock<Regex> = LazyLock::new(|| {
    let day = r"(?:(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})";
    let named = format!(
        r"|\b(?P<name>{MONTHS})[a-z]*\.?\s+(?P<day2>\d{{1,2}}),?\s+(?P<year2>\d{{4}})|\b(?P<day3>\d{{1,2}})\s+(?P<name3>{MONTHS})[a-z]*\.?,?\s+(?P<year3>\d{{4}}))\b"
    );
    let time = r"(?:\s*(?:,|T|at|-)?\s*(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?\s*(?P<half>[ap]\.?m\b)?";
    let zone = r"(?:\s*\b(?P<zone>Z|UTC|GMT)(?P<offset>[+-]\d{1,2}(?::?\d{2})?)?)?)?";
    Regex::new(&format!("(?i){day}{named}{time}{zone}")).expect("the pattern is constant")
});

/// Returns the first date in `text`, with its time of day and offset where they stand beside it; the offset is known
/// only where it is written as a number or as UTC.
///
/// Words are derived from it by their distance from the start, hence [`TimeSource::Derived`].
#[must_use]
pub fn written_in(text: &str) -> Option<MessageTime> {
    WRITTEN.captures_iter(text).find_map(|found| time_of(&found))
}

fn time_of(found: &Captures<'_>) -> Option<MessageTime> {
    let group = |name: &str| found.name(name).map(|group| group.as_str());
    let number = |name: &str| group(name).and_then(|digits| digits.parse::<i8>().ok());
    let year = group("year").or(group("year2")).or(group("year3"))?.parse().ok()?;
    let month = number("month").or_else(|| month_of(group("name").or(group("name3"))?))?;
    let day = number("day").or(number("day2")).or(number("day3"))?;
    let time = match number("hour").zip(number("minute")) {
        Some((hour, minute)) => Time::new(hour_of_day(hour, group("half")), minute, number("second").unwrap_or(0), 0),
        None => Ok(Time::midnight()),
    };
    let civil: DateTime = Date::new(year, month, day).ok()?.to_datetime(time.ok()?);
    let offset_seconds = group("zone").and_then(|_| seconds_of(group("offset").unwrap_or("+0")));
    let offset = Offset::from_seconds(offset_seconds.unwrap_or(0)).ok()?;
    Some(MessageTime { at: offset.to_timestamp(civil).ok()?, offset_seconds, source: TimeSource::Derived })
}

fn month_of(name: &str) -> Option<i8> {
    let place = MONTHS.split('|').position(|month| month.eq_ignore_ascii_case(name))?;
    i8::try_from(place + 1).ok()
}

fn hour_of_day(hour: i8, half: Option<&str>) -> i8 {
    match half.map(|half| half.starts_with(['p', 'P'])) {
        Some(true) if hour < 12 => hour + 12,
        Some(false) if hour == 12 => 0,
        Some(_) | None => hour,
    }
}

/// Reads `+1`, `-0530` or `+05:30`.
fn seconds_of(offset: &str) -> Option<i32> {
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
            ("Dismay 4, 2024", None),
            ("may 99, 2024 10:00 GMT+99", None),
            ("no date", None),
        ];
        for (text, expected) in rows {
            let told = written_in(text).map(|time| (time.at.to_string(), time.offset_seconds));
            assert_eq!(told, expected.map(|(at, offset)| (at.to_owned(), offset)), "{text}");
        }
    }
}
