//! The Grok data export: all conversations in one object, with their responses as trees.

use serde_json::Value;

use crate::assistants::export::{self, Node};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{file_label, without_data};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, MessageTime, Records, Role, Sink};

/// Reads the Grok data export.
pub(crate) struct Grok;

impl Ingestor for Grok {
    named!("grok");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_ours = |one: &Value| one["conversation"].is_object() && one["responses"].is_array();
        head.objects().any(|value| value["conversations"].list().iter().any(is_ours))
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let mut records = Records::elements_of(input, &["conversations"]);
        while let Some((number, one)) = records.next_json::<Value>(sink)? {
            read_conversation(&one, format!("{path}#{number}"), number, sink);
        }
        Ok(())
    }
}

fn read_conversation(one: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    let Some(rows) = one["responses"].as_array() else {
        return sink.skip(number, "not a conversation: `responses` is missing");
    };
    let meta = &one["conversation"];
    if meta["temporary"] == true {
        return sink.skip(number, "marked `temporary`, so none of it is kept");
    }
    // Some exports wrap each response in another object.
    let rows = rows.iter().map(|row| if row["response"].is_object() { &row["response"] } else { row });
    let responses: Vec<&Value> = rows.filter(|row| row.is_object()).collect();
    let said = shown(&responses, number, sink);
    let id = meta["id"].owned().or_else(|| meta["conversation_id"].owned()).unwrap_or_else(|| {
        let first = said.first().map(|message| message["message"].to_string()).unwrap_or_default();
        identity::of_parts(&[&meta["create_time"].to_string(), &first])
    });
    let mut draft = Assembler::new("grok", id, origin);
    draft.meta().title = meta["title"].owned();
    draft.meta().model = said.iter().rev().find_map(|message| message["model"].owned());
    draft.start_at(time(&meta["create_time"]));
    for response in said {
        let time = draft.next_time(time(&response["create_time"]));
        let messages = messages_of(response);
        if messages.is_empty() {
            sink.skip(number, "a response whose sender is not known");
        }
        draft.push_all(id_of(response), time, messages, sink);
    }
    draft.finish(sink);
}

/// Returns the responses of the branch that ends in the newest one, or all responses if no response contains a parent
/// id.
fn shown<'a>(responses: &[&'a Value], number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    if !responses.iter().any(|response| response["parent_response_id"].is_string()) {
        return responses.to_vec();
    }
    let node = |place: usize, response: &'a Value| Node {
        id: id_of(response),
        parent: response["parent_response_id"].as_str(),
        // The first response has no parent; a response whose parent is missing follows the previous response.
        before: place.checked_sub(1).filter(|_| response["parent_response_id"].is_string()),
        time: time(&response["create_time"]).map(|time| time.at),
    };
    let is_users = |response: &Value| role_of(response) == Some(Role::User);
    export::branch(responses, node, &Value::Null, is_users, (number, sink))
}

fn id_of(response: &Value) -> &str {
    ["_id", "response_id", "id"].into_iter().find_map(|field| response[field].as_str()).unwrap_or_default()
}

/// Reads a time in text form, or the number that the database format wraps in two objects.
fn time(value: &Value) -> Option<MessageTime> {
    // The export is a dump of the database in extended JSON.
    let wrapped = &value["$date"];
    [&wrapped["$numberLong"], wrapped, value].into_iter().find_map(identity::stamp)
}

fn role_of(response: &Value) -> Option<Role> {
    match response["sender"].as_str()?.to_lowercase().as_str() {
        "human" | "user" => Some(Role::User),
        "assistant" | "grok" => Some(Role::Assistant),
        _ => None,
    }
}

/// Returns the messages in a response; none if its sender is unknown.
fn messages_of(response: &Value) -> Vec<Message> {
    let Some(role) = role_of(response) else { return Vec::new() };
    let traces = response["agent_thinking_traces"].list().iter().filter_map(|trace| {
        trace.as_str().or_else(|| ["thinking_trace", "text"].into_iter().find_map(|field| trace[field].as_str()))
    });
    let thoughts = traces.chain(response["thinking_trace"].as_str()).collect::<Vec<_>>().join("\n");
    let files = response["file_attachments"].list().iter().map(|file| {
        let label = file_label("file", file["file_name"].as_str().or_else(|| file["name"].as_str()));
        (Kind::Attachment, label)
    });
    let words = without_marks(response["message"].string());
    export::messages(role, [(Kind::Reasoning, thoughts), (Kind::Prose, without_data(&words))].into_iter().chain(files))
}

/// Removes the marks of citations and cards.
fn without_marks(text: &str) -> String {
    // The alternative for the self-closing tag comes first; otherwise, the regex would scan to the end of the text for
    // each such tag.
    patterns! {
        MARKS = r"(?s)<grok:render\b[^>]*/>|<grok:render\b[^>]*>.*?</grok:render>";
    }
    MARKS.replace_all(text, "").into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(conversations: &Value) -> (Vec<Transcript>, Vec<String>) {
        let export = json!({"projects": [], "conversations": conversations, "tasks": []}).to_string();
        let (seen, skipped) = read_input(&Grok, Input::from_text("prod-grok-backend.json", &export));
        (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
    }

    fn response(id: &str, parent: Option<&str>, sender: &str, millis: u64) -> Value {
        json!({"response": {"_id": id, "parent_response_id": parent, "sender": sender, "message": id,
            "create_time": {"$date": {"$numberLong": millis.to_string()}}, "model": ""}})
    }

    fn one(responses: &Value) -> Value {
        json!({"conversation": {"id": "g-1", "title": "T", "create_time": "2026-01-02T00:00:00.5Z"}, "responses": responses})
    }

    #[test]
    fn the_newest_branch_is_read_with_its_wrapped_times() {
        let (seen, skipped) = read(&json!([one(&json!([
            response("a", None, "human", 1_767_312_001_000),
            response("b", Some("a"), "ASSISTANT", 1_767_312_002_000),
            response("c", Some("a"), "assistant", 1_767_312_003_000),
            response("d", Some("c"), "human", 1_767_312_004_250),
        ]))]));
        let pieces: Vec<_> = seen[0]
            .messages
            .iter()
            .map(|message| (message.role, message.text.as_str(), message.time.unwrap().at.to_string()))
            .collect();
        let expected = [
            (Role::User, "a", "2026-01-02T00:00:01Z"),
            (Role::Assistant, "c", "2026-01-02T00:00:03Z"),
            (Role::User, "d", "2026-01-02T00:00:04.25Z"),
        ];
        assert_eq!(pieces, expected.map(|(role, text, at)| (role, text, at.to_owned())));
        assert_eq!((seen[0].model.as_deref(), skipped.len()), (None, 0));
    }

    #[test]
    fn marks_go_and_thoughts_and_files_are_distinguished() {
        let answer = json!({"sender": "assistant", "agent_thinking_traces": [{"thinking_trace": "hm"}, "then"],
            "message": "Six.<grok:render id=\"1\"/><grok:render type=\"card\"><argument name=\"id\">0</argument></grok:render>", "file_attachments": ["0f3a"]});
        let (seen, skipped) = read(&json!([one(&json!([answer, {"sender": "ghost", "message": "boo"}]))]));
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
        assert_eq!(pieces, [(Kind::Reasoning, "hm\nthen"), (Kind::Prose, "Six."), (Kind::Attachment, "[file]")]);
        assert_eq!(skipped, ["a response whose sender is not known"]);
    }

    #[test]
    fn temporary_and_unusable_conversations_are_reported() {
        let mut temporary = one(&json!([response("a", None, "human", 1)]));
        temporary["conversation"]["temporary"] = json!(true);
        let (seen, skipped) = read(&json!([temporary, {"conversation": {}}]));
        assert!(seen.is_empty());
        assert_eq!(
            skipped,
            ["marked `temporary`, so none of it is kept", "not a conversation: `responses` is missing"]
        );
    }
}
