//! Requests to models: rendered once, stored before they are sent, and answered once.
//!
//! Requests about the same windows share a root: the first request about these windows. A process that continues the
//! extraction of the windows uses the stored requests and replies of the root. All other requests are identified only
//! by their hashes. The body of a request is dropped once its reply is stored and no window waits for the request any
//! more.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use jiff::{SignedDuration, Timestamp};
use rusqlite::{Connection, OptionalExtension as _, Params, Row, Transaction, TransactionBehavior, params};
use serde_json::Value;

use super::runs::process_may_live;
use super::{DoneWindow, TranscriptId, WindowId};
use crate::fault::point;
use crate::guard::{Guard, Redacted};
use crate::llm::{Reply, Request};
use crate::memory::Memory;
use crate::store::row::{from_row, json, query_all, to_json};
use crate::store::{Database, Store, StoreError};

/// Time for which a process's claim on a request that it is sending remains valid without a renewal.
// A longer claim would delay the next process, and a shorter one could pay for a request twice.
const LEASE: SignedDuration = SignedDuration::from_mins(1);

/// Identity of the first request about some windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct RequestId(i64);

/// A request about a part of some windows, to be stored.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RequestPart<'a> {
    /// The first request about the windows; `None` if this request is the first.
    pub root: Option<RequestId>,
    /// The name of the part and the purpose; the first word is the kind of the request.
    pub part: &'a str,
    /// Hash that identifies the reply to the request.
    pub key: &'a str,
    /// The request that is sent.
    pub request: &'a Request,
    /// Data needed for reading the reply.
    pub reading: &'a Value,
    /// The windows in order, each with the number of preceding messages that are shown as context.
    pub windows: &'a [(WindowId, usize)],
    /// The memories that are shown with the windows.
    pub known: &'a [Memory],
}

/// A request about a part of some windows, as it was stored.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct StoredRequest {
    /// Hash that identifies the reply to the request.
    pub key: String,
    /// The request, and data needed for reading the reply; `None` if an older version stored only the hash.
    pub body: Option<(Request, Value)>,
}

/// The first request about some unfinished windows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OpenRequest {
    /// Number of windows of the request.
    pub windows: usize,
    /// The memories that the request shows; `None` if the request has not been rendered yet.
    pub known: Option<Vec<Memory>>,
    /// Whether a request for these windows is pending in a batch.
    pub is_out: bool,
}

/// A window whose extraction has begun but is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnfinishedWindow {
    /// Position of the window in the transcript.
    pub window: DoneWindow,
    /// Number of preceding messages that a stored request includes as context.
    pub context: Option<usize>,
    /// The request that the window waits for, and the window's position among the windows of that request.
    pub request: Option<(RequestId, usize)>,
}

/// Whether a request may be sent.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RequestClaim {
    /// The caller may send the request, as long as it renews the claim at least once a minute.
    Mine,
    /// The request was answered.
    Answered(Reply),
    /// The request waits in a batch of the provider.
    InBatch,
    /// Another caller is sending the request.
    Other,
}

impl Store {
    /// Stores a request about windows before it is sent, and returns the root of the windows. Returns `None` if the
    /// same request is already stored for other windows; in that case, the request is identified only by its hash.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn keep_request(&self, part: &RequestPart<'_>, now: Timestamp) -> Result<Option<RequestId>, StoreError> {
        // The body is compressed before the transaction, so that no other writer waits for it.
        let body = compressed(part.request);
        let kind = part.part.split(' ').next().unwrap_or_default();
        self.read(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let stored: Option<i64> = transaction
                .prepare_cached(
                    "INSERT INTO requests (key, kind, part, body, reading, state, created_at)
                     VALUES (?1, ?2, ?3, ?4, ?5, 'rendered', ?6)
                     ON CONFLICT (key) DO UPDATE SET kind = ?2, part = ?3, body = ?4, reading = ?5,
                        state = iif(text IS NULL, state, 'answered')
                     WHERE root IS NULL OR root = ?7 OR state = 'closed' RETURNING id",
                )?
                .query_row(
                    params![
                        part.key,
                        kind,
                        part.part,
                        body,
                        to_json(part.reading)?,
                        now.as_millisecond(),
                        part.root.map(|root| root.0)
                    ],
                    |row| row.get(0),
                )
                .optional()?;
            // Two groups of windows may render the same text; the second group finds the reply by its key.
            let Some(id) = stored else { return Ok(part.root) };
            let root = part.root.map_or(id, |root| root.0);
            transaction.prepare_cached("UPDATE requests SET root = ?2 WHERE id = ?1")?.execute([id, root])?;
            transaction
                .prepare_cached("UPDATE requests SET known = ?2 WHERE id = ?1 AND known IS NULL")?
                .execute(params![root, to_json(&part.known)?])?;
            if part.root.is_none() {
                transaction.prepare_cached("DELETE FROM request_windows WHERE request = ?1")?.execute([root])?;
                for (place, (window, context)) in part.windows.iter().enumerate() {
                    transaction
                        .prepare_cached(
                            "INSERT INTO request_windows (request, place, window, context) VALUES (?1, ?2, ?3, ?4)",
                        )?
                        .execute(params![root, place, window.0, context])?;
                }
            }
            transaction.commit()?;
            point("request.rendered");
            Ok(Some(RequestId(root)))
        })
    }

    /// Claims a request, unless it is answered or another process is sending it. The request is stored before it is
    /// sent. A claim must be renewed every half minute; it is void without renewal, or if its process has ended.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn claim_request(
        &self,
        key: &str,
        request: &Request,
        owner: &str,
        now: Timestamp,
    ) -> Result<RequestClaim, StoreError> {
        // The body is compressed before the transaction, so that no other writer waits for it.
        let body = compressed(request);
        self.read(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            let found = transaction
                .prepare_cached(
                    "SELECT text, finish, prompt_tokens, completion_tokens, model, state, batch, owner, pid, lease_until
                     FROM requests WHERE key = ?1",
                )?
                .query_row([key], |row| claim_of(row, owner, now))
                .optional()?;
            // Dropping the transaction releases the lock without a write.
            if let Some(claim) = found.filter(|claim| *claim != RequestClaim::Mine) {
                return Ok(claim);
            }
            // The owner of a free request is NULL. `<>` would not count NULL as another owner, but `IS NOT` does.
            transaction
                .prepare_cached(
                    "INSERT INTO requests (key, kind, body, state, owner, pid, lease_until, attempts, created_at)
                     VALUES (?1, ?2, ?3, 'asked', ?4, ?5, ?6, 1, ?7)
                     ON CONFLICT (key) DO UPDATE SET body = ?3, state = 'asked', batch = NULL, owner = ?4, pid = ?5,
                        attempts = attempts + (owner IS NOT ?4), lease_until = ?6",
                )?
                .execute(params![
                    key,
                    request.schema.name.as_ref(),
                    body,
                    owner,
                    std::process::id(),
                    (now + LEASE).as_millisecond(),
                    now.as_millisecond()
                ])?;
            // The claim is committed before anything is sent, so that a crash leaves a record of the request.
            transaction.commit()?;
            Ok(RequestClaim::Mine)
        })
    }

    /// Renews the claim of `owner` on a request that is being sent.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn renew_request(&self, key: &str, owner: &str, now: Timestamp) -> Result<(), StoreError> {
        self.execute(
            "UPDATE requests SET lease_until = ?3 WHERE key = ?1 AND owner = ?2",
            params![key, owner, (now + LEASE).as_millisecond()],
        )
        .map(drop)
    }

    /// Releases the claim of `owner` on a request that received no reply.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn release_request(&self, key: &str, owner: &str) -> Result<(), StoreError> {
        self.execute(
            "UPDATE requests SET state = 'failed', owner = NULL, pid = NULL, lease_until = NULL,
                body = iif(root IS NULL, NULL, body)
             WHERE key = ?1 AND owner = ?2 AND state = 'asked'",
            [key, owner],
        )
        .map(drop)
    }

    /// Stores a reply with the key `key`, and with its text replaced by `text`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn save_reply(
        &self,
        key: &str,
        text: &Redacted<String>,
        reply: &Reply,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.read(|conn| put_reply(conn, key, text, reply, now))
    }

    /// Deletes the replies with the keys `keys`, ignoring missing replies. A request that windows wait for is kept and
    /// may be sent again.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn forget_replies(&self, keys: &[String]) -> Result<(), StoreError> {
        for key in keys {
            // A row with a body belongs to waiting windows, so only its reply is deleted.
            self.execute("DELETE FROM requests WHERE key = ?1 AND text IS NOT NULL AND body IS NULL", [key])?;
            self.execute(
                "UPDATE requests SET state = 'failed', text = NULL, finish = NULL, answered_at = NULL
                 WHERE key = ?1 AND text IS NOT NULL",
                [key],
            )?;
        }
        Ok(())
    }

    /// Abandons the request about some windows, so that they may be regrouped in a new request. Replies are kept.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn close_request(&self, root: RequestId) -> Result<(), StoreError> {
        self.read(|conn| {
            let transaction = Transaction::new_unchecked(conn, TransactionBehavior::Immediate)?;
            close(&transaction, root.0)?;
            Ok(transaction.commit()?)
        })
    }
}

impl Database {
    /// Returns the reply with the key `key`, which is the hash of the request.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn reply(&self, key: &str) -> Result<Option<Reply>, StoreError> {
        self.query_one(
            "SELECT text, finish, prompt_tokens, completion_tokens, model FROM requests
             WHERE key = ?1 AND text IS NOT NULL",
            [key],
            reply_of,
        )
    }

    /// Returns the request about `part` of the windows of `root`, if it was rendered and has not failed since then. A
    /// failed request is rendered again with the current settings. `guard` redacts its texts.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn stored_request(
        &self,
        root: RequestId,
        part: &str,
        guard: &Guard,
    ) -> Result<Option<StoredRequest>, StoreError> {
        type Found = (String, Option<Vec<u8>>, Option<String>);
        // Older program versions did not store a part for the first request.
        let found: Option<Found> = self.query_one(
            "SELECT key, body, reading FROM requests WHERE root = ?1 AND key IS NOT NULL AND state <> 'failed'
             AND (part = ?2 OR (part IS NULL AND id = ?1 AND ?2 LIKE 'extract %'))
             ORDER BY part IS NULL, id DESC LIMIT 1",
            params![root.0, part],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)),
        )?;
        let Some((key, body, reading)) = found else { return Ok(None) };
        let body = body.zip(reading).and_then(|(body, reading)| {
            // An unreadable body counts as missing, as in a file of an older version.
            Some((Request::from_body(&decompressed(&body)?, guard)?, serde_json::from_str(&reading).ok()?))
        });
        Ok(Some(StoredRequest { key, body }))
    }

    /// Returns the windows of a transcript that this extractor has begun but not finished, sorted by position.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn unfinished_windows(
        &self,
        transcript: TranscriptId,
        extractor: &str,
    ) -> Result<Vec<UnfinishedWindow>, StoreError> {
        self.query_all(
            "SELECT w.start, w.len, w.content_hash, iif(l.context < 0, NULL, l.context), l.request, l.place
             FROM windows w
             LEFT JOIN (request_windows l JOIN requests r ON r.id = l.request AND r.state <> 'closed') ON l.window = w.id
             WHERE w.transcript_id = ?1 AND w.extractor = ?2 AND w.status <> 'done'
             AND (w.status = 'failed' OR l.request IS NOT NULL) ORDER BY w.start, w.id, l.request",
            params![transcript.0, extractor],
            |row| {
                Ok(UnfinishedWindow {
                    window: DoneWindow { start: row.get(0)?, len: row.get(1)?, content_hash: row.get(2)? },
                    context: row.get(3)?,
                    request: row.get::<_, Option<i64>>(4)?.map(RequestId).zip(row.get(5)?),
                })
            },
        )
    }

    /// Returns the first request about some windows; `None` if the request is closed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn open_request(&self, root: RequestId) -> Result<Option<OpenRequest>, StoreError> {
        self.query_one(
            "SELECT (SELECT count(*) FROM request_windows WHERE request = ?1), known, EXISTS (
                SELECT 1 FROM requests WHERE root = ?1 AND state = 'asked' AND batch IS NOT NULL)
             FROM requests WHERE id = ?1 AND state <> 'closed'",
            [root.0],
            |row| {
                let known: Option<String> = row.get(1)?;
                Ok(OpenRequest {
                    windows: row.get(0)?,
                    known: known.map(|known| json(&known, 1)).transpose()?,
                    is_out: row.get(2)?,
                })
            },
        )
    }
}

/// Stores a reply within the current transaction of `conn`.
pub(super) fn put_reply(
    conn: &Connection,
    key: &str,
    text: &Redacted<String>,
    reply: &Reply,
    now: Timestamp,
) -> Result<(), StoreError> {
    conn.prepare_cached(
        "INSERT INTO requests (key, kind, state, model, text, finish, prompt_tokens, completion_tokens, created_at,
            answered_at) VALUES (?1, 'reply', 'answered', ?2, ?3, ?4, ?5, ?6, ?7, ?7)
         ON CONFLICT (key) DO UPDATE SET state = 'answered', model = ?2, text = ?3, finish = ?4, prompt_tokens = ?5,
            completion_tokens = ?6, answered_at = ?7, owner = NULL, pid = NULL, lease_until = NULL,
            body = iif(root IS NULL, NULL, body)",
    )?
    .execute(params![
        key,
        reply.model,
        text.as_str(),
        to_json(&reply.finish)?,
        reply.prompt_tokens,
        reply.completion_tokens,
        now.as_millisecond(),
    ])?;
    Ok(())
}

/// Closes the requests about finished windows, because no window waits for them any more.
pub(super) fn close_those_about(conn: &Connection, windows: &[i64]) -> Result<(), StoreError> {
    let sql = "SELECT DISTINCT r.id FROM request_windows l JOIN requests r ON r.id = l.request AND r.state <> 'closed'
               WHERE l.window IN (SELECT value FROM json_each(?1)) ORDER BY r.id";
    close_all(conn, sql, [to_json(&windows)?])
}

/// Closes the requests that show a memory, and drops all other unanswered requests, because any of them may show it.
pub(in crate::store) fn close_requests_showing(conn: &Connection, memory: &str) -> Result<(), StoreError> {
    // The ID is searched for in the JSON as text: a false match merely causes one request to be rendered again.
    close_all(conn, "SELECT DISTINCT root FROM requests WHERE instr(known, ?1) > 0 AND root IS NOT NULL", [memory])?;
    drop_bodies_without_windows(conn)
}

/// Drops the requests about the windows of the transcripts `keys`, the requests that show any of the memories `ids`,
/// and all replies, because a reply does not show which conversation it is about. Both lists are JSON. Returns the
/// number of deleted replies. Answers to requests in flight are no longer accepted.
pub(in crate::store) fn forget_requests_about(conn: &Connection, keys: &str, ids: &str) -> Result<usize, StoreError> {
    conn.execute(
        "DELETE FROM requests WHERE text IS NULL AND root IN (
         SELECT l.request FROM request_windows l JOIN windows w ON w.id = l.window
         JOIN transcripts t ON t.id = w.transcript_id WHERE t.key IN (SELECT value FROM json_each(?1))
         UNION SELECT r.root FROM requests r, json_each(?2) j WHERE instr(r.known, j.value) > 0)",
        [keys, ids],
    )?;
    // Replies are identified only by the hash of their request, so nothing shows which replies quote the erased text.
    let replies = conn.execute("DELETE FROM requests WHERE text IS NOT NULL", ())?;
    drop_bodies_without_windows(conn)?;
    Ok(replies)
}

fn drop_bodies_without_windows(conn: &Connection) -> Result<(), StoreError> {
    conn.execute(
        "DELETE FROM requests WHERE root IS NULL AND text IS NULL AND NOT (state = 'asked' AND batch IS NOT NULL)",
        (),
    )?;
    conn.execute("UPDATE requests SET body = NULL WHERE root IS NULL AND body IS NOT NULL", ())?;
    Ok(())
}

fn close_all(conn: &Connection, roots: &str, params: impl Params) -> Result<(), StoreError> {
    let roots: Vec<i64> = query_all(conn, roots, params, |row| row.get(0))?;
    roots.into_iter().try_for_each(|root| close(conn, root))
}

/// Closes a root with its requests. Replies are kept, and unanswered requests are deleted unless they are in flight.
fn close(conn: &Connection, root: i64) -> Result<(), StoreError> {
    let statements = [
        "UPDATE requests SET body = NULL, known = NULL, reading = NULL, part = NULL,
         state = iif(text IS NULL, state, 'closed') WHERE root = ?1",
        "DELETE FROM request_windows WHERE request = ?1 AND EXISTS (SELECT 1 FROM requests WHERE id = ?1 AND text IS NULL)",
        "DELETE FROM requests WHERE root = ?1 AND text IS NULL AND NOT (state = 'asked' AND batch IS NOT NULL)",
    ];
    for sql in statements {
        conn.prepare_cached(sql)?.execute([root])?;
    }
    Ok(())
}

fn reply_of(row: &Row<'_>) -> rusqlite::Result<Reply> {
    from_row!(row, 0 => Reply { text, finish, prompt_tokens, completion_tokens, model })
}

fn claim_of(row: &Row<'_>, owner: &str, now: Timestamp) -> rusqlite::Result<RequestClaim> {
    // A stored reply takes precedence over any claim.
    if row.get::<_, Option<String>>(0)?.is_some() {
        return reply_of(row).map(RequestClaim::Answered);
    }
    if row.get::<_, String>(5)? != "asked" {
        return Ok(RequestClaim::Mine);
    }
    if row.get::<_, Option<String>>(6)?.is_some() {
        return Ok(RequestClaim::InBatch);
    }
    // A task that is retried within one run may repeat a claim of the same run.
    let is_same = row.get::<_, Option<String>>(7)?.as_deref() == Some(owner);
    let (pid, until): (Option<u32>, i64) = (row.get(8)?, row.get::<_, Option<i64>>(9)?.unwrap_or(0));
    // A claim with a later end must have been made with a wrong clock.
    let is_live = until > now.as_millisecond() && until <= (now + LEASE + LEASE).as_millisecond();
    let is_free = is_same || !is_live || pid.is_none_or(|pid| !process_may_live(pid));
    Ok(if is_free { RequestClaim::Mine } else { RequestClaim::Other })
}

/// Returns the body of a request in its stored, compressed form, which is at most about a third of its length.
fn compressed(request: &Request) -> Vec<u8> {
    // The fast level is used because bodies are short-lived, and better compression would take time for every request.
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(request.body().to_string().as_bytes());
    written.and_then(|()| encoder.finish()).expect("writing to a buffer in memory cannot fail")
}

fn decompressed(body: &[u8]) -> Option<Value> {
    let mut text = String::new();
    ZlibDecoder::new(body).read_to_string(&mut text).ok()?;
    serde_json::from_str(&text).ok()
}

#[cfg(test)]
impl RequestId {
    pub(crate) const fn from_stored(id: i64) -> Self {
        Self(id)
    }
}
