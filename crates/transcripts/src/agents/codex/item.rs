//! One line of a rollout, and the messages in it.

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::message::blocks::{Block, Content, Number, Object, Output, Target, Text};
use crate::message::parts::call_on;
use crate::message::speaker::is_only_injected;
use crate::{Kind, Message, Role};

/// A line: an envelope around an item, or the item itself.
pub(super) type Line = Record<Item>;
/// What the envelope holds.
pub(super) type Item = Record<crate::message::blocks::Nothing>;

/// The fields of an item, whichever its type; what is missing or of a wrong type is empty.
#[derive(Debug, Default, Deserialize)]
#[serde(default, bound(deserialize = "P: Default + DeserializeOwned"))]
pub(super) struct Record<P> {
    #[serde(rename = "type")]
    pub(super) kind: Text,
    pub(super) timestamp: Text,
    pub(super) payload: Object<P>,
    #[serde(rename = "record_type")]
    pub(super) state: Text,
    // The head of a thread.
    pub(super) id: Text,
    pub(super) cwd: Text,
    pub(super) git: Object<Git>,
    source: Object<Source>,
    pub(super) forked_from_id: Text,
    parent_thread_id: Text,
    pub(super) memory_mode: Text,
    instructions: Output,
    base_instructions: Output,
    // The context of a turn.
    pub(super) model: Text,
    pub(super) timezone: Text,
    user_instructions: Output,
    // Items and events.
    role: Text,
    content: Content,
    name: Text,
    arguments: Text,
    input: Text,
    action: Target,
    output: Output,
    summary: Output,
    message: Text,
    text: Text,
    pub(super) num_turns: Number,
    pub(super) started_at: Number,
    pub(super) thread_name: Text,
}

/// The repository in which a thread was held.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Git {
    pub(super) repository_url: Text,
}

/// What started a thread, where that is no plain word such as `cli`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Source {
    subagent: Option<Object<Subagent>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Subagent {
    thread_spawn: Object<Spawn>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Spawn {
    parent_thread_id: Text,
}

/// The end of the preamble that an editor puts before what the user typed.
const EDITOR_PREAMBLE_END: &str = "## My request for Codex:";
const BOOT_FILE: &str = "# AGENTS.md instructions for";

impl<P> Record<P> {
    /// Whether another agent, not a person, started the thread and writes its prompts.
    pub(super) fn is_agents(&self) -> bool {
        self.source.0.as_ref().is_some_and(|source| source.subagent.is_some())
    }

    /// Returns the thread by which this one was started.
    pub(super) fn parent_id(&self) -> Option<String> {
        let spawned = || {
            let subagent = self.source.0.as_ref()?.subagent.as_ref()?;
            subagent.0.as_ref()?.thread_spawn.0.as_ref()?.parent_thread_id.0.clone()
        };
        self.parent_thread_id.0.clone().or_else(spawned)
    }

    /// Returns the instructions that the thread, or a turn of it, was given beside what was said.
    pub(super) fn instructions(&self) -> Vec<Message> {
        let given = [&self.base_instructions, &self.instructions, &self.user_instructions];
        let filled = given.into_iter().filter(|text| !text.0.trim().is_empty());
        filled.map(|text| Message::new(Role::System, Kind::Context, text.0.clone())).collect()
    }

    /// Returns what a compaction leaves of the messages before it.
    pub(super) fn take_summary(&mut self) -> Message {
        Message::new(Role::System, Kind::Summary, self.message.0.take().unwrap_or_default())
    }

    /// Takes the messages out of an item that was meant for the model.
    pub(super) fn take_item(&mut self) -> Vec<Message> {
        match self.kind.as_str() {
            "message" => self.take_message(),
            "reasoning" => vec![Message::new(Role::Assistant, Kind::Reasoning, take(&mut self.summary))],
            "function_call" => {
                let target = serde_json::from_str::<Target>(self.arguments.as_str()).unwrap_or_default();
                self.call(&target.0)
            }
            "custom_tool_call" => self.call(patched_file(self.input.as_str())),
            "local_shell_call" => vec![call("shell", &self.action.0)],
            "web_search_call" => vec![call("web_search", &self.action.0)],
            "function_call_output" | "custom_tool_call_output" | "local_shell_call_output" => {
                vec![Message::new(Role::Tool, Kind::ToolResult, take(&mut self.output))]
            }
            _ => Vec::new(),
        }
    }

    /// Takes the messages out of an event that was meant for the screen.
    pub(super) fn take_event(&mut self) -> Vec<Message> {
        let words = || self.message.0.clone().or(self.text.0.clone()).unwrap_or_default();
        match self.kind.as_str() {
            "user_message" => user_words(&words()),
            "agent_message" => vec![Message::new(Role::Assistant, Kind::Prose, words())],
            "agent_reasoning" => vec![Message::new(Role::Assistant, Kind::Reasoning, words())],
            _ => Vec::new(),
        }
    }

    fn call(&self, target: &str) -> Vec<Message> {
        vec![call(self.name.as_str(), target)]
    }

    fn take_message(&mut self) -> Vec<Message> {
        let blocks = std::mem::take(&mut self.content.0);
        match self.role.as_str() {
            "user" => blocks.into_iter().flat_map(user_block).collect(),
            "assistant" => blocks.into_iter().flat_map(|block| plain(block, Role::Assistant, Kind::Prose)).collect(),
            _ => blocks.into_iter().flat_map(|block| plain(block, Role::System, Kind::Context)).collect(),
        }
    }
}

fn user_block(block: Block) -> Vec<Message> {
    match &block.text.0 {
        Some(text) => user_words(text),
        None => plain(block, Role::User, Kind::Attachment),
    }
}

/// Tells what the user typed from what was put around it.
pub(super) fn user_words(text: &str) -> Vec<Message> {
    if let Some((preamble, words)) = text.split_once(EDITOR_PREAMBLE_END) {
        return vec![
            Message::new(Role::System, Kind::Context, preamble.to_owned()),
            Message::new(Role::User, Kind::Prose, words.to_owned()),
        ];
    }
    if text.trim_start().starts_with(BOOT_FILE) || is_only_injected(text) {
        return vec![Message::new(Role::System, Kind::Context, text.to_owned())];
    }
    vec![Message::user(text)]
}

fn plain(block: Block, role: Role, kind: Kind) -> Vec<Message> {
    let text = block.text.0.map(|text| Message::new(role, kind, text));
    let attachment = block.attachment.map(|name| Message::new(role, Kind::Attachment, name));
    text.into_iter().chain(attachment).collect()
}

/// Returns the file that a patch begins with, or the first line of any other input.
fn patched_file(input: &str) -> &str {
    let files = ["*** Add File: ", "*** Update File: ", "*** Delete File: "];
    let named = input.lines().find_map(|line| files.iter().find_map(|prefix| line.strip_prefix(prefix)));
    named.or_else(|| input.lines().find(|line| !line.trim().is_empty())).unwrap_or_default()
}

fn call(name: &str, target: &str) -> Message {
    Message::new(Role::Assistant, Kind::ToolCall, call_on(name, target))
}

fn take(output: &mut Output) -> String {
    std::mem::take(&mut output.0)
}
