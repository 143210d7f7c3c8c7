//! The ChatGPT data export: conversations as trees of nodes, of which one branch was the one last shown.

mod content;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::Value;

use self::content::{Placed, messages_of, role_of};
use super::branch::{self, Node};
use super::deepseek;
use super::fields::{Clock, list, text, time};
use super::rows;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Sink, identity};
use crate::{Kind, Message, Role};

/// Marks of a conversation of which its owner wants nothing to be remembered.
const PRIVATE_MARKS: &[&str] = &["is_do_not_remember", "is_temporary_chat", "is_temporary"];

/// Reads the ChatGPT data export.
pub struct ChatGpt;

impl Ingestor for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn about(&self) -> &'static str {
        "ChatGPT data export: conversations.json, a shard of it, or one conversation"
    }

    fn rule(&self) -> &'static str {
        "JSON objects whose `mapping` holds nodes with `parent` and `children`, or whose `messages` have an `author.role`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_conversation) || head.most_lines(is_conversation)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        rows::each(input, sink, read_conversation)
    }
}

/// Whether `value` is a conversation: a tree, or a flat list on a shared page or in an old export.
fn is_conversation(value: &Value) -> bool {
    let is_node = |node: &Value| node.get("children").is_some() || node.get("message").is_some();
    let is_tree = value["mapping"]
        .as_object()
        .is_some_and(|nodes| nodes.values().any(is_node) || (nodes.is_empty() && value.get("current_node").is_some()));
    let is_flat = list(&value["messages"]).iter().any(|message| {
        message["author"]["role"].is_string() && (message["content"].is_object() || message["content"].is_string())
    });
    (is_tree || is_flat || is_shared(value)) && !deepseek::is_conversation(value)
}

fn is_shared(value: &Value) -> bool {
    value["shared_conversation_id"].is_string() && value["messages"].is_array()
}

/// Returns the messages of the branch last shown, or all of a flat list; `None` if it holds neither.
fn said<'a>(conversation: &'a Value, number: usize, sink: &mut Sink<'_>) -> Option<Vec<&'a Value>> {
    let Some(mapping) = conversation["mapping"].as_object() else {
        let messages = conversation["messages"].as_array()?;
        return Some(messages.iter().filter(|message| message.is_object()).collect());
    };
    let nodes: Vec<Node<'_>> = mapping
        .iter()
        .map(|(id, node)| Node {
            id,
            parent: node["parent"].as_str(),
            before: None,
            time: identity::instant(&node["message"]["create_time"]),
        })
        .collect();
    let messages: Vec<&Value> = mapping.values().map(|node| &node["message"]).collect();
    let is_users = |place: usize| match messages_of(messages[place], None) {
        Placed::Said(said) => said.iter().any(Message::is_human),
        Placed::Unknown => false,
    };
    let branch = branch::choose(&nodes, conversation["current_node"].as_str(), is_users, number, sink);
    Some(branch.into_iter().map(|place| messages[place]).filter(|message| message.is_object()).collect())
}

fn read_conversation(conversation: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    if let Some(mark) = private_mark(conversation) {
        return sink.skip(number, format!("marked `{mark}`, so nothing of it is kept"));
    }
    let Some(said) = said(conversation, number, sink) else {
        return sink.skip(number, "no conversation: it has no `mapping`");
    };
    let started = time(&conversation["create_time"]);
    let mut draft = Assembler::new("chatgpt", external_id(conversation, &said), origin);
    let meta = draft.meta();
    meta.title = text(&conversation["title"]);
    meta.model = model(conversation, &said);
    meta.project = text(&conversation["gizmo_id"]).filter(|id| id.starts_with("g-p-"));
    meta.created_at = started.map(|time| time.at);
    let earliest = said.iter().filter_map(|message| time(&message["create_time"])).min_by_key(|time| time.at);
    let mut clock = Clock::starting(started.or(earliest));
    let mut profiles = HashSet::new();
    for message in said {
        let time = clock.next(time(&message["create_time"]));
        match messages_of(message, time) {
            Placed::Said(messages) => {
                for message in messages {
                    // The profile is put in again with each turn of some conversations.
                    if message.kind != Kind::Context || profiles.insert(message.text.clone()) {
                        draft.push(message, sink);
                    }
                }
            }
            Placed::Unknown => sink.skip(number, "a message whose kind of content is not known"),
        }
    }
    draft.finish(sink);
}

/// Returns the mark by which the conversation asks to be forgotten.
fn private_mark(conversation: &Value) -> Option<&'static str> {
    let scope = conversation["memory_scope"].as_str().unwrap_or_default();
    let marked = PRIVATE_MARKS.iter().copied().find(|mark| conversation[*mark] == true);
    marked.or_else(|| scope.ends_with("disabled").then_some("memory_scope"))
}

fn model(conversation: &Value, said: &[&Value]) -> Option<String> {
    let of_message = |message: &&Value| text(&message["metadata"]["model_slug"]);
    said.iter().rev().find_map(of_message).or_else(|| text(&conversation["default_model_slug"]))
}

/// Returns the conversation's id, or one derived from how it began.
fn external_id(conversation: &Value, said: &[&Value]) -> String {
    let own = ["conversation_id", "id", "shared_conversation_id"].into_iter().find_map(|key| text(&conversation[key]));
    own.unwrap_or_else(|| {
        let first = said.iter().find(|message| role_of(message) == Role::User).or(said.first());
        let first = first.map(|message| (message["id"].to_string(), message["content"].to_string()));
        let (id, content) = first.unwrap_or_default();
        identity::of_parts(&[&conversation["create_time"].to_string(), &id, &content])
    })
}
