//! Meetings, as speeches with times relative to the start.

use std::time::Duration;

use jiff::SignedDuration;

use crate::message::identity;
use crate::{Assembler, IngestError, Input, Kind, Message, MessageTime, Role, Sink};

/// Pause after which the same speaker starts a new message.
const PAUSE: Duration = Duration::from_secs(30);
/// Length, in bytes, beyond which further speech by the same speaker starts a new message.
const LONG_SPEECH: usize = 4_000;

/// An uninterrupted contribution by one person.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Speech {
    /// Start of the speech, relative to the start of the meeting.
    pub(crate) start: Duration,
    /// End of the speech, relative to the start of the meeting.
    pub(crate) end: Duration,
    /// The speaker, if known.
    pub(crate) speaker: Option<String>,
    /// Whether the previous speaker is known to be a different person.
    pub(crate) is_turn: bool,
    /// The spoken text.
    pub(crate) text: String,
}

impl Speech {
    fn message(&self, meeting: Option<MessageTime>) -> Message {
        let time = meeting.and_then(|time| {
            let offset = SignedDuration::try_from(self.start).ok()?;
            Some(MessageTime { at: time.at.checked_add(offset).ok()?, ..time })
        });
        let kind = if self.is_noise() { Kind::Context } else { Kind::Prose };
        // Speech without a named speaker may come from elsewhere, for example from a film that was playing.
        let role = if self.speaker.is_some() { Role::User } else { Role::Other };
        Message { kind, speaker: self.speaker.clone(), time, ..Message::prose(role, self.text.as_str()) }
    }

    /// Returns whether the text consists only of a noise, such as `[Music]`.
    fn is_noise(&self) -> bool {
        let inside = self.text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        inside.is_some_and(|inside| !inside.contains(['[', ']']))
    }
}

/// A file that contains one meeting, with information about the meeting as a whole.
pub(crate) struct Meeting {
    format: &'static str,
    stem: String,
    origin: String,
    /// The subject of the meeting.
    pub(crate) title: Option<String>,
    /// The start of the meeting; if it is unknown, the messages have no time.
    pub(crate) start: Option<MessageTime>,
    /// Text that the program wrote about the meeting: attendees, summaries, notices.
    pub(crate) around: String,
}

impl Meeting {
    /// Reads the whole of `input` as text in `format`; text longer than [`crate::MAX_RECORD_BYTES`] is reported and
    /// skipped.
    ///
    /// The title and the start come from the file's name, unless the text provides a better title or start.
    ///
    /// # Errors
    /// [`IngestError::Read`] if the input cannot be read.
    pub(crate) fn open(
        format: &'static str,
        input: Input,
        sink: &mut Sink<'_>,
    ) -> Result<Option<(Self, String)>, IngestError> {
        let (stem, origin) = (input.stem(), input.path.display().to_string());
        // The modification time of the file is irrelevant, because transcripts are downloaded after the meeting.
        let start = identity::named_time(&stem);
        let Some(text) = sink.whole_text(input, "text")? else { return Ok(None) };
        Ok(Some((Self { format, title: Some(stem.clone()), stem, origin, start, around: String::new() }, text)))
    }

    /// Passes the speeches to `sink` as a transcript.
    pub(crate) fn hand_over(self, speeches: &[Speech], sink: &mut Sink<'_>) {
        let Some(first) = speeches.first().map(|speech| speech.message(self.start)) else {
            return sink.skip(1, "no speaker appears in this transcript");
        };
        let mut draft = Assembler::new(self.format, identity::of_file(&self.stem, &first), self.origin);
        draft.meta().title = self.title;
        draft.meta().created_at = self.start.map(|time| time.at);
        // The kind is not `Context`, because that would prevent memories of statements that a summary repeats.
        let around = Message { kind: Kind::Summary, time: self.start, ..Message::prose(Role::Other, self.around) };
        draft.push(around, sink);
        for speech in speeches {
            draft.push(speech.message(self.start), sink);
        }
        draft.finish(sink);
    }
}

/// Joins consecutive speeches of the same speaker, up to a long pause.
pub(crate) fn merge(speeches: Vec<Speech>) -> Vec<Speech> {
    let mut merged: Vec<Speech> = Vec::new();
    for speech in speeches {
        // Two speeches without a name are not joined if a mark indicates a change of speaker.
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
