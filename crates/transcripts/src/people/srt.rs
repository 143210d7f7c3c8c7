//! `SubRip` captions: numbered cues, of which number, time or words may be missing.

use std::time::Duration;

use super::cues::{Cue, speeches};
use super::meeting::{Meeting, clock};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// Lines with text within which the first time must come.
const LINES_TO_FIRST_TIME: usize = 6;

/// Reads `SubRip` captions.
pub struct Srt;

impl Ingestor for Srt {
    fn name(&self) -> &'static str {
        "srt"
    }

    fn about(&self) -> &'static str {
        "SubRip captions (.srt) of a meeting or video"
    }

    fn rule(&self) -> &'static str {
        "it begins with a cue's number or time, such as `00:00:01,000 --> 00:00:04,000`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES_TO_FIRST_TIME);
        let Some(first) = lines.next() else { return false };
        times(first).is_some() || is_number(first) && lines.any(|line| times(line).is_some())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        let speeches = speeches(&cues(&text, sink));
        meeting.hand_over(&speeches, sink);
        Ok(())
    }
}

fn is_number(line: &str) -> bool {
    (1..=6).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the line of a cue's times; the place on the screen may stand behind them.
fn times(line: &str) -> Option<(Duration, Duration)> {
    let (start, end) = line.split_once("-->")?;
    clock(start).zip(clock(end.split_whitespace().next()?))
}

/// Splits captions into cues; a cue without times starts when the one before it ends, so that its words are kept.
fn cues<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Cue<'a>> {
    let lines: Vec<&str> = text.split('\n').map(str::trim).collect();
    let mut cues: Vec<Cue<'a>> = Vec::new();
    let (mut follows_blank, mut number) = (true, 0_u32);
    for (index, line) in lines.iter().copied().enumerate() {
        let next = lines.get(index + 1).copied().unwrap_or_default();
        let counted = line.parse().ok().filter(|_| is_number(line));
        if line.is_empty() {
            follows_blank = true;
            continue;
        }
        if line.contains("-->") {
            match times(line) {
                Some((start, end)) => cues.push(Cue { start, end, lines: Vec::new() }),
                None => {
                    sink.skip(index + 1, "cue without a readable time; its words are taken with the cue before");
                }
            }
        } else if next.contains("-->") && counted.is_some() {
            number = counted.unwrap_or(number);
        } else if follows_blank && counted == Some(number + 1) && !next.is_empty() {
            number += 1;
            let end = cues.last().map_or(Duration::ZERO, |cue| cue.end);
            cues.push(Cue { start: end, end, lines: Vec::new() });
        } else {
            if cues.is_empty() {
                cues.push(Cue { start: Duration::ZERO, end: Duration::ZERO, lines: Vec::new() });
            }
            cues.last_mut().into_iter().for_each(|cue| cue.lines.push(line));
        }
        follows_blank = false;
    }
    cues
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::open;
    use crate::testing::read_input;

    fn read(input: Input) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&Srt, input);
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    fn told(text: &str) -> Vec<(Duration, Vec<&str>)> {
        let mut ignore = |_| {};
        cues(text, &mut Sink::new(&mut ignore)).into_iter().map(|cue| (cue.start, cue.lines)).collect()
    }

    fn at(seconds: u64, lines: &[&'static str]) -> (Duration, Vec<&'static str>) {
        (Duration::from_secs(seconds), lines.to_vec())
    }

    #[test]
    fn cues_lack_numbers_words_times_or_the_line_between_them() {
        let rows = [
            ("1\n00:00:01,000 --> 00:00:02,000\none\ntwo\n", vec![at(1, &["one", "two"])]),
            (
                "00:00:01.000 --> 00:00:02.000\none\n\n00:00:03.000 --> 00:00:04.000 X1:9\ntwo",
                vec![at(1, &["one"]), at(3, &["two"])],
            ),
            ("1\n00:01,0 --> 00:02,0\n\n\n2\n00:02,0 --> 00:03,0\ntwo", vec![at(1, &[]), at(2, &["two"])]),
            (
                "1\n00:01,0 --> 00:02,0\none\n\n2\nlost\n\n3\n00:04,0 --> 00:05,0\nthree",
                vec![at(1, &["one"]), at(2, &["lost"]), at(4, &["three"])],
            ),
            (
                "1\n00:01,0 --> 00:02,0\none\n\n1984\n2\n00:02,0 --> 00:03,0\ntwo",
                vec![at(1, &["one", "1984"]), at(2, &["two"])],
            ),
        ];
        for (text, expected) in rows {
            assert_eq!(told(text), expected, "{text}");
        }
    }

    #[test]
    fn an_unreadable_time_is_reported_and_costs_no_words() {
        let text = "1\n00:00:01,000 --> 00:00:02,000\nAna: one\n\n2\nsoon --> later\ntwo\n";
        let (seen, skipped) = read(Input::from_text("call.srt", text));
        assert_eq!((seen[0].messages[0].text.as_str(), skipped), ("one two", vec![6]));
    }

    #[test]
    fn western_bytes_are_decoded() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("GMT20260304-100000.srt");
        std::fs::write(&path, b"1\r\n00:00:01,000 --> 00:00:02,000\r\nLu\xEDs: Amanh\xE3.\r\n").unwrap();
        let input = open(&path).unwrap();
        assert!(Srt.sniff(&Head::of(&input)));
        let message = read(input).0.remove(0).messages.remove(0);
        assert_eq!((message.speaker.as_deref(), message.text.as_str()), (Some("Luís"), "Amanhã."));
        assert_eq!(message.time.map(|time| time.at.to_string()).as_deref(), Some("2026-03-04T10:00:01Z"));
    }

    #[test]
    fn other_numbers_and_arrows_are_refused() {
        for text in ["1\n2\n3\n", "a --> b\n", "WEBVTT\n\n00:01.000 --> 00:02.000\nx", "# Notes\n00:01,0 --> 00:02,0\n"]
        {
            assert!(!Srt.sniff(&Head::new(text.into(), true)), "{text}");
        }
    }
}
