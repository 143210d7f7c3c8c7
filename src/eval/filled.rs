//! A store whose memories all have their vectors.

use jiff::Timestamp;
use tokio_util::sync::CancellationToken;

use crate::embed::{EmbedError, Embedder, Filling, fill};
use crate::guard::Guard;
use crate::llm::{Budget, Limits};
use crate::store::{Store, VectorModel};

/// Embeds what has no vector yet, without a limit; returns the model that is kept, if the store holds anything.
pub(super) async fn fill_all(store: &Store, embedder: &Embedder) -> Result<Option<VectorModel>, EmbedError> {
    let (guard, budget) = (Guard::default(), Budget::new(Limits::default(), None, embedder.name())?);
    let filling = Filling {
        store,
        embedder,
        guard: &guard,
        budget: &budget,
        most: usize::MAX,
        cancel: CancellationToken::new(),
        clock: Timestamp::now,
    };
    fill(&filling, &mut |_| {}).await?;
    embedder.kept_model(store)
}
