//! What one chat message says, in the shapes in which programs exchange messages with models.
//!
//! One reader serves them all, since their fields do not contradict each other: `role` with `content` (`OpenAI`,
//! Anthropic) or with `parts` (telemetry), items of a response, and `LangChain`'s wrappers.

mod part;

use serde_json::Value;

use self::part::{Told, call, item, text_part};
use crate::identity;
use crate::parts::without_data;
use crate::{Kind, Message, Role};

pub use self::part::plain;

/// Kinds of content that only another vendor's messages have.
const FOREIGN_PARTS: &[&str] = &["tool_use", "tool_result", "thinking", "redacted_thinking"];

/// Whether `value` is a chat message in the shape of the `OpenAI` API: a known role, and something said or called.
#[must_use]
pub fn is_message(value: &Value) -> bool {
    let said = value.get("content").is_some_and(is_content);
    let known =
        matches!(value["role"].as_str(), Some("user" | "assistant" | "system" | "developer" | "tool" | "function"));
    known && (said || value.get("tool_calls").is_some() || value.get("function_call").is_some())
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

/// Returns whose words stand under `name`, in any of the spellings in use.
#[must_use]
pub fn role_named(name: &str) -> Role {
    match name.to_ascii_lowercase().as_str() {
        "user" | "human" | "prompter" => Role::User,
        "assistant" | "ai" | "gpt" | "model" | "bot" | "chatgpt" | "bard" | "bing" | "chatbot" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" | "observation" | "function_response" => Role::Tool,
        _ => Role::Other,
    }
}

/// Whether `value` is a message as `LangChain` writes it: a dump of the object, or its type beside its data.
#[must_use]
pub fn is_langchain(value: &Value) -> bool {
    value["lc"].is_number() && class_role(value["id"].as_array().and_then(|id| id.last())).is_some()
        || value["data"].is_object()
            && value["data"].get("content").is_some()
            && class_role(value.get("type")).is_some()
}

/// Returns whose message a class or type of `LangChain` such as `HumanMessage`, `ai` or `AIMessageChunk` is.
fn class_role(name: Option<&Value>) -> Option<Role> {
    let name = name?.as_str()?;
    let name = name.strip_suffix("Chunk").unwrap_or(name);
    match name.strip_suffix("Message").unwrap_or(name).to_ascii_lowercase().as_str() {
        "human" => Some(Role::User),
        "ai" => Some(Role::Assistant),
        "system" => Some(Role::System),
        "tool" | "function" => Some(Role::Tool),
        "chat" => Some(Role::Other),
        _ => None,
    }
}

/// Takes a message out of its wrapper: whose it is, and the object with its content.
fn opened(value: &Value) -> Option<(Role, &Value)> {
    let named = |body: &Value| body["role"].as_str().map(role_named);
    if let Some(role) = named(value) {
        return Some((role, value));
    }
    let (class, body) = if value["kwargs"].is_object() {
        (value["id"].as_array()?.last(), &value["kwargs"])
    } else if value["data"].is_object() {
        (value.get("type"), &value["data"])
    } else {
        (value.get("type").filter(|_| value.get("content").is_some()), value)
    };
    let role = class_role(class)?;
    Some((named(body).unwrap_or(role), body))
}

/// Returns what `value` says, in order: reasoning, words, files, calls, answers of tools.
#[must_use]
pub fn messages_of(value: &Value) -> Vec<Message> {
    let Some((role, body)) = opened(value) else {
        return item(value).map(|told| made(value, told)).into_iter().collect();
    };
    told_by(role, body).into_iter().map(|told| made(body, told)).collect()
}

fn told_by(role: Role, body: &Value) -> Vec<Told> {
    let mut told = Vec::new();
    let reasoning = [&body["reasoning_content"], &body["reasoning"], &body["additional_kwargs"]["reasoning_content"]];
    let reasoning = reasoning.into_iter().find_map(Value::as_str);
    told.extend(reasoning.map(|text| (role, Kind::Reasoning, text.to_owned())));
    let calls = [&body["tool_calls"], &body["additional_kwargs"]["tool_calls"]];
    let calls = calls.into_iter().filter_map(Value::as_array).find(|calls| !calls.is_empty());
    let calls = calls.map_or(&[][..], Vec::as_slice);
    let content = if body["content"].is_null() { &body["parts"] } else { &body["content"] };
    match content {
        _ if role == Role::Tool && body["parts"].is_null() => {
            told.push((role, Kind::ToolResult, plain(content)));
        }
        Value::String(text) => tell(&mut told, text_part(role, text)),
        Value::Array(parts) => {
            // Where the calls stand beside the content, the blocks of the same calls are repetitions.
            let is_told = |part: &Value| part["type"] == "tool_use" && !calls.is_empty();
            parts
                .iter()
                .filter(|part| !is_told(part))
                .for_each(|part| part::read(role, part, &mut |next| tell(&mut told, next)));
        }
        Value::Object(_) => part::read(role, content, &mut |next| tell(&mut told, next)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    for text in [body["refusal"].as_str(), body["audio"]["transcript"].as_str()].into_iter().flatten() {
        tell(&mut told, (role, Kind::Prose, without_data(text)));
    }
    told.extend(
        calls.iter().chain(body.get("function_call")).filter(|call| call.is_object()).map(|one| call(role, one)),
    );
    told.retain(|(_, _, text)| !text.trim().is_empty());
    told
}

/// Adds what is told next; words that follow words are one message.
fn tell(told: &mut Vec<Told>, next: Told) {
    match told.last_mut() {
        Some((role, kind, text)) if (*role, *kind) == (next.0, next.1) && *kind == Kind::Prose => {
            text.push('\n');
            text.push_str(&next.2);
        }
        Some(_) | None => told.push(next),
    }
}

fn made(body: &Value, (role, kind, text): Told) -> Message {
    let own = |key: &str| body[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let times = ["created_at", "timestamp", "create_time", "created"];
    Message {
        id: own("id").unwrap_or_default(),
        kind,
        // What a call or a tool's answer names is the tool.
        speaker: own("name").filter(|_| !matches!(kind, Kind::ToolCall | Kind::ToolResult)),
        time: times.into_iter().find_map(|key| identity::stamp(&body[key])),
        ..Message::prose(role, text)
    }
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
