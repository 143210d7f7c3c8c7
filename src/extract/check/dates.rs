//! Finds dates in a claim that do not appear in the conversation and cannot be derived from the time of a message.
//!
//! A common error is to resolve a relative date against a day other than that of the message, such as today when an old
//! conversation is read. A date is accepted if it lies within the range of a time expression that was used.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, Weekday, date};
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};
use regex::Regex;
use serde::Deserialize;

use super::numbers::counts;
use crate::text::date::{Days, TimeSpan, Written, bare_months, lapses, weekday, written};
use crate::text::number::{Number, digit, in_words};
use crate::text::pattern_set::Anywhere;

/// Maximum distance, in days, of an expiry date that the model chose by itself from the time of the statement.
const MAX_JUDGED_DAYS: i32 = 400;

/// Maximum range, in days, of a time expression that is also used outside its session.
const NEAR_DAYS: i32 = 9;
/// Maximum number of days and spans that are combined. With more, almost any date could be derived.
const MAX_COUNTED: usize = 200;

/// Length of the shortest name of a weekday, "lunes".
const SHORTEST_WEEKDAY: usize = 5;

/// The dates that a claim may mention.
#[derive(Debug, Default)]
pub(super) struct Dates {
    spans: Vec<(Date, Date)>,
    /// Years of birth and similar years that follow from an age.
    years: Vec<i16>,
    /// Days on which something was said.
    stamps: Vec<Date>,
    /// Days that were mentioned, which may be the starting points of time spans.
    named: Vec<(Date, Date)>,
    lapses: Vec<TimeSpan>,
    /// Days of the week that were mentioned, which may be in the week of a day that was mentioned.
    weekdays: Vec<Weekday>,
    /// Whether time expressions with a long range are ignored.
    is_near: bool,
}

impl Dates {
    /// Returns an empty set that ignores time expressions with a long range.
    pub(super) fn near() -> Self {
        Self { is_near: true, ..Self::default() }
    }

    /// Adds `text`, and the day on the speaker's calendar on which it was said.
    pub(super) fn add(&mut self, text: &str, said_on: Option<Date>) {
        let dates = written(text);
        self.add_bare_years(text, &dates);
        let months = bare_months(text, &dates);
        let ranges: Vec<Days> = dates.iter().filter_map(|date| range_around(text, date)).collect();
        for days in dates.into_iter().flat_map(|one| one.meanings).chain(months).chain(ranges) {
            let named: Vec<_> = match (days.year, said_on) {
                (Some(year), _) => days.within(year).into_iter().collect(),
                (None, Some(today)) => {
                    // "On 3 January" said in December refers to the next year, so the adjacent years count as well.
                    (-1..=1).filter_map(|step| days.within(today.year().checked_add(step)?)).collect()
                }
                (None, None) => Vec::new(),
            };
            self.spans.extend(&named);
            self.add_named(named);
        }
        if !self.is_near {
            self.weekdays.extend(weekdays(text));
        }
        let mut lapses = lapses(text);
        lapses.retain(|one| one.days > 0 && !self.lapses.contains(one) && (!self.is_near || one.days <= NEAR_DAYS));
        self.lapses.extend(lapses);
        if let Some(today) = said_on {
            self.add_stamp(today);
            let is_near = |(from, to): &(Date, Date)| {
                !self.is_near || from.checked_add(NEAR_DAYS.days()).is_ok_and(|limit| *to <= limit)
            };
            self.spans.extend(reach(text, today).into_iter().filter(is_near));
            let ages = counts(text).filter(|_| !self.is_near);
            // Whether this year's birthday has passed is unknown, so two years are possible.
            self.years.extend(ages.flat_map(|age| [today.year() - age, today.year() - age - 1]));
        }
    }

    fn add_named(&mut self, named: Vec<(Date, Date)>) {
        for days in named {
            // A span of weeks is never counted from a whole year.
            let is_short = days.0.checked_add(31.days()).is_ok_and(|limit| days.1 <= limit);
            if is_short && !self.named.contains(&days) {
                self.named.push(days);
            }
        }
    }

    /// Adds a day on which something was said.
    pub(super) fn add_stamp(&mut self, today: Date) {
        if !self.stamps.contains(&today) {
            self.stamps.push(today);
            // Logs in UTC differ by a day for speakers far east or west.
            self.spans.extend(today.yesterday().ok().zip(today.tomorrow().ok()));
        }
    }

    /// Adds every number that looks like a year, regardless of its context.
    fn add_bare_years(&mut self, text: &str, dates: &[Written]) {
        let is_alone = |at: usize| !dates.iter().any(|date| date.at.contains(&at));
        let runs = text.split(|c| digit(c).is_none()).filter(|run| run.len() == 4);
        let runs = runs.filter(|run| is_alone(run.as_ptr() as usize - text.as_ptr() as usize));
        // Other four-digit numbers are ports and amounts far more often than years.
        let years = runs.filter_map(|run| run.parse::<i16>().ok());
        // Years in words, as in "nineteen ninety-eight". A whole century is far more often an amount.
        let words = in_words(text).into_iter().flat_map(|number| number.readings);
        let words = words.filter(|value| value.fract() == 0.0 && value % 100.0 != 0.0 && value.abs() < 9e3);
        #[expect(clippy::cast_possible_truncation, reason = "only small whole numbers remain")]
        let years = years.chain(words.map(|value| value as i16)).filter(|year| (1500..2200).contains(year));
        self.spans.extend(years.filter_map(|year| Some((Date::new(year, 1, 1).ok()?, Date::new(year, 12, 31).ok()?))));
    }

    /// Whether a number may be a year that can be traced to one of `sources`.
    pub(super) fn have_year(sources: &[&Self], number: &str) -> bool {
        let dates = written(&as_field(number));
        let is_traced = |days: &Days| sources.iter().any(|source| source.is_traced(*days));
        number.len() == 4 && dates.iter().any(|one| one.meanings.iter().any(is_traced))
    }

    /// Returns the positions of dates in `content`.
    pub(super) fn places(content: &str) -> Vec<Range<usize>> {
        written(content).into_iter().map(|one| one.at).collect()
    }

    /// Returns the dates in `content` that can be traced to none of `sources`.
    pub(super) fn foreign<'t>(sources: &[&Self], content: &'t str) -> Vec<&'t str> {
        let is_traced = |days: &Days| sources.iter().any(|source| source.is_traced(*days));
        let dates = written(content).into_iter().filter(|one| !one.meanings.iter().any(is_traced));
        dates.map(|one| &content[one.at]).collect()
    }

    /// Whether `text`, the beginning or end of a period, can be traced to one of `sources`.
    pub(super) fn may_hold(sources: &[&Self], text: &str) -> bool {
        Self::foreign(sources, &as_field(text)).is_empty()
    }

    /// Whether `text`, an expiry date, can be traced to a source, or is a judgement close to the time of the statement.
    pub(super) fn may_expire(&self, text: &str) -> bool {
        let near = |days: &Days| {
            let Some((first, last)) = days.year.and_then(|year| days.within(year)) else { return false };
            self.stamps.iter().any(|stamp| {
                stamp.checked_add(MAX_JUDGED_DAYS.days()).is_ok_and(|limit| last >= *stamp && first <= limit)
            })
        };
        written(&as_field(text)).iter().all(|one| one.meanings.iter().any(|days| near(days) || self.is_traced(*days)))
    }

    /// Whether a span of time leads from a mentioned day to a day between `first` and `last`.
    fn is_counted(&self, first: Date, last: Date) -> bool {
        self.lapses.iter().take(MAX_COUNTED).any(|lapse| {
            self.named.iter().take(MAX_COUNTED).any(|&(from, to)| {
                [lapse.days, -lapse.days].into_iter().any(|days| {
                    let start = from.checked_add((days - lapse.slack()).days());
                    let end = to.checked_add((days + lapse.slack()).days());
                    start.is_ok_and(|start| start <= last) && end.is_ok_and(|end| first <= end)
                })
            })
        })
    }

    /// Whether `day` is a mentioned day of the week, in the week of a day that was mentioned: the Thursday of a trip in
    /// the week of 20 April.
    fn is_in_named_week(&self, day: Date) -> bool {
        let week = |day: Date| {
            let monday = day.checked_sub(i32::from(day.weekday().to_monday_zero_offset()).days()).ok()?;
            Some((monday, monday.checked_add(6.days()).ok()?))
        };
        let is_week = |(from, to): &(Date, Date)| {
            week(*from).zip(week(*to)).is_some_and(|((monday, _), (_, sunday))| monday <= day && day <= sunday)
        };
        self.weekdays.contains(&day.weekday()) && self.named.iter().any(is_week)
    }

    fn is_traced(&self, days: Days) -> bool {
        let meets = |year: i16| {
            days.within(year).is_some_and(|(first, last)| {
                self.spans.iter().any(|(from, to)| first <= *to && *from <= last)
                    || self.is_counted(first, last)
                    || first == last && self.is_in_named_week(first)
            })
        };
        match days.year {
            Some(year) => meets(year) || days.is_year() && self.years.contains(&year),
            None if days.is_bare_month() => true,
            None => {
                let mut years: Vec<i16> = self.spans.iter().flat_map(|(from, to)| [from.year(), to.year()]).collect();
                years.sort_unstable();
                years.dedup();
                // Without any known date, a day without a year cannot be checked.
                years.is_empty() || years.into_iter().any(meets)
            }
        }
    }
}

/// Returns the days of the week that `text` mentions.
fn weekdays(text: &str) -> Vec<Weekday> {
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() >= SHORTEST_WEEKDAY);
    let named = words.filter_map(|word| weekday(word).or_else(|| weekday(word.strip_suffix('s')?)));
    let of_character = |c: char| "一二三四五六日".find(c).map(|at| at / '一'.len_utf8()).or((c == '天').then_some(6));
    let chinese = ["周", "星期", "礼拜", "週"].into_iter().flat_map(|word| {
        let after = lower.match_indices(word).filter_map(|(at, word)| lower[at + word.len()..].chars().next());
        after.filter_map(of_character).collect::<Vec<_>>()
    });
    let chinese = chinese.filter_map(|at| Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok());
    named.chain(chinese).collect()
}

static RANGE: LazyLock<[Regex; 2]> = LazyLock::new(|| {
    let to = r"(?:\s?[-–—]\s?|\s(?:to|until|till|through|bis|a|al)\s(?:the\s)?)";
    let day = r"(?P<day>[12]?\d|3[01])";
    // A number before any other word counts something, as in "3 May to 10 conferences".
    let after = r"(?:$|[.,](?:\s|$)|[^\w\s:%.,/-]|\s+(?:\d{4}\b|[^\w\s]|(?:in|im|at|am|on|an|auf|for|für|para|por|with|mit|con|by|bei|from|von|of|de|del|en|and|und|y|or|oder|o|but|aber|pero|is|ist|was|war|were|will|we|wir|i|ich|he|she|they|it|you|when|while|because|during|instead|statt)\b))";
    [format!(r"(?i)\b{day}(?:st|nd|rd|th|\.)?{to}$"), format!(r"(?i)^{to}{day}(?:(?:st|nd|rd|th)\b|\.?{after})")]
        .map(|pattern| Regex::new(&pattern).expect("the pattern is constant and a test compiles it"))
});

/// Returns the days from the first to the last day of a range such as "20 to 27 April" or "April 20-27", of which `date`
/// is the part with the month.
fn range_around(text: &str, date: &Written) -> Option<Days> {
    let days = date.meanings.first().filter(|days| days.first == days.last)?;
    let (month, own) = days.first;
    let near = &text[text.floor_char_boundary(date.at.start.saturating_sub(24))..date.at.start];
    let number = |found: regex::Captures<'_>| found["day"].parse::<i8>().ok();
    let first = RANGE[0].captures(near).and_then(number).filter(|first| *first < own).map(|first| (first, own));
    let last = || RANGE[1].captures(&text[date.at.end..]).and_then(number).filter(|last| *last > own);
    let (first, last) = first.or_else(|| last().map(|last| (own, last)))?;
    Days::day(days.year, month, last).map(|_| Days { first: (month, first), last: (month, last), ..*days })
}

/// Returns a field in a form in which a bare year is also recognised as a date.
fn as_field(text: &str) -> String {
    format!("in {}", text.trim())
}

/// Time expressions, and the first and last day that they may refer to, relative to the day of the message.
static REACHES: LazyLock<Vec<(i32, i32, Anywhere)>> = LazyLock::new(|| {
    #[derive(Deserialize)]
    struct Table {
        reaches: Vec<(i32, i32, Anywhere)>,
    }
    let table: Table = toml::from_str(include_str!("dates.toml")).expect("the table is a constant");
    table.reaches
});

/// Returns the spans of days that the time expressions in `text` may refer to when they are used on `today`.
fn reach(text: &str, today: Date) -> Vec<(Date, Date)> {
    let span = |from: i32, to: i32| Some((today.checked_add(from.days()).ok()?, today.checked_add(to.days()).ok()?));
    let named =
        REACHES.iter().filter(|(.., pattern)| pattern.is_match(text)).filter_map(|&(from, to, _)| span(from, to));
    let mut spans: Vec<_> = named.collect();
    for one in lapses(text) {
        // People round numbers: the longer ago, the less exact. "Three weeks ago" may be off by a week.
        let slack = (one.days / 6).max(one.unit).min(500) + 1;
        spans.extend(span(-one.days - slack, (slack - one.days).min(1)).filter(|_| one.may_be_past));
        spans.extend(span((one.days - slack).max(-1), one.days + slack).filter(|_| one.may_be_ahead));
    }
    spans.extend(days_of_month(text, today));
    spans
}

static DAY_OF_MONTH: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?P<d>[12]?\d|3[01])(?:st|nd|rd|th)\b|\b(?:am|zum|bis|den|ab)\s+(?P<g>[12]?\d|3[01])\.|\b(?:el|día|hasta el)\s+(?P<s>[12]?\d|3[01])\b|(?P<c>[12]?\d|3[01])[号號日]")
        .expect("the pattern is constant and a test compiles it")
});

static SPELLED_DAY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(?:am|zum|bis|den|dem|der|ab|vom)\s+(?P<day>\p{L}+?)(?:s?ten|te)\b")
        .expect("the pattern is constant and a test compiles it")
});

/// Returns the days of a month that `text` spells out, such as "the fourteenth", "am vierzehnten", "el catorce" and 十四号.
fn spelled_days(text: &str) -> Vec<i8> {
    let lower = text.to_lowercase();
    let is_day = |at: &Range<usize>| {
        let before = lower[..at.start].trim_end();
        ["st", "nd", "rd", "th"].iter().any(|end| lower[at.clone()].ends_with(end))
            || lower[at.end..].starts_with(['号', '號', '日'])
            || [" el", " día"].iter().any(|word| format!(" {before}").ends_with(word))
    };
    let value = |number: &Number| number.readings.first().copied();
    let german = SPELLED_DAY.captures_iter(&lower).filter_map(|found| match &found["day"] {
        "er" => Some(1.0),
        "drit" => Some(3.0),
        "sieb" => Some(7.0),
        word => in_words(word).first().and_then(value),
    });
    let numbers = in_words(&lower);
    let values = numbers.iter().filter(|number| is_day(&number.at)).filter_map(value).chain(german);
    #[expect(clippy::cast_possible_truncation, reason = "it is a whole number of at most 31")]
    let days = values.filter(|value| (1.0..=31.0).contains(value) && value.fract() == 0.0).map(|value| value as i8);
    days.collect()
}

/// "On the 5th" is that day of this month or of an adjacent month.
fn days_of_month(text: &str, today: Date) -> Vec<(Date, Date)> {
    let numbers = DAY_OF_MONTH
        .captures_iter(text)
        .filter_map(|found| ["d", "g", "s", "c"].iter().find_map(|name| found.name(name))?.as_str().parse::<i8>().ok());
    numbers
        .chain(spelled_days(text))
        .flat_map(|day| {
            (-2..=2_i32).filter_map(move |months| {
                let month = today.first_of_month().checked_add(months.months()).ok()?;
                let date = Date::new(month.year(), month.month(), day).ok()?;
                Some((date, date))
            })
        })
        .collect()
}

/// The boundary of a year, month or day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::extract) enum Edge {
    /// The first second of the period.
    First,
    /// The last second of the period.
    Last,
}

/// Reads a year, a month, a day or a full time stamp as the instant of its `edge` on a clock at `offset_seconds`.
pub(in crate::extract) fn instant(text: &str, edge: Edge, offset_seconds: i32) -> Option<Timestamp> {
    let text = text.trim();
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(at);
    }
    // Anything after a day, such as a time without an offset, exceeds the requested precision.
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
    // Memories do not contain dates outside this range, so such a date is an error.
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
    fn days_of_a_month_may_be_spelled_out() {
        for (text, day) in [
            ("The audit is on the fourteenth.", 14),
            ("Thursday the nineteenth", 19),
            ("by the twelfth", 12),
            ("on the tenth", 10),
            ("on the twentieth", 20),
            ("the twenty-first", 21),
            ("the fifth", 5),
            ("on the third", 3),
            ("Die Prüfung ist am vierzehnten.", 14),
            ("bis zum zwanzigsten", 20),
            ("am einundzwanzigsten", 21),
            ("am ersten", 1),
            ("La auditoría es el catorce.", 14),
            ("审计在十四号", 14),
            ("三十一日", 31),
        ] {
            assert_eq!(spelled_days(text).first(), Some(&day), "{text}");
        }
        for text in ["the five tests", "nine people came", "die besten Tage", "der letzte", "tres personas"] {
            assert_eq!(spelled_days(text), [0_i8; 0], "{text}");
        }
    }

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
