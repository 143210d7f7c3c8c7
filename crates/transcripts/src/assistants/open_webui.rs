//! Chats exported from `Open WebUI`: trees of messages, with reasoning and tool calls as HTML in the text of the
//! answers.

use regex::Captures;
use serde_json::Value;

use crate::assistants::export::{self, Node, role_and_kind};
use crate::json::Json;
use crate::message::identity;
use crate::message::parts::{call_line, file_label, without_data};
use crate::{Assembler, Head, Ingestor, Kind, Message, Object, Role, Sink};

/// Reads chats exported from `Open WebUI`.
pub(crate) struct OpenWebUi;

impl Ingestor for OpenWebUi {
    named!("open-webui");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(|value| chat_of(value).is_some()) || head.most_lines(|value| chat_of(value).is_some())
    }

    read_each!(read_chat);
}

/// Returns the chat itself: the value of `chat`, or the object without a wrapper.
fn chat_of(row: &Value) -> Option<&Value> {
    let has_tree = |chat: &Value| chat["history"]["messages"].is_object();
    let is_bare = has_tree(row) && row["history"].get("currentId").is_some();
    if has_tree(&row["chat"]) { Some(&row["chat"]) } else { is_bare.then_some(row) }
}

fn read_chat(Object { origin, number, value: row, .. }: Object, sink: &mut Sink<'_>) {
    let Some(chat) = chat_of(&row) else {
        return sink.skip(number, "not a chat: `history` is missing");
    };
    let said = said(chat, number, sink);
    let started = ["created_at", "timestamp"]
        .into_iter()
        .find_map(|key| identity::stamp(&row[key]).or_else(|| identity::stamp(&chat[key])));
    let id = row["id"].owned().or_else(|| chat["id"].owned()).unwrap_or_else(|| {
        let first = said.first().map(|(id, message)| format!("{id}{}", message["content"])).unwrap_or_default();
        identity::of_parts(&[&first])
    });
    let mut draft = Assembler::new("open-webui", id, origin);
    let meta = draft.meta();
    meta.title = row["title"].owned().or_else(|| chat["title"].owned());
    meta.project = row["folder_id"].owned();
    meta.model =
        said.iter().rev().find_map(|(_, message)| message["model"].owned()).or_else(|| chat["models"][0].owned());
    draft.start_at(started);
    let prompt = chat["params"]["system"].owned().or_else(|| chat["system"].owned());
    let time = draft.next_time(None);
    draft.push_all("", time, prompt.map(Message::context), sink);
    for (id, message) in said {
        let time = draft.next_time(identity::stamp(&message["timestamp"]));
        draft.push_all(id, time, messages_of(message, number, sink), sink);
    }
    draft.finish(sink);
}

/// Returns the messages of the branch that is shown, with their ids; or the flat list if there is no tree.
fn said<'a>(chat: &'a Value, number: usize, sink: &mut Sink<'_>) -> Vec<(&'a str, &'a Value)> {
    let tree = chat["history"]["messages"].as_object();
    let messages: Vec<(&str, &Value)> = tree
        .into_iter()
        .flatten()
        .map(|(id, message)| (id.as_str(), message))
        .filter(|(_, message)| message.is_object())
        .collect();
    if messages.is_empty() {
        let flat = chat["messages"].list().iter().filter(|message| message.is_object());
        return flat.map(|message| (message["id"].string(), message)).collect();
    }
    let node = |_, (id, message): (&'a str, &'a Value)| Node {
        id,
        parent: message["parentId"].as_str(),
        before: None,
        time: identity::instant(&message["timestamp"]),
    };
    let is_users = |(_, message): (&str, &Value)| message["role"] == "user";
    export::branch(&messages, node, &chat["history"]["currentId"], is_users, (number, sink))
}

fn messages_of(message: &Value, number: usize, sink: &mut Sink<'_>) -> Vec<Message> {
    let Some((role, kind)) = role_and_kind(&message["role"]) else {
        sink.skip(number, "a message whose role is not known");
        return Vec::new();
    };
    let mut said = if role == Role::Assistant { of_answer(message) } else { vec![(kind, words(&message["content"]))] };
    let pictures = message["content"].list().iter().filter(|part| part["type"] == "image_url");
    said.extend(pictures.map(|_| (Kind::Attachment, file_label("image", None))));
    for file in message["files"].list() {
        let noun = if file["type"] == "image" { "image" } else { "file" };
        let name = file["name"].as_str().or_else(|| file["file"]["filename"].as_str());
        said.push((Kind::Attachment, file_label(noun, name)));
    }
    export::messages(role, said)
}

/// Returns the text of a message: a string, or a list of parts.
fn words(content: &Value) -> String {
    let words = match content.as_str() {
        Some(text) => text.to_owned(),
        None => content.list().iter().filter_map(|part| part["text"].as_str()).collect::<Vec<_>>().join("\n"),
    };
    without_data(&words)
}

/// Returns the parts of an answer: from its list of steps, or, failing that, from its text.
fn of_answer(message: &Value) -> Vec<(Kind, String)> {
    let steps: Vec<(Kind, String)> = message["output"].list().iter().filter_map(of_step).collect();
    // Not every version stores the steps, and the steps do not always contain the text.
    let answers = steps.iter().any(|(kind, text)| *kind == Kind::Prose && !text.trim().is_empty());
    if answers { steps } else { of_text(&words(&message["content"])) }
}

fn of_step(step: &Value) -> Option<(Kind, String)> {
    let field = |name: &str| step[name].string();
    Some(match field("type") {
        "message" => (Kind::Prose, words(&step["content"])),
        "reasoning" => (Kind::Reasoning, words(&step["content"])),
        "function_call" => (Kind::ToolCall, call_line(field("name"), field("arguments"))),
        "function_call_output" => (Kind::ToolResult, words(&step["output"])),
        "code_interpreter" | "open_webui:code_interpreter" => (Kind::ToolCall, call_line("code", field("code"))),
        _ => return None,
    })
}

/// Extracts the blocks of reasoning, tool calls and code from an answer's text.
fn of_text(text: &str) -> Vec<(Kind, String)> {
    patterns! {
        BLOCK = r"(?s)<details\s+([^>]*)>(.*?)(?:</details>|\z)";
        SUMMARY = "(?s)<summary>.*?</summary>";
    }
    let (mut said, mut spoken) = (Vec::new(), String::new());
    let mut end = 0;
    for found in BLOCK.captures_iter(text) {
        let (whole, attributes) = (found.get_match(), &found[1]);
        // The program escapes the content of the block, so that it is not interpreted as Markdown.
        let inner = unescaped(SUMMARY.replace(&found[2], "").trim());
        let pieces = match attribute(attributes, "type").as_deref() {
            Some("reasoning") => vec![(Kind::Reasoning, inner)],
            Some("tool_calls") => of_call(attributes, inner),
            Some("code_interpreter") => vec![(Kind::ToolCall, call_line("code", &inner))],
            // Other `<details>` blocks belong to the answer itself, so their text is part of the answer.
            Some(_) | None => continue,
        };
        spoken.push_str(&text[end..whole.start()]);
        end = whole.end();
        flush(&mut spoken, &mut said);
        said.extend(pieces);
    }
    spoken.push_str(&text[end..]);
    flush(&mut spoken, &mut said);
    said
}

fn flush(spoken: &mut String, said: &mut Vec<(Kind, String)>) {
    let words = std::mem::take(spoken);
    if !words.trim().is_empty() {
        said.push((Kind::Prose, words));
    }
}

/// Returns a tool call and its result, which is in an attribute or inside the block.
fn of_call(attributes: &str, inner: String) -> Vec<(Kind, String)> {
    let tool = attribute(attributes, "name").unwrap_or_else(|| "tool".to_owned());
    let arguments = attribute(attributes, "arguments").unwrap_or_default();
    // The arguments are often a JSON string that contains the JSON object.
    let arguments = serde_json::from_str::<String>(&arguments).unwrap_or(arguments);
    let result = attribute(attributes, "result").filter(|result| !result.is_empty()).unwrap_or(inner);
    vec![(Kind::ToolCall, call_line(&tool, &arguments)), (Kind::ToolResult, result)]
}

fn attribute(attributes: &str, name: &str) -> Option<String> {
    patterns! {
        ATTRIBUTE = "([a-z_]+)=\"([^\"]*)\"";
    }
    let found = ATTRIBUTE.captures_iter(attributes).find(|found: &Captures<'_>| &found[1] == name)?;
    Some(unescaped(&found[2]))
}

fn unescaped(text: &str) -> String {
    const ENTITIES: &[(&str, &str)] =
        &[("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&#39;", "'"), ("&amp;", "&")];
    // The ampersand is last in the list, so that doubly escaped text is decoded only once.
    ENTITIES.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Input;
    use crate::Transcript;
    use crate::testing::read_input;
    use serde_json::json;

    fn read(value: &Value) -> (Vec<Transcript>, Vec<String>) {
        let (seen, skipped) = read_input(&OpenWebUi, Input::from_text("chats.json", &value.to_string()));
        (seen, skipped.into_iter().map(|(_, reason)| reason).collect())
    }

    fn answer(message: &Value) -> Vec<(Kind, String)> {
        of_answer(message)
    }

    fn rows(rows: &[(Kind, &str)]) -> Vec<(Kind, String)> {
        rows.iter().map(|(kind, text)| (*kind, (*text).to_owned())).collect()
    }

    #[test]
    fn blocks_inside_an_answer_are_distinguished_from_its_words() {
        let text = "Let me look.\n<details type=\"reasoning\" done=\"true\"><summary>Thought</summary>\n&gt; tides first\n</details>\n<details type=\"tool_calls\" name=\"tides\" arguments=\"&quot;{\\&quot;query\\&quot;: \\&quot;Faro\\&quot;}&quot;\" result=\"&quot;high at six&quot;\"><summary>Done</summary>\n</details>\nRow at six.\n<details><summary>More</summary>Bring gloves.</details>";
        let expected = [
            (Kind::Prose, "Let me look.\n"),
            (Kind::Reasoning, "> tides first"),
            (Kind::ToolCall, "tides Faro"),
            (Kind::ToolResult, "\"high at six\""),
            (Kind::Prose, "\nRow at six.\n<details><summary>More</summary>Bring gloves.</details>"),
        ];
        assert_eq!(answer(&json!({"content": text})), rows(&expected));
    }

    #[test]
    fn a_block_that_is_never_closed_reaches_to_the_end() {
        let cut = json!({"content": "<details type=\"reasoning\" done=\"false\">half a thou"});
        assert_eq!(answer(&cut), rows(&[(Kind::Reasoning, "half a thou")]));
    }

    #[test]
    fn the_steps_of_an_answer_count_before_its_text() {
        let message = json!({"content": "<details type=\"reasoning\">x</details>Six.", "output": [
            {"type": "reasoning", "content": [{"type": "output_text", "text": "tides"}]},
            {"type": "function_call", "name": "tides", "arguments": "{\"query\":\"Faro\"}"},
            {"type": "function_call_output", "output": [{"type": "input_text", "text": "six"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Six."}]}]});
        let expected = [
            (Kind::Reasoning, "tides"),
            (Kind::ToolCall, "tides Faro"),
            (Kind::ToolResult, "six"),
            (Kind::Prose, "Six."),
        ];
        assert_eq!(answer(&message), rows(&expected));
    }

    #[test]
    fn times_in_seconds_milliseconds_and_nanoseconds_are_the_same_instant() {
        for stamp in [json!(1_767_312_000), json!(1_767_312_000_000_i64), json!(1_767_312_000_000_000_000_i64)] {
            let chat = json!({"history": {"currentId": "a", "messages": {"a": {"role": "user", "content": "hi", "timestamp": stamp}}}});
            let (seen, _) = read(&chat);
            assert_eq!(seen[0].messages[0].time.unwrap().at.to_string(), "2026-01-02T00:00:00Z", "{stamp}");
        }
    }

    #[test]
    fn the_branch_on_show_is_read_and_a_flat_list_where_there_is_no_tree() {
        let message = |parent: Option<&str>, words: &str| json!({"parentId": parent, "role": "user", "content": words});
        let tree = json!({"chat": {"history": {"currentId": "c", "messages": {
            "a": message(None, "first"), "b": message(Some("a"), "dropped"), "c": message(Some("a"), "second"), "d": 7}}}});
        let flat = json!({"chat": {"history": {"messages": {}}, "messages": [message(None, "first"), message(None, "second")]}});
        for row in [&tree, &flat] {
            let (seen, _) = read(&json!([row]));
            let words: Vec<_> = seen[0].messages.iter().map(|message| message.text.as_str()).collect();
            assert_eq!(words, ["first", "second"]);
        }
        assert_eq!(read(&json!([tree])).1, ["turns of the user on branches that are no longer shown: 1"]);
        assert_eq!(read(&json!([{"id": "x"}])).1, ["not a chat: `history` is missing"]);
    }
}
