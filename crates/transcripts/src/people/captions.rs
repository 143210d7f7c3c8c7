//! Captions in WebVTT and `SubRip`: cues between two times, with their speakers and markup.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::message::dates::{clock, written_in};
use crate::message::parts::on_one_line;
use crate::message::speaker::{looks_like_account, looks_like_name};
use crate::people::html;
use crate::people::meeting::{Meeting, Speech, merge};
use crate::{Head, IngestError, Ingestor, Input, Sink};

/// A name that occurs only once counts as a speaker only if at least one cue out of this many has a speaker's name.
const NAMED_CUES: usize = 20;
/// Words in brackets that denote a noise rather than a name, in lower case.
const NOISES: &[&str] = &[
    "applause", "background noise", "blank_audio", "cheering", "crosstalk", "foreign", "foreign language", "inaudible",
    "laughing", "laughs", "laughter", "music", "no audio", "noise", "pause", "silence",
];

/// The text between a start time and an end time.
pub(crate) struct Cue<'a> {
    /// Time of the cue's start since the start of the recording.
    pub(crate) start: Duration,
    /// Time of the cue's end since the start of the recording.
    pub(crate) end: Duration,
    /// The original lines, trimmed.
    pub(crate) lines: Vec<&'a str>,
}

/// Converts cues to speeches; adjacent cues of the same speaker form one speech.
pub(crate) fn spoken(cues: &[Cue<'_>]) -> Vec<Speech> {
    // YouTube repeats the last line of each cue in the next one, to create a scrolling effect.
    let is_rolling = cues.iter().flat_map(|cue| &cue.lines).any(|line| line.contains("<c>") && line.contains("<0"));
    let names = names(cues);
    let (mut spoken, mut previous): (Vec<Speech>, HashSet<String>) = (Vec::new(), HashSet::new());
    let mut current: Option<String> = None;
    for cue in cues {
        for (voice, text) in voices(&cue.lines.join("\n")) {
            let text = if is_rolling { unrolled(&text, &mut previous) } else { text };
            let turns = match voice {
                Some(voice) => vec![(Turn::Of(voice), text)],
                None => turns(&text, &names),
            };
            for (turn, text) in turns {
                let (is_turn, speaker) = match turn {
                    Turn::Of(name) => (true, Some(name)),
                    Turn::Another => (true, None),
                    // If only changes of speaker are marked, a cue without a name belongs to the last speaker.
                    Turn::Same => (false, if names.is_empty() { None } else { current.take() }),
                };
                current.clone_from(&speaker);
                let text = on_one_line(&text);
                if !text.is_empty() {
                    spoken.push(Speech { start: cue.start, end: cue.end, speaker, is_turn, text });
                }
            }
        }
    }
    merge(spoken)
}

/// Returns the lines of `text` that the previous cue did not contain, and stores all its lines for the next cue.
fn unrolled(text: &str, previous: &mut HashSet<String>) -> String {
    let lines: Vec<String> = text.lines().map(on_one_line).filter(|line| !line.is_empty()).collect();
    let fresh: Vec<&str> = lines.iter().map(String::as_str).filter(|line| !previous.contains(*line)).collect();
    let fresh = fresh.join("\n");
    *previous = lines.into_iter().collect();
    fresh
}

/// The speaker, starting at a given line.
#[derive(Debug, PartialEq)]
enum Turn {
    Of(String),
    /// A dash or `>>` indicates a change of speaker.
    Another,
    Same,
}

/// Returns the names before a colon, or in brackets before the text, at the beginning of cues.
fn names(cues: &[Cue<'_>]) -> HashSet<String> {
    let mut seen: HashMap<&str, (usize, bool)> = HashMap::new();
    for cue in cues {
        for (place, line) in cue.lines.iter().enumerate().filter(|(_, line)| !line.starts_with("<v")) {
            // Captions wrap sentences, so within a cue a colon counts only after a mark for a change of speaker.
            if place > 0 && turn_mark(line).is_none() {
                continue;
            }
            let Some(named) = split_name(line) else { continue };
            let has_words = !named.words.trim().is_empty() || place + 1 < cue.lines.len();
            let is_account = !named.in_brackets && looks_like_account(named.name);
            if (is_account || looks_like_name(named.name)) && (!named.in_brackets || has_words && !is_noise(named.name))
            {
                let (count, in_brackets) = seen.entry(named.name).or_insert((0, named.in_brackets));
                *count += 1;
                *in_brackets &= named.in_brackets;
            }
        }
    }
    let marked: usize = seen.values().map(|(count, _)| count).sum();
    // Ordinary words before a colon are common in speech, so names must occur regularly.
    let is_usual = marked * NAMED_CUES >= cues.len();
    seen.retain(|name, (count, in_brackets)| {
        let is_name = looks_like_name(name);
        *count > 1 && (is_name || is_usual) || is_usual && is_name && !*in_brackets
    });
    seen.into_keys().map(str::to_owned).collect()
}

fn is_noise(name: &str) -> bool {
    NOISES.contains(&name.to_lowercase().as_str())
}

/// Returns the text after a mark for a change of speaker: `- `, `– ` or `>>`.
fn turn_mark(line: &str) -> Option<&str> {
    let marks = ["- ", "– ", "— ", ">>", "&gt;&gt;"];
    marks.iter().find_map(|mark| line.strip_prefix(mark)).map(|rest| rest.trim_start_matches('>').trim_start())
}

struct Named<'a> {
    name: &'a str,
    words: &'a str,
    in_brackets: bool,
}

/// Splits `Name: text`, `[Name] text`, `[Name]: text` or `(Name)`.
fn split_name(line: &str) -> Option<Named<'_>> {
    let line = turn_mark(line).unwrap_or(line);
    for (open, close) in [('(', ')'), ('[', ']')] {
        if let Some((name, words)) = line.strip_prefix(open).and_then(|rest| rest.split_once(close)) {
            return Some(Named { name: name.trim(), words: words.trim_start_matches(':'), in_brackets: true });
        }
    }
    let (name, words) = line.split_once([':', '：'])?;
    let is_spaced = words.is_empty() || words.starts_with(char::is_whitespace) || line[name.len()..].starts_with('：');
    (is_spaced && name.chars().count() <= 60).then(|| Named { name: name.trim(), words, in_brackets: false })
}

/// Splits the text of a cue where another speaker begins.
fn turns(text: &str, names: &HashSet<String>) -> Vec<(Turn, String)> {
    let mut turns = vec![(Turn::Same, String::new())];
    for line in text.lines() {
        let words = match split_name(line).filter(|named| names.contains(named.name)) {
            Some(named) => {
                turns.push((Turn::Of(named.name.to_owned()), String::new()));
                named.words
            }
            None => match turn_mark(line) {
                Some(words) => {
                    turns.push((Turn::Another, String::new()));
                    words
                }
                None => line,
            },
        };
        turns.last_mut().into_iter().for_each(|(_, held)| held.extend([words, "\n"]));
    }
    // A cue may contain only a name, with the text in the next cue.
    turns.retain(|(turn, words)| *turn != Turn::Same || !words.is_empty());
    turns
}

/// Splits a cue at its voice tags, removes the other tags and decodes entities.
fn voices(payload: &str) -> Vec<(Option<String>, String)> {
    patterns! {
        TAG = r"\{\\[^}]{0,300}\}|<([A-Za-z0-9/][^>]{0,300})>";
    }
    let (mut spans, mut end) = (vec![(None, String::new())], 0);
    for found in TAG.captures_iter(payload) {
        append(&mut spans, &payload[end..found.get_match().start()]);
        end = found.get_match().end();
        let tag = found.get(1).map_or("", |tag| tag.as_str());
        if let Some(name) = tag.strip_prefix('v').filter(|name| name.starts_with([' ', '.', '\t'])) {
            let name = name.split_once(char::is_whitespace).map_or("", |(_, name)| name);
            let name = Some(decode(name.trim())).filter(|name| !name.is_empty());
            spans.push((name, String::new()));
        } else if tag == "/v" {
            spans.push((None, String::new()));
        }
    }
    append(&mut spans, &payload[end..]);
    spans.retain(|(_, text)| !text.trim().is_empty());
    spans.into_iter().map(|(name, text)| (name, decode(&text))).collect()
}

fn append(spans: &mut [(Option<String>, String)], text: &str) {
    spans.last_mut().into_iter().for_each(|(_, held)| held.push_str(text));
}

/// Decodes character references, and removes the marks that merely control the text direction.
fn decode(text: &str) -> String {
    html::decode(text).replace(['\u{200e}', '\u{200f}'], "").replace('\u{a0}', " ")
}

// WebVTT captions: meetings with named speakers (Teams, Zoom) and captions without speakers.

/// Reads WebVTT.
pub(crate) struct WebVtt;

impl Ingestor for WebVtt {
    named!("webvtt");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.text
            .trim_start_matches('\u{feff}')
            .strip_prefix("WEBVTT")
            .is_some_and(|rest| rest.is_empty() || rest.starts_with(char::is_whitespace))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((mut meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        meeting.title = title(&text).or(meeting.title);
        // Programs put a date into the header or into a note above the first cue.
        let mut header = text.lines().take_while(|line| !line.contains("-->")).take(HEADER_LINES);
        meeting.start = header.find_map(written_in).or(meeting.start);
        let spoken = spoken(&webvtt_cues(&text, sink));
        hint(&spoken, sink);
        meeting.hand_over(&spoken, sink);
        Ok(())
    }
}

/// Number of lines above the first cue that are searched for a date.
const HEADER_LINES: usize = 20;

/// The reason that is reported for a file of captions without named speakers.
pub const UNNAMED_CAPTIONS: &str = "no caption names a speaker, so the text is not attributed to anybody";

/// Explains why captions without named speakers yield no memories.
fn hint(spoken: &[Speech], sink: &mut Sink<'_>) {
    if !spoken.is_empty() && spoken.iter().all(|speech| speech.speaker.is_none()) {
        sink.skip(1, UNNAMED_CAPTIONS);
    }
}

/// Returns the text after `WEBVTT` on the first line.
fn title(text: &str) -> Option<String> {
    let title = text.lines().next()?.strip_prefix("WEBVTT")?.trim_matches(|c: char| c.is_whitespace() || c == '-');
    (!title.is_empty()).then(|| title.to_owned())
}

/// Splits captions into cues; notes, styles, regions, headers and cue identifiers are not cues.
fn webvtt_cues<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Cue<'a>> {
    let mut cues: Vec<Cue<'a>> = Vec::new();
    let (mut in_cue, mut in_block) = (false, false);
    for (index, line) in text.split('\n').enumerate() {
        if line.trim().is_empty() {
            (in_cue, in_block) = (false, false);
        // Notes and styles end at a blank line, regardless of their content.
        } else if in_block {
        } else if let Some((start, end)) = line.split_once("-->") {
            // The end time may be followed by settings, such as `align:start position:0%`.
            let times = clock(start).zip(clock(end.split_whitespace().next().unwrap_or_default()));
            in_cue = times.is_some();
            match times {
                Some((start, end)) => cues.push(Cue { start, end, lines: Vec::new() }),
                None => sink.skip(index + 1, "a cue has no readable time"),
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

// `SubRip` captions: numbered cues, whose number, time or text may be missing.

/// Maximum number of non-blank lines up to the first time.
const LINES_TO_FIRST_TIME: usize = 6;

/// Reads `SubRip` captions.
pub(crate) struct Srt;

impl Ingestor for Srt {
    named!("srt");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let mut lines = head.text.lines().map(str::trim).filter(|line| !line.is_empty()).take(LINES_TO_FIRST_TIME);
        let Some(first) = lines.next() else { return false };
        times(first).is_some() || is_number(first) && lines.any(|line| times(line).is_some())
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let Some((meeting, text)) = Meeting::open(self.name(), input, sink)? else { return Ok(()) };
        let spoken = spoken(&srt_cues(&text, sink));
        hint(&spoken, sink);
        meeting.hand_over(&spoken, sink);
        Ok(())
    }
}

fn is_number(line: &str) -> bool {
    (1..=6).contains(&line.len()) && line.bytes().all(|byte| byte.is_ascii_digit())
}

/// Reads the line with the times of a cue, which a screen position may follow.
fn times(line: &str) -> Option<(Duration, Duration)> {
    let (start, end) = line.split_once("-->")?;
    clock(start).zip(clock(end.split_whitespace().next()?))
}

/// Splits captions into cues; a cue without times starts at the end of the previous one, so that its text is not lost.
fn srt_cues<'a>(text: &'a str, sink: &mut Sink<'_>) -> Vec<Cue<'a>> {
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
                    sink.skip(index + 1, "a cue has no readable time; its words are added to the previous cue");
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

    fn said(cues: &[&str]) -> Vec<(String, String)> {
        let clock = (0_u64..).map(Duration::from_secs);
        let cues: Vec<Cue<'_>> =
            clock.zip(cues).map(|(at, text)| Cue { start: at, end: at, lines: text.lines().collect() }).collect();
        spoken(&cues).into_iter().map(|speech| (speech.speaker.unwrap_or_default(), speech.text)).collect()
    }

    fn pairs(rows: &[(&str, &str)]) -> Vec<(String, String)> {
        rows.iter().map(|(speaker, text)| ((*speaker).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn every_spelling_of_a_speaker_is_understood() {
        let bracketed =
            ["[Ana] Hello.", "[Music]", "[Ana]: We ship.", "(Luís)\nFine.", "[Laughter] Yes.", "(Luís)\nOk."];
        assert_eq!(
            said(&bracketed),
            pairs(&[("Ana", "Hello. [Music] We ship."), ("Luís", "Fine. [Laughter] Yes. Ok.")])
        );
        assert_eq!(
            said(&["- Ana: Hi.\n- Luís: Hello.", "&gt;&gt; ANA: And you?", ">> I do not know."]),
            pairs(&[("Ana", "Hi."), ("Luís", "Hello."), ("ANA", "And you?"), ("", "I do not know.")])
        );
    }

    #[test]
    fn names_are_written_in_any_script_with_small_letters_and_with_pictures() {
        let cues = [
            "Ana: We ship.", "luis: I cannot.", "Mia 🌸: I test.", "علی\u{200c}رضا: من هستم.", "דנה לוי: כן",
            "luis: Ok.", "so: no.",
        ];
        let said = said(&cues);
        let expected = pairs(&[
            ("Ana", "We ship."),
            ("luis", "I cannot."),
            ("Mia 🌸", "I test."),
            ("علی\u{200c}رضا", "من هستم."),
            ("דנה לוי", "כן"),
            ("luis", "Ok. so: no."),
        ]);
        assert_eq!(said, expected);
    }

    #[test]
    fn dashes_part_speakers_whose_names_are_not_known() {
        assert_eq!(said(&["- Tea?\n- No.", "Thanks."]), pairs(&[("", "Tea?"), ("", "No. Thanks.")]));
    }

    #[test]
    fn one_word_before_a_colon_names_nobody_in_a_long_film() {
        let mut film = vec!["we go on"; 40];
        film[7] = "Look: a bird.";
        assert_eq!(said(&film).len(), 1);
        film.truncate(12);
        assert_eq!(said(&film)[1].0, "Look");
    }

    #[test]
    fn styles_are_no_words_and_lonely_brackets_are() {
        assert_eq!(said(&["{\\an8}<i>Up</i> {here} <3"]), pairs(&[("", "Up {here} <3")]));
    }
}

#[cfg(test)]
mod webvtt_tests {
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
    fn the_header_and_notes_date_the_meeting_before_the_name_does() {
        let cue = "00:01.000 --> 00:02.000\nWe met on 2020-01-01.";
        for header in ["WEBVTT - Sync 2026-03-04 10:00 UTC", "WEBVTT\n\nNOTE\nRecorded on March 4, 2026, 10:00 UTC"] {
            let (seen, _) = read_as("call-20250101.vtt", &format!("{header}\n\n{cue}"));
            let time = seen[0].messages[0].time.map(|time| time.at.to_string());
            assert_eq!(time.as_deref(), Some("2026-03-04T10:00:01Z"), "{header}");
        }
        let (seen, _) = read_as("standup-20260114.vtt", &format!("WEBVTT\n\n{cue}"));
        assert_eq!(seen[0].messages[0].time.map(|time| time.at.to_string()).as_deref(), Some("2026-01-14T00:00:01Z"));
    }

    #[test]
    fn captions_without_any_name_are_reported() {
        let cue = "00:01.000 --> 00:02.000";
        assert_eq!(read_as("call.vtt", &format!("WEBVTT\n\n{cue}\nHi")).1, [1]);
        assert_eq!(read_as("call.vtt", &format!("WEBVTT\n\n{cue}\n<v Ana>Hi")).1, [0; 0]);
    }

    #[test]
    fn an_unreadable_time_is_reported_with_its_line() {
        let (seen, skipped) =
            read_as("call.vtt", "WEBVTT\n\nsoon --> later\nlost\n\n00:01.000 --> 00:02.000\n<v Ana>kept");
        assert_eq!((seen[0].messages.len(), skipped), (1, vec![3]));
    }
}

#[cfg(test)]
mod srt_tests {
    use super::*;
    use crate::Transcript;
    use crate::open;
    use crate::testing::read_input;

    fn read(input: Input) -> (Vec<Transcript>, Vec<usize>) {
        let (seen, skipped) = read_input(&Srt, input);
        (seen, skipped.into_iter().map(|(record, _)| record).collect())
    }

    fn pieces(text: &str) -> Vec<(Duration, Vec<&str>)> {
        let mut ignore = |_| {};
        srt_cues(text, &mut Sink::new(&mut ignore)).into_iter().map(|cue| (cue.start, cue.lines)).collect()
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
            assert_eq!(pieces(text), expected, "{text}");
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
