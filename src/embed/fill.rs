//! Making the vectors that are missing, resumably.
//!
//! What waits is told by the store, so that a stop at any point loses the calls in flight alone, and another model only
//! makes everything wait again. No write is open while a server is asked.

use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{EmbedError, Embedder, remote::Documents};
use crate::fault::point;
use crate::guard::{Guard, Redacted};
use crate::llm::Budget;
use crate::store::{NewVector, Store, StoreError, Unembedded, VectorModel};

/// Texts in one call to a server.
const REMOTE_BATCH: usize = 64;
/// Texts between two writes of a model in this process, a second's work or so.
const LOCAL_BATCH: usize = 32;
/// Time between two signs of life while a server is asked.
const SIGN_OF_LIFE: Duration = Duration::from_secs(10);

/// What fills in vectors, and of what.
pub struct Filling<'a> {
    /// Where memories are.
    pub store: &'a Store,
    /// What makes vectors.
    pub embedder: &'a Embedder,
    /// What keeps secrets from the server.
    pub guard: &'a Guard,
    /// What may be spent.
    pub budget: &'a Budget,
    /// Most memories that are embedded.
    pub most: usize,
    /// Stops before the next call.
    pub cancel: CancellationToken,
    /// The clock.
    pub clock: fn() -> Timestamp,
}

/// What was done.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filled {
    /// Memories that have a vector now.
    pub embedded: usize,
    /// Those whose text the model did not take.
    pub refused: usize,
    /// Those that wait still, those refused fewer than three times among them.
    pub waiting: usize,
    /// Tokens that it took; 0 for a model in this process.
    pub tokens: u64,
    /// Another process is at it, so nothing was done.
    pub elsewhere: bool,
}

/// How far it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Memories that were looked at.
    pub done: usize,
    /// Memories that waited at the beginning, at most as many as were asked for.
    pub total: usize,
}

/// Makes vectors for memories that have none, the last learnt first, and calls `watch` after each call.
///
/// Another process that makes vectors of the same file is left to it. Texts that the model refuses are noted and do not
/// end it.
///
/// # Errors
/// [`EmbedError`]; what was done until then is kept.
pub async fn fill(filling: &Filling<'_>, watch: &mut dyn FnMut(Progress)) -> Result<Filled, EmbedError> {
    let owner = uuid::Uuid::now_v7().to_string();
    if !filling.lease(&owner)? {
        return Ok(Filled { elsewhere: true, ..Filled::default() });
    }
    let filled = filling.all(&owner, watch).await;
    filling.store.write::<_, StoreError>(None, (filling.clock)(), |w| w.release_vectors(&owner))?;
    filled
}

impl Filling<'_> {
    async fn all(&self, owner: &str, watch: &mut dyn FnMut(Progress)) -> Result<Filled, EmbedError> {
        let mut filled = Filled::default();
        let known = self.embedder.kept_model(self.store)?;
        // A model of no length has no vectors, so everything waits for it.
        let mut model = known.unwrap_or_else(|| VectorModel { name: self.embedder.name().to_owned(), dimension: 0 });
        let total = self.store.vector_coverage(&model)?.waiting.min(self.most);
        let batch = if self.embedder.is_local() { LOCAL_BATCH } else { REMOTE_BATCH };
        let mut last: Option<Unembedded> = None;
        let mut done = 0;
        while done < total && !self.cancel.is_cancelled() {
            let waiting = self.store.without_vector(&model, last.as_ref(), batch.min(total - done))?;
            let Some(end) = waiting.last() else { break };
            let texts: Vec<Redacted> = waiting.iter().map(|one| self.embedder.text(self.guard, one)).collect();
            let documents = self.alive(owner, self.embedder.documents(&texts, self.budget)).await?;
            point("vectors.asked");
            model.dimension = length(&model, &documents)?;
            self.keep(&model, &waiting, &documents, &mut filled)?;
            point("vectors.kept");
            done += waiting.len();
            last = Some(end.clone());
            watch(Progress { done, total });
        }
        filled.waiting = self.store.vector_coverage(&model)?.waiting;
        Ok(filled)
    }

    /// Returns what `work` comes to, and says meanwhile that this process is alive.
    async fn alive<T>(&self, owner: &str, work: impl Future<Output = Result<T, EmbedError>>) -> Result<T, EmbedError> {
        let mut work = pin!(work);
        loop {
            match future::select(work.as_mut(), pin!(tokio::time::sleep(SIGN_OF_LIFE))).await {
                Either::Left((done, _)) => {
                    self.lease(owner)?;
                    return done;
                }
                Either::Right(((), _)) => {
                    self.lease(owner)?;
                }
            }
        }
    }

    fn lease(&self, owner: &str) -> Result<bool, StoreError> {
        self.store.write(None, (self.clock)(), |w| w.lease_vectors(owner))
    }

    fn keep(
        &self,
        model: &VectorModel,
        waiting: &[Unembedded],
        documents: &Documents,
        filled: &mut Filled,
    ) -> Result<(), StoreError> {
        let pairs = || waiting.iter().zip(&documents.vectors);
        let vectors: Vec<NewVector<'_>> =
            pairs().filter_map(|(of, made)| Some(NewVector { of, vector: made.as_ref().ok()? })).collect();
        let refused: Vec<_> = pairs().filter_map(|(of, made)| Some((of, made.as_ref().err()?))).collect();
        filled.tokens += documents.tokens;
        filled.refused += refused.len();
        filled.embedded += self.store.write::<_, StoreError>(None, (self.clock)(), |w| {
            // Where nothing ever passed, it is not known what model this is.
            for (of, reason) in refused.iter().filter(|_| model.dimension > 0) {
                w.note_unembeddable(model, &of.id, reason)?;
            }
            if documents.tokens > 0 {
                w.note_embedding(self.embedder.paid_name(), documents.tokens)?;
            }
            if vectors.is_empty() { Ok(0) } else { w.put_vectors(model, &vectors) }
        })?;
        Ok(())
    }
}

/// Returns the length that all vectors have.
fn length(model: &VectorModel, documents: &Documents) -> Result<usize, EmbedError> {
    let mut expected = model.dimension;
    for vector in documents.vectors.iter().flatten() {
        if expected != 0 && vector.len() != expected {
            let (model, found) = (model.name.clone(), vector.len());
            return Err(EmbedError::Dimension { model, found, expected });
        }
        expected = vector.len();
    }
    Ok(expected)
}
