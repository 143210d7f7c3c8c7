//! `LoCoMo`: long conversations of two people over many sessions, with questions about them.

use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::Offset;
use serde_json::Value;

use crate::parts::file_label;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Layout, Object, Objects, Sink, identity};
use crate::{Kind, Message, MessageTime, Role, TimeSource};

/// How the start of a session is written, without a time zone.
const START: &str = "%I:%M %p on %d %B, %Y";

/// Reads `LoCoMo`.
pub struct Locomo;

impl Ingestor for Locomo {
    fn name(&self) -> &'static str {
        "locomo"
    }

    fn about(&self) -> &'static str {
        "LoCoMo samples: two people's sessions over months; the questions are left alone"
    }

    fn rule(&self) -> &'static str {
        "objects whose `conversation` has `speaker_a` and sessions `session_1`, `session_2` and so on"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_sample) || head.most_lines(is_sample)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut objects = Objects::of(input);
        while let Some(object) = objects.next(sink)? {
            if object.value["conversation"].is_object() {
                read_sample(&object, objects.layout, sink);
            } else {
                sink.skip(object.number, "no sample: it has no `conversation`");
            }
        }
        Ok(())
    }

    fn is_dataset(&self) -> bool {
        true
    }
}

fn is_sample(value: &Value) -> bool {
    value["conversation"]["speaker_a"].is_string() && value["conversation"].get("speaker_b").is_some()
}

fn read_sample(object: &Object, layout: Layout, sink: &mut Sink<'_>) {
    let conversation = &object.value["conversation"];
    let sample = object.value["sample_id"].as_str();
    let sessions = sessions(conversation);
    if sessions.is_empty() {
        return sink.skip(object.number, "a sample without sessions");
    }
    for (number, turns) in sessions {
        let start = conversation[format!("session_{number}_date_time")].as_str();
        let time = start.and_then(session_start);
        if time.is_none() {
            sink.skip(object.number, format!("session {number} has no date that can be read; it is kept without"));
        }
        let messages: Vec<Message> = turns.iter().flat_map(|turn| turn_messages(turn, time)).collect();
        let unread = turns.iter().filter(|turn| turn_messages(turn, time).is_empty()).count();
        if unread > 0 {
            sink.skip(object.number, format!("session {number} has {unread} turns without speaker or text"));
        }
        let Some(first) = messages.first() else { continue };
        let id = match sample {
            Some(sample) => format!("{sample}/session_{number}"),
            None => identity::of_file(&format!("session_{number}"), first),
        };
        let record = if layout == Layout::One { "#" } else { "/" };
        let mut draft = Assembler::new("locomo", id, format!("{}{record}session_{number}", object.origin));
        let speaker = |key: &str| conversation[key].as_str().unwrap_or("?").to_owned();
        draft.meta().title = Some(format!("{} and {}, session {number}", speaker("speaker_a"), speaker("speaker_b")));
        draft.meta().project = sample.map(str::to_owned);
        messages.into_iter().for_each(|message| draft.push(message, sink));
        draft.finish(sink);
    }
}

/// Returns the sessions in their order. A sample names dates of sessions that it does not have, so sessions count.
fn sessions(conversation: &Value) -> Vec<(u32, &Vec<Value>)> {
    let mut sessions: Vec<(u32, &Vec<Value>)> = conversation
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, turns)| Some((key.strip_prefix("session_")?.parse().ok()?, turns.as_array()?)))
        .collect();
    sessions.sort_by_key(|(number, _)| *number);
    sessions
}

fn session_start(text: &str) -> Option<MessageTime> {
    let time = strtime::parse(START, text.trim()).ok()?;
    let civil: DateTime = time.to_datetime().ok()?;
    Some(MessageTime { at: Offset::UTC.to_timestamp(civil).ok()?, offset_seconds: None, source: TimeSource::Derived })
}

/// Returns what a turn says, and the photo that it shows, described.
fn turn_messages(turn: &Value, time: Option<MessageTime>) -> Vec<Message> {
    let Some(speaker) = turn["speaker"].as_str() else { return Vec::new() };
    let id = turn["dia_id"].as_str().unwrap_or_default();
    let said = |kind, text: String, id: String| Message {
        id,
        kind,
        speaker: Some(speaker.to_owned()),
        time,
        ..Message::prose(Role::User, text)
    };
    let photo = turn["blip_caption"].as_str().map(|caption| {
        let id = if id.is_empty() { String::new() } else { format!("{id}/photo") };
        said(Kind::Attachment, file_label("photo", Some(caption)), id)
    });
    let words = turn["text"].as_str().filter(|text| !text.trim().is_empty());
    words.map(|text| said(Kind::Prose, text.to_owned(), id.to_owned())).into_iter().chain(photo).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn each_session_is_a_transcript_of_named_people_at_a_naive_time() {
        let text = json!([{"sample_id": "conv-1", "qa": [], "conversation": {
            "speaker_a": "Ana", "speaker_b": "Ben",
            "session_10": [{"speaker": "Ben", "dia_id": "D10:1", "text": "ten"}], "session_10_date_time": "12:09 am on 3 June, 2024",
            "session_2": [{"speaker": "Ana", "dia_id": "D2:1", "text": "two", "blip_caption": "a red kite", "img_url": ["https://e.org/x.jpg"]}, {"speaker": "Ben"}],
            "session_2_date_time": "1:56 pm on 8 May, 2024", "session_99_date_time": "1:00 pm on 1 July, 2024"}}])
        .to_string();
        assert!(sniffs(&Locomo, &text));
        let (seen, skipped) = read(&Locomo, "x.json", &text);
        let told: Vec<_> = seen
            .iter()
            .map(|one| {
                (one.external_id.as_str(), one.messages[0].time.map(|time| (time.at.to_string(), time.offset_seconds)))
            })
            .collect();
        assert_eq!(
            told,
            [
                ("conv-1/session_2", Some(("2024-05-08T13:56:00Z".to_owned(), None))),
                ("conv-1/session_10", Some(("2024-06-03T00:09:00Z".to_owned(), None))),
            ]
        );
        assert_eq!(lines(&seen[0]), ["User Prose two", "User Attachment [photo: a red kite]"]);
        let ids: Vec<_> =
            seen[0].messages.iter().map(|message| (message.id.as_str(), message.speaker.as_deref())).collect();
        assert_eq!(ids, [("D2:1", Some("Ana")), ("D2:1/photo", Some("Ana"))]);
        assert_eq!(skipped, [(1, "session 2 has 1 turns without speaker or text".to_owned())]);
    }
}
