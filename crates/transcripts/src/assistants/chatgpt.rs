//! The ChatGPT data export: conversations are trees of nodes, and the branch that was shown last is read.

use std::collections::HashSet;

use regex::Captures;
use serde_json::Value;

use crate::assistants::deepseek;
use crate::assistants::export::{self, Node};
use crate::json::Json;
use crate::message::chat::role_named;
use crate::message::identity;
use crate::message::parts::{call_line, file_label};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Object, Objects, Role, Sink};

/// Fields that mark a conversation that its owner does not want to be remembered.
const PRIVATE_MARKS: &[&str] = &["is_do_not_remember", "is_temporary_chat", "is_temporary"];

/// Reads the ChatGPT data export.
pub(crate) struct ChatGpt;

impl Ingestor for ChatGpt {
    named!("chatgpt");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_conversation) || head.most_lines(is_conversation)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut instructions = HashSet::new();
        Objects::each(input, sink, |object, sink| read_conversation(object, &mut instructions, sink))
    }
}

/// Returns whether `value` is a conversation: a tree, or a flat list as in a shared page or an old export.
fn is_conversation(value: &Value) -> bool {
    let is_node = |node: &Value| node.get("children").is_some() || node.get("message").is_some();
    let is_tree = value["mapping"]
        .as_object()
        .is_some_and(|nodes| nodes.values().any(is_node) || (nodes.is_empty() && value.get("current_node").is_some()));
    let is_flat = value["messages"].list().iter().any(|message| {
        message["author"]["role"].is_string() && (message["content"].is_object() || message["content"].is_string())
    });
    // DeepSeek exports trees in the same format.
    (is_tree || is_flat || is_shared(value)) && !deepseek::is_conversation(value)
}

fn is_shared(value: &Value) -> bool {
    value["shared_conversation_id"].is_string() && value["messages"].is_array()
}

/// Returns the messages of the branch that was shown last, or all messages of a flat list; `None` if the conversation
/// is neither.
fn said<'a>(conversation: &'a Value, number: usize, sink: &mut Sink<'_>) -> Option<Vec<&'a Value>> {
    let Some(mapping) = conversation["mapping"].as_object() else {
        let messages = conversation["messages"].as_array()?;
        return Some(messages.iter().filter(|message| message.is_object()).collect());
    };
    let nodes: Vec<(&String, &Value)> = mapping.iter().collect();
    let node = |_, (id, node): (&'a String, &'a Value)| Node {
        id,
        parent: node["parent"].as_str(),
        before: None,
        time: identity::instant(&node["message"]["create_time"]),
    };
    let is_users = |(_, node): (&String, &Value)| {
        messages_of(&node["message"]).is_some_and(|said| said.iter().any(Message::is_human))
    };
    let branch = export::branch(&nodes, node, &conversation["current_node"], is_users, (number, sink));
    Some(branch.into_iter().map(|(_, node)| &node["message"]).filter(|message| message.is_object()).collect())
}

/// Reads a conversation; `instructions` are the custom instructions from an earlier conversation in the file.
fn read_conversation(object: Object, instructions: &mut HashSet<String>, sink: &mut Sink<'_>) {
    let Object { origin, number, value: conversation, .. } = object;
    if let Some(mark) = private_mark(&conversation) {
        return sink.skip(number, format!("marked `{mark}`, so none of it is kept"));
    }
    let Some(said) = said(&conversation, number, sink) else {
        return sink.skip(number, "not a conversation: `mapping` is missing");
    };
    let started = identity::stamp(&conversation["create_time"]);
    let mut draft = Assembler::new("chatgpt", external_id(&conversation, &said), origin);
    let meta = draft.meta();
    meta.title = conversation["title"].owned();
    meta.model = model(&conversation, &said);
    // The same field may contain the id of a custom GPT, which is not a project of the user.
    meta.project = conversation["gizmo_id"].owned().filter(|id| id.starts_with("g-p-"));
    // The branch that is shown is not always the branch that was started first.
    let earliest =
        said.iter().filter_map(|message| identity::stamp(&message["create_time"])).min_by_key(|time| time.at);
    draft.start_at(started.or(earliest));
    draft.meta().created_at = started.map(|time| time.at);
    let mut profiles = HashSet::new();
    for message in said {
        let time = draft.next_time(identity::stamp(&message["create_time"]));
        let Some(messages) = messages_of(message) else {
            sink.skip(number, "a message whose kind of content is not known");
            continue;
        };
        for mut message in messages {
            // The export repeats the instructions in every conversation.
            let is_profile = message.id.ends_with(PROFILE);
            if is_profile && message.kind == Kind::Prose {
                if instructions.insert(message.text.clone()) {
                    profiles.insert(message.text.clone());
                } else {
                    message.kind = Kind::Context;
                }
            }
            // In some conversations, each turn contains the profile again.
            if message.kind != Kind::Context || profiles.insert(message.text.clone()) {
                draft.push(Message { time, ..message }, sink);
            }
        }
    }
    draft.finish(sink);
}

/// Returns the field that marks the conversation as one that must not be remembered.
fn private_mark(conversation: &Value) -> Option<&'static str> {
    let scope = conversation["memory_scope"].string();
    let marked = PRIVATE_MARKS.iter().copied().find(|mark| conversation[*mark] == true);
    marked.or_else(|| scope.ends_with("disabled").then_some("memory_scope"))
}

fn model(conversation: &Value, said: &[&Value]) -> Option<String> {
    let of_message = |message: &&Value| message["metadata"]["model_slug"].owned();
    said.iter().rev().find_map(of_message).or_else(|| conversation["default_model_slug"].owned())
}

/// Returns the conversation's id, or an id derived from its first messages.
fn external_id(conversation: &Value, said: &[&Value]) -> String {
    let own = conversation.first_owned(&["conversation_id", "id", "shared_conversation_id"]);
    own.unwrap_or_else(|| {
        let first = said.iter().find(|message| role_of(message) == Role::User).or(said.first());
        let first = first.map(|message| (message["id"].to_string(), message["content"].to_string()));
        let (id, content) = first.unwrap_or_default();
        identity::of_parts(&[&conversation["create_time"].to_string(), &id, &content])
    })
}

// The content of one node of a `ChatGPT` conversation, and the kind of message that it becomes.

/// Suffix of the id of a message that contains the user's text from the settings.
const PROFILE: &str = "/instructions";
/// Text that ChatGPT writes before the custom instructions, which usually follow between three backticks.
const INTRODUCED: &str = "The user provided the ";

/// Types of content that may be empty without loss of information.
const KNOWN: &[&str] = &[
    "citable_code_output", "code", "computer_output", "execution_output", "model_editable_context", "reasoning_recap",
    "sonic_webpage", "system_error", "tether_browsing_display", "tether_quote", "user_editable_context",
];

/// Returns the messages in `message`, in order; an empty list if it is empty, and `None` if its type of content is
/// unknown and there is no text.
fn messages_of(message: &Value) -> Option<Vec<Message>> {
    let role = role_of(message);
    let content = &message["content"];
    let text = text_of(content)?;
    let kind = kind_of(message, role);
    let text = match kind {
        Kind::ToolCall => call(message, &text),
        Kind::Context => with_profile(message, &text),
        Kind::Prose | Kind::ToolResult | Kind::Reasoning | Kind::Summary | Kind::Attachment => text,
    };
    let speaker = message["author"]["name"].owned();
    let made = |kind, text| Message {
        id: message["id"].string().to_owned(),
        kind,
        speaker: speaker.clone(),
        ..Message::prose(role, text)
    };
    // The root of each tree and every hidden system prompt are empty.
    let own: Vec<(&str, &str)> = instructions(message);
    let text = own.iter().fold(text, |text, (field, words)| text.replace(field, &field.replace(words, "")));
    let said = (!text.trim().is_empty()).then(|| made(kind, without_marks(&text)));
    let own = own.into_iter().map(|(_, words)| Message {
        id: format!("{}{PROFILE}", message["id"].string()),
        role: Role::User,
        ..made(Kind::Prose, words.to_owned())
    });
    let files = attachments(message).into_iter().map(|label| made(Kind::Attachment, label));
    Some(said.into_iter().chain(own).chain(files).collect())
}

/// Returns the fields with custom instructions, each with the part of the text that the user wrote.
fn instructions(message: &Value) -> Vec<(&str, &str)> {
    let (content, older) = (&message["content"], older_profile(message));
    if content["content_type"] == "user_editable_context" {
        let fields = ["user_profile", "user_instructions"].map(|field| content[field].string());
        fields.into_iter().filter_map(|field| Some((field, written(field)?))).collect()
    } else if message["metadata"]["is_user_system_message"] == true {
        older.into_iter().filter(|field| !field.trim().is_empty()).map(|field| (field, field.trim())).collect()
    } else {
        Vec::new()
    }
}

/// Returns the part of a field that the user wrote, if a text of the program or the name of a field in the settings shows
/// that it is one; other text, such as a time zone, was written by the program.
fn written(field: &str) -> Option<&str> {
    patterns! {
        REQUESTS = r"^(?:Follow the instructions below naturally(?:, without [^\n!.:]*)?[!.:]|All the following instructions should guide your behavior silently[^\n!]*!)\s*";
        SETTINGS = r"^(?:Preferred name|Role|Other Information): ";
    }
    let mut words = field.trim();
    if let Some(rest) = words.strip_prefix(INTRODUCED) {
        let fenced = rest.split_once("```").map(|(_, rest)| rest.rsplit_once("```").map_or(rest, |(words, _)| words));
        let unfenced = || rest.split_once("User profile:\n").or_else(|| rest.split_once(":\n")).map(|(_, words)| words);
        words = fenced.or_else(unfenced)?.trim();
    } else if !SETTINGS.is_match(words) && !REQUESTS.is_match(words) {
        return None;
    }
    while let Some(request) = REQUESTS.find(words) {
        words = words[request.end()..].trim();
    }
    (!words.is_empty()).then_some(words)
}

/// Returns the role of `message`; old exports and shared pages store it without the surrounding `author`.
fn role_of(message: &Value) -> Role {
    role_named(message["author"]["role"].as_str().or_else(|| message["role"].as_str()).unwrap_or_default())
}

fn kind_of(message: &Value, role: Role) -> Kind {
    let metadata = &message["metadata"];
    // The export gives a message that is not shown a weight of 0.
    let hidden = message["weight"].as_f64() == Some(0.0) || metadata["is_visually_hidden_from_conversation"] == true;
    let recipient = message["recipient"].as_str().unwrap_or("all");
    let content_type = message["content"]["content_type"].as_str().unwrap_or("text");
    match (role, content_type) {
        (_, "user_editable_context" | "model_editable_context") => Kind::Context,
        (_, "thoughts" | "reasoning_recap") => Kind::Reasoning,
        (Role::Tool, _) => Kind::ToolResult,
        (Role::System, _) => Kind::Context,
        // Text that the assistant wrote in its own memory is an interpretation of the user, not something that the user
        // said.
        (Role::Assistant, _) if recipient == "bio" => Kind::Context,
        // A message that is not addressed to everyone is addressed to the tool with the name in `recipient`.
        (Role::Assistant, _) if recipient != "all" => Kind::ToolCall,
        _ if hidden || metadata["is_user_system_message"] == true => Kind::Context,
        // Newer models write in several channels, and only `final` contains the answer.
        (Role::Assistant, _) if matches!(message["channel"].as_str(), Some("analysis" | "commentary")) => {
            Kind::Reasoning
        }
        (_, "text" | "multimodal_text") => Kind::Prose,
        (Role::Assistant, "code") => Kind::ToolCall,
        (Role::User | Role::Assistant | Role::Other, _) => Kind::ToolResult,
    }
}

/// Returns the text of any known type of content; `None` for an unknown type without text.
fn text_of(content: &Value) -> Option<String> {
    if let Some(text) = content.as_str() {
        return Some(text.to_owned());
    }
    let fields: &[&str] = match content["content_type"].as_str().unwrap_or("text") {
        "text" | "multimodal_text" => return Some(parts(content)),
        "thoughts" => return Some(thoughts(content)),
        "user_editable_context" => &["user_profile", "user_instructions"],
        "model_editable_context" => &["model_set_context"],
        "reasoning_recap" => &["content"],
        "tether_browsing_display" => &["summary", "result"],
        "tether_quote" | "sonic_webpage" => &["title", "text"],
        "citable_code_output" => &["output_str"],
        "system_error" => &["name", "text"],
        _ => &["text", "output_str", "result", "content"],
    };
    let found: Vec<&str> = fields.iter().filter_map(|field| content[*field].as_str()).collect();
    let text = if found.is_empty() { parts(content) } else { found.join("\n") };
    let is_known = KNOWN.contains(&content["content_type"].as_str().unwrap_or("text"));
    (!text.trim().is_empty() || is_known).then_some(text)
}

/// Joins the parts that contain text: strings, and transcriptions of recordings.
fn parts(content: &Value) -> String {
    let parts = content["parts"].list();
    let words = parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str()));
    words.collect::<Vec<_>>().join("\n")
}

fn thoughts(content: &Value) -> String {
    let thoughts = content["thoughts"].list();
    let words = thoughts.iter().flat_map(|thought| [thought["summary"].as_str(), thought["content"].as_str()]);
    let words = words.flatten().collect::<Vec<_>>().join("\n");
    if words.is_empty() { parts(content) } else { words }
}

/// Returns the profile that older exports store outside the content.
fn older_profile(message: &Value) -> [&str; 2] {
    let profile = &message["metadata"]["user_context_message_data"];
    ["about_user_message", "about_model_message"].map(|field| profile[field].string())
}

/// Adds the profile that older exports store outside the content.
fn with_profile(message: &Value, text: &str) -> String {
    let extra = older_profile(message).into_iter().filter(|field| !field.is_empty() && !text.contains(*field));
    extra.fold(text.to_owned(), |text, field| format!("{text}\n{field}"))
}

fn call(message: &Value, text: &str) -> String {
    let tool = message["recipient"].as_str().filter(|recipient| *recipient != "all").unwrap_or("code");
    call_line(tool, text)
}

/// Returns a placeholder for each image, recording and file.
fn attachments(message: &Value) -> Vec<String> {
    let files = message["metadata"]["attachments"].list();
    let mut labels: Vec<String> = files
        .iter()
        .map(|file| {
            let is_image = file["mime_type"].as_str().is_some_and(|kind| kind.starts_with("image/"));
            file_label(if is_image { "image" } else { "file" }, file["name"].as_str())
        })
        .collect();
    let parts = message["content"]["parts"].list();
    let count = |name: &str| parts.iter().filter(|part| part["content_type"] == name).count();
    let named_images = labels.iter().filter(|label| label.starts_with("[image")).count();
    let images = count("image_asset_pointer").saturating_sub(named_images);
    labels.extend((0..images).map(|_| file_label("image", None)));
    // If a recording was transcribed, its text is already present.
    let heard = count("audio_transcription");
    let recordings = count("audio_asset_pointer") + count("real_time_user_audio_video_asset_pointer");
    labels.extend((0..recordings.saturating_sub(heard)).map(|_| file_label("audio", None)));
    labels
}

/// Removes citation marks; a mark that contains displayed text is replaced by that text.
fn without_marks(text: &str) -> String {
    // Citations: newer answers enclose them in private-use characters, older answers use `【4:0†source】`.
    patterns! {
        MARKS = "\u{e200}([^\u{e200}\u{e201}]{0,800})\u{e201}|[\u{e200}-\u{e202}]|【[0-9:]+†[^】\n]{0,200}】";
    }
    MARKS
        .replace_all(text, |found: &Captures<'_>| {
            found.get(1).and_then(|body| shown(body.as_str())).unwrap_or_default()
        })
        .into_owned()
}

/// Returns the text that a mark displays: an entity's name or a link's title.
fn shown(body: &str) -> Option<String> {
    let (kind, rest) = body.split_once('\u{e202}')?;
    match kind {
        "entity" => serde_json::from_str::<Value>(rest).ok()?.get(1)?.as_str().map(str::to_owned),
        "url" => rest.split('\u{e202}').next().map(str::to_owned),
        _ => None,
    }
}

#[cfg(test)]
mod tests {

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
            (1, "not a conversation: `mapping` is missing"),
            (2, "marked `is_do_not_remember`, so none of it is kept"),
            (3, "not a conversation: `mapping` is missing"),
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
        let pieces: Vec<_> = times.iter().map(|time| (time.at.to_string(), time.source)).collect();
        let expected = [
            ("2026-01-02T00:00:00Z", TimeSource::Derived),
            ("2026-01-02T00:01:00.25Z", TimeSource::Log),
            ("2026-01-02T00:01:00.25Z", TimeSource::Derived),
        ];
        assert_eq!(pieces, expected.map(|(at, source)| (at.to_owned(), source)));
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
        let pieces: Vec<_> =
            seen[0].messages.iter().map(|message| (message.kind, message.role, message.text.as_str())).collect();
        assert_eq!(
            pieces,
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
            let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.role, message.text.as_str())).collect();
            assert_eq!((pieces, skipped), (vec![(Role::User, "hi"), (Role::Assistant, "hello")], vec![]));
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
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| message.text.as_str()).collect();
        assert_eq!(pieces, ["An engineer.", "same", "same"]);
    }

    #[test]
    fn custom_instructions_are_the_users_words_once_in_a_file() {
        let profile = json!({
            "content_type": "user_editable_context",
            "user_profile": "The user provided the following information about themselves. Only acknowledge it when asked.\nUser profile:\n```Preferred name: Ana\nRole: baker```",
            "user_instructions": "The user provided the additional info about how they would like you to respond:\n```Be brief. Use ```rust for code.```",
        });
        let conversation = |id: &str| {
            let mut one = one(&[node("a", None, "user", &profile), node("b", Some("a"), "user", &text("hi"))]);
            one["id"] = json!(id);
            one
        };
        let (seen, _) = read(&json!([conversation("x"), conversation("y")]));
        let own = ["Preferred name: Ana\nRole: baker", "Be brief. Use ```rust for code."];
        let said = |one: &Transcript| {
            let human = one.messages.iter().filter(|message| message.is_human());
            human.map(|message| message.text.clone()).collect::<Vec<_>>()
        };
        assert_eq!(said(&seen[0]), [own[0], own[1], "hi"]);
        assert_eq!(said(&seen[1]), ["hi"]);
        assert!(seen[0].messages[0].kind == Kind::Context && !seen[0].messages[0].text.contains("baker"));
        let unfenced = json!({
            "content_type": "user_editable_context",
            "user_profile": "Preferred name: Ada\nRole: welder",
            "user_instructions": "Follow the instructions below naturally, without repeating any of their wording!\n\nAll the \
                                  following instructions should guide your behavior silently and must never show!\n\nBe brief.",
        });
        assert_eq!(
            said(&read(&one(&[node("a", None, "user", &unfenced)])).0[0]),
            ["Preferred name: Ada\nRole: welder", "Be brief."]
        );
        let introduced = json!({"content_type": "user_editable_context", "user_profile": "The user provided the following \
                                information about themselves.\nUser profile:\nI am a welder."});
        assert_eq!(said(&read(&one(&[node("a", None, "user", &introduced)])).0[0]), ["I am a welder."]);
        let mut older = node("a", None, "system", &text(""));
        older["message"]["metadata"] = json!({"is_user_system_message": true, "user_context_message_data": {
            "about_user_message": "I am a baker.", "about_model_message": "Answer in verse."}});
        let (seen, _) = read(&one(&[older.clone(), node("b", Some("a"), "user", &text("hi"))]));
        assert_eq!(said(&seen[0]), ["I am a baker.", "Answer in verse.", "hi"]);
        older["message"]["metadata"]["is_user_system_message"] = json!(false);
        assert_eq!(said(&read(&one(&[older])).0[0]), [""; 0]);
        let zone =
            json!({"content_type": "user_editable_context", "user_profile": "The user's timezone is Asia/Kolkata."});
        assert_eq!(said(&read(&one(&[node("a", None, "user", &zone)])).0[0]), [""; 0]);
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
        let pieces = |stamp: &str| {
            let message = json!({"author": {"role": "user"}, "content": {"parts": ["hi"]}, "create_time": stamp});
            let conversation =
                json!({"id": "c", "mapping": {"a": {"parent": null, "children": [], "message": message}}});
            let mut times = Vec::new();
            let mut accept =
                |one: Transcript| times.extend(one.messages.into_iter().filter_map(|message| message.time));
            let input = Input::from_text("conversations.json", &json!([conversation]).to_string());
            ChatGpt.read(input, &mut Sink::new(&mut accept)).unwrap();
            (times[0].at.to_string(), times[0].offset_seconds)
        };
        assert_eq!(pieces("2026-01-02T03:04:05+02:00"), ("2026-01-02T01:04:05Z".to_owned(), Some(7_200)));
        assert_eq!(pieces("2026-01-02T03:04:05"), ("2026-01-02T03:04:05Z".to_owned(), None));
    }
}

#[cfg(test)]
mod content_tests {
    use super::*;
    use serde_json::json;

    fn placed(message: &Value) -> Vec<(Kind, String)> {
        match messages_of(message) {
            Some(messages) => messages.into_iter().map(|message| (message.kind, message.text)).collect(),
            None => vec![(Kind::Context, "unknown".to_owned())],
        }
    }

    #[test]
    fn each_kind_of_node_has_its_kind_of_message() {
        let text = json!({"content_type": "text", "parts": ["words"]});
        let rows = [
            (json!({"author": {"role": "user"}, "content": text}), Kind::Prose, "words"),
            (
                json!({"author": {"role": "assistant"}, "recipient": "all", "channel": "final", "content": text}),
                Kind::Prose,
                "words",
            ),
            (
                json!({"author": {"role": "assistant"}, "channel": "commentary", "content": text}),
                Kind::Reasoning,
                "words",
            ),
            (json!({"author": {"role": "system"}, "content": text}), Kind::Context, "words"),
            (
                json!({"author": {"role": "tool"}, "content": {"content_type": "execution_output", "text": "42"}}),
                Kind::ToolResult,
                "42",
            ),
            (
                json!({"author": {"role": "assistant"}, "recipient": "python", "content": {"content_type": "code", "text": "print(42)\nx"}}),
                Kind::ToolCall,
                "python print(42)",
            ),
            (
                json!({"author": {"role": "assistant"}, "content": {"content_type": "thoughts", "thoughts": [{"summary": "s", "content": "c"}]}}),
                Kind::Reasoning,
                "s\nc",
            ),
            (
                json!({"author": {"role": "user"}, "content": {"content_type": "hologram", "blob": 1}}),
                Kind::Context,
                "unknown",
            ),
        ];
        for (message, kind, words) in rows {
            assert_eq!(placed(&message), [(kind, words.to_owned())], "{message}");
        }
    }

    #[test]
    fn pictures_files_and_recordings_become_placeholders() {
        let message = json!({"author": {"role": "user"}, "content": {"content_type": "multimodal_text", "parts": [
            "look", null, {"content_type": "image_asset_pointer"}, {"content_type": "image_asset_pointer"},
            {"content_type": "audio_asset_pointer"}, {"content_type": "audio_transcription", "text": "and listen"}]},
            "metadata": {"attachments": [{"name": "plan.png", "mime_type": "image/png"}, {"name": "a.txt"}]}});
        let pieces = placed(&message);
        let expected = [
            (Kind::Prose, "look\nand listen"),
            (Kind::Attachment, "[image: plan.png]"),
            (Kind::Attachment, "[file: a.txt]"),
            (Kind::Attachment, "[image]"),
        ];
        assert_eq!(pieces, expected.map(|(kind, text)| (kind, text.to_owned())));
    }

    #[test]
    fn citation_marks_go_and_the_words_they_show_stay() {
        let text = "Go\u{e200}cite\u{e202}turn0\u{e201} to \u{e200}entity\u{e202}[\"city\",\"Lisbon\"]\u{e201}【4†source】 now\u{e202}.";
        assert_eq!(without_marks(text), "Go to Lisbon now.");
    }
}
