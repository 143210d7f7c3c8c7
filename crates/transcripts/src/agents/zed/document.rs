//! The messages of a thread: keyed by who speaks, or, in older versions, with a role and segments.

use serde_json::Value;

use crate::agents::turn::{answer, call, message, text, user_words};
use crate::parts::{file_label, without_data};
use crate::{Kind, Message, Role};

/// Returns the messages in one entry; a mark such as `"Resume"` holds none.
pub(super) fn messages_of(entry: &Value) -> Vec<Message> {
    if entry["role"].is_string() {
        return older(entry);
    }
    let Some((who, body)) = entry.as_object().and_then(|fields| fields.iter().next()) else { return Vec::new() };
    let mut messages = match who.as_str() {
        "User" => user(&body["content"]),
        "Agent" => agent(body),
        // What a compaction leaves of the messages before it.
        _ => {
            let summary = ["summary", "text"].into_iter().find_map(|key| text(&body[key])).or_else(|| text(body));
            summary.map(|words| message(Role::System, Kind::Summary, words)).into_iter().collect()
        }
    };
    if let Some(id) = text(&body["id"]) {
        for message in &mut messages {
            id.clone_into(&mut message.id);
        }
    }
    messages
}

/// Returns a value that is keyed by its variant, such as `{"Text": "…"}`.
fn variant(block: &Value) -> (&str, &Value) {
    match block {
        Value::Object(fields) => fields.iter().next().map_or(("", &Value::Null), |(key, value)| (key.as_str(), value)),
        _ => ("Text", block),
    }
}

fn user(content: &Value) -> Vec<Message> {
    let (mut words, mut rest) = (String::new(), Vec::new());
    for block in content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice) {
        match variant(block) {
            ("Text", value) => words.push_str(value.as_str().unwrap_or_default()),
            // Its name stands in the sentence; its text came along without being typed.
            ("Mention", value) => {
                words.extend(mentioned(&value["uri"]).map(|name| format!("@{name}")));
                rest.extend(text(&value["content"]).map(|words| message(Role::System, Kind::Context, words)));
            }
            ("Image", _) => rest.push(message(Role::User, Kind::Attachment, file_label("image", None))),
            _ => {}
        }
    }
    user_words(&words).into_iter().chain(rest).collect()
}

fn mentioned(uri: &Value) -> Option<&str> {
    let (_, target) = variant(uri);
    let named = ["name", "abs_path", "path", "url"].into_iter().find_map(|key| text(&target[key]));
    named.or_else(|| text(target)).and_then(|path| path.rsplit(['/', '\\']).next())
}

fn agent(body: &Value) -> Vec<Message> {
    let mut messages = Vec::new();
    for block in body["content"].as_array().into_iter().flatten() {
        match variant(block) {
            ("Text", value) => messages.extend(text(value).map(|words| Message::assistant(without_data(words)))),
            ("Thinking", value) => {
                let words = text(&value["text"]).or_else(|| text(value));
                messages.extend(words.map(|words| message(Role::Assistant, Kind::Reasoning, words)));
            }
            ("ToolUse", value) => {
                messages.push(call(value["name"].as_str().unwrap_or_default(), &value["input"]));
                messages.extend(result(&body["tool_results"][value["id"].as_str().unwrap_or_default()]));
            }
            _ => {}
        }
    }
    messages
}

/// Returns a tool's answer: a text, or one variant or a list of several.
fn result(result: &Value) -> Option<Message> {
    let content = &result["content"];
    let blocks = content.as_array().map_or(std::slice::from_ref(content), Vec::as_slice);
    let told = blocks.iter().filter_map(|block| match variant(block) {
        ("Image", _) => Some(file_label("image", None)),
        (_, value) => text(value).or_else(|| text(&value["text"])).map(str::to_owned),
    });
    let told: Vec<_> = told.collect();
    (!told.is_empty()).then(|| answer(&told.join("\n")))
}

fn older(entry: &Value) -> Vec<Message> {
    let role = entry["role"].as_str().unwrap_or_default();
    let mut messages: Vec<_> =
        text(&entry["context"]).map(|words| message(Role::System, Kind::Context, words)).into_iter().collect();
    for segment in entry["segments"].as_array().into_iter().flatten() {
        let Some(words) = text(&segment["text"]) else { continue };
        match (segment["type"].as_str(), role) {
            (Some("thinking"), _) => messages.push(message(Role::Assistant, Kind::Reasoning, words)),
            (_, "user") => messages.extend(user_words(words)),
            (_, "assistant") => messages.push(Message::assistant(without_data(words))),
            _ => messages.push(message(Role::System, Kind::Context, words)),
        }
    }
    for used in entry["tool_uses"].as_array().into_iter().flatten() {
        messages.push(call(used["name"].as_str().unwrap_or_default(), &used["input"]));
    }
    messages.extend(entry["tool_results"].as_array().into_iter().flatten().filter_map(result));
    messages
}
