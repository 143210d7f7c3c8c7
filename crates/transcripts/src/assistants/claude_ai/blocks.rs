//! What one message of a claude.ai conversation says, block by block.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

use super::words;
use crate::Sink;
use crate::assistants::fields::{self, list};
use crate::parts::{call_line, file_label, without_data};
use crate::{Kind, Message, MessageTime, Role};

/// Stands in `text` for each block that is no text.
const UNSUPPORTED: &str = "```\nThis block is not supported on your current device yet.\n```";
/// Blocks that hold nothing to read.
const EMPTY_BLOCKS: &[&str] = &["token_budget", "flag"];

/// Returns what `message` says, at `time`: a message for each of its blocks, and for each file.
#[must_use]
pub fn messages_of(message: &Value, time: Option<MessageTime>, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let role = match message["sender"].as_str() {
        Some("human") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) | None => Role::Other,
    };
    let mut said = of_blocks(&message["content"], role, number, sink);
    if !said.iter().any(|(kind, text)| *kind == Kind::Prose && !text.trim().is_empty()) {
        let fallback = message["text"].as_str().or_else(|| message["content"].as_str()).unwrap_or_default();
        said.extend(of_text(fallback));
    }
    said.extend(files(message));
    let id = message["uuid"].as_str().unwrap_or_default();
    fields::messages(id, role, time, said)
}

/// Returns what each of the blocks of `content` says; words that a citation split are joined again.
pub fn of_blocks(content: &Value, role: Role, number: usize, sink: &mut Sink<'_>) -> Vec<(Kind, String)> {
    let mut said = Vec::new();
    for block in list(content) {
        let field = |name: &str| block[name].as_str().unwrap_or_default();
        match block["type"].as_str().unwrap_or_default() {
            "text" => said.extend(of_text(field("text"))),
            "voice_note" if role == Role::User => said.push((Kind::Prose, field("text").to_owned())),
            "voice_note" => said.push((Kind::Prose, format!("{}\n{}", field("title"), field("text")))),
            "thinking" => said.push((Kind::Reasoning, field("thinking").to_owned())),
            "tool_use" => said.push((Kind::ToolCall, call(block))),
            "tool_result" => said.push((Kind::ToolResult, without_data(&words(&block["content"])))),
            "image" | "document" => {
                let name = block["file_name"].as_str().or_else(|| block["title"].as_str());
                said.push((Kind::Attachment, file_label(field("type"), name)));
            }
            kind if EMPTY_BLOCKS.contains(&kind) => {}
            _ => sink.skip(number, "a block of a kind that is not known"),
        }
    }
    said.dedup_by(|(kind, text), (kind_before, before)| {
        let goes_on = (*kind, *kind_before) == (Kind::Prose, Kind::Prose);
        if goes_on {
            before.push('\n');
            before.push_str(text);
        }
        goes_on
    });
    said
}

/// Returns a call as one line; of a document that the assistant writes, its title.
fn call(block: &Value) -> String {
    let (tool, input) = (block["name"].as_str().unwrap_or("tool"), &block["input"]);
    match input["title"].as_str().or_else(|| input["id"].as_str()) {
        Some(title) if tool.contains("artifact") => call_line(tool, title),
        Some(_) | None => call_line(tool, &input.to_string()),
    }
}

/// Splits words from the reasoning and the documents that older answers carry in tags of their own.
fn of_text(text: &str) -> Vec<(Kind, String)> {
    static THOUGHTS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("(?s)<antThinking>(.*?)</antThinking>").expect("the pattern is constant"));
    static DOCUMENTS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("(?s)<antArtifact\\b([^>]*)>.*?(?:</antArtifact>|\\z)").expect("the pattern is constant")
    });
    static TITLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("title=\"([^\"]*)\"").expect("the pattern is constant"));
    let thoughts: Vec<&str> = THOUGHTS.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let spoken = THOUGHTS.replace_all(text, "");
    let spoken = DOCUMENTS.replace_all(&spoken, |found: &Captures<'_>| {
        let title = TITLE.captures(&found[1]).map(|title| title[1].to_owned());
        file_label("artifact", title.as_deref())
    });
    let thought = (!thoughts.is_empty()).then(|| (Kind::Reasoning, thoughts.join("\n")));
    thought.into_iter().chain([(Kind::Prose, spoken.replace(UNSUPPORTED, ""))]).collect()
}

/// Returns a placeholder for each file, and behind it what was read out of the file, which nobody said.
fn files(message: &Value) -> Vec<(Kind, String)> {
    let mut said = Vec::new();
    for field in ["attachments", "files", "files_v2"] {
        for file in list(&message[field]) {
            let name = file["file_name"].as_str().or_else(|| file.as_str());
            let label = (Kind::Attachment, file_label(noun(name.unwrap_or_default()), name));
            if !said.contains(&label) {
                said.push(label);
            }
            said.extend(file["extracted_content"].as_str().map(|text| (Kind::Context, text.to_owned())));
        }
    }
    said
}

fn noun(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    if ["png", "jpg", "jpeg", "gif", "webp", "heic"].contains(&ending.as_str()) { "image" } else { "file" }
}
