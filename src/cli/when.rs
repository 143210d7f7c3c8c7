//! Times as people write them: dates, times, ages, and names such as `today`. Performs no I/O.

use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use jiff::{Timestamp, Zoned};

use crate::api::period;

/// The end of a range that a time denotes. A day is included in the range as a whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// The start: the first moment in the range.
    Since,
    /// The end: the first moment after the range.
    Until,
}

/// Parses `text` as one `end` of a range: a date, in the time zone of `now`; an RFC 3339 time; an age such as `12h`,
/// `7d`, `2w`, `3mo` or `1y`; `today` or `yesterday`.
///
/// # Errors
/// A message with the accepted forms, if `text` has none of them.
pub(crate) fn moment(text: &str, end: End, now: &Zoned) -> Result<Timestamp, String> {
    let text = text.trim();
    // A time with an offset is absolute; every other form depends on the zone of `now`.
    let found = text.parse::<Timestamp>().ok();
    let found = found.or_else(|| day(text, now).and_then(|date| of_day(date, end, now.time_zone())));
    let found = found.or_else(|| period(text).and_then(|age| now.checked_sub(age).ok()).map(|at| at.timestamp()));
    let local = || text.parse::<DateTime>().ok()?.to_zoned(now.time_zone().clone()).ok();
    found.or_else(|| Some(local()?.timestamp())).ok_or_else(|| {
        format!("{text:?} is not a time; write it like 2027-01-31, 2027-01-31T18:00:00Z, 7d, 2w, 3mo or yesterday")
    })
}

fn day(text: &str, now: &Zoned) -> Option<Date> {
    match text.to_lowercase().as_str() {
        "today" => Some(now.date()),
        "yesterday" => now.date().yesterday().ok(),
        // A text with a time would also parse as a date, and lose the time.
        _ if text.contains(['T', 't', ' ', ':']) => None,
        _ => text.parse().ok(),
    }
}

fn of_day(date: Date, end: End, zone: &TimeZone) -> Option<Timestamp> {
    let first = match end {
        End::Since => date,
        // The end is exclusive, so the given day is included as a whole.
        End::Until => date.tomorrow().ok()?,
    };
    // Midnight is looked up in the zone, because days on which the clocks change do not have 24 hours.
    Some(first.to_zoned(zone.clone()).ok()?.timestamp())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let now: Zoned = "2026-03-15T14:30:00+02:00[+02:00]".parse().unwrap();
        let table = [
            ("2026-03-01", "2026-02-28T22:00:00Z", "2026-03-01T22:00:00Z"),
            ("2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z", "2026-03-01T10:00:00Z"),
            ("2026-03-01T10:00:00+05:00", "2026-03-01T05:00:00Z", "2026-03-01T05:00:00Z"),
            ("2026-03-01T10:00", "2026-03-01T08:00:00Z", "2026-03-01T08:00:00Z"),
            ("today", "2026-03-14T22:00:00Z", "2026-03-15T22:00:00Z"),
            ("Yesterday", "2026-03-13T22:00:00Z", "2026-03-14T22:00:00Z"),
            ("7d", "2026-03-08T12:30:00Z", "2026-03-08T12:30:00Z"),
            ("2w", "2026-03-01T12:30:00Z", "2026-03-01T12:30:00Z"),
            ("12h", "2026-03-15T00:30:00Z", "2026-03-15T00:30:00Z"),
            ("1mo", "2026-02-15T12:30:00Z", "2026-02-15T12:30:00Z"),
            ("2 years", "2024-03-15T12:30:00Z", "2024-03-15T12:30:00Z"),
        ];
        for (text, since, until) in table {
            assert_eq!(moment(text, End::Since, &now).unwrap().to_string(), since, "{text}");
            assert_eq!(moment(text, End::Until, &now).unwrap().to_string(), until, "{text}");
        }
        for text in ["", "7", "d", "7x", "soon", "-7d", "99999999999999999999d", "2026-13-01", "999999y"] {
            assert!(moment(text, End::Since, &now).is_err(), "{text}");
        }
    }
}
