//! Codex rollouts: one JSONL file a thread, from the bare items of mid-2025 to today's envelopes.
//!
//! The log writes most messages twice, as a `response_item` for the model and as an `event_msg` for the screen; each
//! is read once. The screen's copy of what the user typed is clean, so where a file has any, other text in the user's
//! turn counts as injected.

mod item;
mod thread;
mod turns;

use serde_json::Value;

use self::item::Line;
use self::thread::Thread;
use crate::ingest::lenient::Object;
use crate::ingest::{Head, IngestError, Ingestor, Input, Records, Sink};

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
        "Codex CLI and IDE rollouts"
    }

    fn rule(&self) -> &'static str {
        "JSONL; lines with an object `payload` and a `type` such as `session_meta` or `response_item`, or bare items after a head of `id` and `timestamp`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.most_lines(is_envelope)
            || head.document.as_ref().is_some_and(is_envelope)
            || head.any_line(is_bare_head) && head.any_line(is_bare_message)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
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
