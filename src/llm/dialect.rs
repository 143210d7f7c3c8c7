//! What one server is known to take; learnt from what it rejects.

use super::fault::Rejection;
use super::settings::{ModelSettings, StructuredOutput};

/// The form in which JSON is asked for.
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

/// Answers shorter than this are not worth asking for.
const LEAST_TOKENS: u32 = 2_048;

/// What a server is known to take.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Dialect {
    pub format: Format,
    pub limit: LimitField,
    pub temperature: Option<f32>,
    /// Longest answer that it lets be asked for, in tokens.
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
        // Many local servers silently ignore the newer name, and only OpenAI's own models reject the older one.
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

    /// Returns the dialect without what `rejection` complains of, or `None` if that is not for us to change.
    ///
    /// Every step is taken at most once, but for the limit, which falls by halves to [`LEAST_TOKENS`]; so a chain of
    /// rejections ends.
    pub(super) fn without(self, rejection: &Rejection) -> Option<Self> {
        let text = rejection.text();
        if self.temperature.is_some() && text.contains("temperature") && says_unsupported(&text) {
            return Some(Self { temperature: None, ..self });
        }
        if !self.limit_swapped && text.contains(self.limit.name()) && says_unsupported(&text) {
            return Some(Self { limit: self.limit.other(), limit_swapped: true, ..self });
        }
        let formats = ["response_format", "json_schema", "json_object", "structured output", "json mode", "grammar"];
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
    /// Some servers count the limit of the answer against the context, so that a long one leaves no room for the prompt.
    pub(super) fn with_less(self, rejection: &Rejection, asked: u32) -> Option<Self> {
        let text = rejection.text();
        let names_limit = ["max_tokens", "max_completion_tokens", "in the completion", "output tokens"];
        let is_over = ["too large", "too many", "at most", "maximum", "exceed", "less than or equal", "lower than"];
        let is_it =
            names_limit.iter().any(|word| text.contains(word)) && is_over.iter().any(|word| text.contains(word));
        let less = asked.min(self.most_tokens) / 2;
        (is_it && less >= LEAST_TOKENS).then_some(Self { most_tokens: less, ..self })
    }

    /// Returns what is left when two calls have each learnt something.
    pub(super) fn merge(self, learnt: Self) -> Self {
        Self {
            format: self.format.max(learnt.format),
            limit: if learnt.limit_swapped { learnt.limit } else { self.limit },
            temperature: self.temperature.and(learnt.temperature),
            most_tokens: self.most_tokens.min(learnt.most_tokens),
            may_fall: self.may_fall,
            limit_swapped: self.limit_swapped || learnt.limit_swapped,
        }
    }
}

/// Whether `text`, in lower case, says that something is not taken at all, rather than out of range.
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
mod tests {
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
