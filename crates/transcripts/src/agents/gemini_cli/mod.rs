//! Gemini CLI: session recordings, saved checkpoints, and the history of prompts.
//!
//! A recording is one JSON object (until 2025) or JSONL (2026), in which a later line can change an earlier one, replace
//! all of them, or take back the last; a checkpoint is the bare history of a chat; `logs.json` holds what was typed.

pub(super) mod record;
mod session;

use std::collections::HashSet;

use serde_json::Value;

use self::session::Session;
use crate::Message;
use crate::prompts::{Prompt, Prompts};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Records, Sink, identity};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "gemini-cli";
/// Digits of a session's id that stand at the end of the name of its recording.
const ID_DIGITS: usize = 8;

/// Reads what Gemini CLI writes.
pub struct GeminiCli;

impl Ingestor for GeminiCli {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Gemini CLI session recordings, checkpoints and prompt logs"
    }

    fn rule(&self) -> &'static str {
        "an object with `projectHash` and `messages`; JSONL with `projectHash`, `$set` or `$rewindTo`; `history` of `role` and `parts`; or an array of prompts with `sessionId` and `messageId`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_array = matches!(head.document, Some(Value::Array(_)));
        let is_document =
            |value: &Value| if is_array { is_prompt(value) } else { is_start(value) || is_checkpoint(value) };
        head.objects().any(is_document)
            || head.any_line(is_start)
            || head.any_line(is_change) && head.any_line(is_message)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (is_lines, is_array) = {
            let head = Head::of(&input);
            (!head.lines.is_empty(), matches!(head.document, Some(Value::Array(_))))
        };
        if is_array {
            return read_prompts(input, sink);
        }
        if !is_lines && input.sibling(&format!("{}.jsonl", input.stem())).is_some() {
            sink.skip(1, "the recording goes on in the JSONL file beside it, which is read instead");
            return Ok(());
        }
        let mut session = Session::new(&input);
        let saved = Saved::of(&input);
        let mut records = if is_lines { Records::lines(input) } else { Records::elements(input) };
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            if is_checkpoint(&value) {
                saved.read(&value["history"], sink);
            } else if !session.take(number, value, sink) {
                sink.skip(number, "neither a message nor a change of one");
            }
        }
        session.finish(sink);
        Ok(())
    }
}

fn is_text(value: &Value, key: &str) -> bool {
    value.get(key).is_some_and(Value::is_string)
}

/// Whether `value` is a whole recording, or the first line of one.
fn is_start(value: &Value) -> bool {
    is_text(value, "projectHash") && is_text(value, "sessionId")
}

/// Whether `value` is a line that changes earlier ones.
fn is_change(value: &Value) -> bool {
    value.get("$set").is_some_and(Value::is_object) || is_text(value, "$rewindTo")
}

fn is_message(value: &Value) -> bool {
    is_text(value, "id") && is_text(value, "timestamp") && record::KINDS.contains(&value["type"].as_str().unwrap_or(""))
}

fn is_checkpoint(value: &Value) -> bool {
    let turns = value["history"].as_array().map_or(&[][..], Vec::as_slice);
    turns.iter().any(|turn| {
        matches!(turn["role"].as_str(), Some("user" | "model")) && turn.get("parts").is_some_and(Value::is_array)
    })
}

fn is_prompt(value: &Value) -> bool {
    is_text(value, "sessionId") && value.get("messageId").is_some_and(Value::is_number) && is_text(value, "message")
}

/// Reads `logs.json`: prompts alone, of all sessions in one project.
fn read_prompts(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let names = input.names_beside("chats");
    let logged: HashSet<String> = names.iter().filter_map(|name| named_session(name)).collect();
    let mut prompts = Prompts::new(NAME, &input, logged);
    let mut records = Records::elements(input);
    while let Some((number, value)) = records.next_json::<Value>(sink)? {
        let (Some(session), true) = (value["sessionId"].as_str(), is_prompt(&value)) else {
            sink.skip(number, "not a prompt");
            continue;
        };
        let key = session.get(..ID_DIGITS).unwrap_or(session);
        prompts.take(number, Prompt { session, key, project: None, message: record::prompt(&value) }, sink);
    }
    prompts.finish(sink);
    Ok(())
}

/// Returns the digits of the session's id in a name such as `session-2026-01-02T03-04-1a2b3c4d.jsonl`.
fn named_session(name: &str) -> Option<String> {
    let stem = name.split('.').next()?.strip_prefix("session-")?;
    let digits = stem.rsplit('-').next()?;
    (digits.len() == ID_DIGITS).then(|| digits.to_owned())
}

/// What the file says of a chat that was saved under a name.
struct Saved {
    stem: String,
    origin: String,
    time: Option<crate::MessageTime>,
}

impl Saved {
    fn of(input: &Input) -> Self {
        Self { stem: input.stem(), origin: input.path.display().to_string(), time: identity::file_time(input) }
    }

    fn read(&self, history: &Value, sink: &mut Sink<'_>) {
        let turns = history.as_array().map_or(&[][..], Vec::as_slice);
        let messages: Vec<Message> = turns.iter().flat_map(record::turn).collect();
        let Some(first) = messages.iter().find(|message| message.is_human()).or(messages.first()) else { return };
        let mut draft = Assembler::new(NAME, identity::of_file(&self.stem, first), self.origin.as_str());
        draft.meta().created_at = self.time.map(|time| time.at);
        draft.meta().title = self.stem.strip_prefix("checkpoint-").map(str::to_owned);
        for message in messages {
            draft.push(Message { time: self.time, ..message }, sink);
        }
        draft.finish(sink);
    }
}

#[cfg(test)]
mod tests;
