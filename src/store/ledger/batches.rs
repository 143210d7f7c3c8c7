//! Batches of requests submitted to a provider, with the requests that wait in each batch.

use jiff::Timestamp;
use rusqlite::{Row, params};
use serde::Serialize;

use super::requests::put_reply;
use crate::guard::Redacted;
use crate::llm::Reply;
use crate::memory::string_enum;
use crate::store::row::{columns, from_row, spelled};
use crate::store::{Database, Store, StoreError, Writer};

string_enum!(
    /// The stage of a batch, as this program records it. Each stage is recorded before the next step is attempted.
    Stage, "a batch's stage", {
    /// The requests of the batch are reserved. The provider may already have the uploaded file, which is free of
    /// charge.
    Planned = "planned",
    /// The batch is being submitted, and the provider may have accepted it.
    Creating = "creating",
    /// The provider has accepted the batch.
    Submitted = "submitted",
    /// The replies of the batch are stored, or the batch was abandoned.
    Ended = "ended",
});

columns!(spelled: Stage);

/// A batch that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Batch {
    /// The ID that this program assigned to the batch; the provider stores it with the batch.
    pub id: String,
    /// The run that created the batch, or that took it over.
    pub owner: String,
    /// Address of the server, without credentials.
    pub endpoint: String,
    /// Name of the model.
    pub model: String,
    /// The stage of the batch.
    pub stage: Stage,
    /// The time at which the batch entered this stage.
    pub stage_at: Timestamp,
    /// The ID that the provider assigned to the uploaded file with the requests.
    pub input_file: Option<String>,
    /// The ID that the provider assigned to the batch.
    pub remote_id: Option<String>,
    /// The provider's last report about the batch.
    pub remote_status: Option<String>,
    /// Time at which the batch was planned.
    pub created_at: Timestamp,
    /// Number of requests that wait for an answer.
    pub waiting: usize,
}

/// A request to be placed in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BatchRequest {
    /// Hash of the request.
    pub key: String,
    /// Length of the request in tokens.
    pub prompt_tokens: u64,
}

/// The reply to one request of a batch.
#[derive(Debug, Clone)]
pub(crate) struct BatchReply {
    /// Hash of the request.
    pub key: String,
    /// The redacted text, which replaces the text of the reply.
    pub text: Redacted<String>,
    /// The reply without its text.
    pub reply: Reply,
}

const SELECT: &str = "
    SELECT id, owner, endpoint, model, stage, stage_at, input_file, remote_id, remote_status, created_at,
        (SELECT count(*) FROM requests WHERE batch = b.id AND state = 'asked')
    FROM batches b WHERE stage <> 'ended'";

impl Database {
    /// Returns the batches that have not ended, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn open_batches(&self) -> Result<Vec<Batch>, StoreError> {
        self.query_all(&format!("{SELECT} ORDER BY created_at, id"), (), batch_from_row)
    }

    /// Returns the batch that contains the waiting request with this hash.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn batch_of(&self, key: &str) -> Result<Option<Batch>, StoreError> {
        let condition = "id = (SELECT batch FROM requests WHERE key = ?1 AND state = 'asked')";
        self.query_one(&format!("{SELECT} AND {condition}"), [key], batch_from_row)
    }

    /// Returns the requests of a batch that wait for an answer, sorted by hash.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn batch_requests(&self, id: &str) -> Result<Vec<BatchRequest>, StoreError> {
        self.query_all(
            "SELECT key, prompt_tokens FROM requests WHERE batch = ?1 AND state = 'asked' ORDER BY key",
            [id],
            |row| Ok(BatchRequest { key: row.get(0)?, prompt_tokens: row.get(1)? }),
        )
    }
}

fn batch_from_row(row: &Row<'_>) -> rusqlite::Result<Batch> {
    from_row!(row, 0 => Batch {
        id, owner, endpoint, model, stage, stage_at, input_file, remote_id, remote_status, created_at, waiting
    })
}

impl Store {
    /// Reserves `requests` for a new batch, and returns the keys of the reserved requests; the other requests already
    /// wait elsewhere.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn plan_batch(
        &self,
        batch: &Batch,
        requests: &[BatchRequest],
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        self.write(None, now, |w| {
            w.execute(
                "INSERT INTO batches (id, owner, endpoint, model, stage, stage_at, created_at)
                 VALUES (?1, ?2, ?3, ?4, 'planned', ?5, ?5)",
                params![batch.id, batch.owner, batch.endpoint, batch.model, now.as_millisecond()],
            )?;
            let mut taken = Vec::new();
            for request in requests {
                // A request that is in another batch, or that a live process is sending, would otherwise be paid for
                // twice.
                taken.extend(w.query_one(
                    "INSERT INTO requests (key, kind, state, batch, prompt_tokens, attempts, created_at)
                     VALUES (?2, 'extract', 'asked', ?1, ?3, 1, ?4)
                     ON CONFLICT (key) DO UPDATE SET state = 'asked', batch = ?1, prompt_tokens = ?3,
                        attempts = attempts + 1, owner = NULL, pid = NULL, lease_until = NULL
                     WHERE text IS NULL AND (state <> 'asked' OR batch IS NULL AND coalesce(lease_until, 0) <= ?4)
                     RETURNING key",
                    params![batch.id, request.key, request.prompt_tokens, now.as_millisecond()],
                    |row| row.get(0),
                )?);
            }
            Ok(taken)
        })
    }

    /// Records the stage of a batch before the next step is attempted. Returns `false` if the batch has ended or was
    /// taken over in the meantime; in that case, the caller must not continue with it.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn batch_is(&self, batch: &Batch, now: Timestamp) -> Result<bool, StoreError> {
        Ok(self.execute(
            "UPDATE batches SET stage = ?3, stage_at = ?4, input_file = ?5, remote_id = ?6,
             remote_status = ?7 WHERE id = ?1 AND owner = ?2 AND stage <> 'ended'",
            params![
                batch.id,
                batch.owner,
                batch.stage.as_str(),
                now.as_millisecond(),
                batch.input_file,
                batch.remote_id,
                batch.remote_status,
            ],
        )? > 0)
    }

    /// Transfers a batch to the run `to`; returns `false` if another process was faster.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn take_batch_over(&self, batch: &Batch, to: &str) -> Result<bool, StoreError> {
        Ok(self.execute(
            // The condition includes owner and stage, so that only one process takes over a batch in this state.
            "UPDATE batches SET owner = ?3 WHERE id = ?1 AND owner = ?2 AND stage = ?4",
            params![batch.id, batch.owner, to, batch.stage.as_str()],
        )? > 0)
    }

    /// Stores the replies of a batch and ends it, in one transaction; returns `false` without changes if the batch has
    /// already ended.
    ///
    /// Requests of the batch without a reply count as failed, and may be placed in another batch.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn end_batch(
        &self,
        id: &str,
        remote_status: &str,
        replies: &[BatchReply],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(None, now, |w| {
            let ended = w.execute(
                "UPDATE batches SET stage = 'ended', stage_at = ?2, remote_status = ?3
                 WHERE id = ?1 AND stage <> 'ended'",
                params![id, now.as_millisecond(), remote_status],
            )?;
            // Two processes may fetch the same results; only the first ends the batch, so that the counts remain
            // correct.
            if ended == 0 {
                return Ok(false);
            }
            for reply in replies {
                w.batch_reply(id, reply, now)?;
            }
            // Failures are counted after the replies are stored: requests that are still marked as sent received no
            // answer.
            let failed =
                w.execute("UPDATE requests SET state = 'failed' WHERE batch = ?1 AND state = 'asked'", [id])?;
            w.execute("UPDATE batches SET failed = ?2 WHERE id = ?1", params![id, failed])?;
            Ok(true)
        })
    }

    /// Deletes a batch that the provider has certainly not accepted, unless it has advanced or was taken over in the
    /// meantime.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn drop_batch(&self, batch: &Batch) -> Result<(), StoreError> {
        self.execute(
            // A batch with a remote id was accepted by the provider and paid for, so its results must be fetched.
            "DELETE FROM batches WHERE id = ?1 AND owner = ?2 AND stage = ?3 AND remote_id IS NULL",
            [&batch.id, &batch.owner, batch.stage.as_str()],
        )
        .map(drop)
    }
}

impl Writer<'_> {
    fn batch_reply(&self, id: &str, answer: &BatchReply, now: Timestamp) -> Result<(), StoreError> {
        let BatchReply { key, text, reply } = answer;
        // A row that belongs to no request of this batch was invented by the server, or its request was abandoned.
        let is_ours = self.execute(
            "UPDATE requests SET state = 'answered' WHERE batch = ?1 AND key = ?2 AND state = 'asked'",
            [id, key.as_str()],
        )?;
        if is_ours == 0 {
            return Ok(());
        }
        self.execute(
            "UPDATE batches SET answered = answered + 1, prompt_tokens = prompt_tokens + ?2,
             completion_tokens = completion_tokens + ?3 WHERE id = ?1",
            params![id, reply.prompt_tokens, reply.completion_tokens],
        )?;
        self.read(|conn| put_reply(conn, key, text, reply, now))
    }
}
