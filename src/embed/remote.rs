//! Vectors from a server, in as few calls as it takes.

use super::{Access, EmbedError, QUERY_TIMEOUT};
use crate::config::EmbeddingSettings;
use crate::guard::Redacted;
use crate::llm::{Budget, Client, DEFAULT_BASE_URL, EmbedFailure, LlmError, ModelSettings};
use crate::tokens;

/// The model asked at `OpenAI`'s address when none is named.
const DEFAULT_MODEL: &str = "text-embedding-3-small";
/// A text that is refused for its length is given once more, cut to so many tokens.
const CUT_TOKENS: usize = 400;

/// A server.
#[derive(Debug)]
pub(super) struct Remote {
    client: Client,
    /// For queries: it gives up at once.
    hasty: Client,
    model: String,
    dimensions: Option<usize>,
}

/// What a server makes of texts.
#[derive(Debug, Default)]
pub(super) struct Documents {
    /// One a text: its vector, or why it was refused.
    pub(super) vectors: Vec<Result<Vec<f32>, String>>,
    /// What that took.
    pub(super) tokens: u64,
}

impl Remote {
    pub(super) fn new(settings: &EmbeddingSettings, access: Access) -> Result<Self, EmbedError> {
        let base_url = settings.base_url.clone().unwrap_or_else(|| DEFAULT_BASE_URL.to_owned());
        let is_default = base_url.contains("//api.openai.com");
        let default = is_default.then(|| DEFAULT_MODEL.to_owned());
        let unset = EmbedError::Unset { what: "model", remedy: "model, or AFTERTHOUGHT_EMBEDDING_MODEL" };
        let model = settings.model.clone().or(default).ok_or(unset)?;
        if is_default && access.key.is_none() {
            return Err(EmbedError::Unset {
                what: "key",
                remedy: "the variable that api_key_env names, or a base_url",
            });
        }
        let usual = ModelSettings { api_key: access.key, ..ModelSettings::new(base_url, &model) };
        let usual = ModelSettings { timeout: access.timeout.unwrap_or(usual.timeout), ..usual };
        let hasty = ModelSettings { timeout: usual.timeout.min(QUERY_TIMEOUT), max_retries: 0, ..usual.clone() };
        Ok(Self { client: Client::new(usual)?, hasty: Client::new(hasty)?, model, dimensions: settings.dimensions })
    }

    pub(super) fn model(&self) -> &str {
        &self.model
    }

    pub(super) fn address(&self) -> &str {
        self.client.address()
    }

    pub(super) fn is_on_this_machine(&self) -> bool {
        self.client.is_on_this_machine()
    }

    pub(super) fn dimensions(&self) -> Option<usize> {
        self.dimensions
    }

    pub(super) async fn query(&self, text: Redacted) -> Result<Vec<Vec<f32>>, EmbedError> {
        let embedded = self.hasty.embed(&[text], self.dimensions).await.map_err(Self::whole)?;
        self.checked(embedded.vectors)
    }

    /// Returns what the server makes of each text: all at once, or in halves where it does not take so many.
    pub(super) async fn documents(&self, texts: &[Redacted], budget: &Budget) -> Result<Documents, EmbedError> {
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

    /// Returns the vector of the beginning of a long text; `None` if it is refused too, or is not long.
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
        let expected = if budget.is_limited() { counted() } else { 0 };
        let reservation = budget.reserve(expected, 0).await.map_err(|error| Failed::Whole(error.into()))?;
        let embedded = self.client.embed(texts, self.dimensions).await.map_err(|failure| match failure {
            EmbedFailure::TooMuch { .. } => Failed::Texts("it is too long for the model".to_owned()),
            EmbedFailure::Refused(error) => Failed::Texts(error.to_string()),
            EmbedFailure::Failed(error) => Failed::Whole(error.into()),
        })?;
        // Some servers do not count.
        let tokens = if embedded.tokens == 0 { counted() } else { embedded.tokens };
        reservation.settle(tokens, 0);
        Ok((self.checked(embedded.vectors).map_err(Failed::Whole)?, tokens))
    }

    fn checked(&self, vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, EmbedError> {
        let found = vectors.first().map_or(0, Vec::len);
        match self.dimensions.filter(|asked| *asked != found) {
            Some(expected) => Err(EmbedError::Dimension { model: self.model.clone(), found, expected }),
            None => Ok(vectors),
        }
    }

    fn whole(failure: EmbedFailure) -> EmbedError {
        match failure {
            EmbedFailure::Refused(error) | EmbedFailure::Failed(error) => error.into(),
            EmbedFailure::TooMuch { endpoint } => LlmError::TooLong { endpoint }.into(),
        }
    }
}

/// Why a call brought no vectors.
enum Failed {
    /// For the sake of its texts, in these words.
    Texts(String),
    Whole(EmbedError),
}
