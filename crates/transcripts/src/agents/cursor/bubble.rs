//! One bubble of a conversation: what the user typed, or one step of the assistant.

use jiff::Timestamp;
use serde_json::Value;

use crate::agents::turn::{answer, call, message, text, time, user_words};
use crate::parts::{file_label, without_data};
use crate::{Kind, Message, MessageTime, Role};

/// Before Cursor existed: such a time is a count since the program's start.
const EARLIEST: Timestamp = Timestamp::constant(1_577_836_800, 0);

/// Returns the messages in a bubble. `header` is how the conversation lists it, and `tool` the call that older versions
/// keep apart from it; either may be null.
pub(super) fn messages_of(bubble: &Value, header: &Value, tool: &Value) -> Vec<Message> {
    let kind = bubble["type"].as_i64().or_else(|| header["type"].as_i64());
    let mut messages = match kind {
        Some(1) => user(bubble),
        Some(2) => assistant(bubble, tool),
        _ => text(&bubble["text"])
            .map(|words| message(Role::Other, Kind::Context, words))
            .into_iter()
            .collect::<Vec<_>>(),
    };
    // Cursor never showed it to anybody.
    if header["grouping"]["isRenderable"] == false {
        for message in messages.iter_mut().filter(|message| message.kind == Kind::Prose) {
            (message.role, message.kind) = (Role::System, Kind::Context);
        }
    }
    messages
}

fn user(bubble: &Value) -> Vec<Message> {
    let mut messages = text(&bubble["text"]).or_else(|| text(&bubble["rawText"])).map(user_words).unwrap_or_default();
    let images = [&bubble["images"], &bubble["context"]["selectedImages"]];
    for image in images.into_iter().filter_map(Value::as_array).flatten() {
        let path = ["path", "filename", "name"].into_iter().find_map(|key| text(&image[key]));
        let name = path.and_then(|path| path.rsplit(['/', '\\']).next());
        messages.push(message(Role::User, Kind::Attachment, file_label("image", name)));
    }
    messages
}

fn assistant(bubble: &Value, tool: &Value) -> Vec<Message> {
    let thinking = text(&bubble["thinking"]["text"]).or_else(|| text(&bubble["thinking"]));
    let reasoning = thinking.map(|words| message(Role::Assistant, Kind::Reasoning, words));
    let words = text(&bubble["text"]).or_else(|| text(&bubble["rawText"]));
    let spoken = words.map(|words| Message::assistant(without_data(words)));
    let data = if bubble["toolFormerData"].is_object() { &bubble["toolFormerData"] } else { tool };
    let used = if data.is_object() { tool_messages(data) } else { Vec::new() };
    reasoning.into_iter().chain(spoken).chain(used).collect()
}

fn tool_messages(data: &Value) -> Vec<Message> {
    let arguments = [&data["params"], &data["rawArgs"]].into_iter().find(|value| text(value).is_some());
    let mut messages = vec![call(data["name"].as_str().unwrap_or_default(), arguments.unwrap_or(&Value::Null))];
    let failed = text(&data["status"]).filter(|status| matches!(*status, "error" | "cancelled" | "rejected"));
    let told = text(&data["result"]).map(result_text).or_else(|| text(&data["error"]).map(str::to_owned));
    if let Some(told) = told.or_else(|| failed.map(str::to_owned)) {
        messages.push(answer(&told));
    }
    messages
}

/// Returns the output inside a result, which is a text or an object in JSON.
fn result_text(result: &str) -> String {
    let parsed = crate::json::parse::<Value>(result).map_or(Value::Null, |(value, _)| value);
    let output = ["output", "contents", "result"].into_iter().find_map(|key| text(&parsed[key]));
    output.unwrap_or(result).to_owned()
}

/// Returns when a bubble was written: a date in new versions, and counts of milliseconds in older ones.
pub(super) fn time_of(bubble: &Value) -> Option<MessageTime> {
    let timing = &bubble["timingInfo"];
    let counts = ["clientRpcSendTime", "clientSettleTime", "clientEndTime", "clientStartTime"];
    [&bubble["createdAt"]]
        .into_iter()
        .chain(counts.iter().map(|key| &timing[*key]))
        .filter_map(time)
        .find(|time| time.at > EARLIEST)
}
