//! What the screen showed.

use serde_json::Value;

use super::words::of;
use crate::parts::{call_line, without_data};
use crate::{Kind, Message, Role};

/// Whether `value` is something that the screen showed.
pub(super) fn is_shown(value: &Value) -> bool {
    let kind = value["type"].as_str().filter(|kind| matches!(*kind, "say" | "ask"));
    kind.is_some_and(|kind| value[kind].is_string()) && value["ts"].is_i64()
}

/// Reads one shown thing after the other.
#[derive(Default)]
pub(super) struct Reader {
    began: bool,
}

impl Reader {
    /// Returns what was shown; `None` if `value` is nothing of the kind.
    pub(super) fn messages(&mut self, value: &Value) -> Option<Vec<Message>> {
        if !is_shown(value) {
            return None;
        }
        // Before there was a word for it, the task was the first text.
        let is_first = !std::mem::replace(&mut self.began, true);
        let text = value["text"].as_str().unwrap_or_default();
        let images = value["images"].as_array().map_or(0, Vec::len);
        let mut messages = vec![shown(value, is_first, &without_data(text))];
        messages.extend((0..images).map(|_| of(Role::User, Kind::Attachment, "[image]")));
        messages.retain(|message| !message.text.trim().is_empty());
        Some(messages)
    }
}

fn shown(value: &Value, is_first: bool, text: &str) -> Message {
    let details: Value = serde_json::from_str(text).unwrap_or_default();
    let field = |keys: &[&str]| keys.iter().find_map(|key| details[*key].as_str()).unwrap_or(text);
    let kind = value["say"].as_str().or(value["ask"].as_str()).unwrap_or_default();
    match kind {
        "task" | "user_feedback" => Message::user(text),
        "text" if is_first => Message::user(text),
        "text" | "completion_result" => Message::assistant(text),
        "followup" | "plan_mode_respond" => Message::assistant(field(&["question", "response"])),
        "reasoning" => of(Role::Assistant, Kind::Reasoning, text),
        "command" => of(Role::Assistant, Kind::ToolCall, &call_line("execute_command", text)),
        "tool" | "use_mcp_server" | "browser_action" | "browser_action_launch" => {
            let name = ["tool", "toolName", "action"].iter().find_map(|key| details[*key].as_str()).unwrap_or(kind);
            let target = ["path", "regex", "url", "serverName"].iter().find_map(|key| details[*key].as_str());
            of(Role::Assistant, Kind::ToolCall, &call_line(name, target.unwrap_or_default()))
        }
        "command_output" | "mcp_server_response" | "browser_action_result" => of(Role::Tool, Kind::ToolResult, text),
        // Counts of tokens, and questions to the program alone.
        _ if kind.starts_with("api_req") && kind != "api_req_failed" || kind.starts_with("resume_") => {
            Message::prose(Role::System, "")
        }
        _ => of(Role::System, Kind::Context, text),
    }
}
