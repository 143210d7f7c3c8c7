//! The parts that messages to and from Gemini models are made of.

use serde_json::Value;

use crate::Kind;
use crate::parts::{call_line, file_label, without_data};

/// What stands between a prompt and the files that it names with `@`.
const FILES_FOLLOW: &str = "--- Content from referenced files ---";

/// Returns what each part says, in order, texts of one kind joined; `content` is one part, a string, or an array of either.
pub fn parts(content: &Value) -> Vec<(Kind, String)> {
    let mut told = Vec::new();
    match content {
        Value::Array(parts) => parts.iter().for_each(|part| told.extend(part_of(part))),
        one => told.extend(part_of(one)),
    }
    let files = told.iter().position(|(_, text)| text.trim_start().starts_with(FILES_FOLLOW));
    if let Some(files) = files {
        told[files..].iter_mut().filter(|(kind, _)| *kind == Kind::Prose).for_each(|(kind, _)| *kind = Kind::Context);
    }
    joined(told)
}

fn part_of(part: &Value) -> Option<(Kind, String)> {
    let text = part.as_str().or_else(|| part["text"].as_str());
    if let Some(text) = text {
        let kind = if part["thought"] == true { Kind::Reasoning } else { Kind::Prose };
        return Some((kind, without_data(text)));
    }
    let field = |names: [&str; 2]| names.into_iter().map(|name| &part[name]).find(|value| value.is_object());
    if let Some(data) = field(["inlineData", "inline_data"]) {
        return Some((Kind::Attachment, media_label(data["mimeType"].as_str().or(data["mime_type"].as_str()))));
    }
    if let Some(file) = field(["fileData", "file_data"]) {
        let name = file["displayName"].as_str().or(file["fileUri"].as_str());
        return Some((Kind::Attachment, file_label("file", name)));
    }
    if let Some(call) = field(["functionCall", "function_call"]) {
        return Some((Kind::ToolCall, call_of(call)));
    }
    if let Some(code) = field(["executableCode", "executable_code"]) {
        return Some((Kind::ToolCall, call_line("code", code["code"].as_str().unwrap_or_default())));
    }
    let answer = field(["functionResponse", "function_response"])
        .map(|answer| answer_of(&answer["response"]))
        .or_else(|| Some(text_of(&field(["codeExecutionResult", "code_execution_result"])?["output"])))?;
    Some((Kind::ToolResult, answer))
}

/// Returns a call as one line: the tool's name and its main target.
pub fn call_of(call: &Value) -> String {
    call_line(call["name"].as_str().unwrap_or("tool"), &call["args"].to_string())
}

fn answer_of(response: &Value) -> String {
    let told = ["output", "error", "content", "result"].into_iter().map(|key| &response[key]);
    text_of(told.into_iter().find(|value| !value.is_null()).unwrap_or(response))
}

fn text_of(value: &Value) -> String {
    without_data(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn media_label(kind: Option<&str>) -> String {
    let noun = kind.and_then(|kind| kind.split('/').next()).filter(|noun| matches!(*noun, "image" | "audio" | "video"));
    file_label(noun.unwrap_or("file"), kind)
}

/// Joins texts of one kind that follow each other: a long answer comes in many parts.
fn joined(told: Vec<(Kind, String)>) -> Vec<(Kind, String)> {
    let mut joined: Vec<(Kind, String)> = Vec::new();
    for (kind, text) in told {
        match joined.last_mut() {
            Some((last, before)) if *last == kind && matches!(kind, Kind::Prose | Kind::Context | Kind::Reasoning) => {
                before.push_str(&text);
            }
            _ => joined.push((kind, text)),
        }
    }
    joined
}
