//! Dates as people and models write them, with or without a year, and spans of time.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::{Date, Weekday};
use regex::{Captures, Regex};

use super::number::{COUNT_PATTERN, chinese_count, count};

/// Names of the months from January, in English, German, Spanish and French, including abbreviations.
const MONTHS: &str = include_str!("months.txt");
/// Names of the days of the week from Monday, in English, German and Spanish.
const WEEKDAYS: &str = include_str!("weekdays.txt");

/// Returns the number of the month with this name, ignoring case.
pub(crate) fn month(name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    let at = MONTHS.lines().position(|names| names.split(' ').any(|one| one == name))?;
    i8::try_from(at + 1).ok()
}

/// Returns the day of the week with this name, which must be in lower case.
pub(crate) fn weekday(name: &str) -> Option<Weekday> {
    let at = WEEKDAYS.lines().position(|names| names.split(' ').any(|one| one == name))?;
    Weekday::from_monday_zero_offset(i8::try_from(at).ok()?).ok()
}

/// Returns a pattern of the weekday names in the language with the index `place` in [`WEEKDAYS`].
pub(crate) fn weekday_pattern(place: WeekdayNames) -> String {
    let name = |names: &'static str| match place {
        WeekdayNames::English => names.split(' ').next(),
        WeekdayNames::German => names.split(' ').nth(1),
        WeekdayNames::Spanish => names.split(' ').next_back(),
    };
    WEEKDAYS.lines().filter_map(name).collect::<Vec<_>>().join("|")
}

/// A language whose weekday names are known.
#[derive(Debug, Clone, Copy)]
pub(crate) enum WeekdayNames {
    English,
    German,
    Spanish,
}

/// A date in a text.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Written {
    /// The byte range of the date.
    pub(crate) at: Range<usize>,
    /// The possible meanings of the date, because 03/05/2025 may be either of two days.
    pub(crate) meanings: Vec<Days>,
}

/// A day or a range of days, in a specific year or in any year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Days {
    /// The year, if the text contains one.
    pub(crate) year: Option<i16>,
    pub(crate) first: (i8, i8),
    pub(crate) last: (i8, i8),
}

impl Days {
    pub(crate) fn day(year: Option<i16>, month: i8, day: i8) -> Option<Self> {
        // 2024 is a leap year, which contains every possible day.
        Date::new(2024, month, day).ok()?;
        Some(Self { year, first: (month, day), last: (month, day) })
    }

    pub(crate) fn months(year: Option<i16>, first: i8, last: i8) -> Option<Self> {
        ((1..=12).contains(&first) && (1..=12).contains(&last)).then_some(Self {
            year,
            first: (first, 1),
            last: (last, 31),
        })
    }

    /// Returns the first and the last day in `year`.
    pub(crate) fn within(self, year: i16) -> Option<(Date, Date)> {
        let first = Date::new(year, self.first.0, self.first.1).ok()?;
        let month = Date::new(year, self.last.0, 1).ok()?;
        Some((first, Date::new(year, self.last.0, self.last.1.min(month.days_in_month())).ok()?))
    }

    /// Returns whether this is a month without a year, which neither confirms nor contradicts anything.
    pub(crate) fn is_bare_month(self) -> bool {
        self.year.is_none() && self.first != self.last
    }

    /// Returns whether this is a whole year.
    pub(crate) fn is_year(self) -> bool {
        self.first == (1, 1) && self.last == (12, 31)
    }
}

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let months = MONTHS.split_whitespace().collect::<Vec<_>>().join("|");
    let chinese = "[0-9]{1,2}|[一二三四五六七八九十]{1,3}";
    Regex::new(&format!(
        r"(?ix)
        (?-u:\b)(?P<iy>(?:1[5-9]|20|21)\d\d)[-/.](?P<im>\d{{1,2}})(?:[-/.](?P<id>\d{{1,2}}))?(?:(?-u:\b)|T|_)
        |(?-u:\b)(?P<a>\d{{1,2}})[./-]\s?(?P<b>\d{{1,2}})[./-]\s?(?P<ny>\d{{4}}|\d{{2}})(?-u:\b)
        |(?-u:\b)(?P<sa>\d{{1,2}})[/.](?P<sb>\d{{1,2}})(?-u:\b)
        |(?P<cy>\d{{4}}|[〇零一二三四五六七八九]{{4}})\s?年(?:\s?(?P<cm>{chinese})\s?月(?:份|\s?(?P<cd>{chinese})\s?[日号號])?)?
        |(?P<cm2>{chinese})\s?月(?:\s?(?P<cd2>{chinese})\s?[日号號]|份|初|底|中旬|上旬|下旬|[要去会将就前到开回]|\b)
        |\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.|º)?\s+(?:of\s+|de\s+)?(?P<m1>{months})\b\.?(?:,?\s+(?:de\s+|del\s+|of\s+)?(?P<y1>(?:1[5-9]|20|21)\d\d)\b)?
        |\b(?P<m2>{months})\b\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y2>(?:1[5-9]|20|21)\d\d)\b)?
        |\b(?P<m3>{months})\b\.?,?\s+(?:de\s+|del\s+|of\s+)?(?P<y3>(?:1[5-9]|20|21)\d\d)\b
        |\b(?P<before>in|since|until|till|by|early|late|mid|last|next|this|im|seit|bis|anfang|ende|mitte|en|desde|hasta|de|principios\ de|finales\ de)\s+(?P<m4>{months})\b(?:,?\s+(?:de\s+|del\s+|of\s+)?(?P<y4>(?:1[5-9]|20|21)\d\d)\b)?
        |\bQ(?P<q>[1-4])(?:\s?(?:of\s)?[/-]?(?P<yq>20\d\d)\b|\b)",
    ))
    .expect("the pattern is constant and a test compiles it")
});

/// A bare year after a word that identifies it as a year.
static YEAR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b(?:in|since|until|till|by|from|of|early|late|mid|during|before|after|year|spring|summer|autumn|fall|winter|im|seit|bis|ab|jahr|frühling|frühjahr|sommer|herbst|nach|vor|en|desde|hasta|de|del|año|antes\ de|después\ de|primavera|verano|otoño|invierno)[\s-]+(?:the\ )?)(?P<y>(?:19|20)\d\d)\b").expect("the pattern is constant and a test compiles it")
});

/// Returns the dates in `text`, in order, with bare years last.
pub(crate) fn written(text: &str) -> Vec<Written> {
    let mut found: Vec<Written> = PATTERN.captures_iter(text).filter_map(|found| read(&found)).collect();
    let years = YEAR.captures_iter(text).filter_map(|found| found.name("y"));
    let alone: Vec<_> = years.filter(|year| !found.iter().any(|one| one.at.contains(&year.start()))).collect();
    found.extend(alone.into_iter().filter_map(|year| {
        let days = Days::months(read_year(year.as_str()), 1, 12)?;
        Some(Written { at: year.range(), meanings: vec![days] })
    }));
    ranges(text, &mut found);
    found
}

fn read(found: &Captures<'_>) -> Option<Written> {
    let (whole, name) = (found.get(0)?, |name: &str| found.name(name).map(|part| part.as_str()));
    let number =
        |text: &str| text.parse().ok().or_else(|| chinese_count(text).and_then(|value| i8::try_from(value).ok()));
    let year = |text: Option<&str>| text.and_then(read_year);
    let one = |days: Option<Days>| days.into_iter().collect::<Vec<_>>();
    let at = whole.range();
    let meanings = if let Some(iso) = name("iy") {
        let (year, month) = (year(Some(iso)), number(name("im")?)?);
        match name("id") {
            Some(day) => one(Days::day(year, month, number(day)?)),
            // 2026.03 may be a version, and 2026/27 is not a month.
            None => one(Days::months(year, month, month)),
        }
    } else if let (Some(a), Some(b)) = (name("a").or(name("sa")), name("b").or(name("sb"))) {
        let (a, b, year) = (number(a)?, number(b)?, year(name("ny")));
        // Whether the day or the month comes first depends on the country. An impossible date, such as month 25, is
        // dropped.
        [Days::day(year, b, a), Days::day(year, a, b)].into_iter().flatten().collect()
    } else if let Some(y) = name("cy") {
        match (name("cm").and_then(number), name("cd").and_then(number)) {
            (Some(month), Some(day)) => one(Days::day(year(Some(y)), month, day)),
            (Some(month), None) => one(Days::months(year(Some(y)), month, month)),
            (None, _) => one(Days::months(year(Some(y)), 1, 12)),
        }
    } else if let Some(month) = name("cm2") {
        let month = number(month)?;
        match name("cd2").and_then(number) {
            Some(day) => one(Days::day(None, month, day)),
            None => one(Days::months(None, month, month)),
        }
    } else if let (Some(day), Some(m)) = (name("d1").or(name("d2")), name("m1").or(name("m2"))) {
        one(Days::day(year(name("y1").or(name("y2"))), month(m)?, number(day)?))
    } else if let Some(m) = name("m3").or(name("m4")) {
        let month = month(m)?;
        one(Days::months(year(name("y3").or(name("y4"))), month, month))
    } else if let Some(quarter) = name("q") {
        let quarter = number(quarter)?;
        one(Days::months(year(name("yq")), quarter * 3 - 2, quarter * 3))
    } else {
        Vec::new()
    };
    (!meanings.is_empty()).then_some(Written { at, meanings })
}

fn read_year(text: &str) -> Option<i16> {
    if let Ok(year) = text.parse::<i16>() {
        return Some(if year < 100 { 2000 + year } else { year });
    }
    let digits: Option<String> = text
        .chars()
        .map(|c| chinese_count(&c.to_string()).or(matches!(c, '〇' | '零').then_some(0)).map(|d| d.to_string()))
        .collect();
    digits?.parse().ok()
}

/// Text that may separate days in the same month.
const JOINT: &str = r"\s*(?:,|–|-|—|/|~|&|\+|\bto\b|\bthrough\b|\buntil\b|\band\b|\bor\b|\bbis\b|\bund\b|\boder\b|\bal\b|\by\b|\bo\b|\ba\b|\bhasta\b|至|到|和|、)\s*(?:the\s|el\s|den\s|zum\s|dem\s)?";

static BEFORE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)(?:^|[^\d.,:])(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|º|日|号)?{JOINT}$"))
        .expect("the pattern is constant and a test compiles it")
});
static AFTER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?i)^{JOINT}(?P<day>\d{{1,2}})(?:st|nd|rd|th|日|号|\b)"))
        .expect("the pattern is constant and a test compiles it")
});

/// Maximum number of additional days before or after a date.
const MAX_DAYS: usize = 8;

/// Adds the days that share a month with one of `found`, the dates in `text`, such as the 20th in "20.–22. März".
fn ranges(text: &str, found: &mut Vec<Written>) {
    // The length is read only once, so dates that are added below do not start further ranges.
    for place in 0..found.len() {
        // An ambiguous date has no definite month for the other days.
        let [days] = found[place].meanings[..] else { continue };
        if days.first != days.last {
            continue;
        }
        let (mut start, mut end) = (found[place].at.start, found[place].at.end);
        let is_free = |at: usize, found: &[Written]| !found.iter().any(|one| one.at.contains(&at));
        for _ in 0..MAX_DAYS {
            let Some(day) = BEFORE.captures(&text[..start]).and_then(|found| found.name("day")) else { break };
            let Some(days) = same_month(days, day.as_str()).filter(|_| is_free(day.start(), found)) else { break };
            start = day.start();
            found.push(Written { at: day.range(), meanings: vec![days] });
        }
        // A day may follow the date in "March 20-22" and 3月20日至22日, but after "20 March", a number refers to something
        // else.
        while !text[..end].ends_with(char::is_alphabetic) || text[..end].ends_with(['日', '号', '號']) {
            let Some(day) = AFTER.captures(&text[end..]).and_then(|found| found.name("day")) else { break };
            let at = end + day.start()..end + day.end();
            let Some(days) = same_month(days, day.as_str()).filter(|_| is_free(at.start, found)) else { break };
            if text[at.end..].starts_with([':', '%', '月', '-', '.', '/']) {
                break;
            }
            end = at.end;
            found.push(Written { at, meanings: vec![days] });
        }
    }
}

fn same_month(days: Days, day: &str) -> Option<Days> {
    Days::day(days.year, days.first.0, day.parse().ok()?)
}

/// Returns the months in `text` outside `dates`. "May" and "march" count only if capitalised.
pub(crate) fn bare_months(text: &str, dates: &[Written]) -> Vec<Days> {
    let words = text.split(|c: char| !c.is_alphabetic());
    let at = |word: &str| word.as_ptr() as usize - text.as_ptr() as usize;
    let is_in_date = |word: &str| dates.iter().any(|one| one.at.contains(&at(word)));
    let is_month = |word: &&str| match word.to_lowercase().as_str() {
        // Abbreviations, some of which are also words ("ago", "mars"), count only next to a day or a year.
        "mar" | "mars" | "ago" | "abr" | "ene" | "dec" | "" => false,
        "may" | "march" | "jan" | "august" | "mai" => word.starts_with(char::is_uppercase),
        _ => true,
    };
    words
        .filter(is_month)
        .filter(|word| !is_in_date(word))
        .filter_map(month)
        .filter_map(|month| Days::months(None, month, month))
        .collect()
}
/// A span of time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TimeSpan {
    /// The length of the span, in days.
    pub(crate) days: i32,
    /// The number of days in the unit of the span.
    pub(crate) unit: i32,
    /// Whether the span may refer to the past.
    pub(crate) may_be_past: bool,
    /// Whether the span may refer to the future.
    pub(crate) may_be_ahead: bool,
}

impl TimeSpan {
    /// Returns the tolerance, in days, of a date computed with this span, because months differ in length, and because
    /// the first or last day may be included or not.
    pub(crate) fn slack(self) -> i32 {
        match self.unit {
            ..=14 => 1,
            _ => 4,
        }
    }
}

/// Words for halves, such as "half a year", each with its number of days and the number of days in its unit.
const HALVES: &[(&str, i32, i32)] = &[
    (r"half a year|half-year|halbe[sn]? jahr|medio año|半年", 182, 30),
    (r"half a month|half-month|halbe[nr]? monat|medio mes|半个月", 15, 7),
    (r"anderthalb jahre|eineinhalb jahre|year and a half|año y medio|一年半", 548, 30),
    (r"anderthalb monate|eineinhalb monate|month and a half|mes y medio|一个半月", 46, 7),
    (r"anderthalb wochen|eineinhalb wochen|week and a half|semana y media|一周半", 11, 2),
];

static HALF: LazyLock<Vec<(Regex, i32, i32)>> = LazyLock::new(|| {
    let compile =
        |pattern: &str| Regex::new(&format!("(?i){pattern}")).expect("the pattern is constant and a test compiles it");
    HALVES.iter().map(|&(pattern, days, unit)| (compile(pattern), days, unit)).collect()
});

static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?i)(?P<n>{COUNT_PATTERN})(?:\s+and a half|\s+more|\s+weitere[n]?|\s+full)?[\s-]*(?:个半?)?(?P<unit>minute|minuto|hour|stunde|hora|day|tag|día|week|woche|semana|fortnight|month|monat|mes|quarter|quartal|trimestre|year|jahr|año|分钟|小时|钟头|天|日|周|星期|礼拜|季度|月|年)",
    ))
    .expect("the pattern is constant and a test compiles it")
});

/// Returns the spans of time in `text`.
pub(crate) fn lapses(text: &str) -> Vec<TimeSpan> {
    let lapse = |at: std::ops::Range<usize>, days, unit| {
        let (may_be_past, may_be_ahead) = directions(&text[..at.start], &text[at.end..]);
        TimeSpan { days, unit, may_be_past, may_be_ahead }
    };
    let counted = COUNTED.captures_iter(text).map(|found| {
        let (count, days) = (count(&found["n"]).unwrap_or(1), days(&found["unit"].to_lowercase()));
        // Average lengths: a year has 365.25 days and a month about 30.5.
        let length =
            if days == 365 { (count * 1_461 + 2) / 4 } else { count * days + count * i32::from(days == 30) / 2 };
        lapse(found.get(0).map_or(0..0, |whole| whole.range()), length, days)
    });
    let halves = HALF
        .iter()
        .flat_map(|(pattern, days, unit)| pattern.find_iter(text).map(|found| lapse(found.range(), *days, *unit)));
    counted.chain(halves).collect()
}

static PAST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b(?:for|since|vor|seit|hace|past|last|after|letzten|vergangenen|últimos)\s+(?:the\s+|den\s+)?(?:last\s+|past\s+)?|已经|过去|工作了|住了|用了)$")
        .expect("the pattern is constant and a test compiles it")
});
static AHEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b(?:in|within|next|innerhalb von|nächsten|dentro de|en|próximos)\s+(?:the\s+|den\s+)?(?:next\s+)?|未来|再过)$")
        .expect("the pattern is constant and a test compiles it")
});
static SINCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\w{0,3}(?:\s+(?:ago|old|alt|earlier|früher|atrás|before)\b|之?前|以前|了)")
        .expect("the pattern is constant and a test compiles it")
});
static LATER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\w{0,3}(?:\s+(?:from now|from today|later|später|después)\b|之?后|以后)")
        .expect("the pattern is constant and a test compiles it")
});

/// Returns whether a span of time between these words may be in the past, and whether it may be in the future.
fn directions(before: &str, after: &str) -> (bool, bool) {
    let (past, ahead) =
        (PAST.is_match(before) || SINCE.is_match(after), AHEAD.is_match(before) || LATER.is_match(after));
    // Contradictory words are ignored.
    if past == ahead { (true, true) } else { (past, ahead) }
}

fn days(unit: &str) -> i32 {
    match unit {
        "minute" | "minuto" | "hour" | "stunde" | "hora" | "分钟" | "小时" | "钟头" => 0,
        "day" | "tag" | "día" | "天" | "日" => 1,
        "week" | "woche" | "semana" | "周" | "星期" | "礼拜" => 7,
        "fortnight" => 14,
        "month" | "monat" | "mes" | "月" => 30,
        "quarter" | "quartal" | "trimestre" | "季度" => 91,
        _ => 365,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_every_spelling() {
        for (text, expected) in [
            ("on 2025-03-05T10:00Z", "2025-03-05..2025-03-05"),
            ("in 2025-02", "2025-02-01..2025-02-28"),
            ("am 5. März 2025", "2025-03-05..2025-03-05"),
            ("am 05.03.2025", "2025-03-05..2025-03-05"),
            ("3 May 2025", "2025-05-03..2025-05-03"),
            ("May 3rd, 2025", "2025-05-03..2025-05-03"),
            ("el 5 de mayo de 2025", "2025-05-05..2025-05-05"),
            ("en mayo de 2025", "2025-05-01..2025-05-31"),
            ("2025年3月5日", "2025-03-05..2025-03-05"),
            ("二〇二五年三月", "2025-03-01..2025-03-31"),
            ("since 2019", "2019-01-01..2019-12-31"),
            ("Q3 2025", "2025-07-01..2025-09-30"),
        ] {
            let found = written(text);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            let days = found[0].meanings[0];
            let (first, last) = days.within(days.year.unwrap()).unwrap();
            assert_eq!(format!("{first}..{last}"), expected, "{text}");
        }
        assert!(written("我五月要做手术")[0].meanings[0].is_bare_month() && written("一月一次").is_empty());
        assert_eq!(written("am 3. Mai")[0].meanings, [Days { year: None, first: (5, 3), last: (5, 3) }]);
        assert_eq!(written("03/05/2025")[0].meanings.len(), 2);
        for text in ["2000 requests", "you may 5", "version 3.14.159", "3个月", "192.168.0.1", "2025-13-40"] {
            assert_eq!(
                written(text).iter().filter(|one| one.meanings.iter().any(|days| days.year.is_some())).count(),
                0,
                "{text}"
            );
        }
    }
}
