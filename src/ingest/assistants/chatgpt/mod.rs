//! The ChatGPT data export: conversations as trees of nodes, of which one branch was the one last shown.

mod content;
mod tree;

use serde_json::Value;

use self::content::{Placed, messages_of};
use crate::ingest::{Assembler, Head, IngestError, Ingestor, Input, Records, Sink, identity};
use crate::transcript::{MessageTime, TimeSource};

/// Reads the ChatGPT data export.
pub struct ChatGpt;

impl Ingestor for ChatGpt {
    fn name(&self) -> &'static str {
        "chatgpt"
    }

    fn about(&self) -> &'static str {
        "ChatGPT data export: conversations.json, a shard of it, or one conversation"
    }

    fn rule(&self) -> &'static str {
        "JSON objects whose `mapping` holds nodes with `parent` and `children`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_conversation) || head.most_lines(is_conversation)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let (several, is_lines) = {
            let head = Head::of(&input);
            (head.text.trim_start().starts_with('[') || !head.lines.is_empty(), !head.lines.is_empty())
        };
        let mut records = if is_lines { Records::lines(input) } else { Records::elements(input) };
        while let Some((number, conversation)) = records.next_json::<Value>(sink)? {
            let origin = if several { format!("{path}#{number}") } else { path.clone() };
            read_conversation(&conversation, origin, number, sink);
        }
        Ok(())
    }
}

/// Whether `value` has the tree of a conversation; another vendor's trees are told by their `inserted_at`.
fn is_conversation(value: &Value) -> bool {
    let is_node = |node: &Value| node.get("children").is_some() || node.get("message").is_some();
    value.get("inserted_at").is_none()
        && value["mapping"].as_object().is_some_and(|nodes| {
            nodes.values().any(is_node) || (nodes.is_empty() && value.get("current_node").is_some())
        })
}

fn read_conversation(conversation: &Value, origin: String, number: usize, sink: &mut Sink<'_>) {
    if !conversation["mapping"].is_object() {
        return sink.skip(number, "no conversation: it has no `mapping`");
    }
    for mark in ["is_do_not_remember", "is_temporary_chat"] {
        if conversation[mark] == true {
            return sink.skip(number, format!("marked `{mark}`, so nothing of it is kept"));
        }
    }
    let branch = tree::branch(conversation);
    let started = identity::instant(&conversation["create_time"]);
    let mut draft = Assembler::new("chatgpt", external_id(conversation, &branch), origin);
    let meta = draft.meta();
    meta.title = text_of(&conversation["title"]);
    meta.model = model(conversation, &branch);
    meta.project = text_of(&conversation["gizmo_id"]).filter(|id| id.starts_with("g-p-"));
    meta.created_at = started;
    let earliest = branch.iter().filter_map(|message| identity::instant(&message["create_time"])).min();
    let mut last = started.or(earliest);
    for message in branch {
        let stamped = identity::instant(&message["create_time"]);
        last = stamped.or(last);
        let source = if stamped.is_some() { TimeSource::Log } else { TimeSource::Derived };
        let time = last.map(|at| MessageTime { source, ..MessageTime::logged(at) });
        match messages_of(message, time) {
            Placed::Said(messages) => messages.into_iter().for_each(|message| draft.push(message, sink)),
            Placed::Unknown => sink.skip(number, "a message whose kind of content is not known"),
        }
    }
    draft.finish(sink);
}

fn text_of(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn model(conversation: &Value, branch: &[&Value]) -> Option<String> {
    let of_message = |message: &&Value| text_of(&message["metadata"]["model_slug"]);
    branch.iter().rev().find_map(of_message).or_else(|| text_of(&conversation["default_model_slug"]))
}

/// Returns the conversation's id, or one derived from how it began.
fn external_id(conversation: &Value, branch: &[&Value]) -> String {
    let own = text_of(&conversation["conversation_id"]).or_else(|| text_of(&conversation["id"]));
    own.unwrap_or_else(|| {
        let first = branch.iter().find(|message| message["author"]["role"] == "user").or(branch.first());
        let first = first.map(|message| (message["id"].to_string(), message["content"].to_string()));
        let (id, content) = first.unwrap_or_default();
        identity::of_parts(&[&conversation["create_time"].to_string(), &id, &content])
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::{Kind, Role, Transcript};
    use serde_json::json;

    fn read(value: &Value) -> (Vec<Transcript>, Vec<(usize, String)>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        ChatGpt.read(Input::from_text("conversations.json", &value.to_string()), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| (skipped.record, skipped.reason.clone())).collect();
        (seen, skipped)
    }

    fn node(id: &str, parent: Option<&str>, role: &str, content: &Value) -> Value {
        json!({"id": id, "parent": parent, "children": [], "message": {"id": id, "author": {"role": role}, "content": content}})
    }

    fn text(words: &str) -> Value {
        json!({"content_type": "text", "parts": [words]})
    }

    fn one(nodes: &[Value]) -> Value {
        let mapping: serde_json::Map<_, _> =
            nodes.iter().map(|node| (node["id"].as_str().unwrap().to_owned(), node.clone())).collect();
        json!({"id": "c", "mapping": mapping, "create_time": 1_767_312_000, "current_node": nodes.last().unwrap()["id"]})
    }

    #[test]
    fn unusable_elements_and_forgotten_conversations_are_counted_and_the_rest_is_read() {
        let mut secret = one(&[node("a", None, "user", &text("forget this"))]);
        secret["is_do_not_remember"] = json!(true);
        let (seen, skipped) =
            read(&json!([{"title": "Corrupted"}, secret, 7, one(&[node("a", None, "user", &text("hi"))])]));
        assert_eq!(seen.len(), 1);
        assert_eq!((seen[0].origin.as_str(), seen[0].messages[0].text.as_str()), ("conversations.json#4", "hi"));
        let reasons = [
            (1, "no conversation: it has no `mapping`"),
            (2, "marked `is_do_not_remember`, so nothing of it is kept"),
            (3, "no conversation: it has no `mapping`"),
        ];
        assert_eq!(skipped, reasons.map(|(number, reason)| (number, reason.to_owned())));
    }

    #[test]
    fn times_fall_back_to_the_message_before_and_to_the_start() {
        let mut stamped = node("b", Some("a"), "assistant", &text("two"));
        stamped["message"]["create_time"] = json!(1_767_312_060.25);
        let nodes = [node("a", None, "user", &text("one")), stamped, node("c", Some("b"), "user", &text("three"))];
        let (seen, _) = read(&one(&nodes));
        let times: Vec<_> = seen[0].messages.iter().map(|message| message.time.unwrap()).collect();
        let told: Vec<_> = times.iter().map(|time| (time.at.to_string(), time.source)).collect();
        let expected = [
            ("2026-01-02T00:00:00Z", TimeSource::Derived),
            ("2026-01-02T00:01:00.25Z", TimeSource::Log),
            ("2026-01-02T00:01:00.25Z", TimeSource::Derived),
        ];
        assert_eq!(told, expected.map(|(at, source)| (at.to_owned(), source)));
    }

    #[test]
    fn profile_memory_writes_and_hidden_text_are_context_and_not_said() {
        let mut write = node("d", Some("c"), "assistant", &text("User lives in Lisbon."));
        write["message"]["recipient"] = json!("bio");
        let mut hidden = node("b", Some("a"), "user", &text("hidden instructions"));
        hidden["message"]["weight"] = json!(0);
        let nodes = [
            node(
                "a",
                None,
                "user",
                &json!({"content_type": "user_editable_context", "user_profile": "An engineer.", "user_instructions": "Be brief."}),
            ),
            hidden,
            node(
                "c",
                Some("b"),
                "assistant",
                &json!({"content_type": "model_editable_context", "model_set_context": "1. Likes tea."}),
            ),
            write,
        ];
        let (seen, _) = read(&one(&nodes));
        let told: Vec<_> =
            seen[0].messages.iter().map(|message| (message.kind, message.role, message.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (Kind::Context, Role::User, "An engineer.\nBe brief."),
                (Kind::Context, Role::User, "hidden instructions"),
                (Kind::Context, Role::Assistant, "1. Likes tea."),
                (Kind::Context, Role::Assistant, "User lives in Lisbon."),
            ]
        );
    }

    #[test]
    fn an_identity_is_derived_where_the_log_gives_none_and_ignores_the_title() {
        let mut unnamed = one(&[node("a", None, "user", &text("hi"))]);
        unnamed.as_object_mut().unwrap().shift_remove("id");
        let before = read(&unnamed).0[0].external_id.clone();
        unnamed["title"] = json!("Renamed");
        assert_eq!(before.len(), 32);
        assert_eq!(read(&unnamed).0[0].external_id, before);
    }
}
