//! Requests to a model: one request type, one reply type, and errors classified by what to do next.
//!
//! ```text
//! Budgeted ─▶ Source ─┬▶ Client ─▶ retries ─▶ gate ─▶ one HTTP attempt
//!                     │                            or one call of a program
//!                     ├▶ Recorder ─▶ Client
//!                     └▶ Replay, from files, with no network
//! ```
//!
//! The module `batch` submits many requests together, which is slower but cheaper. `Client::embed` requests vectors.

mod anthropic;
mod endpoint;
pub(crate) mod batch;
mod budget;
mod cassette;
mod client;
mod embed;
mod fault;
mod message_batch;
mod program;
mod protocol;
mod providers;
pub(crate) mod remote_batch;
#[cfg(feature = "scale")]
pub(crate) mod shared;
mod wire;

pub use budget::{Amount, Budget, Budgeted, DayLimit, Limits, Price};
pub(crate) use budget::{PriceError, Prices, Reservation};
pub use cassette::{Recorder, Replay, Source};
pub use client::Client;
pub(crate) use client::{find_ollama, lists_model};
pub(crate) use embed::EmbedFailure;
#[cfg(any(feature = "otel", feature = "scale"))]
pub(crate) use endpoint::use_ring;
pub(crate) use endpoint::{DEFAULT_BASE_URL, DEFAULT_MODEL};
pub use endpoint::{ModelSettings, StructuredOutput};
pub use protocol::Protocol;
pub(crate) use providers::{key_variable, logins};

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::guard::{Guard, Redacted};

/// One request to a model. The types of its fields allow only redacted text.
#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    /// The part that is the same in all requests. It comes first, so that providers can cache it.
    pub system: Redacted,
    /// The turns that follow: the user's turn and, in a repair request, the answer and the correction.
    pub turns: Vec<Turn>,
    /// The structure that the answer must have.
    pub schema: ReplySchema,
    /// Maximum length of the answer, in tokens.
    pub max_completion_tokens: u32,
}

impl Request {
    /// Returns the request in the form in which it is stored until it is answered.
    pub(crate) fn body(&self) -> Value {
        let turn = |turn: &Turn| json!({"is_answer": turn.role == TurnRole::Assistant, "text": turn.text.as_str()});
        json!({
            "system": self.system.as_str(),
            "turns": self.turns.iter().map(turn).collect::<Vec<_>>(),
            "schema": {"name": self.schema.name, "schema": self.schema.schema},
            "max_completion_tokens": self.max_completion_tokens,
        })
    }

    /// Reads a stored request. Returns `None` if another program stored it. Text that the guard now recognises as
    /// secret is redacted, so that it does not leave the machine.
    pub(crate) fn from_body(body: &Value, guard: &Guard) -> Option<Self> {
        // The guard may recognise more secrets than when the request was rendered.
        let text = |value: &Value| Some(guard.redact(value.as_str()?.to_owned()).0);
        let role = |turn: &Value| Some(if turn["is_answer"].as_bool()? { TurnRole::Assistant } else { TurnRole::User });
        let turn = |turn: &Value| Some(Turn { role: role(turn)?, text: text(&turn["text"])? });
        Some(Self {
            system: text(&body["system"])?,
            turns: body["turns"].as_array()?.iter().map(turn).collect::<Option<_>>()?,
            schema: ReplySchema {
                name: body["schema"]["name"].as_str()?.to_owned().into(),
                schema: body["schema"]["schema"].clone(),
            },
            max_completion_tokens: body["max_completion_tokens"].as_u64()?.try_into().ok()?,
        })
    }
}

/// One turn of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct Turn {
    /// The author of the turn.
    pub role: TurnRole,
    /// The text of the turn.
    pub text: Redacted,
}

/// The author of a turn in a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum TurnRole {
    /// The program itself.
    User,
    /// The model, in an earlier reply.
    Assistant,
}

/// A JSON Schema with the name under which it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplySchema {
    /// Letters, digits and `_`.
    pub name: Cow<'static, str>,
    /// The schema, in the subset that strict mode accepts.
    pub schema: serde_json::Value,
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// The answer's text.
    pub text: String,
    /// How the answer ended.
    pub finish: Finish,
    /// Tokens of the request, as the server counts them.
    pub prompt_tokens: u64,
    /// Tokens of the answer, as the server counts them.
    pub completion_tokens: u64,
    /// The model that answered, as the server names it.
    pub model: String,
}

/// How an answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The model completed the answer.
    Stop,
    /// The answer reached the token limit, so its text is cut.
    Length,
    /// The model or a filter declined to answer.
    Refusal,
}

/// A source of replies: a server, a cassette, or a ledger in front of either of them.
pub trait Complete {
    /// Returns the reply to `request` and whether it cost a call.
    ///
    /// # Errors
    /// [`LlmError`], classified by what to do next.
    fn complete(&self, request: &Request) -> impl Future<Output = Result<(Reply, Cost), LlmError>>;
    /// Returns the configured model's name.
    fn model(&self) -> &str;

    /// Deletes the stored reply to `request`, which could not be used, so that the request is sent again.
    fn discard(&self, request: &Request) {
        let _ = request;
    }

    /// Sends the request about `part` of some windows. `render` makes the request, unless it was rendered and stored
    /// before.
    fn complete_part(&self, part: &str, render: impl FnOnce() -> Rendered) -> impl Future<Output = Answered> {
        let _ = part;
        async move {
            let rendered = render();
            let answer = self.complete(&rendered.request).await;
            Answered { key: rendered.request.key(self.model()), rendered, answer }
        }
    }
}

/// A request about a part of some windows.
#[derive(Debug, Clone, PartialEq)]
pub struct Rendered {
    /// The request to send.
    pub request: Request,
    /// Data that the sender needs to read the reply.
    pub reading: Value,
}

/// The outcome of a request about a part of some windows.
#[derive(Debug)]
pub struct Answered {
    /// The request, whether it was sent just now or in an earlier run.
    pub rendered: Rendered,
    /// The hash under which the reply is stored.
    pub key: String,
    /// The reply and whether it cost a call.
    pub answer: Result<(Reply, Cost), LlmError>,
}

impl<C: Complete> Complete for &C {
    async fn complete(&self, request: &Request) -> Result<(Reply, Cost), LlmError> {
        C::complete(self, request).await
    }

    fn model(&self) -> &str {
        C::model(self)
    }

    fn discard(&self, request: &Request) {
        C::discard(self, request);
    }

    fn complete_part(&self, part: &str, render: impl FnOnce() -> Rendered) -> impl Future<Output = Answered> {
        C::complete_part(self, part, render)
    }
}

/// Whether a reply required a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// The server was called.
    Call,
    /// The reply was already known.
    Cached,
}

/// The reason why there is no reply.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LlmError {
    /// The call may succeed later. There was no connection, a timeout, 429, or 5xx, even after the retries.
    #[error("{endpoint}: {reason} after {attempts} {}; try again later (finished work is kept)", plural(*attempts))]
    Transient {
        /// Base URL of the server.
        endpoint: String,
        /// The error of the last attempt.
        reason: String,
        /// Attempts made.
        attempts: u32,
    },
    /// The call cannot succeed until a person changes something: 401, 403, 404, or an unknown model.
    #[error("{endpoint}: {reason}; {remedy}")]
    Permanent {
        /// Base URL of the server.
        endpoint: String,
        /// A short form of the server's message.
        reason: String,
        /// What the person should change.
        remedy: Cow<'static, str>,
    },
    /// The request exceeds the model's context length. A smaller request may fit.
    #[error("{endpoint}: the request is longer than the model's context; lower --window-tokens")]
    TooLong {
        /// Base URL of the server.
        endpoint: String,
    },
    /// The spend limit of the run does not allow another call.
    #[error("the limit of {limit} has been reached; raise it to continue (finished work is kept)")]
    Budget {
        /// The limit, with its unit.
        limit: String,
    },
    /// The request waits in a batch of the provider. A later run collects the answer.
    #[error("the request is waiting in a batch at the provider; a later run with --batch-api collects the reply")]
    InBatch,
    /// A replayed cassette does not contain this request.
    #[error("no recorded reply for request {key} in {folder}; record it with --record")]
    NotRecorded {
        /// Key of the request.
        key: String,
        /// Folder of the cassette.
        folder: String,
    },
    /// A cassette could not be read or written.
    #[error("cannot use the recording {path}: {reason}")]
    Cassette {
        /// The file.
        path: String,
        /// Why the file cannot be read or written.
        reason: String,
    },
}

impl LlmError {
    /// The class of texts that are too long, in traces.
    const TOO_LONG: &str = "context_length_exceeded";

    /// Returns the class of the error in traces; `_OTHER` is OpenTelemetry's name for all other classes.
    const fn kind(&self) -> &'static str {
        match self {
            Self::Transient { .. } => "transient",
            Self::Permanent { .. } => "permanent",
            Self::TooLong { .. } => Self::TOO_LONG,
            Self::Budget { .. } | Self::InBatch | Self::NotRecorded { .. } | Self::Cassette { .. } => "_OTHER",
        }
    }

    /// Returns the error of a call to `endpoint` that cannot succeed until a person does what `remedy` says.
    pub(crate) fn permanent(
        endpoint: impl Into<String>,
        reason: impl Into<String>,
        remedy: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Permanent { endpoint: endpoint.into(), reason: reason.into(), remedy: remedy.into() }
    }
}

const fn plural(attempts: u32) -> &'static str {
    if attempts == 1 { "attempt" } else { "attempts" }
}
