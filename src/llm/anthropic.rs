//! Request and reply bodies of Anthropic's Messages API. The functions perform no I/O.
//!
//! Fields and values follow Anthropic's API reference, version `2023-06-01`.

use serde_json::{Value, json};

use super::fault::{Fault, Rejection};
use super::wire::{Dialect, Format, answering_model, in_words, turns, usage};
use super::{Finish, Reply, Request};
use crate::tokens;

/// The path of a call, below the base URL.
pub(super) const PATH: &str = "/messages";

/// Returns the body that sends `request` to `model` in `dialect`.
pub(super) fn body(request: &Request, model: &str, dialect: &Dialect) -> Value {
    let mut system = request.system.as_str().to_owned();
    if dialect.format == Format::Plain {
        system.push_str(&in_words(&request.schema));
    }
    let mut body = json!({
        "model": model,
        // The system prompt is the same in all requests of a run, so that it costs the full price only once.
        "system": [{"type": "text", "text": system, "cache_control": {"type": "ephemeral"}}],
        "messages": turns(request).collect::<Value>(),
        "max_tokens": request.max_completion_tokens.min(dialect.most_tokens),
    });
    match dialect.format {
        Format::JsonSchema => {
            body["output_config"] = json!({"format": {"type": "json_schema", "schema": request.schema.schema}});
        }
        // The API has no JSON mode. The closest equivalent is a tool that the model must call. Its schema may be larger
        // than a strict schema.
        Format::JsonObject => {
            let name = &request.schema.name;
            let about = "Records the answer.";
            body["tools"] = json!([{"name": name, "description": about, "input_schema": request.schema.schema}]);
            body["tool_choice"] = json!({"type": "tool", "name": name});
        }
        Format::Plain => {}
    }
    if let Some(temperature) = dialect.temperature() {
        body["temperature"] = temperature;
    }
    body
}

/// Reads the body of an answer with status 200. `own_count` returns the size of the request if the server did not count
/// it.
pub(super) fn reply(body: &Value, model: &str, own_count: &dyn Fn() -> u64) -> Result<Reply, Fault> {
    if let Some(rejection) = Rejection::read(body).filter(|_| body["type"] != "message") {
        return Err(Fault::Status { status: rejection.status(), wait: None, rejection });
    }
    let Some(blocks) = body["content"].as_array() else {
        return Err(Fault::Broken("the answer contains no message".to_owned()));
    };
    let text = match blocks.iter().find(|block| block["type"] == "tool_use") {
        Some(called) => called["input"].to_string(),
        None => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
    };
    let finish = match body["stop_reason"].as_str() {
        Some("max_tokens" | "model_context_window_exceeded") => Finish::Length,
        Some("refusal") => Finish::Refusal,
        _ => Finish::Stop,
    };
    // The server counts tokens that were read from the cache or written to it separately.
    let cached = ["cache_creation_input_tokens", "cache_read_input_tokens"];
    let prompt_tokens =
        usage(body, "input_tokens").map(|new| new + cached.iter().filter_map(|name| usage(body, name)).sum::<u64>());
    Ok(Reply {
        finish,
        prompt_tokens: prompt_tokens.unwrap_or_else(own_count),
        completion_tokens: usage(body, "output_tokens").unwrap_or_else(|| tokens::count(&text) as u64),
        model: answering_model(body, model),
        text,
    })
}

#[cfg(test)]
mod tests {
    use super::super::endpoint::{ModelSettings, StructuredOutput};
    use super::super::wire::tests::request;
    use super::*;

    fn sent(structured: StructuredOutput) -> Value {
        let settings = ModelSettings { structured, ..ModelSettings::new("http://127.0.0.1/v1", "m") };
        body(&request("用 tabs"), "m", &Dialect::new(&settings))
    }

    #[test]
    fn the_schema_is_enforced_or_a_tool_or_words() {
        let schema = json!({"type": "object", "additionalProperties": false});
        let mut expected = json!({
            "model": "m",
            "system": [{"type": "text", "text": "Extract facts.", "cache_control": {"type": "ephemeral"}}],
            "messages": [{"role": "user", "content": "用 tabs"}],
            "max_tokens": 100,
            "output_config": {"format": {"type": "json_schema", "schema": schema}},
            "temperature": 0.3,
        });
        assert_eq!(sent(StructuredOutput::Auto), expected);

        expected.as_object_mut().unwrap().remove("output_config");
        expected["tools"] = json!([{"name": "facts", "description": "Records the answer.", "input_schema": schema}]);
        expected["tool_choice"] = json!({"type": "tool", "name": "facts"});
        assert_eq!(sent(StructuredOutput::JsonObject), expected);

        let plain = sent(StructuredOutput::Plain);
        assert!(plain.get("tools").is_none() && plain.get("output_config").is_none(), "{plain}");
        assert!(
            plain["system"][0]["text"].as_str().unwrap().ends_with(r#"{"type":"object","additionalProperties":false}"#)
        );
    }

    #[test]
    fn text_tools_and_endings_are_read_and_cached_tokens_counted() {
        let text = |text: &str| json!([{"type": "thinking", "thinking": "so"}, {"type": "text", "text": text}]);
        for (content, stop, finish, expected) in [
            (text("{}"), "end_turn", Finish::Stop, "{}"),
            (text("{"), "max_tokens", Finish::Length, "{"),
            (text("no"), "refusal", Finish::Refusal, "no"),
            (json!([{"type": "tool_use", "input": {"a": 1}}]), "tool_use", Finish::Stop, "{\"a\":1}"),
            (json!([]), "end_turn", Finish::Stop, ""),
        ] {
            let usage = json!({"input_tokens": 5, "cache_read_input_tokens": 30, "output_tokens": 2});
            let body = json!({
                "type": "message", "model": "m-1", "content": content, "stop_reason": stop, "usage": usage,
            });
            let reply = reply(&body, "m", &|| 0).unwrap();
            assert_eq!((reply.finish, reply.text.as_str(), reply.model.as_str()), (finish, expected, "m-1"));
            assert_eq!((reply.prompt_tokens, reply.completion_tokens), (35, 2));
        }
    }

    #[test]
    fn errors_and_other_shapes_are_faults() {
        let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        let fault = reply(&overloaded, "m", &|| 0).unwrap_err();
        assert!(matches!(fault, Fault::Status { status: 529, .. }), "{fault:?}");
        for body in [json!(null), json!([]), json!({}), json!({"type": "message"})] {
            assert_eq!(
                reply(&body, "m", &|| 0),
                Err(Fault::Broken("the answer contains no message".to_owned())),
                "{body}"
            );
        }
    }
}
