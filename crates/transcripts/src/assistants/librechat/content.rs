//! What one message of `LibreChat` says.

use serde_json::Value;

use crate::Sink;
use crate::assistants::fields::{self, list};
use crate::parts::{call_line, file_label, without_data};
use crate::{Kind, Message, MessageTime, Role};

/// Returns whose message it is; nobody's that is known if it names neither its maker nor a sender.
#[must_use]
pub fn role_of(message: &Value) -> Role {
    match (&message["isCreatedByUser"], message["sender"].as_str()) {
        (Value::Bool(true), _) => Role::User,
        (Value::Bool(false), _) => Role::Assistant,
        (_, Some(sender)) if sender.eq_ignore_ascii_case("user") => Role::User,
        (_, Some(_)) => Role::Assistant,
        (_, None) => Role::Other,
    }
}

/// Returns what `message` says, at `time`: its parts, or else its text, and its files.
#[must_use]
pub fn messages_of(message: &Value, time: Option<MessageTime>, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let role = role_of(message);
    let mut said: Vec<(Kind, String)> = Vec::new();
    for part in list(&message["content"]) {
        said.extend(of_part(part, number, sink));
    }
    if !said.iter().any(|(kind, text)| *kind == Kind::Prose && !text.trim().is_empty()) {
        // Where an answer failed, its text is the program's report of that.
        let kind = if message["error"] == true { Kind::Context } else { Kind::Prose };
        let words = message["text"].as_str().or_else(|| message["content"].as_str()).unwrap_or_default();
        said.push((kind, without_data(words)));
    }
    for file in ["files", "attachments"].into_iter().flat_map(|field| list(&message[field])) {
        let is_image = file["type"].as_str().is_some_and(|kind| kind.starts_with("image/"));
        let label = file_label(if is_image { "image" } else { "file" }, file["filename"].as_str());
        said.push((Kind::Attachment, label));
    }
    let id = message["messageId"].as_str().unwrap_or_default();
    fields::messages(id, role, time, said)
}

fn of_part(part: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<(Kind, String)> {
    // A part's words stand under the name of its kind, bare or in a `value`.
    let words =
        |name: &str| part[name].as_str().or_else(|| part[name]["value"].as_str()).unwrap_or_default().to_owned();
    match part["type"].as_str().unwrap_or_default() {
        "text" => vec![(Kind::Prose, without_data(&words("text")))],
        "think" => vec![(Kind::Reasoning, words("think"))],
        "error" => vec![(Kind::Context, words("error"))],
        "tool_call" => {
            let call = &part["tool_call"];
            let (name, arguments) = [&call["name"], &call["function"]["name"]]
                .into_iter()
                .zip([&call["args"], &call["function"]["arguments"]])
                .find(|(name, _)| name.is_string())
                .unwrap_or((&call["type"], &call["input"]));
            let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            let output = call["output"].as_str().or_else(|| call["function"]["output"].as_str()).unwrap_or_default();
            vec![
                (Kind::ToolCall, call_line(name.as_str().unwrap_or("tool"), &arguments)),
                (Kind::ToolResult, without_data(output)),
            ]
        }
        "image_file" | "image_url" => {
            vec![(Kind::Attachment, file_label("image", part["image_file"]["filename"].as_str()))]
        }
        "" | "agent_update" => Vec::new(),
        _ => {
            sink.skip(number, "a part of a message whose kind is not known");
            Vec::new()
        }
    }
}
