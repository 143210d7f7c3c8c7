//! The `DeepSeek` data export: trees like the trees of `ChatGPT`, whose messages consist of fragments.

use serde_json::Value;

use crate::assistants::export::{self, Node};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::file_label;
use crate::{Assembler, Head, Ingestor, Kind, Message, Object, Role, Sink};

/// Reads the `DeepSeek` data export.
pub(crate) struct DeepSeek;

impl Ingestor for DeepSeek {
    named!("deepseek");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_conversation)
    }

    read_each!(read_conversation);
}

/// Returns whether `value` is a conversation of this export, and not of `ChatGPT`, whose trees look the same.
pub(crate) fn is_conversation(value: &Value) -> bool {
    value["mapping"].as_object().is_some_and(|nodes| {
        value.get("inserted_at").is_some() || nodes.values().any(|node| node["message"]["fragments"].is_array())
    })
}

fn read_conversation(Object { origin, number, value: conversation, .. }: Object, sink: &mut Sink<'_>) {
    let Some(mapping) = conversation["mapping"].as_object() else {
        return sink.skip(number, "not a conversation: `mapping` is missing");
    };
    let nodes: Vec<(&String, &Value)> = mapping.iter().collect();
    let is_users = |(_, node): (&String, &Value)| {
        let message = &node["message"];
        message["fragments"].list().iter().any(|fragment| fragment["type"] == "REQUEST") || is_users(message)
    };
    let time = |node: &Value| identity::instant(&node["message"]["inserted_at"]);
    let branch = export::branch(
        &nodes,
        |_, (id, node)| Node { id, parent: node["parent"].as_str(), before: None, time: time(node) },
        &conversation["current_node"],
        is_users,
        (number, sink),
    );
    let said = branch.into_iter().map(|(id, node)| (id, &node["message"])).filter(|(_, message)| message.is_object());
    let said: Vec<_> = said.collect();
    let id = conversation["id"].owned().unwrap_or_else(|| {
        let first = said.first().map(|(_, message)| message["fragments"].to_string()).unwrap_or_default();
        identity::of_parts(&[&conversation["inserted_at"].to_string(), &first])
    });
    let mut draft = Assembler::new("deepseek", id, origin);
    draft.meta().title = conversation["title"].owned();
    draft.meta().model = said.iter().rev().find_map(|(_, message)| message["model"].owned());
    draft.start_at(identity::stamp(&conversation["inserted_at"]));
    for (id, message) in said {
        let time = draft.next_time(identity::stamp(&message["inserted_at"]));
        draft.push_all(id, time, messages_of(message, number, sink), sink);
    }
    draft.finish(sink);
}

/// Returns whether `message` has the role that marks the user's messages in older exports.
fn is_users(message: &Value) -> bool {
    message["role"].as_str().is_some_and(|role| role.eq_ignore_ascii_case("user"))
}

/// Returns the messages in a node: one for each of its fragments, and one for each file.
fn messages_of(message: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let mut said = Vec::new();
    for fragment in message["fragments"].list() {
        let words = fragment["content"].string();
        match fragment["type"].string() {
            "REQUEST" => said.push(Message::user(words)),
            "RESPONSE" | "TEMPLATE_RESPONSE" => said.push(Message::assistant(words)),
            "THINK" => said.push(Message::reasoning(words)),
            "SEARCH" | "READ_LINK" | "TOOL_SEARCH" | "TOOL_OPEN" => {
                said.push(Message::answer(found(fragment, words)));
            }
            _ if words.trim().is_empty() => {}
            _ => sink.skip(number, "a fragment of a kind that is not known"),
        }
    }
    // Older exports store the text of a message next to its role.
    if let Some(words) = message["content"].as_str() {
        said.push(Message::prose(if is_users(message) { Role::User } else { Role::Assistant }, words));
    }
    // Files do not belong to a fragment, so their role is derived from the text of the message.
    let asked = said.iter().any(|message| message.role == Role::User);
    for file in message["files"].list() {
        let name = file["file_name"].as_str().or_else(|| file["name"].as_str());
        let role = if asked || said.is_empty() { Role::User } else { Role::Assistant };
        said.push(Message::new(role, Kind::Attachment, file_label("file", name)));
    }
    said
}

/// Returns the result of a search: its text, or the titles of the results.
fn found(fragment: &Value, words: &str) -> String {
    let titles = fragment["results"].list().iter().filter_map(|hit| hit["title"].as_str());
    std::iter::once(words).chain(titles).filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use serde_json::json;

    fn read(value: &Value) -> (Vec<(Role, Kind, String)>, Vec<String>) {
        let mut seen = Vec::new();
        let mut accept = |transcript: crate::Transcript| seen.extend(transcript.messages);
        let mut sink = Sink::new(&mut accept);
        DeepSeek.read(Input::from_text("conversations.json", &value.to_string()), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| skipped.reason.clone()).collect();
        (seen.into_iter().map(|message| (message.role, message.kind, message.text)).collect(), skipped)
    }

    fn one(parts: &Value) -> Value {
        json!([{"id": "c", "inserted_at": "2026-02-01T09:00:00+08:00", "mapping": {
            "root": {"id": "root", "parent": null, "children": ["1"], "message": null},
            "1": {"id": "1", "parent": "root", "children": [], "message": parts}}}])
    }

    #[test]
    fn each_fragment_is_a_message_of_its_kind() {
        let fragments = json!({"fragments": [
            {"type": "REQUEST", "content": "ferry times?"}, {"type": "SEARCH", "content": null, "results": [{"title": "Ferries"}]},
            {"type": "THINK", "content": "hm"}, {"type": "RESPONSE", "content": "At nine."}, {"type": "TIP", "content": ""},
            {"type": "HOLOGRAM", "content": "x"}], "files": [{"file_name": "map.pdf"}]});
        let (said, skipped) = read(&one(&fragments));
        let expected = [
            (Role::User, Kind::Prose, "ferry times?"),
            (Role::Tool, Kind::ToolResult, "Ferries"),
            (Role::Assistant, Kind::Reasoning, "hm"),
            (Role::Assistant, Kind::Prose, "At nine."),
            (Role::User, Kind::Attachment, "[file: map.pdf]"),
        ];
        assert_eq!(said, expected.map(|(role, kind, text)| (role, kind, text.to_owned())));
        assert_eq!(skipped, ["a fragment of a kind that is not known"]);
    }

    #[test]
    fn older_messages_have_a_role_and_words() {
        let (said, _) =
            read(&one(&json!({"role": "USER", "content": "hi", "inserted_at": "2026-02-01T09:00:01+08:00"})));
        assert_eq!(said, [(Role::User, Kind::Prose, "hi".to_owned())]);
    }

    #[test]
    fn a_tree_without_dates_is_recognised_by_its_fragments() {
        let mut undated = one(&json!({"fragments": []}))[0].take();
        undated.as_object_mut().unwrap().shift_remove("inserted_at");
        assert!(is_conversation(&undated));
        assert!(!is_conversation(&json!({"mapping": {"a": {"message": {"content": {"parts": ["x"]}}}}})));
    }
}
