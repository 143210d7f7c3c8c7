//! Batches that a process left behind when it ended in the middle.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

use super::Queue;
use crate::llm::LlmError;
use crate::pipeline::PipelineError;
use crate::store::{Batch, Stage, StoreError};

/// How long a request to submit may still be under way after its sender has ended.
const LATE: SignedDuration = SignedDuration::from_secs(10);
/// Pause between two looks at the provider's list.
const PAUSE: Duration = Duration::from_secs(1);

/// Why windows are left to a later run.
pub(super) enum Left {
    /// The person asked not to wait.
    NotWaiting,
    /// The person interrupted the run.
    Interrupted,
    /// The provider could not be asked.
    Fault(LlmError),
}

impl Queue<'_> {
    /// Makes sure that the provider has batches, before anything is begun.
    ///
    /// # Errors
    /// [`PipelineError::Model`] if it has none or cannot be asked.
    pub(in crate::pipeline) async fn check(&self) -> Result<(), PipelineError> {
        Ok(self.client().check_batches().await?)
    }

    /// Begins for the run `owner`: finds out what became of batches whose processes ended while they were submitted.
    ///
    /// # Errors
    /// [`PipelineError::Model`] if the provider cannot be asked; no window was begun then.
    pub(in crate::pipeline) async fn begin(&self, owner: &str) -> Result<(), PipelineError> {
        // Set once; a run begins once.
        self.owner.get_or_init(|| owner.to_owned());
        for batch in self.open_here()? {
            self.recover(batch).await?;
        }
        Ok(())
    }

    /// Returns the open batches of this server.
    pub(super) fn open_here(&self) -> Result<Vec<Batch>, PipelineError> {
        let mut open = self.store.open_batches()?;
        open.retain(|batch| batch.endpoint == self.client().address());
        Ok(open)
    }

    /// Finds out what became of a batch that nobody is submitting any more; leaves every other as it is.
    pub(super) async fn recover(&self, batch: Batch) -> Result<(), PipelineError> {
        if batch.stage == Stage::Submitted || self.is_in_good_hands(&batch)? {
            return Ok(());
        }
        if !self.store.take_batch_over(&batch, self.owner())? {
            return Ok(());
        }
        let batch = Batch { owner: self.owner().to_owned(), ..batch };
        let Some(file) = batch.input_file.clone().filter(|_| batch.stage == Stage::Creating) else {
            return Ok(self.store.drop_batch(&batch)?);
        };
        let begun = Instant::now();
        loop {
            // Looked at before the list: what is not listed after this time was not taken. Waiting as long here is enough
            // whatever the clock says.
            let is_late = Timestamp::now().duration_since(batch.stage_at) > LATE
                || SignedDuration::try_from(begun.elapsed()).is_ok_and(|waited| waited > LATE);
            let found = self.client().find_batch(&batch.id, &file).await.map_err(PipelineError::Model)?;
            match found {
                Some(remote) => return self.is_submitted(batch, remote),
                None if is_late => return Ok(self.store.drop_batch(&batch)?),
                None => tokio::time::sleep(PAUSE).await,
            }
        }
    }

    fn is_in_good_hands(&self, batch: &Batch) -> Result<bool, StoreError> {
        if batch.owner == self.owner() {
            return Ok(false);
        }
        match self.store.run(&batch.owner) {
            Ok(run) => Ok(run.is_alive(Timestamp::now())),
            Err(StoreError::UnknownRun { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }
}
