use super::*;
use crate::testing::{lines, read, sniffs};
use serde_json::json;

fn attributes(pairs: &[(&str, Value)]) -> Value {
    pairs.iter().map(|(key, value)| json!({"key": key, "value": if value.is_string() { json!({"stringValue": value}) } else { value.clone() }})).collect()
}

fn span(trace: &str, at: u64, pairs: &[(&str, Value)]) -> Value {
    json!({"traceId": trace, "spanId": "s", "name": "chat", "startTimeUnixNano": format!("{at}000000000"), "endTimeUnixNano": format!("{}000000000", at + 1), "attributes": attributes(pairs)})
}

fn export(spans: &[Value]) -> Value {
    json!({"resourceSpans": [{"resource": {"attributes": attributes(&[("service.name", json!("bot"))])}, "scopeSpans": [{"spans": spans}]}]})
}

fn logs(records: &Value) -> Value {
    json!({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]})
}

fn told(export: &Value) -> Vec<String> {
    assert!(sniffs(&OtelGenAi, &export.to_string()));
    let (seen, skipped) = read(&OtelGenAi, "x.json", &export.to_string());
    assert_eq!((seen.len(), skipped), (1, vec![]), "{export}");
    lines(&seen[0])
}

#[test]
fn every_convention_tells_the_same() {
    let ask = json!([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]).to_string();
    let answer = json!([{"role": "assistant", "parts": [{"type": "text", "content": "ho"}], "finish_reason": "stop"}])
        .to_string();
    let text = |text: &str| json!({"stringValue": text});
    let structured = |role: &str, words: &str| {
        let part = json!({"kvlistValue": {"values": [{"key": "type", "value": text("text")}, {"key": "content", "value": text(words)}]}});
        let message = json!({"kvlistValue": {"values": [{"key": "role", "value": text(role)}, {"key": "parts", "value": {"arrayValue": {"values": [part]}}}]}});
        json!({"arrayValue": {"values": [message]}})
    };
    let event = |name: &str, pairs: &[(&str, Value)]| json!({"name": name, "timeUnixNano": "1", "attributes": attributes(pairs)});
    let with_events = |events: Value| {
        let mut span = span("t", 5, &[("gen_ai.operation.name", json!("chat"))]);
        span["events"] = events;
        export(&[span])
    };
    let body = |words: &str| json!({"kvlistValue": {"values": [{"key": "content", "value": text(words)}]}});
    let choice = json!({"kvlistValue": {"values": [{"key": "index", "value": {"intValue": "0"}}, {"key": "message", "value": body("ho")}]}});
    let pair = [("gen_ai.input.messages", json!(ask)), ("gen_ai.output.messages", json!(answer))];
    for one in [
        export(&[span("t", 5, &pair)]),
        export(&[span(
            "t",
            5,
            &[
                ("gen_ai.input.messages", structured("user", "hi")),
                ("gen_ai.output.messages", structured("assistant", "ho")),
            ],
        )]),
        export(&[span(
            "t",
            5,
            &[
                ("llm.input_messages.0.message.role", json!("user")),
                ("llm.input_messages.0.message.content", json!("hi")),
                ("llm.output_messages.0.message.role", json!("assistant")),
                ("llm.output_messages.0.message.content", json!("ho")),
            ],
        )]),
        export(&[span(
            "t",
            5,
            &[
                ("gen_ai.prompt.0.role", json!("user")),
                ("gen_ai.prompt.0.content", json!("hi")),
                ("gen_ai.completion.0.role", json!("assistant")),
                ("gen_ai.completion.0.content", json!("ho")),
            ],
        )]),
        with_events(json!([event("gen_ai.client.inference.operation.details", &pair)])),
        with_events(json!([
            event("gen_ai.user.message", &[("content", json!("hi"))]),
            event("gen_ai.choice", &[("message", json!("{\"content\":\"ho\"}"))])
        ])),
        with_events(json!([
            event("gen_ai.user.message", &[("gen_ai.event.content", json!("{\"content\":\"hi\"}"))]),
            event("gen_ai.choice", &[("gen_ai.event.content", json!("{\"message\":{\"content\":\"ho\"}}"))])
        ])),
        logs(
            &json!([{"traceId": "t", "spanId": "s", "timeUnixNano": "5000000000", "eventName": "gen_ai.user.message", "body": body("hi")},
            {"traceId": "t", "spanId": "s", "timeUnixNano": "6000000000", "attributes": attributes(&[("event.name", json!("gen_ai.choice"))]), "body": choice}]),
        ),
        logs(
            &json!([{"traceId": "t", "eventName": "gen_ai.client.inference.operation.details", "attributes": attributes(&pair)}]),
        ),
    ] {
        assert_eq!(told(&one), ["User Prose hi", "Assistant Prose ho"], "{one}");
    }
}

#[test]
fn parts_prompts_and_calls_have_their_kinds() {
    let input = json!([{"role": "user", "parts": [{"type": "blob", "modality": "image", "content": "iVBO"}, {"type": "text", "content": "what?"}]},
        {"role": "assistant", "parts": [{"type": "reasoning", "content": "hm"}, {"type": "tool_call", "id": "c", "name": "look", "arguments": {"query": "cat"}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c", "response": "a cat"}]}]);
    let prompt = json!([{"type": "text", "content": "Be brief."}]);
    let span = span(
        "t",
        5,
        &[
            ("gen_ai.system_instructions", json!(prompt.to_string())),
            ("gen_ai.input.messages", json!(input.to_string())),
            ("gen_ai.conversation.id", json!("conv-1")),
        ],
    );
    let (seen, _) = read(&OtelGenAi, "x.jsonl", &format!("{}\n{}\n", export(&[]), export(&[span])));
    let expected = [
        "System Context Be brief.",
        "User Attachment [image]",
        "User Prose what?",
        "Assistant Reasoning hm",
        "Assistant ToolCall look cat",
        "Tool ToolResult a cat",
    ];
    assert_eq!(lines(&seen[0]), expected);
    assert_eq!((seen[0].external_id.as_str(), seen[0].project.as_deref()), ("conv-1", Some("bot")));
    assert_eq!(seen[0].messages[1].time.map(|time| time.at.to_string()).as_deref(), Some("1970-01-01T00:00:05Z"));
}

#[test]
fn calls_without_content_are_counted_and_other_spans_are_not() {
    let call = span("t", 5, &[("gen_ai.operation.name", json!("chat")), ("gen_ai.request.model", json!("m"))]);
    let other = span("t", 4, &[("http.method", json!("GET"))]);
    let (seen, skipped) = read(&OtelGenAi, "x.json", &export(&[call.clone(), other, call]).to_string());
    assert_eq!(seen.len(), 0);
    assert_eq!(
        skipped,
        [(1, "2 calls to a model without content; the program that made them must be told to record it".to_owned())]
    );
}

#[test]
fn records_of_a_call_are_read_in_the_order_of_their_times() {
    let record = |at: &str, name: &str, words: &str| {
        json!({"traceId": "t", "spanId": "s", "timeUnixNano": at, "eventName": name, "body": {"kvlistValue": {"values": [
            {"key": "content", "value": {"stringValue": words}}]}}})
    };
    let export = logs(&json!([
        record("1767312002000000000", "gen_ai.user.message", "and Faro?"),
        record("1767312000000000000", "gen_ai.user.message", "Lisbon?"),
        record("1767312001000000000", "gen_ai.assistant.message", "Sunny."),
    ]));
    assert_eq!(told(&export), ["User Prose Lisbon?", "Assistant Prose Sunny.", "User Prose and Faro?"]);
}
