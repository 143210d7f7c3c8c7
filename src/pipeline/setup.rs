//! What a run works with.

use jiff::Timestamp;

use super::place::Places;
use super::read::Finished;
use super::stamp::signature;
use super::{Batching, Extractor, Ledgered, Options, Reread};
use crate::guard::Guard;
use crate::llm::{Budget, Complete};
use crate::store::{FileRead, Store, StoreError};

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
    /// Whether questions about windows are answered in batches, and how.
    pub(super) batching: Option<Batching<'a>>,
    /// Who claims windows: the run's id.
    pub(super) owner: String,
    /// When the run began, or the interrupted run that it goes on with.
    pub(super) started_at: Timestamp,
    /// Where the conversations belong.
    pub(super) places: Places,
    /// Stands for what decides, besides a log and the extractor, what comes of the log.
    pub(super) signature: String,
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
        let signature = signature(&options, guard);
        let (owner, started_at, places) = (String::new(), Timestamp::now(), Places::on_this_machine());
        Self { store, guard, extractor, budget, options, batching: None, owner, started_at, places, signature }
    }

    /// Has questions about windows answered in batches, where a model reads. What that takes is asked of the server as
    /// the run begins.
    #[must_use]
    pub fn in_batches(self, batching: Batching<'a>) -> Self {
        Self { batching: Some(batching), ..self }
    }

    /// Whether questions about windows are answered in batches.
    pub(super) const fn asks_in_batches(&self) -> bool {
        self.batching.is_some() && matches!(self.extractor, Extractor::Llm(_))
    }

    /// Returns the logs that need not be opened: finished under the same extractor, and with everything else alike.
    pub(super) fn finished(&self) -> Result<Finished, StoreError> {
        let all = || self.store.files_read(self.extractor.kind(), &self.signature);
        match self.options.reread {
            Reread::Nothing => all(),
            Reread::Flawed => {
                let mut finished = all()?;
                finished.retain(|_, file| file.skipped_records == 0);
                Ok(finished)
            }
            Reread::All | Reread::Erased => Ok(Finished::new()),
        }
    }

    /// Finds the projects asked for by a name that only the store knows: one that a person gave, that of a project which
    /// was merged into another, or the address of a repository.
    pub(super) fn look_up_projects(&mut self) -> Result<(), StoreError> {
        let mut found = Vec::new();
        for name in self.options.selection.names() {
            match self.store.project(name) {
                Ok(project) => found.push(self.store.merged_into(&project.namespace)?),
                // It may be the name of a folder that is seen for the first time, or of several.
                Err(StoreError::UnknownProject { .. } | StoreError::AmbiguousProject { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.options.selection.namespaces.extend(found);
        Ok(())
    }

    /// Notes a log that is finished.
    pub(super) fn note(&self, file: Option<FileRead>) {
        let noted = file.map_or(Ok(()), |file| {
            self.store.file_read(self.extractor.kind(), &self.signature, &file, Timestamp::now())
        });
        if let Err(error) = noted {
            tracing::warn!("could not note that a log is finished, so the next run opens it again: {error}");
        }
    }

    /// Returns the model behind the ledger, where a model reads.
    pub(super) fn model(&self) -> Option<Ledgered<'a, C>> {
        match self.extractor {
            Extractor::Llm(model) => {
                let direct = Ledgered::new(model, self.store, self.guard, self.budget);
                Some(match self.batching {
                    Some(batching) => direct.in_batches(model, self.budget, batching),
                    None => direct,
                })
            }
            Extractor::Rules => None,
        }
    }
}
