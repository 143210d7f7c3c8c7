//! Otter and Teams transcripts, in which a line with a name and a time is above each paragraph: `Ana Silva   0:12`.

use std::collections::HashSet;
use std::time::Duration;

use crate::message::dates::{clock, written_in};
use crate::message::speaker::{is_mark, is_picture};
use crate::people::meeting::{Meeting, Speech};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Maximum length of a name, in characters.
const LONGEST_NAME: usize = 60;
/// Maximum number of words in a name.
const MOST_WORDS: usize = 6;

/// The line above a paragraph, with the name and the time.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Caption<'a> {
    /// 0-based line.
    pub(crate) line: usize,
    /// The name, as it appears in the line.
    pub(crate) name: &'a str,
    /// Time since the start of the meeting.
    pub(crate) at: Duration,
}

/// Returns the lines that consist of a name, at least two spaces or a tab, and a time.
pub(crate) fn captions<'a>(lines: &[&'a str]) -> Vec<Caption<'a>> {
    lines.iter().enumerate().filter_map(|(line, text)| caption(line, text)).collect()
}

fn caption(line: usize, text: &str) -> Option<Caption<'_>> {
    let text = text.trim_end();
    let (head, time) = text.rsplit_once(char::is_whitespace)?;
    let name = head.trim_end();
    // The gap includes the white space character that `rsplit_once` removed.
    let gap = &text[name.len()..text.len() - time.len()];
    // If one space were enough, every sentence that ends in a time would be a caption.
    let is_apart = gap.contains('\t') || gap.chars().count() >= 2;
    let is_guest = name.starts_with('(') && name.contains(") ");
    let is_name = (is_guest || name.starts_with(|c: char| c.is_alphanumeric() || is_picture(c) || is_mark(c)))
        && name.chars().any(char::is_alphabetic)
        && name.chars().count() <= LONGEST_NAME
        && name.split_whitespace().count() <= MOST_WORDS
        && !name.ends_with(['.', '?', '!', ':', ',', ';']);
    let at = clock(time).filter(|_| is_apart && is_name && !time.contains([',', '.']))?;
    Some(Caption { line, name, at })
}

/// Returns whether `captions` are in chronological order and followed by text, unlike in a list of times.
pub(crate) fn are_turns(captions: &[Caption<'_>], lines: &[&str]) -> bool {
    let has_words = |caption: &Caption<'_>| {
        let next = lines[caption.line + 1..].iter().find(|line| !line.trim().is_empty());
        next.is_some_and(|line| self::caption(0, line).is_none())
    };
    // A person may be listed as speaking without saying anything, whereas a list of times contains no speech at all.
    let without_words = captions.iter().filter(|caption| !has_words(caption)).count();
    captions.windows(2).all(|pair| pair[0].at <= pair[1].at) && without_words * 10 <= captions.len()
}

/// Returns the paragraphs below `captions`, the last of which ends before the line `end`.
pub(crate) fn paragraphs(captions: &[Caption<'_>], lines: &[&str], end: usize) -> Vec<Speech> {
    let until = |place: usize| captions.get(place + 1).map_or(end, |next| next.line);
    let texts = captions.iter().enumerate().map(|(place, caption)| {
        let from = (caption.line + 1).min(until(place));
        (caption, lines[from..until(place)].join("\n").trim().to_owned())
    });
    texts
        .filter(|(_, text)| !text.is_empty())
        .map(|(caption, text)| Speech {
            start: caption.at,
            end: caption.at,
            speaker: Some(caption.name.to_owned()),
            is_turn: true,
            text,
        })
        .collect()
}

// Otter.ai text exports: a header with keywords and speakers, then `Name  0:00` above each paragraph.

/// Reads Otter.ai text exports.
pub(crate) struct Otter;

impl Ingestor for Otter {
    named!("otter");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let lines: Vec<&str> = head.text.lines().collect();
        let captions = captions(&lines);
        !captions.is_empty() && is_otter(&lines) && are_turns(&captions, &lines)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((mut meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        let lines: Vec<&str> = text.lines().collect();
        let captions = captions(&lines);
        let begin = captions.first().map_or(lines.len(), |caption| caption.line);
        // The closing line may also be quoted in the conversation, so only its last occurrence ends the text.
        let end = lines.iter().rposition(|line| is_trailer(line)).unwrap_or(lines.len()).max(begin);
        let header = &lines[..begin];
        let title = header.iter().map(|line| line.trim()).find(|line| !line.is_empty());
        meeting.title = title.filter(|title| !is_heading(title)).map(str::to_owned).or(meeting.title);
        meeting.start = header.iter().find_map(|line| written_in(line)).or(meeting.start);
        meeting.around = [header.join("\n").trim(), lines[end..].join("\n").trim()].join("\n");
        meeting.hand_over(&paragraphs(&captions, &lines, end), sink);
        Ok(())
    }
}

/// Returns whether `lines` contain lines that Otter itself writes.
pub(crate) fn is_otter(lines: &[&str]) -> bool {
    lines.iter().any(|line| is_heading(line.trim()) || is_trailer(line))
}

fn is_heading(line: &str) -> bool {
    matches!(line, "SPEAKERS" | "SUMMARY KEYWORDS")
}

fn is_trailer(line: &str) -> bool {
    line.trim_start().starts_with("Transcribed by https://otter.ai")
}

// A Microsoft Teams transcript as text: copied from its window, or saved from its document.

/// Maximum number of non-blank lines above the first name.
const LINES_BEFORE: usize = 12;
/// Maximum average number of lines per name in a transcript.
const LINES_A_NAME: usize = 30;

/// Reads Teams transcripts as text.
pub(crate) struct TeamsText;

impl Ingestor for TeamsText {
    named!("teams-text");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let lines: Vec<&str> = head.text.lines().collect();
        let captions = captions(&lines);
        let filled = |lines: &[&str]| lines.iter().filter(|line| !line.trim().is_empty()).count();
        captions.len() >= 2
            && filled(&lines[..captions[0].line]) <= LINES_BEFORE
            && filled(&lines) <= captions.len() * LINES_A_NAME
            && are_turns(&captions, &lines)
            && (returns(&captions) || is_dated(&lines[..captions[0].line]) || lines.iter().any(|line| is_notice(line)))
            && !is_otter(&lines)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((mut meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        let (notices, lines): (Vec<&str>, Vec<&str>) = text.lines().partition(|line| is_notice(line));
        let captions = captions(&lines);
        let begin = captions.first().map_or(lines.len(), |caption| caption.line);
        let header = &lines[..begin];
        meeting.start = header.iter().find_map(|line| written_in(line)).or(meeting.start);
        let title = header.iter().map(|line| line.trim()).find(|line| !line.is_empty() && written_in(line).is_none());
        meeting.title = title.map(str::to_owned).or(meeting.title);
        meeting.around = [header.join("\n").trim(), notices.join("\n").trim()].join("\n");
        meeting.hand_over(&paragraphs(&captions, &lines, lines.len()), sink);
        Ok(())
    }
}

/// Returns whether anybody speaks more than once, unlike in a list of chapters or of race results.
fn returns(captions: &[Caption<'_>]) -> bool {
    let names: HashSet<&str> = captions.iter().map(|caption| caption.name).collect();
    names.len() < captions.len()
}

fn is_dated(header: &[&str]) -> bool {
    header.iter().any(|line| written_in(line).is_some())
}

/// Returns whether the program itself wrote `line`: `Ana Silva started transcription`.
fn is_notice(line: &str) -> bool {
    let line = line.trim_end();
    line.len() < 100 && (line.ends_with(" started transcription") || line.ends_with(" stopped transcription"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_and_a_time_well_apart_are_a_caption() {
        let rows = [
            ("Ana Silva  0:12", Some(("Ana Silva", 12))),
            ("Silva, Luís (Guest)\t1:02:05 ", Some(("Silva, Luís (Guest)", 3_725))),
            ("Speaker 2   00:00", Some(("Speaker 2", 0))),
            ("🌟 Mia   0:12", Some(("🌟 Mia", 12))),
            ("\u{200f}שירה כהן   0:20", Some(("\u{200f}שירה כהן", 20))),
            ("(Guest) Rui   0:25", Some(("(Guest) Rui", 25))),
            ("श्रीनिवास रामानुजन अयंगर सुब्रमण्यम   0:40", Some(("श्रीनिवास रामानुजन अयंगर सुब्रमण्यम", 40))),
            ("• Milk  0:12", None),
            ("🌟  0:12", None),
            ("Ana Silva 0:12", None),
            ("It began, as I said,  0:12", None),
            ("we met there at about the time of  0:12", None),
            ("Ana  12", None),
            ("  0:12", None),
        ];
        for (text, expected) in rows {
            let pieces = caption(0, text).map(|caption| (caption.name, caption.at.as_secs()));
            assert_eq!(pieces, expected, "{text}");
        }
    }

    #[test]
    fn a_list_of_songs_is_no_transcript() {
        let songs = ["First song  2:05", "Second song  3:18", "Third song  3:20"];
        assert!(!are_turns(&captions(&songs), &songs));
        let talk = ["Ana  0:05", "Hello.", "Luís  0:09", "Hi."];
        assert!(are_turns(&captions(&talk), &talk));
    }
}

#[cfg(test)]
mod otter_tests {
    use super::*;
    use crate::testing::read_input;
    use crate::{Kind, Transcript};

    fn read(name: &str, text: &str) -> Transcript {
        read_input(&Otter, Input::from_text(name, text)).0.remove(0)
    }

    #[test]
    fn header_and_trailer_are_no_speech() {
        let text = "Sync\nMon, Mar 4, 2024 10:00AM • 32:10\nSUMMARY KEYWORDS\nbudget\n\nAna  00:02\nHi.\nAgain.\n\nSpeaker 2  1:00:05\nYes.\n\nTranscribed by https://otter.ai\n";
        let transcript = read("x.txt", text);
        let pieces: Vec<_> = transcript
            .messages
            .iter()
            .map(|one| (one.kind, one.speaker.as_deref(), one.time.unwrap().at.to_string()))
            .collect();
        let at = |text: &str| text.to_owned();
        assert_eq!(
            pieces,
            [
                (Kind::Summary, None, at("2024-03-04T10:00:00Z")),
                (Kind::Prose, Some("Ana"), at("2024-03-04T10:00:02Z")),
                (Kind::Prose, Some("Speaker 2"), at("2024-03-04T11:00:05Z")),
            ]
        );
        assert_eq!((transcript.title.as_deref(), transcript.messages[1].text.as_str()), (Some("Sync"), "Hi.\nAgain."));
    }

    #[test]
    fn without_its_own_lines_it_is_not_otter() {
        for text in ["Ana  0:02\nHi.\n\nLuís  0:05\nYes.\n", "SPEAKERS\nAna, Luís\n"] {
            assert!(!Otter.sniff(&Head::new(text.into(), true)), "{text}");
        }
    }
}

#[cfg(test)]
mod teams_text_tests {
    use super::*;
    use crate::testing::read_input;
    use crate::{Kind, Transcript};

    fn read(name: &str, text: &str) -> Transcript {
        read_input(&TeamsText, Input::from_text(name, text)).0.remove(0)
    }

    #[test]
    fn what_the_program_says_is_no_speech() {
        let text = "Ana Silva started transcription\n\nAna Silva   0:03\nHello.\nShall we?\nLuís (Guest)   0:12\nYes.\nAna Silva stopped transcription\n";
        let pieces: Vec<_> = read("x.txt", text)
            .messages
            .into_iter()
            .map(|one| (one.kind, one.speaker.unwrap_or_default(), one.text))
            .collect();
        let row = |kind, speaker: &str, text: &str| (kind, speaker.to_owned(), text.to_owned());
        assert_eq!(
            pieces,
            [
                row(Kind::Summary, "", "Ana Silva started transcription\nAna Silva stopped transcription"),
                row(Kind::Prose, "Ana Silva", "Hello.\nShall we?"),
                row(Kind::Prose, "Luís (Guest)", "Yes."),
            ]
        );
    }

    #[test]
    fn the_header_of_a_saved_document_tells_title_and_start() {
        let text = "Launch review\nMarch 4, 2024, 10:00AM\n12m 5s\n\nAna   0:03\nHello.\n\nLuís   0:12\nYes.\n";
        let transcript = read("x.txt", text);
        assert_eq!(transcript.title.as_deref(), Some("Launch review"));
        assert_eq!(transcript.messages[2].time.unwrap().at.to_string(), "2024-03-04T10:00:12Z");
    }

    #[test]
    fn lists_and_logs_are_refused() {
        for text in [
            "First song  2:05\nSecond song  3:18\nThird song  3:20\n",
            "Ana  0:09\nHello.\n\nLuís  0:02\nYes.\n",
            "Ana  0:09\nHello.\n",
            "Race\n\nAna Silva   0:12\nwon\nRui Paz   0:14\nfell\n",
            "# Video\n\nIntro  0:00\nWe say hello.\nSetup  2:10\nInstall it.\n",
        ] {
            assert!(!TeamsText.sniff(&Head::new(text.into(), true)), "{text}");
        }
    }
}
