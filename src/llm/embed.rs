//! Vectors from an OpenAI-compatible server: `POST /embeddings`.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tracing::Instrument as _;

use super::client::mark_failed;
use super::fault::{Fault, Rejection, Verdict};
use super::{Client, LlmError};
use crate::guard::Redacted;

/// Advice for an answer that is not an embedding.
const NOT_HERE: &str = "check the base URL in [embedding] (on most servers, it ends in /v1), and check that the server \
                        has this model (for Ollama: `ollama pull MODEL`)";

/// Vectors as a server returned them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Embedded {
    /// One vector per text, in the order of the texts, all of the same length and with finite numbers.
    pub vectors: Vec<Vec<f32>>,
    /// Tokens of the texts as the server counts them, or 0 if the server does not count them.
    pub tokens: u64,
}

/// The reason why there are no vectors.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum EmbedFailure {
    /// The texts are too long or too many for one call. Fewer or shorter texts may be accepted.
    #[error("{endpoint}: the texts are too long or too many for one call")]
    TooMuch {
        /// Base URL of the server.
        endpoint: String,
    },
    /// The server does not accept these texts, but it may accept others.
    #[error(transparent)]
    Refused(LlmError),
    /// The call would fail in the same way for any text.
    #[error(transparent)]
    Failed(LlmError),
}

impl EmbedFailure {
    /// Returns the class of the error in traces.
    const fn kind(&self) -> &'static str {
        match self {
            Self::TooMuch { .. } => LlmError::TOO_LONG,
            Self::Refused(error) | Self::Failed(error) => error.kind(),
        }
    }
}

#[derive(Debug, Deserialize)]
struct Answer {
    data: Vec<Entry>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    #[serde(default)]
    index: Option<usize>,
    embedding: Vec<f32>,
}

#[derive(Debug, Default, Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    total_tokens: Option<u64>,
}

impl Client {
    /// Whether the server runs on this machine.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.endpoint().is_loopback()
    }

    /// Returns the vectors of `texts`, none of which may be empty. Each vector has `dimensions` numbers if `dimensions`
    /// is given.
    ///
    /// Like [`super::Complete::complete`], the function retries if this may help.
    ///
    /// # Errors
    /// [`EmbedFailure`], classified by what to do next.
    pub(crate) async fn embed(&self, texts: &[Redacted], dimensions: Option<usize>) -> Result<Embedded, EmbedFailure> {
        let mut body = json!({
            "model": self.settings.model,
            "input": texts.iter().map(|text| text.as_str()).collect::<Vec<_>>(),
        });
        if let Some(dimensions) = dimensions {
            body["dimensions"] = dimensions.into();
        }
        let mut attempts = 0;
        let span = self.span("embeddings");
        let attempt = || self.embed_once(&body, texts.len());
        let outcome = self.with_retries(&mut attempts, attempt).instrument(span.clone()).await;
        let outcome = outcome.map_err(|fault| self.failure(&fault, attempts, texts));
        match &outcome {
            Ok(embedded) => drop(span.record("gen_ai.usage.input_tokens", embedded.tokens)),
            Err(error) => mark_failed(&span, error.kind()),
        }
        outcome
    }

    async fn embed_once(&self, body: &Value, count: usize) -> Result<Embedded, Fault> {
        // The text is read here, because async-openai would log an answer that it cannot read.
        let answer = self.api.embeddings().create_byot::<_, Box<RawValue>>(body).await.map_err(Fault::from)?;
        read(answer.get().as_bytes(), count)
    }

    fn failure(&self, fault: &Fault, attempts: u32, texts: &[Redacted]) -> EmbedFailure {
        let error = || self.error_about(fault, attempts, &texts.iter().map(|text| text.as_str()).collect::<Vec<_>>());
        // Many chat servers have no embeddings, so the advice differs from the advice for chat.
        if let Fault::Status { status: 404 | 405, .. } = fault {
            return EmbedFailure::Failed(self.permanent(self.endpoint().clean(&fault.to_string()), NOT_HERE));
        }
        let is_too_many = fault.complaint().is_some_and(says_too_many);
        match fault.verdict() {
            Verdict::TooLong => EmbedFailure::TooMuch { endpoint: self.endpoint().shown.clone() },
            Verdict::Permanent(_) if is_too_many => EmbedFailure::TooMuch { endpoint: self.endpoint().shown.clone() },
            // A wrong key affects every text, so it is not a reason to reject these texts.
            Verdict::Permanent(_) if fault.complaint().is_some_and(|rejection| !rejection.is_about_the_key()) => {
                EmbedFailure::Refused(error())
            }
            Verdict::Permanent(_) | Verdict::NoAccess | Verdict::Retry => EmbedFailure::Failed(error()),
        }
    }
}

/// Whether a server complains about the number or the length of the texts, in the words of embedding servers.
fn says_too_many(rejection: &Rejection) -> bool {
    let text = rejection.text();
    let words =
        ["batch size", "too many inputs", "array too long", "maximum number of", "input length", "tokens_limit"];
    words.iter().any(|word| text.contains(word))
}

fn read(answer: &[u8], count: usize) -> Result<Embedded, Fault> {
    let broken = |reason: &str| Fault::Broken(format!("the answer {reason}"));
    let Ok(answer) = serde_json::from_slice::<Answer>(answer) else {
        let value = serde_json::from_slice::<Value>(answer).map_err(|_| broken("is not complete JSON"))?;
        return Err(match Rejection::read(&value) {
            Some(rejection) => Fault::Status { status: rejection.status(), wait: None, rejection },
            None => broken("contains no embeddings"),
        });
    };
    if answer.data.len() != count {
        return Err(broken(&format!("contains {} vectors for {count} texts", answer.data.len())));
    }
    let mut vectors = vec![Vec::new(); count];
    for (place, entry) in answer.data.into_iter().enumerate() {
        // Servers may answer out of order. Without indices, the answers are in the order of the texts.
        let slot = vectors.get_mut(entry.index.unwrap_or(place)).filter(|slot| slot.is_empty());
        *slot.ok_or_else(|| broken("contains wrong vector indices"))? = entry.embedding;
    }
    let length = vectors.first().map_or(0, Vec::len);
    if vectors.iter().any(|vector| vector.is_empty() || vector.len() != length) {
        return Err(broken("contains vectors of different lengths"));
    }
    // A single infinite number would make every comparison with the vector meaningless.
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return Err(broken("contains a value that is not a number"));
    }
    let usage = answer.usage.unwrap_or_default();
    Ok(Embedded { vectors, tokens: usage.prompt_tokens.or(usage.total_tokens).unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(answer: &str, count: usize) -> Result<(Vec<Vec<f32>>, u64), String> {
        read(answer.as_bytes(), count).map(|found| (found.vectors, found.tokens)).map_err(|fault| fault.to_string())
    }

    #[test]
    fn vectors_come_in_the_order_of_their_texts() {
        let answer =
            r#"{"data":[{"index":1,"embedding":[2,0.5]},{"index":0,"embedding":[1,-1]}],"usage":{"prompt_tokens":7}}"#;
        assert_eq!(outcome(answer, 2).unwrap(), (vec![vec![1.0, -1.0], vec![2.0, 0.5]], 7));
        let bare = r#"{"data":[{"embedding":[1]},{"embedding":[2]}],"usage":{"total_tokens":3}}"#;
        assert_eq!(outcome(bare, 2).unwrap(), (vec![vec![1.0], vec![2.0]], 3));
    }

    #[test]
    fn what_is_no_answer_to_the_question_is_outcome() {
        let rows = [
            (r#"{"data":[{"embedding":[1]}]}"#, "the answer contains 1 vectors for 2 texts"),
            (
                r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
                "the answer contains wrong vector indices",
            ),
            (
                r#"{"data":[{"index":5,"embedding":[1]},{"index":0,"embedding":[1]}]}"#,
                "the answer contains wrong vector indices",
            ),
            (r#"{"data":[{"embedding":[1]},{"embedding":[1,2]}]}"#, "the answer contains vectors of different lengths"),
            (r#"{"data":[{"embedding":[]},{"embedding":[]}]}"#, "the answer contains vectors of different lengths"),
            (r#"{"data":[{"embedding":[1e999]},{"embedding":[1]}]}"#, "the answer is not complete JSON"),
            (r#"{"data":[{"embedding":[1e39]},{"embedding":[1]}]}"#, "the answer contains no embeddings"),
            (r#"{"data":[{"embedding":[null]},{"embedding":[1]}]}"#, "the answer contains no embeddings"),
            (r#"{"error":{"message":"model \"m\" not found"}}"#, "status 404: model \"m\" not found"),
            ("{}", "the answer contains no embeddings"),
            ("<html>", "the answer is not complete JSON"),
        ];
        for (answer, expected) in rows {
            assert_eq!(outcome(answer, 2).unwrap_err(), expected, "{answer}");
        }
    }
}
