//! Short lines that replace content that is not retained: tool calls, files and data inside the text.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::json::Json;
use crate::{Kind, Message, Role};

/// Maximum length of the target of a call, in characters.
const TARGET_CHARS: usize = 100;
/// Arguments that contain the target of a call, the most specific first.
const TARGETS: &[&str] = &[
    "file_path", "filePath", "target_file", "targetFile", "path", "notebook_path", "command", "cmd", "pattern",
    "query", "q", "url", "prompt", "name", "id",
];

/// Returns `text` with every run of white space replaced by one space.
pub(crate) fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns a call as one line: the tool's name and its main target, where the arguments are JSON or any other text.
pub(crate) fn call_line(tool: &str, arguments: &str) -> String {
    // The arguments of older tools are plain text, and its first line is the most informative.
    let target = match serde_json::from_str::<Value>(arguments) {
        Ok(Value::Object(fields)) => TARGETS.iter().find_map(|key| fields.get(*key)).map(plain),
        Ok(_) | Err(_) => arguments.lines().find(|line| !line.trim().is_empty()).map(str::to_owned),
    };
    call_on(tool, &without_data(&target.unwrap_or_default()))
}

/// Returns a call as one line: the tool's name and the beginning of its target.
pub(crate) fn call_on(tool: &str, target: &str) -> String {
    // Only the displayed part of the text is processed, because a target may be a whole file.
    let mut folded = String::new();
    for word in target.split_whitespace() {
        folded.extend([" ", word]);
        if folded.len() > TARGET_CHARS * 4 {
            break;
        }
    }
    let mut shown: String = folded.trim_start().chars().take(TARGET_CHARS).collect();
    if shown.len() < folded.trim_start().len() {
        shown.pop();
        shown.push('…');
    }
    let tool = if tool.is_empty() { "tool" } else { tool };
    format!("{tool} {shown}").trim_end().to_owned()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Returns the placeholder of a file: `[image: plan.png]`, or `[image]` if it has no name.
pub(crate) fn file_label(kind: &str, name: Option<&str>) -> String {
    match name.map(str::trim).filter(|name| !name.is_empty()) {
        Some(name) => format!("[{kind}: {name}]"),
        None => format!("[{kind}]"),
    }
}

/// Returns the last part of a URL, if it is a file name; a data URL contains none.
pub(crate) fn address_name(address: &str) -> Option<&str> {
    let path = address.strip_prefix("https://").or_else(|| address.strip_prefix("http://"))?;
    let path = path.split(['?', '#']).next()?;
    path.rsplit_once('/').map(|(_, name)| name).filter(|name| name.contains('.'))
}

/// Decodes text in which one of `marks` and two hexadecimal digits represent a byte, as in a URL.
pub(crate) fn unescaped(text: &str, marks: &[u8]) -> String {
    // A character is complete only when all its bytes are decoded.
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        let escaped = digits.filter(|_| marks.contains(&byte)).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(escaped.unwrap_or(byte));
        rest = if escaped.is_some() { &after[2..] } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the path that the URL of a folder represents; returns any other text unchanged.
#[must_use]
pub fn folder_path(address: &str) -> String {
    let Some(path) = address.strip_prefix("file://") else { return address.to_owned() };
    let path = unescaped(path.strip_prefix("localhost").unwrap_or(path), b"%");
    // `/c:/work` is the form that `c:/work` takes in a URL.
    let has_drive = path.as_bytes().get(2) == Some(&b':');
    path.strip_prefix('/').filter(|_| has_drive).map_or(path.clone(), str::to_owned)
}

/// Replaces data URLs in `text` by placeholders such as `[data: image/png]`.
pub(crate) fn without_data(text: &str) -> String {
    static DATA: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("data:([a-zA-Z]{1,20}/[a-zA-Z0-9.+-]{1,80})(?:;[a-zA-Z0-9=._-]{1,80}){0,4};base64,[A-Za-z0-9+/=_-]*")
            .expect("the pattern is constant")
    });
    DATA.replace_all(text, "[data: $1]").into_owned()
}

// The parts of messages to and from Gemini models.

/// The line between a prompt and the files that the prompt refers to with `@`.
const FILES_FOLLOW: &str = "--- Content from referenced files ---";

/// Returns the content of each part as the model's, in order, with adjacent texts of one kind joined; `content` is one
/// part, a string, or an array of either.
pub(crate) fn gemini_parts(content: &Value) -> Vec<Message> {
    let mut pieces: Vec<Message> = content.items().iter().filter_map(gemini_part).collect();
    let files = pieces.iter().position(|piece| piece.text.trim_start().starts_with(FILES_FOLLOW));
    if let Some(files) = files {
        pieces[files..].iter_mut().filter(|piece| piece.kind == Kind::Prose).for_each(|piece| {
            piece.kind = Kind::Context;
        });
    }
    joined(pieces)
}

fn gemini_part(part: &Value) -> Option<Message> {
    let text = part.as_str().or_else(|| part["text"].as_str());
    if let Some(text) = text {
        let kind = if part["thought"] == true { Kind::Reasoning } else { Kind::Prose };
        return Some(Message::new(Role::Assistant, kind, without_data(text)));
    }
    let attached = |label| Some(Message::new(Role::Assistant, Kind::Attachment, label));
    let field = |names: [&str; 2]| names.into_iter().map(|name| &part[name]).find(|value| value.is_object());
    if let Some(data) = field(["inlineData", "inline_data"]) {
        return attached(media_label(data["mimeType"].as_str().or(data["mime_type"].as_str())));
    }
    if let Some(file) = field(["fileData", "file_data"]) {
        return attached(file_label("file", file["displayName"].as_str().or(file["fileUri"].as_str())));
    }
    if let Some(call) = field(["functionCall", "function_call"]) {
        return Some(gemini_call(call));
    }
    if let Some(code) = field(["executableCode", "executable_code"]) {
        return Some(Message::call(call_line("code", code["code"].string())));
    }
    if let Some(answer) = field(["functionResponse", "function_response"]) {
        let failed = answer["response"]["error"].text().map(|_| true);
        return Some(Message::answer(gemini_answer(&answer["response"])).ending(answer["id"].text(), failed));
    }
    let result = field(["codeExecutionResult", "code_execution_result"])?;
    Some(Message::answer(gemini_text(&result["output"])))
}

/// Returns a call with its arguments.
pub(crate) fn gemini_call(call: &Value) -> Message {
    let (name, arguments) = (call["name"].as_str().unwrap_or("tool"), &call["args"]);
    Message::call(call_line(name, &arguments.to_string())).doing(name, arguments).called(call["id"].text())
}

fn gemini_answer(response: &Value) -> String {
    let pieces = ["output", "error", "content", "result"].into_iter().map(|key| &response[key]);
    gemini_text(pieces.into_iter().find(|value| !value.is_null()).unwrap_or(response))
}

fn gemini_text(value: &Value) -> String {
    without_data(&value.as_str().map_or_else(|| value.to_string(), str::to_owned))
}

fn media_label(kind: Option<&str>) -> String {
    let noun = kind.and_then(|kind| kind.split('/').next()).filter(|noun| matches!(*noun, "image" | "audio" | "video"));
    file_label(noun.unwrap_or("file"), kind)
}

/// Joins adjacent texts of one kind, because a long answer is split into many parts.
fn joined(pieces: Vec<Message>) -> Vec<Message> {
    let mut joined: Vec<Message> = Vec::new();
    for piece in pieces {
        match joined.last_mut() {
            Some(last)
                if last.kind == piece.kind && matches!(piece.kind, Kind::Prose | Kind::Context | Kind::Reasoning) =>
            {
                last.text.push_str(&piece.text);
            }
            _ => joined.push(piece),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_become_one_line_with_their_main_target() {
        assert_eq!(call_line("lookup", r#"{"limit":3,"query":"cats\nand dogs"}"#), "lookup cats and dogs");
        assert_eq!(call_line("python", "\nx = 1\ny"), "python x = 1");
        assert_eq!(call_line("now", "{}"), "now");
        assert_eq!(call_line("x", &"é".repeat(300)).chars().count(), 102);
    }

    #[test]
    fn a_target_is_one_line_of_bounded_length() {
        assert_eq!(call_on("Bash", "ls\n  -la"), "Bash ls -la");
        assert_eq!(call_on("", ""), "tool");
        assert_eq!(call_on("Read", &"文".repeat(300)).chars().count(), "Read ".len() + 100);
        let cut = call_on("Read", &"word ".repeat(30));
        assert!(cut.ends_with("wor…") || cut.ends_with("word…") || cut.ends_with(" …"), "{cut}");
    }

    #[test]
    fn addresses_of_folders_become_paths() {
        let rows = [
            ("file:///home/eli/my%20loom", "/home/eli/my loom"),
            ("file:///c%3A/work", "c:/work"),
            ("file://localhost/C:/my%20work", "C:/my work"),
            ("file:///a%zz%c3%a9%", "/a%zzé%"),
            ("vscode-remote://host/x", "vscode-remote://host/x"),
            ("/plain%20path", "/plain%20path"),
        ];
        for (address, path) in rows {
            assert_eq!(folder_path(address), path);
        }
    }

    #[test]
    fn data_addresses_are_replaced_and_others_named_without_their_query() {
        assert_eq!(without_data("a data:image/png;base64,iVBO+/= b"), "a [data: image/png] b");
        assert_eq!(address_name("https://e.org/x/plan.png?token=1"), Some("plan.png"));
        assert_eq!(address_name("data:image/png;base64,iVBO"), None);
    }
}
