//! Fills in missing vectors, resumably.
//!
//! The store records which memories have no vector, so that an interruption loses only the calls in flight. No write
//! transaction is open during a call to the server.

use std::pin::pin;
use std::time::Duration;

use futures::future::{self, Either};
use jiff::Timestamp;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Documents, EmbedError, Embedder};
use crate::fault::point;
use crate::guard::{Guard, Redacted};
use crate::llm::Budget;
use crate::store::{MissingVector, NewVector, Store, StoreError, VectorModel};

/// Number of texts in one call.
const BATCH: usize = 64;
/// Interval between renewals of the lease during a call to the server.
// The lease lasts three intervals, so that it is not lost by a slow renewal.
const RENEWAL: Duration = Duration::from_secs(10);

/// The objects needed for filling in vectors.
pub(crate) struct Filling<'a> {
    /// Store of the memories.
    pub store: &'a Store,
    /// Client of the server.
    pub embedder: &'a Embedder,
    /// Redacts texts before they are sent.
    pub guard: &'a Guard,
    /// Spending limits.
    pub budget: &'a Budget,
    /// Maximum number of memories that are embedded.
    pub most: usize,
    /// Token that, when cancelled, prevents further calls.
    pub cancel: CancellationToken,
    /// The clock.
    pub clock: fn() -> Timestamp,
}

/// Result of filling in vectors.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Filled {
    /// Memories that have a vector now.
    pub embedded: usize,
    /// Memories whose text the model refused.
    pub refused: usize,
    /// Memories still without a vector, including those refused fewer than three times.
    pub waiting: usize,
    /// Tokens used.
    pub tokens: u64,
    /// Whether nothing was done because another process was filling in the vectors of this file.
    pub elsewhere: bool,
}

/// Progress of filling in vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Progress {
    /// Memories processed.
    pub done: usize,
    /// Memories without a vector at the start, up to the limit.
    pub total: usize,
}

/// Requests vectors for memories that have none, newest first, and calls `watch` after each batch.
///
/// Only one process at a time fills in the vectors of a file. Texts that the model refuses are recorded and skipped.
///
/// # Errors
/// [`EmbedError`] if the store or the server fails. Vectors stored before the error are kept.
pub(crate) async fn fill(filling: &Filling<'_>, watch: &mut dyn FnMut(Progress)) -> Result<Filled, EmbedError> {
    let owner = uuid::Uuid::now_v7().to_string();
    if !filling.lease(&owner)? {
        return Ok(Filled { elsewhere: true, ..Filled::default() });
    }
    let filled = filling.all(&owner, watch).await;
    // The lease is released even after an error, so that the next process need not wait for it to expire.
    filling.store.write::<_, StoreError>(None, (filling.clock)(), |w| w.release_vectors(&owner))?;
    filled
}

impl Filling<'_> {
    async fn all(&self, owner: &str, watch: &mut dyn FnMut(Progress)) -> Result<Filled, EmbedError> {
        let mut filled = Filled::default();
        let known = self.embedder.kept_model(self.store)?;
        // No vector has length 0, so all memories count as memories without a vector.
        let mut model = known.unwrap_or_else(|| VectorModel { name: self.embedder.name().to_owned(), dimension: 0 });
        let total = self.store.vector_coverage(&model)?.waiting.min(self.most);
        let mut last: Option<MissingVector> = None;
        let mut done = 0;
        while done < total && !self.cancel.is_cancelled() {
            // The next query continues after the last memory, because it would return memories with a refused text
            // again.
            let waiting = self.store.without_vector(&model, last.as_ref(), BATCH.min(total - done))?;
            let Some(end) = waiting.last() else { break };
            let texts: Vec<Redacted> = waiting.iter().map(|one| self.embedder.text(self.guard, one)).collect();
            let documents = self.renewing(owner, self.embedder.documents(&texts, self.budget)).await?;
            point("vectors.asked");
            // The first answer shows the length if it was not known.
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

    /// Runs `work` and renews the lease while it runs.
    async fn renewing<T>(
        &self,
        owner: &str,
        work: impl Future<Output = Result<T, EmbedError>>,
    ) -> Result<T, EmbedError> {
        let mut work = pin!(work);
        loop {
            match future::select(work.as_mut(), pin!(tokio::time::sleep(RENEWAL))).await {
                Either::Left((done, _)) => {
                    // The lease is renewed once more, so that the following write has a full lease.
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
        waiting: &[MissingVector],
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
            // Until the first vector arrives, the length of the model's vectors is unknown.
            for (of, reason) in refused.iter().filter(|_| model.dimension > 0) {
                w.note_unembeddable(model, &of.id, (&w.redact((*reason).clone())).into())?;
            }
            if documents.tokens > 0 {
                w.note_embedding((&w.redact(self.embedder.paid_name().to_owned())).into(), documents.tokens)?;
            }
            if vectors.is_empty() { Ok(0) } else { w.put_vectors(model, &vectors) }
        })?;
        Ok(())
    }
}

/// Returns the length of the vectors, which must all have the same length.
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
