//! The blocks of one goose message, which files and databases share.

use serde_json::Value;

use crate::agents::turn::{answer, call, message, text, user_words};
use crate::parts::{file_label, without_data};
use crate::{Kind, Message, Role};

/// Returns the messages in the blocks of one of goose's, in their order; ids and times are the caller's to set.
///
/// `metadata` says who saw it: once a conversation was compacted, the agent sees a summary that the user does not.
pub(super) fn messages_of(role: &str, content: &Value, metadata: &Value, is_compacted: bool) -> Vec<Message> {
    let mut messages: Vec<_> = blocks(content).iter().flat_map(|block| block_messages(role, block)).collect();
    if metadata["userVisible"] == false {
        for message in messages.iter_mut().filter(|message| message.kind == Kind::Prose) {
            message.role = Role::System;
            message.kind = if is_compacted { Kind::Summary } else { Kind::Context };
        }
    }
    messages
}

/// Whether the agent no longer sees the message, which only a compaction brings about.
pub(super) fn is_hidden_from_agent(metadata: &Value) -> bool {
    metadata["agentVisible"] == false
}

/// Whether `value` is a list of blocks, as goose writes them.
pub(super) fn is_content(value: &Value) -> bool {
    value.as_array().is_some_and(|blocks| blocks.iter().all(|block| block["type"].is_string()))
}

fn blocks(content: &Value) -> &[Value] {
    content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice)
}

fn block_messages(role: &str, block: &Value) -> Vec<Message> {
    let kind = block["type"].as_str().unwrap_or_default();
    let note = |key: &str| text(&block[key]).map(|words| message(Role::System, Kind::Context, words));
    let one = match kind {
        "text" => return text(&block["text"]).map(|words| spoken(role, words)).unwrap_or_default(),
        "image" => {
            let speaker = if role == "user" { Role::User } else { Role::Assistant };
            Some(message(speaker, Kind::Attachment, file_label("image", block["mimeType"].as_str())))
        }
        "toolRequest" | "frontendToolRequest" => Some(request(&block["toolCall"])),
        "toolResponse" => response(&block["toolResult"]).map(|text| answer(&text)),
        "thinking" => text(&block["thinking"]).map(|words| message(Role::Assistant, Kind::Reasoning, words)),
        "systemNotification" | "contextLengthExceeded" | "summarizationRequested" | "conversationCompacted" => {
            note("msg")
        }
        "actionRequired" => action(&block["data"]),
        // Confirmations repeat the request, and redacted reasoning is no text.
        _ => None,
    };
    one.into_iter().collect()
}

fn spoken(role: &str, words: &str) -> Vec<Message> {
    match role {
        "user" => user_words(words),
        "assistant" => vec![Message::assistant(without_data(words))],
        _ => vec![message(Role::System, Kind::Context, words)],
    }
}

fn request(tool_call: &Value) -> Message {
    match &tool_call["value"] {
        Value::Null => call("invalid call", &tool_call["error"]),
        value => call(value["name"].as_str().unwrap_or_default(), &value["arguments"]),
    }
}

/// Returns what a tool answered: a list of blocks, or an object around one, or an error.
fn response(result: &Value) -> Option<String> {
    let value = &result["value"];
    let blocks = value.as_array().or_else(|| value["content"].as_array());
    let texts = blocks.into_iter().flatten().filter_map(|block| match block["type"].as_str() {
        Some("image") => Some(file_label("image", block["mimeType"].as_str())),
        _ => text(&block["text"]).or_else(|| text(&block["resource"]["text"])).map(str::to_owned),
    });
    let joined = texts.collect::<Vec<_>>().join("\n");
    let error = || text(&result["error"]).map(str::to_owned);
    if joined.is_empty() { error() } else { Some(joined) }
}

/// Returns the form that an extension shows the user, and what the user fills in.
fn action(data: &Value) -> Option<Message> {
    match data["actionType"].as_str()? {
        "elicitation" => text(&data["message"]).map(answer),
        "elicitationResponse" => {
            let fields = data.get("userData").or_else(|| data.get("user_data"))?.as_object()?;
            let lines: Vec<_> = fields
                .iter()
                .filter_map(|(name, value)| {
                    let shown = match value {
                        Value::String(text) => text.clone(),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        Value::Null | Value::Array(_) | Value::Object(_) => return None,
                    };
                    Some(format!("{name}: {shown}"))
                })
                .collect();
            Some(Message::user(lines.join("\n")))
        }
        _ => None,
    }
}
