//! Otter.ai text exports: a header with keywords and speakers, then `Name  0:00` above each paragraph.

use super::blocks::{are_turns, captions, speeches};
use super::dates::written_in;
use super::meeting::Meeting;
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Reads Otter.ai text exports.
pub struct Otter;

impl Ingestor for Otter {
    fn name(&self) -> &'static str {
        "otter"
    }

    fn about(&self) -> &'static str {
        "Otter.ai transcript exported as text"
    }

    fn rule(&self) -> &'static str {
        "lines such as `Ana Silva  0:12`, and a line `SPEAKERS`, `SUMMARY KEYWORDS` or `Transcribed by https://otter.ai`"
    }

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
        let end = lines.iter().rposition(|line| is_trailer(line)).unwrap_or(lines.len()).max(begin);
        let header = &lines[..begin];
        let title = header.iter().map(|line| line.trim()).find(|line| !line.is_empty());
        meeting.title = title.filter(|title| !is_heading(title)).map(str::to_owned).or(meeting.title);
        meeting.start = header.iter().find_map(|line| written_in(line)).or(meeting.start);
        meeting.around = [header.join("\n").trim(), lines[end..].join("\n").trim()].join("\n");
        meeting.hand_over(&speeches(&captions, &lines, end), sink);
        Ok(())
    }
}

/// Whether Otter's own lines stand in `lines`.
pub fn is_otter(lines: &[&str]) -> bool {
    lines.iter().any(|line| is_heading(line.trim()) || is_trailer(line))
}

fn is_heading(line: &str) -> bool {
    matches!(line, "SPEAKERS" | "SUMMARY KEYWORDS")
}

fn is_trailer(line: &str) -> bool {
    line.trim_start().starts_with("Transcribed by https://otter.ai")
}

#[cfg(test)]
mod tests {
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
        let told: Vec<_> = transcript
            .messages
            .iter()
            .map(|one| (one.kind, one.speaker.as_deref(), one.time.unwrap().at.to_string()))
            .collect();
        let at = |text: &str| text.to_owned();
        assert_eq!(
            told,
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
