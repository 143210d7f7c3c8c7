//! The items and events of a rollout, and the messages that they contain.

use serde_json::Value;

use crate::json::Json;
use crate::message::blocks::{attachment, output, target, words};
use crate::message::parts::call_on;
use crate::message::program;
use crate::message::speaker::is_only_injected;
use crate::{Kind, Message, Role};

/// The end of the preamble that an editor puts before the user's words.
const EDITOR_PREAMBLE_END: &str = "## My request for Codex:";
const BOOT_FILE: &str = "# AGENTS.md instructions for";

/// Returns whether another agent, rather than a person, started the thread with this `head` and writes the prompts.
///
/// For a thread started by a person, the same field is a plain string such as `cli`.
pub(super) fn is_agents(head: &Value) -> bool {
    !head["source"]["subagent"].is_null()
}

/// Returns whether a program, rather than a person, writes the prompts of the thread with this `head`: it started Codex
/// with `codex exec` or through its SDK.
pub(super) fn is_of_program(head: &Value) -> bool {
    let originator = head["originator"].string();
    head["source"] == "exec" || originator == "codex_exec" || originator.starts_with("codex_sdk")
}

/// Returns the id of the thread that started this one.
pub(super) fn parent_id(head: &Value) -> Option<&str> {
    let spawned = &head["source"]["subagent"]["thread_spawn"]["parent_thread_id"];
    head["parent_thread_id"].text().or_else(|| spawned.text())
}

/// Returns the instructions that a thread, or one of its turns, received in addition to its messages.
pub(super) fn instructions(record: &Value) -> Vec<Message> {
    let given = ["base_instructions", "instructions", "user_instructions"].map(|key| output(&record[key]));
    given.into_iter().filter(|text| !text.trim().is_empty()).map(Message::context).collect()
}

/// Returns the messages in an item that was meant for the model.
pub(super) fn item_messages(item: &Value) -> Vec<Message> {
    let call = |name: &str, target: &str| vec![Message::call(call_on(name, target))];
    let done = |calls: Vec<Message>, name: &str, arguments: &Value| {
        let with = |call: Message| {
            let mut call = call.doing(name, arguments).called(item["call_id"].text());
            if let Some(action) = &mut call.action {
                action.folder = arguments.first_text(&["workdir", "working_directory"]).map(str::to_owned);
            }
            call
        };
        calls.into_iter().map(with).collect()
    };
    match item["type"].string() {
        "message" => spoken(item),
        "reasoning" => vec![Message::reasoning(output(&item["summary"]))],
        "function_call" => {
            // The arguments are JSON inside a string.
            let arguments = serde_json::from_str::<Value>(item["arguments"].string()).unwrap_or_default();
            let name = item["name"].string();
            // The tool of another program must not be mistaken for the agent's own.
            let tool = item["namespace"].text().map_or_else(|| name.to_owned(), |of| format!("{of}__{name}"));
            done(call(name, &target(&arguments)), &tool, &arguments)
        }
        // A patch is plain text, and the target is the file that it changes.
        "custom_tool_call" => {
            let (name, input) = (item["name"].string(), item["input"].string());
            done(call(name, patched_file(input)), name, &item["input"])
        }
        "local_shell_call" => done(call("shell", &target(&item["action"])), "shell", &item["action"]),
        "web_search_call" => call("web_search", &target(&item["action"])),
        "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
            vec![Message::answer(output(&item["output"])).ending(item["call_id"].text(), None)]
        }
        _ => Vec::new(),
    }
}

/// Returns the messages in an event that was meant for the screen.
pub(super) fn event_messages(event: &Value) -> Vec<Message> {
    let words = event.first_text(&["message", "text"]).unwrap_or_default();
    match event["type"].string() {
        "user_message" => user_words(words),
        "agent_message" => vec![Message::assistant(words)],
        "agent_reasoning" => vec![Message::reasoning(words)],
        _ => Vec::new(),
    }
}

fn spoken(item: &Value) -> Vec<Message> {
    let blocks = item["content"].items().iter();
    let plain = |block: &Value, role: Role, kind: Kind| {
        let text = words(block).map(|text| Message::new(role, kind, text));
        let label = attachment(block).map(|label| Message::new(role, Kind::Attachment, label));
        text.into_iter().chain(label).collect::<Vec<_>>()
    };
    match item["role"].string() {
        "user" => blocks
            .flat_map(|block| words(block).map_or_else(|| plain(block, Role::User, Kind::Attachment), user_words))
            .collect(),
        "assistant" => blocks.flat_map(|block| plain(block, Role::Assistant, Kind::Prose)).collect(),
        _ => blocks.flat_map(|block| plain(block, Role::System, Kind::Context)).collect(),
    }
}

/// Separates the user's words from the text that other programs put around them.
pub(super) fn user_words(text: &str) -> Vec<Message> {
    // Editors put the open files and the selection before the request, in the same text.
    if let Some((preamble, words)) = text.split_once(EDITOR_PREAMBLE_END) {
        return [Message::context(preamble)].into_iter().chain(program::turn(words)).collect();
    }
    if text.trim_start().starts_with(BOOT_FILE) || is_only_injected(text) {
        return vec![Message::context(text)];
    }
    program::turn(text)
}

/// Returns the first file of a patch, or the first line of any other input.
fn patched_file(input: &str) -> &str {
    let files = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let named = input.lines().find_map(|line| files.iter().find_map(|prefix| line.strip_prefix(prefix)));
    named.or_else(|| input.lines().find(|line| !line.trim().is_empty())).unwrap_or_default()
}
