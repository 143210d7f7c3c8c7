//! Chats of Cursor and its derivatives, exported as Markdown.
//!
//! A horizontal rule and a bold name precede each turn. The only timestamp is the time of the export, which is later
//! than the last message.

use jiff::civil::{Date, DateTime};
use jiff::tz::Offset;

use crate::agents::turn::{spoken, user_words};
use crate::message::dates::{clock, named_offset};
use crate::message::identity;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Message, MessageTime, Sink, TimeSource};

/// Name of the format, stored with each transcript.
const NAME: &str = "cursor-export";
/// Time zones of regions where people write the month first, with the offsets in hours.
const ZONES: &[(&str, i32)] =
    &[("EST", -5), ("EDT", -4), ("CST", -6), ("CDT", -5), ("MST", -7), ("MDT", -6), ("PST", -8), ("PDT", -7)];

patterns! {
    EXPORTED = r"^_Exported on (?P<date>\d{1,4}[./-]\d{1,2}[./-]\d{1,4}),? at (?P<time>.{3,40}?) from (?P<program>[A-Z][\w -]{1,30}) \(\d[\w.-]*\)_$";
}

/// Reads chats exported from Cursor.
pub(crate) struct CursorExport;

impl Ingestor for CursorExport {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        let lines: Vec<&str> = head.text.lines().map(str::trim_end).collect();
        lines.iter().take(60).any(|line| EXPORTED.is_match(line)) && lines.contains(&"**User**")
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin, of_file) = (input.stem(), input.path.display().to_string(), identity::file_time(&input));
        let Some(text) = sink.whole_text(input, "text")? else { return Ok(()) };
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        // A person may have concatenated several exports in one file.
        let starts: Vec<usize> = (0..lines.len()).filter(|place| EXPORTED.is_match(lines[*place])).collect();
        for (number, start) in starts.iter().enumerate() {
            let end = starts.get(number + 1).map_or(lines.len(), |next| heading(&lines, *next));
            let origin = if starts.len() > 1 { format!("{origin}#{}", number + 1) } else { origin.clone() };
            let mut draft = Assembler::new(NAME, "", origin);
            let title = lines[heading(&lines, *start)..*start].iter().find_map(|line| line.strip_prefix("# "));
            draft.meta().title = Some(title.unwrap_or(&stem).to_owned());
            let (time, program) = exported(lines[*start]);
            let time = time.or(of_file);
            draft.meta().created_at = time.map(|time| time.at);
            for (name, words) in turns(&lines[start + 1..end], program) {
                let messages = if name == "User" { user_words(&words) } else { spoken("assistant", &words) };
                for message in messages {
                    draft.name_after(&message, || {
                        identity::of_parts(&[title.unwrap_or(&stem), &message.content_hash()])
                    });
                    draft.push(Message { time, ..message }, sink);
                }
            }
            draft.finish(sink);
        }
        Ok(())
    }
}

/// Returns the line of the heading above the line `place`.
fn heading(lines: &[&str], place: usize) -> usize {
    let above = lines[..place].iter().rposition(|line| !line.is_empty());
    above.filter(|above| lines[*above].starts_with("# ")).unwrap_or(place)
}

/// Returns the time in the line of an export, and the name of the program.
fn exported(line: &str) -> (Option<MessageTime>, &str) {
    let Some(found) = EXPORTED.captures(line) else { return (None, "Cursor") };
    let group = |name: &str| found.name(name).map_or("", |group| group.as_str());
    let words: Vec<&str> = group("time").split_whitespace().collect();
    let zone = ZONES.iter().find(|(zone, _)| words.contains(zone));
    let offset = zone.map(|(_, hours)| hours * 3_600).or_else(|| words.iter().find_map(|word| named_offset(word)));
    let time = date(group("date"), zone.is_some()).and_then(|date| {
        let clock =
            words.iter().find_map(|word| clock(word).filter(|_| word.starts_with(|c: char| c.is_ascii_digit())))?;
        let hours = match clock.as_secs() / 3_600 {
            0..12 if words.contains(&"PM") => 12,
            12.. if words.contains(&"AM") => -12,
            _ => 0,
        };
        let local: DateTime = date.to_datetime(jiff::civil::Time::midnight()).checked_add(clock).ok()?;
        let local = local.checked_add(jiff::SignedDuration::from_hours(hours)).ok()?;
        let at = Offset::from_seconds(offset.unwrap_or(0)).ok()?.to_timestamp(local).ok()?;
        Some(MessageTime { at, offset_seconds: offset, source: TimeSource::File })
    });
    (time, found.name("program").map_or("Cursor", |program| program.as_str()))
}

/// Reads a date whose order depends on the system's language; `None` if the order is not known.
fn date(text: &str, is_month_first: bool) -> Option<Date> {
    let parts: Vec<&str> = text.split(['/', '.', '-']).collect();
    let [first, second, third] = parts[..] else { return None };
    let number = |part: &str| part.parse::<i8>().ok();
    if first.len() == 4 {
        return Date::new(first.parse().ok()?, number(second)?, number(third)?).ok();
    }
    let (first, second) = (number(first)?, number(second)?);
    let (month, day) = match (is_month_first || second > 12 || first == second, first > 12 || text.contains('.')) {
        (_, true) => (second, first),
        (true, false) => (first, second),
        (false, false) => return None,
    };
    Date::new(third.parse().ok()?, month, day).ok()
}

/// Splits the lines below the header into turns, each with the name from its heading.
fn turns<'a>(lines: &[&'a str], program: &str) -> Vec<(&'a str, String)> {
    let name = |place: usize| {
        let name =
            lines[place].strip_prefix("**")?.strip_suffix("**").filter(|name| *name == "User" || *name == program)?;
        // A bold word in an answer has no horizontal rule above it.
        lines[..place].iter().rfind(|line| !line.is_empty()).filter(|line| **line == "---").map(|_| name)
    };
    let marks: Vec<(usize, &str)> = (0..lines.len()).filter_map(|place| Some((place, name(place)?))).collect();
    let ends = marks.iter().skip(1).map(|(place, _)| *place).chain([lines.len()]);
    let words = |place: usize, end: usize| {
        let words = lines[place + 1..end].join("\n");
        words.trim().trim_end_matches("---").trim_end().to_owned()
    };
    marks.iter().zip(ends).map(|((place, name), end)| (*name, words(*place, end))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};

    const CHAT: &str = "# Set up linting\n_Exported on 1/7/2026 at 00:17:50 EST from Cursor (2.3.23)_\n\n---\n\n**User**\n\nuse pnpm\n\n---\n\n**Cursor**\n\nDone.\n\n---\n\n**Note**\n\n**User**\n\nis bold.\n\n---\n\n**User**\n\n<system_reminder>x</system_reminder>\nthanks\n";

    #[test]
    fn turns_have_a_rule_and_a_name_above_them() {
        assert!(sniffs(&CursorExport, CHAT));
        let (seen, _) = read(&CursorExport, "x.md", CHAT);
        assert_eq!(
            lines(&seen[0]),
            [
                "User Prose use pnpm",
                "Assistant Prose Done.\n\n---\n\n**Note**\n\n**User**\n\nis bold.",
                "System Context <system_reminder>x</system_reminder>\n",
                "User Prose thanks",
            ]
            .map(str::trim_end)
        );
        assert_eq!(seen[0].title.as_deref(), Some("Set up linting"));
        let time = seen[0].messages[0].time.unwrap();
        assert_eq!((time.at.to_string().as_str(), time.source), ("2026-01-07T05:17:50Z", TimeSource::File));
    }

    #[test]
    fn several_exports_in_a_file_and_other_programs_are_read() {
        let other = CHAT.replace("Cursor", "Kodik").replace("Set up linting", "Other");
        let (seen, _) = read(&CursorExport, "x.md", &format!("{CHAT}\n{other}"));
        assert_eq!(
            seen.iter().map(|one| one.title.as_deref().unwrap()).collect::<Vec<_>>(),
            ["Set up linting", "Other"]
        );
        assert_eq!(lines(&seen[0]).len(), lines(&seen[1]).len());
        assert!(!sniffs(&CursorExport, "# x\n_Exported on Monday_\n\n**User**\n\nhi\n"));
    }

    #[test]
    fn dates_are_read_where_their_order_is_known() {
        let rows = [
            ("1/28/2026 at 14:00:16 EST", Some(("2026-01-28T19:00:16Z", Some(-18_000)))),
            ("2026/2/28 at GMT+8 10:28:33", Some(("2026-02-28T02:28:33Z", Some(28_800)))),
            ("24/7/2026 at 17:09:40 GMT+5:30", Some(("2026-07-24T11:39:40Z", Some(19_800)))),
            ("4.7.2026 at 17:09:40", Some(("2026-07-04T17:09:40Z", None))),
            ("1/7/2026 at 1:05:00 PM PDT", Some(("2026-01-07T20:05:00Z", Some(-25_200)))),
            ("10/7/2026 at 17:09:40 GMT+5:30", None),
        ];
        for (text, expected) in rows {
            let line = format!("_Exported on {text} from Cursor (2.3)_");
            let time = exported(&line).0.map(|time| (time.at.to_string(), time.offset_seconds));
            assert_eq!(time, expected.map(|(at, offset)| (at.to_owned(), offset)), "{text}");
        }
    }
}
