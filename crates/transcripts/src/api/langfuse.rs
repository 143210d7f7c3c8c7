//! Langfuse: traces with their observations, or exported rows of observations and traces.

use serde_json::Value;

use crate::api::threads::{Call, Threads};
use crate::json::Json;
use crate::message::exchange::{answered, asked, without_repetition};
use crate::message::identity;
use crate::{Head, IngestError, Ingestor, Input, MessageTime, Object, Objects, Sink};

/// Types of observations, of which only the first contains a call to a model.
const KINDS: &[&str] =
    &["GENERATION", "SPAN", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL"];

/// Reads Langfuse exports.
pub(crate) struct Langfuse;

impl Ingestor for Langfuse {
    named!("langfuse");

    fn sniff(&self, head: &Head<'_>) -> bool {
        head.objects().any(is_ours) || head.most_lines(is_ours)
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut threads = Threads::new(self.name());
        // Steps around the calls repeat the content of the calls; without calls, the steps may contain text that nobody
        // said.
        let (mut calls, mut steps, mut last) = (0_usize, 0_usize, 0);
        Objects::each(input, sink, |object, sink| {
            let value = &object.value;
            if value["observations"].is_array() {
                read_trace(&object, &mut threads, sink);
            } else if is_observation(value) {
                last = object.number;
                if value["type"] == "GENERATION" {
                    calls += 1;
                    add(value, &Value::Null, &object, &mut threads, sink);
                } else {
                    steps += usize::from(!(value["input"].is_null() && value["output"].is_null()));
                }
            } else if is_trace(value) {
                add(value, value, &object, &mut threads, sink);
            } else {
                sink.skip(object.number, "neither a trace nor an observation");
            }
        })?;
        if calls == 0 && steps > 0 {
            sink.skip(
                last,
                format!("observations that are not calls to a model: {steps}; export the calls or the traces too"),
            );
        }
        threads.finish(sink);
        Ok(())
    }
}

/// Returns the field that is called `camel` in the API and `snake` in the bulk export.
fn field<'a>(value: &'a Value, camel: &str, snake: &str) -> &'a Value {
    if value[camel].is_null() { &value[snake] } else { &value[camel] }
}

fn is_observation(value: &Value) -> bool {
    let is_kind = value["type"].as_str().is_some_and(|kind| KINDS.contains(&kind));
    is_kind && field(value, "traceId", "trace_id").is_string() && !field(value, "startTime", "start_time").is_null()
}

fn is_trace(value: &Value) -> bool {
    let has = |camel: &str, snake: &str| value.get(camel).is_some() || value.get(snake).is_some();
    value["id"].is_string()
        && value["timestamp"].is_string()
        && has("sessionId", "session_id")
        && has("userId", "user_id")
        && value.get("input").is_some()
        && value.get("output").is_some()
}

fn is_ours(value: &Value) -> bool {
    let observations = value["observations"].list();
    let is_whole = value["observations"].is_array() && value["id"].is_string() && value.get("timestamp").is_some();
    observations.iter().any(is_observation)
        || is_whole && observations.is_empty()
        || is_observation(value)
        || is_trace(value)
}

/// Reads a trace: its calls to a model or, if none of these has content, the input and output of the trace itself.
fn read_trace(object: &Object, threads: &mut Threads, sink: &mut Sink<'_>) {
    let trace = &object.value;
    let observations = trace["observations"].list();
    let has_content = |one: &&Value| {
        one["type"] == "GENERATION" && !(asked(&one["input"]).is_empty() && answered(&one["output"]).is_empty())
    };
    let mut any = false;
    for generation in observations.iter().filter(has_content) {
        any = true;
        add(generation, trace, object, threads, sink);
    }
    // A trace may be recorded manually, without the calls inside it.
    if !any {
        add(trace, trace, object, threads, sink);
    }
}

/// Adds the content of `one`, a call or a trace; `trace` is the enclosing trace, if known.
fn add(one: &Value, trace: &Value, object: &Object, threads: &mut Threads, sink: &mut Sink<'_>) {
    let input = asked(&one["input"]);
    let output = without_repetition(&input, answered(&one["output"]));
    if input.is_empty() && output.is_empty() {
        return sink.skip(object.number, "neither the input nor the output contains messages");
    }
    let text = Value::owned;
    let session = [one, trace].into_iter().find_map(|part| text(field(part, "sessionId", "session_id")));
    let id = text(field(one, "traceId", "trace_id")).or_else(|| text(&trace["id"])).or_else(|| text(&one["id"]));
    let id = id.unwrap_or_default();
    let start = [field(one, "startTime", "start_time"), &one["timestamp"]].into_iter().find_map(utc);
    let model = field(one, "model", "provided_model_name");
    threads.add(
        Call {
            thread: session.unwrap_or_else(|| id.clone()),
            trace: id,
            start,
            end: utc(field(one, "endTime", "end_time")),
            input,
            output,
            title: text(&trace["name"]).or_else(|| text(field(one, "traceName", "trace_name"))),
            project: None,
            model: text(model),
            origin: object.origin.clone(),
        },
        sink,
    );
}

/// Reads a time; the export writes times in UTC without a time zone.
fn utc(value: &Value) -> Option<MessageTime> {
    identity::stamp(value).map(|time| MessageTime { offset_seconds: time.offset_seconds.or(Some(0)), ..time })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{lines, read, sniffs};
    use serde_json::json;

    fn generation(session: &str, minute: u32, input: &Value, output: &str) -> Value {
        json!({"id": "o", "trace_id": format!("trace-{minute}"), "session_id": session, "type": "GENERATION", "start_time": format!("2026-01-02 03:{minute:02}:00.000000"),
            "provided_model_name": "m", "input": input.to_string(), "output": output})
    }

    #[test]
    fn rows_of_a_session_are_put_together_in_the_order_of_their_times() {
        let turn = |role: &str, words: &str| json!({"role": role, "content": words});
        let rows = [
            generation("s-1", 2, &json!([turn("user", "hi"), turn("assistant", "ho"), turn("user", "well?")]), "well."),
            json!({"id": "p", "trace_id": "trace-2", "type": "SPAN", "start_time": "2026-01-02 03:02:00", "input": "{}", "output": null}),
            generation("s-1", 1, &json!({"messages": [turn("user", "hi")]}), "ho"),
        ];
        for text in [json!(rows).to_string(), rows.each_ref().map(Value::to_string).join("\n")] {
            assert!(sniffs(&Langfuse, &text));
            let (seen, skipped) = read(&Langfuse, "x", &text);
            assert_eq!((seen.len(), seen[0].external_id.as_str(), skipped), (1, "s-1", vec![]));
            assert_eq!(
                lines(&seen[0]),
                ["User Prose hi", "Assistant Prose ho", "User Prose well?", "Assistant Prose well."]
            );
            let time = seen[0].messages[0].time.unwrap();
            assert_eq!((time.at.to_string().as_str(), time.offset_seconds), ("2026-01-02T03:01:00Z", Some(0)));
        }
    }

    #[test]
    fn rows_of_steps_alone_are_reported() {
        let step = |kind: &str, input: &str| json!({"id": "p", "trace_id": "t", "type": kind, "start_time": "2026-01-02 03:02:00", "input": input});
        let (seen, skipped) = read(&Langfuse, "x", &json!([step("SPAN", "hi"), step("AGENT", "ho")]).to_string());
        let pieces = "observations that are not calls to a model: 2; export the calls or the traces too".to_owned();
        assert_eq!((seen, skipped), (vec![], vec![(2, pieces)]));
    }

    #[test]
    fn a_trace_without_calls_is_read_by_itself() {
        let span =
            json!({"id": "p", "traceId": "t-1", "type": "SPAN", "startTime": "2026-01-02T03:04:05Z", "input": null});
        let trace = json!({"id": "t-1", "name": "support", "timestamp": "2026-01-02T03:04:05Z", "input": {"question": "Where is my parcel?"}, "output": {"answer": "In Faro."}, "observations": [span]});
        assert!(sniffs(&Langfuse, &trace.to_string()));
        let (seen, _) = read(&Langfuse, "x", &trace.to_string());
        assert_eq!(
            (seen[0].title.as_deref(), lines(&seen[0])),
            (Some("support"), vec!["User Prose Where is my parcel?".to_owned(), "Assistant Prose In Faro.".to_owned()])
        );
    }
}
