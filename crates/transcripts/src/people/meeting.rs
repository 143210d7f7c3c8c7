//! What the records of meetings share: speeches on a clock that starts with the meeting.

use std::time::Duration;

use jiff::SignedDuration;

use crate::{Assembler, IngestError, Input, MAX_RECORD_BYTES, Sink, identity};
use crate::{Kind, Message, MessageTime, Role};

/// Pause after which the same speaker starts a new message.
const PAUSE: Duration = Duration::from_secs(30);
/// Length from which the same speaker's next words start a new message, in bytes.
const LONG_SPEECH: usize = 4_000;

/// What one person said in one go.
#[derive(Debug, Clone, PartialEq)]
pub struct Speech {
    /// From the start of the meeting.
    pub start: Duration,
    /// From the start of the meeting.
    pub end: Duration,
    /// Who spoke, where that is known.
    pub speaker: Option<String>,
    /// Whether it is known that the one who spoke before is another.
    pub is_turn: bool,
    /// The words.
    pub text: String,
}

impl Speech {
    fn message(&self, meeting: Option<MessageTime>) -> Message {
        let time = meeting.and_then(|time| {
            let offset = SignedDuration::try_from(self.start).ok()?;
            Some(MessageTime { at: time.at.checked_add(offset).ok()?, ..time })
        });
        let kind = if self.is_noise() { Kind::Context } else { Kind::Prose };
        // Of words that nobody is named for, it is not known that any of the people at hand said them: it may be a film.
        let role = if self.speaker.is_some() { Role::User } else { Role::Other };
        Message { kind, speaker: self.speaker.clone(), time, ..Message::prose(role, self.text.as_str()) }
    }

    /// Whether nothing but a noise is noted: `[Music]`.
    fn is_noise(&self) -> bool {
        let inside = self.text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inside.is_some_and(|inside| !inside.contains(['[', ']']))
    }
}

/// A file that holds one meeting, and what it tells of it as a whole.
pub struct Meeting {
    format: &'static str,
    stem: String,
    origin: String,
    /// What it was about.
    pub title: Option<String>,
    /// When it started; where nothing tells that, its messages have no time.
    pub start: Option<MessageTime>,
    /// What the program tells of the meeting: attendees, summaries, notices.
    pub around: String,
}

impl Meeting {
    /// Reads `input` whole, as text of `format`; a text over [`MAX_RECORD_BYTES`] is reported and not read.
    ///
    /// The file's name gives title and start, until the text gives better ones.
    ///
    /// # Errors
    /// [`IngestError::Read`].
    pub fn open(
        format: &'static str,
        input: Input,
        sink: &mut Sink<'_>,
    ) -> Result<Option<(Self, String)>, IngestError> {
        let (stem, origin) = (input.stem(), input.path.display().to_string());
        let start = identity::named_time(&stem);
        let Some(text) = input.into_text(MAX_RECORD_BYTES)? else {
            sink.skip(1, format!("text over the limit of {} MiB", MAX_RECORD_BYTES >> 20));
            return Ok(None);
        };
        Ok(Some((Self { format, title: Some(stem.clone()), stem, origin, start, around: String::new() }, text)))
    }

    /// Hands over what was said.
    pub fn hand_over(self, speeches: &[Speech], sink: &mut Sink<'_>) {
        let Some(first) = speeches.first().map(|speech| speech.message(self.start)) else {
            return sink.skip(1, "nobody says anything in it");
        };
        let mut draft = Assembler::new(self.format, identity::of_file(&self.stem, &first), self.origin);
        draft.meta().title = self.title;
        draft.meta().created_at = self.start.map(|time| time.at);
        // As context it would forbid memories of what was really said wherever a summary repeats it.
        let around = Message { kind: Kind::Summary, time: self.start, ..Message::prose(Role::Other, self.around) };
        draft.push(around, sink);
        for speech in speeches {
            draft.push(speech.message(self.start), sink);
        }
        draft.finish(sink);
    }
}

/// Reads `[HH:]MM:SS` with or without a fraction, behind a dot or a comma.
pub fn clock(text: &str) -> Option<Duration> {
    let text = text.trim();
    let (clock, fraction) = text.rsplit_once(['.', ',']).unwrap_or((text, ""));
    let fields: Vec<u64> = clock.split(':').map(number).collect::<Option<_>>()?;
    let (hours, minutes, seconds) = match fields[..] {
        [minutes, seconds] => (0, minutes, seconds),
        [hours, minutes, seconds] => (hours, minutes, seconds),
        _ => return None,
    };
    let whole = hours.checked_mul(3_600)?.checked_add(minutes.checked_mul(60)?)?.checked_add(seconds)?;
    let millis = number(format!("{fraction:0<3}").get(..3)?)?;
    Duration::from_secs(whole).checked_add(Duration::from_millis(millis))
}

fn number(digits: &str) -> Option<u64> {
    if digits.bytes().all(|byte| byte.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Joins what one speaker said in a row, up to a long pause.
pub fn merge(speeches: Vec<Speech>) -> Vec<Speech> {
    let mut merged: Vec<Speech> = Vec::new();
    for speech in speeches {
        match merged.last_mut() {
            Some(last)
                if last.speaker == speech.speaker
                    && !(speech.is_turn && speech.speaker.is_none())
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

    #[test]
    fn clocks_are_read_with_and_without_hours_and_fractions() {
        let rows = [
            ("00:01.500", Some(1_500)),
            ("1:00:01,5", Some(3_601_500)),
            (" 0:12 ", Some(12_000)),
            ("00:00:01.2345", Some(1_234)),
            ("12", None),
            ("+1:02", None),
            ("1:2:3:4", None),
            ("99999999999999999999:00", None),
            ("", None),
        ];
        for (text, expected) in rows {
            assert_eq!(clock(text), expected.map(Duration::from_millis), "{text}");
        }
    }
}
