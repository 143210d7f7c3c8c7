//! Conversations of the export, as they are read.

use serde_json::json;

use super::*;
use crate::testing::read_input;
use crate::{Kind, Role, Transcript};

fn read_by(ingestor: &dyn Ingestor, value: &Value) -> (Vec<Transcript>, Vec<String>) {
    let (seen, skipped) = read_input(ingestor, Input::from_text("conversations.json", &value.to_string()));
    (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
}

fn conversation(messages: &Value) -> Value {
    json!({"uuid": "c", "name": "", "created_at": "2026-02-01T10:00:00.123456Z", "chat_messages": messages})
}

fn said(messages: &Value) -> Vec<(Role, Kind, String)> {
    let (seen, _) = read_by(&ClaudeAi, &json!([conversation(messages)]));
    let messages = seen.into_iter().flat_map(|one| one.messages);
    messages.map(|message| (message.role, message.kind, message.text)).collect()
}

fn words_of(value: &Value) -> Vec<String> {
    let (seen, _) = read_by(&ClaudeAi, value);
    seen.into_iter().flat_map(|one| one.messages).map(|message| message.text).collect()
}

#[test]
fn each_block_is_a_message_of_its_kind() {
    let messages = json!([{"uuid": "m", "sender": "assistant", "text": "ignored", "content": [
        {"type": "thinking", "thinking": "They row.", "summaries": []},
        {"type": "tool_use", "name": "artifacts", "input": {"command": "create", "id": "a", "title": "Rota", "content": "…"}},
        {"type": "tool_use", "name": "web_search", "input": {"query": "tide tables"}},
        {"type": "tool_result", "name": "web_search", "content": [{"type": "text", "text": "High at six."}]},
        {"type": "token_budget"}, {"type": "text", "text": "Row at"}, {"type": "text", "text": "six."}, {"type": "hologram"}]}]);
    let expected = [
        (Role::Assistant, Kind::Reasoning, "They row."),
        (Role::Assistant, Kind::ToolCall, "artifacts Rota"),
        (Role::Assistant, Kind::ToolCall, "web_search tide tables"),
        (Role::Tool, Kind::ToolResult, "High at six."),
        (Role::Assistant, Kind::Prose, "Row at\nsix."),
    ];
    assert_eq!(said(&messages), expected.map(|(role, kind, text)| (role, kind, text.to_owned())));
}

#[test]
fn text_stands_in_where_the_blocks_say_nothing_and_loses_the_notes_of_the_device() {
    let unsupported = "```\nThis block is not supported on your current device yet.\n```";
    for content in [json!([]), json!(null), json!("odd"), json!([{"type": "text", "text": ""}])] {
        let messages =
            json!([{"uuid": "m", "sender": "human", "content": content, "text": format!("Hello\n{unsupported}")}]);
        assert_eq!(said(&messages), [(Role::User, Kind::Prose, "Hello".to_owned())], "{content}");
    }
}

#[test]
fn what_was_read_out_of_a_file_is_context_and_bounded() {
    let long = "line of a contract\n".repeat(10_000);
    let messages = json!([{"uuid": "m", "sender": "human", "content": [{"type": "text", "text": "Read this."}],
        "attachments": [{"file_name": "lease.pdf", "extracted_content": long}],
        "files": [{"file_name": "porch.jpg"}, {"file_name": "lease.pdf"}]}]);
    let said = said(&messages);
    let kinds: Vec<_> = said.iter().map(|(_, kind, _)| *kind).collect();
    assert_eq!(kinds, [Kind::Prose, Kind::Attachment, Kind::Context, Kind::Attachment]);
    assert_eq!((said[1].2.as_str(), said[3].2.as_str()), ("[file: lease.pdf]", "[image: porch.jpg]"));
    assert!(said[2].2.len() < 5_000 && said[2].2.contains("bytes cut"));
}

#[test]
fn older_answers_carry_reasoning_and_documents_in_tags() {
    let text = "<antThinking>A poem fits.</antThinking>Here:\n<antArtifact identifier=\"p\" title=\"Poem\">\nRoses\n</antArtifact>\nEnjoy.";
    let messages = json!([{"uuid": "m", "sender": "assistant", "content": [{"type": "text", "text": text}]}]);
    let expected = [(Kind::Reasoning, "A poem fits."), (Kind::Prose, "Here:\n[artifact: Poem]\nEnjoy.")];
    assert_eq!(said(&messages), expected.map(|(kind, text)| (Role::Assistant, kind, text.to_owned())));
}

fn message(id: &str, sender: &str, parent: Option<&str>) -> Value {
    json!({"uuid": id, "sender": sender, "text": id, "parent_message_uuid": parent})
}

#[test]
fn the_branch_shown_last_is_read() {
    let messages = json!([
        message("a", "human", Some(NO_PARENT)),
        message("b", "assistant", Some("a")),
        message("a2", "human", Some(NO_PARENT)),
        message("b2", "assistant", Some("a2")),
        message("c", "human", Some("b")),
    ]);
    let mut one = conversation(&messages);
    assert_eq!(words_of(&one), ["a", "b", "c"]);
    one["current_leaf_message_uuid"] = json!("b2");
    assert_eq!(words_of(&one), ["a2", "b2"]);
}

#[test]
fn a_message_that_does_not_know_its_parent_follows_the_one_before() {
    let messages =
        json!([message("a", "human", None), message("b", "assistant", None), message("c", "human", Some("b"))]);
    assert_eq!(words_of(&conversation(&messages)), ["a", "b", "c"]);
}

#[test]
fn a_message_without_an_id_or_whose_parent_is_gone_follows_the_one_before() {
    let unnamed = |sender: &str, words: &str| json!({"sender": sender, "text": words});
    let messages = json!([
        unnamed("human", "a"),
        unnamed("assistant", "b"),
        message("c", "human", Some("gone")),
        message("d", "assistant", Some("c")),
    ]);
    assert_eq!(words_of(&conversation(&messages)), ["a", "b", "c", "d"]);
}

#[test]
fn what_was_said_on_another_branch_is_told() {
    let messages = json!([
        message("a", "human", Some(NO_PARENT)),
        message("b", "assistant", Some("a")),
        message("a2", "human", Some(NO_PARENT)),
    ]);
    let (_, skipped) = read_by(&ClaudeAi, &conversation(&messages));
    assert_eq!(skipped, ["turns of the user on branches that are not shown any more: 1"]);
}

#[test]
fn without_parents_the_last_version_of_an_edited_turn_is_kept_and_the_others_told() {
    let bare = |sender: &str, words: &str| json!({"uuid": words, "sender": sender, "text": words});
    let messages = json!([
        bare("human", "Book a table for to"),
        bare("human", "Book a table for two"),
        bare("assistant", "Booked."),
        bare("human", "My sister is allergic to nuts."),
        bare("human", "Any dessert without them?"),
    ]);
    let (seen, skipped) = read_by(&ClaudeAi, &conversation(&messages));
    let words: Vec<_> = seen[0].messages.iter().map(|message| message.text.as_str()).collect();
    let expected = ["Book a table for two", "Booked.", "My sister is allergic to nuts.", "Any dessert without them?"];
    assert_eq!(words, expected);
    assert_eq!(skipped, ["turns of the user that were edited: 1; the last version of each is kept"]);
}

#[test]
fn temporary_empty_and_other_elements_are_told_and_not_read() {
    let mut temporary = conversation(&json!([message("a", "human", None)]));
    temporary["is_temporary"] = json!(true);
    let (seen, skipped) =
        read_by(&ClaudeAi, &json!([temporary, conversation(&json!([])), {"uuid": "p", "docs": []}, 7]));
    assert!(seen.is_empty());
    let reasons = [
        "marked `is_temporary`, so nothing of it is kept",
        "a conversation without messages, as a deleted one leaves behind",
        "no conversation: it has no `chat_messages`",
        "no conversation: it has no `chat_messages`",
    ];
    assert_eq!(skipped, reasons);
}

#[test]
fn the_other_files_of_the_export_are_no_conversations() {
    let siblings = [
        json!([{"uuid": "p", "name": "Garden", "description": "", "prompt_template": "", "docs": [{"uuid": "d", "filename": "x", "content": "y"}]}]),
        json!([{"account_uuid": "a", "conversations_memory": "**Work**\nInes rows.", "project_memories": {}}]),
        json!([{"uuid": "u", "full_name": "Ines", "email_address": "ines@example.org"}]),
    ];
    for sibling in siblings {
        let head = Head::new(sibling.to_string().into(), true);
        assert!(!ClaudeAi.sniff(&head) && !ClaudeDesign.sniff(&head), "{sibling}");
    }
}

#[test]
fn a_design_session_names_its_author_and_reads_words_or_blocks() {
    let session = json!({"uuid": "s", "project": {"name": "Poster"}, "messages": [
        {"uuid": "1", "role": "user", "content": {"content": "Use teal.", "authorName": "Ines", "timestamp": "2026-02-01T10:00:01Z"}},
        {"uuid": "2", "role": "assistant", "content": {"contentBlocks": [
            {"type": "thinking", "thinking": "Teal it is."}, {"type": "text", "text": "Done."}]}}]});
    let (seen, _) = read_by(&ClaudeDesign, &session);
    let told: Vec<_> = seen[0]
        .messages
        .iter()
        .map(|message| (message.speaker.as_deref(), message.kind, message.text.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            (Some("Ines"), Kind::Prose, "Use teal."),
            (None, Kind::Reasoning, "Teal it is."),
            (None, Kind::Prose, "Done.")
        ]
    );
    assert_eq!(seen[0].project.as_deref(), Some("Poster"));
}
