//! Dates as people and models write them out, with a year or without.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::civil::Date;
use regex::{Captures, Regex};

use super::range::ranges;

/// A date in a text.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Written {
    /// Where it stands.
    pub at: Range<usize>,
    /// What it may mean; 03/05/2025 means two days.
    pub meanings: Vec<Days>,
}

/// Days of a year, or of any year.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Days {
    /// The year, where it was written.
    pub year: Option<i16>,
    pub(super) first: (i8, i8),
    pub(super) last: (i8, i8),
}

impl Days {
    pub(super) fn day(year: Option<i16>, month: i8, day: i8) -> Option<Self> {
        // A leap year, in which every day exists.
        Date::new(2024, month, day).ok()?;
        Some(Self { year, first: (month, day), last: (month, day) })
    }

    pub(super) fn months(year: Option<i16>, first: i8, last: i8) -> Option<Self> {
        ((1..=12).contains(&first) && (1..=12).contains(&last)).then_some(Self {
            year,
            first: (first, 1),
            last: (last, 31),
        })
    }

    /// Returns its first and last day in `year`.
    pub(super) fn within(self, year: i16) -> Option<(Date, Date)> {
        let first = Date::new(year, self.first.0, self.first.1).ok()?;
        let month = Date::new(year, self.last.0, 1).ok()?;
        Some((first, Date::new(year, self.last.0, self.last.1.min(month.days_in_month())).ok()?))
    }

    /// Whether it is a month of no year, which proves and disproves nothing.
    pub(super) fn is_bare_month(self) -> bool {
        self.year.is_none() && self.first != self.last
    }

    /// Whether it is a whole year.
    pub(super) fn is_year(self) -> bool {
        self.first == (1, 1) && self.last == (12, 31)
    }
}

const MONTHS: [(&str, i8); 62] = [
    ("jan", 1),
    ("january", 1),
    ("januar", 1),
    ("jänner", 1),
    ("enero", 1),
    ("ene", 1),
    ("janvier", 1),
    ("feb", 2),
    ("february", 2),
    ("februar", 2),
    ("febrero", 2),
    ("février", 2),
    ("mar", 3),
    ("march", 3),
    ("märz", 3),
    ("maerz", 3),
    ("marzo", 3),
    ("mars", 3),
    ("apr", 4),
    ("april", 4),
    ("abril", 4),
    ("abr", 4),
    ("avril", 4),
    ("may", 5),
    ("mai", 5),
    ("mayo", 5),
    ("jun", 6),
    ("june", 6),
    ("juni", 6),
    ("junio", 6),
    ("juin", 6),
    ("jul", 7),
    ("july", 7),
    ("juli", 7),
    ("julio", 7),
    ("juillet", 7),
    ("aug", 8),
    ("august", 8),
    ("agosto", 8),
    ("ago", 8),
    ("août", 8),
    ("sep", 9),
    ("sept", 9),
    ("september", 9),
    ("septiembre", 9),
    ("setiembre", 9),
    ("septembre", 9),
    ("oct", 10),
    ("october", 10),
    ("okt", 10),
    ("oktober", 10),
    ("octubre", 10),
    ("octobre", 10),
    ("nov", 11),
    ("november", 11),
    ("noviembre", 11),
    ("novembre", 11),
    ("dec", 12),
    ("december", 12),
    ("dez", 12),
    ("dezember", 12),
    ("diciembre", 12),
];

static PATTERN: LazyLock<Regex> = LazyLock::new(|| {
    let names: Vec<&str> = MONTHS.iter().map(|(name, _)| *name).collect();
    let months = names.join("|");
    let chinese = "[0-9]{1,2}|[一二三四五六七八九十]{1,3}";
    Regex::new(&format!(
        r"(?ix)
        (?-u:\b)(?P<iy>(?:1[5-9]|20|21)\d\d)[-/.](?P<im>\d{{1,2}})(?:[-/.](?P<id>\d{{1,2}}))?(?:(?-u:\b)|T|_)
        |(?-u:\b)(?P<a>\d{{1,2}})[./-]\s?(?P<b>\d{{1,2}})[./-]\s?(?P<ny>\d{{4}}|\d{{2}})(?-u:\b)
        |(?-u:\b)(?P<sa>\d{{1,2}})[/.](?P<sb>\d{{1,2}})(?-u:\b)
        |(?P<cy>\d{{4}}|[〇零一二三四五六七八九]{{4}})\s?年(?:\s?(?P<cm>{chinese})\s?月(?:份|\s?(?P<cd>{chinese})\s?[日号號])?)?
        |(?P<cm2>{chinese})\s?月(?:\s?(?P<cd2>{chinese})\s?[日号號]|份|初|底|中旬|上旬|下旬|\b)
        |\b(?P<d1>\d{{1,2}})(?:st|nd|rd|th|\.|º)?\s+(?:of\s+|de\s+)?(?P<m1>{months})\b\.?(?:,?\s+(?:de\s+|del\s+|of\s+)?(?P<y1>(?:1[5-9]|20|21)\d\d)\b)?
        |\b(?P<m2>{months})\b\.?\s+(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,?\s+(?P<y2>(?:1[5-9]|20|21)\d\d)\b)?
        |\b(?P<m3>{months})\b\.?,?\s+(?:de\s+|del\s+|of\s+)?(?P<y3>(?:1[5-9]|20|21)\d\d)\b
        |\b(?P<before>in|since|until|till|by|early|late|mid|last|next|this|im|seit|bis|anfang|ende|mitte|en|desde|hasta|de|principios\ de|finales\ de)\s+(?P<m4>{months})\b(?:,?\s+(?:de\s+|del\s+|of\s+)?(?P<y4>(?:1[5-9]|20|21)\d\d)\b)?
        |\bQ(?P<q>[1-4])(?:\s?(?:of\s)?[/-]?(?P<yq>20\d\d)\b|\b)",
    ))
    .expect("the pattern is constant and a test compiles it")
});

/// A year by itself, behind a word that makes it one.
static YEAR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)(?:\b(?:in|since|until|till|by|from|of|early|late|mid|during|before|after|year|spring|summer|autumn|fall|winter|im|seit|bis|ab|jahr|frühling|frühjahr|sommer|herbst|nach|vor|en|desde|hasta|de|del|año|antes\ de|después\ de|primavera|verano|otoño|invierno)[\s-]+(?:the\ )?)(?P<y>(?:19|20)\d\d)\b").expect("the pattern is constant and a test compiles it")
});

/// Returns the dates of `text`, in order, years that stand alone last.
pub(super) fn written(text: &str) -> Vec<Written> {
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
    let number = |text: &str| text.parse::<i8>().ok().or_else(|| chinese(text));
    let year = |text: Option<&str>| text.and_then(read_year);
    let one = |days: Option<Days>| days.into_iter().collect::<Vec<_>>();
    let at = whole.range();
    let meanings = if let Some(iso) = name("iy") {
        let (year, month) = (year(Some(iso)), number(name("im")?)?);
        match name("id") {
            Some(day) => one(Days::day(year, month, number(day)?)),
            // 2026.03 may be a version; 2026/27 is no month.
            None => one(Days::months(year, month, month)),
        }
    } else if let (Some(a), Some(b)) = (name("a").or(name("sa")), name("b").or(name("sb"))) {
        let (a, b, year) = (number(a)?, number(b)?, year(name("ny")));
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

pub(super) fn month(name: &str) -> Option<i8> {
    let name = name.to_lowercase();
    MONTHS.iter().find(|(one, _)| *one == name).map(|(_, month)| *month)
}

fn read_year(text: &str) -> Option<i16> {
    if let Ok(year) = text.parse::<i16>() {
        return Some(if year < 100 { 2000 + year } else { year });
    }
    let digits: Option<String> = text
        .chars()
        .map(|c| chinese(&c.to_string()).or(matches!(c, '〇' | '零').then_some(0)).map(|d| d.to_string()))
        .collect();
    digits?.parse().ok()
}

pub(super) fn chinese(text: &str) -> Option<i8> {
    let digit =
        |c: char| "一二三四五六七八九".chars().position(|other| other == c).and_then(|at| i8::try_from(at + 1).ok());
    match text.split_once('十') {
        Some((tens, ones)) => {
            let tens = if tens.is_empty() { 1 } else { digit(tens.chars().next()?)? };
            Some(tens.checked_mul(10)? + if ones.is_empty() { 0 } else { digit(ones.chars().next()?)? })
        }
        None => digit(text.chars().next()?).filter(|_| text.chars().count() == 1),
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
