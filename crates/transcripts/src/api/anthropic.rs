//! The Anthropic Messages API: requests, replies, pairs of a request and a reply, bare messages, and batch results.

use serde_json::Value;

use crate::api::batch::{self, Line};
use crate::message::chat::messages_of;
use crate::message::exchange::{Conversation, Loose, answered, asked, own_id};
use crate::{Head, IngestError, Ingestor, Input, Object, Objects, Sink};

/// Blocks that do not occur in messages of other vendors.
const OWN_BLOCKS: &[&str] = &[
    "tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use", "web_search_tool_result",
    "web_fetch_tool_result", "code_execution_tool_result", "mcp_tool_use", "mcp_tool_result", "search_result",
    "container_upload",
];
/// Blocks that also occur in messages of other vendors.
const SHARED_BLOCKS: &[&str] = &["text", "image", "document"];
/// Fields of a message; agents that store the same messages add other fields.
const MESSAGE_FIELDS: &[&str] = &[
    "role", "content", "id", "type", "model", "stop_reason", "stop_sequence", "stop_details", "usage", "container",
    "context_management", "cache_control",
];
/// Fields of records that contain such messages but belong to other formats.
const FOREIGN: &[&str] = &[
    "uuid", "sessionId", "projectHash", "chat_messages", "mapping", "info", "working_dir", "_type", "trace_id",
    "run_type", "chosen", "v",
];
/// Tags in which coding agents enclose the user's text, in files that have the same format.
const AGENT_TAGS: &[&str] = &["<task>", "<environment_details>", "<user_message>", "<feedback>"];

/// Reads the Anthropic Messages API.
pub(crate) struct Anthropic;

impl Ingestor for Anthropic {
    named!("anthropic");

    fn sniff(&self, head: &Head<'_>) -> bool {
        // Cline and related agents store the same messages in separate files, which have different formats.
        if head.objects().chain(&head.lines).any(is_of_an_agent) {
            return false;
        }
        // Such blocks may be rare, so a single one suffices if the other messages have no foreign fields.
        let (messages, blocks) = bare(head.objects().chain(&head.lines));
        let all = head.objects().count() + head.lines.len();
        messages > 0 && messages * 2 >= all && blocks || head.objects().any(is_exchange) || head.most_lines(is_exchange)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let is_batch =
            Head::of(&input).objects().chain(&Head::of(&input).lines).any(|value| batch_line(value).is_some());
        if is_batch {
            return batch::read(self.name(), batch_line, input, sink);
        }
        let mut loose = Loose::of(self.name(), &input);
        Objects::each(input, sink, |object, sink| {
            let value = &object.value;
            if is_message(value) && !is_reply(value) {
                messages_of(value).into_iter().for_each(|message| loose.push(message, sink));
            } else if let Some(conversation) = conversation(&object, sink) {
                conversation.hand_over(&object, sink);
            }
        })?;
        loose.draft.finish(sink);
        Ok(())
    }
}

/// Counts the messages outside any request, and returns whether any of them has a block of this vendor.
fn bare<'a>(values: impl Iterator<Item = &'a Value>) -> (usize, bool) {
    values
        .filter(|value| is_message(value) && !is_reply(value))
        .fold((0, false), |(count, any), value| (count + 1, any || has_own_block(value)))
}

fn blocks(message: &Value) -> &[Value] {
    message["content"].as_array().map_or(&[], Vec::as_slice)
}

fn is_message(value: &Value) -> bool {
    let known = matches!(value["role"].as_str(), Some("user" | "assistant"));
    let fields =
        value.as_object().is_some_and(|fields| fields.keys().all(|key| MESSAGE_FIELDS.contains(&key.as_str())));
    let is_block = |block: &Value| {
        block["type"].as_str().is_some_and(|kind| OWN_BLOCKS.contains(&kind) || SHARED_BLOCKS.contains(&kind))
    };
    known
        && fields
        && (value["content"].is_string() || blocks(value).iter().all(is_block) && value["content"].is_array())
}

fn has_own_block(message: &Value) -> bool {
    blocks(message).iter().any(|block| {
        block["type"].as_str().is_some_and(|kind| OWN_BLOCKS.contains(&kind)) || block["source"]["type"].is_string()
    })
}

/// Returns whether `value` is a reply to a request, which has more fields than a message of a conversation.
fn is_reply(value: &Value) -> bool {
    value["type"] == "message"
        && value["role"] == "assistant"
        && value["content"].is_array()
        && value.get("stop_reason").is_some()
}

fn is_request(value: &Value) -> bool {
    let Some(messages) = value["messages"].as_array() else { return false };
    let is_prompted = value["system"].is_string() || value["system"].is_array();
    let known = messages.iter().filter(|message| is_message(message)).count();
    known > 0 && known * 2 >= messages.len() && (is_prompted || messages.iter().any(has_own_block))
}

/// Reads a line of a batch: a request or a result.
fn batch_line(value: &Value) -> Option<(&str, Line<'_>)> {
    let id = value["custom_id"].as_str()?;
    let pieces = match value["result"]["type"].as_str() {
        Some("succeeded") => Line::Reply(&value["result"]["message"]),
        Some(outcome @ ("errored" | "canceled" | "expired")) => {
            Line::Failed(format!("the batch request is marked {outcome}, so there is no answer"))
        }
        _ if value["params"]["messages"].is_array() => Line::Request(&value["params"]),
        _ => return None,
    };
    Some((id, pieces))
}

fn is_exchange(value: &Value) -> bool {
    let foreign = FOREIGN.iter().any(|key| value.get(*key).is_some());
    !foreign
        && (is_request(value)
            || is_reply(value) && is_message(value)
            || is_reply(&value["response"])
            || is_request(&value["request"])
            || batch_line(value).is_some())
}

/// Returns whether `value` is, or contains, messages in the format of a coding agent.
fn is_of_an_agent(value: &Value) -> bool {
    let is_tagged = |text: &str| AGENT_TAGS.iter().any(|tag| text.contains(tag));
    let holds = |message: &Value| {
        message["ts"].is_number()
            || message["role"] == "user"
                && (message["content"].as_str().is_some_and(is_tagged)
                    || blocks(message).iter().filter_map(|block| block["text"].as_str()).any(is_tagged))
    };
    holds(value) || value["messages"].as_array().is_some_and(|messages| messages.iter().any(holds))
}

/// Returns the conversation in one record, or reports why the record does not contain one.
fn conversation<'a>(object: &'a Object, sink: &mut Sink<'_>) -> Option<Conversation<'a>> {
    let value = &object.value;
    let mut facts = vec![value];
    let messages = match value["messages"] {
        _ if is_reply(value) => messages_of(value),
        _ if value["request"].is_object() || value["response"].is_object() => {
            facts.extend([&value["response"], &value["request"]]);
            let mut messages = asked(&value["request"]);
            messages.extend(answered(&value["response"]));
            messages
        }
        Value::Array(_) => asked(value),
        _ => {
            sink.skip(object.number, "neither a message, a request nor a reply");
            return None;
        }
    };
    let id = own_id(&facts, &["conversation_id", "session_id", "id"]);
    Some(Conversation { source: "anthropic", id, facts, messages })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    #[test]
    fn requests_replies_and_pairs_are_read_in_the_order_of_speech() {
        let request = json!({"model": "claude-x", "system": "Be brief.", "messages": [
            {"role": "user", "content": "I row on Sundays."},
            {"role": "assistant", "content": [{"type": "thinking", "thinking": "hm", "signature": "AA"}, {"type": "text", "text": "Let me see."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"query": "Porto"}}]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}, {"type": "text", "text": "So?"}]}]});
        let reply = json!({"id": "msg_0123456789", "type": "message", "role": "assistant", "model": "claude-x", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": "Stay in."}]});
        let pair = json!({"request": request, "response": reply});
        let pieces = [
            "System Context Be brief.", "User Prose I row on Sundays.", "Assistant Reasoning hm",
            "Assistant Prose Let me see.", "Assistant ToolCall weather Porto", "Tool ToolResult rain",
            "User Prose So?", "Assistant Prose Stay in.",
        ];
        for text in [pair.to_string(), json!([pair]).to_string(), format!("{pair}\n{pair}\n")] {
            assert!(sniffs(&Anthropic, &text), "{text}");
            let (seen, skipped) = read(&Anthropic, "log.json", &text);
            assert_eq!((lines(&seen[0]), skipped), (pieces.map(str::to_owned).to_vec(), vec![]));
            assert_eq!((seen[0].external_id.as_str(), seen[0].model.as_deref()), ("msg_0123456789", Some("claude-x")));
        }
        for part in [&request, &reply] {
            assert!(sniffs(&Anthropic, &part.to_string()));
        }
        assert!(sniffs(&Anthropic, &request["messages"].to_string()));
        assert_eq!(lines(&read(&Anthropic, "a.json", &request["messages"].to_string()).0[0]), pieces[1..7]);
    }

    #[test]
    fn failed_requests_of_a_batch_are_reported() {
        let line = |outcome: &str| {
            json!({"custom_id": outcome, "result": {"type": outcome, "message": {"type": "message", "role": "assistant", "content": [{"type": "text", "text": "Two."}]}}}).to_string()
        };
        let text = ["errored", "succeeded", "canceled", "expired"].map(line).join("\n");
        assert!(sniffs(&Anthropic, &text));
        let (seen, skipped) = read(&Anthropic, "results.jsonl", &text);
        assert_eq!((seen.len(), lines(&seen[0])), (1, vec!["Assistant Prose Two.".to_owned()]));
        assert_eq!(skipped.iter().map(|(number, _)| *number).collect::<Vec<_>>(), [1, 3, 4]);
        assert_eq!(skipped[0].1, "the batch request is marked errored, so there is no answer");
    }

    #[test]
    fn what_agents_and_other_vendors_keep_is_left_to_them() {
        let block = json!({"type": "tool_use", "id": "t", "name": "n", "input": {}});
        for other in [
            json!([{"role": "user", "content": [{"type": "text", "text": "<task>\nfix it\n</task>"}]}, {"role": "assistant", "content": [block]}]),
            json!([{"role": "user", "content": "hi", "ts": 1}, {"role": "assistant", "content": [block], "ts": 2}]),
            json!([{"role": "user", "content": "hi"}]),
            json!([{"role": "assistant", "content": [block], "messageId": 0}]),
            json!({"messages": [{"role": "user", "content": "hi"}]}),
            json!({"messages": [{"role": "assistant", "content": [block]}], "sessionId": "s"}),
            json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "x"}], "stop_reason": null}),
        ] {
            assert!(!sniffs(&Anthropic, &other.to_string()), "{other}");
        }
    }
}
