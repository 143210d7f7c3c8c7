//! One line of a session log, and the messages that it contains.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use crate::json::Json;
use crate::message::blocks::{attachment, kind, output, target, words};
use crate::message::identity;
use crate::message::parts::call_on;
use crate::message::program;
use crate::message::speaker::{between, is_only_injected, slash_command};
use crate::{Kind, Message, MessageTime, Role};

/// The fields of a line that the reader uses; missing fields are null.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Line {
    #[serde(rename = "type")]
    pub(super) kind: Value,
    subtype: Value,
    pub(super) uuid: Value,
    pub(super) parent_uuid: Value,
    session_id: Value,
    forked_from: Value,
    pub(super) agent_id: Value,
    timestamp: Value,
    pub(super) cwd: Value,
    pub(super) git_branch: Value,
    is_meta: Value,
    pub(super) is_sidechain: Value,
    prompt_source: Value,
    entrypoint: Value,
    origin: Value,
    is_compact_summary: Value,
    is_visible_in_transcript_only: Value,
    is_api_error_message: Value,
    // This field is often the largest, as it repeats whole files; only its presence matters.
    tool_use_result: Option<IgnoredAny>,
    message: Value,
    pub(super) operation: Value,
    content: Value,
    attachment: Value,
    pub(super) summary: Value,
    pub(super) leaf_uuid: Value,
    pub(super) custom_title: Value,
    pub(super) agent_name: Value,
    pub(super) ai_title: Value,
    pr_url: Value,
    pr_repository: Value,
}

/// The type of a line in the user's turn, determined before the text is examined.
enum Carrier {
    Typed,
    Injected,
    Compacted,
    Agent,
    ToolAnswer,
}

impl Line {
    /// Returns whether the line is in the log of a sub-agent.
    pub(super) fn is_agents_own(&self) -> bool {
        self.is_sidechain == true && self.agent_id.text().is_some()
    }

    /// Returns the session in which the line was written. For a line that a fork copied, it is the original session.
    pub(super) fn session(&self) -> Option<&str> {
        self.forked_from["sessionId"].text().or_else(|| self.session_id.text())
    }

    /// Returns whether the line is in the journal of a workflow, which records when agents started and ended.
    pub(super) fn is_journal(&self) -> bool {
        matches!(self.kind.string(), "started" | "result") && self.agent_id.text().is_some()
    }

    /// Returns the time at which the line was written.
    pub(super) fn time(&self) -> Option<MessageTime> {
        identity::rfc3339(&self.timestamp)
    }

    /// Returns the URL of the repository in which the session opened a pull request, if the line records one.
    pub(super) fn linked_repository(&self) -> Option<String> {
        let name = self.pr_repository.text();
        // The URL also contains the host, which need not be github.com.
        let of_url = || {
            let url = self.pr_url.text()?;
            let end = match name {
                Some(name) => url.find(name)? + name.len(),
                None => ["/pull/", "/-/merge_requests/"].iter().find_map(|mark| url.find(mark))?,
            };
            Some(url[..end].to_owned())
        };
        of_url().or_else(|| Some(format!("https://github.com/{}", name?)))
    }

    /// Returns the model that wrote the line, if the author is a model.
    pub(super) fn model(&self) -> Option<&str> {
        self.message["model"].text().filter(|model| *model != "<synthetic>" && self.is_sidechain != true)
    }

    /// Returns the content of a queue operation: a message of the user, a command without arguments, or a note of the
    /// program.
    pub(super) fn queued(&self) -> Message {
        classify(&output(&self.content))
    }

    /// Returns the command in the line, as it was typed.
    pub(super) fn typed_command(&self) -> Option<String> {
        let blocks = self.message["content"].items().iter().filter(|_| self.kind == "user");
        blocks.filter_map(words).find_map(typed_command)
    }

    /// Returns whether the line should contain a message but contains none that is readable.
    pub(super) fn is_broken(&self) -> bool {
        matches!(self.kind.string(), "user" | "assistant") && !self.message.is_object()
    }

    /// Returns whether the line is a typed prompt. A second prompt that follows the same line indicates a rewind.
    pub(super) fn is_prompt(&self) -> bool {
        self.kind == "user" && matches!(self.carrier(), Carrier::Typed)
    }

    /// Returns the messages in the line, in block order; the caller sets their ids and times.
    pub(super) fn messages(&self) -> Vec<Message> {
        match self.kind.string() {
            "user" => self.user_messages(),
            "assistant" => self.assistant_messages(),
            "system" if self.subtype == "away_summary" => vec![Message::summary(output(&self.content))],
            // Queued and typed text is handled by the session; everything else is bookkeeping or unknown.
            "system" | "queue-operation" => vec![Message::context(output(&self.content))],
            "summary" => self.blocks().flat_map(|block| prose(block, Role::System, Kind::Summary)).collect(),
            "attachment" => self.attached_messages(),
            _ => Vec::new(),
        }
    }

    fn blocks(&self) -> impl Iterator<Item = &Value> {
        self.message["content"].items().iter()
    }

    fn carrier(&self) -> Carrier {
        // The order matters: a summary after a compaction is also marked as visible only in the transcript.
        if self.is_compact_summary == true {
            Carrier::Compacted
        } else if self.is_meta == true || self.is_visible_in_transcript_only == true {
            Carrier::Injected
        } else if self.is_sidechain == true || self.is_by_program() {
            Carrier::Agent
        } else if self.blocks().any(|block| kind(block) == "tool_result") {
            Carrier::Injected
        } else if self.tool_use_result.is_some() {
            Carrier::ToolAnswer
        } else {
            Carrier::Typed
        }
    }

    /// Returns whether another program, rather than a person, wrote the prompt.
    fn is_by_program(&self) -> bool {
        let (kind, entrypoint) = (self.origin["kind"].string(), self.entrypoint.string());
        // The editor extension, the desktop app and phones start the agent through its SDK, so what people type there has
        // the source `sdk`, too. Programs write the entry points `sdk-py`, `sdk-ts` and `sdk-cli`, and the action of
        // GitHub starts the agent with a prompt from a workflow.
        let is_of_program = entrypoint.starts_with("sdk") || entrypoint == "claude-code-github-action";
        let is_typed_elsewhere = ["claude-", "remote"].iter().any(|start| entrypoint.starts_with(start));
        match (kind, self.prompt_source.string()) {
            ("human", _) => false,
            ("", "system") => true,
            ("", source) => is_of_program || source == "sdk" && !is_typed_elsewhere,
            _ => true,
        }
    }

    fn user_messages(&self) -> Vec<Message> {
        let carrier = self.carrier();
        let read = |block| match (kind(block), &carrier, words(block)) {
            ("tool_result", ..) => tool_answer(block),
            (_, Carrier::Typed, Some(text)) => vec![classify(text)],
            (_, Carrier::Typed, None) => prose(block, Role::User, Kind::Prose),
            (_, Carrier::Injected, _) => prose(block, Role::System, Kind::Context),
            (_, Carrier::Compacted, _) => prose(block, Role::System, Kind::Summary),
            (_, Carrier::Agent, text) => {
                let kind = if is_typed(text.unwrap_or_default()) { Kind::Prose } else { Kind::Context };
                prose(block, Role::Other, kind)
            }
            (_, Carrier::ToolAnswer, _) => prose(block, Role::Tool, Kind::ToolResult),
        };
        self.blocks().flat_map(read).collect()
    }

    fn assistant_messages(&self) -> Vec<Message> {
        let role = if self.is_sidechain == true { Role::Other } else { Role::Assistant };
        // Text that the program writes on the model's behalf: API errors, and answers to its own commands.
        let is_programs = self.is_api_error_message == true || self.message["model"] == "<synthetic>";
        let spoken = if is_programs { Kind::Context } else { Kind::Prose };
        let read = |block| match kind(block) {
            "tool_use" | "server_tool_use" | "mcp_tool_use" => {
                let (tool, input) = (block["name"].string(), &block["input"]);
                let call = Message::new(role, Kind::ToolCall, call_on(tool, &target(input)));
                vec![call.doing(tool, input).called(block["id"].text())]
            }
            "thinking" => prose(block, role, Kind::Reasoning),
            kind if kind.ends_with("tool_result") => tool_answer(block),
            _ => prose(block, role, spoken),
        };
        self.blocks().flat_map(read).collect()
    }

    fn attached_messages(&self) -> Vec<Message> {
        let attached = &self.attachment;
        if attached["type"] == "queued_command" {
            let message = classify(&output(&attached["prompt"]));
            let role = if self.is_sidechain == true { Role::Other } else { message.role };
            return vec![Message { role, ..message }];
        }
        let shown = [&attached["content"], &attached["stdout"], &attached["stderr"]].map(output).into_iter();
        let blocking = attached["blockingError"]["blockingError"].string().to_owned();
        let mut texts = shown.chain([blocking]).filter(|text| !text.trim().is_empty());
        texts.next().map(Message::context).into_iter().collect()
    }
}

/// Returns a tool result.
fn tool_answer(block: &Value) -> Vec<Message> {
    let answer = Message::answer(output(&block["content"]));
    vec![answer.ending(block["tool_use_id"].text(), block["is_error"].as_bool())]
}

/// Returns the text of a block, or a placeholder if it is an image.
fn prose(block: &Value, role: Role, kind: Kind) -> Vec<Message> {
    let text = words(block).map(|text| Message::new(role, kind, text));
    let label = attachment(block).map(|label| Message::new(role, Kind::Attachment, label));
    text.into_iter().chain(label).collect()
}

// Classifies the text in a user's turn as typed by a person or written by the program.

/// Prefixes of the notes that the program writes in the user's turn.
const NOTES: &[&str] =
    &["Caveat: The messages below", "[Request interrupted by user", "<local-command-", "<task-notification>"];
const CONTINUATION: &str = "This session is being continued from a previous conversation";

/// Classifies text in the user's turn and returns the part that belongs to the conversation.
///
/// The arguments of a slash command are the user's words, unless the command is about memories; a command without
/// arguments contains none.
pub(crate) fn classify(text: &str) -> Message {
    let text = text.trim();
    if let Some(command) = program::memory_command(&typed_command(text).unwrap_or_else(|| text.to_owned())) {
        command
    } else if is_command(text) {
        match between(text, "command-args").filter(|arguments| !arguments.is_empty()) {
            Some(arguments) => Message::user(arguments),
            None => Message::context(text),
        }
    } else if let Some(command) = between(text, "bash-input").filter(|_| text.starts_with("<bash-input>")) {
        Message::new(Role::User, Kind::ToolCall, call_on("Bash", command))
    } else if text.starts_with("<bash-stdout>") || text.starts_with("<bash-stderr>") {
        Message::answer(text)
    } else if text.starts_with("<teammate-message") {
        Message::prose(Role::Other, text)
    } else if text.starts_with(CONTINUATION) {
        Message::summary(text)
    } else if is_typed(text) {
        Message::user(text)
    } else {
        Message::context(text)
    }
}

/// Returns the command as it was typed, from `text`, in which the program encloses it in tags.
pub(super) fn typed_command(text: &str) -> Option<String> {
    let name = between(text, "command-name").filter(|_| is_command(text.trim()))?;
    Some(format!("{name} {}", between(text, "command-args").unwrap_or_default()))
}

fn is_command(text: &str) -> bool {
    text.starts_with("<command-name>") || text.starts_with("<command-message>")
}

/// Returns whether `text` was typed, rather than a note of the program, an injected block or a slash command without
/// arguments.
pub(super) fn is_typed(text: &str) -> bool {
    let text = text.trim();
    // A message that mixes a reminder with other text was typed; a message that contains only a reminder was not.
    !NOTES.iter().any(|note| text.starts_with(note)) && !is_only_injected(text) && !is_bare_command(text)
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
            (
                "<command-message>remember</command-message><command-name>/remember</command-name><command-args>--global I \
                 prefer tabs</command-args>",
                Role::User,
                Kind::ToolCall,
                "/remember --global I prefer tabs",
            ),
            ("/forget We use Heroku.", Role::User, Kind::ToolCall, ""),
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
            assert_eq!(classify(text), Message::new(role, kind, kept));
        }
    }
}
