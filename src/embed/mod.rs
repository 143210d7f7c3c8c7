//! Embeddings of memories: a client of a `/embeddings` server, and the job that fills in missing vectors.
//!
//! ```text
//! store: memories without a vector ─▶ guard ─▶ Embedder ─▶ llm::Client, /embeddings ─▶ store
//!                                   query ─▶ guard ─▶    the same
//! ```
//!
//! Embeddings are off by default. Without vectors, or while the server is down, search uses only words.

mod fill;
mod query;

use std::time::Duration;

use secrecy::SecretString;

use crate::config::{EmbeddingProvider, EmbeddingSettings};
use crate::guard::{Guard, Redacted};
use crate::llm::{Budget, Client, DEFAULT_BASE_URL, EmbedFailure, LlmError, ModelSettings, lists_model};
use crate::store::{Database, MissingVector, StoreError, VectorModel};
use crate::tokens;

pub(crate) use fill::{Filled, Filling, Progress, fill};
pub use query::QueryVectors;

/// Maximum wait for the vector of a query, since a person or an agent waits for the answer.
pub(crate) const QUERY_TIMEOUT: Duration = Duration::from_secs(5);
/// The model used at `OpenAI`'s address if the settings specify none.
const DEFAULT_MODEL: &str = "text-embedding-3-small";
/// If the server refuses a text for its length, the text is sent once more, cut to this many tokens.
// Small embedding models read 512 tokens, and split words into more tokens than the encoding used for counting here.
const CUT_TOKENS: usize = 400;
/// Prefixes of memories and of queries that models were trained with, with a part of each model's name as the key.
const PREFIXES: &[(&str, &str, &str)] = &[
    ("nomic-embed", "search_document: ", "search_query: "),
    ("e5-", "passage: ", "query: "),
    ("mxbai-embed", "", "Represent this sentence for searching relevant passages: "),
    ("snowflake-arctic-embed", "", "Represent this sentence for searching relevant passages: "),
];

/// The reason why there are no vectors, with one variant for each remedy.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A setting is missing.
    #[error("no {what} is set under [embedding]; set {remedy}")]
    Unset {
        /// Description of what is missing.
        what: &'static str,
        /// The setting to change.
        remedy: &'static str,
    },
    /// The server returns vectors whose length differs from that of the stored vectors, or from the requested one.
    #[error(
        "{model} returns vectors of {found} numbers instead of {expected}; set dimensions = {found} in [embedding] to \
         compute all vectors again"
    )]
    Dimension {
        /// The model.
        model: String,
        /// Length of the vectors that the server returned.
        found: usize,
        /// Length of the stored vectors.
        expected: usize,
    },
    /// The server did not answer within the time limit.
    #[error("the sentence model did not answer within {} ms", .within.as_millis())]
    Late {
        /// The time limit.
        within: Duration,
    },
    /// No thread can be started.
    #[error("cannot start a thread for the sentence model")]
    Thread {
        /// Error from the operating system.
        source: std::io::Error,
    },
    /// The server does not answer.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Client of an embedding server.
#[derive(Debug)]
pub(crate) struct Embedder {
    settings: ModelSettings,
    client: Client,
    /// Client for queries, which makes one attempt with a short timeout.
    hasty: Client,
    model: String,
    dimensions: Option<usize>,
    /// The name under which the store keeps the vectors.
    name: String,
    document_prefix: &'static str,
    query_prefix: &'static str,
}

/// The data that an [`Embedder`] needs in addition to the settings.
#[derive(Debug, Clone, Default)]
pub(crate) struct Access {
    /// API key of the server.
    pub key: Option<SecretString>,
    /// Timeout of a call that fills in vectors.
    pub timeout: Option<Duration>,
}

/// The server's answer for a list of texts.
#[derive(Debug, Default)]
struct Documents {
    /// One entry per text: its vector, or the reason why the server refused the text.
    vectors: Vec<Result<Vec<f32>, String>>,
    tokens: u64,
}

/// The reason why a call returned no vectors.
enum Failed {
    /// The server refused the texts, for this reason.
    Texts(String),
    Whole(EmbedError),
}

impl Embedder {
    /// Returns the client that `settings` describe, or `None` if vectors are off. No request is sent yet.
    ///
    /// # Errors
    /// [`EmbedError`] if the settings cannot be used.
    pub(crate) fn open(settings: &EmbeddingSettings, access: Access) -> Result<Option<Self>, EmbedError> {
        if settings.provider() == EmbeddingProvider::None {
            return Ok(None);
        }
        let base_url = settings.base_url.value.clone().unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
        let is_default = base_url.contains("//api.openai.com");
        // Other servers choose their own names for models, so only OpenAI's server has a default model.
        let default = is_default.then(|| DEFAULT_MODEL.to_owned());
        let unset = EmbedError::Unset { what: "model", remedy: "model, or AFTERTHOUGHT_EMBEDDING_MODEL" };
        let model = settings.model.value.clone().or(default).ok_or(unset)?;
        if is_default && access.key.is_none() {
            let remedy = "the variable named by api_key_env, or base_url";
            return Err(EmbedError::Unset { what: "key", remedy });
        }
        let usual = ModelSettings { api_key: access.key, ..ModelSettings::new(base_url, &model) };
        let usual = ModelSettings { timeout: access.timeout.unwrap_or(usual.timeout), ..usual };
        // A search waits for the vector of its query, so there is only one short attempt.
        let hasty = ModelSettings { timeout: usual.timeout.min(QUERY_TIMEOUT), max_retries: 0, ..usual.clone() };
        let (document_prefix, query_prefix) = prefixes(&model);
        // The prefix of a memory changes its vector, so it is a part of the name.
        let name = match document_prefix.trim() {
            "" => model.clone(),
            prefix => format!("{model} after {prefix:?}"),
        };
        let (client, hasty) = (Client::new(usual.clone())?, Client::new(hasty)?);
        let dimensions = settings.dimensions.value;
        Ok(Some(Self { settings: usual, client, hasty, model, dimensions, name, document_prefix, query_prefix }))
    }

    /// Returns the name of the model under which vectors are stored.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name by which the server identifies the model, which is also its name in the price table.
    pub(crate) fn paid_name(&self) -> &str {
        &self.model
    }

    /// Returns the base URL of the server.
    pub(crate) fn address(&self) -> &str {
        self.client.address()
    }

    /// Asks the server for its list of models, as [`lists_model`] does.
    ///
    /// # Errors
    /// A short description of why the server cannot be used, without secrets.
    pub(crate) async fn is_listed(&self) -> Result<Option<bool>, String> {
        lists_model(&self.settings).await
    }

    /// Whether the server runs on this machine, so that no text leaves it.
    pub(crate) fn is_on_this_machine(&self) -> bool {
        self.client.is_on_this_machine()
    }

    /// Returns the model of the vectors in `store`, or `None` if their length is unknown until the server answers.
    ///
    /// # Errors
    /// [`EmbedError::Store`].
    pub(crate) fn kept_model(&self, store: &Database) -> Result<Option<VectorModel>, EmbedError> {
        let dimension = match self.dimensions {
            Some(asked) => Some(asked),
            None => store.vector_dimension(&self.name)?,
        };
        Ok(dimension.map(|dimension| VectorModel { name: self.name.clone(), dimension }))
    }

    /// Returns the vector of a query, made by `model`, or `None` for a blank query.
    ///
    /// The server gets one attempt of at most [`QUERY_TIMEOUT`].
    ///
    /// # Errors
    /// [`EmbedError::Model`] if the server does not answer, [`EmbedError::Dimension`] if the length of its vectors has
    /// changed. Search then uses only words.
    pub(crate) async fn query(
        &self,
        guard: &Guard,
        model: &VectorModel,
        query: &str,
    ) -> Result<Option<Vec<f32>>, EmbedError> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        let (text, _) = guard.redact(format!("{}{}", self.query_prefix, query.trim()));
        let embedded = self.hasty.embed(&[text], self.dimensions).await.map_err(|failure| match failure {
            EmbedFailure::Refused(error) | EmbedFailure::Failed(error) => EmbedError::from(error),
            EmbedFailure::TooMuch { endpoint } => LlmError::TooLong { endpoint }.into(),
        })?;
        let vector = self.checked(embedded.vectors)?.pop();
        match vector.as_ref().map(Vec::len).filter(|found| *found != model.dimension) {
            Some(found) => Err(EmbedError::Dimension { model: self.name.clone(), found, expected: model.dimension }),
            None => Ok(vector),
        }
    }

    /// Returns the text from which the vector of a memory is made.
    fn text(&self, guard: &Guard, memory: &MissingVector) -> Redacted {
        let (title, content) = (memory.title.trim(), memory.content.trim());
        // The title of a memory written by hand consists of its first words.
        let text = if title.is_empty() || content.starts_with(title) {
            content.to_owned()
        } else {
            format!("{title}: {content}")
        };
        guard.redact(format!("{}{text}", self.document_prefix)).0
    }

    /// Returns a vector for each text. The texts are sent in one call, or in two halves if the server does not accept
    /// so many texts at once.
    async fn documents(&self, texts: &[Redacted], budget: &Budget) -> Result<Documents, EmbedError> {
        let mut done = Documents::default();
        let mut rest: Vec<&[Redacted]> = vec![texts];
        while let Some(texts) = rest.pop().filter(|texts| !texts.is_empty()) {
            match self.batch(texts, budget).await {
                Ok((vectors, tokens)) => {
                    done.vectors.extend(vectors.into_iter().map(Ok));
                    done.tokens += tokens;
                }
                Err(Failed::Whole(error)) => return Err(error),
                Err(Failed::Texts(_)) if texts.len() > 1 => {
                    let (first, second) = texts.split_at(texts.len() / 2);
                    // The last entry is processed next, so the first half is pushed last to keep the order of the
                    // texts.
                    rest.extend([second, first]);
                }
                Err(Failed::Texts(reason)) => match self.cut(&texts[0], budget).await? {
                    Some((vector, tokens)) => {
                        done.vectors.push(Ok(vector));
                        done.tokens += tokens;
                    }
                    None => done.vectors.push(Err(reason)),
                },
            }
        }
        Ok(done)
    }

    /// Returns the vector of the beginning of a long text, or `None` if the server refuses the beginning, too, or the
    /// text is not long.
    async fn cut(&self, text: &Redacted, budget: &Budget) -> Result<Option<(Vec<f32>, u64)>, EmbedError> {
        let end = tokens::head(text, CUT_TOKENS).len();
        if end == text.len() {
            return Ok(None);
        }
        let beginning = text.beginning(end);
        match self.batch(std::slice::from_ref(&beginning), budget).await {
            Ok((mut vectors, tokens)) => Ok(vectors.pop().map(|vector| (vector, tokens))),
            Err(Failed::Texts(_)) => Ok(None),
            Err(Failed::Whole(error)) => Err(error),
        }
    }

    async fn batch(&self, texts: &[Redacted], budget: &Budget) -> Result<(Vec<Vec<f32>>, u64), Failed> {
        let counted = || texts.iter().map(|text| tokens::count(text) as u64).sum();
        // Counting takes time, and the estimate is needed only if there is a limit.
        let expected = if budget.is_limited() { counted() } else { 0 };
        let reservation = budget.reserve(expected, 0).await.map_err(|error| Failed::Whole(error.into()))?;
        let embedded = self.client.embed(texts, self.dimensions).await.map_err(|failure| match failure {
            EmbedFailure::TooMuch { .. } => Failed::Texts("it is too long for the model".to_owned()),
            EmbedFailure::Refused(error) => Failed::Texts(error.to_string()),
            EmbedFailure::Failed(error) => Failed::Whole(error.into()),
        })?;
        // Some servers report no usage.
        let tokens = if embedded.tokens == 0 { counted() } else { embedded.tokens };
        reservation.pay(tokens, 0);
        Ok((self.checked(embedded.vectors).map_err(Failed::Whole)?, tokens))
    }

    fn checked(&self, vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let found = vectors.first().map_or(0, Vec::len);
        match self.dimensions.filter(|asked| *asked != found) {
            Some(expected) => Err(EmbedError::Dimension { model: self.model.clone(), found, expected }),
            None => Ok(vectors),
        }
    }
}

/// Returns the prefixes of memories and of queries.
fn prefixes(model: &str) -> (&'static str, &'static str) {
    let model = model.to_lowercase();
    let known = PREFIXES.iter().find(|(part, _, _)| model.contains(part));
    known.map_or(("", ""), |(_, document, query)| (document, query))
}

#[cfg(test)]
mod tests;
