//! One conversation exported from `LibreChat`: a flat list of messages, or a tree with one level per message.

use serde_json::Value;

use crate::assistants::export::{self, Node};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{call_line, file_label, without_data};
use crate::{Assembler, Head, IngestError, Ingestor, Input, Kind, Message, Role, Sink, json};

/// The parent id of a first message.
const NO_PARENT: &str = "00000000-0000-0000-0000-000000000000";

/// Reads a conversation exported from `LibreChat`.
pub(crate) struct LibreChat;

impl Ingestor for LibreChat {
    named!("librechat");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(|value| {
            let is_message = |message: &Value| {
                message["messageId"].is_string()
                    && (message.get("isCreatedByUser").is_some() || message.get("parentMessageId").is_some())
            };
            value["messagesTree"].list().iter().chain(value["messages"].list()).any(is_message)
                || value["messagesTree"].is_array() && value["conversationId"].is_string()
        })
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let Some(document) = sink.whole_text(input, "conversations")? else { return Ok(()) };
        let conversations = conversations(&document, sink);
        let several = conversations.len() > 1;
        for (index, objects) in conversations.iter().enumerate() {
            let Some((conversation, nested)) = objects.split_first() else { continue };
            let number = index + 1;
            let messages: Vec<&Value> = nested.iter().chain(conversation["messages"].list()).collect();
            let origin = if several { format!("{origin}#{number}") } else { origin.clone() };
            read_conversation(conversation, messages, number, origin, sink);
        }
        Ok(())
    }
}

fn read_conversation(
    conversation: &Value,
    mut messages: Vec<&Value>,
    number: usize,
    origin: String,
    sink: &mut Sink<'_>,
) {
    let mark = messages.iter().chain([&conversation]).find_map(|value| {
        // Only temporary chats expire.
        let expires = value["expiredAt"].is_string();
        (value["isTemporary"] == true).then_some("isTemporary").or_else(|| expires.then_some("expiredAt"))
    });
    if let Some(mark) = mark {
        return sink.skip(number, format!("marked `{mark}`, so none of it is kept"));
    }
    let before = messages.len();
    messages.retain(|message| message["messageId"].is_string());
    if messages.len() < before {
        sink.skip(number, format!("messages without a `messageId`: {}", before - messages.len()));
    }
    let said = shown(&messages, number, sink);
    let started = identity::stamp(&conversation["createdAt"]);
    let id = conversation["conversationId"]
        .owned()
        .or_else(|| said.iter().find_map(|message| message["conversationId"].owned()))
        .unwrap_or_else(|| {
            // A first message that is edited gets a new id, whereas the oldest version of it, which is the first message in the
            // file, stays the same in every export.
            let first = messages.first().map(|message| message["messageId"].to_string()).unwrap_or_default();
            identity::of_parts(&[&first])
        });
    let mut draft = Assembler::new("librechat", id, origin);
    let meta = draft.meta();
    meta.title = conversation["title"].owned();
    meta.model = said
        .iter()
        .rev()
        .find_map(|message| message["model"].owned())
        .or_else(|| conversation["options"]["model"].owned());
    draft.start_at(started.or_else(|| said.iter().find_map(|message| identity::stamp(&message["createdAt"]))));
    draft.meta().created_at = started.map(|time| time.at);
    let prompts = ["promptPrefix", "system"].into_iter().filter_map(|key| conversation["options"][key].owned());
    let time = draft.next_time(None);
    draft.push_all("", time, prompts.map(Message::context), sink);
    for message in said {
        let time = draft.next_time(identity::stamp(&message["createdAt"]));
        draft.push_all(message["messageId"].string(), time, messages_of(message, number, sink), sink);
    }
    draft.finish(sink);
}

/// Returns the messages of the branch that ends in the newest answer, because the export does not record which branch
/// was shown.
fn shown<'a>(messages: &[&'a Value], number: usize, sink: &mut Sink<'_>) -> Vec<&'a Value> {
    let node = |place: usize, message: &'a Value| {
        let parent = message["parentMessageId"].as_str().filter(|parent| *parent != NO_PARENT);
        Node {
            id: message["messageId"].string(),
            parent,
            // A message whose parent is missing follows the previous one.
            before: place.checked_sub(1).filter(|_| parent.is_some()),
            time: identity::stamp(&message["createdAt"]).map(|time| time.at),
        }
    };
    let is_users = |message: &Value| role_of(message) == Role::User;
    export::branch(messages, node, &Value::Null, is_users, (number, sink))
}

// The content of one message of `LibreChat`.

/// Returns the role of `message`; `Role::Other` if the message contains neither its creator nor a sender.
fn role_of(message: &Value) -> Role {
    match (&message["isCreatedByUser"], message["sender"].as_str()) {
        (Value::Bool(true), _) => Role::User,
        (Value::Bool(false), _) => Role::Assistant,
        (_, Some(sender)) if sender.eq_ignore_ascii_case("user") => Role::User,
        (_, Some(_)) => Role::Assistant,
        (_, None) => Role::Other,
    }
}

/// Returns the messages in `message`: its parts or, failing that, its text, and its files.
fn messages_of(message: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let mut said: Vec<(Kind, String)> = Vec::new();
    for part in message["content"].list() {
        said.extend(of_part(part, number, sink));
    }
    if !said.iter().any(|(kind, text)| *kind == Kind::Prose && !text.trim().is_empty()) {
        // If an answer failed, its text is the program's error message.
        let kind = if message["error"] == true { Kind::Context } else { Kind::Prose };
        let words = message["text"].as_str().or_else(|| message["content"].as_str()).unwrap_or_default();
        said.push((kind, without_data(words)));
    }
    for file in ["files", "attachments"].into_iter().flat_map(|field| message[field].list()) {
        let is_image = file["type"].as_str().is_some_and(|kind| kind.starts_with("image/"));
        let label = file_label(if is_image { "image" } else { "file" }, file["filename"].as_str());
        said.push((Kind::Attachment, label));
    }
    export::messages(role_of(message), said)
}

fn of_part(part: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<(Kind, String)> {
    // The text of a part is in a field named after its type, directly or in a `value`.
    let words =
        |name: &str| part[name].as_str().or_else(|| part[name]["value"].as_str()).unwrap_or_default().to_owned();
    match part["type"].string() {
        "text" => vec![(Kind::Prose, without_data(&words("text")))],
        "think" => vec![(Kind::Reasoning, words("think"))],
        "error" => vec![(Kind::Context, words("error"))],
        "tool_call" => {
            let call = &part["tool_call"];
            // The formats of calls differ between agents and assistants.
            let (name, arguments) = [&call["name"], &call["function"]["name"]]
                .into_iter()
                .zip([&call["args"], &call["function"]["arguments"]])
                .find(|(name, _)| name.is_string())
                .unwrap_or((&call["type"], &call["input"]));
            let arguments = arguments.as_str().map_or_else(|| arguments.to_string(), str::to_owned);
            let output = call["output"].as_str().or_else(|| call["function"]["output"].as_str()).unwrap_or_default();
            vec![
                (Kind::ToolCall, call_line(name.as_str().unwrap_or("tool"), &arguments)),
                (Kind::ToolResult, without_data(output)),
            ]
        }
        "image_file" | "image_url" => {
            vec![(Kind::Attachment, file_label("image", part["image_file"]["filename"].as_str()))]
        }
        "" | "agent_update" => Vec::new(),
        _ => {
            sink.skip(number, "a part of a message whose kind is not known");
            Vec::new()
        }
    }
}

// Splits a tree of messages without recursion, so that its depth is not limited by the stack.

/// Returns the conversations of `document`, each as a list of objects: the outermost one, followed by the messages
/// nested in it, in document order. The messages nested in an object are removed from it.
///
/// An object that cannot be parsed, or that is cut off at the end of the text, is reported.
fn conversations(document: &str, sink: &mut Sink<'_>) -> Vec<Vec<Value>> {
    let mut conversations: Vec<Vec<Value>> = Vec::new();
    for (index, found) in objects(document).into_iter().enumerate() {
        let object = match json::parse::<Value>(&found.text) {
            _ if found.depth > 0 => Err("incomplete; it will be read once it is complete".to_owned()),
            Ok((value, repaired)) => {
                sink.repaired += usize::from(repaired);
                Ok(value)
            }
            Err(error) => Err(format!("invalid JSON at column {}", error.column())),
        };
        let object = object.map_err(|reason| sink.skip(index + 1, reason)).ok();
        match conversations.last_mut().filter(|_| !found.is_outermost) {
            Some(conversation) => conversation.extend(object),
            // Even without the outermost object, its messages can be read.
            None => conversations.push(vec![object.unwrap_or_default()]),
        }
    }
    conversations
}

/// An object of the document.
struct Found {
    is_outermost: bool,
    /// Text of the object, without nested messages.
    text: String,
    /// Number of open brackets of the object, without nested messages; 0 once the object is complete.
    depth: usize,
    /// Whether the list of nested messages is being read.
    in_list: bool,
}

fn objects(document: &str) -> Vec<Found> {
    patterns! {
        TOKEN = r#"(?s)"(?:[^"\\]|\\.)*"?|[\[\]{}]"#;
    }
    let (mut found, mut open): (Vec<Found>, Vec<usize>) = (Vec::new(), Vec::new());
    // The last string, and the start of the text that has not been added to an object.
    let (mut string, mut start) = (0..0, 0);
    for token in TOKEN.find_iter(document) {
        let innermost = open.last().map(|place| &mut found[*place]);
        match (token.as_str(), innermost) {
            ("{", inner) if inner.as_ref().is_none_or(|inner| inner.in_list) => {
                start = token.start();
                open.push(found.len());
                found.push(Found { is_outermost: open.len() == 1, text: String::new(), depth: 1, in_list: false });
            }
            (_, None) => {}
            (bracket, Some(list)) if list.in_list => {
                list.in_list = bracket != "]";
                start = token.end();
            }
            (bracket @ ("{" | "["), Some(object)) => {
                let key = if object.is_outermost { "\"messagesTree\"" } else { "\"children\"" };
                let is_keyed = &document[string.clone()] == key && document[string.end..token.start()].trim() == ":";
                if is_keyed && bracket == "[" && object.depth == 1 {
                    // The list is processed separately, so that nesting does not grow with the length of the
                    // conversation.
                    object.text.extend([&document[start..token.end()], "]"]);
                    object.in_list = true;
                } else {
                    object.depth += 1;
                }
            }
            ("}" | "]", Some(object)) => {
                object.depth -= 1;
                if object.depth == 0 {
                    object.text.push_str(&document[start..token.end()]);
                    open.pop();
                }
            }
            _ => string = token.range(),
        }
    }
    found
}

#[cfg(test)]
mod tests {

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
        assert_eq!(skipped, vec!["incomplete; it will be read once it is complete"; 2]);
    }

    #[test]
    fn each_part_is_a_message_of_its_kind_and_an_error_is_not_said() {
        let answer = json!({"messageId": "m", "isCreatedByUser": false, "sender": "GPT-5", "text": "", "content": [
        {"type": "think", "think": "tides"}, {"type": "text", "text": {"value": "Looking."}},
        {"type": "tool_call", "tool_call": {"name": "tides", "args": "{\"query\":\"Faro\"}", "output": "six"}},
        {"type": "text", "text": "Six."}, {"type": "hologram"}], "files": [{"filename": "a.png", "type": "image/png"}]});
        let failed = json!({"messageId": "n", "parentMessageId": "m", "isCreatedByUser": false, "error": true, "text": "Rate limit"});
        let (seen, skipped) = read(&json!({"messages": [answer, failed]}).to_string());
        let pieces: Vec<_> = seen[0].messages.iter().map(|message| (message.kind, message.text.as_str())).collect();
        let expected = [
            (Kind::Reasoning, "tides"),
            (Kind::Prose, "Looking."),
            (Kind::ToolCall, "tides Faro"),
            (Kind::ToolResult, "six"),
            (Kind::Prose, "Six."),
            (Kind::Attachment, "[image: a.png]"),
            (Kind::Context, "Rate limit"),
        ];
        assert_eq!(
            (pieces, skipped),
            (expected.to_vec(), vec!["a part of a message whose kind is not known".to_owned()])
        );
    }

    #[test]
    fn a_temporary_chat_is_reported_and_not_read() {
        let mut secret = message("a", "0", true, 1);
        secret["expiredAt"] = json!("2026-04-01T00:00:00Z");
        let (seen, skipped) = read(&json!({"messages": [secret]}).to_string());
        assert_eq!((seen.len(), skipped), (0, vec!["marked `expiredAt`, so none of it is kept".to_owned()]));
    }

    #[test]
    fn an_array_of_exports_holds_several_conversations() {
        let one =
            |id: &str| json!({"conversationId": id, "messagesTree": [with_children(message(id, "0", true, 1), &[])]});
        let (seen, skipped) = read(&json!([one("first"), {"conversationId": "empty"}, one("second")]).to_string());
        let pieces: Vec<_> = seen.iter().map(|one| (one.external_id.as_str(), one.messages[0].text.as_str())).collect();
        assert_eq!((pieces, skipped), (vec![("first", "says first"), ("second", "says second")], vec![]));
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
}
