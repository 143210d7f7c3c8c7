//! One line of a session log, and the messages in it.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::message::blocks::{Block, Content, Flag, Object, Output, Text};
use crate::message::parts::call_on;
use crate::message::speaker::{between, is_only_injected, slash_command};
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
        let (role, kind, text) = classify(&self.content.0);
        Message::new(role, kind, text)
    }

    /// Returns the command that arrives with the line, as it was typed.
    pub(super) fn typed_command(&self) -> Option<String> {
        let blocks = self.message.0.as_ref()?.content.0.iter();
        blocks.filter(|_| self.kind.as_str() == "user").find_map(|block| typed_command(block.text.as_str()))
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
                vec![Message::new(Role::System, kind, std::mem::take(&mut self.content.0))]
            }
            "summary" => self.take_blocks(|block| prose(block, Role::System, Kind::Summary)),
            "attachment" => self.take_attachment(),
            // What is queued and typed is the session's to sort out; all else is bookkeeping, or unknown.
            "queue-operation" => vec![Message::new(Role::System, Kind::Context, std::mem::take(&mut self.content.0))],
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
                let (role, kind, text) = classify(block.text.as_str());
                vec![Message::new(role, kind, text)]
            }
            (_, Carrier::Typed) => prose(block, Role::User, Kind::Prose),
            (_, Carrier::Injected) => prose(block, Role::System, Kind::Context),
            (_, Carrier::Compacted) => prose(block, Role::System, Kind::Summary),
            (_, Carrier::Agent) => {
                let kind = if is_typed(block.text.as_str()) { Kind::Prose } else { Kind::Context };
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
                vec![Message::new(role, Kind::ToolCall, call_on(block.name.as_str(), &block.input.0))]
            }
            "thinking" => prose(block, role, Kind::Reasoning),
            kind if kind.ends_with("tool_result") => tool_answer(block),
            _ => prose(block, role, spoken),
        })
    }

    fn take_attachment(&mut self) -> Vec<Message> {
        let Some(attachment) = self.attachment.0.take() else { return Vec::new() };
        if attachment.kind.as_str() == "queued_command" {
            let (role, kind, text) = classify(&attachment.prompt.0);
            let role = if self.is_sidechain.0 { Role::Other } else { role };
            return vec![Message::new(role, kind, text)];
        }
        let blocking = attachment.blocking_error.0.unwrap_or_default().blocking_error.0.unwrap_or_default();
        [attachment.content.0, attachment.stdout.0, attachment.stderr.0, blocking]
            .into_iter()
            .find(|text| !text.trim().is_empty())
            .map(|text| Message::new(Role::System, Kind::Context, text))
            .into_iter()
            .collect()
    }
}

/// Returns the answer of a tool, and what the user said when refusing the call.
fn tool_answer(block: Block) -> Vec<Message> {
    let refusal = if block.is_error.0 { refusal_words(&block.content.0) } else { None };
    let words = refusal.map(Message::user);
    std::iter::once(Message::new(Role::Tool, Kind::ToolResult, block.content.0)).chain(words).collect()
}

/// Returns the text of a block, or the placeholder of its picture.
fn prose(block: Block, role: Role, kind: Kind) -> Vec<Message> {
    let text = block.text.0.map(|text| Message::new(role, kind, text));
    let attachment = block.attachment.map(|name| Message::new(role, Kind::Attachment, name));
    text.into_iter().chain(attachment).collect()
}

// Classifying the text in a user's turn: typed by a person, or written by the program.

/// How the program's own notes in the user's turn begin.
const NOTES: &[&str] =
    &["Caveat: The messages below", "[Request interrupted by user", "<local-command-", "<task-notification>"];
const CONTINUATION: &str = "This session is being continued from a previous conversation";
const REFUSAL: &str = "The user doesn't want to";
const REFUSAL_WORDS: &str = "the user said:";

/// Returns whose text it is, what it is, and the part of it that counts.
///
/// Of a slash command its arguments are the user's words; a command without any is no words at all.
pub(super) fn classify(text: &str) -> (Role, Kind, String) {
    let trimmed = text.trim();
    let whole = || trimmed.to_owned();
    if is_command(trimmed) {
        match between(trimmed, "command-args").filter(|arguments| !arguments.is_empty()) {
            Some(arguments) => (Role::User, Kind::Prose, arguments.to_owned()),
            None => (Role::System, Kind::Context, whole()),
        }
    } else if let Some(command) = between(trimmed, "bash-input").filter(|_| trimmed.starts_with("<bash-input>")) {
        (Role::User, Kind::ToolCall, call_on("Bash", command))
    } else if trimmed.starts_with("<bash-stdout>") || trimmed.starts_with("<bash-stderr>") {
        (Role::Tool, Kind::ToolResult, whole())
    } else if trimmed.starts_with("<teammate-message") {
        (Role::Other, Kind::Prose, whole())
    } else if trimmed.starts_with(CONTINUATION) {
        (Role::System, Kind::Summary, whole())
    } else if is_typed(trimmed) {
        (Role::User, Kind::Prose, whole())
    } else {
        (Role::System, Kind::Context, whole())
    }
}

/// Returns the command as it was typed, of a text in which the program spells it in tags.
pub(super) fn typed_command(text: &str) -> Option<String> {
    let name = between(text, "command-name").filter(|_| is_command(text.trim()))?;
    Some(format!("{name} {}", between(text, "command-args").unwrap_or_default()))
}

fn is_command(text: &str) -> bool {
    text.starts_with("<command-name>") || text.starts_with("<command-message>")
}

/// Whether `text` was typed, and is neither a note of the program, an injected block nor a bare slash command.
pub(super) fn is_typed(text: &str) -> bool {
    let text = text.trim();
    !NOTES.iter().any(|note| text.starts_with(note)) && !is_only_injected(text) && !is_bare_command(text)
}

/// Returns what the user said on refusing a tool call; the log has it in the tool's answer only.
pub(super) fn refusal_words(answer: &str) -> Option<String> {
    let (_, words) = answer.trim().strip_prefix(REFUSAL)?.split_once(REFUSAL_WORDS)?;
    Some(words.trim().to_owned())
}

fn is_bare_command(text: &str) -> bool {
    slash_command(text).is_some_and(|(_, argument)| argument.is_empty())
}

#[cfg(test)]
mod words_tests {
    use super::*;

    #[test]
    fn each_kind_of_user_text_is_classified() {
        let table = [
            ("use tabs", Role::User, Kind::Prose, "use tabs"),
            ("/usr/lib is full", Role::User, Kind::Prose, "/usr/lib is full"),
            ("/init", Role::System, Kind::Context, "/init"),
            (
                "<command-name>/x</command-name><command-args> be brief </command-args>",
                Role::User,
                Kind::Prose,
                "be brief",
            ),
            ("<command-name>/x</command-name><command-args></command-args>", Role::System, Kind::Context, ""),
            ("<bash-input> ls -l</bash-input>", Role::User, Kind::ToolCall, "Bash ls -l"),
            ("<bash-stdout>a</bash-stdout><bash-stderr></bash-stderr>", Role::Tool, Kind::ToolResult, ""),
            ("<local-command-stdout>ok</local-command-stdout>", Role::System, Kind::Context, ""),
            ("<task-notification>done</task-notification>", Role::System, Kind::Context, ""),
            ("[Request interrupted by user for tool use]", Role::System, Kind::Context, ""),
            ("Caveat: The messages below were generated", Role::System, Kind::Context, ""),
            ("<teammate-message id=\"a\">hi</teammate-message>", Role::Other, Kind::Prose, ""),
            ("This session is being continued from a previous conversation that", Role::System, Kind::Summary, ""),
        ];
        for (text, role, kind, kept) in table {
            let kept = if kept.is_empty() { text } else { kept };
            assert_eq!(classify(text), (role, kind, kept.to_owned()));
        }
    }

    #[test]
    fn words_said_on_refusing_a_call_are_found() {
        let answer =
            "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user said:\nuse pnpm";
        assert_eq!(refusal_words(answer).as_deref(), Some("use pnpm"));
        assert_eq!(refusal_words("then the user said: hi"), None);
    }
}
