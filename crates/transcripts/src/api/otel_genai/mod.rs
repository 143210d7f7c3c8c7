//! Traces and logs of calls to a model, as `OpenTelemetry` exports them: OTLP as JSON, whole or one object a line.
//!
//! Content is read from the attributes of the `GenAI` conventions, old and new, and from those of `OpenInference` and
//! Traceloop.

mod attributes;

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use self::attributes::{Attributes, any_value};
use super::threads::{Call, Threads};
use crate::chat::messages_of;
use crate::exchange::{answered, asked, preamble};
use crate::{Head, IngestError, Ingestor, Input, Object, Objects, Sink};
use crate::{Message, MessageTime};

/// Beginnings of the names of attributes that only calls to a model have.
const MARKS: &[&str] = &["gen_ai.", "llm.", "openinference.", "traceloop."];
/// Attributes that name the conversation, the most telling first.
const THREADS: &[&str] = &[
    "gen_ai.conversation.id",
    "session.id",
    "langfuse.session.id",
    "traceloop.association.properties.session_id",
    "traceloop.association.properties.thread_id",
    "traceloop.association.properties.conversation_id",
];
const MODELS: &[&str] = &["gen_ai.response.model", "gen_ai.request.model", "llm.model_name"];
const ASKED: &[&str] = &["gen_ai.input.messages", "gen_ai.prompt", "gen_ai.input_messages"];
const ANSWERED: &[&str] = &["gen_ai.output.messages", "gen_ai.completion", "gen_ai.output_messages"];

/// Reads `OpenTelemetry` traces and logs of calls to a model.
pub struct OtelGenAi;

impl Ingestor for OtelGenAi {
    fn name(&self) -> &'static str {
        "otel-genai"
    }

    fn about(&self) -> &'static str {
        "OpenTelemetry spans and events of calls to a model (OTLP JSON; GenAI, OpenInference, Traceloop)"
    }

    fn rule(&self) -> &'static str {
        "objects with `resourceSpans` or `resourceLogs`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_export) || head.most_lines(is_export)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut objects = Objects::of(input);
        let mut threads = Threads::new(self.name());
        while let Some(object) = objects.next(sink)? {
            if !is_export(&object.value) {
                sink.skip(object.number, "neither spans nor log records");
                continue;
            }
            let mut reader = Reader { object: &object, threads: &mut threads, empty: 0 };
            reader.read_spans(sink);
            reader.read_logs(sink);
            if reader.empty > 0 {
                let reason = "calls to a model without content; the program that made them must be told to record it";
                sink.skip(object.number, format!("{} {reason}", reader.empty));
            }
        }
        threads.finish(sink);
        Ok(())
    }
}

fn is_export(value: &Value) -> bool {
    value["resourceSpans"].is_array() || value["resourceLogs"].is_array()
}

fn items<'a>(value: &'a Value, key: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value[key].as_array().map_or(&[][..], Vec::as_slice).iter()
}

/// Reads one export.
struct Reader<'a> {
    object: &'a Object,
    threads: &'a mut Threads,
    /// Calls to a model that tell nothing of what was said.
    empty: usize,
}

impl Reader<'_> {
    fn read_spans(&mut self, sink: &mut Sink<'_>) {
        for resource in items(&self.object.value, "resourceSpans") {
            let service = service(resource);
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
            let told = Attributes::of(&event["attributes"]);
            of_a_model |= told.has(MARKS);
            let (asked, answered) = event_content(event["name"].as_str().unwrap_or_default(), &told, &Value::Null);
            input.extend(asked);
            output.extend(answered);
        }
        let times = [time(&span["startTimeUnixNano"]), time(&span["endTimeUnixNano"])];
        if input.is_empty() && output.is_empty() {
            // Steps of a program around the calls have no operation of a model.
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
            // What was asked and what was answered are records of their own, held together by the span.
            let mut calls: BTreeMap<(String, String), Vec<&Value>> = BTreeMap::new();
            for record in items(resource, "scopeLogs").flat_map(|scope| items(scope, "logRecords")) {
                let text = |key: &str| record[key].as_str().unwrap_or_default().to_owned();
                calls.entry((text("traceId"), text("spanId"))).or_default().push(record);
            }
            for records in calls.values_mut() {
                // Exporters write in batches, in which an answer can stand before what it answers.
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
            let (asked, answered) = event_content(&name, &attributes, &any_value(&record["body"]));
            input.extend(asked);
            output.extend(answered);
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

/// Returns a call without its messages: what it belongs to, and who made it.
fn named(attributes: &Attributes, record: &Value, service: Option<&str>) -> Call {
    Call {
        thread: attributes.text(THREADS).unwrap_or_default(),
        trace: record["traceId"].as_str().unwrap_or_default().to_owned(),
        project: service.map(str::to_owned),
        model: attributes.text(MODELS),
        ..Call::default()
    }
}

fn service(resource: &Value) -> Option<String> {
    Attributes::of(&resource["resource"]["attributes"]).text(&["service.name"])
}

/// Returns when a log record was made, or else when it was received.
fn stamp(record: &Value) -> Option<MessageTime> {
    time(&record["timeUnixNano"]).or_else(|| time(&record["observedTimeUnixNano"]))
}

fn time(value: &Value) -> Option<MessageTime> {
    let nanoseconds: i128 = value.as_str().map_or_else(|| value.as_i64().map(i128::from), |text| text.parse().ok())?;
    let known = Some(nanoseconds).filter(|nanoseconds| *nanoseconds > 0)?;
    Timestamp::from_nanosecond(known).ok().map(MessageTime::logged)
}

/// Returns what the attributes of a call say was sent and what came back, in whichever convention.
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

/// Returns what an event tells: the details of a call, or one message of it in the older conventions.
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
            // Some exporters write the attributes of the event into its body.
            let of_body = |keys: &[&str]| keys.iter().map(|key| &body[*key]).find(|value| !value.is_null()).cloned();
            return (asked(&of_body(ASKED).unwrap_or_default()), answered(&of_body(ANSWERED).unwrap_or_default()));
        }
    };
    let written = attributes.value(&["gen_ai.event.content"]);
    let told = [body, &written].into_iter().find(|told| told.is_object());
    let told =
        told.cloned().unwrap_or_else(|| serde_json::json!({"content": attributes.value(&["content", "message"])}));
    if role.is_empty() {
        let message = if told["message"].is_object() { &told["message"] } else { &told };
        return (Vec::new(), messages_of(&with_role(message, "assistant")));
    }
    (messages_of(&with_role(&told, role)), Vec::new())
}

fn with_role(message: &Value, role: &str) -> Value {
    let mut message = message.clone();
    if let Some(fields) = message.as_object_mut() {
        fields.entry("role").or_insert_with(|| role.into());
    }
    message
}

#[cfg(test)]
mod tests;
