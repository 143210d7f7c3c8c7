//! One line of a session log, and the messages in it.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::words;
use crate::blocks::{Block, Content, Output};
use crate::lenient::{Flag, Object, Text};
use crate::parts::call_on;
use crate::{Kind, Message, MessageTime, Role};

/// A line, as far as it is read; what is missing or of a wrong type is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: Text,
    subtype: Text,
    pub(super) uuid: Text,
    pub(super) parent_uuid: Text,
    session_id: Text,
    forked_from: Object<Fork>,
    pub(super) agent_id: Text,
    timestamp: Text,
    pub(super) cwd: Text,
    is_meta: Flag,
    pub(super) is_sidechain: Flag,
    is_compact_summary: Flag,
    is_visible_in_transcript_only: Flag,
    is_api_error_message: Flag,
    // Often the largest field; presence is all that matters.
    tool_use_result: Option<IgnoredAny>,
    message: Object<Body>,
    pub(super) operation: Text,
    content: Output,
    attachment: Object<Attachment>,
    pub(super) summary: Text,
    pub(super) leaf_uuid: Text,
    pub(super) custom_title: Text,
    pub(super) agent_name: Text,
    pub(super) ai_title: Text,
}

/// The line of another session that a fork begins with a copy of.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Fork {
    session_id: Text,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Body {
    model: Text,
    content: Content,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Attachment {
    #[serde(rename = "type")]
    kind: Text,
    content: Output,
    prompt: Output,
    stdout: Output,
    stderr: Output,
    blocking_error: Object<BlockingError>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct BlockingError {
    blocking_error: Text,
}

/// What a user line is, before its text is looked at.
enum Carrier {
    Typed,
    Injected,
    Compacted,
    Agent,
    ToolAnswer,
}

impl Line {
    /// Whether it stands in a log that belongs to a sub-agent.
    pub(super) fn is_agents_own(&self) -> bool {
        self.is_sidechain.0 && self.agent_id.0.is_some()
    }

    /// Returns the session in which it was said: the one that a fork copied it from, or else its own.
    pub(super) fn session(&self) -> Option<&str> {
        let original = self.forked_from.0.as_ref().and_then(|fork| fork.session_id.0.as_deref());
        original.or(self.session_id.0.as_deref())
    }

    /// Whether it stands in the journal of a workflow, which says when agents began and ended.
    pub(super) fn is_journal(&self) -> bool {
        matches!(self.kind.as_str(), "started" | "result") && self.agent_id.0.is_some()
    }

    /// Returns when the line was written.
    pub(super) fn time(&self) -> Option<MessageTime> {
        self.timestamp.time()
    }

    /// Returns the model that wrote it, if a model did.
    pub(super) fn model(&self) -> Option<&str> {
        let model = self.message.0.as_ref()?.model.as_str();
        (!model.is_empty() && model != "<synthetic>" && !self.is_sidechain.0).then_some(model)
    }

    /// Returns what a queue operation is about: words of the user, a bare command, or a note of the program.
    pub(super) fn queued(&self) -> Message {
        let (role, kind, text) = words::classify(&self.content.0);
        message(role, kind, text)
    }

    /// Returns the command that arrives with the line, as it was typed.
    pub(super) fn typed_command(&self) -> Option<String> {
        let blocks = self.message.0.as_ref()?.content.0.iter();
        blocks.filter(|_| self.kind.as_str() == "user").find_map(|block| words::typed_command(block.text.as_str()))
    }

    /// Whether it should hold a message and holds none that can be read.
    pub(super) fn is_broken(&self) -> bool {
        matches!(self.kind.as_str(), "user" | "assistant") && self.message.0.is_none()
    }

    /// Whether it is where a user types, so that a second one after the same line is a rewind.
    pub(super) fn is_prompt(&self) -> bool {
        self.kind.as_str() == "user" && matches!(self.carrier(), Carrier::Typed)
    }

    /// Takes the messages out of the line, in block order; ids and times are the caller's to set.
    pub(super) fn take_messages(&mut self) -> Vec<Message> {
        match self.kind.as_str() {
            "user" => self.take_user(),
            "assistant" => self.take_assistant(),
            "system" => {
                let kind = if self.subtype.as_str() == "away_summary" { Kind::Summary } else { Kind::Context };
                vec![message(Role::System, kind, std::mem::take(&mut self.content.0))]
            }
            "summary" => self.take_blocks(|block| prose(block, Role::System, Kind::Summary)),
            "attachment" => self.take_attachment(),
            // What is queued and typed is the session's to sort out; all else is bookkeeping, or unknown.
            "queue-operation" => vec![message(Role::System, Kind::Context, std::mem::take(&mut self.content.0))],
            _ => Vec::new(),
        }
    }

    fn take_blocks(&mut self, read: impl Fn(Block) -> Vec<Message>) -> Vec<Message> {
        let blocks = self.message.0.take().unwrap_or_default().content.0;
        blocks.into_iter().flat_map(read).collect()
    }

    fn carrier(&self) -> Carrier {
        let blocks = self.message.0.as_ref().map(|body| body.content.0.as_slice()).unwrap_or_default();
        if self.is_compact_summary.0 {
            Carrier::Compacted
        } else if self.is_meta.0 || self.is_visible_in_transcript_only.0 {
            Carrier::Injected
        } else if self.is_sidechain.0 {
            Carrier::Agent
        } else if blocks.iter().any(|block| block.kind == "tool_result") {
            Carrier::Injected
        } else if self.tool_use_result.is_some() {
            Carrier::ToolAnswer
        } else {
            Carrier::Typed
        }
    }

    fn take_user(&mut self) -> Vec<Message> {
        let carrier = self.carrier();
        self.take_blocks(|block| match (block.kind.as_str(), &carrier) {
            ("tool_result", _) => tool_answer(block),
            (_, Carrier::Typed) if block.text.0.is_some() => {
                let (role, kind, text) = words::classify(block.text.as_str());
                vec![message(role, kind, text)]
            }
            (_, Carrier::Typed) => prose(block, Role::User, Kind::Prose),
            (_, Carrier::Injected) => prose(block, Role::System, Kind::Context),
            (_, Carrier::Compacted) => prose(block, Role::System, Kind::Summary),
            (_, Carrier::Agent) => {
                let kind = if words::is_typed(block.text.as_str()) { Kind::Prose } else { Kind::Context };
                prose(block, Role::Other, kind)
            }
            (_, Carrier::ToolAnswer) => prose(block, Role::Tool, Kind::ToolResult),
        })
    }

    fn take_assistant(&mut self) -> Vec<Message> {
        let role = if self.is_sidechain.0 { Role::Other } else { Role::Assistant };
        let synthetic = self.message.0.as_ref().is_some_and(|body| body.model.as_str() == "<synthetic>");
        let spoken = if self.is_api_error_message.0 || synthetic { Kind::Context } else { Kind::Prose };
        self.take_blocks(|block| match block.kind.as_str() {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                vec![message(role, Kind::ToolCall, call_on(block.name.as_str(), &block.input.0))]
            }
            "thinking" => prose(block, role, Kind::Reasoning),
            kind if kind.ends_with("tool_result") => tool_answer(block),
            _ => prose(block, role, spoken),
        })
    }

    fn take_attachment(&mut self) -> Vec<Message> {
        let Some(attachment) = self.attachment.0.take() else { return Vec::new() };
        if attachment.kind.as_str() == "queued_command" {
            let (role, kind, text) = words::classify(&attachment.prompt.0);
            let role = if self.is_sidechain.0 { Role::Other } else { role };
            return vec![message(role, kind, text)];
        }
        let blocking = attachment.blocking_error.0.unwrap_or_default().blocking_error.0.unwrap_or_default();
        [attachment.content.0, attachment.stdout.0, attachment.stderr.0, blocking]
            .into_iter()
            .find(|text| !text.trim().is_empty())
            .map(|text| message(Role::System, Kind::Context, text))
            .into_iter()
            .collect()
    }
}

/// Returns the answer of a tool, and what the user said when refusing the call.
fn tool_answer(block: Block) -> Vec<Message> {
    let refusal = if block.is_error.0 { words::refusal_words(&block.content.0) } else { None };
    let words = refusal.map(Message::user);
    std::iter::once(message(Role::Tool, Kind::ToolResult, block.content.0)).chain(words).collect()
}

/// Returns the text of a block, or the placeholder of its picture.
fn prose(block: Block, role: Role, kind: Kind) -> Vec<Message> {
    let text = block.text.0.map(|text| message(role, kind, text));
    let attachment = block.attachment.map(|name| message(role, Kind::Attachment, name));
    text.into_iter().chain(attachment).collect()
}

fn message(role: Role, kind: Kind, text: String) -> Message {
    Message { kind, ..Message::prose(role, text) }
}
