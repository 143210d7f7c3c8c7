//! The design sessions of a claude.ai export: one file each, with messages wrapped once more.

use serde_json::Value;

use super::blocks::of_blocks;
use crate::assistants::fields::{Clock, list, text, time};
use crate::assistants::rows;
use crate::{Assembler, Head, IngestError, Ingestor, Input, Sink, identity};
use crate::{Kind, Message, Role};

/// Reads design sessions of a claude.ai export.
pub struct ClaudeDesign;

impl Ingestor for ClaudeDesign {
    fn name(&self) -> &'static str {
        "claude-design"
    }

    fn about(&self) -> &'static str {
        "Claude Design session of a claude.ai data export: a file of design_chats"
    }

    fn rule(&self) -> &'static str {
        "a JSON object whose `messages` have a `uuid`, a `role`, and a `content` that holds `content` or `contentBlocks`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_session)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        rows::each(input, sink, |session, origin, number, sink| {
            if session["messages"].is_array() {
                read_session(session, origin, number, sink);
            } else {
                sink.skip(number, "no session: it has no `messages`");
            }
        })
    }
}

fn is_session(value: &Value) -> bool {
    let is_wrapped = |message: &Value| {
        let inner = &message["content"];
        message["uuid"].is_string()
            && message["role"].is_string()
            && (inner.get("content").is_some() || inner.get("contentBlocks").is_some())
    };
    value["uuid"].is_string() && list(&value["messages"]).iter().any(is_wrapped)
}

fn read_session(session: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    let messages = list(&session["messages"]);
    let id = text(&session["uuid"]).unwrap_or_else(|| {
        identity::of_parts(&[&messages.first().map(|message| message["content"].to_string()).unwrap_or_default()])
    });
    let started = time(&session["created_at"]).or_else(|| time(&session["createdAt"]));
    let mut draft = Assembler::new("claude-design", id, origin);
    draft.meta().title = ["title", "name"].into_iter().find_map(|key| text(&session[key]));
    draft.meta().project = text(&session["project"]["name"]);
    draft.meta().created_at = started.map(|time| time.at);
    let mut clock = Clock::starting(started);
    for message in messages {
        let inner = &message["content"];
        let time = clock.next(time(&inner["timestamp"]).or_else(|| time(&message["created_at"])));
        let role = match message["role"].as_str() {
            Some("user") => Role::User,
            Some("assistant") => Role::Assistant,
            Some("system") => Role::System,
            Some(_) | None => Role::Other,
        };
        let speaker = if role == Role::User { text(&inner["authorName"]) } else { None };
        for (kind, text) in said(inner, role, number, sink) {
            let kind = if role == Role::System { Kind::Context } else { kind };
            let role = if kind == Kind::ToolResult { Role::Tool } else { role };
            let id = message["uuid"].as_str().unwrap_or_default().to_owned();
            draft.push(Message { id, kind, time, speaker: speaker.clone(), ..Message::prose(role, text) }, sink);
        }
    }
    draft.finish(sink);
}

/// Returns what stands inside a message: its words, or else its blocks.
fn said(inner: &Value, role: Role, number: usize, sink: &mut Sink<'_>) -> Vec<(Kind, String)> {
    let blocks = if inner["contentBlocks"].is_array() { &inner["contentBlocks"] } else { &inner["content"] };
    let mut said = of_blocks(blocks, role, number, sink);
    if !said.iter().any(|(kind, _)| *kind == Kind::Prose) {
        said.extend(inner["content"].as_str().map(|words| (Kind::Prose, words.to_owned())));
    }
    said
}
