//! The start of a message: date and time as the exporting phone's locale writes them.

use std::sync::LazyLock;

use regex::Regex;

/// One header as written; which number is the day is only known once the whole file was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// The three numbers of the date, in the order written.
    pub fields: [u16; 3],
    /// Which of them has four digits or names itself the year.
    pub year_at: Option<usize>,
    /// Hour, minute and second on a clock of 24 hours.
    pub clock: (u8, u8, u8),
    /// Whether the clock has twelve hours, marked in American capitals.
    pub is_american: bool,
    /// What the file's other headers share with this one.
    pub shape: Shape,
}

/// The form of a header, the same throughout one export.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shape {
    /// Whether date and time stand in square brackets.
    pub is_bracketed: bool,
    /// Whether a dash or colon parts them from what follows.
    pub has_tail: bool,
    /// What stands between day and month.
    pub separator: char,
    /// Whether seconds are written.
    pub has_seconds: bool,
}

/// Words that mark a time before noon, in lower case and without spaces and dots.
const BEFORE_NOON: &[&str] = &["am", "上午", "凌晨", "清晨", "早上", "午前", "오전", "ص", "πμ"];
/// Words that mark a time from noon on, spelled likewise.
const FROM_NOON: &[&str] = &["pm", "中午", "下午", "傍晚", "晚上", "午後", "오후", "م", "μμ"];

/// Whether `c` only steers the direction of writing and shows nothing.
#[must_use]
pub const fn is_mark(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
}

/// Returns `text` without invisible marks.
#[must_use]
pub fn without_marks(text: &str) -> String {
    text.chars().filter(|c| !is_mark(*c)).collect()
}

/// Splits `line` into its header and the rest, in which the marks are kept: they tell the program's words from typed ones.
#[must_use]
pub fn split(line: &str) -> Option<(Stamp, &str)> {
    static HEADER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"^(?P<open>\[)?(?P<a>[0-9]{1,4})(?P<sep>[-/.年년]) ?(?P<b>[0-9]{1,4})[-/.月월] ?(?P<c>[0-9]{1,4})(?:[日일.]| г\.)?",
            r"[,،]? {1,2}(?:(?P<word>[\p{L}\p{M}]{1,10})\.? ?)?",
            r"(?P<h>[0-9]{1,2})[:.](?P<m>[0-9]{2})(?:[:.](?P<s>[0-9]{2}))?",
            r"(?: ?(?P<half>[aApP]\. ?[mM]\.|[aApP][mM]\b\.?|ص|م|[πμΠΜ]\.[μΜ]\.)| (?:Uhr|ч\.))?",
            r"(?P<close>\])?(?P<tail> [-–] | ?[:：] | )",
        ))
        .expect("the pattern is constant")
    });
    if !line.trim_start_matches(is_mark).starts_with(|c: char| c == '[' || to_ascii_digit(c).is_ascii_digit()) {
        return None;
    }
    // A header is short, so a long line need not be spelled out to see whether it begins with one.
    let plain: String = line.chars().filter(|c| !is_mark(*c)).take(80).map(plain).collect();
    let found = HEADER.captures(&plain)?;
    let stamp = stamp(&found)?;
    let taken = plain[..found.get(0)?.end()].chars().count();
    Some((stamp, behind(line, taken)))
}

/// Returns what follows the first `count` visible characters of `line`.
fn behind(line: &str, count: usize) -> &str {
    let last = line.char_indices().filter(|(_, c)| !is_mark(*c)).nth(count.saturating_sub(1));
    last.map_or("", |(place, c)| &line[place + c.len_utf8()..])
}

fn stamp(found: &regex::Captures<'_>) -> Option<Stamp> {
    let text = |name: &str| found.name(name).map(|part| part.as_str());
    let is_bracketed = text("open").is_some();
    if is_bracketed != text("close").is_some() {
        return None;
    }
    let written = [text("a")?, text("b")?, text("c")?];
    let fields = written.map(|field| field.parse::<u16>().unwrap_or_default());
    let names_year = matches!(text("sep"), Some("年" | "년")).then_some(0);
    let number = |name: &str| text(name).map_or(Some(0), |digits| digits.parse::<u8>().ok());
    let half = text("half").or(text("word")).unwrap_or_default();
    let hour = hour(number("h")?, half)?;
    let (minute, second) = (number("m")?, number("s")?);
    let tail = text("tail").unwrap_or_default().trim();
    let shape = Shape {
        is_bracketed,
        has_tail: !tail.is_empty(),
        separator: text("sep")?.chars().next()?,
        has_seconds: text("s").is_some(),
    };
    let is_american = matches!(half, "AM" | "PM");
    let is_time = minute < 60 && second < 60;
    let year_at = names_year.or_else(|| written.iter().position(|field| field.len() == 4));
    is_time.then_some(Stamp { fields, year_at, clock: (hour, minute, second), is_american, shape })
}

/// Returns the hour of the day; a word that marks no half of it leaves it as written.
fn hour(hour: u8, half: &str) -> Option<u8> {
    let half: String = half.to_lowercase().chars().filter(|c| !matches!(c, '.' | ' ')).collect();
    let is_one_of = |words: &[&str]| words.contains(&half.as_str());
    let hour = if hour == 12 && is_one_of(BEFORE_NOON) {
        0
    } else if hour < 12 && is_one_of(FROM_NOON) {
        hour + 12
    } else {
        hour
    };
    (hour < 24).then_some(hour)
}

/// Spells a space of any width as a blank, and a digit of any script that phones use as an ASCII one.
fn plain(c: char) -> char {
    if c.is_whitespace() { ' ' } else { to_ascii_digit(c) }
}

fn to_ascii_digit(c: char) -> char {
    [0x30_u32, 0x0660, 0x06F0, 0x0966]
        .into_iter()
        .find_map(|zero| char::from_digit(u32::from(c).checked_sub(zero).filter(|digit| *digit < 10)?, 10))
        .unwrap_or(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_locale_splits_into_fields_clock_and_rest() {
        let rows = [
            ("3/6/18, 1:55 p.m. - a: m", [3, 6, 18], (13, 55, 0)),
            ("03-06-2018, 01.55 PM - a: m", [3, 6, 2018], (13, 55, 0)),
            ("13.06.18 21.25.15: a: m", [13, 6, 18], (21, 25, 15)),
            ("[06.13.18 21:25:15] a: m", [6, 13, 18], (21, 25, 15)),
            ("13.6.2018 klo 21.25.15 - a: m", [13, 6, 2018], (21, 25, 15)),
            ("13. 6. 2018. 21:25:15 a: m", [13, 6, 2018], (21, 25, 15)),
            ("[3/6/18 1:55:00 p.\u{a0}m.] a: m", [3, 6, 18], (13, 55, 0)),
            ("\u{200e}[3/6/18 1:55:00 p. m.] a: m", [3, 6, 18], (13, 55, 0)),
            ("[2018/06/13, 21:25:15] a: m", [2018, 6, 13], (21, 25, 15)),
            ("[06/2018/13, 21:25:15] a: m", [6, 2018, 13], (21, 25, 15)),
            ("3/6/2018 1:55 p.\u{a0}m. - a: m", [3, 6, 2018], (13, 55, 0)),
            ("3/6/18, 1:55\u{202f}PM - a: m", [3, 6, 18], (13, 55, 0)),
            ("3/6/18, 12:05\u{202f}AM - a: m", [3, 6, 18], (0, 5, 0)),
            ("2026/3/5 下午3:04 - a: m", [2026, 3, 5], (15, 4, 0)),
            ("2026年3月5日 上午12:04 - a: m", [2026, 3, 5], (0, 4, 0)),
            ("[2026/3/5 晚上9:04:11] a: m", [2026, 3, 5], (21, 4, 11)),
            ("2026. 3. 5. 오후 3:04 - a: m", [2026, 3, 5], (15, 4, 0)),
            ("5.3.26, 21:25 Uhr - a: m", [5, 3, 26], (21, 25, 0)),
            ("5.03.26 г., 21:25 ч. - a: m", [5, 3, 26], (21, 25, 0)),
            ("5/3/26 à 21:25 - a: m", [5, 3, 26], (21, 25, 0)),
            ("٥\u{200f}/٣\u{200f}/٢٠٢٦، ٣:٠٤ م - a: m", [5, 3, 2026], (15, 4, 0)),
        ];
        for (line, fields, clock) in rows {
            let (stamp, rest) = split(line).unwrap_or_else(|| panic!("{line}"));
            assert_eq!((stamp.fields, stamp.clock, rest), (fields, clock, "a: m"), "{line}");
        }
    }

    #[test]
    fn text_with_numbers_is_no_header() {
        for line in [
            "",
            "10:30 works",
            "1/2 cup of flour",
            "3/6/18",
            "[3/6/18 1:55 a: m",
            "3/6/18, 25:00 - a: m",
            "3/6/18, 1:75 - a: m",
            "2026-03-05T21:25:15Z start",
            "2026-03-05 21:25:15,123 - root: m",
        ] {
            assert_eq!(split(line), None, "{line}");
        }
    }

    #[test]
    fn marks_before_the_text_are_kept_for_the_reader_of_the_body() {
        let (_, rest) = split("\u{200e}[13/06/2018, 21:25:15] Ana: \u{200e}image omitted").unwrap();
        assert_eq!(rest, "Ana: \u{200e}image omitted");
    }
}
