//! Dates as models write them in fields, as instants.

use jiff::civil::{Date, date};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

/// Which end of a year, month or day is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Edge {
    /// Its first second.
    First,
    /// Its last second.
    Last,
}

/// Reads a year, a month, a day or a full time stamp as the instant of its `edge` on a clock at `offset_seconds`.
pub(in super::super) fn instant(text: &str, edge: Edge, offset_seconds: i32) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    // What follows a day, e.g. a time without offset, is beyond the precision that is asked for.
    let day = text.get(..10).filter(|_| text.get(10..11).is_none_or(|next| next == "T" || next == " ")).unwrap_or(text);
    let parts: Vec<&str> = day.split('-').collect();
    let number = |part: &str, digits: usize| (part.len() == digits).then(|| part.parse::<i16>().ok()).flatten();
    let (first, next) = match parts[..] {
        [year] => {
            let first = Date::new(number(year, 4)?, 1, 1).ok()?;
            (first, first.checked_add(1.year()))
        }
        [year, month] => {
            let first = Date::new(number(year, 4)?, i8::try_from(number(month, 2)?).ok()?, 1).ok()?;
            (first, first.checked_add(1.month()))
        }
        [year, month, day] => {
            let (month, day) = (i8::try_from(number(month, 2)?).ok()?, i8::try_from(number(day, 2)?).ok()?);
            let first = Date::new(number(year, 4)?, month, day).ok()?;
            (first, first.checked_add(1.day()))
        }
        _ => return None,
    };
    // Nobody remembers beyond these years; a date there is a slip.
    if !(date(1000, 1, 1)..date(4000, 1, 1)).contains(&first) {
        return None;
    }
    let offset = Offset::from_seconds(offset_seconds).unwrap_or(Offset::UTC);
    let at = |date: Date| offset.to_timestamp(date.to_datetime(jiff::civil::Time::midnight())).ok();
    match edge {
        Edge::First => at(first),
        Edge::Last => at(next.ok()?)?.checked_sub(1.second()).ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_three_precisions_cover_their_whole_span() {
        for (text, first, last) in [
            ("2026", "2025-12-31T22:00:00Z", "2026-12-31T21:59:59Z"),
            ("2026-02", "2026-01-31T22:00:00Z", "2026-02-28T21:59:59Z"),
            (" 2024-02-29 ", "2024-02-28T22:00:00Z", "2024-02-29T21:59:59Z"),
            ("2024-02-29T10:00", "2024-02-28T22:00:00Z", "2024-02-29T21:59:59Z"),
            ("2026-03-01T14:00:00+02:00", "2026-03-01T12:00:00Z", "2026-03-01T12:00:00Z"),
        ] {
            let at = |edge| instant(text, edge, 7_200).map(|at| at.to_string());
            assert_eq!((at(Edge::First).as_deref(), at(Edge::Last).as_deref()), (Some(first), Some(last)), "{text}");
        }
        for text in [
            "",
            "soon",
            "2026-13",
            "2026-02-30",
            "26",
            "2026-3-1",
            "0001",
            "9999",
            "2026-03-011",
            "March 2026",
            "去年",
            "-2026",
        ] {
            assert_eq!(instant(text, Edge::First, 0), None, "{text}");
        }
    }
}
