//! What memories say as vectors: making them, here or on a server, and filling in those that are missing.
//!
//! ```text
//! store: memories without a vector ─▶ guard ─▶ Embedder ─┬▶ LocalModel, from a folder ─┬▶ store
//!                                   query ─▶ guard ─▶    └▶ llm::Client, /embeddings ──┘
//! ```
//!
//! Off by default. A search without vectors is one by words; so it is where the server is down.

mod asking;
mod fill;
mod known;
mod local;
mod remote;
#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use secrecy::SecretString;

use crate::config::{EmbeddingProvider, EmbeddingSettings};
use crate::guard::{Guard, Redacted};
use crate::llm::{Budget, LlmError};
use crate::store::{Database, StoreError, Unembedded, VectorModel};

pub use asking::{QueryVector, QueryVectors};
pub use fill::{Filled, Filling, Progress, fill};
pub use local::LocalModel;

use known::Prefixes;
use remote::Remote;

/// Longest wait for the vector of a query: a person, or an agent, waits for the answer.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(5);

/// Why there are no vectors; one variant for each thing a person does differently.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// The folder holds no model that can be run here.
    #[error("cannot use the sentence model: {}: {reason}", .path.display())]
    Folder {
        /// The file at fault.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A setting is missing.
    #[error("[embedding] names no {what}; set {remedy}")]
    Unset {
        /// What is missing.
        what: &'static str,
        /// The setting.
        remedy: &'static str,
    },
    /// The server answers with vectors of another length than those that are kept, or that were asked for.
    #[error(
        "{model} answers with {found} numbers where {expected} are expected; set dimensions = {found} in [embedding] to make all vectors anew"
    )]
    Dimension {
        /// The model.
        model: String,
        /// Length of the vectors that came.
        found: usize,
        /// Length of those that are kept.
        expected: usize,
    },
    /// The model takes too long.
    #[error("the sentence model did not answer within {} ms", .within.as_millis())]
    Late {
        /// How long it was waited for.
        within: Duration,
    },
    /// There is no thread for it.
    #[error("cannot start a thread for the sentence model")]
    Thread {
        /// What the system says.
        source: std::io::Error,
    },
    /// The server does not answer.
    #[error(transparent)]
    Model(#[from] LlmError),
    /// The store cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What turns texts into vectors.
#[derive(Debug)]
pub struct Embedder {
    source: Source,
    name: String,
    prefixes: Prefixes,
}

#[derive(Debug)]
enum Source {
    Local(Box<LocalModel>),
    Remote(Box<Remote>),
}

/// What an [`Embedder`] is made from beside the settings.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// Key of the server.
    pub key: Option<SecretString>,
    /// Longest wait for a call that fills in vectors.
    pub timeout: Option<Duration>,
}

impl Embedder {
    /// Returns what `settings` ask for; `None` where vectors are off. A local model is read here, a server not asked yet.
    ///
    /// # Errors
    /// [`EmbedError`] if the settings cannot be used.
    pub fn open(settings: &EmbeddingSettings, access: Access) -> Result<Option<Self>, EmbedError> {
        let (source, name) = match settings.provider() {
            EmbeddingProvider::None => return Ok(None),
            EmbeddingProvider::Local => {
                let unset = EmbedError::Unset { what: "folder", remedy: "folder, or AFTERTHOUGHT_EMBEDDING_FOLDER" };
                let model = LocalModel::read(settings.folder.as_deref().ok_or(unset)?)?;
                let name = model.name().to_owned();
                (Source::Local(Box::new(model)), name)
            }
            EmbeddingProvider::OpenAi => {
                let remote = Remote::new(settings, access)?;
                let name = remote.model().to_owned();
                (Source::Remote(Box::new(remote)), name)
            }
        };
        let prefixes = Prefixes::of(settings, &name);
        // What stands before a memory changes its vector.
        let name =
            if prefixes.document.is_empty() { name } else { format!("{name} after {:?}", prefixes.document.trim()) };
        Ok(Some(Self { source, name, prefixes }))
    }

    /// Returns the name under which vectors are kept.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the model's name as the server knows it, by which it is paid for.
    #[must_use]
    pub fn paid_name(&self) -> &str {
        match &self.source {
            Source::Local(model) => model.name(),
            Source::Remote(remote) => remote.model(),
        }
    }

    /// Returns the base URL of the server; `None` for a model in this process.
    #[must_use]
    pub fn address(&self) -> Option<&str> {
        match &self.source {
            Source::Local(_) => None,
            Source::Remote(remote) => Some(remote.address()),
        }
    }

    /// Whether no text leaves this machine.
    #[must_use]
    pub fn is_on_this_machine(&self) -> bool {
        match &self.source {
            Source::Local(_) => true,
            Source::Remote(remote) => remote.is_on_this_machine(),
        }
    }

    /// Returns the model as `store` keeps its vectors; `None` where their length is not known before the server answers.
    ///
    /// # Errors
    /// [`EmbedError::Store`].
    pub fn kept_model(&self, store: &Database) -> Result<Option<VectorModel>, EmbedError> {
        let dimension = match &self.source {
            Source::Local(model) => Some(model.dimension()),
            Source::Remote(remote) => match remote.dimensions() {
                Some(asked) => Some(asked),
                None => store.vector_dimension(&self.name)?,
            },
        };
        Ok(dimension.map(|dimension| VectorModel { name: self.name.clone(), dimension }))
    }

    /// Returns the vector of a query to memories of `model`; `None` for a blank one.
    ///
    /// A server has [`QUERY_TIMEOUT`] and one attempt.
    ///
    /// # Errors
    /// [`EmbedError::Model`] if the server does not answer, [`EmbedError::Dimension`] if its vectors are of another length
    /// by now; search by words stands in for either.
    pub async fn query(&self, guard: &Guard, model: &VectorModel, query: &str) -> Result<Option<Vec<f32>>, EmbedError> {
        if query.trim().is_empty() {
            return Ok(None);
        }
        let (text, _) = guard.redact(format!("{}{}", self.prefixes.query, query.trim()));
        let vector = match &self.source {
            Source::Local(local) => local.embed(&[&text])?.pop(),
            Source::Remote(remote) => remote.query(text).await?.pop(),
        };
        match vector.as_ref().map(Vec::len).filter(|found| *found != model.dimension) {
            Some(found) => Err(EmbedError::Dimension { model: self.name.clone(), found, expected: model.dimension }),
            None => Ok(vector),
        }
    }

    /// Returns the text that stands for a memory.
    fn text(&self, guard: &Guard, memory: &Unembedded) -> Redacted {
        let (title, content) = (memory.title.trim(), memory.content.trim());
        // The title of a memory by hand is its first words.
        let said = if title.is_empty() || content.starts_with(title) {
            content.to_owned()
        } else {
            format!("{title}: {content}")
        };
        guard.redact(format!("{}{said}", self.prefixes.document)).0
    }

    async fn documents(&self, texts: &[Redacted], budget: &Budget) -> Result<remote::Documents, EmbedError> {
        match &self.source {
            Source::Local(model) => {
                let texts: Vec<&str> = texts.iter().map(|text| text.as_str()).collect();
                let vectors = model.embed(&texts)?.into_iter().map(Ok).collect();
                Ok(remote::Documents { vectors, tokens: 0 })
            }
            Source::Remote(remote) => remote.documents(texts, budget).await,
        }
    }

    fn is_local(&self) -> bool {
        matches!(self.source, Source::Local(_))
    }
}
