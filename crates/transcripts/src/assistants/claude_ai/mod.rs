//! The data export of claude.ai: conversations as lists of messages, which in newer exports know their parents.

mod blocks;
mod design;
mod edited;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub use self::design::ClaudeDesign;

use self::blocks::messages_of;
use super::branch::{self, Node};
use super::fields::{Clock, list, text, time};
use super::rows;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Sink, identity};

/// The parent of a first message.
const NO_PARENT: &str = "00000000-0000-4000-8000-000000000000";

/// Reads the data export of claude.ai.
pub struct ClaudeAi;

impl Ingestor for ClaudeAi {
    fn name(&self) -> &'static str {
        "claude-ai"
    }

    fn about(&self) -> &'static str {
        "claude.ai data export: conversations.json, or one conversation"
    }

    fn rule(&self) -> &'static str {
        "JSON objects whose `chat_messages` have a `sender`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_conversation) || head.most_lines(is_conversation)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        rows::each(input, sink, read_conversation)
    }
}

fn is_conversation(value: &Value) -> bool {
    value["chat_messages"].as_array().is_some_and(|messages| {
        messages.iter().any(|message| message["sender"].is_string())
            || (messages.is_empty() && value["uuid"].is_string())
    })
}

fn read_conversation(conversation: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    let Some(messages) = conversation["chat_messages"].as_array() else {
        return sink.skip(number, "no conversation: it has no `chat_messages`");
    };
    if conversation["is_temporary"] == true {
        return sink.skip(number, "marked `is_temporary`, so nothing of it is kept");
    }
    if messages.is_empty() {
        return sink.skip(number, "a conversation without messages, as a deleted one leaves behind");
    }
    let said = shown(conversation, messages, number, sink);
    let started = time(&conversation["created_at"]);
    let mut draft = Assembler::new("claude-ai", external_id(conversation, &said), origin);
    let meta = draft.meta();
    meta.title = text(&conversation["name"]).or_else(|| text(&conversation["title"]));
    meta.project = text(&conversation["project"]["name"]).or_else(|| text(&conversation["project_uuid"]));
    meta.model = text(&conversation["model"]);
    meta.created_at = started.map(|time| time.at);
    let mut clock = Clock::starting(started);
    for message in said {
        let time = clock.next(time(&message["created_at"]));
        for message in messages_of(message, time, number, sink) {
            draft.push(message, sink);
        }
    }
    draft.finish(sink);
}

/// Returns the messages of the branch that was shown last.
fn shown<'a>(conversation: &Value, messages: &'a [Value], number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    let usable: Vec<&Value> = messages.iter().filter(|message| message["sender"].is_string()).collect();
    if usable.len() < messages.len() {
        sink.skip(number, format!("messages without a `sender`: {}", messages.len() - usable.len()));
    }
    if !usable.iter().any(|message| message["parent_message_uuid"].is_string()) {
        return edited::without(usable, number, sink);
    }
    let node = |(place, message): (usize, &&'a Value)| Node {
        id: message["uuid"].as_str().unwrap_or_default(),
        parent: message["parent_message_uuid"].as_str(),
        // A message that does not know its parent, or whose parent is gone, follows the one before it.
        before: if message["parent_message_uuid"] == NO_PARENT { None } else { place.checked_sub(1) },
        time: time(&message["created_at"]).map(|time| time.at),
    };
    let nodes: Vec<Node<'_>> = usable.iter().enumerate().map(node).collect();
    let current = conversation["current_leaf_message_uuid"].as_str();
    let branch = branch::choose(&nodes, current, |place| usable[place]["sender"] == "human", number, sink);
    branch.into_iter().map(|place| usable[place]).collect()
}

/// Returns the conversation's id, or one derived from how it began.
fn external_id(conversation: &Value, said: &[&Value]) -> String {
    text(&conversation["uuid"]).unwrap_or_else(|| {
        let first = said.first().map(|message| [&message["uuid"], &message["text"], &message["content"]]);
        let first = first.map(|fields| fields.map(Value::to_string)).unwrap_or_default();
        identity::of_parts(&[&conversation["created_at"].to_string(), &first[0], &first[1], &first[2]])
    })
}

/// Returns the words of a list of text blocks or of a bare string.
fn words(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => list(value).iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
    }
}
