//! Batches of requests at a provider, with the requests that wait in each.

use jiff::Timestamp;
use rusqlite::{OptionalExtension as _, Row, params};
use serde::Serialize;

use super::requests::put_reply;
use crate::guard::Redacted;
use crate::llm::Reply;
use crate::memory::ParseError;
use crate::store::row::{spelled, time};
use crate::store::{Database, Store, StoreError, Writer};

/// How far a batch is on our side. Each stage is written before what comes after it is tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Stage {
    /// Its requests are set aside. The provider may have the file, which costs nothing.
    Planned,
    /// It is being submitted: the provider may have taken it.
    Creating,
    /// The provider has taken it.
    Submitted,
    /// Its answers are kept, or it was given up.
    Ended,
}

impl Stage {
    const ALL: [Self; 4] = [Self::Planned, Self::Creating, Self::Submitted, Self::Ended];

    /// Returns the spelling used in the database.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Creating => "creating",
            Self::Submitted => "submitted",
            Self::Ended => "ended",
        }
    }
}

impl std::str::FromStr for Stage {
    type Err = ParseError;
    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|stage| stage.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "a batch's stage",
            allowed: "planned, creating, submitted or ended",
        })
    }
}

/// A batch that is not over.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Batch {
    /// Our own id, which the provider keeps with it.
    pub id: String,
    /// The run that made it, or that took it over.
    pub owner: String,
    /// Address of the server, without credentials.
    pub endpoint: String,
    /// Name of the model.
    pub model: String,
    /// How far it is.
    pub stage: Stage,
    /// Since when.
    pub stage_at: Timestamp,
    /// The provider's id of its file.
    pub input_file: Option<String>,
    /// The provider's id of it.
    pub remote_id: Option<String>,
    /// What the provider said of it last.
    pub remote_status: Option<String>,
    /// When it was planned.
    pub created_at: Timestamp,
    /// Requests that wait for an answer.
    pub waiting: usize,
}

/// A request that is to wait in a batch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BatchRequest {
    /// Hash of the request.
    pub key: String,
    /// Its length.
    pub prompt_tokens: u64,
}

/// The reply to one request of a batch.
#[derive(Debug, Clone)]
pub struct BatchReply {
    /// Hash of the request.
    pub key: String,
    /// Stands in the place of the reply's own text.
    pub text: Redacted<String>,
    /// The rest of the reply.
    pub reply: Reply,
}

const SELECT: &str = "
    SELECT id, owner, endpoint, model, stage, stage_at, input_file, remote_id, remote_status, created_at,
        (SELECT count(*) FROM requests WHERE batch = b.id AND state = 'asked')
    FROM batches b WHERE stage <> 'ended'";

impl Database {
    /// Returns the batches that are not over, the oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn open_batches(&self) -> Result<Vec<Batch>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&format!("{SELECT} ORDER BY created_at, id"))?;
            let found = statement.query_map((), batch_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns the batch in which the request with this hash waits.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_of(&self, key: &str) -> Result<Option<Batch>, StoreError> {
        self.read(|conn| {
            let condition = "id = (SELECT batch FROM requests WHERE key = ?1 AND state = 'asked')";
            let mut statement = conn.prepare_cached(&format!("{SELECT} AND {condition}"))?;
            Ok(statement.query_row([key], batch_from_row).optional()?)
        })
    }

    /// Returns the requests of a batch that wait for an answer, by hash.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn batch_requests(&self, id: &str) -> Result<Vec<BatchRequest>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT key, prompt_tokens FROM requests WHERE batch = ?1 AND state = 'asked' ORDER BY key",
            )?;
            let found =
                statement.query_map([id], |row| Ok(BatchRequest { key: row.get(0)?, prompt_tokens: row.get(1)? }))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

fn batch_from_row(row: &Row<'_>) -> rusqlite::Result<Batch> {
    Ok(Batch {
        id: row.get(0)?,
        owner: row.get(1)?,
        endpoint: row.get(2)?,
        model: row.get(3)?,
        stage: spelled(row, 4)?,
        stage_at: time(row, 5)?,
        input_file: row.get(6)?,
        remote_id: row.get(7)?,
        remote_status: row.get(8)?,
        created_at: time(row, 9)?,
        waiting: row.get(10)?,
    })
}

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
                    "INSERT INTO requests (key, kind, state, batch, prompt_tokens, attempts, created_at)
                     VALUES (?2, 'extract', 'asked', ?1, ?3, 1, ?4)
                     ON CONFLICT (key) DO UPDATE SET state = 'asked', batch = ?1, prompt_tokens = ?3,
                        attempts = attempts + 1, owner = NULL, pid = NULL, lease_until = NULL
                     WHERE text IS NULL AND (state <> 'asked' OR batch IS NULL AND coalesce(lease_until, 0) <= ?4)
                     RETURNING key",
                )?;
                let mut taken = Vec::new();
                for request in requests {
                    let values = params![batch.id, request.key, request.prompt_tokens, now.as_millisecond()];
                    taken.extend(statement.query_row(values, |row| row.get(0)).optional()?);
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

    /// Stores the replies of a batch and ends it, all at once; `false` if that was done before, and then nothing changes.
    ///
    /// Requests of it without a reply count as failed, and may wait in another batch from now on.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn end_batch(
        &self,
        id: &str,
        remote_status: &str,
        replies: &[BatchReply],
        now: Timestamp,
    ) -> Result<bool, StoreError> {
        self.write(None, now, |w| {
            if !w.close_batch(id, remote_status, now)? {
                return Ok(false);
            }
            for reply in replies {
                w.batch_answer(id, reply, now)?;
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

    fn batch_answer(&self, id: &str, answer: &BatchReply, now: Timestamp) -> Result<(), StoreError> {
        let BatchReply { key, text, reply } = answer;
        let is_ours = self.read(|conn| {
            let changed = conn
                .prepare_cached(
                    "UPDATE requests SET state = 'answered' WHERE batch = ?1 AND key = ?2 AND state = 'asked'",
                )?
                .execute([id, key.as_str()])?;
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
                .prepare_cached("UPDATE requests SET state = 'failed' WHERE batch = ?1 AND state = 'asked'")?
                .execute([id])?;
            conn.prepare_cached("UPDATE batches SET failed = ?2 WHERE id = ?1")?.execute(params![id, failed])?;
            Ok(())
        })
    }
}
