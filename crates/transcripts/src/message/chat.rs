//! Chat messages in the formats in which programs exchange them with models.
//!
//! A single reader handles all of them, because their fields do not conflict: `role` with `content` (`OpenAI`,
//! Anthropic) or with `parts` (telemetry), items of a response, and the wrappers of `LangChain`.

use serde_json::Value;

use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{address_name, call_line, file_label, without_data};
use crate::message::speaker::is_only_injected;
use crate::{Kind, Message, Role};

/// Types of content that occur only in messages of other vendors.
const FOREIGN_PARTS: &[&str] = &["tool_use", "tool_result", "thinking", "redacted_thinking"];

/// Returns whether `value` is a chat message in the format of the `OpenAI` API: it has a known role, and text or calls.
pub(crate) fn is_message(value: &Value) -> bool {
    let said = value.get("content").is_some_and(is_content);
    let known =
        matches!(value["role"].as_str(), Some("user" | "assistant" | "system" | "developer" | "tool" | "function"));
    known && (said || value.get("tool_calls").is_some() || value.get("function_call").is_some())
}

/// Returns whether `value` is a chat message, or an item such as a call that accompanies messages in a response.
pub(crate) fn is_item(value: &Value) -> bool {
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

/// Returns the role with the given `name`, in any of its common spellings.
pub(crate) fn role_named(name: &str) -> Role {
    match name.to_ascii_lowercase().as_str() {
        "user" | "human" | "prompter" => Role::User,
        "assistant" | "ai" | "gpt" | "model" | "bot" | "chatgpt" | "bard" | "bing" | "chatbot" => Role::Assistant,
        // OpenAI renamed the system role for its reasoning models.
        "system" | "developer" => Role::System,
        "tool" | "function" | "observation" | "function_response" => Role::Tool,
        _ => Role::Other,
    }
}

/// Returns whether `value` is a message in the format of `LangChain`: a serialised object, or an object with a type and
/// data.
pub(crate) fn is_langchain(value: &Value) -> bool {
    value["lc"].is_number() && class_role(value["id"].as_array().and_then(|id| id.last())).is_some()
        || value["data"].is_object()
            && value["data"].get("content").is_some()
            && class_role(value.get("type")).is_some()
}

/// Returns the role for a class or type of `LangChain`, such as `HumanMessage`, `ai` or `AIMessageChunk`.
fn class_role(name: Option<&Value>) -> Option<Role> {
    let name = name?.as_str()?;
    // A message that was streamed has the type `AIMessageChunk`.
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

/// Removes the wrapper of a message, and returns its role and the object with its content.
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
        // `type` alone occurs in many objects that are not messages.
        (value.get("type").filter(|_| value.get("content").is_some()), value)
    };
    let role = class_role(class)?;
    Some((named(body).unwrap_or(role), body))
}

/// Returns the content of `value`, in order: reasoning, text, files, calls, tool results.
pub(crate) fn messages_of(value: &Value) -> Vec<Message> {
    let Some((role, body)) = opened(value) else {
        return item(value).map(|pieces| made(value, pieces)).into_iter().collect();
    };
    pieces_of(role, body).into_iter().map(|piece| made(body, piece)).collect()
}

fn pieces_of(role: Role, body: &Value) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let reasoning = [&body["reasoning_content"], &body["reasoning"], &body["additional_kwargs"]["reasoning_content"]];
    let reasoning = reasoning.into_iter().find_map(Value::as_str);
    pieces.extend(reasoning.map(|text| (role, Kind::Reasoning, text.to_owned())));
    let calls = [&body["tool_calls"], &body["additional_kwargs"]["tool_calls"]];
    let calls = calls.into_iter().filter_map(Value::as_array).find(|calls| !calls.is_empty());
    let calls = calls.map_or(&[][..], Vec::as_slice);
    let content = if body["content"].is_null() { &body["parts"] } else { &body["content"] };
    match content {
        // A tool result may be any JSON and is shown unchanged.
        _ if role == Role::Tool && body["parts"].is_null() => {
            pieces.push((role, Kind::ToolResult, plain(content)));
        }
        Value::String(text) => emit(&mut pieces, text_part(role, text)),
        Value::Array(parts) => {
            // If the calls are stored outside the content as well, blocks with the same calls are duplicates.
            let has_text = |part: &Value| part["type"] == "tool_use" && !calls.is_empty();
            parts
                .iter()
                .filter(|part| !has_text(part))
                .for_each(|part| read_part(role, part, &mut |next| emit(&mut pieces, next)));
        }
        Value::Object(_) => read_part(role, content, &mut |next| emit(&mut pieces, next)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
    for text in [body["refusal"].as_str(), body["audio"]["transcript"].as_str()].into_iter().flatten() {
        emit(&mut pieces, (role, Kind::Prose, without_data(text)));
    }
    pieces.extend(
        calls.iter().chain(body.get("function_call")).filter(|call| call.is_object()).map(|one| call(role, one)),
    );
    pieces.retain(|(_, _, text)| !text.trim().is_empty());
    pieces
}

/// Adds the next part; successive texts form one message.
fn emit(pieces: &mut Vec<Piece>, next: Piece) {
    match pieces.last_mut() {
        Some((role, kind, text)) if (*role, *kind) == (next.0, next.1) && *kind == Kind::Prose => {
            text.push('\n');
            text.push_str(&next.2);
        }
        Some(_) | None => pieces.push(next),
    }
}

fn made(body: &Value, (role, kind, text): Piece) -> Message {
    let own = |key: &str| body[key].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let times = ["created_at", "timestamp", "create_time", "created"];
    Message {
        id: own("id").unwrap_or_default(),
        kind,
        // The name in a call or in a tool result is the name of the tool.
        speaker: own("name").filter(|_| !matches!(kind, Kind::ToolCall | Kind::ToolResult)),
        time: times.into_iter().find_map(|key| identity::stamp(&body[key])),
        ..Message::prose(role, text)
    }
}

// One part of a message's content from any vendor: text, a file, a call or a result.

/// The content of a part: its role, its kind, and its text.
type Piece = (Role, Kind, String);

/// Maximum nesting of content that is searched for text; deeper content is shown unchanged.
const MAX_DEPTH: usize = 6;

/// Returns `text` as the content of a message of `role`.
fn text_part(role: Role, text: &str) -> Piece {
    let text = without_data(text);
    match role {
        Role::User if is_only_injected(&text) => (Role::System, Kind::Context, text),
        Role::User | Role::Assistant | Role::Other => (role, Kind::Prose, text),
        Role::System => (role, Kind::Context, text),
        Role::Tool => (role, Kind::ToolResult, text),
    }
}

/// Reads one part of a message of `role`, and passes its content to `emit`.
fn read_part(role: Role, part: &Value, emit: &mut dyn FnMut(Piece)) {
    if let Some(text) = part.as_str() {
        return emit(text_part(role, text));
    }
    let kind = part["type"].string();
    match kind {
        "thinking" | "reasoning" | "reasoning_content" => emit((role, Kind::Reasoning, reasoning(part))),
        // Encrypted content contains nothing readable.
        "redacted_thinking" => {}
        "search_result" => emit((role, Kind::Context, plain(&part["content"]))),
        "tool_call" | "function_call" => emit(call(role, part)),
        _ if kind.ends_with("tool_use") => emit(call(role, part)),
        _ if is_answer(kind) => emit((Role::Tool, Kind::ToolResult, answer(part))),
        _ => match file(part) {
            Some(label) => emit((role, Kind::Attachment, label)),
            None => match words(part) {
                Some(text) => emit(text_part(role, text)),
                None if kind.is_empty() || kind == "text" => {}
                None => emit((role, Kind::Attachment, file_label(kind, None))),
            },
        },
    }
}

/// Returns the content of an item without a role: reasoning, a call, or the result of a call.
fn item(value: &Value) -> Option<Piece> {
    let kind = value["type"].as_str()?;
    let pieces = if kind == "reasoning" {
        (Role::Assistant, Kind::Reasoning, reasoning(value))
    } else if is_answer(kind) {
        (Role::Tool, Kind::ToolResult, answer(value))
    } else if kind == "function_call" || kind == "mcp_call" || kind == "custom_tool_call" {
        call(Role::Assistant, value)
    } else if kind.contains("_call") {
        // The provider's built-in tools, such as web search, describe their actions in `action`.
        (Role::Assistant, Kind::ToolCall, call_line(kind, &value["action"].to_string()))
    } else {
        return None;
    };
    Some(pieces).filter(|(_, _, text)| !text.trim().is_empty())
}

/// Returns a call as one line, regardless of which fields contain its name and arguments.
fn call(role: Role, call: &Value) -> Piece {
    // OpenAI puts the name and arguments into `function`, other providers put them directly into the call.
    let call = if call["function"].is_object() { &call["function"] } else { call };
    let arguments = ["arguments", "input", "args"].into_iter().map(|key| &call[key]).find(|value| !value.is_null());
    let arguments = arguments.map(Json::shown).unwrap_or_default();
    (role, Kind::ToolCall, call_line(call["name"].as_str().unwrap_or("tool"), &arguments))
}

fn is_answer(kind: &str) -> bool {
    kind.ends_with("tool_result") || kind.ends_with("_output") || kind == "tool_call_response"
}

fn answer(part: &Value) -> String {
    let keys = ["content", "output", "response", "result"];
    keys.into_iter().map(|key| &part[key]).find(|value| !value.is_null()).map(plain).unwrap_or_default()
}

fn reasoning(part: &Value) -> String {
    let keys = ["thinking", "reasoning", "text", "summary", "content"];
    keys.into_iter().map(|key| plain(&part[key])).find(|text| !text.trim().is_empty()).unwrap_or_default()
}

fn words(part: &Value) -> Option<&str> {
    ["text", "content", "refusal", "value"].into_iter().find_map(|key| part[key].as_str())
}

/// Returns the placeholder of an image, a recording or a document.
fn file(part: &Value) -> Option<String> {
    let noun = match part["type"].as_str()? {
        "image_url" | "input_image" | "output_image" | "image" => "image",
        "input_audio" | "audio" => "audio",
        "video" | "video_url" => "video",
        "document" => "document",
        "file" | "input_file" | "container_upload" => "file",
        "blob" | "uri" => part["modality"].as_str().unwrap_or("file"),
        _ => return None,
    };
    let address = [&part["image_url"]["url"], &part["image_url"], &part["source"]["url"], &part["uri"], &part["url"]];
    let named = [&part["file"]["filename"], &part["filename"], &part["title"], &part["name"]];
    let named = named.into_iter().find_map(Value::as_str);
    let name = named.or_else(|| address.into_iter().find_map(Value::as_str).and_then(address_name));
    Some(file_label(noun, name))
}

/// Returns content as plain text: the text of its parts, placeholders for its files, and any other object unchanged.
pub(crate) fn plain(content: &Value) -> String {
    plain_within(content, MAX_DEPTH)
}

fn plain_within(content: &Value, depth: usize) -> String {
    match content {
        Value::Null => String::new(),
        Value::String(text) => without_data(text),
        Value::Array(parts) if depth > 0 => {
            let texts: Vec<String> = parts.iter().map(|part| plain_within(part, depth - 1)).collect();
            texts.into_iter().filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
        }
        Value::Object(_) if depth > 0 && (content["type"].is_string() || content["text"].is_string()) => {
            let inner = [&content["text"], &content["content"]].into_iter().find(|inner| !inner.is_null());
            let pieces = file(content).or_else(|| inner.map(|inner| plain_within(inner, depth - 1)));
            pieces.unwrap_or_else(|| without_data(&content.to_string()))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => without_data(&content.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn pieces(value: &Value) -> Vec<(Role, Kind, String)> {
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
            assert_eq!(pieces(&value), [(role, kind, text.to_owned())], "{value}");
        }
        assert_eq!(pieces(&json!({"role": "assistant", "content": null})), []);
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

#[cfg(test)]
mod part_tests {
    use super::*;
    use serde_json::json;

    fn pieces(role: Role, part: &Value) -> Vec<Piece> {
        let mut pieces = Vec::new();
        read_part(role, part, &mut |next| pieces.push(next));
        pieces
    }

    #[test]
    fn each_kind_of_part_is_classified() {
        let (user, model) = (Role::User, Role::Assistant);
        let rows = [
            (user, json!("hi"), (user, Kind::Prose, "hi")),
            (user, json!({"type": "text", "content": "hi"}), (user, Kind::Prose, "hi")),
            (
                user,
                json!("<system-reminder>x</system-reminder>"),
                (Role::System, Kind::Context, "<system-reminder>x</system-reminder>"),
            ),
            (model, json!({"type": "thinking", "thinking": "hm", "signature": "AAAA"}), (model, Kind::Reasoning, "hm")),
            (
                model,
                json!({"type": "tool_use", "name": "read", "input": {"path": "a.rs"}}),
                (model, Kind::ToolCall, "read a.rs"),
            ),
            (
                model,
                json!({"type": "server_tool_use", "name": "web_search", "input": {"query": "rain"}}),
                (model, Kind::ToolCall, "web_search rain"),
            ),
            (
                user,
                json!({"type": "tool_result", "content": [{"type": "text", "text": "ok"}, {"type": "image", "source": {"data": "iVBO"}}]}),
                (Role::Tool, Kind::ToolResult, "ok\n[image]"),
            ),
            (
                model,
                json!({"type": "tool_call_response", "result": {"n": 3}}),
                (Role::Tool, Kind::ToolResult, "{\"n\":3}"),
            ),
            (
                user,
                json!({"type": "document", "title": "Lease", "source": {"type": "base64", "data": "JVBE"}}),
                (user, Kind::Attachment, "[document: Lease]"),
            ),
            (
                user,
                json!({"type": "image", "source": {"type": "url", "url": "https://e.org/a/cat.png?x=1"}}),
                (user, Kind::Attachment, "[image: cat.png]"),
            ),
            (
                user,
                json!({"type": "blob", "modality": "audio", "content": "UklG"}),
                (user, Kind::Attachment, "[audio]"),
            ),
            (
                user,
                json!({"type": "search_result", "source": "s", "content": [{"type": "text", "text": "found"}]}),
                (user, Kind::Context, "found"),
            ),
            (user, json!({"type": "hologram", "data": "AAAA"}), (user, Kind::Attachment, "[hologram]")),
        ];
        for (role, part, (owner, kind, text)) in rows {
            assert_eq!(pieces(role, &part), [(owner, kind, text.to_owned())], "{part}");
        }
        assert_eq!(pieces(model, &json!({"type": "redacted_thinking", "data": "AAAA"})), []);
    }
}
