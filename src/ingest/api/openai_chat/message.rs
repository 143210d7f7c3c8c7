//! What one message, or one item of a response, in the shape of the `OpenAI` API says.

use serde_json::Value;

use crate::ingest::identity;
use crate::ingest::parts::{address_name, call_line, file_label, without_data};
use crate::transcript::{Kind, Message, MessageTime, Role};

/// Kinds of content that only another vendor's messages have.
const FOREIGN_PARTS: &[&str] = &["tool_use", "tool_result", "thinking", "redacted_thinking"];

/// Whether `value` is a chat message: a known role, and something said or called.
#[must_use]
pub fn is_message(value: &Value) -> bool {
    let said = value.get("content").is_some_and(is_content);
    role_of(value).is_some() && (said || value.get("tool_calls").is_some() || value.get("function_call").is_some())
}

/// Whether `value` is a chat message, or an item such as a call that stands beside messages in a response.
#[must_use]
pub fn is_item(value: &Value) -> bool {
    is_message(value)
        || value.get("role").is_none()
            && value["type"].as_str().is_some_and(|kind| kind == "reasoning" || kind.contains("_call"))
}

fn is_content(content: &Value) -> bool {
    match content {
        Value::String(_) | Value::Null => true,
        Value::Array(parts) => parts.iter().all(|part| {
            part.is_string()
                || part["type"].as_str().is_some_and(|kind| !FOREIGN_PARTS.contains(&kind))
                    && part.get("source").is_none()
        }),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
    }
}

fn role_of(value: &Value) -> Option<Role> {
    match value["role"].as_str()? {
        "user" => Some(Role::User),
        "assistant" => Some(Role::Assistant),
        "system" | "developer" => Some(Role::System),
        "tool" | "function" => Some(Role::Tool),
        _ => None,
    }
}

/// Returns what `value` says, in order: reasoning, words, files, calls.
#[must_use]
pub fn messages_of(value: &Value) -> Vec<Message> {
    let Some(role) = role_of(value) else { return item_messages(value) };
    let kind = match role {
        Role::User | Role::Assistant | Role::Other => Kind::Prose,
        Role::System => Kind::Context,
        Role::Tool => Kind::ToolResult,
    };
    let mut told = Vec::new();
    told.extend(value["reasoning_content"].as_str().map(|text| (Kind::Reasoning, text.to_owned())));
    let words = words(value);
    told.push((kind, without_data(&words)));
    let parts = value["content"].as_array().map_or(&[][..], Vec::as_slice);
    told.extend(parts.iter().filter_map(attachment).map(|label| (Kind::Attachment, label)));
    let calls = value["tool_calls"].as_array().map_or(&[][..], Vec::as_slice);
    let calls = calls.iter().map(|call| &call["function"]).chain(value.get("function_call"));
    told.extend(calls.filter(|call| call.is_object()).map(|call| (Kind::ToolCall, named_call(call))));
    told.into_iter()
        .filter(|(_, text)| !text.trim().is_empty())
        .map(|(kind, text)| made(value, role, kind, text))
        .collect()
}

fn made(value: &Value, role: Role, kind: Kind, text: String) -> Message {
    let own = |key: &str| value[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let time = ["created_at", "timestamp", "create_time", "created"]
        .into_iter()
        .find_map(|key| identity::instant(&value[key]));
    Message {
        id: own("id").unwrap_or_default(),
        kind,
        speaker: own("name"),
        time: time.map(MessageTime::logged),
        ..Message::prose(role, text)
    }
}

/// Joins the words of a message: its text, or a refusal to give one.
fn words(value: &Value) -> String {
    let mut words: Vec<&str> = match &value["content"] {
        Value::String(text) => vec![text],
        Value::Array(parts) => {
            let text = |part: &'_ Value| part["text"].as_str().is_some() || part["refusal"].as_str().is_some();
            let spoken = parts.iter().filter(|part| part.is_string() || text(part));
            spoken.filter_map(|part| part.as_str().or(part["text"].as_str()).or(part["refusal"].as_str())).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => Vec::new(),
    };
    words.extend(value["refusal"].as_str());
    words.extend(value["audio"]["transcript"].as_str());
    words.join("\n")
}

fn attachment(part: &Value) -> Option<String> {
    match part["type"].as_str()? {
        "image_url" | "input_image" => {
            let address = part["image_url"]["url"].as_str().or(part["image_url"].as_str());
            Some(file_label("image", address.and_then(address_name)))
        }
        "input_audio" => Some(file_label("audio", None)),
        "file" | "input_file" => {
            Some(file_label("file", part["file"]["filename"].as_str().or(part["filename"].as_str())))
        }
        _ => None,
    }
}

fn named_call(call: &Value) -> String {
    let arguments = &call["arguments"];
    let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
    call_line(call["name"].as_str().unwrap_or("tool"), &arguments)
}

/// Returns what an item without a role tells: reasoning, a call, or what a call answered.
fn item_messages(value: &Value) -> Vec<Message> {
    let kind = value["type"].as_str().unwrap_or_default();
    let (role, kind, text) = if kind == "reasoning" {
        let summary = value["summary"].as_array().map_or(&[][..], Vec::as_slice);
        let text = summary.iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n");
        (Role::Assistant, Kind::Reasoning, text)
    } else if kind.ends_with("_output") {
        (Role::Tool, Kind::ToolResult, value["output"].as_str().map(without_data).unwrap_or_default())
    } else if kind == "function_call" {
        (Role::Assistant, Kind::ToolCall, named_call(value))
    } else if kind.contains("_call") {
        (Role::Assistant, Kind::ToolCall, call_line(kind, &value["action"].to_string()))
    } else {
        return Vec::new();
    };
    if text.trim().is_empty() { Vec::new() } else { vec![made(value, role, kind, text)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(value: &Value) -> Vec<(Role, Kind, String)> {
        messages_of(value).into_iter().map(|message| (message.role, message.kind, message.text)).collect()
    }

    #[test]
    fn each_role_and_item_has_its_kind() {
        let rows = [
            (json!({"role": "user", "content": "hi"}), (Role::User, Kind::Prose, "hi")),
            (json!({"role": "developer", "content": "be kind"}), (Role::System, Kind::Context, "be kind")),
            (json!({"role": "tool", "content": "42"}), (Role::Tool, Kind::ToolResult, "42")),
            (
                json!({"role": "assistant", "content": null, "refusal": "I cannot"}),
                (Role::Assistant, Kind::Prose, "I cannot"),
            ),
            (
                json!({"role": "assistant", "content": null, "tool_calls": [{"function": {"name": "lookup", "arguments": "{\"q\":\"cat\"}"}}]}),
                (Role::Assistant, Kind::ToolCall, "lookup cat"),
            ),
            (
                json!({"role": "assistant", "content": null, "function_call": {"name": "run", "arguments": "not json"}}),
                (Role::Assistant, Kind::ToolCall, "run not json"),
            ),
            (json!({"type": "reasoning", "summary": [{"text": "so"}]}), (Role::Assistant, Kind::Reasoning, "so")),
            (
                json!({"type": "function_call", "name": "f", "arguments": "{\"path\":\"a.rs\"}"}),
                (Role::Assistant, Kind::ToolCall, "f a.rs"),
            ),
            (json!({"type": "function_call_output", "output": "done"}), (Role::Tool, Kind::ToolResult, "done")),
        ];
        for (value, (role, kind, text)) in rows {
            assert_eq!(told(&value), [(role, kind, text.to_owned())], "{value}");
        }
        assert_eq!(told(&json!({"role": "assistant", "content": null})), []);
    }

    #[test]
    fn parts_are_joined_and_data_is_never_kept() {
        let value = json!({"role": "user", "name": "Ana", "created_at": 1_767_312_000, "content": [
            {"type": "text", "text": "look"}, "here: data:image/png;base64,iVBORw0KGgo=",
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}},
            {"type": "image_url", "image_url": {"url": "https://e.org/a/plan.png?sig=1"}},
            {"type": "input_audio", "input_audio": {"data": "UklGR", "format": "wav"}},
            {"type": "file", "file": {"filename": "a.pdf", "file_data": "JVBER"}}]});
        let messages = messages_of(&value);
        let texts: Vec<_> = messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(
            texts,
            ["look\nhere: [data: image/png]", "[image]", "[image: plan.png]", "[audio]", "[file: a.pdf]"]
        );
        assert_eq!(messages[0].speaker.as_deref(), Some("Ana"));
        assert_eq!(messages[0].time.map(|time| time.at.to_string()).as_deref(), Some("2026-01-02T00:00:00Z"));
    }
}
