//! Conversations as they are read.

use serde_json::json;

use super::*;
use crate::Transcript;
use crate::testing::read_input;

fn read(text: &str) -> (Vec<Transcript>, Vec<String>) {
    let (seen, skipped) = read_input(&LibreChat, Input::from_text("conversation.json", text));
    (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
}

fn message(id: &str, parent: &str, is_user: bool, second: u32) -> Value {
    json!({"messageId": id, "parentMessageId": parent, "isCreatedByUser": is_user, "text": format!("says {id}"),
        "createdAt": format!("2026-03-01T10:00:{second:02}.000Z"), "children": []})
}

fn with_children(mut message: Value, children: &[Value]) -> Value {
    message["children"] = json!(children);
    message
}

fn texts(text: &str) -> Vec<String> {
    read(text).0.into_iter().flat_map(|one| one.messages).map(|message| message.text).collect()
}

#[test]
fn the_branch_with_the_newest_answer_is_read_from_a_tree_and_from_a_list() {
    let (a, b, c, d) = (
        message("a", "0", true, 1),
        message("b", "a", false, 2),
        message("c", "a", false, 3),
        message("d", "b", true, 9),
    );
    let tree = json!({"conversationId": "conversation-1", "exportAt": "16:33:32 GMT+0200", "messagesTree": [
        with_children(a.clone(), &[with_children(b.clone(), std::slice::from_ref(&d)), c.clone()])]});
    let flat = json!({"conversationId": "conversation-1", "recursive": false, "messages": [a, b, c, d]});
    for export in [&tree, &flat] {
        assert!(LibreChat.sniff(&Head::new(export.to_string().into(), true)), "{export}");
        assert_eq!(texts(&export.to_string()), ["says a", "says b", "says d"], "{export}");
        assert_eq!(read(&export.to_string()).0[0].external_id, "conversation-1");
    }
}

#[test]
fn a_tree_of_twenty_thousand_levels_is_read_to_its_end() {
    let levels = 20_000;
    let mut document = String::from(r#"{"conversationId":"deep","messagesTree":["#);
    for level in 0..levels {
        let parent = if level == 0 { "0".to_owned() } else { format!("m{}", level - 1) };
        let head = format!(
            r#"{{"messageId":"m{level}","parentMessageId":"{parent}","isCreatedByUser":true,"text":"{level} [","children":["#
        );
        document.push_str(&head);
    }
    document.push_str(&"]}".repeat(levels));
    document.push_str("]}");
    assert!(LibreChat.sniff(&Head::new(document[..200_000].into(), false)));
    let texts = texts(&document);
    assert_eq!((texts.len(), texts.last().map(String::as_str)), (levels, Some("19999 [")));
}

#[test]
fn a_tree_that_breaks_off_keeps_its_whole_messages_and_tells_the_others() {
    let tree = json!({"messagesTree": [message("a", "0", true, 1), message("b", "a", false, 2)]}).to_string();
    let cut = &tree[..tree.rfind("\"createdAt\"").unwrap()];
    let (seen, skipped) = read(cut);
    assert_eq!(seen[0].messages[0].text, "says a");
    assert_eq!(skipped, vec!["incomplete; it is read once it is whole"; 2]);
}

#[test]
fn each_part_is_a_message_of_its_kind_and_an_error_is_not_said() {
    let answer = json!({"messageId": "m", "isCreatedByUser": false, "sender": "GPT-5", "text": "", "content": [
        {"type": "think", "think": "tides"}, {"type": "text", "text": {"value": "Looking."}},
        {"type": "tool_call", "tool_call": {"name": "tides", "args": "{\"query\":\"Faro\"}", "output": "six"}},
        {"type": "text", "text": "Six."}, {"type": "hologram"}], "files": [{"filename": "a.png", "type": "image/png"}]});
    let failed = json!({"messageId": "n", "parentMessageId": "m", "isCreatedByUser": false, "error": true, "text": "Rate limit"});
    let (seen, skipped) = read(&json!({"messages": [answer, failed]}).to_string());
    let told: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
    let expected = [
        (Kind::Reasoning, "tides"),
        (Kind::Prose, "Looking."),
        (Kind::ToolCall, "tides Faro"),
        (Kind::ToolResult, "six"),
        (Kind::Prose, "Six."),
        (Kind::Attachment, "[image: a.png]"),
        (Kind::Context, "Rate limit"),
    ];
    assert_eq!((told, skipped), (expected.to_vec(), vec!["a part of a message whose kind is not known".to_owned()]));
}

#[test]
fn a_temporary_chat_is_told_and_not_read() {
    let mut secret = message("a", "0", true, 1);
    secret["expiredAt"] = json!("2026-04-01T00:00:00Z");
    let (seen, skipped) = read(&json!({"messages": [secret]}).to_string());
    assert_eq!((seen.len(), skipped), (0, vec!["marked `expiredAt`, so nothing of it is kept".to_owned()]));
}

#[test]
fn an_array_of_exports_holds_several_conversations() {
    let one = |id: &str| json!({"conversationId": id, "messagesTree": [with_children(message(id, "0", true, 1), &[])]});
    let (seen, skipped) = read(&json!([one("first"), {"conversationId": "empty"}, one("second")]).to_string());
    let told: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), one.messages[0].text.as_str())).collect();
    assert_eq!((told, skipped), (vec![("first", "says first"), ("second", "says second")], vec![]));
    assert_eq!(seen[1].origin, "conversation.json#3");
}

#[test]
fn without_an_id_a_conversation_is_known_by_its_first_message_whatever_the_file_is_called() {
    let export = json!({"messagesTree": [message("a", "0", true, 1)]}).to_string();
    let named = |name: &str| {
        let mut seen = Vec::new();
        let mut accept = |transcript: Transcript| seen.push(transcript.external_id);
        LibreChat.read(Input::from_text(name, &export), &mut Sink::new(&mut accept)).unwrap();
        seen
    };
    assert_eq!(named("chat.json"), named("chat (1).json"));
}

#[test]
fn words_of_nobody_in_particular_are_not_the_assistants() {
    let export = json!({"conversationId": "c", "messages": [{"messageId": "a", "text": "who am I?"}]});
    assert_eq!(read(&export.to_string()).0[0].messages[0].role, Role::Other);
}
