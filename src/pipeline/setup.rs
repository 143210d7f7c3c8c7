//! What a run works with.

use jiff::Timestamp;

use super::place::Places;
use super::{Extractor, Ledgered, Options};
use crate::guard::Guard;
use crate::llm::{Budget, Complete};
use crate::store::Store;

/// Everything a run works with.
pub struct Pipeline<'a, C> {
    /// Where memories and the ledger are.
    pub store: &'a Store,
    /// What takes secrets out.
    pub guard: &'a Guard,
    /// How windows are read.
    pub extractor: Extractor<'a, C>,
    /// What may be spent.
    pub budget: &'a Budget,
    /// What to read, and how.
    pub options: Options,
    /// Who claims windows: the run's id.
    pub(super) owner: String,
    /// When the run began, or the interrupted run that it goes on with.
    pub(super) started_at: Timestamp,
    /// Where the conversations belong.
    pub(super) places: Places,
}

impl<'a, C: Complete> Pipeline<'a, C> {
    /// Returns a pipeline that is ready to run.
    #[must_use]
    pub fn new(
        store: &'a Store,
        guard: &'a Guard,
        extractor: Extractor<'a, C>,
        budget: &'a Budget,
        options: Options,
    ) -> Self {
        let (owner, started_at, places) = (String::new(), Timestamp::now(), Places::on_this_machine());
        Self { store, guard, extractor, budget, options, owner, started_at, places }
    }

    /// Returns the model behind the ledger, where a model reads.
    pub(super) fn model(&self) -> Option<Ledgered<'a, C>> {
        match self.extractor {
            Extractor::Llm(model) => Some(Ledgered::new(model, self.store, self.guard, self.budget)),
            Extractor::Rules => None,
        }
    }
}
