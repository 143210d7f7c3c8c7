//! Google Meet transcripts saved as text: a line with the elapsed time every five minutes, followed by lines such as
//! `Name: text`.

use std::collections::HashSet;
use std::time::Duration;

use crate::message::dates::{clock, written_in};
use crate::message::speaker::looks_like_name;
use crate::people::meeting::{Meeting, Speech};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 60;

/// Reads Google Meet transcripts.
pub(crate) struct GoogleMeet;

impl Ingestor for GoogleMeet {
    named!("google-meet");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let lines: Vec<&str> = head.text.lines().map(str::trim).collect();
        let Some(begin) = lines.iter().position(|line| marker(line).is_some()) else { return false };
        let names = lines[begin..].iter().filter_map(|line| split_name(line, &HashSet::new()));
        let (mut said, mut seen, mut returns) = (0_usize, HashSet::new(), false);
        for (name, _) in names {
            said += 1;
            returns |= !seen.insert(name);
        }
        let ends = lines[begin..].iter().any(|line| is_end(line));
        let is_headed = lines[..begin].iter().any(|line| is_heading(line));
        let listed = lines[..begin].iter().filter(|line| line.contains(',')).flat_map(|line| line.split(','));
        let is_listed = listed.map(str::trim).any(|name| seen.contains(name));
        // Headings are translated, but every transcript has a time of zero directly above a name. Unlike in an agenda,
        // somebody speaks more than once or is listed as an attendee.
        let under = lines[begin + 1..].iter().find(|line| !line.is_empty());
        let is_bare = marker(lines[begin]) == Some(Duration::ZERO)
            && under.is_some_and(|line| split_name(line, &HashSet::new()).is_some());
        said > 0 && (ends || is_headed || is_bare && said > 1 && (returns || is_listed))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((mut meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        let first = lines.iter().position(|line| marker(line).is_some());
        let begin = first.or_else(|| lines.iter().position(|line| is_heading(line))).unwrap_or(0);
        // A note that a program generated the text follows the end of the conversation.
        let end = lines.iter().position(|line| is_end(line)).filter(|end| *end > begin).unwrap_or(lines.len());
        let header = &lines[..begin];
        meeting.start = header.iter().find_map(|line| written_in(line)).or(meeting.start);
        let title = header.iter().take_while(|line| !matches!(**line, "Attendees" | "Invited"));
        let title = title.copied().find_map(strip_date);
        meeting.title = title.or(meeting.title);
        meeting.around = [header.join("\n").trim(), lines[end..].join("\n").trim()].join("\n");
        meeting.hand_over(&speeches(&lines[begin..end], &attendees(header)), sink);
        Ok(())
    }
}

/// Reads a line that contains only a time, such as `00:05:00`.
fn marker(line: &str) -> Option<Duration> {
    if line.len() == 8 && line.matches(':').count() == 2 { clock(line) } else { None }
}

fn is_heading(line: &str) -> bool {
    let line = line.trim_start_matches(['#', ' ']);
    matches!(line, "Transcript" | "Attendees" | "Invited") || line.ends_with(" - Transcript")
}

fn is_end(line: &str) -> bool {
    line.starts_with("Transcription ended after") || line.starts_with("Meeting ended after")
}

/// Returns a title without the text that the program adds to it; `None` if the rest is empty.
fn strip_date(line: &str) -> Option<String> {
    let line = line.trim_start_matches(['#', ' ']);
    let bare = line.strip_suffix("Transcript").unwrap_or(line).trim_end_matches([' ', '-']);
    let bare = bare.rsplit_once(" (").filter(|(_, rest)| written_in(rest).is_some()).map_or(bare, |(name, _)| name);
    let bare = bare.rsplit_once(" - ").filter(|(_, rest)| written_in(rest).is_some()).map_or(bare, |(name, _)| name);
    let is_date = written_in(bare).is_some() && bare.split_whitespace().count() <= 4;
    (!bare.is_empty() && !is_date).then(|| bare.to_owned())
}

/// Returns the names below the heading for attendees.
fn attendees<'a>(header: &[&'a str]) -> HashSet<&'a str> {
    let listed = header.iter().skip_while(|line| !matches!(**line, "Attendees" | "Invited")).skip(1);
    let listed = listed.take_while(|line| !is_heading(line));
    listed.flat_map(|line| line.split(',')).map(str::trim).filter(|name| !name.is_empty()).collect()
}

fn split_name<'a>(line: &'a str, known: &HashSet<&str>) -> Option<(&'a str, &'a str)> {
    let (name, words) = line.split_once(':')?;
    let is_spaced = words.is_empty() || words.starts_with(char::is_whitespace);
    let is_name = known.contains(name) || name.chars().count() <= LONGEST_NAME && looks_like_name(name);
    (is_spaced && is_name).then(|| (name, words.trim()))
}

/// Splits the text below the header; a line without a name continues the previous speech.
fn speeches(lines: &[&str], known: &HashSet<&str>) -> Vec<Speech> {
    let mut at = Duration::ZERO;
    let mut speeches: Vec<Speech> = Vec::new();
    for line in lines.iter().filter(|line| !line.is_empty() && !is_heading(line)) {
        if let Some(time) = marker(line) {
            at = time;
            continue;
        }
        let (speaker, text) = match split_name(line, known) {
            Some((name, words)) => (Some(name.to_owned()), words.to_owned()),
            None => match speeches.last_mut().filter(|last| last.start == at) {
                Some(last) => {
                    last.text.push('\n');
                    last.text.push_str(line);
                    continue;
                }
                None => (None, (*line).to_owned()),
            },
        };
        speeches.push(Speech { start: at, end: at, speaker, is_turn: true, text });
    }
    speeches.retain(|speech| !speech.text.is_empty());
    speeches
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::read_input;
    use crate::{Kind, Transcript};

    fn read(name: &str, text: &str) -> Transcript {
        read_input(&GoogleMeet, Input::from_text(name, text)).0.remove(0)
    }

    #[test]
    fn names_open_speeches_and_clock_lines_date_them() {
        let text = "Weekly sync (2024-03-04 10:00 GMT) - Transcript\nAttendees\nAna Silva, luis\nTranscript\n\n00:00:00\n\nAna Silva: Hello.\nNote: one more.\nluis: Hi.\n\n00:05:00\n\nAna Silva: Next.\n\nTranscription ended after 00:06:10\n\nThis editable transcript was computer generated.\n";
        let transcript = read("x.txt", text);
        let pieces: Vec<_> = transcript
            .messages
            .iter()
            .filter(|one| one.kind == Kind::Prose)
            .map(|one| (one.speaker.as_deref().unwrap(), one.text.as_str(), one.time.unwrap().at.to_string()))
            .collect();
        assert_eq!(
            pieces,
            [
                ("Ana Silva", "Hello.\nNote: one more.", "2024-03-04T10:00:00Z".to_owned()),
                ("luis", "Hi.", "2024-03-04T10:00:00Z".to_owned()),
                ("Ana Silva", "Next.", "2024-03-04T10:05:00Z".to_owned()),
            ]
        );
        assert_eq!(transcript.title.as_deref(), Some("Weekly sync"));
        assert!(transcript.messages[0].text.ends_with("computer generated."));
    }

    #[test]
    fn titles_lose_what_the_program_adds() {
        let rows = [
            ("Sync - 2024/03/04 09:58 CET - Transcript", Some("Sync")),
            ("# Sync - Transcript", Some("Sync")),
            ("Mar 4, 2024", None),
            ("Transcript", None),
        ];
        for (line, expected) in rows {
            assert_eq!(strip_date(line).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn translated_headings_do_not_matter_and_other_clocks_are_refused() {
        let sniffs = |text: &str| GoogleMeet.sniff(&Head::new(text.into(), true));
        assert!(sniffs("Reunião semanal\nParticipantes\nAna, Luís\n\n00:00:00\n\nAna: Olá.\nLuís: Oi.\n"));
        assert!(!sniffs("00:10:00\nAna: Hello.\nLuís: Hi.\n"));
        assert!(!sniffs("# Times\n00:00:00\n\nmidnight\nAna: x\n"));
        assert!(!sniffs("Attendees\nAna: host\n"));
        assert!(!sniffs("00:00:00\nIntro: the host welcomes all.\n00:05:00\nDemo: Ana shows it.\n"));
    }
}
