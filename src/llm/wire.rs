//! Request bodies out, reply bodies in; no I/O.

use serde_json::{Value, json};

use super::dialect::{Dialect, Format};
use super::fault::{Fault, Rejection};
use super::{Finish, Reply, ReplySchema, Request, TurnRole};
use crate::tokens;

/// Returns the body that asks `model` for `request` in `dialect`.
pub(super) fn body(request: &Request, model: &str, dialect: &Dialect) -> Value {
    let (format, words) = match dialect.format {
        Format::JsonSchema => (Some(strict_format(&request.schema)), None),
        Format::JsonObject => (Some(json!({"type": "json_object"})), Some(&request.schema)),
        Format::Plain => (None, Some(&request.schema)),
    };
    let mut body = json!({"model": model, "messages": messages(request, words)});
    if let Some(format) = format {
        body["response_format"] = format;
    }
    if let Some(temperature) = dialect.temperature {
        // Widening 0.3 from f32 would send 0.30000001192092896.
        body["temperature"] = temperature.to_string().parse::<f64>().unwrap_or(0.0).into();
    }
    body[dialect.limit.name()] = request.max_completion_tokens.min(dialect.most_tokens).into();
    body
}

/// Returns the messages of `request`, with the schema in words where the server does not enforce it.
pub(super) fn messages(request: &Request, schema: Option<&ReplySchema>) -> Value {
    let mut system = request.system.as_str().to_owned();
    if let Some(schema) = schema {
        system
            .push_str("\n\nAnswer with one JSON object that is valid under this JSON Schema, and with nothing else:\n");
        system.push_str(&schema.schema.to_string());
    }
    let turns = request.turns.iter().map(|turn| {
        let role = match turn.role {
            TurnRole::User => "user",
            TurnRole::Assistant => "assistant",
        };
        json!({"role": role, "content": turn.text.as_str()})
    });
    std::iter::once(json!({"role": "system", "content": system})).chain(turns).collect()
}

/// Returns the `response_format` that makes a server enforce `schema`.
pub(super) fn strict_format(schema: &ReplySchema) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": schema.name, "strict": true, "schema": schema.schema}})
}

/// Returns an upper estimate of the tokens of `request` as sent.
pub(super) fn prompt_tokens(request: &Request) -> u64 {
    /// Tokens around one message, such as its role.
    const MESSAGE_TOKENS: usize = 4;
    let texts = std::iter::once(&request.system).chain(request.turns.iter().map(|turn| &turn.text));
    let messages: usize = texts.map(|text| tokens::count(text) + MESSAGE_TOKENS).sum();
    (messages + tokens::count(&request.schema.schema.to_string())) as u64
}

/// Reads the body of a 200 answer.
///
/// Missing token counts are replaced by our own. An `error` object in it counts as the status that it names.
pub(super) fn reply(body: &Value, request: &Request, model: &str) -> Result<Reply, Fault> {
    reply_counted(body, model, || prompt_tokens(request))
}

/// Reads the body of a 200 answer to a request of `prompt_tokens`, should the server not count them.
pub(super) fn reply_counted(body: &Value, model: &str, prompt_tokens: impl FnOnce() -> u64) -> Result<Reply, Fault> {
    if let Some(rejection) = Rejection::read(body) {
        return Err(Fault::Status { status: rejection.status(), wait: None, rejection });
    }
    let choice = &body["choices"][0];
    let message = &choice["message"];
    if choice["error"].is_object() || choice["finish_reason"] == "error" {
        return Err(Fault::Broken("the server broke off its answer".to_owned()));
    }
    if !message.is_object() {
        return Err(Fault::Broken("the answer holds no message".to_owned()));
    }
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    let finish = match choice["finish_reason"].as_str() {
        Some("length" | "max_tokens") => Finish::Length,
        Some("content_filter" | "refusal") => Finish::Refusal,
        _ if refusal.is_some() => Finish::Refusal,
        _ => Finish::Stop,
    };
    let text = refusal.map_or_else(|| content(&message["content"]), str::to_owned);
    // A count that no call can reach is as good as none.
    let usage = |name: &str| body["usage"][name].as_u64().filter(|count| u32::try_from(*count).is_ok());
    Ok(Reply {
        finish,
        prompt_tokens: usage("prompt_tokens").unwrap_or_else(prompt_tokens),
        completion_tokens: usage("completion_tokens").unwrap_or_else(|| tokens::count(&text) as u64),
        model: body["model"].as_str().filter(|name| !name.is_empty()).unwrap_or(model).to_owned(),
        text,
    })
}

/// Returns the text of a message, which some servers cut into parts.
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::guard::Guard;
    use crate::llm::Turn;
    use crate::llm::settings::{ModelSettings, StructuredOutput};

    pub(in crate::llm) fn request(text: &str) -> Request {
        let redacted = |text: &str| Guard::default().redact(text.to_owned()).0;
        Request {
            system: redacted("Extract facts."),
            turns: vec![Turn { role: TurnRole::User, text: redacted(text) }],
            schema: ReplySchema { name: "facts".into(), schema: json!({"type": "object", "additionalProperties": false}) },
            max_completion_tokens: 100,
        }
    }

    fn settings(structured: StructuredOutput) -> ModelSettings {
        ModelSettings { structured, ..ModelSettings::new("http://127.0.0.1/v1", "m") }
    }

    #[test]
    fn strict_body_carries_the_schema_as_format() {
        assert_eq!(
            body(&request("用 tabs"), "m", &Dialect::new(&settings(StructuredOutput::Auto))),
            json!({
                "model": "m",
                "messages": [
                    {"role": "system", "content": "Extract facts."},
                    {"role": "user", "content": "用 tabs"},
                ],
                "response_format": {"type": "json_schema", "json_schema": {
                    "name": "facts", "strict": true, "schema": {"type": "object", "additionalProperties": false},
                }},
                "temperature": 0.3,
                "max_tokens": 100,
            })
        );
    }

    #[test]
    fn plain_body_carries_the_schema_in_words() {
        let settings = ModelSettings { temperature: None, ..settings(StructuredOutput::Plain) };
        let body = body(&request("hi"), "m", &Dialect::new(&settings));
        let system = concat!(
            "Extract facts.\n\nAnswer with one JSON object that is valid under this JSON Schema, and with nothing else:\n",
            r#"{"type":"object","additionalProperties":false}"#,
        );
        let messages = json!([{"role": "system", "content": system}, {"role": "user", "content": "hi"}]);
        assert_eq!(body, json!({"model": "m", "messages": messages, "max_tokens": 100}));
    }

    #[test]
    fn finish_and_text_are_read_from_every_known_form() {
        let rows = [
            (json!({"finish_reason": "stop", "message": {"content": "{}"}}), Finish::Stop, "{}"),
            (json!({"finish_reason": null, "message": {"content": "{}"}}), Finish::Stop, "{}"),
            (json!({"finish_reason": "length", "message": {"content": "{"}}), Finish::Length, "{"),
            (json!({"finish_reason": "stop", "message": {"content": null, "refusal": "no"}}), Finish::Refusal, "no"),
            (json!({"finish_reason": "content_filter", "message": {"content": ""}}), Finish::Refusal, ""),
            (
                json!({"finish_reason": "stop", "message": {"content": [{"type": "text", "text": "{"}, {"text": "}"}]}}),
                Finish::Stop,
                "{}",
            ),
            (json!({"finish_reason": "stop", "message": {"content": 7}}), Finish::Stop, ""),
        ];
        for (choice, finish, text) in rows {
            let body =
                json!({"model": "m-1", "choices": [choice], "usage": {"prompt_tokens": 5, "completion_tokens": 2}});
            let expected = Reply {
                text: text.to_owned(),
                finish,
                prompt_tokens: 5,
                completion_tokens: 2,
                model: "m-1".to_owned(),
            };
            assert_eq!(reply(&body, &request("hi"), "m"), Ok(expected), "{body}");
        }
    }

    #[test]
    fn missing_or_impossible_usage_is_counted() {
        let request = request("hi");
        for usage in [json!(null), json!({"prompt_tokens": u64::MAX, "completion_tokens": -1})] {
            let body = json!({"choices": [{"message": {"content": "hello world"}}], "usage": usage});
            let reply = reply(&body, &request, "m").unwrap();
            assert_eq!((reply.prompt_tokens, reply.completion_tokens), (prompt_tokens(&request), 2));
            assert_eq!(reply.model, "m");
        }
    }

    #[test]
    fn bodies_of_any_other_shape_are_broken() {
        for body in [json!(null), json!([]), json!("x"), json!({}), json!({"choices": []}), json!({"choices": [{}]})] {
            let fault = reply(&body, &request("hi"), "m").unwrap_err();
            assert_eq!(fault, Fault::Broken("the answer holds no message".to_owned()), "{body}");
        }
    }

    fn any_json() -> impl Strategy<Value = Value> {
        let names = ["choices", "message", "content", "error", "usage", "finish_reason", "detail", "code", "x"];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            ".{0,12}".prop_map(Value::from),
        ];
        leaf.prop_recursive(4, 32, 4, move |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                prop::collection::hash_map(prop::sample::select(names.to_vec()), inner, 0..4)
                    .prop_map(|fields| fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()),
            ]
        })
    }

    proptest! {
        #[test]
        fn any_answer_is_a_reply_or_a_fault_with_a_verdict(body in any_json()) {
            match reply(&body, &request("hi"), "m") {
                Ok(reply) => prop_assert!(body["choices"][0]["message"].is_object(), "{reply:?}"),
                Err(fault) => prop_assert!(!fault.to_string().is_empty(), "{:?}", fault.verdict()),
            }
        }
    }
}
