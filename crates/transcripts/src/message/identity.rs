//! Identities and dates for logs that contain none: derived from the file's name, its first message, or fields of a
//! record.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;
use regex::Captures;
use sha2::{Digest, Sha256};

use crate::message::dates::{is_bound, written_in};
use crate::{Input, Message, MessageTime, TimeSource, hex, parse_rfc3339};

/// Returns the identity of a file that contains one conversation. Appending text or moving the file to another folder
/// does not change the identity.
pub(crate) fn of_file(stem: &str, first: &Message) -> String {
    of_parts(&[stem, &first.content_hash()])
}

/// Returns an identity derived from `parts` in the given order: 32 hexadecimal digits.
pub(crate) fn of_parts(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.as_bytes());
        hasher.update(b"\x1f");
    }
    hex(&hasher.finalize()[..16])
}

/// Returns the time in the file's name: `GMT20240101-100000`, or `2024-01-01` or `20240101`, optionally followed by a time
/// of day such as `T10-30`, ` 10.30` or `_103015`; or a date as people write it: `14.01.2024` or `14 Jan 2024`.
pub(crate) fn named_time(stem: &str) -> Option<MessageTime> {
    patterns! {
        NAMED = concat!(
            "GMT([0-9]{8})-([0-9]{6})",
            "|([0-9]{4}-[0-9]{2}-[0-9]{2}|[0-9]{4}_[0-9]{2}_[0-9]{2})(?:[T _]([0-9]{2}[-.:_h][0-9]{2}(?:[-.:_][0-9]{2})?))?",
            "|([0-9]{8})(?:[T_-]([0-9]{6}|[0-9]{4}))?",
        );
    }
    let mut from = 0;
    while let Some(found) = NAMED.captures_at(stem, from) {
        if let Some(time) = time_in(stem, &found) {
            return Some(time);
        }
        from = found.get_match().start() + 1;
    }
    let written = written_in(&stem.replace('_', " ")).filter(|time| YEARS.contains(&time.civil().year()))?;
    let is_day = written.civil().time() == Time::midnight();
    Some(MessageTime { source: if is_day { TimeSource::File } else { TimeSource::Derived }, ..written })
}

/// The years of dates in names of files; other numbers are ids.
const YEARS: Range<i16> = 1990..2100;

fn time_in(stem: &str, found: &Captures<'_>) -> Option<MessageTime> {
    let is_digit = |c: char| c.is_ascii_digit();
    let number = |text: &str| text.replace(|c| !is_digit(c), "").parse::<u32>().ok();
    let (date, time) = ([1, 3, 5].into_iter().find_map(|group| found.get(group))?, found.iter().skip(2).step_by(2));
    // A date inside a longer number is part of an id.
    let whole = found.get_match();
    let (before, after) = (&stem[..whole.start()], &stem[whole.end()..]);
    if before.ends_with(is_digit) || stem[date.end()..].starts_with(is_digit) || is_bound(before, after) {
        return None;
    }
    let (is_recorded, is_compact) = (found.get(1).is_some(), found.get(5).is_some());
    let day = number(date.as_str())?;
    let day = date_of(day / 10_000, day / 100 % 100, day % 100)?;
    if is_compact && !YEARS.contains(&day.year()) {
        return None;
    }
    let time = time.flatten().next().filter(|time| !is_compact || !stem[time.end()..].starts_with(is_digit));
    let time = time.and_then(|time| {
        let clock = number(time.as_str())?;
        let clock = if time.len() < 6 { clock * 100 } else { clock };
        time_of(clock / 10_000, clock / 100 % 100, clock % 100)
    });
    if is_recorded && time.is_none() {
        return None;
    }
    let at = Offset::UTC.to_timestamp(day.to_datetime(time.unwrap_or(Time::midnight()))).ok()?;
    // A file name with a time of day comes from a recorder and is reliable; a date alone may be the subject of the file
    // instead.
    let source = if time.is_some() { TimeSource::Derived } else { TimeSource::File };
    Some(MessageTime { at, offset_seconds: is_recorded.then_some(0), source })
}

/// The time before which a modification time says nothing about a log, in seconds since 1970: archives and packages give
/// all of their files the beginning of their calendar, such as 1970-01-01, 1980-01-01 or 1985-10-26.
pub const FIRST_MODIFIED: i64 = 631_152_000;

/// Returns the time in the file's name, or, failing that, the modification time of the file, unless it is before 1990.
pub(crate) fn file_time(input: &Input) -> Option<MessageTime> {
    let changed = |at: Timestamp| MessageTime {
        // Copying a file may remove fractions of a second from its modification time.
        at: at.round(jiff::Unit::Second).unwrap_or(at),
        offset_seconds: None,
        source: TimeSource::File,
    };
    let modified = input.modified.filter(|at| at.as_second() >= FIRST_MODIFIED);
    named_time(&input.stem()).or_else(|| modified.map(changed))
}

/// Returns the date in `text`, with or without a time of day and an offset.
pub(crate) fn written_time(text: &str, source: TimeSource) -> Option<MessageTime> {
    let text = text.trim().trim_matches(['"', '\'']);
    if let Some((at, offset)) = parse_rfc3339(&text.replacen(' ', "T", 1)) {
        return Some(MessageTime { at, offset_seconds: Some(offset), source });
    }
    // A date without a time of day may end in `Z`, which RFC 3339 does not permit.
    let (bare, zulu) = text.strip_suffix('Z').map_or((text, false), |bare| (bare, true));
    let civil: DateTime = bare.parse().ok()?;
    let at = Offset::UTC.to_timestamp(civil).ok()?;
    Some(MessageTime { at, offset_seconds: zulu.then_some(0), source })
}

/// Returns the time of a message, from a number of seconds or milliseconds since 1970, or from a time in text form.
///
/// A number denotes a time in UTC; a time in text form has an offset only if the text contains one.
pub(crate) fn stamp(value: &serde_json::Value) -> Option<MessageTime> {
    let written = value.as_str().and_then(|text| written_time(text, TimeSource::Log));
    written.or_else(|| instant(value).map(MessageTime::logged))
}

/// Returns the time of a message from an RFC 3339 time with its offset; `None` for any other format.
pub(crate) fn rfc3339(value: &serde_json::Value) -> Option<MessageTime> {
    let (at, offset) = parse_rfc3339(value.as_str()?)?;
    Some(MessageTime { offset_seconds: Some(offset), ..MessageTime::logged(at) })
}

/// Smallest number of seconds since 1970 that is read as a time, which is a time in 1973; smaller numbers are not
/// times.
const FIRST_SECONDS: f64 = 1e8;

/// Returns the instant denoted by a number since 1970 or by a time in text form. The size of the number determines
/// whether it counts seconds, milliseconds, microseconds or nanoseconds.
#[must_use]
pub fn instant(value: &serde_json::Value) -> Option<Timestamp> {
    let number = match value.as_str() {
        // Some programs write the number as text.
        Some(text) if text.len() > 8 && text.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok(),
        Some(text) => return written_time(text, TimeSource::Log).map(|time| time.at),
        None => value.as_f64(),
    };
    let number: f64 = number.filter(|number| *number >= FIRST_SECONDS)?;
    let seconds = match number {
        // The four ranges do not overlap for any year from 1973 to 5138.
        _ if number > 1e17 => number / 1e9,
        _ if number > 1e14 => number / 1e6,
        _ if number > 1e11 => number / 1e3,
        _ => number,
    };
    // Rounding to milliseconds keeps floating-point noise out of stored times.
    #[expect(clippy::cast_possible_truncation, reason = "a number out of range saturates, and is then rejected")]
    Timestamp::from_millisecond((seconds * 1_000.0).round() as i64).ok()
}

/// Returns the offset, in seconds, of a clock that showed `local` at the instant `at`, rounded to quarters of an hour,
/// because real offsets are multiples of a quarter.
pub(crate) fn offset_of_clock(local: DateTime, at: Timestamp) -> Option<i32> {
    const QUARTER: i64 = 900;
    let difference = Offset::UTC.to_timestamp(local).ok()?.as_second().checked_sub(at.as_second())?;
    let quarters = difference.checked_add(QUARTER / 2)?.div_euclid(QUARTER);
    let offset = i32::try_from(quarters * QUARTER).ok()?;
    // If the difference is not close to a real offset, the clock was set incorrectly, so its offset is unknown.
    let is_offset = (-12 * 3_600..=14 * 3_600).contains(&offset) && (difference - i64::from(offset)).abs() <= 60;
    is_offset.then_some(offset)
}

fn date_of(year: u32, month: u32, day: u32) -> Option<Date> {
    Date::new(i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

fn time_of(hour: u32, minute: u32, second: u32) -> Option<Time> {
    Time::new(i8::try_from(hour).ok()?, i8::try_from(minute).ok()?, i8::try_from(second).ok()?, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_contain_dates_in_several_spellings() {
        let pieces = |stem| named_time(stem).map(|time| (time.at.to_string(), time.offset_seconds));
        let rows = [
            ("GMT20260304-100000_Recording", Some(("2026-03-04T10:00:00Z", Some(0)))),
            ("notes 2026-03-04", Some(("2026-03-04T00:00:00Z", None))),
            ("会议2026-03-04T10-30-05", Some(("2026-03-04T10:30:05Z", None))),
            ("2026_03_04_10_30_chat", Some(("2026-03-04T10:30:00Z", None))),
            ("standup-20260304", Some(("2026-03-04T00:00:00Z", None))),
            ("#oven_20260304-1030.log", Some(("2026-03-04T10:30:00Z", None))),
            ("20260304T103005Z", Some(("2026-03-04T10:30:05Z", None))),
            ("Besprechung 04.03.2026", Some(("2026-03-04T00:00:00Z", None))),
            ("standup_14-03-2026", Some(("2026-03-14T00:00:00Z", None))),
            ("Meeting 4 Mar 2026", Some(("2026-03-04T00:00:00Z", None))),
            ("meeting_4-Mar-2026_notes", Some(("2026-03-04T00:00:00Z", None))),
            ("sync (Mar 4, 2026)", Some(("2026-03-04T00:00:00Z", None))),
            ("reunion 4 de marzo de 2026", Some(("2026-03-04T00:00:00Z", None))),
            ("会议2026年3月4日", Some(("2026-03-04T00:00:00Z", None))),
            ("standup_04-03-2026", None),
            ("notes-since-2026-03-04", None),
            ("sprint 2026-03-04 to 2026-03-18", None),
            ("sprint_2026-03-04_-_2026-03-18", None),
            ("sync 2026-03-04 10.30 - 2026-03-05 11.30", None),
            ("chat-2026-03-04-10-30-15", Some(("2026-03-04T00:00:00Z", None))),
            ("2026-03-04 - 10.30 x", Some(("2026-03-04T00:00:00Z", None))),
            ("2026-03-04 10.30 - 11.30", Some(("2026-03-04T10:30:00Z", None))),
            ("app-1.2-2026-03-04", Some(("2026-03-04T00:00:00Z", None))),
            ("app-1.2.30-2026-03-04", Some(("2026-03-04T00:00:00Z", None))),
            ("part 4 Mar 1066", None),
            ("order 12345678", None),
            ("202603041", None),
            ("20261304", None),
            ("12026-03-04", None),
            ("2026-13-04", None),
            ("plan", None),
        ];
        for (stem, expected) in rows {
            assert_eq!(pieces(stem), expected.map(|(at, offset)| (at.to_owned(), offset)), "{stem}");
        }
    }

    #[test]
    fn numbers_are_read_by_their_size_and_nonsense_is_no_time() {
        let pieces = |value| instant(&value).map(|at| at.to_string());
        assert_eq!(pieces(serde_json::json!(1_767_312_000.5)).as_deref(), Some("2026-01-02T00:00:00.5Z"));
        assert_eq!(pieces(serde_json::json!(1_767_312_000_500_u64)).as_deref(), Some("2026-01-02T00:00:00.5Z"));
        assert_eq!(pieces(serde_json::json!(1_767_312_000_500_000_000_u64)).as_deref(), Some("2026-01-02T00:00:00.5Z"));
        assert_eq!(pieces(serde_json::json!("2026-01-02 03:04Z")).as_deref(), Some("2026-01-02T03:04:00Z"));
        for nonsense in [
            serde_json::json!(0),
            serde_json::json!(12.5),
            serde_json::json!(1e300),
            serde_json::json!("soon"),
            serde_json::json!(null),
        ] {
            assert_eq!(pieces(nonsense), None);
        }
    }

    #[test]
    fn the_offset_of_a_clock_is_its_distance_from_the_instant() {
        let rows = [
            ("2026-03-04T12:00:00", Some(7_200)),
            ("2026-03-04T04:30:00", Some(-19_800)),
            ("2026-03-04T10:00:59", Some(0)),
            ("2026-03-04T10:07:00", None),
            ("2026-03-06T10:00:00", None),
        ];
        let at: Timestamp = "2026-03-04T10:00:00Z".parse().unwrap();
        for (local, expected) in rows {
            assert_eq!(offset_of_clock(local.parse().unwrap(), at), expected, "{local}");
        }
    }

    #[test]
    fn a_file_keeps_its_identity_while_it_grows() {
        let first = Message::user("hello");
        assert_eq!(of_file("a", &first), of_file("a", &Message { id: "9".into(), ..first.clone() }));
        assert_ne!(of_file("a", &first), of_file("b", &first));
    }
}
