//! Replies of models that the workers of a queue share, with the limits of all workers.

use std::fmt;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::{ScaleError, WorkerStatistics};
use crate::llm::shared::{Admission, PlannedCall, ReplyStore};
use crate::llm::{LlmError, Reply};
use crate::postgresql::{Connection, PostgresError};

/// Maximum time, in seconds, for which the worst-case cost of a call stays reserved if its worker dies.
const CALL_LIFETIME: f64 = 600.0;

/// The replies of a queue, as a worker uses them.
pub(crate) struct QueueReplyStore {
    // Calls in flight at the same time share the connection, which each of them needs only briefly.
    connection: Mutex<Connection>,
    address: String,
    job: AtomicI64,
    tokens_per_minute: Option<u64>,
    metrics: Arc<WorkerStatistics>,
}

impl QueueReplyStore {
    /// Returns the replies of the queue at `address`, for a worker that, together with all other workers, sends at most
    /// this many tokens per minute. `metrics` counts its calls.
    pub(crate) fn new(
        address: &str,
        tokens_per_minute: Option<u64>,
        patience: Duration,
        metrics: Arc<WorkerStatistics>,
    ) -> Result<Self, ScaleError> {
        let connection = Mutex::new(Connection::new(address, patience)?);
        Ok(Self { connection, address: address.to_owned(), job: AtomicI64::new(0), tokens_per_minute, metrics })
    }

    /// Sets the job to which the next replies belong.
    pub(crate) fn begin(&self, job: i64) {
        self.job.store(job, Ordering::Relaxed);
    }

    fn with<T: Send>(
        &self,
        work: impl Fn(&mut ::postgres::Client) -> Result<T, ::postgres::Error> + Send + Sync,
    ) -> Result<T, LlmError> {
        let mut connection = self.connection.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        connection.with(work).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &PostgresError) -> LlmError {
        LlmError::Transient { endpoint: self.address.clone(), reason: error.to_string(), attempts: 1 }
    }
}

impl fmt::Debug for QueueReplyStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueueReplyStore").field("address", &self.address).finish_non_exhaustive()
    }
}

impl ReplyStore for QueueReplyStore {
    fn find(&self, key: &str) -> Result<Option<Reply>, LlmError> {
        let row =
            self.with(|client| client.query_opt("SELECT reply FROM afterthought.replies WHERE key = $1", &[&key]))?;
        // If another version stored the reply in a different form, the request is sent again.
        Ok(row.and_then(|row| serde_json::from_str(row.get(0)).ok()))
    }

    fn admit(&self, call: &PlannedCall) -> Result<Admission, LlmError> {
        let minute = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() / 60;
        let (minute, tokens) = (minute.cast_signed(), call.tokens.cast_signed());
        let allowed = self.tokens_per_minute.map(u64::cast_signed);
        let cost = call.cost.unwrap_or(0.0);
        let (admission, limit) = self.with(|client| {
            let mut transaction = client.transaction()?;
            // The row is locked, so that two workers do not both use the remaining budget.
            let budget = transaction.query_one("SELECT max_cost, spent FROM afterthought.budget FOR UPDATE", &[])?;
            let (limit, spent): (Option<f64>, f64) = (budget.get(0), budget.get(1));
            if let Some(limit) = limit {
                transaction.execute("DELETE FROM afterthought.calls WHERE until < now() OR id = $1", &[&call.id])?;
                let reserved = transaction.query_one("SELECT coalesce(sum(cost), 0) FROM afterthought.calls", &[])?;
                let (reserved, left) = (reserved.get::<_, f64>(0), limit - spent);
                if call.cost.is_none() || cost > left {
                    return Ok((None, Some(limit)));
                }
                if cost > left - reserved {
                    // A call in flight may cost less than its worst case.
                    return Ok((Some(Admission::After(Duration::from_millis(200))), Some(limit)));
                }
            }
            if let Some(allowed) = allowed {
                let row = transaction.query_opt(
                    "INSERT INTO afterthought.rates AS r (model, minute, tokens) VALUES ($1, $2, $3)
                     ON CONFLICT (model) DO UPDATE
                     SET minute = excluded.minute,
                         tokens = excluded.tokens + CASE WHEN r.minute = excluded.minute THEN r.tokens ELSE 0 END
                     WHERE r.minute < excluded.minute OR r.tokens + excluded.tokens <= $4
                     RETURNING 1",
                    &[&call.model, &minute, &tokens, &allowed],
                )?;
                if row.is_none() {
                    return Ok((Some(Admission::After(Duration::from_secs(1))), limit));
                }
            }
            if limit.is_some() {
                transaction.execute(
                    "INSERT INTO afterthought.calls (id, cost, until) VALUES ($1, $2, now() + make_interval(secs => $3))",
                    &[&call.id, &cost, &CALL_LIFETIME],
                )?;
            }
            transaction.commit()?;
            Ok((Some(Admission::Granted), limit))
        })?;
        match (admission, limit, call.cost) {
            (Some(admission), _, _) => Ok(admission),
            (None, Some(limit), Some(_)) => Err(LlmError::Budget { limit: format!("${limit} for the queue") }),
            (None, ..) => Err(LlmError::permanent(
                &call.model,
                "the price of this model is not known, so the cost limit of the queue cannot be enforced",
                "set its price with --price PROMPT,COMPLETION",
            )),
        }
    }

    fn keep(&self, call: &PlannedCall, key: &str, reply: &Reply, cost: f64) -> Result<(), LlmError> {
        self.metrics.answered(reply, cost, call.begun.elapsed());
        let (job, text) = (self.job.load(Ordering::Relaxed), serde_json::to_string(reply).unwrap_or_default());
        self.with(|client| {
            let mut transaction = client.transaction()?;
            // If the connection was lost after this reply was stored, its cost was counted.
            let stored = transaction.execute(
                "INSERT INTO afterthought.replies (key, job, reply) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                &[&key, &job, &text],
            )?;
            if stored > 0 && cost > 0.0 {
                transaction.execute("UPDATE afterthought.budget SET spent = spent + $1", &[&cost])?;
            }
            transaction.execute("DELETE FROM afterthought.calls WHERE id = $1", &[&call.id])?;
            transaction.commit()
        })
    }

    fn release(&self, call: &PlannedCall) {
        self.metrics.refused(call.begun.elapsed());
        let sql = "DELETE FROM afterthought.calls WHERE id = $1";
        if let Err(error) = self.with(|client| client.execute(sql, &[&call.id])) {
            tracing::warn!("the maximum cost of a failed call counts towards the limit for some minutes: {error}");
        }
    }
}
