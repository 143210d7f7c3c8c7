//! Sessions of Continue: one JSON object per session, with an index in the same folder that contains their start times.

use std::collections::HashSet;

use serde_json::Value;

use crate::agents::turn;
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{address_name, file_label, without_data};
use crate::{
    Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink, folder_path,
};

/// Name of the format, stored with each transcript.
const NAME: &str = "continue";

/// Reads sessions of Continue.
pub(crate) struct Continue;

impl Ingestor for Continue {
    named!(NAME);

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.document.as_ref().is_some_and(is_session)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (origin, index) = (input.path.display().to_string(), input.sibling("sessions.json"));
        let of_file = identity::file_time(&input);
        let mut records = Records::elements(input);
        while let Some((number, session)) = records.next_json::<Value>(sink)? {
            let (Some(id), Some(history)) = (session["sessionId"].as_str(), session["history"].as_array()) else {
                sink.skip(number, "not a session");
                continue;
            };
            let mut draft = Assembler::new(NAME, id, origin.as_str());
            let began = index.as_ref().and_then(|index| began(index, id));
            let meta = draft.meta();
            meta.title = session["title"].owned();
            meta.project = session["workspaceDirectory"].text().map(folder_path);
            meta.model = session["chatModelTitle"].owned();
            // Messages have no times, and the modification time of the file is that of the last change.
            let time = began.or(of_file);
            meta.created_at = time.map(|time| time.at);
            let answered = answered(history);
            let messages = history.iter().flat_map(|item| messages(item, &answered));
            draft.extend(messages.map(|message| Message { time, ..message }), sink);
            draft.finish(sink);
        }
        Ok(())
    }
}

fn is_session(value: &Value) -> bool {
    let items = value["history"].list();
    value["sessionId"].is_string() && items.iter().any(|item| item["message"]["role"].is_string())
}

/// Returns the time at which the session called `id` began, according to the index.
fn began(index: &Input, id: &str) -> Option<MessageTime> {
    let head = Head::of(index);
    let entry = head.document.as_ref()?.as_array()?.iter().find(|entry| entry["sessionId"] == id)?;
    Some(MessageTime::logged(identity::instant(&entry["dateCreated"])?).derived())
}

/// Returns the calls whose results are separate messages.
fn answered(history: &[Value]) -> HashSet<&str> {
    let answers = history.iter().map(|item| &item["message"]).filter(|said| said["role"] == "tool");
    answers.filter_map(|said| said["toolCallId"].as_str()).collect()
}

/// Returns the messages in one item of the history: attachments, text, reasoning, calls and results.
fn messages(item: &Value, answered: &HashSet<&str>) -> Vec<Message> {
    let said = &item["message"];
    let (role, kind) = match said["role"].as_str() {
        Some("user") => (Role::User, Kind::Prose),
        Some("assistant") => (Role::Assistant, Kind::Prose),
        Some("thinking") => (Role::Assistant, Kind::Reasoning),
        Some("tool") => (Role::Tool, Kind::ToolResult),
        _ => (Role::System, Kind::Context),
    };
    let mut pieces: Vec<(Role, Kind, String)> = Vec::new();
    pieces.extend(item["reasoning"]["text"].owned().map(|text| (Role::Assistant, Kind::Reasoning, text)));
    pieces.push((role, kind, words(&said["content"])));
    pieces.extend(pictures(&said["content"]).map(|label| (role, Kind::Attachment, label)));
    for context in item["contextItems"].list() {
        let label = context["name"].as_str().or(context["description"].as_str()).unwrap_or_default();
        let content = context["content"].string();
        pieces.push((Role::System, Kind::Context, format!("{label}\n{content}")));
    }
    let states = item["toolCallStates"].list();
    // Older sessions contain one call per item, newer sessions contain a list of calls.
    let states = if states.is_empty() { std::slice::from_ref(&item["toolCallState"]) } else { states };
    let calls = said["toolCalls"].list();
    for call in calls {
        pieces.push((Role::Assistant, Kind::ToolCall, turn::call_of(call).text));
    }
    for state in states.iter().filter(|state| state.is_object()) {
        let id = state["toolCallId"].as_str().or(state["toolCall"]["id"].as_str()).unwrap_or_default();
        if !calls.iter().any(|call| call["id"] == id) {
            pieces.push((Role::Assistant, Kind::ToolCall, turn::call_of(&state["toolCall"]).text));
        }
        // If the result is a separate message, it is read there.
        if !answered.contains(id) {
            let outputs = state["output"].list().iter().filter_map(|output| output["content"].as_str());
            let output = outputs.collect::<Vec<_>>().join("\n");
            pieces.push((Role::Tool, Kind::ToolResult, without_data(&output)));
        }
    }
    pieces.extend(item["conversationSummary"].owned().map(|text| (Role::System, Kind::Summary, text)));
    let id = said["id"].string();
    let message = |(role, kind, text)| Message { id: id.to_owned(), kind, ..Message::prose(role, text) };
    pieces.into_iter().filter(|(.., text)| !text.trim().is_empty()).map(message).collect()
}

fn words(content: &Value) -> String {
    let parts = content.items();
    let texts = parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
    without_data(&texts.collect::<Vec<_>>().join("\n"))
}

fn pictures(content: &Value) -> impl Iterator<Item = String> + '_ {
    let parts = content.list();
    parts.iter().filter(|part| part["type"] == "imageUrl").map(|part| {
        let address = part["imageUrl"]["url"].as_str().or(part["imageUrl"].as_str());
        file_label("image", address.and_then(address_name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::TimeSource;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(path: &std::path::Path) -> Transcript {
        read_input(&Continue, crate::open(path).unwrap()).0.remove(0)
    }

    fn pieces(history: &Value) -> Vec<String> {
        let items = history.as_array().unwrap();
        let show = |message: Message| format!("{:?} {:?}: {}", message.role, message.kind, message.text);
        items.iter().flat_map(|item| messages(item, &answered(items))).map(show).collect()
    }

    #[test]
    fn items_say_words_context_calls_and_answers() {
        let state = |id: &str| json!({"toolCallId": id, "toolCall": {"id": id, "function": {"name": "read_file", "arguments": "{\"filepath\":\"a\",\"path\":\"a.ts\"}"}}, "output": [{"content": "x = 1"}]});
        let history = json!([
            {"message": {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "imageUrl", "imageUrl": {"url": "data:image/png;base64,AAAA"}}]},
             "contextItems": [{"name": "a.ts", "content": "let x"}]},
            {"message": {"role": "thinking", "content": "hm"}},
            {"message": {"role": "assistant", "content": "", "toolCalls": [{"id": "1", "function": {"name": "read_file", "arguments": "{\"path\":\"a.ts\"}"}}]}, "toolCallStates": [state("1"), state("2")]},
            {"message": {"role": "tool", "content": "y = 2", "toolCallId": "2"}},
            {"message": {"role": "assistant", "content": "Done."}, "reasoning": {"text": "so"}, "conversationSummary": "They looked."},
        ]);
        assert_eq!(
            pieces(&history),
            [
                "User Prose: look", "User Attachment: [image]", "System Context: a.ts\nlet x",
                "Assistant Reasoning: hm", "Assistant ToolCall: read_file a.ts", "Tool ToolResult: x = 1",
                "Assistant ToolCall: read_file a.ts", "Tool ToolResult: y = 2", "Assistant Reasoning: so",
                "Assistant Prose: Done.", "System Summary: They looked.",
            ]
        );
    }

    #[test]
    fn the_index_beside_it_tells_when_the_session_began() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("c1.json");
        let session = json!({"sessionId": "c1", "title": "Tabs", "workspaceDirectory": "file:///d%3A/li%20na/%E8%8C%B6",
            "history": [{"message": {"role": "user", "content": "hi"}}]});
        std::fs::write(&path, session.to_string()).unwrap();
        assert_eq!(read(&path).messages[0].time.unwrap().source, TimeSource::File);
        let index =
            json!([{"sessionId": "c0", "dateCreated": "1"}, {"sessionId": "c1", "dateCreated": "1770641100123"}]);
        std::fs::write(folder.path().join("sessions.json"), index.to_string()).unwrap();
        let seen = read(&path);
        assert_eq!(seen.project.as_deref(), Some("d:/li na/茶"));
        let time = seen.messages[0].time.unwrap();
        assert_eq!((time.at.as_millisecond(), time.source), (1_770_641_100_123, TimeSource::Derived));
    }

    #[test]
    fn only_sessions_are_recognised() {
        let sniff = |value: Value| Continue.sniff(&Head::new(value.to_string().into(), true));
        assert!(sniff(json!({"sessionId": "x", "history": [{"message": {"role": "user", "content": "hi"}}]})));
        assert!(!sniff(json!({"history": [{"message": {"role": "user", "content": "hi"}}]})));
        assert!(!sniff(json!({"sessionId": "x", "history": [{"role": "user", "parts": []}]})));
    }
}
