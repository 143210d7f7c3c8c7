//! One conversation exported from `LibreChat`: a flat list of messages, or a tree nested as deep as it is long.

mod content;
mod flatten;
#[cfg(test)]
mod tests;

use serde_json::Value;

use self::content::{messages_of, role_of};
use super::branch::{self, Node};
use super::fields::{Clock, list, text, time};
use crate::{Assembler, Head, IngestError, Ingestor, Input, MAX_RECORD_BYTES, Sink, identity};
use crate::{Kind, Message, Role};

/// The parent of a first message.
const NO_PARENT: &str = "00000000-0000-0000-0000-000000000000";

/// Reads a conversation exported from `LibreChat`.
pub struct LibreChat;

impl Ingestor for LibreChat {
    fn name(&self) -> &'static str {
        "librechat"
    }

    fn about(&self) -> &'static str {
        "LibreChat export of one conversation as JSON, nested or flat"
    }

    fn rule(&self) -> &'static str {
        "a JSON object with `messagesTree`, or whose `messages` have `messageId` and `isCreatedByUser`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(|value| {
            let is_message = |message: &Value| {
                message["messageId"].is_string()
                    && (message.get("isCreatedByUser").is_some() || message.get("parentMessageId").is_some())
            };
            list(&value["messagesTree"]).iter().chain(list(&value["messages"])).any(is_message)
                || value["messagesTree"].is_array() && value["conversationId"].is_string()
        })
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let Some(document) = input.into_text(MAX_RECORD_BYTES)? else {
            sink.skip(1, format!("conversations over the limit of {} MiB", MAX_RECORD_BYTES >> 20));
            return Ok(());
        };
        let conversations = flatten::conversations(&document, sink);
        let several = conversations.len() > 1;
        for (index, objects) in conversations.iter().enumerate() {
            let Some((conversation, nested)) = objects.split_first() else { continue };
            let number = index + 1;
            let messages: Vec<&Value> = nested.iter().chain(list(&conversation["messages"])).collect();
            let origin = if several { format!("{origin}#{number}") } else { origin.clone() };
            read_conversation(conversation, messages, number, origin, sink);
        }
        Ok(())
    }
}

fn read_conversation(
    conversation: &Value,
    mut messages: Vec<&Value>,
    number: usize,
    origin: String,
    sink: &mut Sink<'_>,
) {
    let mark = messages.iter().chain([&conversation]).find_map(|value| {
        // Only a temporary chat expires.
        let expires = value["expiredAt"].is_string();
        (value["isTemporary"] == true).then_some("isTemporary").or_else(|| expires.then_some("expiredAt"))
    });
    if let Some(mark) = mark {
        return sink.skip(number, format!("marked `{mark}`, so nothing of it is kept"));
    }
    let before = messages.len();
    messages.retain(|message| message["messageId"].is_string());
    if messages.len() < before {
        sink.skip(number, format!("messages without a `messageId`: {}", before - messages.len()));
    }
    let said = shown(&messages, number, sink);
    let started = time(&conversation["createdAt"]);
    let id = text(&conversation["conversationId"])
        .or_else(|| said.iter().find_map(|message| text(&message["conversationId"])))
        .unwrap_or_else(|| {
            // A first message that was edited has another id; what comes first in the file is the same in each export.
            let first = messages.first().map(|message| message["messageId"].to_string()).unwrap_or_default();
            identity::of_parts(&[&first])
        });
    let mut draft = Assembler::new("librechat", id, origin);
    let meta = draft.meta();
    meta.title = text(&conversation["title"]);
    meta.model = said
        .iter()
        .rev()
        .find_map(|message| text(&message["model"]))
        .or_else(|| text(&conversation["options"]["model"]));
    meta.created_at = started.map(|time| time.at);
    let mut clock = Clock::starting(started.or_else(|| said.iter().find_map(|message| time(&message["createdAt"]))));
    for prompt in ["promptPrefix", "system"].into_iter().filter_map(|key| text(&conversation["options"][key])) {
        let prompt = Message { kind: Kind::Context, time: clock.next(None), ..Message::prose(Role::System, prompt) };
        draft.push(prompt, sink);
    }
    for message in said {
        let time = clock.next(time(&message["createdAt"]));
        for message in messages_of(message, time, number, sink) {
            draft.push(message, sink);
        }
    }
    draft.finish(sink);
}

/// Returns the messages of the branch that ends in the newest answer: the export does not say which one was on show.
fn shown<'a>(messages: &[&'a Value], number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    let nodes: Vec<Node<'_>> = messages
        .iter()
        .enumerate()
        .map(|(place, message)| {
            let parent = message["parentMessageId"].as_str().filter(|parent| *parent != NO_PARENT);
            Node {
                id: message["messageId"].as_str().unwrap_or_default(),
                parent,
                // One whose parent is gone follows what stands before it.
                before: place.checked_sub(1).filter(|_| parent.is_some()),
                time: time(&message["createdAt"]).map(|time| time.at),
            }
        })
        .collect();
    let is_users = |place: usize| role_of(messages[place]) == Role::User;
    branch::choose(&nodes, None, is_users, number, sink).into_iter().map(|place| messages[place]).collect()
}
