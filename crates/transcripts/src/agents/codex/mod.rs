//! Codex rollouts: one file a thread, from the JSON object of spring 2025 and the bare items that followed it to
//! today's envelopes; what `codex exec --json` prints; and the history of prompts.
//!
//! The log writes most messages twice, as a `response_item` for the model and as an `event_msg` for the screen; each
//! is read once. The screen's copy of what the user typed is clean, so where a file has any, other text in the user's
//! turn counts as injected.

mod exec;
mod history;
mod item;
mod thread;
mod turns;

use serde::Deserialize;
use serde_json::Value;

use self::item::Line;
use self::thread::Thread;
use crate::lenient::Object;
use crate::{Head, IngestError, Ingestor, Input, Records, Sink};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "codex";

const ENVELOPE_TYPES: &[&str] = &[
    "session_meta",
    "response_item",
    "event_msg",
    "turn_context",
    "compacted",
    "world_state",
    "inter_agent_communication",
    "inter_agent_communication_metadata",
];

/// Reads Codex threads.
pub struct Codex;

impl Ingestor for Codex {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Codex CLI and IDE rollouts, exec streams, and the history of prompts"
    }

    fn rule(&self) -> &'static str {
        "JSONL; lines with an object `payload` and a `type` such as `session_meta` or `response_item`, or bare items after a head of `id` and `timestamp`; an object of `session` and `items`; lines with `thread.started` or `item.completed`; lines with `session_id`, `ts` and `text`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.most_lines(is_envelope)
            || head.document.as_ref().is_some_and(is_envelope)
            || head.any_line(is_bare_head) && head.any_line(is_bare_message)
            || head.document.as_ref().is_some_and(is_document)
            || of_lines(head, exec::is_event)
            || of_lines(head, history::is_entry)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let shape = Shape::of(&Head::of(&input));
        match shape {
            Shape::Stream => return exec::read(input, sink),
            Shape::History => return history::read(input, sink),
            Shape::Document => return read_document(input, sink),
            Shape::Lines => {}
        }
        let mut thread = Thread::new(&input);
        let mut records = Records::lines(input);
        while let Some((number, line)) = records.next_json::<Object<Line>>(sink)? {
            match line.0 {
                Some(line) => thread.take(number, line, sink),
                None => sink.skip(number, "not a JSON object"),
            }
        }
        thread.finish(sink);
        Ok(())
    }
}

/// What a file holds.
enum Shape {
    Lines,
    Document,
    Stream,
    History,
}

impl Shape {
    fn of(head: &Head<'_>) -> Self {
        if head.document.as_ref().is_some_and(is_document) {
            Self::Document
        } else if of_lines(head, exec::is_event) {
            Self::Stream
        } else if of_lines(head, history::is_entry) {
            Self::History
        } else {
            Self::Lines
        }
    }
}

fn of_lines(head: &Head<'_>, test: impl Fn(&Value) -> bool) -> bool {
    head.most_lines(&test) || head.document.as_ref().is_some_and(test)
}

/// The rollout of spring 2025.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Document {
    session: Object<Line>,
    items: Vec<Object<Line>>,
}

fn is_document(value: &Value) -> bool {
    value["session"]["id"].is_string() && value["session"]["timestamp"].is_string() && value["items"].is_array()
}

fn read_document(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let mut thread = Thread::new(&input);
    let mut records = Records::elements(input);
    while let Some((number, document)) = records.next_json::<Document>(sink)? {
        for (place, line) in std::iter::once(document.session).chain(document.items).enumerate() {
            match line.0 {
                Some(line) => thread.take(number, line, sink),
                None if place > 0 => sink.skip(place, "not a JSON object"),
                None => {}
            }
        }
    }
    thread.finish(sink);
    Ok(())
}

fn is_envelope(line: &Value) -> bool {
    let kind = line.get("type").and_then(Value::as_str).unwrap_or_default();
    ENVELOPE_TYPES.contains(&kind) && line.get("payload").is_some_and(Value::is_object)
}

/// The first line of a bare log: an id and a time, and no type.
fn is_bare_head(line: &Value) -> bool {
    let is_text = |key: &str| line.get(key).is_some_and(Value::is_string);
    is_text("id") && is_text("timestamp") && line.get("type").is_none()
        || line.get("record_type").and_then(Value::as_str) == Some("state")
}

fn is_bare_message(line: &Value) -> bool {
    let block = line.pointer("/content/0/type").and_then(Value::as_str);
    line.get("type").and_then(Value::as_str) == Some("message")
        && line.get("uuid").is_none()
        && matches!(block, Some("input_text" | "output_text"))
}

#[cfg(test)]
mod tests;
