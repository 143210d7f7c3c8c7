//! Traces and logs of calls to a model, as exported by `OpenTelemetry`: OTLP in JSON, as one document or one object per
//! line.
//!
//! Content is read from the attributes of the `GenAI` conventions, both old and new, and from the attributes of
//! `OpenInference` and Traceloop.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::api::threads::{Call, Threads};
use crate::json::Json;
use crate::message::chat::messages_of;
use crate::message::exchange::{answered, asked, embedded, preamble};
use crate::{Head, IngestError, Ingestor, Input, Message, MessageTime, Object, Objects, Sink};

/// Prefixes of attribute names that occur only in calls to a model.
const MARKS: &[&str] = &["gen_ai.", "llm.", "openinference.", "traceloop."];
/// Attributes that identify the conversation, most specific first.
const THREADS: &[&str] = &[
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
];
// The response contains the exact version of the model; the request often contains an alias.
const MODELS: &[&str] = &["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"];
const ASKED: &[&str] = &["gen_ai.input.messages", "gen_ai.prompt", "gen_ai.input_messages"];
const ANSWERED: &[&str] = &["gen_ai.output.messages", "gen_ai.completion", "gen_ai.output_messages"];

/// Reads `OpenTelemetry` traces and logs of calls to a model.
pub(crate) struct OtelGenAi;

impl Ingestor for OtelGenAi {
    named!("otel-genai");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_export) || head.most_lines(is_export)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut threads = Threads::new(self.name());
        Objects::each(input, sink, |object, sink| {
            if !is_export(&object.value) {
                return sink.skip(object.number, "neither spans nor log records");
            }
            let mut reader = Reader { object: &object, threads: &mut threads, empty: 0 };
            reader.read_spans(sink);
            reader.read_logs(sink);
            if reader.empty > 0 {
                let reason = "model calls without content; enable content recording in the program that made the calls";
                sink.skip(object.number, format!("{} {reason}", reader.empty));
            }
        })?;
        threads.finish(sink);
        Ok(())
    }
}

fn is_export(value: &Value) -> bool {
    value["resourceSpans"].is_array() || value["resourceLogs"].is_array()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[key].list().iter()
}

/// The state of reading one export.
struct Reader<'a> {
    object: &'a Object,
    threads: &'a mut Threads,
    /// Number of calls to a model without any content.
    empty: usize,
}

impl Reader<'_> {
    fn read_spans(&mut self, sink: &mut Sink<'_>) {
        for resource in items(&self.object.value, "resourceSpans") {
            let service = service(resource);
            // Until 2022, OTLP used the name “instrumentation library” for a scope, as old exporters still do.
            let scopes = items(resource, "scopeSpans").chain(items(resource, "instrumentationLibrarySpans"));
            for span in scopes.flat_map(|scope| items(scope, "spans")) {
                self.read_span(span, service.as_deref(), sink);
            }
        }
    }

    fn read_span(&mut self, span: &Value, service: Option<&str>, sink: &mut Sink<'_>) {
        let attributes = Attributes::of(&span["attributes"]);
        let (mut input, mut output) = content(&attributes);
        let mut of_a_model = attributes.has(MARKS);
        for event in items(span, "events") {
            let pieces = Attributes::of(&event["attributes"]);
            of_a_model |= pieces.has(MARKS);
            let (asked, answered) = event_content(event["name"].string(), &pieces, &Value::Null);
            input.extend(asked);
            output.extend(answered);
        }
        let times = [time(&span["startTimeUnixNano"]), time(&span["endTimeUnixNano"])];
        if input.is_empty() && output.is_empty() {
            // Program steps around the calls are not model operations.
            self.empty += usize::from(
                of_a_model && attributes.text(&["gen_ai.operation.name"]).is_none_or(|name| name == "chat"),
            );
        } else {
            let [start, end] = times;
            self.add(Call { start, end, input, output, ..named(&attributes, span, service) }, sink);
        }
    }

    fn read_logs(&mut self, sink: &mut Sink<'_>) {
        for resource in items(&self.object.value, "resourceLogs") {
            let service = service(resource);
            // Questions and answers are separate records, which are associated by their span.
            let mut calls: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
            for record in items(resource, "scopeLogs").flat_map(|scope| items(scope, "logRecords")) {
                let text = |key: &str| record[key].string().to_owned();
                calls.entry((text("traceId"), text("spanId"))).or_default().push(record);
            }
            for records in calls.values_mut() {
                // Exporters write in batches, in which an answer may precede its question.
                records.sort_by_key(|record| stamp(record).map(|time| time.at));
                self.read_records(records, service.as_deref(), sink);
            }
        }
    }

    fn read_records(&mut self, records: &[&Value], service: Option<&str>, sink: &mut Sink<'_>) {
        let (mut input, mut output, mut of_a_model) = (Vec::new(), Vec::new(), false);
        let mut known = Attributes::default();
        for record in records {
            let attributes = Attributes::of(&record["attributes"]);
            let name = record["eventName"].as_str().map(str::to_owned).or_else(|| attributes.text(&["event.name"]));
            let name = name.unwrap_or_default();
            of_a_model |= name.starts_with("gen_ai.");
            let (asked, answered) = event_content(&name, &attributes, &plain(&record["body"], MAX_DEPTH));
            input.extend(asked);
            output.extend(answered);
            // Not every record of a call identifies the conversation.
            if known.text(THREADS).is_none() {
                known = attributes;
            }
        }
        let stamps = records.iter().filter_map(|record| stamp(record));
        let (first, last) = (stamps.clone().min_by_key(|time| time.at), stamps.max_by_key(|time| time.at));
        if input.is_empty() && output.is_empty() {
            self.empty += usize::from(of_a_model);
        } else if let Some(record) = records.first() {
            let call = Call { start: first, end: last, input, output, ..named(&known, record, service) };
            self.add(call, sink);
        }
    }

    fn add(&mut self, mut call: Call, sink: &mut Sink<'_>) {
        // An id derived from the content remains the same when the file is read again.
        if call.trace.is_empty() {
            call.trace = call.input.iter().chain(&call.output).next().map(Message::content_hash).unwrap_or_default();
        }
        if call.thread.is_empty() {
            call.thread.clone_from(&call.trace);
        }
        call.origin.clone_from(&self.object.origin);
        self.threads.add(call, sink);
    }
}

/// Returns a call without its messages: the conversation that it belongs to, and the program that made it.
fn named(attributes: &Attributes, record: &Value, service: Option<&str>) -> Call {
    Call {
        thread: attributes.text(THREADS).unwrap_or_default(),
        trace: record["traceId"].string().to_owned(),
        project: service.map(str::to_owned),
        model: attributes.text(MODELS),
        ..Call::default()
    }
}

fn service(resource: &Value) -> Option<String> {
    Attributes::of(&resource["resource"]["attributes"]).text(&["service.name"])
}

/// Returns the time at which a log record was created, or, failing that, received.
fn stamp(record: &Value) -> Option<MessageTime> {
    time(&record["timeUnixNano"]).or_else(|| time(&record["observedTimeUnixNano"]))
}

fn time(value: &Value) -> Option<MessageTime> {
    // OTLP writes 64-bit numbers as strings because of JavaScript, but some exporters write numbers.
    let nanoseconds: i128 = value.as_str().map_or_else(|| value.as_i64().map(i128::from), |text| text.parse().ok())?;
    let known = Some(nanoseconds).filter(|nanoseconds| *nanoseconds > 0)?;
    Timestamp::from_nanosecond(known).ok().map(MessageTime::logged)
}

/// Returns the sent and received messages from the attributes of a call, in any of the conventions.
fn content(attributes: &Attributes) -> (Vec<Message>, Vec<Message>) {
    let spread = |prefixes: &[&str]| -> Vec<Message> {
        let found = prefixes.iter().map(|prefix| attributes.messages(prefix)).find(|messages| !messages.is_empty());
        found.unwrap_or_default().iter().flat_map(messages_of).collect()
    };
    let (mut input, mut output) = (asked(&attributes.value(ASKED)), answered(&attributes.value(ANSWERED)));
    if input.is_empty() {
        input = spread(&["llm.input_messages", "gen_ai.prompt", "llm.prompts"]);
    }
    if output.is_empty() {
        output = spread(&["llm.output_messages", "gen_ai.completion", "llm.completions"]);
    }
    let prompt = preamble(&attributes.value(&["gen_ai.system_instructions"]));
    if !input.is_empty() || !output.is_empty() {
        input.splice(..0, prompt);
    }
    (input, output)
}

/// Returns the messages in an event: the details of a call or, in the older conventions, one of its messages.
fn event_content(name: &str, attributes: &Attributes, body: &Value) -> (Vec<Message>, Vec<Message>) {
    let role = match name {
        "gen_ai.user.message" => "user",
        "gen_ai.assistant.message" => "assistant",
        "gen_ai.system.message" => "system",
        "gen_ai.tool.message" => "tool",
        "gen_ai.choice" => "",
        _ => {
            let (input, output) = content(attributes);
            if !input.is_empty() || !output.is_empty() || !name.starts_with("gen_ai.client") {
                return (input, output);
            }
            // Some exporters write the attributes of the event in its body.
            let of_body = |keys: &[&str]| keys.iter().map(|key| &body[*key]).find(|value| !value.is_null()).cloned();
            return (asked(&of_body(ASKED).unwrap_or_default()), answered(&of_body(ANSWERED).unwrap_or_default()));
        }
    };
    let written = attributes.value(&["gen_ai.event.content"]);
    let pieces = [body, &written].into_iter().find(|pieces| pieces.is_object());
    let pieces =
        pieces.cloned().unwrap_or_else(|| serde_json::json!({"content": attributes.value(&["content", "message"])}));
    if role.is_empty() {
        let message = if pieces["message"].is_object() { &pieces["message"] } else { &pieces };
        return (Vec::new(), messages_of(&with_role(message, "assistant")));
    }
    (messages_of(&with_role(&pieces, role)), Vec::new())
}

fn with_role(message: &Value, role: &str) -> Value {
    let mut message = message.clone();
    if let Some(fields) = message.as_object_mut() {
        fields.entry("role").or_insert_with(|| role.into());
    }
    message
}

// Attributes of spans and events: OTLP's typed values as plain JSON, and messages that are split across many keys.

/// Maximum nesting of an attribute's value.
const MAX_DEPTH: usize = 64;

/// The attributes of a span, event, log record or resource, by name.
#[derive(Default)]
struct Attributes(BTreeMap<String, Value>);

impl Attributes {
    /// Reads a list of objects with `key` and `value`.
    fn of(list: &Value) -> Self {
        let named = |pair: &Value| Some((pair["key"].as_str()?.to_owned(), plain(&pair["value"], MAX_DEPTH)));
        Self(list.list().iter().filter_map(named).collect())
    }

    /// Returns the first of `keys` that exists, parsed if it is JSON in a string.
    fn value(&self, keys: &[&str]) -> Value {
        let found = keys.iter().find_map(|key| self.0.get(*key)).unwrap_or(&Value::Null);
        found.as_str().and_then(embedded).unwrap_or_else(|| found.clone())
    }

    /// Returns the first of `keys` that contains text.
    fn text(&self, keys: &[&str]) -> Option<String> {
        keys.iter().find_map(|key| self.0.get(*key)?.as_str()).filter(|text| !text.is_empty()).map(str::to_owned)
    }

    /// Returns whether the name of any attribute begins with one of `prefixes`.
    fn has(&self, prefixes: &[&str]) -> bool {
        self.0.keys().any(|key| prefixes.iter().any(|prefix| key.starts_with(prefix)))
    }

    /// Returns the messages in the attributes `<prefix>.<place>.…` as objects, ordered by `<place>`.
    fn messages(&self, prefix: &str) -> Vec<Value> {
        numbered(&self.0, prefix).into_values().map(|fields| message(&fields)).collect()
    }
}

/// Assembles the fields of a split message, such as `role`, `contents.0.message_content.text`, `tool_calls.0.name`.
fn message(fields: &Map<String, Value>) -> Value {
    let parts = numbered(fields, "contents").into_values().map(|part| {
        let own = |key: &str| part.get(&format!("message_content.{key}")).cloned().unwrap_or_default();
        let image = part.keys().any(|key| key.starts_with("message_content.image"));
        if image { json!({"type": "image"}) } else { json!({"type": own("type"), "text": own("text")}) }
    });
    let parts: Vec<Value> = parts.collect();
    let calls = numbered(fields, "tool_calls").into_values().map(|call| {
        let named = |name: &str| {
            let found = call.iter().find(|(key, _)| key.rsplit('.').next() == Some(name));
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        json!({"name": named("name"), "arguments": named("arguments")})
    });
    let calls: Vec<Value> = calls.collect();
    let content = fields.get("content").filter(|content| !content.is_null()).cloned();
    // A prompt with several parts is logged as JSON in a string.
    let content = content.map(|content| content.as_str().and_then(embedded).filter(Value::is_array).unwrap_or(content));
    json!({"role": fields.get("role"), "content": content.unwrap_or(Value::Array(parts)), "tool_calls": calls})
}

/// Returns the fields called `<list>.<place>.…`, indexed by `<place>`.
fn numbered<'a>(
    fields: impl IntoIterator<Item = (&'a String, &'a Value)>,
    list: &str,
) -> BTreeMap<u32, Map<String, Value>> {
    let mut found: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
    for (key, value) in fields {
        let rest = key.strip_prefix(list).and_then(|rest| rest.strip_prefix('.')).and_then(|rest| rest.split_once('.'));
        if let Some((place, name)) = rest
            && let Ok(place) = place.parse()
        {
            let name = name.strip_prefix("message.").unwrap_or(name);
            found.entry(place).or_default().insert(name.to_owned(), value.clone());
        }
    }
    found
}

/// Returns a typed value as plain JSON.
fn plain(value: &Value, depth: usize) -> Value {
    let Some((kind, inner)) = value.as_object().and_then(|fields| fields.iter().next()) else { return Value::Null };
    match (kind.as_str(), depth.checked_sub(1)) {
        // Here, too, whole numbers are written as strings; this module does not need them as numbers.
        ("stringValue" | "boolValue" | "doubleValue" | "intValue", _) => inner.clone(),
        ("arrayValue", Some(depth)) => {
            let values = inner["values"].list();
            values.iter().map(|value| plain(value, depth)).collect()
        }
        ("kvlistValue", Some(depth)) => {
            let pairs = inner["values"].list().iter();
            let pairs = pairs.filter_map(|pair| Some((pair["key"].as_str()?.to_owned(), plain(&pair["value"], depth))));
            Value::Object(pairs.collect())
        }
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
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

    fn pieces(export: &Value) -> Vec<String> {
        assert!(sniffs(&OtelGenAi, &export.to_string()));
        let (seen, skipped) = read(&OtelGenAi, "x.json", &export.to_string());
        assert_eq!((seen.len(), skipped), (1, vec![]), "{export}");
        lines(&seen[0])
    }

    #[test]
    fn every_convention_tells_the_same() {
        let ask = json!([{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]).to_string();
        let answer =
            json!([{"role": "assistant", "parts": [{"type": "text", "content": "ho"}], "finish_reason": "stop"}])
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
            assert_eq!(pieces(&one), ["User Prose hi", "Assistant Prose ho"], "{one}");
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
            "System Context Be brief.", "User Attachment [image]", "User Prose what?", "Assistant Reasoning hm",
            "Assistant ToolCall look cat", "Tool ToolResult a cat",
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
            [(
                1,
                "2 model calls without content; enable content recording in the program that made the calls".to_owned()
            )]
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
        assert_eq!(pieces(&export), ["User Prose Lisbon?", "Assistant Prose Sunny.", "User Prose and Faro?"]);
    }
}

#[cfg(test)]
mod attributes_tests {
    use super::*;

    #[test]
    fn typed_values_become_plain_json() {
        let typed = json!({"kvlistValue": {"values": [{"key": "a", "value": {"arrayValue": {"values": [{"intValue": "3"}, {"boolValue": true}, {"bytesValue": "AA"}]}}}]}});
        assert_eq!(plain(&typed, MAX_DEPTH), json!({"a": ["3", true, null]}));
        assert_eq!(plain(&json!("bare"), MAX_DEPTH), Value::Null);
    }

    #[test]
    fn spread_messages_are_put_together_in_the_order_of_their_numbers() {
        let pairs = [
            ("llm.input_messages.10.message.role", "user"),
            ("llm.input_messages.10.message.contents.0.message_content.type", "text"),
            ("llm.input_messages.10.message.contents.0.message_content.text", "last"),
            ("llm.input_messages.9.message.role", "assistant"),
            ("llm.input_messages.9.message.tool_calls.0.tool_call.function.name", "find"),
            ("llm.input_messages.9.message.tool_calls.0.tool_call.function.arguments", "{}"),
            ("llm.input_messages.x.message.role", "user"),
        ];
        let list: Vec<Value> =
            pairs.iter().map(|(key, text)| json!({"key": key, "value": {"stringValue": text}})).collect();
        assert_eq!(
            Attributes::of(&json!(list)).messages("llm.input_messages"),
            [
                json!({"role": "assistant", "content": [], "tool_calls": [{"name": "find", "arguments": "{}"}]}),
                json!({"role": "user", "content": [{"type": "text", "text": "last"}], "tool_calls": []}),
            ]
        );
    }
}
