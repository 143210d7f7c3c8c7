//! The `OpenAI` Responses API: stored responses chained by `previous_response_id`, requests with `input`, and items of
//! conversations.

use serde_json::Value;

use crate::api::chain::{Chains, Turn};
use crate::json::Json;
use crate::message::chat::{is_item, messages_of};
use crate::message::exchange::{Conversation, answered, asked, own_id, preamble};
use crate::message::identity;
use crate::{Head, IngestError, Ingestor, Input, Layout, Message, Object, Objects, Sink};

/// Types of content that only this API has.
const OWN_PARTS: &[&str] = &["input_text", "output_text", "input_image", "input_file"];
/// Types of items that only this API has, in addition to calls and outputs.
const OWN_ITEMS: &[&str] = &["reasoning", "function_call", "function_call_output", "mcp_approval_request"];
/// Fields of records that contain such items but belong to other formats.
const FOREIGN: &[&str] =
    &["custom_id", "trace_id", "traceId", "run_type", "payload", "chosen", "rejected", "observations"];

/// Reads the `OpenAI` Responses API.
pub(crate) struct OpenAiResponses;

impl Ingestor for OpenAiResponses {
    named!("openai-responses");

    fn sniff(&self, head: &Head<'_>) -> bool {
        let (own, all) =
            head.objects().fold((0, 0), |(own, all), value| (own + usize::from(is_own_item(value)), all + 1));
        let is_array = matches!(head.document, Some(Value::Array(_)));
        head.objects().any(is_record) || head.most_lines(is_record) || is_array && own > 0 && own * 2 >= all
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let (stem, origin) = (input.stem().into(), input.path.display().to_string());
        let mut chains = Chains::new(self.name());
        let mut loose: Vec<Message> = Vec::new();
        Objects::each(input, sink, |object, sink| {
            let value = &object.value;
            if let Some(items) = listed(value) {
                let messages = items.iter().flat_map(|item| messages_of(item)).collect();
                let id = own_id(&[value], &["conversation_id", "session_id"]).or_else(|| first_item_id(&items));
                let pieces = Conversation { source: self.name(), id, facts: vec![value], messages };
                pieces.hand_over(&object, sink);
            } else if is_record(value) {
                chains.add(turn(&object), object.number, sink);
            } else if is_item(value) {
                loose.extend(messages_of(value));
            } else {
                sink.skip(object.number, "not a response, a request or an item");
            }
        })?;
        if !loose.is_empty() {
            let object = Object { stem, layout: Layout::One, number: 1, origin, value: Value::Null };
            let pieces = Conversation { source: self.name(), id: None, facts: Vec::new(), messages: loose };
            pieces.hand_over(&object, sink);
        }
        chains.finish(sink);
        Ok(())
    }
}

/// Returns whether `value` is an item that does not resemble a message of any other API.
fn is_own_item(value: &Value) -> bool {
    let kind = value["type"].string();
    let parts = value["content"].list();
    let own_part = parts.iter().any(|part| part["type"].as_str().is_some_and(|kind| OWN_PARTS.contains(&kind)));
    value.get("payload").is_none()
        && value.get("timestamp").is_none()
        && (OWN_ITEMS.contains(&kind)
            || kind.ends_with("_call") && value["status"].is_string()
            || own_part && value["role"].is_string())
}

fn is_response(value: &Value) -> bool {
    value["object"] == "response" && value["output"].is_array()
}

fn is_request(value: &Value) -> bool {
    let most = |items: &Value| {
        let items = items.list();
        let known = items.iter().filter(|item| is_item(item)).count();
        known > 0 && known * 2 >= items.len()
    };
    // Many types of records have text as `input`. With a model and instructions, such a record is a request of this
    // API.
    let has_text = value["input"].is_string() && value["model"].is_string() && value["instructions"].is_string();
    value.get("messages").is_none() && (most(&value["input"]) || most(&value["output"]) || has_text)
}

/// Returns whether `value` is a response, a request, a pair of these, or a list of items.
fn is_record(value: &Value) -> bool {
    let pair = is_response(&value["response"]) || is_request(&value["request"]);
    !FOREIGN.iter().any(|key| value.get(*key).is_some())
        && (is_response(value) || is_request(value) || pair || listed(value).is_some())
}

/// Returns the items of a list in chronological order.
fn listed(value: &Value) -> Option<Vec<&Value>> {
    let data = value["data"].as_array().filter(|_| value["object"] == "list")?;
    if !data.iter().any(is_item) {
        return None;
    }
    let mut items: Vec<&Value> = data.iter().collect();
    // The response does not repeat the requested order, and only some programs record it.
    let is_reversed = match value["order"].as_str() {
        Some(order) => order == "desc",
        None => is_newest_first(&items),
    };
    if is_reversed {
        items.reverse();
    }
    Some(items)
}

/// Returns whether a list that does not state its order begins with the newest item, as the endpoint does by default.
fn is_newest_first(items: &[&Value]) -> bool {
    let times: Vec<_> = items.iter().filter_map(|item| identity::instant(&item["created_at"])).collect();
    if let (Some(first), Some(last)) = (times.first(), times.last())
        && first != last
    {
        return first > last;
    }
    let speakers: Vec<&str> = items.iter().filter_map(|item| item["role"].as_str()).collect();
    // A call precedes its output, and a question precedes its answer.
    let place = |kind: &str| items.iter().position(|item| item["type"] == kind);
    match place("function_call").zip(place("function_call_output")) {
        Some((call, output)) => output < call,
        None => speakers.first() == Some(&"assistant") && speakers.last() == Some(&"user"),
    }
}

/// Returns the id of the earliest item, which remains the same as the conversation grows.
fn first_item_id(items: &[&Value]) -> Option<String> {
    // A short id, such as `msg_1`, was written by hand and may occur in any number of files.
    items.iter().find_map(|item| item["id"].as_str()).filter(|id| id.len() > 16).map(str::to_owned)
}

fn turn(object: &Object) -> Turn {
    let value = &object.value;
    let half = |key: &str| if value[key].is_object() { &value[key] } else { value };
    let (request, response) = (half("request"), half("response"));
    let facts = [response, request];
    let text = |key: &str| facts.iter().find_map(|fact| fact[key].as_str()).map(str::to_owned);
    let conversation =
        facts.iter().find_map(|fact| fact["conversation"]["id"].as_str().or(fact["conversation"].as_str()));
    // Text counts as a prompt only together with a model, so the test provides both.
    let sent = serde_json::json!({"model": request["model"].string(), "input": request["input"]});
    let messages = if request["input"].is_null() { Vec::new() } else { asked(&sent) };
    let answer = if response["output"].is_array() { answered(&response["output"]) } else { Vec::new() };
    let created = identity::instant(&response["created_at"]);
    let time = created.map(crate::MessageTime::logged);
    let answer = answer.into_iter().map(|message| Message { time: message.time.or(time), ..message });
    let messages: Vec<Message> = messages.into_iter().chain(answer).collect();
    let derived = || match (object.layout, messages.first()) {
        (Layout::One, Some(first)) => identity::of_file(&object.stem, first),
        _ => crate::content_hash(&messages),
    };
    Turn {
        id: response["id"].as_str().map_or_else(derived, str::to_owned),
        previous: text("previous_response_id"),
        conversation: conversation.map(str::to_owned),
        prompt: facts.iter().find_map(|fact| preamble(&fact["instructions"])),
        model: text("model"),
        created,
        origin: object.origin.clone(),
        messages,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn said(words: &str) -> Value {
        json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": words}]})
    }

    fn response(id: &str, previous: Option<&str>, words: &str) -> Value {
        json!({"id": id, "object": "response", "created_at": 1_767_312_000, "model": "m", "instructions": "Be brief.",
            "previous_response_id": previous, "output": [{"type": "reasoning", "summary": []}, said(words)]})
    }

    #[test]
    fn responses_are_chained_and_their_prompt_yielded_once() {
        let (one, two) = (response("resp_1", None, "one"), response("resp_2", Some("resp_1"), "two"));
        for text in [format!("{two}\n{one}\n"), json!([one, two]).to_string()] {
            assert!(sniffs(&OpenAiResponses, &text));
            // Both responses were created in the same second, so the chain, not the file, determines the order.
            let (seen, skipped) = read(&OpenAiResponses, "log.jsonl", &text);
            assert_eq!((seen.len(), seen[0].external_id.as_str(), skipped), (1, "resp_1", vec![]));
            assert_eq!(lines(&seen[0]), ["System Context Be brief.", "Assistant Prose one", "Assistant Prose two"]);
        }
    }

    #[test]
    fn a_pair_gives_its_question_first() {
        let pair = json!({"request": {"model": "m", "input": "How far is Braga?"}, "response": response("resp_1", None, "55 km")});
        assert!(sniffs(&OpenAiResponses, &pair.to_string()));
        let (seen, _) = read(&OpenAiResponses, "log.json", &pair.to_string());
        assert_eq!(
            lines(&seen[0]),
            ["System Context Be brief.", "User Prose How far is Braga?", "Assistant Prose 55 km"]
        );
    }

    #[test]
    fn lists_are_turned_round_only_if_they_are_newest_first() {
        let item = |role: &str, at: u32| json!({"type": "message", "role": role, "created_at": 1_767_312_000 + at, "content": [{"type": "input_text", "text": role}]});
        let untimed =
            |role: &str| json!({"type": "message", "role": role, "content": [{"type": "input_text", "text": role}]});
        let (call, output) = (
            json!({"type": "function_call", "name": "f", "arguments": "{}"}),
            json!({"type": "function_call_output", "output": "done"}),
        );
        let rows = [
            (json!({"object": "list", "data": [untimed("assistant"), untimed("user")]}), ["user", "assistant"]),
            (json!({"object": "list", "data": [untimed("user"), untimed("assistant")]}), ["user", "assistant"]),
            (
                json!({"object": "list", "order": "asc", "data": [untimed("assistant"), untimed("user")]}),
                ["assistant", "user"],
            ),
            (json!({"object": "list", "data": [item("assistant", 5), item("user", 9)]}), ["assistant", "user"]),
            (json!({"object": "list", "data": [item("user", 9), item("assistant", 5)]}), ["assistant", "user"]),
            (json!({"object": "list", "data": [output, call]}), ["f", "done"]),
        ];
        for (list, expected) in rows {
            assert!(sniffs(&OpenAiResponses, &list.to_string()));
            let (seen, _) = read(&OpenAiResponses, "items.json", &list.to_string());
            let texts: Vec<_> = seen[0].messages.iter().map(|message| message.text.as_str()).collect();
            assert_eq!(texts, expected, "{list}");
        }
    }

    #[test]
    fn inputs_alone_are_read_and_other_records_left() {
        let input = json!([{"type": "message", "role": "user", "content": [{"type": "input_text", "text": "hi"}]}, {"type": "function_call", "name": "f", "arguments": "{}"}]);
        assert!(sniffs(&OpenAiResponses, &input.to_string()));
        assert_eq!(
            lines(&read(&OpenAiResponses, "i.json", &input.to_string()).0[0]),
            ["User Prose hi", "Assistant ToolCall f"]
        );
        for other in [
            json!({"input": ["a", "b"], "model": "embed"}),
            json!({"input": "words to embed", "model": "embed"}),
            json!({"output": ["a"]}),
            json!({"object": "list", "data": [{"id": "gpt-x", "object": "model"}]}),
            json!([{"role": "user", "content": "hi"}]),
        ] {
            assert!(!sniffs(&OpenAiResponses, &other.to_string()), "{other}");
        }
    }
}
