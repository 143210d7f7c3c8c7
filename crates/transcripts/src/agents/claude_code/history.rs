//! `history.jsonl`: what was typed, in all projects, without the answers.

use std::collections::HashSet;

use serde_json::Value;

use super::{NAME, words};
use crate::injected::slash_command;
use crate::prompts::{Prompt, Prompts};
use crate::{IngestError, Input, Records, Sink, identity};
use crate::{Kind, Message, MessageTime, Role};

/// Whether `line` is an entry of the history.
pub(super) fn is_entry(line: &Value) -> bool {
    line["display"].is_string() && line["timestamp"].is_number() && line.get("type").is_none()
}

/// Reads the history; prompts of a session whose log is kept beside it are left to that.
pub(super) fn read(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let logs = input.names_beside("projects");
    let stem = |name: &String| name.rsplit('/').next().and_then(|name| name.strip_suffix(".jsonl")).map(str::to_owned);
    let mut prompts = Prompts::new(NAME, &input, logs.iter().filter_map(stem).collect::<HashSet<_>>());
    let mut records = Records::lines(input);
    while let Some((number, entry)) = records.next_json::<Value>(sink)? {
        if !is_entry(&entry) {
            sink.skip(number, "not an entry of the history");
            continue;
        }
        let project = entry["project"].as_str();
        // Entries from before they named their session are kept together by project.
        let session = entry["sessionId"]
            .as_str()
            .map_or_else(|| identity::of_parts(&[project.unwrap_or_default()]), str::to_owned);
        for message in messages(&entry) {
            prompts.take(number, Prompt { session: &session, key: &session, project, message }, sink);
        }
    }
    prompts.finish(sink);
    Ok(())
}

/// Returns what was typed, and the texts that were pasted into it.
fn messages(entry: &Value) -> Vec<Message> {
    let display = entry["display"].as_str().unwrap_or_default();
    // As in a session's log, of a command its arguments are the user's words.
    let words = slash_command(display).map(|(_, argument)| argument).filter(|argument| !argument.is_empty());
    let (role, kind, text) = words::classify(words.unwrap_or(display));
    let pasted = entry["pastedContents"].as_object().into_iter().flat_map(|pasted| pasted.values());
    let pasted = pasted.filter_map(|pasted| pasted["content"].as_str().filter(|_| pasted["type"] == "text"));
    let pasted = pasted.map(|text| Message { kind: Kind::Context, ..Message::prose(Role::User, text) });
    let time = identity::instant(&entry["timestamp"]).map(MessageTime::logged);
    std::iter::once(Message { kind, ..Message::prose(role, text) })
        .chain(pasted)
        .map(|message| Message { time, ..message })
        .collect()
}
