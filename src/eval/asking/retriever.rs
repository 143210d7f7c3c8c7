//! What answers a query: the search, or a control that must fail.

use jiff::Timestamp;

use super::super::interval::SplitMix;
use crate::embed::Embedder;
use crate::eval::EvalError;
use crate::eval::filled::fill_all;
use crate::guard::Guard;
use crate::memory::{Memory, Namespace};
use crate::search::{Search, by_vectors};
use crate::store::{Filter, Order, Store, VectorModel};

/// Makes the draws of the random retriever the same in every run.
const SEED: u64 = 0x0bad_5ea4_c4ed_0001;

/// What answers queries.
#[derive(Debug)]
pub enum Retriever<'a> {
    /// The search, by words, and by meaning where there is a model.
    Search(Option<&'a Embedder>),
    /// Control: so many memories of the store, drawn without looking at the query, or at what may be recalled.
    Random,
    /// Control: all that is recalled, the latest first.
    Everything,
    /// Control: nothing.
    Nothing,
}

impl Retriever<'_> {
    /// Returns its name in reports.
    #[must_use]
    pub fn name(&self) -> String {
        match self {
            Self::Search(None) => "search".to_owned(),
            Self::Search(Some(embedder)) => format!("search with {}", embedder.name()),
            Self::Random => "random".to_owned(),
            Self::Everything => "everything".to_owned(),
            Self::Nothing => "nothing".to_owned(),
        }
    }

    /// Makes `store` ready to be asked: embeds its memories, where a model is used.
    ///
    /// # Errors
    /// [`EvalError::Embed`] if the model fails.
    pub async fn prepare(&self, store: &Store) -> Result<Option<VectorModel>, EvalError> {
        let Self::Search(Some(embedder)) = self else { return Ok(None) };
        Ok(fill_all(store, embedder).await?)
    }

    /// Returns at most `most` memories for `query`, best first.
    ///
    /// # Errors
    /// [`EvalError`] if the store cannot be read or the model fails.
    pub async fn ask(
        &self,
        store: &Store,
        model: Option<&VectorModel>,
        asked: &Asked<'_>,
    ) -> Result<Vec<Memory>, EvalError> {
        let filter = Filter::exactly(asked.namespaces);
        match self {
            Self::Nothing => Ok(Vec::new()),
            Self::Random => {
                let all = Filter { statuses: Vec::new(), ..Filter::default() };
                let mut pool = store.list(&all, Order::Id, usize::MAX >> 1, 0)?;
                let mut random =
                    SplitMix::new(asked.query.bytes().fold(SEED, |seed, byte| seed.rotate_left(5) ^ u64::from(byte)));
                let count = asked.most.min(pool.len());
                Ok((0..count).map(|_| pool.swap_remove(random.below(pool.len()))).collect())
            }
            Self::Everything => {
                let filter = Filter { unexpired_at: Some(asked.now), ..filter };
                Ok(store.list(&filter, Order::Updated, asked.most, 0)?)
            }
            Self::Search(embedder) => {
                let mut channels = Vec::new();
                if let (Some(embedder), Some(model)) = (embedder, model)
                    && let Some(vector) = embedder.query(&Guard::default(), model, asked.query).await?
                {
                    channels.push(by_vectors(store, (model, &vector), &filter, asked.most, asked.now)?);
                }
                let search =
                    Search { limit: asked.most, channels: &channels, ..Search::new(asked.query, &filter, asked.now) };
                Ok(search.run(store)?.into_iter().map(|found| found.memory).collect())
            }
        }
    }
}

/// A query, as a retriever gets it.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Any text.
    pub query: &'a str,
    /// The namespaces that are meant; empty for all.
    pub namespaces: &'a [Namespace],
    /// Most memories that come back.
    pub most: usize,
    /// When it is asked.
    pub now: Timestamp,
}
