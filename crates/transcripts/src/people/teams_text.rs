//! A Microsoft Teams transcript as text: copied from its window, or saved from its document.

use std::collections::HashSet;

use super::blocks::{Caption, are_turns, captions, speeches};
use super::dates::written_in;
use super::meeting::Meeting;
use super::otter::is_otter;
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Lines with text that may stand above the first name.
const LINES_BEFORE: usize = 12;
/// Most lines a name, on average, in what is taken for a transcript.
const LINES_A_NAME: usize = 30;

/// Reads Teams transcripts as text.
pub struct TeamsText;

impl Ingestor for TeamsText {
    fn name(&self) -> &'static str {
        "teams-text"
    }

    fn about(&self) -> &'static str {
        "Microsoft Teams transcript copied or saved as text"
    }

    fn rule(&self) -> &'static str {
        "at least two lines such as `Ana Silva   0:12`, in time's order, with words under each, of which one comes again or a date stands above them"
    }

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
        meeting.hand_over(&speeches(&captions, &lines, lines.len()), sink);
        Ok(())
    }
}

/// Whether somebody speaks again, unlike the parts of a video or the runners of a race.
fn returns(captions: &[Caption<'_>]) -> bool {
    let names: HashSet<&str> = captions.iter().map(|caption| caption.name).collect();
    names.len() < captions.len()
}

fn is_dated(header: &[&str]) -> bool {
    header.iter().any(|line| written_in(line).is_some())
}

/// Whether the program itself says `line`: `Ana Silva started transcription`.
fn is_notice(line: &str) -> bool {
    let line = line.trim_end();
    line.len() < 100 && (line.ends_with(" started transcription") || line.ends_with(" stopped transcription"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::read_input;
    use crate::{Kind, Transcript};

    fn read(name: &str, text: &str) -> Transcript {
        read_input(&TeamsText, Input::from_text(name, text)).0.remove(0)
    }

    #[test]
    fn what_the_program_says_is_no_speech() {
        let text = "Ana Silva started transcription\n\nAna Silva   0:03\nHello.\nShall we?\nLuís (Guest)   0:12\nYes.\nAna Silva stopped transcription\n";
        let told: Vec<_> = read("x.txt", text)
            .messages
            .into_iter()
            .map(|one| (one.kind, one.speaker.unwrap_or_default(), one.text))
            .collect();
        let row = |kind, speaker: &str, text: &str| (kind, speaker.to_owned(), text.to_owned());
        assert_eq!(
            told,
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
