//! One record of a recording, and the messages in it.

use serde_json::Value;

use crate::gemini_parts::{call_of, parts};
use crate::injected::{is_only_injected, slash_command};
use crate::lenient;
use crate::parts::call_on;
use crate::{Kind, Message, MessageTime, Role};

/// What a record can be.
pub(super) const KINDS: &[&str] = &["user", "gemini", "info", "error", "warning"];
/// How the program's own first turn begins, and the answer that it puts into the model's mouth.
const OPENING: &str = "This is the Gemini CLI. We are setting up the context";
const OPENING_ANSWER: &str = "Got it. Thanks for the context!";
const REMEMBER: &str = "/memory add ";

/// Whether a person or another agent types the prompts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Author {
    Person,
    Agent,
}

/// Returns what a record of a session says, in order: reasoning, words, and calls with their answers.
pub(super) fn messages(record: &Value, author: Author) -> Vec<Message> {
    let mut messages = match record["type"].as_str() {
        Some("user") => user(record),
        Some("gemini") => gemini(record),
        // What the program tells its user: notices, failures, the output of commands.
        _ => parts(&record["content"]).into_iter().map(|(_, text)| of(Role::System, Kind::Context, text)).collect(),
    };
    let time = time_of(record);
    for message in &mut messages {
        message.time = message.time.or(time);
        if author == Author::Agent && matches!(message.role, Role::User | Role::Assistant) {
            message.role = Role::Other;
        }
    }
    messages
}

/// Returns what a turn of a saved chat says.
pub(in crate::agents) fn turn(turn: &Value) -> Vec<Message> {
    let spoken = |(kind, text): (Kind, String)| match (turn["role"].as_str(), kind) {
        (_, Kind::ToolResult) => of(Role::Tool, kind, text),
        (Some("user"), Kind::Prose) => typed(&text),
        (Some("user"), kind) => of(if kind == Kind::Context { Role::System } else { Role::User }, kind, text),
        (Some("model"), Kind::Prose) if text.trim() == OPENING_ANSWER => of(Role::Assistant, Kind::Context, text),
        (Some("model"), kind) => of(Role::Assistant, kind, text),
        _ => of(Role::System, Kind::Context, text),
    };
    parts(&turn["parts"]).into_iter().map(spoken).collect()
}

/// Returns an entry of the history of prompts.
pub(super) fn prompt(entry: &Value) -> Message {
    Message { time: time_of(entry), ..typed(entry["message"].as_str().unwrap_or_default()) }
}

fn user(record: &Value) -> Vec<Message> {
    let full = parts(&record["content"]);
    let shown = parts(&record["displayContent"]);
    let of_part = |(kind, text): (Kind, String)| match kind {
        Kind::Prose => typed(&text),
        Kind::ToolResult => of(Role::Tool, kind, text),
        Kind::Context => of(Role::System, kind, text),
        kind => of(Role::User, kind, text),
    };
    if shown.iter().all(|(_, text)| text.trim().is_empty()) {
        return full.into_iter().map(of_part).collect();
    }
    // What was sent beyond what the screen showed was put there by the program.
    let is_new = |(_, text): &(Kind, String)| !shown.iter().any(|(_, seen)| seen.trim() == text.trim());
    let added = full.into_iter().filter(is_new).map(|(kind, text)| {
        let kind = if kind == Kind::Prose { Kind::Context } else { kind };
        of_part((kind, text))
    });
    let added: Vec<Message> = added.collect();
    shown.iter().cloned().map(of_part).chain(added).collect()
}

fn gemini(record: &Value) -> Vec<Message> {
    let list = |key: &str| record[key].as_array().map_or(&[][..], Vec::as_slice);
    let thoughts = list("thoughts").iter().map(|thought| {
        let text = [&thought["subject"], &thought["description"]].map(|text| text.as_str().unwrap_or_default());
        Message { time: time_of(thought), ..of(Role::Assistant, Kind::Reasoning, text.join("\n")) }
    });
    let words = parts(&record["content"]).into_iter().map(|(kind, text)| match kind {
        Kind::ToolResult => of(Role::Tool, kind, text),
        kind => of(Role::Assistant, kind, text),
    });
    let calls = list("toolCalls").iter().flat_map(|call| {
        let answers = parts(&call["result"]).into_iter().map(|(_, text)| of(Role::Tool, Kind::ToolResult, text));
        let time = time_of(call);
        std::iter::once(of(Role::Assistant, Kind::ToolCall, call_of(call)))
            .chain(answers)
            .map(move |message| Message { time, ..message })
    });
    thoughts.chain(words).chain(calls).collect()
}

/// Tells what was typed to the model from commands of the program and from what was injected.
fn typed(text: &str) -> Message {
    let trimmed = text.trim();
    if let Some(fact) = trimmed.strip_prefix(REMEMBER) {
        return Message::user(fact);
    }
    if is_only_injected(trimmed) || trimmed.starts_with(OPENING) {
        return of(Role::System, Kind::Context, text.to_owned());
    }
    if trimmed == "?" {
        return of(Role::User, Kind::ToolCall, text.to_owned());
    }
    match slash_command(trimmed) {
        Some((name, argument)) => of(Role::User, Kind::ToolCall, call_on(&format!("/{name}"), argument)),
        None => Message::user(text),
    }
}

fn time_of(value: &Value) -> Option<MessageTime> {
    lenient::Text(value["timestamp"].as_str().map(str::to_owned)).time()
}

fn of(role: Role, kind: Kind, text: String) -> Message {
    Message { kind, ..Message::prose(role, text) }
}
