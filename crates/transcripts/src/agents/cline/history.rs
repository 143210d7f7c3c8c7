//! What went to the model: messages in the shape of the Anthropic API.

use std::collections::HashMap;

use serde_json::Value;

use super::Place;
use super::words::{announced, answered, is_wrapped, of, surroundings, told};
use crate::parts::{call_line, file_label, without_data};
use crate::{Kind, Message, Role};

/// Tools that older versions called by a tag of this name in the answer's text.
const TOOLS: &[&str] = &[
    "access_mcp_resource",
    "apply_diff",
    "ask_followup_question",
    "attempt_completion",
    "browser_action",
    "codebase_search",
    "condense",
    "execute_command",
    "fetch_instructions",
    "insert_content",
    "list_code_definition_names",
    "list_files",
    "load_mcp_documentation",
    "new_task",
    "plan_mode_respond",
    "read_file",
    "replace_in_file",
    "search_and_replace",
    "search_files",
    "switch_mode",
    "update_todo_list",
    "use_mcp_tool",
    "web_fetch",
    "write_to_file",
];
/// Of these, the ones whose argument is a file or a part of one.
const WRITING: &[&str] = &["write_to_file", "replace_in_file", "apply_diff", "insert_content", "search_and_replace"];
/// Longest tag that is looked for, in bytes.
const LONGEST_TAG: usize = 40;
/// Arguments that are addressed to the user.
const SPOKEN: &[&str] = &["result", "question", "response"];
const SPEAKING: &[&str] = &["attempt_completion", "ask_followup_question", "plan_mode_respond", "act_mode_respond"];

/// Whether `value` is a message that only these programs have written.
pub(super) fn is_history(value: &Value) -> bool {
    let content = &value["content"];
    let said = content.as_str().map_or_else(
        || content.as_array().is_some_and(|blocks| blocks.iter().any(|block| is_wrapped(text(block)))),
        is_wrapped,
    );
    let is_message = matches!(value["role"].as_str(), Some("user" | "assistant"));
    is_message && (said && value["role"] == "user" || value["ts"].is_i64() && content.is_array())
}

fn text(block: &Value) -> &str {
    block.as_str().or_else(|| block["text"].as_str()).unwrap_or_default()
}

/// Reads message after message; answers of tools are known by what came before them.
#[derive(Default)]
pub(super) struct Reader {
    /// Names of the tools called, by the call's id.
    calls: HashMap<String, String>,
    place: Place,
}

impl Reader {
    /// Returns what the surroundings told so far.
    pub(super) fn place(&self) -> &Place {
        &self.place
    }

    /// Returns what one message says; `None` if it is none.
    pub(super) fn messages(&mut self, value: &Value) -> Option<Vec<Message>> {
        let content = &value["content"];
        let one = std::slice::from_ref(content);
        let blocks = content.as_array().map_or(one, Vec::as_slice);
        match value["role"].as_str()? {
            "user" => Some(self.user(blocks)),
            "assistant" => Some(blocks.iter().flat_map(|block| self.assistant(block)).collect()),
            _ => None,
        }
    }

    fn user(&mut self, blocks: &[Value]) -> Vec<Message> {
        let mut messages = Vec::new();
        // The tool whose answer was announced and stands in the next block.
        let mut announcing: Option<String> = None;
        for block in blocks {
            let said = text(block);
            if block["type"] == "tool_result" {
                let id = block["tool_use_id"].as_str().unwrap_or_default();
                let tool = self.calls.get(id).map_or("", String::as_str);
                messages.extend(answer_texts(&block["content"]).iter().flat_map(|text| answered(tool, text)));
            } else if let Some(label) = attachment(block) {
                messages.push(of(Role::User, Kind::Attachment, &label));
            } else if let Some((tool, answer)) = announced(said) {
                messages.push(of(Role::Tool, Kind::ToolResult, said.split_once('\n').map_or(said, |(head, _)| head)));
                let answer = answer.trim();
                announcing = answer.is_empty().then(|| tool.to_owned());
                if !answer.is_empty() {
                    messages.extend(answered(tool, answer));
                }
            } else if let Some(tool) = announcing.take().filter(|_| !is_wrapped(said)) {
                messages.extend(answered(&tool, said));
            } else {
                let place = surroundings(said);
                self.place.folder = self.place.folder.take().or(place.folder);
                self.place.offset_seconds = place.offset_seconds.or(self.place.offset_seconds);
                messages.extend(told(said));
            }
        }
        for message in &mut messages {
            message.text = without_data(&message.text);
        }
        messages
    }

    fn assistant(&mut self, block: &Value) -> Vec<Message> {
        match block["type"].as_str() {
            Some("tool_use") => {
                let name = block["name"].as_str().unwrap_or("tool");
                let id = block["id"].as_str().unwrap_or_default();
                self.calls.insert(id.to_owned(), name.to_owned());
                let spoken = SPOKEN.iter().find_map(|key| block["input"][*key].as_str());
                match spoken.filter(|_| SPEAKING.contains(&name)) {
                    Some(words) => vec![Message::assistant(words)],
                    None => vec![of(Role::Assistant, Kind::ToolCall, &call_line(name, &block["input"].to_string()))],
                }
            }
            Some("thinking" | "reasoning") => {
                let thought = block["thinking"].as_str().unwrap_or_else(|| text(block));
                vec![of(Role::Assistant, Kind::Reasoning, thought)]
            }
            _ => match attachment(block) {
                Some(label) => vec![of(Role::Assistant, Kind::Attachment, &label)],
                None => tagged(text(block)),
            },
        }
    }
}

fn answer_texts(content: &Value) -> Vec<String> {
    match content {
        Value::Array(blocks) => {
            let told = |block: &Value| attachment(block).unwrap_or_else(|| text(block).to_owned());
            blocks.iter().map(told).collect()
        }
        one => vec![text(one).to_owned()],
    }
}

fn attachment(block: &Value) -> Option<String> {
    let noun = match block["type"].as_str()? {
        "image" => "image",
        "document" => "document",
        _ => return None,
    };
    Some(file_label(noun, block["source"]["media_type"].as_str()))
}

/// Returns what an answer says in which reasoning and calls stand as tags in the text.
fn tagged(text: &str) -> Vec<Message> {
    let mut messages = Vec::new();
    let mut rest = text;
    while let Some((start, tag)) = next_call(rest) {
        messages.push(Message::assistant(&rest[..start]));
        let inner = &rest[start + tag.len() + 2..];
        // A file that is written may hold the tag itself, so such a call ends at the last one.
        let close = format!("</{tag}>");
        let end = if WRITING.contains(&tag) { inner.rfind(&close) } else { inner.find(&close) };
        let (inner, after) = end.map_or((inner, ""), |end| (&inner[..end], &inner[end + close.len()..]));
        messages.push(call(tag, inner));
        rest = after;
    }
    messages.push(Message::assistant(rest));
    messages.retain(|message| !message.text.trim().is_empty());
    messages
}

/// Finds the first tag that opens a line.
fn next_call(text: &str) -> Option<(usize, &'static str)> {
    text.match_indices('<').find_map(|(start, _)| {
        let begins_line =
            text[..start].trim_end_matches([' ', '\t']).ends_with('\n') || text[..start].trim().is_empty();
        let near = &text.as_bytes()[start + 1..text.len().min(start + LONGEST_TAG)];
        let name = &near[..near.iter().position(|byte| *byte == b'>').filter(|_| begins_line)?];
        let tag = TOOLS.iter().chain(&["thinking"]).find(|tag| tag.as_bytes() == name)?;
        Some((start, *tag))
    })
}

fn call(tag: &str, inner: &str) -> Message {
    let argument = |name: &str| {
        let (_, after) = inner.split_once(&format!("<{name}>"))?;
        Some(after.rsplit_once(&format!("</{name}>")).map_or(after, |(value, _)| value).trim())
    };
    if tag == "thinking" {
        return of(Role::Assistant, Kind::Reasoning, inner);
    }
    if let Some(words) = SPOKEN.iter().find_map(|name| argument(name)).filter(|_| SPEAKING.contains(&tag)) {
        return Message::assistant(words);
    }
    let target = ["path", "command", "regex", "query", "url", "tool_name", "uri"].into_iter().find_map(argument);
    of(Role::Assistant, Kind::ToolCall, &call_line(tag, target.unwrap_or_default()))
}
