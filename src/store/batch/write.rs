//! Moving batches on: one stage after the other, and all answers of one at once.

use jiff::Timestamp;
use rusqlite::{OptionalExtension, params};

use super::super::replies::put_reply;
use super::super::{Store, StoreError, Writer};
use super::{Batch, BatchRequest, RowOutcome};
use crate::guard::Redacted;
use crate::llm::Reply;

impl Store {
    /// Sets `requests` aside for a new batch, and returns the keys of those that it took: the others wait in another.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn plan_batch(
        &self,
        batch: &Batch,
        requests: &[BatchRequest],
        now: Timestamp,
    ) -> Result<Vec<String>, StoreError> {
        self.write(None, now, |w| {
            w.read(|conn| {
                conn.prepare_cached(
                    "INSERT INTO batches (id, owner, endpoint, model, stage, stage_at, created_at)
                     VALUES (?1, ?2, ?3, ?4, 'planned', ?5, ?5)",
                )?
                .execute(params![
                    batch.id,
                    batch.owner,
                    batch.endpoint,
                    batch.model,
                    now.as_millisecond()
                ])?;
                let mut statement = conn.prepare_cached(
                    "INSERT INTO batch_requests (batch, key, state, prompt_tokens) VALUES (?1, ?2, 'waiting', ?3)
                     ON CONFLICT DO NOTHING RETURNING key",
                )?;
                let mut taken = Vec::new();
                for request in requests {
                    let row =
                        statement.query_row(params![batch.id, request.key, request.prompt_tokens], |row| row.get(0));
                    taken.extend(row.optional()?);
                }
                Ok(taken)
            })
        })
    }

    /// Notes how far a batch is, before the next thing is tried; `false` if it has ended or changed hands meanwhile, and
    /// then it is no longer the caller's to go on with.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn batch_is(&self, batch: &Batch, now: Timestamp) -> Result<bool, StoreError> {
        self.read(|conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE batches SET stage = ?3, stage_at = ?4, input_file = ?5, remote_id = ?6,
                     remote_status = ?7 WHERE id = ?1 AND owner = ?2 AND stage <> 'ended'",
                )?
                .execute(params![
                    batch.id,
                    batch.owner,
                    batch.stage.as_str(),
                    now.as_millisecond(),
                    batch.input_file,
                    batch.remote_id,
                    batch.remote_status,
                ])?;
            Ok(changed > 0)
        })
    }

    /// Hands a batch over to the run `to`; `false` if another process was quicker.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn take_batch_over(&self, batch: &Batch, to: &str) -> Result<bool, StoreError> {
        self.read(|conn| {
            let changed = conn
                .prepare_cached("UPDATE batches SET owner = ?3 WHERE id = ?1 AND owner = ?2 AND stage = ?4")?
                .execute(params![batch.id, batch.owner, to, batch.stage.as_str()])?;
            Ok(changed > 0)
        })
    }

    /// Keeps the answers of a batch and ends it, all at once; `false` if that was done before, and then nothing changes.
    ///
    /// Requests of it that `outcomes` does not name count as failed, and may wait in another batch from now on.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn end_batch(
        &self,
        id: &str,
        remote_status: &str,
        outcomes: &[(String, RowOutcome)],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(None, now, |w| {
            if !w.close_batch(id, remote_status, now)? {
                return Ok(false);
            }
            for (key, outcome) in outcomes {
                if let RowOutcome::Answered(text, reply) = outcome {
                    w.batch_answer(id, key, text, reply, now)?;
                }
            }
            w.fail_the_rest(id)?;
            Ok(true)
        })
    }

    /// Forgets a batch that the provider has surely not taken, unless it has moved on or changed hands meanwhile.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn drop_batch(&self, batch: &Batch) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "DELETE FROM batches WHERE id = ?1 AND owner = ?2 AND stage = ?3 AND remote_id IS NULL",
            )?
            .execute([&batch.id, &batch.owner, batch.stage.as_str()])?;
            Ok(())
        })
    }
}

impl Writer<'_> {
    fn close_batch(&self, id: &str, remote_status: &str, now: Timestamp) -> Result<bool, StoreError> {
        self.read(|conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE batches SET stage = 'ended', stage_at = ?2, remote_status = ?3
                     WHERE id = ?1 AND stage <> 'ended'",
                )?
                .execute(params![id, now.as_millisecond(), remote_status])?;
            Ok(changed > 0)
        })
    }

    fn batch_answer(
        &self,
        id: &str,
        key: &str,
        text: &Redacted<String>,
        reply: &Reply,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let is_ours = self.read(|conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE batch_requests SET state = 'answered' WHERE batch = ?1 AND key = ?2 AND state = 'waiting'",
                )?
                .execute([id, key])?;
            Ok(changed > 0)
        })?;
        if !is_ours {
            return Ok(());
        }
        self.read(|conn| {
            conn.prepare_cached(
                "UPDATE batches SET answered = answered + 1, prompt_tokens = prompt_tokens + ?2,
                 completion_tokens = completion_tokens + ?3 WHERE id = ?1",
            )?
            .execute(params![id, reply.prompt_tokens, reply.completion_tokens])?;
            put_reply(conn, key, text, reply, now)
        })
    }

    fn fail_the_rest(&self, id: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            let failed = conn
                .prepare_cached("UPDATE batch_requests SET state = 'failed' WHERE batch = ?1 AND state = 'waiting'")?
                .execute([id])?;
            conn.prepare_cached("UPDATE batches SET failed = ?2 WHERE id = ?1")?.execute(params![id, failed])?;
            Ok(())
        })
    }
}
