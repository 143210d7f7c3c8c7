//! Chat messages in the shape of the `OpenAI` API: an array, an object with `messages`, or JSONL of either.

mod message;

use serde_json::Value;

use self::message::{is_item, is_message, messages_of};
use crate::ingest::{Assembler, Head, IngestError, Ingestor, Input, Records, Sink, identity};
use crate::transcript::{Message, content_hash};

/// Keys that other formats with a `messages` array have and this one never has.
const FOREIGN: &[&str] = &[
    "uuid",
    "sessionId",
    "projectHash",
    "guild",
    "chat_messages",
    "mapping",
    "participants",
    "messagesTree",
    "info",
    "system",
    "shared_conversation_id",
    "working_dir",
    "_type",
];

/// Shortest id of a record that is taken for its identity, in bytes.
const SHORTEST_ID: usize = 8;

/// Reads chat messages in the shape of the `OpenAI` API.
pub struct OpenAiChat;

impl Ingestor for OpenAiChat {
    fn name(&self) -> &'static str {
        "openai-chat"
    }

    fn about(&self) -> &'static str {
        "OpenAI-style chat messages: a JSON array, an object with `messages`, or JSONL of either"
    }

    fn rule(&self) -> &'static str {
        "objects with a known `role` and `content`, or with `messages` of such objects"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let is_ours = |value: &Value| is_bare(value) || conversation(value).is_some();
        let (ours, all) =
            head.objects().fold((0_usize, 0_usize), |(ours, all), value| (ours + usize::from(is_ours(value)), all + 1));
        (ours > 0 && ours * 2 >= all) || head.most_lines(is_ours) && !head.any_line(is_foreign)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let path = input.path.display().to_string();
        let stem = input.stem();
        let shape = shape_of(&Head::of(&input));
        let mut records = if shape == Shape::Lines { Records::lines(input) } else { Records::elements(input) };
        // Messages that stand by themselves belong to one conversation: that of the file.
        let mut loose: Option<Assembler> = None;
        while let Some((number, value)) = records.next_json::<Value>(sink)? {
            if let Some(items) = conversation(&value) {
                let messages: Vec<Message> = items.iter().flat_map(|item| messages_of(item)).collect();
                let origin = if shape == Shape::One { path.clone() } else { format!("{path}#{number}") };
                let named = (shape == Shape::One).then_some(stem.as_str());
                if messages.iter().all(|message| message.text.trim().is_empty()) {
                    sink.skip(number, "a conversation without any text");
                } else {
                    assemble(&value, messages, origin, named, sink);
                }
            } else if is_message(&value) {
                for message in messages_of(&value) {
                    if !message.text.trim().is_empty() {
                        let start = || Assembler::new("openai-chat", identity::of_file(&stem, &message), path.as_str());
                        loose.get_or_insert_with(start).push(message, sink);
                    }
                }
            } else {
                sink.skip(number, "neither a message nor a conversation");
            }
        }
        if let Some(draft) = loose {
            draft.finish(sink);
        }
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Lines,
    Elements,
    One,
}

fn shape_of(head: &Head<'_>) -> Shape {
    if !head.lines.is_empty() {
        Shape::Lines
    } else if head.text.trim_start().starts_with('[') {
        Shape::Elements
    } else {
        Shape::One
    }
}

/// Whether `value` is a message that no other format could have written.
fn is_bare(value: &Value) -> bool {
    // A `type` beside the role marks an item of an agent's log.
    is_message(value) && value.get("type").is_none() && !is_foreign(value)
}

fn is_foreign(value: &Value) -> bool {
    FOREIGN.iter().any(|key| value.get(*key).is_some())
}

/// Returns the messages or items of a whole conversation, in the order in which they were said.
fn conversation(value: &Value) -> Option<Vec<&Value>> {
    if is_foreign(value) {
        return None;
    }
    let body = [&value["body"], &value["response"]["body"]].into_iter().find(|body| body.is_object()).unwrap_or(value);
    if let Some(preferred) = body["preferred_output"].as_array() {
        return body["input"]["messages"].as_array().map(|asked| asked.iter().chain(preferred).collect());
    }
    if let Some(choices) = body["choices"].as_array() {
        return Some(choices.iter().take(1).map(|choice| &choice["message"]).filter(|m| is_message(m)).collect());
    }
    let is_list = value["object"] == "list" && value["data"].as_array().is_some_and(|data| data.iter().any(is_item));
    let listed = if is_list { value["data"].as_array() } else { None };
    let items = body["messages"]
        .as_array()
        .or_else(|| body["input"].as_array())
        .or(listed)
        .or_else(|| body["output"].as_array())?;
    let known = items.iter().filter(|item| is_item(item)).count();
    if known * 2 < items.len() || known == 0 {
        return None;
    }
    let mut items: Vec<&Value> = items.iter().collect();
    let role = |item: Option<&&Value>| item.and_then(|item| item["role"].as_str().map(str::to_owned));
    // The list endpoint answers with the newest first unless told otherwise.
    if is_list && role(items.first()).as_deref() == Some("assistant") && role(items.last()).as_deref() == Some("user") {
        items.reverse();
    }
    Some(items)
}

/// Hands over one conversation; `file` is the name of the file if it holds no other.
fn assemble(value: &Value, messages: Vec<Message>, origin: String, file: Option<&str>, sink: &mut Sink<'_>) {
    let text = |key: &str| {
        [value, &value["body"], &value["response"]["body"]]
            .into_iter()
            .find_map(|part| part[key].as_str())
            .map(str::to_owned)
    };
    // A short id is a counter that the next file repeats, so it cannot tell conversations apart.
    let own = ["conversation_id", "session_id", "id"].into_iter().filter_map(text).find(|id| id.len() >= SHORTEST_ID);
    let id = own.unwrap_or_else(|| match (file, messages.first()) {
        (Some(stem), Some(first)) => identity::of_file(stem, first),
        (Some(_) | None, _) => content_hash(&messages),
    });
    let mut draft = Assembler::new("openai-chat", id, origin);
    let times = ["created_at", "created", "create_time", "timestamp"];
    draft.meta().created_at =
        times.into_iter().flat_map(|key| [&value[key], &value["response"]["body"][key]]).find_map(identity::instant);
    draft.meta().title = text("title");
    draft.meta().model = text("model");
    for message in messages {
        draft.push(message, sink);
    }
    draft.finish(sink);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::Transcript;
    use serde_json::json;

    fn read(name: &str, text: &str) -> (Vec<Transcript>, Vec<usize>) {
        let mut seen = Vec::new();
        let mut accept = |transcript| seen.push(transcript);
        let mut sink = Sink::new(&mut accept);
        OpenAiChat.read(Input::from_text(name, text), &mut sink).unwrap();
        let skipped = sink.skipped.iter().map(|skipped| skipped.record).collect();
        (seen, skipped)
    }

    fn texts(text: &str) -> Vec<Vec<String>> {
        let (seen, _) = read("log.json", text);
        seen.into_iter().map(|one| one.messages.into_iter().map(|message| message.text).collect()).collect()
    }

    fn sniffs(text: &str) -> bool {
        OpenAiChat.sniff(&Head::new(text.into(), true))
    }

    #[test]
    fn the_four_shapes_of_a_log_are_read_alike() {
        let (ask, reply) = (json!({"role": "user", "content": "hi"}), json!({"role": "assistant", "content": "yes?"}));
        let object = json!({"messages": [ask, reply]});
        for text in [
            json!([ask, reply]).to_string(),
            object.to_string(),
            serde_json::to_string_pretty(&object).unwrap(),
            format!("{ask}\n{reply}\n"),
            json!([object]).to_string(),
        ] {
            assert!(sniffs(&text), "{text}");
            assert_eq!(texts(&text), [["hi", "yes?"]], "{text}");
        }
        assert_eq!(texts(&format!("{object}\n\n{object}\n")), [["hi", "yes?"], ["hi", "yes?"]]);
    }

    #[test]
    fn preference_rows_take_the_preferred_answer() {
        let row = json!({"input": {"messages": [{"role": "user", "content": "q"}]},
            "preferred_output": [{"role": "assistant", "content": "good"}], "non_preferred_output": [{"role": "assistant", "content": "bad"}]});
        assert!(sniffs(&row.to_string()));
        assert_eq!(texts(&row.to_string()), [["q", "good"]]);
    }

    #[test]
    fn batches_answers_and_lists_are_read_in_the_order_of_speech() {
        let batch = json!({"custom_id": "r1", "body": {"model": "m", "messages": [{"role": "user", "content": "q"}]}});
        let answer = json!({"custom_id": "r2", "response": {"body": {"choices": [{"message": {"role": "assistant", "content": "a"}}]}}});
        assert_eq!(texts(&format!("{batch}\n{answer}")), [["q"], ["a"]]);
        let list = json!({"object": "list", "data": [
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "second"}]},
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "first"}]}]});
        assert_eq!(texts(&list.to_string()), [["first", "second"]]);
    }

    #[test]
    fn records_are_known_by_content_and_files_by_name_and_first_message() {
        let line = |words: &str| json!({"messages": [{"role": "user", "content": words}]}).to_string();
        let ids = |name: &str, text: &str| -> Vec<String> {
            read(name, text).0.into_iter().map(|one| one.external_id).collect()
        };
        let (a, b) = (line("a"), line("b"));
        let mut swapped = ids("y", &format!("{b}\n{a}\n"));
        swapped.reverse();
        assert_eq!(ids("x", &format!("{a}\n{b}\n")), swapped);
        let counted =
            |id: &str, words: &str| json!({"id": id, "messages": [{"role": "user", "content": words}]}).to_string();
        assert_ne!(ids("x", &counted("1", "a")), ids("y", &counted("1", "b")));
        assert_eq!(ids("x", &counted("chat-20260101", "a")), ["chat-20260101"]);
        let short = json!([{"role": "user", "content": "a"}]).to_string();
        let grown = json!([{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]).to_string();
        assert_eq!(ids("x.json", &short), ids("x.json", &grown));
        assert_ne!(ids("x.json", &short), ids("y.json", &short));
    }

    #[test]
    fn other_json_is_refused() {
        for other in [
            json!({"name": "x", "version": "1"}),
            json!([{"role": "admin", "content": "x"}]),
            json!({"messages": [{"uuid": "1"}]}),
            json!({"messages": [{"role": "user", "content": "x"}], "system": "be kind"}),
            json!([{"role": "user", "content": [{"type": "tool_result", "content": "x"}]}]),
            json!({"messages": "none"}),
            json!({"output": ["a"]}),
        ] {
            assert!(!sniffs(&other.to_string()), "{other}");
        }
    }

    #[test]
    fn a_bad_record_is_reported_and_the_rest_is_read() {
        let (seen, skipped) = read(
            "log.jsonl",
            "{\"role\":\"user\",\"content\":\"a\"}\n{\"x\":1}\nnonsense\n{\"role\":\"user\",\"content\":\"b\"}\n",
        );
        assert_eq!((seen[0].messages.len(), skipped), (2, vec![2, 3]));
    }
}
