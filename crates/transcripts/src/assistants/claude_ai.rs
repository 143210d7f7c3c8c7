//! The data export of claude.ai: conversations are lists of messages, which refer to their parents in newer exports.

use std::collections::HashSet;

use regex::Captures;
use serde_json::Value;

use crate::assistants::export::{self, Node};
use crate::json::Json;
use crate::message::chat::role_named;
use crate::message::identity;
use crate::message::parts::{call_line, file_label, without_data};
use crate::{Assembler, Head, Ingestor, Kind, Message, Object, Role, Sink};

/// The parent id of a first message.
const NO_PARENT: &str = "00000000-0000-4000-8000-000000000000";

/// Reads the data export of claude.ai.
pub(crate) struct ClaudeAi;

impl Ingestor for ClaudeAi {
    named!("claude-ai");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_conversation) || head.most_lines(is_conversation)
    }

    read_each!(read_conversation);
}

fn is_conversation(value: &Value) -> bool {
    value["chat_messages"].as_array().is_some_and(|messages| {
        messages.iter().any(|message| message["sender"].is_string())
            || (messages.is_empty() && value["uuid"].is_string())
    })
}

fn read_conversation(Object { origin, number, value: conversation, .. }: Object, sink: &mut Sink<'_>) {
    let Some(messages) = conversation["chat_messages"].as_array() else {
        return sink.skip(number, "not a conversation: `chat_messages` is missing");
    };
    if conversation["is_temporary"] == true {
        return sink.skip(number, "marked `is_temporary`, so none of it is kept");
    }
    if messages.is_empty() {
        return sink.skip(number, "a conversation without messages, such as a deleted one");
    }
    let said = shown(&conversation, messages, number, sink);
    let mut draft = Assembler::new("claude-ai", external_id(&conversation, &said), origin);
    let meta = draft.meta();
    meta.title = conversation["name"].owned().or_else(|| conversation["title"].owned());
    meta.project = conversation["project"]["name"].owned().or_else(|| conversation["project_uuid"].owned());
    meta.model = conversation["model"].owned();
    draft.start_at(identity::stamp(&conversation["created_at"]));
    for message in said {
        let time = draft.next_time(identity::stamp(&message["created_at"]));
        draft.push_all(message["uuid"].string(), time, messages_of(message, number, sink), sink);
    }
    draft.finish(sink);
}

/// Returns the messages of the branch that was shown last.
fn shown<'a>(conversation: &Value, messages: &'a [Value], number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    let usable: Vec<&Value> = messages.iter().filter(|message| message["sender"].is_string()).collect();
    if usable.len() < messages.len() {
        sink.skip(number, format!("messages without a `sender`: {}", messages.len() - usable.len()));
    }
    if !usable.iter().any(|message| message["parent_message_uuid"].is_string()) {
        return without(usable, number, sink);
    }
    let node = |place: usize, message: &'a Value| Node {
        id: message["uuid"].string(),
        parent: message["parent_message_uuid"].as_str(),
        // A message without a parent id, or with the id of a missing parent, follows the previous message.
        before: if message["parent_message_uuid"] == NO_PARENT { None } else { place.checked_sub(1) },
        time: identity::stamp(&message["created_at"]).map(|time| time.at),
    };
    let current = &conversation["current_leaf_message_uuid"];
    export::branch(&usable, node, current, |message| message["sender"] == "human", (number, sink))
}

/// Returns the conversation's id, or an id derived from its first messages.
fn external_id(conversation: &Value, said: &[&Value]) -> String {
    conversation["uuid"].owned().unwrap_or_else(|| {
        let first = said.first().map(|message| [&message["uuid"], &message["text"], &message["content"]]);
        let first = first.map(|fields| fields.map(Value::to_string)).unwrap_or_default();
        identity::of_parts(&[&conversation["created_at"].to_string(), &first[0], &first[1], &first[2]])
    })
}

/// Returns the text of a list of text blocks or of a bare string.
fn words(value: &Value) -> String {
    match value.as_str() {
        Some(text) => text.to_owned(),
        None => value.list().iter().filter_map(|block| block["text"].as_str()).collect::<Vec<_>>().join("\n"),
    }
}

// The content of one message of a claude.ai conversation, block by block.

/// The text that the `text` field contains in place of each non-text block.
const UNSUPPORTED: &str = "```\nThis block is not supported on your current device yet.\n```";
/// Blocks that contain nothing of interest.
const EMPTY_BLOCKS: &[&str] = &["token_budget", "flag"];

/// Returns the messages in `message`: one for each of its blocks, and one for each file.
fn messages_of(message: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let role = match message["sender"].as_str() {
        Some("human") => Role::User,
        Some("assistant") => Role::Assistant,
        Some(_) | None => Role::Other,
    };
    let mut said = of_blocks(&message["content"], role, number, sink);
    if !said.iter().any(|(kind, text)| *kind == Kind::Prose && !text.trim().is_empty()) {
        // Exports from before the introduction of content blocks contain the text in a single field.
        let fallback = message["text"].as_str().or_else(|| message["content"].as_str()).unwrap_or_default();
        said.extend(of_text(fallback));
    }
    said.extend(files(message));
    export::messages(role, said)
}

/// Returns the content of each block in `content`; text that a citation split is joined again.
fn of_blocks(content: &Value, role: Role, number: usize, sink: &mut Sink<'_>) -> Vec<(Kind, String)> {
    let mut said = Vec::new();
    for block in content.list() {
        let field = |name: &str| block[name].string();
        match block["type"].string() {
            "text" => said.extend(of_text(field("text"))),
            "voice_note" if role == Role::User => said.push((Kind::Prose, field("text").to_owned())),
            "voice_note" => said.push((Kind::Prose, format!("{}\n{}", field("title"), field("text")))),
            "thinking" => said.push((Kind::Reasoning, field("thinking").to_owned())),
            "tool_use" => said.push((Kind::ToolCall, call(block))),
            "tool_result" => said.push((Kind::ToolResult, without_data(&words(&block["content"])))),
            "image" | "document" => {
                let name = block["file_name"].as_str().or_else(|| block["title"].as_str());
                said.push((Kind::Attachment, file_label(field("type"), name)));
            }
            kind if EMPTY_BLOCKS.contains(&kind) => {}
            _ => sink.skip(number, "a block of a kind that is not known"),
        }
    }
    // A citation ends one block of text and starts the next in the middle of a sentence.
    said.dedup_by(|(kind, text), (kind_before, before)| {
        let goes_on = (*kind, *kind_before) == (Kind::Prose, Kind::Prose);
        if goes_on {
            before.push('\n');
            before.push_str(text);
        }
        goes_on
    });
    said
}

/// Returns a call as one line; for a document that the assistant writes, the line contains its title.
fn call(block: &Value) -> String {
    let (tool, input) = (block["name"].as_str().unwrap_or("tool"), &block["input"]);
    match input["title"].as_str().or_else(|| input["id"].as_str()) {
        Some(title) if tool.contains("artifact") => call_line(tool, title),
        Some(_) | None => call_line(tool, &input.to_string()),
    }
}

/// Separates text from the reasoning and the documents, which older answers contain in special tags.
fn of_text(text: &str) -> Vec<(Kind, String)> {
    patterns! {
        THOUGHTS = "(?s)<antThinking>(.*?)</antThinking>";
        DOCUMENTS = "(?s)<antArtifact\\b([^>]*)>.*?(?:</antArtifact>|\\z)";
        TITLE = "title=\"([^\"]*)\"";
    }
    let thoughts: Vec<&str> = THOUGHTS.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect();
    let spoken = THOUGHTS.replace_all(text, "");
    let spoken = DOCUMENTS.replace_all(&spoken, |found: &Captures<'_>| {
        let title = TITLE.captures(&found[1]).map(|title| title[1].to_owned());
        file_label("artifact", title.as_deref())
    });
    let thought = (!thoughts.is_empty()).then(|| (Kind::Reasoning, thoughts.join("\n")));
    thought.into_iter().chain([(Kind::Prose, spoken.replace(UNSUPPORTED, ""))]).collect()
}

/// Returns a placeholder for each file, followed by the text extracted from the file, which nobody said.
fn files(message: &Value) -> Vec<(Kind, String)> {
    let mut said = Vec::new();
    for field in ["attachments", "files", "files_v2"] {
        for file in message[field].list() {
            let name = file["file_name"].as_str().or_else(|| file.as_str());
            let label = (Kind::Attachment, file_label(noun(name.unwrap_or_default()), name));
            // Newer exports list the same file in two fields.
            if !said.contains(&label) {
                said.push(label);
            }
            said.extend(file["extracted_content"].as_str().map(|text| (Kind::Context, text.to_owned())));
        }
    }
    said
}

fn noun(name: &str) -> &'static str {
    let ending = name.rsplit_once('.').map(|(_, ending)| ending.to_lowercase()).unwrap_or_default();
    if ["png", "jpg", "jpeg", "gif", "webp", "heic"].contains(&ending.as_str()) { "image" } else { "file" }
}

// The design sessions of a claude.ai export: one file per session, in which an additional object encloses the messages.

/// Reads design sessions of a claude.ai export.
pub(crate) struct ClaudeDesign;

impl Ingestor for ClaudeDesign {
    named!("claude-design");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_session)
    }

    read_each!(read_session);
}

fn is_session(value: &Value) -> bool {
    let is_wrapped = |message: &Value| {
        let inner = &message["content"];
        message["uuid"].is_string()
            && message["role"].is_string()
            && (inner.get("content").is_some() || inner.get("contentBlocks").is_some())
    };
    value["uuid"].is_string() && value["messages"].list().iter().any(is_wrapped)
}

fn read_session(Object { origin, number, value: session, .. }: Object, sink: &mut Sink<'_>) {
    let Some(messages) = session["messages"].as_array() else {
        return sink.skip(number, "not a session: `messages` is missing");
    };
    let id = session["uuid"].owned().unwrap_or_else(|| {
        identity::of_parts(&[&messages.first().map(|message| message["content"].to_string()).unwrap_or_default()])
    });
    let mut draft = Assembler::new("claude-design", id, origin);
    draft.meta().title = session.first_owned(&["title", "name"]);
    draft.meta().project = session["project"]["name"].owned();
    draft.start_at(identity::stamp(&session["created_at"]).or_else(|| identity::stamp(&session["createdAt"])));
    for message in messages {
        let inner = &message["content"];
        let stamped = identity::stamp(&inner["timestamp"]).or_else(|| identity::stamp(&message["created_at"]));
        let (time, role) = (draft.next_time(stamped), role_named(message["role"].string()));
        let speaker = if role == Role::User { inner["authorName"].owned() } else { None };
        let kind_of = |kind| if role == Role::System { Kind::Context } else { kind };
        let said = said(inner, role, number, sink).into_iter().map(|(kind, text)| (kind_of(kind), text));
        let said = export::messages(role, said).into_iter();
        draft.push_all(
            message["uuid"].string(),
            time,
            said.map(|message| Message { speaker: speaker.clone(), ..message }),
            sink,
        );
    }
    draft.finish(sink);
}

/// Returns the content of a message: its text, or, failing that, its blocks.
fn said(inner: &Value, role: Role, number: usize, sink: &mut Sink<'_>) -> Vec<(Kind, String)> {
    let blocks = if inner["contentBlocks"].is_array() { &inner["contentBlocks"] } else { &inner["content"] };
    let mut said = of_blocks(blocks, role, number, sink);
    if !said.iter().any(|(kind, _)| *kind == Kind::Prose) {
        said.extend(inner["content"].as_str().map(|words| (Kind::Prose, words.to_owned())));
    }
    said
}

// User turns that were edited, in exports that do not store parents.

/// Leaves out turns that the user later edited: an edited turn directly follows its first version and repeats most of
/// it. A turn that differs from the next turn was not edited, but received no answer.
fn without<'a>(messages: Vec<&'a Value>, number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    let before = messages.len();
    let mut kept: Vec<&Value> = Vec::with_capacity(before);
    for message in messages {
        if kept.last().is_some_and(|last| is_version(last, message)) {
            kept.pop();
        }
        kept.push(message);
    }
    if kept.len() < before {
        let edited = before - kept.len();
        sink.skip(number, format!("edited user turns: {edited}; only the last version of each is kept"));
    }
    kept
}

fn is_version(earlier: &Value, later: &Value) -> bool {
    let both_typed = [earlier, later].into_iter().all(|message| message["sender"] == "human");
    both_typed && is_said_again(&typed(earlier), &typed(later))
}

fn typed(message: &Value) -> String {
    let blocks = words(&message["content"]);
    if blocks.trim().is_empty() { message["text"].string().to_owned() } else { blocks }
}

/// Returns whether `later` repeats at least two thirds of the words in `earlier`.
fn is_said_again(earlier: &str, later: &str) -> bool {
    let (earlier, later) = (terms(earlier), terms(later));
    let again = earlier.iter().filter(|term| later.contains(*term)).count();
    !earlier.is_empty() && again * 3 >= earlier.len() * 2
}

/// Returns the words of `text` in lower case; pairs of characters for scripts without spaces between words.
fn terms(text: &str) -> HashSet<String> {
    const FIRST_UNPARTED: char = '\u{2e80}';
    let lower = text.to_lowercase();
    let mut terms = HashSet::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let characters: Vec<char> = word.chars().collect();
        if characters.len() > 1 && characters.iter().any(|c| *c >= FIRST_UNPARTED) {
            terms.extend(characters.windows(2).map(|pair| pair.iter().collect::<String>()));
        } else {
            terms.insert(word.to_owned());
        }
    }
    terms
}

#[cfg(test)]
mod tests {

    use serde_json::json;

    use super::*;
    use crate::Input;
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
    fn what_was_said_on_another_branch_is_reported() {
        let messages = json!([
            message("a", "human", Some(NO_PARENT)),
            message("b", "assistant", Some("a")),
            message("a2", "human", Some(NO_PARENT)),
        ]);
        let (_, skipped) = read_by(&ClaudeAi, &conversation(&messages));
        assert_eq!(skipped, ["turns of the user on branches that are no longer shown: 1"]);
    }

    #[test]
    fn without_parents_the_last_version_of_an_edited_turn_is_kept_and_the_others_reported() {
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
        let expected =
            ["Book a table for two", "Booked.", "My sister is allergic to nuts.", "Any dessert without them?"];
        assert_eq!(words, expected);
        assert_eq!(skipped, ["edited user turns: 1; only the last version of each is kept"]);
    }

    #[test]
    fn temporary_empty_and_other_elements_are_reported_and_not_read() {
        let mut temporary = conversation(&json!([message("a", "human", None)]));
        temporary["is_temporary"] = json!(true);
        let (seen, skipped) =
            read_by(&ClaudeAi, &json!([temporary, conversation(&json!([])), {"uuid": "p", "docs": []}, 7]));
        assert!(seen.is_empty());
        let reasons = [
            "marked `is_temporary`, so none of it is kept",
            "a conversation without messages, such as a deleted one",
            "not a conversation: `chat_messages` is missing",
            "not a conversation: `chat_messages` is missing",
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
        let pieces: Vec<_> = seen[0]
            .messages
            .iter()
            .map(|message| (message.speaker.as_deref(), message.kind, message.text.as_str()))
            .collect();
        assert_eq!(
            pieces,
            [
                (Some("Ines"), Kind::Prose, "Use teal."),
                (None, Kind::Reasoning, "Teal it is."),
                (None, Kind::Prose, "Done.")
            ]
        );
        assert_eq!(seen[0].project.as_deref(), Some("Poster"));
    }
}

#[cfg(test)]
mod edited_tests {
    use super::*;

    #[test]
    fn a_version_says_most_of_the_first_one_again() {
        let versions = [
            ("Plan a diner for Friday", "Plan a dinner for Friday, for four people."),
            ("fix it", "Fix it!"),
            ("My flight is on Monday", "My flight is on Tuesday"),
            ("帮我订周五的晚餐", "帮我订周五的四人晚餐"),
        ];
        let others = [
            ("My sister Ines is allergic to nuts.", "Plan a dinner for Friday."),
            ("I moved to Faro in May", "What is the weather?"),
            ("我妹妹对坚果过敏", "帮我订周五的晚餐"),
            ("", "Plan a dinner"),
            ("!", "?"),
        ];
        for (earlier, later) in versions {
            assert!(is_said_again(earlier, later), "{earlier} / {later}");
        }
        for (earlier, later) in others {
            assert!(!is_said_again(earlier, later), "{earlier} / {later}");
        }
    }
}
