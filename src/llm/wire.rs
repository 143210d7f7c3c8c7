//! Builds request bodies, reads reply bodies, records what a server accepts, and hashes requests. The functions perform
//! no I/O.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
use transcripts::hex;

use super::endpoint::{ModelSettings, StructuredOutput};
use super::fault::{Fault, Rejection};
use super::{Finish, Reply, ReplySchema, Request};
use crate::text::markup::without_control_tokens;
use crate::tokens;

/// Returns the body that sends `request` to `model` in `dialect`.
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
    if let Some(temperature) = dialect.temperature() {
        body["temperature"] = temperature;
    }
    body[dialect.limit.name()] = request.max_completion_tokens.min(dialect.most_tokens).into();
    body
}

/// Returns the messages of `request`, with the schema described in words if the server does not enforce it.
pub(super) fn messages(request: &Request, schema: Option<&ReplySchema>) -> Value {
    let mut system = request.system.as_str().to_owned();
    if let Some(schema) = schema {
        system.push_str(&in_words(schema));
    }
    std::iter::once(json!({"role": "system", "content": system})).chain(turns(request)).collect()
}

/// Returns the turns of `request` as both wire formats write them.
pub(super) fn turns(request: &Request) -> impl Iterator<Item = Value> {
    // A server that renders a chat template would interpret such a token from a log as the end of the message.
    request.turns.iter().map(|turn| json!({"role": turn.role, "content": without_control_tokens(&turn.text)}))
}

/// Returns the end of a system prompt that asks for `schema`, for servers that do not enforce it.
pub(super) fn in_words(schema: &ReplySchema) -> String {
    let ask = "Answer with one JSON object that is valid under this JSON Schema, and with nothing else:";
    format!("\n\n{ask}\n{}", schema.schema)
}

/// Returns the `response_format` that makes a server enforce `schema`.
pub(super) fn strict_format(schema: &ReplySchema) -> Value {
    json!({"type": "json_schema", "json_schema": {"name": schema.name, "strict": true, "schema": schema.schema}})
}

/// Reads the body of an answer with status 200. `own_count` returns the size of the request if the server did not count
/// it. A body with an `error` object counts as an answer with the status in that object.
pub(super) fn reply(body: &Value, model: &str, own_count: &dyn Fn() -> u64) -> Result<Reply, Fault> {
    // Some servers report an error with status 200.
    if let Some(rejection) = Rejection::read(body) {
        return Err(Fault::Status { status: rejection.status(), wait: None, rejection });
    }
    let choice = &body["choices"][0];
    let message = &choice["message"];
    if choice["error"].is_object() || choice["finish_reason"] == "error" {
        return Err(Fault::Broken("the server broke off its answer".to_owned()));
    }
    if !message.is_object() {
        return Err(Fault::Broken("the answer contains no message".to_owned()));
    }
    let refusal = message["refusal"].as_str().filter(|text| !text.is_empty());
    let finish = match choice["finish_reason"].as_str() {
        // Not all servers use OpenAI's words for the end of an answer.
        Some("length" | "max_tokens") => Finish::Length,
        Some("content_filter" | "refusal") => Finish::Refusal,
        _ if refusal.is_some() => Finish::Refusal,
        _ => Finish::Stop,
    };
    let text = refusal.map_or_else(|| content(&message["content"]), str::to_owned);
    Ok(Reply {
        finish,
        prompt_tokens: usage(body, "prompt_tokens").unwrap_or_else(own_count),
        completion_tokens: usage(body, "completion_tokens").unwrap_or_else(|| tokens::count(&text) as u64),
        model: answering_model(body, model),
        text,
    })
}

/// Returns a token count of an answer. A count that is higher than any possible count is treated as missing.
pub(super) fn usage(body: &Value, name: &str) -> Option<u64> {
    body["usage"][name].as_u64().filter(|count| u32::try_from(*count).is_ok())
}

/// Returns the name of the model that answered, which is `asked` unless the server says otherwise.
pub(super) fn answering_model(body: &Value, asked: &str) -> String {
    body["model"].as_str().filter(|name| !name.is_empty()).unwrap_or(asked).to_owned()
}

/// Returns the text of a message, which some servers split into parts.
fn content(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => String::new(),
    }
}

impl Request {
    /// Returns 64 hex digits that identify this request to `model`, regardless of the server that it is sent to.
    ///
    /// The digits are the SHA-256 of model, messages, schema and token limit, as JSON with sorted keys.
    pub(crate) fn key(&self, model: &str) -> String {
        hash(&self.address(model))
    }

    /// Returns an upper estimate of the length of the request in tokens, made without the server.
    pub(crate) fn prompt_tokens(&self) -> u64 {
        /// Number of tokens that each message adds, for example for its role.
        // OpenAI's chat format adds three tokens to each message, and one token for a name.
        const MESSAGE_TOKENS: usize = 4;
        let turns = self.turns.iter().map(|turn| tokens::count(&without_control_tokens(&turn.text)));
        let messages: usize =
            std::iter::once(tokens::count(&self.system)).chain(turns).map(|count| count + MESSAGE_TOKENS).sum();
        (messages + tokens::count(&self.schema.schema.to_string())) as u64
    }

    /// Returns the value that [`Request::key`] hashes.
    pub(super) fn address(&self, model: &str) -> Value {
        json!({
            "model": model,
            "messages": messages(self, None),
            "response_format": strict_format(&self.schema),
            "max_completion_tokens": self.max_completion_tokens,
        })
    }
}

/// Returns the SHA-256 of `address` with its keys sorted, in hex.
pub(super) fn hash(address: &Value) -> String {
    // The keys are sorted, since their order may differ between versions of the JSON library, but the hash must not.
    hex(&Sha256::digest(sorted(address).to_string()))
}

fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut pairs: Vec<_> = fields.iter().map(|(name, value)| (name.clone(), sorted(value))).collect();
            pairs.sort_by(|a, b| a.0.cmp(&b.0));
            Value::Object(pairs.into_iter().collect::<Map<_, _>>())
        }
        Value::Array(values) => values.iter().map(sorted).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

/// The form in which JSON is requested.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Format {
    JsonSchema,
    JsonObject,
    Plain,
}

/// The field that carries the token limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LimitField {
    MaxTokens,
    MaxCompletionTokens,
}

impl LimitField {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::MaxTokens => "max_tokens",
            Self::MaxCompletionTokens => "max_completion_tokens",
        }
    }

    fn other(self) -> Self {
        match self {
            Self::MaxTokens => Self::MaxCompletionTokens,
            Self::MaxCompletionTokens => Self::MaxTokens,
        }
    }
}

/// Minimum token limit that is worth trying.
const LEAST_TOKENS: u32 = 2_048;

/// The form of the requests that a server is known to accept.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dialect {
    pub format: Format,
    pub limit: LimitField,
    pub temperature: Option<f32>,
    /// Maximum length of an answer, in tokens, that the server allows a request to specify.
    pub most_tokens: u32,
    may_fall: bool,
    limit_swapped: bool,
}

impl Dialect {
    /// Returns the dialect to start with.
    pub(super) fn new(settings: &ModelSettings) -> Self {
        let format = match settings.structured {
            StructuredOutput::Auto | StructuredOutput::JsonSchema => Format::JsonSchema,
            StructuredOutput::JsonObject => Format::JsonObject,
            StructuredOutput::Plain => Format::Plain,
        };
        // Many local servers silently ignore the newer name, and only OpenAI's own models reject the older name.
        let newer = ["//api.openai.com", ".openai.azure.com"].iter().any(|host| settings.base_url.contains(host));
        Self {
            format,
            limit: if newer { LimitField::MaxCompletionTokens } else { LimitField::MaxTokens },
            temperature: settings.temperature,
            most_tokens: u32::MAX,
            may_fall: settings.structured == StructuredOutput::Auto,
            limit_swapped: false,
        }
    }

    /// Returns the sampling temperature to send.
    pub(super) fn temperature(&self) -> Option<Value> {
        // Widening 0.3 from f32 would send 0.30000001192092896.
        self.temperature.map(|temperature| temperature.to_string().parse::<f64>().unwrap_or(0.0).into())
    }

    /// Returns the dialect without the feature that `rejection` complains about, or `None` if the feature cannot be
    /// changed.
    ///
    /// Every change is made at most once, except that the limit may be halved repeatedly, down to [`LEAST_TOKENS`]. A
    /// sequence of rejections therefore ends.
    pub(super) fn without(self, rejection: &Rejection) -> Option<Self> {
        let text = rejection.text();
        if self.temperature.is_some() && text.contains("temperature") && says_unsupported(&text) {
            return Some(Self { temperature: None, ..self });
        }
        if !self.limit_swapped && text.contains(self.limit.name()) && says_unsupported(&text) {
            return Some(Self { limit: self.limit.other(), limit_swapped: true, ..self });
        }
        let formats = [
            "response_format",
            "output_config",
            "tool_choice",
            "schema",
            "json_object",
            "structured output",
            "json mode",
            "grammar",
        ];
        if self.may_fall && formats.iter().any(|word| text.contains(word)) {
            let format = match self.format {
                Format::JsonSchema => Format::JsonObject,
                Format::JsonObject => Format::Plain,
                Format::Plain => return None,
            };
            return Some(Self { format, ..self });
        }
        None
    }

    /// Returns the dialect with a lower limit, if `rejection` complains that an answer as long as `asked` does not fit.
    ///
    /// Some servers count the limit of the answer against the context, so that a high limit leaves no room for the
    /// prompt.
    pub(super) fn with_less(self, rejection: &Rejection, asked: u32) -> Option<Self> {
        let text = rejection.text();
        let names_limit = ["max_tokens", "max_completion_tokens", "in the completion", "output tokens"];
        let is_over = ["too large", "too many", "at most", "maximum", "exceed", "less than or equal", "lower than"];
        let is_it =
            names_limit.iter().any(|word| text.contains(word)) && is_over.iter().any(|word| text.contains(word));
        // The limit is halved, since servers have no common format for stating how much would fit.
        let less = asked.min(self.most_tokens) / 2;
        (is_it && less >= LEAST_TOKENS).then_some(Self { most_tokens: less, ..self })
    }

    /// Combines the restrictions that two calls have found.
    pub(super) fn merge(self, learnt: Self) -> Self {
        Self {
            // Two calls may find restrictions at the same time. Each restriction only removes something.
            format: self.format.max(learnt.format),
            limit: if learnt.limit_swapped { learnt.limit } else { self.limit },
            temperature: self.temperature.and(learnt.temperature),
            most_tokens: self.most_tokens.min(learnt.most_tokens),
            may_fall: self.may_fall,
            limit_swapped: self.limit_swapped || learnt.limit_swapped,
        }
    }
}

/// Whether `text`, in lower case, states that something is not supported at all, rather than out of range.
fn says_unsupported(text: &str) -> bool {
    let words = [
        "unsupported",
        "not support",
        "n't support",
        "unrecognized",
        "unrecognised",
        "unknown",
        "unexpected",
        "permitted",
        "forbidden",
        "not allowed",
        "deprecated",
    ];
    words.iter().any(|word| text.contains(word))
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::guard::Guard;
    use crate::llm::endpoint::{ModelSettings, StructuredOutput};
    use crate::llm::{Turn, TurnRole};

    pub(in crate::llm) fn request(text: &str) -> Request {
        let redacted = |text: &str| Guard::default().redact(text.to_owned()).0;
        Request {
            system: redacted("Extract facts."),
            turns: vec![Turn { role: TurnRole::User, text: redacted(text) }],
            schema: ReplySchema {
                name: "facts".into(),
                schema: json!({"type": "object", "additionalProperties": false}),
            },
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
            assert_eq!(reply(&body, "m", &|| 0), Ok(expected), "{body}");
        }
    }

    #[test]
    fn missing_or_impossible_usage_is_counted() {
        let request = request("hi");
        for usage in [json!(null), json!({"prompt_tokens": u64::MAX, "completion_tokens": -1})] {
            let body = json!({"choices": [{"message": {"content": "hello world"}}], "usage": usage});
            let reply = reply(&body, "m", &|| request.prompt_tokens()).unwrap();
            assert_eq!((reply.prompt_tokens, reply.completion_tokens), (request.prompt_tokens(), 2));
            assert_eq!(reply.model, "m");
        }
    }

    #[test]
    fn bodies_of_any_other_shape_are_broken() {
        for body in [json!(null), json!([]), json!("x"), json!({}), json!({"choices": []}), json!({"choices": [{}]})] {
            let fault = reply(&body, "m", &|| 0).unwrap_err();
            assert_eq!(fault, Fault::Broken("the answer contains no message".to_owned()), "{body}");
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
            match reply(&body, "m", &|| 0) {
                Ok(reply) => prop_assert!(body["choices"][0]["message"].is_object(), "{reply:?}"),
                Err(fault) => prop_assert!(!fault.to_string().is_empty(), "{:?}", fault.verdict()),
            }
        }
    }
}

#[cfg(test)]
mod key_tests {
    use super::super::wire::tests::request;
    use super::*;
    use crate::llm::{Turn, TurnRole};

    #[test]
    fn key_is_stable_between_versions() {
        assert_eq!(request("用 tabs 🙂").key("m"), "2f0744d5f5e3bf80a4514cea7d1a6e843f4f5936f4e8a57c6be1b7fb92a9ac39");
    }

    #[test]
    fn key_ignores_the_order_of_schema_fields_only() {
        let base = request("hello");
        let mut reordered = base.clone();
        reordered.schema.schema = json!({"additionalProperties": false, "type": "object"});
        assert_eq!(base.key("m"), reordered.key("m"));

        let mut changed = [(); 5].map(|()| base.clone());
        changed[0].max_completion_tokens += 1;
        changed[1].schema.schema["type"] = json!("array");
        changed[2].schema.name = "other".into();
        changed[3].turns[0].role = TurnRole::Assistant;
        changed[4].turns.push(Turn { role: TurnRole::User, text: base.system.clone() });
        let mut keys: Vec<_> = changed.iter().map(|request| request.key("m")).collect();
        keys.extend([base.key("m"), base.key("other")]);
        keys.sort();
        keys.dedup();
        assert_eq!(keys.len(), 7);
    }
}

#[cfg(test)]
mod dialect_tests {
    use super::*;

    fn start(structured: StructuredOutput, base_url: &str) -> Dialect {
        Dialect::new(&ModelSettings { structured, ..ModelSettings::new(base_url, "m") })
    }

    fn rejection(message: &str) -> Rejection {
        Rejection { message: message.to_owned(), code: String::new() }
    }

    #[test]
    fn a_limit_that_leaves_no_room_is_halved_until_it_is_worth_nothing() {
        let base = Dialect::new(&ModelSettings::new("http://127.0.0.1/v1", "m"));
        let large = rejection("max_tokens is too large: 16384. This model supports at most 4096 completion tokens");
        let mut dialect = base;
        let mut limits = Vec::new();
        while let Some(next) = dialect.with_less(&large, 16_384) {
            limits.push(next.most_tokens);
            dialect = next;
        }
        assert_eq!(limits, [8_192, 4_096, 2_048]);
        let context = rejection(
            "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens (3616 in the \
             messages, 16384 in the completion)",
        );
        assert_eq!(base.with_less(&context, 16_384).map(|one| one.most_tokens), Some(8_192));
        for other in ["maximum context length is 4096 tokens, your prompt has 9000", "max_tokens is not supported"] {
            assert_eq!(base.with_less(&rejection(other), 16_384), None, "{other}");
        }
        assert_eq!(base.merge(dialect).most_tokens, 2_048);
    }

    #[test]
    fn each_rejection_takes_away_one_thing() {
        let base = start(StructuredOutput::Auto, "http://127.0.0.1/v1");
        let object = Dialect { format: Format::JsonObject, ..base };
        let swapped = Dialect { limit: LimitField::MaxCompletionTokens, limit_swapped: true, ..base };
        let rows = [
            (base, "'response_format' of type 'json_schema' is not supported with this model", Some(object)),
            (base, "This response_format type is unavailable now", Some(object)),
            (
                object,
                "'response_format.type' must be 'json_schema' or 'text'",
                Some(Dialect { format: Format::Plain, ..base }),
            ),
            (Dialect { format: Format::Plain, ..base }, "response_format", None),
            (
                base,
                "Unsupported parameter: 'max_tokens' is not supported. Use 'max_completion_tokens' instead",
                Some(swapped),
            ),
            (swapped, "max_completion_tokens: Extra inputs are not permitted", None),
            (base, "max_tokens is too large: this model supports at most 4096 tokens", None),
            (
                base,
                "Unsupported value: 'temperature' does not support 0.3",
                Some(Dialect { temperature: None, ..base }),
            ),
            (base, "bad message", None),
        ];
        for (before, message, after) in rows {
            assert_eq!(before.without(&rejection(message)), after, "{message}");
        }
    }

    #[test]
    fn a_format_set_by_hand_is_kept() {
        let dialect = start(StructuredOutput::JsonSchema, "http://127.0.0.1/v1");
        assert_eq!(dialect.without(&rejection("json_schema is not supported")), None);
    }

    #[test]
    fn what_two_calls_learnt_is_joined() {
        let base = start(StructuredOutput::Auto, "https://api.openai.com/v1");
        assert_eq!(base.limit, LimitField::MaxCompletionTokens);
        let cold = base.without(&rejection("temperature is not supported")).unwrap();
        let swapped = base.without(&rejection("unknown field max_completion_tokens")).unwrap();
        let joined = Dialect { temperature: None, limit: LimitField::MaxTokens, limit_swapped: true, ..base };
        assert_eq!(cold.merge(swapped), joined);
        assert_eq!(swapped.merge(cold), joined);
    }
}
