//! Times in a query: the times that it mentions, and whether it asks for a time. The functions perform no I/O.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Date;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use regex::{Captures, Regex};

use crate::text::pattern_set::HintedPattern;

/// Number of days after a mentioned time during which people still talk about it.
// Days before the time do not count, because people do not report on future days.
const AFTERWARDS_DAYS: i64 = 7;
/// Score of a statement made during these days.
const AFTERWARDS: f64 = 0.5;

/// The times in a query.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Asked {
    /// Whether the query asks when something happened.
    for_time: bool,
    named: Vec<Named>,
}

/// A mentioned time, with the precision of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Named {
    /// A range of days, excluding the end.
    Days(Range<Date>),
    /// A month, or a day of a month, in any year.
    Yearly(i8, Option<i8>),
}

#[rustfmt::skip]
static FOR_TIME: HintedPattern = HintedPattern::new(
    &[
    "when", "what date", "what day", "what month", "what year", "what time", "which date", "which day", "which month",
    "which year", "how long ago", "wann", "cuando", "cuándo", "quand", "когда", "什么时候", "何", "哪", "几", "いつ", "언제",
    "며칠",
],
    r"(?i)(?:\b(when|what (date|day|month|year|time)|which (date|day|month|year)|how long ago|since when|until when|wann|seit wann|cu[aá]ndo|quand|quando|wanneer|когда)\b|什么时候|何时|哪天|哪年|哪一?[天年月]|几[号月]|いつ|何[日月年]|언제|며칠)",
);

static TELLS_TIME: LazyLock<Regex> = LazyLock::new(|| {
    let months = MONTHS.join("|");
    pattern(&format!(
        r"\b((19|20)\d\d|\d{{1,2}}(st|nd|rd|th)|{months}|yesterday|today|tonight|tomorrow|ago|(last|next|this|past|coming) (night|week|weekend|month|year|summer|winter|spring|autumn|fall|morning|evening)|(mon|tues|wednes|thurs|fri|satur|sun)day|gestern|heute|morgen|(letzte|vorige|nächste)[nrs]? (woche|monat|jahr)|(mon|diens|donners|frei|sams|sonn)tag|mittwoch|ayer|hoy|hier|mañana)\b|昨天|今天|明天|前天|后天|上周|下周|去年|今年|明年|上个?月|下个?月|\d+[年月日号]|星期[一二三四五六日天]|昨日|今日|先週|来週"
    ))
});

static DATES: LazyLock<Regex> = LazyLock::new(|| {
    let months = MONTHS.join("|");
    pattern(&format!(
        r"(?P<iso>\b(?P<y1>(19|20)\d\d)-(?P<m1>\d\d)(-(?P<d1>\d\d))?\b)|(?P<cjk>((?P<y2>(19|20)\d\d)年)?(?P<m2>\d{{1,2}})月((?P<d2>\d{{1,2}})[日号])?)|\b((?P<d3>\d{{1,2}})(st|nd|rd|th|\.)? (of )?)?(?P<name>{months})\b\.?( (?P<d4>\d{{1,2}})(st|nd|rd|th)?\b)?(,? (of )?(?P<y3>(19|20)\d\d)\b)?|\b(?P<y4>(19|20)\d\d)\b|(?P<y5>(19|20)\d\d)年"
    ))
});

/// Names of months, longer names before shorter ones. `may` and `march` count only next to a number or a preposition.
const MONTHS: [&str; 12] = [
    "january|januar|enero|janvier",
    "february|februar|febrero|février",
    "march|märz|marzo",
    "april|abril|avril",
    "may|mayo",
    "june|juni|junio",
    "july|juli|julio|juillet",
    "august|agosto",
    "september|septiembre|septembre",
    "october|oktober|octubre|octobre",
    "november|noviembre",
    "december|dezember|diciembre|décembre",
];

fn pattern(text: &str) -> Regex {
    Regex::new(&format!("(?i){text}")).expect("the pattern is a constant that compiles")
}

impl Asked {
    /// Reads the times in `query`, asked at `now`.
    pub(super) fn of(query: &str, now: Timestamp) -> Self {
        let lower = query.to_lowercase();
        // Most queries mention no time, and the patterns take longer to compile than a search takes.
        let may_name = query.contains(char::is_numeric)
            || MONTHS.iter().any(|names| names.split('|').any(|name| lower.contains(name)));
        let named = may_name.then(|| DATES.captures_iter(query)).into_iter().flatten();
        let named = named.filter_map(|found| written(query, &found));
        // The user's time zone is not known. If UTC is assumed, the day is wrong by at most one.
        let today = now.to_zoned(TimeZone::UTC).date();
        let named = named.chain(relative(&lower, today)).collect();
        let for_time = FOR_TIME.for_text(&lower).is_some_and(|pattern| pattern.is_match(query));
        Self { for_time, named }
    }

    /// Returns whether times matter to the query.
    pub(super) fn is_open(&self) -> bool {
        self.for_time || !self.named.is_empty()
    }

    /// Returns how well a memory with the text `content` and these times matches. The result is 1 if the query mentions
    /// one of the times, and lower if one of them is shortly after a mentioned time. If the query asks for a time
    /// without mentioning one, the result is 1 if the content contains any time.
    pub(super) fn fit(&self, content: &str, times: &[Timestamp]) -> f64 {
        if self.named.is_empty() {
            return if self.for_time && TELLS_TIME.is_match(content) { 1.0 } else { 0.0 };
        }
        let days = times.iter().map(|at| at.to_zoned(TimeZone::UTC).date());
        days.flat_map(|day| self.named.iter().map(move |named| named.fit(day))).fold(0.0, f64::max)
    }
}

impl Named {
    fn fit(&self, day: Date) -> f64 {
        let is_in = |day: Date| match self {
            Self::Days(range) => range.contains(&day),
            Self::Yearly(month, in_month) => day.month() == *month && in_month.is_none_or(|wanted| wanted == day.day()),
        };
        let soon_after = || (1..=AFTERWARDS_DAYS).any(|days| day.checked_sub(days.days()).is_ok_and(is_in));
        match is_in(day) {
            true => 1.0,
            false if soon_after() => AFTERWARDS,
            false => 0.0,
        }
    }
}

fn written(query: &str, found: &Captures<'_>) -> Option<Named> {
    let number = |names: &[&str]| names.iter().find_map(|name| found.name(name)?.as_str().parse::<i16>().ok());
    let year = number(&["y1", "y2", "y3", "y4", "y5"]);
    let small = |value: i16| i8::try_from(value).ok();
    let month = match found.name("name") {
        Some(name) => Some(named_month(query, found, name.as_str())?),
        None => number(&["m1", "m2"]).and_then(small),
    };
    let day = number(&["d1", "d2", "d3", "d4"]).and_then(small);
    match (year, month) {
        // `Date::new` rejects impossible dates such as 2023-19-77, which are ignored.
        (Some(year), None) => days(Date::new(year, 1, 1).ok()?, |date| date.checked_add(1.year())),
        (Some(year), Some(month)) => match day {
            Some(day) => days(Date::new(year, month, day).ok()?, |date| date.checked_add(1.day())),
            None => days(Date::new(year, month, 1).ok()?, |date| date.checked_add(1.month())),
        },
        // A month without a year may be in any year. A number such as `13月` is not a month.
        (None, Some(month)) if (1..=12).contains(&month) => Some(Named::Yearly(month, day)),
        (None, _) => None,
    }
}

fn named_month(query: &str, found: &Captures<'_>, name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    let place = MONTHS.iter().position(|names| names.split('|').any(|spelled| spelled == name))?;
    let month = i8::try_from(place + 1).ok()?;
    // "may I push" and "march onwards" are common in queries but do not refer to a month.
    let is_word_too = matches!(name.as_str(), "may" | "march" | "mayo");
    let has_number = ["d3", "d4", "y3"].iter().any(|group| found.name(group).is_some());
    let before = query[..found.get(0)?.start()].trim_end().rsplit(' ').next().unwrap_or_default().to_lowercase();
    let prepositions = ["in", "of", "during", "since", "until", "last", "this", "by", "en", "im", "seit"];
    (!is_word_too || has_number || prepositions.contains(&before.as_str())).then_some(month)
}

fn days(first: Date, next: impl Fn(Date) -> Result<Date, jiff::Error>) -> Option<Named> {
    Some(Named::Days(first..next(first).ok()?))
}

/// Returns the times that the query expresses relative to `today`.
fn relative(query: &str, today: Date) -> Vec<Named> {
    // Weeks begin on Monday, as in ISO 8601.
    let week = |date: Date| date.checked_sub(i64::from(date.weekday().to_monday_zero_offset()).days());
    let month = |date: Date| Ok(date.first_of_month());
    let year = |date: Date| Ok(date.first_of_year());
    let spans: [(&[&str], Result<Date, jiff::Error>, jiff::Span); 8] = [
        (&["today", "heute", "今天", "今日", "hoy", "aujourd'hui"], Ok(today), 1.day()),
        (&["yesterday", "last night", "gestern", "昨天", "昨日", "ayer"], today.checked_sub(1.day()), 1.day()),
        (&["this week", "diese woche", "这周", "本周", "今週"], week(today), 1.week()),
        (
            &["last week", "letzte woche", "上周", "先週", "semana pasada"],
            week(today).and_then(|date| date.checked_sub(1.week())),
            1.week(),
        ),
        (&["this month", "这个月", "本月", "今月"], month(today), 1.month()),
        (
            &["last month", "letzten monat", "上个月", "上月", "先月", "mes pasado"],
            month(today).and_then(|date| date.checked_sub(1.month())),
            1.month(),
        ),
        (&["this year", "今年", "dieses jahr"], year(today), 1.year()),
        (
            &["last year", "letztes jahr", "去年", "año pasado"],
            year(today).and_then(|date| date.checked_sub(1.year())),
            1.year(),
        ),
    ];
    let named = spans.into_iter().filter(|(words, _, _)| words.iter().any(|word| query.contains(word)));
    named.filter_map(|(_, first, span)| days(first.ok()?, |date: Date| date.checked_add(span))).collect()
}

/// Returns noon of a day in UTC.
#[cfg(test)]
fn noon(year: i16, month: i8, day: i8) -> Timestamp {
    jiff::civil::DateTime::new(year, month, day, 12, 0, 0, 0).unwrap().to_zoned(TimeZone::UTC).unwrap().timestamp()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_about_a_time_contains_one_of_the_hints() {
        for query in [
            "When was it?",
            "On what date?",
            "what DAY",
            "what month",
            "what year",
            "what time",
            "Which date",
            "which day",
            "which month",
            "which year",
            "How long ago",
            "since when",
            "until when",
            "Wann?",
            "seit wann",
            "cuando",
            "¿Cuándo?",
            "quand",
            "quando",
            "Wanneer",
            "Когда",
            "什么时候",
            "何时",
            "哪天",
            "哪年",
            "哪一天",
            "哪个月几号",
            "几月",
            "いつ",
            "何日",
            "언제",
            "며칠",
        ] {
            assert!(Asked::of(query, noon(2026, 3, 12)).for_time, "{query}");
        }
    }

    #[test]
    fn times_that_are_named_are_met_by_what_is_of_them() {
        let now = noon(2026, 3, 12);
        let table = [
            ("What happened on 8 May 2023?", (2023, 5, 8), 1.0),
            ("What happened on May 8th, 2023?", (2023, 5, 8), 1.0),
            ("What happened on 8 May 2023?", (2023, 5, 11), 0.5),
            ("What happened on 8 May 2023?", (2023, 5, 7), 0.0),
            ("what did we decide in march", (2025, 3, 30), 1.0),
            ("March 2024", (2025, 3, 30), 0.0),
            ("2025-03", (2025, 3, 30), 1.0),
            ("2025-03-31", (2025, 3, 30), 0.0),
            ("in 2024", (2024, 12, 31), 1.0),
            ("2023年5月去了哪里", (2023, 5, 3), 1.0),
            ("5月8日", (2023, 5, 8), 1.0),
            ("what did we do yesterday", (2026, 3, 11), 1.0),
            ("last week's release", (2026, 3, 2), 1.0),
            ("last month", (2026, 2, 1), 1.0),
            ("上个月的决定", (2026, 2, 28), 1.0),
        ];
        for (query, (year, month, day), fit) in table {
            let asked = Asked::of(query, now);
            assert!((asked.fit("", &[noon(year, month, day)]) - fit).abs() < 1e-9, "{query}: {asked:?}");
        }
    }

    #[test]
    fn a_question_for_a_time_is_met_by_what_tells_one() {
        let now = noon(2026, 3, 12);
        for query in ["When did she move?", "what month was it", "Wann war das?", "她什么时候搬家"] {
            let asked = Asked::of(query, now);
            assert!(asked.fit("She moved yesterday.", &[]) > 0.9, "{query}");
            assert!(asked.fit("Sie zog am 3. Mai 2021 um.", &[]) > 0.9, "{query}");
            assert!(asked.fit("She likes tea.", &[noon(2026, 3, 1)]) < 0.1, "{query}");
        }
    }

    #[test]
    fn other_queries_have_nothing_to_do_with_time() {
        let now = noon(2026, 3, 12);
        for query in
            ["deploy target", "may I push to main", "march onwards", "port 2024x", "C++", "13月40日", "2023-19-77"]
        {
            assert!(!Asked::of(query, now).is_open(), "{query}: {:?}", Asked::of(query, now));
        }
    }
}
