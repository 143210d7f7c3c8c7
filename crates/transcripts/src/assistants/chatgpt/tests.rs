//! Conversations of the export, as they are read.

use super::*;
use crate::{Kind, Role, TimeSource, Transcript};
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

#[test]
fn a_shared_page_and_a_flat_list_are_read_in_their_order() {
    let said = |role: &str, words: &str| json!({"id": words, "author": {"role": role}, "content": text(words), "create_time": 1_767_312_000});
    let flat = json!({"title": "T", "messages": [said("user", "hi"), said("assistant", "hello"), 7]});
    let shared = json!({"shared_conversation_id": "share-1", "messages": [
        {"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]});
    for (page, id) in [(&flat, None), (&shared, Some("share-1"))] {
        assert!(ChatGpt.sniff(&Head::new(page.to_string().into(), true)), "{page}");
        let (seen, skipped) = read(page);
        let told: Vec<_> = seen[0].messages.iter().map(|message| (message.role, message.text.as_str())).collect();
        assert_eq!((told, skipped), (vec![(Role::User, "hi"), (Role::Assistant, "hello")], vec![]));
        assert_eq!(id.unwrap_or(&seen[0].external_id), seen[0].external_id);
    }
    let people = json!({"messages": [{"author": {"id": "1", "name": "Ana"}, "content": "hi"}]});
    assert!(!ChatGpt.sniff(&Head::new(people.to_string().into(), true)));
}

#[test]
fn a_profile_that_is_put_in_again_is_kept_once() {
    let profile = json!({"content_type": "user_editable_context", "user_profile": "An engineer."});
    let nodes = [
        node("a", None, "user", &profile),
        node("b", Some("a"), "user", &text("same")),
        node("c", Some("b"), "user", &profile),
        node("d", Some("c"), "user", &text("same")),
    ];
    let (seen, _) = read(&one(&nodes));
    let told: Vec<_> = seen[0].messages.iter().map(|message| message.text.as_str()).collect();
    assert_eq!(told, ["An engineer.", "same", "same"]);
}

#[test]
fn every_mark_of_privacy_is_heeded_and_named() {
    let marks = [
        ("is_do_not_remember", json!(true)),
        ("is_temporary_chat", json!(true)),
        ("is_temporary", json!(true)),
        ("memory_scope", json!("memory_disabled")),
    ];
    for (mark, value) in marks {
        let mut private = one(&[node("a", None, "user", &text("hi"))]);
        private[mark] = value;
        let (seen, skipped) = read(&private);
        assert_eq!((seen.len(), skipped[0].1.contains(mark)), (0, true), "{mark}");
    }
    let mut open = one(&[node("a", None, "user", &text("hi"))]);
    open["memory_scope"] = json!("global_enabled");
    assert_eq!(read(&open).0.len(), 1);
}

#[test]
fn a_written_time_keeps_the_offset_that_it_names_and_gets_none_that_it_does_not() {
    let told = |stamp: &str| {
        let message = json!({"author": {"role": "user"}, "content": {"parts": ["hi"]}, "create_time": stamp});
        let conversation = json!({"id": "c", "mapping": {"a": {"parent": null, "children": [], "message": message}}});
        let mut times = Vec::new();
        let mut accept = |one: Transcript| times.extend(one.messages.into_iter().filter_map(|message| message.time));
        let input = Input::from_text("conversations.json", &json!([conversation]).to_string());
        ChatGpt.read(input, &mut Sink::new(&mut accept)).unwrap();
        (times[0].at.to_string(), times[0].offset_seconds)
    };
    assert_eq!(told("2026-01-02T03:04:05+02:00"), ("2026-01-02T01:04:05Z".to_owned(), Some(7_200)));
    assert_eq!(told("2026-01-02T03:04:05"), ("2026-01-02T03:04:05Z".to_owned(), None));
}
