//! `history.jsonl`: what was typed, in all threads, without the answers.

use std::collections::HashSet;

use serde_json::Value;

use super::{NAME, item};
use crate::injected::slash_command;
use crate::parts::call_on;
use crate::prompts::{Prompt, Prompts};
use crate::{IngestError, Input, Records, Sink, identity};
use crate::{Kind, Message, MessageTime, Role};

/// Length of a thread's id, which ends the name of its rollout.
const ID_LENGTH: usize = 36;

/// Whether `line` is an entry of the history.
pub(super) fn is_entry(line: &Value) -> bool {
    line["session_id"].is_string() && line["ts"].is_number() && line["text"].is_string() && line.get("type").is_none()
}

/// Reads the history; prompts of a thread whose rollout is kept beside it are left to that.
pub(super) fn read(input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let rollouts = ["sessions", "archived_sessions"].into_iter().flat_map(|folder| input.names_beside(folder));
    let logged: HashSet<String> = rollouts.filter_map(|name| named_thread(&name)).collect();
    let mut prompts = Prompts::new(NAME, &input, logged);
    let mut records = Records::lines(input);
    while let Some((number, entry)) = records.next_json::<Value>(sink)? {
        let (Some(session), true) = (entry["session_id"].as_str(), is_entry(&entry)) else {
            sink.skip(number, "not an entry of the history");
            continue;
        };
        let time = identity::instant(&entry["ts"]).map(MessageTime::logged);
        for message in messages(entry["text"].as_str().unwrap_or_default()) {
            let message = Message { time, ..message };
            prompts.take(number, Prompt { session, key: session, project: None, message }, sink);
        }
    }
    prompts.finish(sink);
    Ok(())
}

fn messages(text: &str) -> Vec<Message> {
    match slash_command(text) {
        Some((name, argument)) => {
            let call = call_on(&format!("/{name}"), argument);
            vec![Message { kind: Kind::ToolCall, ..Message::prose(Role::User, call) }]
        }
        None => item::user_words(text),
    }
}

/// Returns the thread's id in a name such as `2026/01/02/rollout-2026-01-02T03-04-05-<id>.jsonl.zst`.
fn named_thread(name: &str) -> Option<String> {
    let stem = name.rsplit('/').next()?.split('.').next()?;
    let id = stem.get(stem.len().checked_sub(ID_LENGTH)?..)?;
    uuid::Uuid::try_parse(id).ok().map(|_| id.to_owned())
}
