//! WebVTT captions: meetings of named people (Teams, Zoom) and captions without speakers.

use super::cues::{Cue, speeches};
use super::meeting::{Meeting, clock};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Reads WebVTT.
pub struct WebVtt;

impl Ingestor for WebVtt {
    fn name(&self) -> &'static str {
        "webvtt"
    }

    fn about(&self) -> &'static str {
        "WebVTT captions of a meeting or video"
    }

    fn rule(&self) -> &'static str {
        "the first line is `WEBVTT`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.text
            .trim_start_matches('\u{feff}')
            .strip_prefix("WEBVTT")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((mut meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        meeting.title = title(&text).or(meeting.title);
        let speeches = speeches(&cues(&text, sink));
        meeting.hand_over(&speeches, sink);
        Ok(())
    }
}

/// Returns the text behind `WEBVTT` on the first line.
fn title(text: &str) -> Option<String> {
    let title = text.lines().next()?.strip_prefix("WEBVTT")?.trim_matches(|c: char| c.is_whitespace() || c == '-');
    (!title.is_empty()).then(|| title.to_owned())
}

/// Splits captions into cues; notes, styles, regions, headers and cue identifiers are no cues.
fn cues<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Cue<'a>> {
    let mut cues: Vec<Cue<'a>> = Vec::new();
    let (mut in_cue, mut in_block) = (false, false);
    for (index, line) in text.split('\n').enumerate() {
        if line.trim().is_empty() {
            (in_cue, in_block) = (false, false);
        } else if in_block {
        } else if let Some((start, end)) = line.split_once("-->") {
            let times = clock(start).zip(clock(end.split_whitespace().next().unwrap_or_default()));
            in_cue = times.is_some();
            match times {
                Some((start, end)) => cues.push(Cue { start, end, lines: Vec::new() }),
                None => sink.skip(index + 1, "cue without a readable time"),
            }
        } else if in_cue {
            cues.last_mut().into_iter().for_each(|cue| cue.lines.push(line.trim()));
        } else {
            let word = line.split(char::is_whitespace).next().unwrap_or_default();
            in_block = matches!(word, "NOTE" | "STYLE" | "REGION");
        }
    }
    cues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::read_input;
    use crate::{Role, Transcript};

    fn read_as(name: &str, text: &str) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&WebVtt, Input::from_text(name, text));
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    fn said(text: &str) -> Vec<(String, String)> {
        let (seen, _) = read_as("call.vtt", text);
        let messages = seen.into_iter().flat_map(|transcript| transcript.messages);
        messages.map(|message| (message.speaker.unwrap_or_default(), message.text)).collect()
    }

    fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter().map(|(speaker, text)| ((*speaker).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn voice_tags_name_speakers_and_entities_are_decoded() {
        let text = "WEBVTT\n\nid/1-0\n00:01.000 --> 00:02.000\n<v Ana Silva>We ship\non Monday.</v>\n\n00:02.000 --> 00:03.000\n<v.loud Luís (Ext)>Fine &amp; good; a < b</v> <v Ana Silva>Ok";
        assert_eq!(
            said(text),
            pairs(&[("Ana Silva", "We ship on Monday."), ("Luís (Ext)", "Fine & good; a < b"), ("Ana Silva", "Ok")])
        );
    }

    #[test]
    fn prefixes_name_speakers_until_the_next_one() {
        let text = "WEBVTT\n\n1\n00:00:01.000 --> 00:00:02.000\nAna: Hi. It is 10:30.\n\n2\n00:00:02.000 --> 00:00:03.000\nNote: that continues.\n\n3\n00:00:03.000 --> 00:00:04.000\n李雷：好的\n";
        assert_eq!(said(text), pairs(&[("Ana", "Hi. It is 10:30. Note: that continues."), ("李雷", "好的")]));
    }

    #[test]
    fn words_of_which_nobody_is_named_are_nobodys_at_hand() {
        let role = |text: &str| read_as("call.vtt", text).0[0].messages[0].role;
        assert_eq!(role("WEBVTT\n\n00:01.000 --> 00:02.000\nI moved to Lisbon last year.\n"), Role::Other);
        assert_eq!(role("WEBVTT\n\n00:01.000 --> 00:02.000\n<v Ana>I moved to Lisbon last year.\n"), Role::User);
    }

    #[test]
    fn notes_styles_and_headers_are_no_speech() {
        let text = "WEBVTT - Film\nKind: captions\nX-TIMESTAMP-MAP=LOCAL:0\n\nSTYLE\n::cue { color: red }\n\nNOTE one\ntwo\n\n00:01.000 --> 00:02.000 align:start\nWords";
        assert_eq!(said(text), pairs(&[("", "Words")]));
        assert_eq!(title(text).as_deref(), Some("Film"));
    }

    #[test]
    fn rolling_captions_are_said_once() {
        let text = "WEBVTT\n\n00:01.000 --> 00:02.000\nyeah\n\n00:02.000 --> 00:03.000\nyeah\nso<00:02.500><c> what</c>\n00:03.000 --> 00:04.000\nso what\n\n00:04.000 --> 00:05.000\nso what\n<c>next</c>\n";
        assert_eq!(said(text), pairs(&[("", "yeah so what next")]));
    }

    #[test]
    fn a_long_pause_starts_a_new_message() {
        let text = "WEBVTT\n\n00:01.000 --> 00:02.000\none\n\n00:02:00.000 --> 00:02:01.000\ntwo\n";
        assert_eq!(said(text), pairs(&[("", "one"), ("", "two")]));
    }

    #[test]
    fn times_come_from_the_name_or_are_unknown() {
        let text = "WEBVTT\n\n01:00:01.500 --> 01:00:02.000\nHi";
        let at = |name| read_as(name, text).0[0].messages[0].time.map(|time| time.at.to_string());
        assert_eq!(at("GMT20260304-100000_Recording.vtt").as_deref(), Some("2026-03-04T11:00:01.5Z"));
        assert_eq!(at("call.vtt"), None);
    }

    #[test]
    fn an_unreadable_time_is_reported_with_its_line() {
        let (seen, skipped) = read_as("call.vtt", "WEBVTT\n\nsoon --> later\nlost\n\n00:01.000 --> 00:02.000\nkept");
        assert_eq!((seen[0].messages.len(), skipped), (1, vec![3]));
    }
}
