//! WebVTT captions: meetings of named people (Teams, Zoom) and captions without speakers.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use crate::ingest::speaker::looks_like_name;
use crate::ingest::{Assembler, Head, IngestError, Ingestor, Input, MAX_RECORD_BYTES, Sink, identity};
use crate::transcript::{Message, MessageTime, Role};

/// Pause after which the same speaker starts a new message.
const PAUSE: Duration = Duration::from_secs(30);
/// Length from which the same speaker's next cue starts a new message, in bytes.
const LONG_SPEECH: usize = 4_000;

/// Longest tag in a cue, in bytes; a `<` without an end within it is a character.
const LONGEST_TAG: usize = 300;

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
        let (stem, origin) = (input.stem(), input.path.display().to_string());
        let Some(text) = input.into_text(MAX_RECORD_BYTES)? else {
            sink.skip(1, format!("captions over the limit of {} MiB", MAX_RECORD_BYTES >> 20));
            return Ok(());
        };
        let speeches = merge(speeches(&cues(&text, sink)));
        let start = identity::named_time(&stem);
        let Some(first) = speeches.first().map(|speech| speech.message(start)) else { return Ok(()) };
        let mut draft = Assembler::new(self.name(), identity::of_file(&stem, &first), origin);
        draft.meta().title = Some(title(&text).unwrap_or(stem));
        draft.meta().created_at = start.map(|time| time.at);
        for speech in &speeches {
            draft.push(speech.message(start), sink);
        }
        draft.finish(sink);
        Ok(())
    }
}

/// Returns the text behind `WEBVTT` on the first line.
fn title(text: &str) -> Option<String> {
    let title = text.lines().next()?.strip_prefix("WEBVTT")?.trim_matches(|c: char| c.is_whitespace() || c == '-');
    (!title.is_empty()).then(|| title.to_owned())
}

struct Cue<'a> {
    start: Duration,
    end: Duration,
    lines: Vec<&'a str>,
}

struct Speech {
    start: Duration,
    end: Duration,
    speaker: Option<String>,
    text: String,
}

impl Speech {
    fn message(&self, meeting: Option<MessageTime>) -> Message {
        let time = meeting.and_then(|time| {
            let offset = jiff::SignedDuration::try_from(self.start).ok()?;
            Some(MessageTime { at: time.at.checked_add(offset).ok()?, ..time })
        });
        Message { speaker: self.speaker.clone(), time, ..Message::prose(Role::User, self.text.as_str()) }
    }
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

/// Reads `[HH:]MM:SS.mmm`.
fn clock(text: &str) -> Option<Duration> {
    let (clock, fraction) = text.trim().rsplit_once(['.', ','])?;
    let fields: Vec<u64> = clock.split(':').map(|field| field.parse().ok()).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match fields[..] {
        [minutes, seconds] => (0, minutes, seconds),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let whole = hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
    let millis: u64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
    Duration::from_secs(whole).checked_add(Duration::from_millis(millis))
}

/// Turns cues into what each speaker said, cue by cue.
fn speeches(cues: &[Cue<'_>]) -> Vec<Speech> {
    let rolling = cues.iter().flat_map(|cue| &cue.lines).any(|line| line.contains("<c>") && line.contains("<0"));
    let prefixes = prefix_names(cues);
    let (mut speeches, mut previous): (Vec<Speech>, HashSet<String>) = (Vec::new(), HashSet::new());
    let mut current: Option<String> = None;
    for cue in cues {
        for (voice, text) in voices(&cue.lines.join("\n")) {
            let mut text = text;
            if rolling {
                let lines: Vec<String> = text.lines().map(squeeze).filter(|line| !line.is_empty()).collect();
                text = lines
                    .iter()
                    .filter(|line| !previous.contains(line.as_str()))
                    .cloned()
                    .collect::<Vec<_>>()
                    .join("\n");
                previous = lines.into_iter().collect();
            }
            let (named, text) = match voice {
                Some(voice) => (Some(voice), text),
                None => split_prefix(&text, &prefixes),
            };
            // Where only changes of speaker are marked, a cue without a name goes on with the last one.
            let carried = if prefixes.is_empty() { None } else { current.take() };
            let speaker = named.or(carried);
            current.clone_from(&speaker);
            let text = squeeze(&text);
            if !text.is_empty() {
                speeches.push(Speech { start: cue.start, end: cue.end, speaker, text });
            }
        }
    }
    speeches
}

fn squeeze(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the names that stand before a colon at the start of cues, or in brackets on a first line of their own.
fn prefix_names(cues: &[Cue<'_>]) -> HashMap<String, usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    for line in cues.iter().filter_map(|cue| cue.lines.first()).filter(|line| !line.starts_with("<v")) {
        if let Some((name, _)) = split_name(line) {
            *seen.entry(name.to_owned()).or_default() += 1;
        }
    }
    seen.retain(|name, count| looks_like_name(name) && (!name.starts_with(['(', '[']) || *count > 1));
    seen
}

/// Splits `Name: text`, or `(Name)` and `[Name]` from nothing.
fn split_name(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches("- ");
    let bracketed = line.strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
    if let Some(name) = bracketed.or_else(|| line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'))) {
        return Some((name.trim(), ""));
    }
    let (name, rest) = line.split_once([':', '：'])?;
    let spaced = rest.is_empty() || rest.starts_with(char::is_whitespace) || line[name.len()..].starts_with('：');
    (spaced && name.len() <= 60).then(|| (name.trim(), rest))
}

fn split_prefix(text: &str, names: &HashMap<String, usize>) -> (Option<String>, String) {
    let (first, rest) = text.split_once('\n').unwrap_or((text, ""));
    match split_name(first) {
        Some((name, said)) if names.contains_key(name) => (Some(name.to_owned()), format!("{said}\n{rest}")),
        Some(_) | None => (None, text.to_owned()),
    }
}

/// Splits a cue at its voice tags, takes the other tags out and decodes entities.
fn voices(payload: &str) -> Vec<(Option<String>, String)> {
    let mut spans = vec![(None, String::new())];
    let mut rest = payload;
    while let Some(open) = rest.find('<') {
        append(&mut spans, &rest[..open]);
        let inside = &rest[open + 1..];
        let is_tag = inside.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/');
        let near = &inside[..inside.floor_char_boundary(LONGEST_TAG)];
        let Some(close) = near.find('>').filter(|_| is_tag) else {
            append(&mut spans, "<");
            rest = inside;
            continue;
        };
        let tag = &inside[..close];
        if let Some(name) = tag.strip_prefix('v').filter(|name| name.starts_with([' ', '.', '\t'])) {
            let name = name.split_once(char::is_whitespace).map_or("", |(_, name)| name);
            let name = Some(decode(name.trim())).filter(|name| !name.is_empty());
            spans.push((name, String::new()));
        } else if tag == "/v" {
            spans.push((None, String::new()));
        }
        rest = &inside[close + 1..];
    }
    append(&mut spans, rest);
    spans.retain(|(_, text)| !text.trim().is_empty());
    spans.into_iter().map(|(name, text)| (name, decode(&text))).collect()
}

fn append(spans: &mut [(Option<String>, String)], text: &str) {
    spans.last_mut().into_iter().for_each(|(_, held)| held.push_str(text));
}

/// Decodes the character references that captions use.
fn decode(text: &str) -> String {
    const ENTITIES: &[(&str, &str)] = &[
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&nbsp;", " "),
        ("&quot;", "\""),
        ("&#39;", "'"),
        ("&apos;", "'"),
        ("&lrm;", ""),
        ("&rlm;", ""),
        // Last, so that an escaped reference is decoded once only.
        ("&amp;", "&"),
    ];
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

/// Joins what one speaker said in a row, up to a long pause.
fn merge(speeches: Vec<Speech>) -> Vec<Speech> {
    let mut merged: Vec<Speech> = Vec::new();
    for speech in speeches {
        match merged.last_mut() {
            Some(last)
                if last.speaker == speech.speaker
                    && last.text.len() < LONG_SPEECH
                    && speech.start.saturating_sub(last.end) < PAUSE =>
            {
                last.text.push(' ');
                last.text.push_str(&speech.text);
                last.end = speech.end;
            }
            Some(_) | None => merged.push(speech),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Transcript;

    fn read_as(name: &str, text: &str) -> (Vec<Transcript>, Vec<usize>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        WebVtt.read(Input::from_text(name, text), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| skipped.record).collect();
        (seen, skipped)
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
