//! The parts of a message.

use serde_json::Value;

use crate::agents::turn::{self, answer, call, message, text, user_words};
use crate::parts::{address_name, file_label, without_data};
use crate::{Kind, Message, MessageTime, Role};

/// What a message says of itself.
pub(super) struct MessageHead {
    id: String,
    role: Role,
    is_summary: bool,
    pub(super) time: Option<MessageTime>,
}

impl MessageHead {
    pub(super) fn of(id: &str, info: &Value) -> Self {
        let role = match info["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) | None => Role::Other,
        };
        // A user's message has an object of that name, the title that was made for it.
        let is_summary = info["summary"] == true;
        Self { id: id.to_owned(), role, is_summary, time: turn::time(&info["time"]["created"]) }
    }

    fn spoken(&self, words: &str) -> Vec<Message> {
        match self.role {
            _ if self.is_summary => vec![message(Role::System, Kind::Summary, words)],
            Role::User => user_words(words),
            Role::System => vec![message(Role::System, Kind::Context, words)],
            Role::Assistant | Role::Tool | Role::Other => vec![Message::prose(self.role, without_data(words))],
        }
    }
}

/// Returns the messages in one part; steps, snapshots and patches are bookkeeping and give none.
pub(super) fn messages_of(part: &Value, head: &MessageHead) -> Vec<Message> {
    let mut messages = match part["type"].as_str().unwrap_or_default() {
        "text" => match text(&part["text"]) {
            // What the program wrote, and what it does not show to the agent.
            Some(words) if part["synthetic"] == true || part["ignored"] == true => {
                vec![message(Role::System, Kind::Context, without_data(words))]
            }
            Some(words) => head.spoken(words),
            None => Vec::new(),
        },
        "reasoning" => {
            text(&part["text"]).map(|words| message(head.role, Kind::Reasoning, words)).into_iter().collect()
        }
        "file" => vec![message(head.role, Kind::Attachment, label(part))],
        "tool" => tool(part),
        // A command's template with what the user typed behind it; the agent that it starts sees no more.
        "subtask" => {
            text(&part["prompt"]).map(|words| message(Role::System, Kind::Context, words)).into_iter().collect()
        }
        _ => Vec::new(),
    };
    let own_time = [&part["time"]["start"], &part["state"]["time"]["start"]].into_iter().find_map(turn::time);
    for message in &mut messages {
        text(&part["id"]).unwrap_or(&head.id).clone_into(&mut message.id);
        message.time = own_time.or(head.time);
    }
    messages
}

fn label(part: &Value) -> String {
    let media = part["mime"].as_str().unwrap_or_default();
    let noun = if media.starts_with("image/") { "image" } else { "file" };
    let named = text(&part["filename"]).or_else(|| part["url"].as_str().and_then(address_name));
    file_label(noun, named.or(Some(media)))
}

fn tool(part: &Value) -> Vec<Message> {
    let state = &part["state"];
    let mut messages = vec![call(part["tool"].as_str().unwrap_or_default(), &state["input"])];
    let output = text(&state["output"]).or_else(|| text(&state["error"]));
    let attached = state["attachments"].as_array().into_iter().flatten().map(label);
    let told: Vec<_> = output.map(str::to_owned).into_iter().chain(attached).collect();
    if !told.is_empty() {
        messages.push(answer(&told.join("\n")));
    }
    messages
}
