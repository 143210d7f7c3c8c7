//! Which number of a date is the day: decided once for a file, from all of its dates.

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::Offset;

use super::header::Stamp;
use crate::{MessageTime, TimeSource};

/// Years in which a message can have been written.
const YEARS: std::ops::RangeInclusive<i16> = 2009..=2100;
/// What Thai calendars add to the year.
const BUDDHIST_ERA: i16 = 543;

/// The places of year, month and day in a file's dates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    year: usize,
    month: usize,
    day: usize,
}

impl Order {
    /// Decides from the dates of one file, which stand in the order of time.
    ///
    /// The year has four digits, or stands first if the last number ever falls, else last. Of the other two, the day is
    /// the one that exceeds twelve; else the one that falls more often within a year; else the one that changes more
    /// often; else what the spelling suggests: the last behind a year, the first otherwise, but not in American times.
    #[must_use]
    pub fn decide(stamps: &[Stamp]) -> Self {
        let year = year_place(stamps);
        let (first, second) = match year {
            0 => (1, 2),
            1 => (0, 2),
            _ => (0, 1),
        };
        let pairs = || stamps.windows(2).map(|pair| (pair[0].fields, pair[1].fields));
        let over = |place: usize| stamps.iter().filter(|stamp| stamp.fields[place] > 12).count();
        let falls = |place: usize| pairs().filter(|(a, b)| a[year] == b[year] && b[place] < a[place]).count();
        let changes = |place: usize| pairs().filter(|(a, b)| a[place] != b[place]).count();
        let told = [(over(first), over(second)), (falls(first), falls(second)), (changes(first), changes(second))];
        let american = stamps.first().is_some_and(|stamp| stamp.is_american && stamp.shape.separator == '/');
        let spelled = year != 0 && !american;
        let day_first = told.into_iter().find(|(a, b)| a != b).map_or(spelled, |(a, b)| a > b);
        let (day, month) = if day_first { (first, second) } else { (second, first) };
        Self { year, month, day }
    }

    /// Returns the time that `stamp` tells, on a clock whose zone nothing names; `None` for a date that does not exist.
    #[must_use]
    pub fn time(self, stamp: &Stamp) -> Option<MessageTime> {
        let field = |place: usize| i16::try_from(stamp.fields[place]).ok();
        let year = match field(self.year)? {
            short @ 0..100 => 2000 + short,
            buddhist if YEARS.contains(&(buddhist - BUDDHIST_ERA)) => buddhist - BUDDHIST_ERA,
            year => year,
        };
        let small = |place: usize| i8::try_from(stamp.fields[place]).ok();
        let date = Date::new(year, small(self.month)?, small(self.day)?).ok().filter(|_| YEARS.contains(&year))?;
        let part = |part: u8| i8::try_from(part).ok();
        let (hour, minute, second) = stamp.clock;
        let time = Time::new(part(hour)?, part(minute)?, part(second)?, 0).ok()?;
        let at = Offset::UTC.to_timestamp(DateTime::from_parts(date, time)).ok()?;
        Some(MessageTime { at, offset_seconds: None, source: TimeSource::Log })
    }
}

fn year_place(stamps: &[Stamp]) -> usize {
    if let Some(place) = stamps.iter().find_map(|stamp| stamp.year_at) {
        return place;
    }
    let most = |place: usize| stamps.iter().map(|stamp| stamp.fields[place]).max().unwrap_or_default();
    let falls = |place: usize| stamps.windows(2).any(|pair| pair[1].fields[place] < pair[0].fields[place]);
    let is_first = most(0) > 31 || (most(2) <= 31 && falls(2) && !falls(0));
    if is_first { 0 } else { 2 }
}

#[cfg(test)]
mod tests {
    use super::super::header::split;
    use super::*;

    fn dates(headers: &[&str]) -> Vec<String> {
        let stamps: Vec<_> = headers.iter().map(|header| split(&format!("{header} - a: m")).unwrap().0).collect();
        let order = Order::decide(&stamps);
        stamps
            .iter()
            .map(|stamp| order.time(stamp).map_or("none".to_owned(), |time| time.civil().date().to_string()))
            .collect()
    }

    #[test]
    fn the_day_is_found_by_each_step_in_turn() {
        let rows: [(&str, &[&str], &[&str]); 10] = [
            ("over twelve", &["3/4/26, 21:00", "3/13/26, 21:00"], &["2026-03-04", "2026-03-13"]),
            ("over twelve", &["3/4/26, 9:00 PM", "13/4/26, 9:00 PM"], &["2026-04-03", "2026-04-13"]),
            ("falls", &["9/3/26, 21:00", "2/4/26, 21:00"], &["2026-03-09", "2026-04-02"]),
            ("falls", &["3/9/26, 21:00", "4/2/26, 21:00"], &["2026-03-09", "2026-04-02"]),
            ("changes", &["3/4/26, 21:00", "3/5/26, 21:00"], &["2026-03-04", "2026-03-05"]),
            ("changes over years", &["2/1/25, 21:00", "3/1/26, 21:00"], &["2025-01-02", "2026-01-03"]),
            ("spelling", &["3/4/26, 21:00"], &["2026-04-03"]),
            ("American spelling", &["3/4/26, 9:00\u{202f}PM"], &["2026-03-04"]),
            ("year first", &["2026/3/4 21:00"], &["2026-03-04"]),
            ("short year first", &["25/12/30, 21:00", "26/01/02, 21:00"], &["2025-12-30", "2026-01-02"]),
        ];
        for (step, headers, expected) in rows {
            assert_eq!(dates(headers), expected, "{step}: {headers:?}");
        }
    }

    #[test]
    fn calendars_are_converted_and_dates_that_do_not_exist_are_no_time() {
        assert_eq!(dates(&["5/1/2569 21:00"]), ["2026-01-05"]);
        assert_eq!(dates(&["31.02.2026, 21:00", "0.0.2026, 21:00", "5.1.1403, 21:00"]), ["none", "none", "none"]);
    }
}
