//! Windows: the parts of transcripts that were extracted, each with its result and whether the result was applied.
//!
//! A window is claimed before it is extracted and finished afterwards. A claim is a lease. If the lease expires because
//! the process died, another process may claim the window. A finished window is never extracted again, and its
//! candidates wait here until a write applies them and marks the window in the same transaction.

use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension, Row, Transaction, TransactionBehavior, params};

use super::requests::close_those_about;
use super::{DoneWindow, RunId, TranscriptId, WindowId};
use crate::extract::{Dropped, Outcome, Spent};
use crate::fault::point;
use crate::guard::Redacted;
use crate::memory::{Candidate, Namespace};
use crate::store::row::{from_row, rows, time_or_none, to_json};
use crate::store::{Database, Store, StoreError, Writer};

/// The identity of a window: the same text at the same position, extracted by the same kind of extractor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WindowKey {
    /// The transcript.
    pub transcript: TranscriptId,
    /// Extractor with everything that affects its answers, such as `llm:<model>:<prompt hash>` or `rules:1`.
    pub extractor: String,
    /// Index of the first message.
    pub start: usize,
    /// Number of messages.
    pub len: usize,
    /// Hash of the messages; see [`transcripts::content_hash`].
    pub content_hash: String,
}

/// Whether the window may be extracted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The caller has claimed the window until the lease expires.
    Yes(WindowId),
    /// The window has already been extracted.
    AlreadyDone,
    /// Another process has claimed the window.
    HeldByOther {
        /// Time from which the window can be claimed, if the other process does not finish it.
        until: Timestamp,
    },
}

/// The result of a window.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished<'a> {
    /// The outcome of the window.
    pub outcome: Outcome,
    /// The proposed candidates.
    pub candidates: &'a Redacted<Vec<Candidate>>,
    /// Proposals that were rejected.
    pub dropped: &'a [Dropped],
    /// The cost of the window.
    pub spent: Spent,
    /// The reason why the window failed or is partial, without any text from the transcript.
    pub error: Option<&'a str>,
    /// Whether the answer for the window is permanently incomplete. A later run then sends the window again, at most
    /// twice.
    pub lacks: bool,
}

/// A window whose candidates wait to be applied.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct PendingWindow {
    /// The window.
    pub id: WindowId,
    /// Namespace of the window's transcript.
    pub namespace: Namespace,
    /// Namespace for memories about the user, if that is not `global`.
    pub user: Option<Namespace>,
    /// Key of the window's transcript.
    pub transcript: String,
    /// Time at which the conversation began.
    pub started_at: Option<Timestamp>,
    /// Index of the first message.
    pub start: usize,
    /// The proposed candidates; there is at least one.
    pub candidates: Vec<Candidate>,
}

/// A window that could not be extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FailedWindow {
    /// The window.
    pub id: WindowId,
    /// Key of the window's transcript.
    pub transcript: String,
    /// Path or address that the transcript was read from.
    pub origin: String,
    /// Index of the first message.
    pub start: usize,
    /// Number of messages.
    pub len: usize,
    /// The extractor that failed.
    pub extractor: String,
    /// Number of attempts.
    pub attempts: u32,
    /// The reason why the last attempt failed.
    pub error: Option<String>,
    /// Time of the last failed attempt.
    pub finished_at: Option<Timestamp>,
}

/// Maximum time for which a window is claimed. A longer claim must have been made with a wrong clock.
const LONGEST_LEASE: SignedDuration = SignedDuration::from_hours(8 * 24);

/// Claims the window if it is new, failed, or has an expired lease. The claim is a single statement, so that only one
/// process succeeds.
const CLAIM: &str = "
    INSERT INTO windows (transcript_id, extractor, start, len, content_hash, status, owner, lease_until)
    VALUES (?1, ?2, ?3, ?4, ?5, 'claimed', ?6, ?7)
    ON CONFLICT (transcript_id, extractor, start, content_hash) DO UPDATE
    SET status = 'claimed', owner = ?6, lease_until = ?7, attempts = attempts + 1
    WHERE status = 'failed' OR (status = 'claimed' AND (lease_until <= ?8 OR owner = ?6 OR lease_until > ?9))
        OR (status = 'done' AND lacks = 1 AND attempts < 3 AND applied_at IS NOT NULL)
    RETURNING id";

impl Store {
    /// Claims windows for `owner` until `lease_until`, in one transaction, and returns the outcome for each in order.
    ///
    /// An owner may claim its own windows again. The owner is the id of the run, so a killed run that is resumed need
    /// not wait for its own leases. Within one run, only one task may claim each window.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn claim_windows(
        &self,
        keys: &[WindowKey],
        owner: &str,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Vec<Claimed>, StoreError> {
        self.read(|conn| {
            // One transaction covers all windows, because each commit requires a write to the log.
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let claimed = keys.iter().map(|key| claim(&transaction, key, owner, lease_until, now));
            let claimed = claimed.collect::<Result<Vec<_>, _>>()?;
            transaction.commit()?;
            point("window.claimed");
            Ok(claimed)
        })
    }

    /// Records the results of windows that `owner` has claimed, either all of them or none. A window without candidates
    /// counts as applied immediately; a failed window can be claimed again.
    ///
    /// Returns for each window whether its result was written. The result is not written if another process has claimed
    /// the window in the meantime, because only the result of that process counts.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn finish_windows(
        &self,
        windows: &[(WindowId, Finished<'_>)],
        owner: &str,
        now: Timestamp,
    ) -> Result<Vec<bool>, StoreError> {
        self.read(|conn| {
            // The transaction is immediate, so that reading the owner of the windows and writing the results is atomic.
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let written = windows.iter().map(|(id, finished)| finish(&transaction, *id, owner, finished, now));
            let written = written.collect::<Result<Vec<bool>, _>>()?;
            let done =
                windows.iter().zip(&written).filter(|((_, one), is_ours)| **is_ours && one.outcome != Outcome::Failed);
            let done: Vec<i64> = done.map(|((id, _), _)| id.0).collect();
            // The requests are closed in the same transaction; otherwise, a request without windows would be resumed.
            close_those_about(&transaction, &done)?;
            point("window.finish");
            transaction.commit()?;
            point("window.finished");
            Ok(written)
        })
    }

    /// Releases a claimed window without a result, as if extraction had never been attempted.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn release_window(&self, id: WindowId, owner: &str) -> Result<(), StoreError> {
        self.execute(
            // The row is kept because it contains the number of earlier attempts.
            "UPDATE windows SET lease_until = 0, attempts = attempts - 1
             WHERE id = ?1 AND owner = ?2 AND status = 'claimed'",
            params![id.0, owner],
        )
        .map(drop)
    }

    /// Marks the candidates that a run applied as waiting again, and returns the number of their windows. This makes it
    /// possible to redo a run that was undone: the candidates are decided again, but not extracted again.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn reopen_windows(&self, run: &RunId) -> Result<usize, StoreError> {
        let reopened = self.execute(
            "UPDATE windows SET applied_at = NULL, applied_run = NULL
             WHERE applied_run = ?1 AND status = 'done' AND candidates <> '[]'",
            [run.as_str()],
        )?;
        // The run's tasks are recorded again when their logs are opened again.
        self.execute("DELETE FROM tasks WHERE run = ?1 AND state = 'undone'", [run.as_str()])?;
        // The logs of these windows are opened again, because the project of a conversation may have changed in the
        // meantime.
        self.execute("DELETE FROM files", ())?;
        Ok(reopened)
    }

    /// Returns the undone runs whose candidates no later run will apply, newest first, each with its number of windows.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn undone_windows(&self) -> Result<Vec<(RunId, usize)>, StoreError> {
        let sql = "SELECT w.applied_run, count(*) FROM windows w JOIN runs r ON r.id = w.applied_run
                 WHERE r.status = 'undone' AND w.candidates <> '[]' GROUP BY w.applied_run ORDER BY w.applied_run DESC";
        self.query_all(sql, (), |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Resets the attempts of all failed windows and returns the number of these windows. The next run on their
    /// transcripts tries them again in any case.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn reset_failed_windows(&self) -> Result<usize, StoreError> {
        self.execute("UPDATE windows SET attempts = 0, error = NULL WHERE status = 'failed'", ())
    }
}

impl Writer<'_> {
    /// Marks windows as applied by this write, and returns how many of them were still waiting. If the number is lower
    /// than the number of the given windows, another process has applied some of them. In that case, the caller must
    /// abandon the write and plan again.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn mark_windows_applied(&self, windows: &[WindowId]) -> Result<usize, StoreError> {
        let mut marked = 0;
        for window in windows {
            marked += self.execute(
                "UPDATE windows SET applied_at = ?2, applied_run = ?3
                 WHERE id = ?1 AND status = 'done' AND applied_at IS NULL",
                params![window.0, self.now.as_millisecond(), self.run.map(RunId::as_str)],
            )?;
        }
        Ok(marked)
    }
}

fn claim(
    conn: &Connection,
    key: &WindowKey,
    owner: &str,
    lease_until: Timestamp,
    now: Timestamp,
) -> Result<Claimed, StoreError> {
    let claimed = conn
        .prepare_cached(CLAIM)?
        .query_row(
            params![
                key.transcript.0,
                key.extractor,
                key.start,
                key.len,
                key.content_hash,
                owner,
                lease_until.as_millisecond(),
                now.as_millisecond(),
                (now + LONGEST_LEASE).as_millisecond(),
            ],
            |row| row.get(0),
        )
        .optional()?;
    if let Some(id) = claimed {
        return Ok(Claimed::Yes(WindowId(id)));
    }
    let lease = conn
        .prepare_cached(
            "SELECT CASE status WHEN 'claimed' THEN lease_until END FROM windows
             WHERE transcript_id = ?1 AND extractor = ?2 AND start = ?3 AND content_hash = ?4",
        )?
        .query_row(params![key.transcript.0, key.extractor, key.start, key.content_hash], |row| time_or_none(row, 0))?;
    // The statement above and this one see the same state, because the caller is in a write transaction.
    Ok(lease.map_or(Claimed::AlreadyDone, |until| Claimed::HeldByOther { until }))
}

fn finish(
    conn: &Connection,
    id: WindowId,
    owner: &str,
    finished: &Finished<'_>,
    now: Timestamp,
) -> Result<bool, StoreError> {
    // A failed window keeps its usable candidates for the listing, and is extracted again.
    let status = if finished.outcome == Outcome::Failed { "failed" } else { "done" };
    // Otherwise, the window would wait forever, because later writes apply only windows with candidates.
    let nothing_to_apply = status == "done" && finished.candidates.is_empty();
    let candidates: &Vec<Candidate> = finished.candidates;
    let changed = conn
        .prepare_cached(
            "UPDATE windows SET status = ?3, owner = NULL, lease_until = NULL, outcome = ?4, candidates = ?5,
             dropped = ?6, spent = ?7, error = ?8, finished_at = ?9, applied_at = ?10, lacks = ?11
             WHERE id = ?1 AND owner = ?2 AND status = 'claimed'",
        )?
        .execute(params![
            id.0,
            owner,
            status,
            outcome_name(finished.outcome),
            to_json(candidates)?,
            to_json(&finished.dropped)?,
            to_json(&finished.spent)?,
            finished.error,
            now.as_millisecond(),
            nothing_to_apply.then_some(now.as_millisecond()),
            finished.lacks && status == "done",
        ])?;
    Ok(changed > 0)
}

impl Database {
    /// Returns the windows of a transcript that this extractor has finished, sorted by position.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn finished_windows(
        &self,
        transcript: TranscriptId,
        extractor: &str,
    ) -> Result<Vec<DoneWindow>, StoreError> {
        self.query_all(
            "SELECT start, len, content_hash FROM windows
             WHERE transcript_id = ?1 AND extractor = ?2 AND status = 'done' AND NOT (lacks = 1 AND attempts < 3)
             ORDER BY start, id",
            params![transcript.0, extractor],
            |row| Ok(DoneWindow { start: row.get(0)?, len: row.get(1)?, content_hash: row.get(2)? }),
        )
    }

    /// Returns the number of calls made for windows, and the number of tokens in the answers.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn completions_of_windows(&self) -> Result<(u64, u64), StoreError> {
        let found = self.query_one(
            "SELECT coalesce(sum(spent ->> '$.calls'), 0), coalesce(sum(spent ->> '$.completion_tokens'), 0)
             FROM windows WHERE spent IS NOT NULL",
            (),
            |row| Ok((row.get(0)?, row.get(1)?)),
        )?;
        Ok(found.unwrap_or_default())
    }

    /// Returns at most `limit` windows whose candidates wait to be applied, ordered by the start of the conversation
    /// (unknown times last), then by the conversation's key and the position of the window. Namespaces are mixed,
    /// because conversations in several projects contain facts about the same user.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn pending_windows(&self, limit: usize) -> Result<Vec<PendingWindow>, StoreError> {
        self.windows_of_candidates(
            "w.status = 'done' AND w.applied_at IS NULL
             ORDER BY t.started_at IS NULL, t.started_at, t.key, w.start, w.id LIMIT ?1",
            rows(limit),
        )
    }

    /// Returns the windows of conversations that began after `time` and whose candidates are written, if any of these
    /// candidates can only change a known memory. Their order is that of `pending_windows`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn later_updates(&self, time: Timestamp) -> Result<Vec<PendingWindow>, StoreError> {
        self.windows_of_candidates(
            "t.started_at > ?1 AND w.status = 'done' AND w.applied_at IS NOT NULL
             AND instr(w.candidates, '\"updates_only\":true') > 0
             AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.id = w.applied_run AND r.status = 'undone')
             ORDER BY t.started_at, t.key, w.start, w.id",
            time.as_millisecond(),
        )
    }

    fn windows_of_candidates(&self, condition: &str, parameter: i64) -> Result<Vec<PendingWindow>, StoreError> {
        let mut windows: Vec<PendingWindow> = self.query_all(
            &format!(
                "SELECT w.id, t.namespace, t.key, t.started_at, w.start, w.candidates, t.user_namespace
                 FROM windows w JOIN transcripts t ON t.id = w.transcript_id WHERE {condition}"
            ),
            [parameter],
            pending_from_row,
        )?;
        for window in &mut windows {
            // The project may have been merged into another project since the conversation was read.
            window.namespace = self.merged_into(&window.namespace)?;
        }
        Ok(windows)
    }

    /// Returns the windows that failed and have not been finished since then, most recent first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn failed_windows(&self) -> Result<Vec<FailedWindow>, StoreError> {
        self.query_all(
            "SELECT w.id, t.key, t.origin, w.start, w.len, w.extractor, w.attempts, w.error, w.finished_at
             FROM windows w JOIN transcripts t ON t.id = w.transcript_id
             WHERE w.status = 'failed' ORDER BY w.finished_at DESC, w.id DESC",
            (),
            failed_from_row,
        )
    }
}

fn pending_from_row(row: &Row<'_>) -> rusqlite::Result<PendingWindow> {
    from_row!(row, 1 => PendingWindow {
        namespace, transcript, started_at, start, candidates, user, id: WindowId(row.get(0)?)
    })
}

fn failed_from_row(row: &Row<'_>) -> rusqlite::Result<FailedWindow> {
    from_row!(row, 1 => FailedWindow {
        transcript, origin, start, len, extractor, attempts, error, finished_at, id: WindowId(row.get(0)?)
    })
}

const fn outcome_name(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "ok",
        Outcome::OkEmpty => "ok_empty",
        Outcome::Partial => "partial",
        Outcome::Failed => "failed",
    }
}

#[cfg(test)]
impl Store {
    /// Claims one window.
    pub(in crate::store) fn claim_window(
        &self,
        key: &WindowKey,
        owner: &str,
        lease_until: Timestamp,
        now: Timestamp,
    ) -> Result<Claimed, StoreError> {
        Ok(self.claim_windows(std::slice::from_ref(key), owner, lease_until, now)?[0])
    }

    /// Finishes one window, which the owner must have claimed.
    pub(in crate::store) fn finish_window(
        &self,
        id: WindowId,
        owner: &str,
        finished: &Finished<'_>,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        match self.finish_windows(&[(id, *finished)], owner, now)?[..] {
            [true] => Ok(()),
            _ => Err(StoreError::NotOwner { id: id.0, owner: owner.to_owned() }),
        }
    }
}
