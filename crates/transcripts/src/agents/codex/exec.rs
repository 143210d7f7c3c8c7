//! What `codex exec --json` prints: the agent's side of a thread, without the prompt and without times.

use serde_json::Value;

use super::NAME;
use crate::parts::call_on;
use crate::{Assembler, IngestError, Input, Records, Sink, identity};
use crate::{Kind, Message, Role};

/// Whether `line` is an event of such a stream.
pub(super) fn is_event(line: &Value) -> bool {
    let kind = line["type"].as_str().unwrap_or_default();
    match kind.split_once('.') {
        Some(("thread", _)) => line["thread_id"].is_string(),
        Some(("item", "started" | "updated" | "completed")) => line["item"]["type"].is_string(),
        Some(("turn", "started" | "completed" | "failed")) => {
            line.get("payload").is_none() && line.get("data").is_none()
        }
        _ => false,
    }
}

/// Reads a stream. The thread's rollout has the same id and more in it, so the stream gets one of its own.
pub(super) fn read(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let (stem, origin, time) = (input.stem(), input.path.display().to_string(), identity::file_time(&input));
    let new = |id: &str| {
        let mut draft = Assembler::new(NAME, format!("exec/{id}"), origin.as_str());
        draft.meta().created_at = time.map(|time| time.at);
        draft
    };
    let mut draft = new(&stem);
    let mut records = Records::lines(input);
    while let Some((number, line)) = records.next_json::<Value>(sink)? {
        match line["type"].as_str().unwrap_or_default() {
            "thread.started" => {
                let id = line["thread_id"].as_str().unwrap_or(&stem);
                std::mem::replace(&mut draft, new(id)).finish(sink);
            }
            // An item is printed when it starts, changes and ends; the last has all of it.
            "item.completed" => {
                for message in messages(&line["item"]) {
                    draft.push(Message { time, ..message }, sink);
                }
            }
            "error" | "turn.failed" => {
                let text = line["message"].as_str().or(line["error"]["message"].as_str()).unwrap_or_default();
                draft.push(Message { time, ..of(Role::System, Kind::Context, text) }, sink);
            }
            _ if is_event(&line) => {}
            _ => sink.skip(number, "not an event of `codex exec`"),
        }
    }
    draft.finish(sink);
    Ok(())
}

fn messages(item: &Value) -> Vec<Message> {
    let text = |key: &str| item[key].as_str().unwrap_or_default();
    let call = |name: &str, target: &str| of(Role::Assistant, Kind::ToolCall, &call_on(name, target));
    match text("type") {
        "agent_message" | "assistant_message" => vec![Message::assistant(text("text"))],
        "reasoning" => vec![of(Role::Assistant, Kind::Reasoning, text("text"))],
        "command_execution" => {
            vec![call("shell", text("command")), of(Role::Tool, Kind::ToolResult, text("aggregated_output"))]
        }
        "file_change" => {
            let changes = item["changes"].as_array().map_or(&[][..], Vec::as_slice);
            changes.iter().map(|change| call("file_change", change["path"].as_str().unwrap_or_default())).collect()
        }
        "mcp_tool_call" => vec![call(text("tool"), text("server"))],
        "web_search" => vec![call("web_search", text("query"))],
        "error" => vec![of(Role::System, Kind::Context, text("message"))],
        "todo_list" => {
            let plan = item["items"].as_array().map_or(&[][..], Vec::as_slice);
            let plan: Vec<_> = plan.iter().filter_map(|step| step["text"].as_str()).collect();
            vec![of(Role::Assistant, Kind::Context, &plan.join("\n"))]
        }
        _ => vec![of(Role::Other, Kind::Context, text("text"))],
    }
}

fn of(role: Role, kind: Kind, text: &str) -> Message {
    Message { kind, ..Message::prose(role, text) }
}
