//! The activity as a page of HTML, which is what a Takeout gives unless JSON is asked for.

use std::sync::LazyLock;

use jiff::civil::{Date, Time};
use jiff::tz::Offset;
use regex::Regex;

use super::activity::{Activity, Conversations, Verb};
use super::html::to_text;
use crate::Sink;
use crate::{MessageTime, TimeSource};

/// What each entry begins with.
const ENTRY: &str = "<div class=\"outer-cell";
/// What the words of an entry stand behind.
const BODY: &str = "mdl-typography--body-1\">";
/// What comes after them.
const NEXT_CELL: &str = "<div class=\"content-cell";
/// Longest line that can be a date, in bytes.
const LONGEST_DATE: usize = 100;

/// Starts of the names of months in the languages that write them in Latin letters.
const MONTHS: [&[&str]; 12] = [
    &["jan", "jän", "ene", "gen", "oca"],
    &["feb", "fév", "fev", "feb", "şub"],
    &["mar", "mär", "mrt", "maa"],
    &["apr", "avr", "abr", "nis"],
    &["may", "mai", "maj", "mei", "mag"],
    &["jun", "juin", "giu", "haz"],
    &["jul", "juil", "lug", "tem"],
    &["aug", "aoû", "ago", "ağu"],
    &["sep", "set", "eyl"],
    &["oct", "okt", "ott", "out", "eki"],
    &["nov", "kas"],
    &["dec", "dez", "déc", "dic", "des", "ara"],
];
/// Names of clocks and their offsets in minutes; one that several places use for different clocks is left out.
const ZONES: &[(&str, i32)] = &[
    ("UTC", 0),
    ("GMT", 0),
    ("WET", 0),
    ("WEST", 60),
    ("BST", 60),
    ("CET", 60),
    ("MEZ", 60),
    ("CEST", 120),
    ("MESZ", 120),
    ("EET", 120),
    ("EEST", 180),
    ("MSK", 180),
    ("SGT", 480),
    ("HKT", 480),
    ("JST", 540),
    ("KST", 540),
    ("AEST", 600),
    ("AEDT", 660),
    ("BRT", -180),
    ("EDT", -240),
    ("EST", -300),
    ("MDT", -360),
    ("MST", -420),
    ("PDT", -420),
    ("PST", -480),
];

/// Whether `head`, the start of a file, is such a page with entries of Gemini Apps.
pub fn is_page(head: &str) -> bool {
    head.trim_start().starts_with('<') && head.split(ENTRY).skip(1).any(is_ours)
}

fn is_ours(entry: &str) -> bool {
    let (header, _) = entry.split_once(NEXT_CELL).unwrap_or((entry, ""));
    header.contains("Gemini") && header.contains("header-cell")
}

/// Reads the entries of the page `text`.
pub fn read(text: &str, origin: String, sink: &mut Sink<'_>) {
    let mut entries = Vec::new();
    let mut others = 0_usize;
    for (index, entry) in text.split(ENTRY).enumerate().skip(1) {
        match activity(entry, index) {
            Some(activity) if is_ours(entry) => entries.push(activity),
            Some(_) => others += 1,
            None => sink.skip(index, "an entry without words or date"),
        }
    }
    let mut conversations = Conversations::new(origin, Verb::of(entries.iter().map(|entry| entry.title.as_str())));
    for entry in entries {
        conversations.add(entry, sink);
    }
    conversations.finish(sink);
    if others > 0 {
        sink.skip(1, format!("entries of other products than Gemini: {others}"));
    }
}

/// Takes an entry apart: above its date stand the prompt and the files, below it the answer.
fn activity(entry: &str, number: usize) -> Option<Activity> {
    let (_, cell) = entry.split_once(BODY)?;
    let cell = cell.split_once(NEXT_CELL).map_or(cell, |(cell, _)| cell);
    let mut lines: Vec<&str> = Vec::new();
    let (mut rest, mut dated) = (cell, None);
    while let Some((line, behind)) = rest.split_once("<br>") {
        rest = behind;
        let words = if line.len() <= LONGEST_DATE { to_text(line) } else { String::new() };
        if !lines.is_empty() && is_date(&words) {
            dated = Some(words);
            break;
        }
        lines.push(line);
    }
    let date = dated?;
    let is_file = |line: &&&str| line.trim_start().starts_with("-&nbsp;") || line.trim_start().starts_with("-\u{a0}");
    let files = lines.iter().filter(is_file).map(|line| to_text(line).trim_start_matches('-').trim().to_owned());
    let files: Vec<String> = files.filter(|name| !name.is_empty()).collect();
    let mut title: Vec<String> = lines.iter().filter(|line| !is_file(line)).map(|line| to_text(line)).collect();
    // Above the files stands a line that counts them.
    let count = files.len().to_string();
    if !files.is_empty() && title.len() > 1 {
        title.pop_if(|line| line.len() <= LONGEST_DATE && line.contains(&count));
    }
    Some(Activity {
        number,
        title: title.join("\n"),
        answer: Some(to_text(rest)).filter(|answer| !answer.is_empty()),
        time: time(&date),
        files,
    })
}

fn is_date(words: &str) -> bool {
    static CLOCK: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\d{1,2}[:.]\d{2}[:.]\d{2}").expect("the pattern is constant"));
    static YEAR: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?:^|[^0-9])20\d\d(?:[^0-9]|$)").expect("the pattern is constant"));
    CLOCK.is_match(words) && YEAR.is_match(words)
}

/// Reads a date as pages write it, e.g. `Nov 3, 2025, 9:15:02 PM CET`.
fn time(words: &str) -> Option<MessageTime> {
    static PARTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(.+?)[,\s]+(\d{1,2})[:.](\d{2})[:.](\d{2})\s*([AaPp]\.?\s?[Mm]\.?)?\s*(\S*)$")
            .expect("the pattern is constant")
    });
    let words = words.replace(['\u{a0}', '\u{202f}'], " ");
    let found = PARTS.captures(words.trim())?;
    let number = |index: usize| found[index].parse::<i8>().ok();
    let hour = match found.get(5).map(|half| half.as_str().to_lowercase()) {
        Some(half) if half.starts_with('p') => number(2)? % 12 + 12,
        Some(_) => number(2)? % 12,
        None => number(2)?,
    };
    let civil = date(&found[1])?.to_datetime(Time::new(hour, number(3)?, number(4)?, 0).ok()?);
    let offset_seconds = zone(&found[6]);
    let offset = Offset::from_seconds(offset_seconds.unwrap_or(0)).ok()?;
    Some(MessageTime { at: offset.to_timestamp(civil).ok()?, offset_seconds, source: TimeSource::Log })
}

/// Reads a day, with its month as a word or as a number.
fn date(words: &str) -> Option<Date> {
    let numbers: Vec<i16> =
        words.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect();
    let month = words.split(|c: char| !c.is_alphabetic()).find_map(|word| {
        let word = word.to_lowercase();
        MONTHS.iter().position(|starts| starts.iter().any(|start| word.starts_with(start)))
    });
    let (year, month, day) = match (month.and_then(|index| i16::try_from(index + 1).ok()), &numbers[..]) {
        (Some(month), [year, day] | [day, year, ..]) if *year > 31 => (*year, month, *day),
        (None, [year, month, day]) if *year > 31 => (*year, *month, *day),
        (None, [day, month, year]) => (*year, *month, *day),
        _ => return None,
    };
    Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()
}

/// Returns the offset in seconds of a clock's name, or of `GMT+1` and `UTC-03:30`.
fn zone(name: &str) -> Option<i32> {
    if let Some((_, minutes)) = ZONES.iter().find(|(known, _)| *known == name) {
        return Some(minutes * 60);
    }
    let offset = name.strip_prefix("GMT").or_else(|| name.strip_prefix("UTC"))?.replace('\u{2212}', "-");
    let (sign, digits) = match offset.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, offset.strip_prefix('+')?),
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "0"));
    let (hours, minutes): (i32, i32) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 3_600 + minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_as_pages_write_them() {
        let told = |words: &str| time(words).map(|time| (time.at.to_string(), time.offset_seconds));
        let rows = [
            ("Nov 3, 2025, 9:15:02\u{202f}PM CET", Some(("2025-11-03T20:15:02Z", Some(3_600)))),
            ("3 Nov 2025, 21:15:02 GMT", Some(("2025-11-03T21:15:02Z", Some(0)))),
            ("03.11.2025, 21:15:02 MEZ", Some(("2025-11-03T20:15:02Z", Some(3_600)))),
            ("3 de dez. de 2025, 08:05:09 GMT-03:00", Some(("2025-12-03T11:05:09Z", Some(-10_800)))),
            ("2025/11/03 21:15:02 JST", Some(("2025-11-03T12:15:02Z", Some(32_400)))),
            ("2025年11月3日 21:15:02 CST", Some(("2025-11-03T21:15:02Z", None))),
            ("12 août 2025, 12:00:00 AM", Some(("2025-08-12T00:00:00Z", None))),
            ("31 Nov 2025, 21:15:02 GMT", None),
            ("soon", None),
        ];
        for (words, expected) in rows {
            assert_eq!(told(words), expected.map(|(at, offset)| (at.to_owned(), offset)), "{words}");
        }
    }
}
