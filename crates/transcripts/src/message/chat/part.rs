//! One part of a message's content: words, a file, a call, an answer; whichever vendor's it is.

use serde_json::Value;

use crate::injected::is_only_injected;
use crate::parts::{address_name, call_line, file_label, without_data};
use crate::{Kind, Role};

/// What a part tells: whose it is, what it is, and its text.
pub type Told = (Role, Kind, String);

/// Deepest nesting of content that is looked into for words; what lies deeper is shown as it is.
const MAX_DEPTH: usize = 6;

/// Returns text that stands in a message of `role`.
pub fn text_part(role: Role, text: &str) -> Told {
    let text = without_data(text);
    match role {
        Role::User if is_only_injected(&text) => (Role::System, Kind::Context, text),
        Role::User | Role::Assistant | Role::Other => (role, Kind::Prose, text),
        Role::System => (role, Kind::Context, text),
        Role::Tool => (role, Kind::ToolResult, text),
    }
}

/// Reads one part of a message of `role`, and gives what it tells to `tell`.
pub fn read(role: Role, part: &Value, tell: &mut dyn FnMut(Told)) {
    if let Some(text) = part.as_str() {
        return tell(text_part(role, text));
    }
    let kind = part["type"].as_str().unwrap_or_default();
    match kind {
        "thinking" | "reasoning" | "reasoning_content" => tell((role, Kind::Reasoning, reasoning(part))),
        // What is encrypted says nothing.
        "redacted_thinking" => {}
        "search_result" => tell((role, Kind::Context, plain(&part["content"]))),
        "tool_call" | "function_call" => tell(call(role, part)),
        _ if kind.ends_with("tool_use") => tell(call(role, part)),
        _ if is_answer(kind) => tell((Role::Tool, Kind::ToolResult, answer(part))),
        _ => match file(part) {
            Some(label) => tell((role, Kind::Attachment, label)),
            None => match words(part) {
                Some(text) => tell(text_part(role, text)),
                None if kind.is_empty() || kind == "text" => {}
                None => tell((role, Kind::Attachment, file_label(kind, None))),
            },
        },
    }
}

/// Returns what an item without a role tells: reasoning, a call, or what a call answered.
pub fn item(value: &Value) -> Option<Told> {
    let kind = value["type"].as_str()?;
    let told = if kind == "reasoning" {
        (Role::Assistant, Kind::Reasoning, reasoning(value))
    } else if is_answer(kind) {
        (Role::Tool, Kind::ToolResult, answer(value))
    } else if kind == "function_call" || kind == "mcp_call" || kind == "custom_tool_call" {
        call(Role::Assistant, value)
    } else if kind.contains("_call") {
        (Role::Assistant, Kind::ToolCall, call_line(kind, &value["action"].to_string()))
    } else {
        return None;
    };
    Some(told).filter(|(_, _, text)| !text.trim().is_empty())
}

/// Returns a call as one line, in whichever field its name and its arguments stand.
pub fn call(role: Role, call: &Value) -> Told {
    let call = if call["function"].is_object() { &call["function"] } else { call };
    let arguments = ["arguments", "input", "args"].into_iter().map(|key| &call[key]).find(|value| !value.is_null());
    let arguments = match arguments {
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
        None => String::new(),
    };
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

/// Returns the placeholder of a picture, a recording or a document.
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

/// Returns content as plain text: the words of its parts, placeholders of its files, and any other object as it is.
#[must_use]
pub fn plain(content: &Value) -> String {
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
            let told = file(content).or_else(|| inner.map(|inner| plain_within(inner, depth - 1)));
            told.unwrap_or_else(|| without_data(&content.to_string()))
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => without_data(&content.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(role: Role, part: &Value) -> Vec<Told> {
        let mut told = Vec::new();
        read(role, part, &mut |next| told.push(next));
        told
    }

    #[test]
    fn each_kind_of_part_is_told_apart() {
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
            assert_eq!(told(role, &part), [(owner, kind, text.to_owned())], "{part}");
        }
        assert_eq!(told(model, &json!({"type": "redacted_thinking", "data": "AAAA"})), []);
    }
}
