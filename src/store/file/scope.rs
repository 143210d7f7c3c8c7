//! The conversations that an erasure selects, and those that were erased.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::Row;
use serde::Serialize;
use sha2::{Digest, Sha256};
use transcripts::{hex, true_path};

use crate::memory::{MemoryId, Namespace};
use crate::store::row::{from_row, query_all};
use crate::store::{Database, Store, StoreError};

/// The conversations to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// One conversation: its key, its id, or the id of the session that contains it.
    Session(String),
    /// Everything from one source: a log, a folder, a program such as `claude-code`, the key of a conversation, or a
    /// source other than a conversation, such as `import:notes`.
    Source(String),
    /// Everything of one project.
    Project(Namespace),
    /// Every conversation that ended before this moment; conversations of unknown time are kept.
    Before(Timestamp),
    /// One memory alone. Its conversations are kept.
    Memory(MemoryId),
}

/// A known conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conversation {
    /// `source:external_id`.
    pub key: String,
    /// Path that the conversation was read from; empty if only memories refer to the conversation.
    pub origin: String,
    /// Title of the conversation.
    pub title: Option<String>,
    /// The earliest known time in the conversation.
    pub started_at: Option<Timestamp>,
    /// The latest known time in the conversation.
    pub ended_at: Option<Timestamp>,
    #[serde(skip)]
    namespace: String,
}

/// Conversations that were read, and conversations that only evidence, tasks or undone changes refer to. The key contains
/// `?1`.
const ALL: &str = "
    SELECT key, origin, title, started_at, ended_at, namespace FROM transcripts WHERE instr(key, ?1) > 0
    UNION ALL
    SELECT e.transcript, '', NULL, min(e.said_at), max(e.said_at), m.namespace
        FROM evidence e JOIN memories m ON m.id = e.memory_id
        WHERE instr(e.transcript, ?1) > 0 AND e.transcript NOT IN (SELECT key FROM transcripts) GROUP BY e.transcript
    UNION ALL
    SELECT transcript, '', NULL, min(started_at), max(started_at), namespace FROM tasks
        WHERE instr(transcript, ?1) > 0 AND transcript NOT IN (SELECT key FROM transcripts)
            AND transcript NOT IN (SELECT transcript FROM evidence) GROUP BY transcript
    UNION ALL
    SELECT coalesce(after, before) ->> '$.transcript' AS transcript, '', NULL, NULL, NULL, '' FROM history
        WHERE entity = 'evidence' AND undone = 1 AND instr(transcript, ?1) > 0
            AND transcript NOT IN (SELECT key FROM transcripts) AND transcript NOT IN (SELECT transcript FROM evidence)
            AND transcript NOT IN (SELECT transcript FROM tasks)
        GROUP BY 1
    ORDER BY 1";
/// Whether a text is the key of a conversation.
const IS_KEY: &str = "SELECT 1 WHERE EXISTS (SELECT 1 FROM transcripts WHERE key = ?1) OR EXISTS (SELECT 1 FROM evidence WHERE transcript = ?1)";
/// Sources other than conversations, such as imports; they match only if specified explicitly.
const OTHERS: &str = "
    SELECT source, '', NULL, NULL, NULL, namespace FROM memories
    WHERE instr(source, ?1) > 0 AND source NOT IN (SELECT key FROM transcripts) AND source NOT IN (SELECT transcript FROM evidence)
    GROUP BY source
    UNION ALL
    SELECT coalesce(after, before) ->> '$.source' AS source, '', NULL, NULL, NULL, '' FROM history
    WHERE entity = 'memory' AND undone = 1 AND instr(source, ?1) > 0 AND source NOT IN (SELECT key FROM transcripts)
        AND source NOT IN (SELECT transcript FROM evidence) AND source NOT IN (SELECT source FROM memories)
    GROUP BY 1 ORDER BY 1";

impl Database {
    /// Returns the conversations of `scope`, sorted by key.
    pub(super) fn conversations_in(&self, scope: &Scope) -> Result<Vec<Conversation>, StoreError> {
        // A conversation is specified by a part of its key; the empty text is a part of every key.
        let part = match scope {
            Scope::Session(text) => text.as_str(),
            Scope::Source(_) | Scope::Project(_) | Scope::Before(_) => "",
            Scope::Memory(_) => return Ok(Vec::new()),
        };
        self.read(|conn| {
            let mut all: Vec<Conversation> = Vec::new();
            for sql in [ALL, OTHERS].iter().take(if matches!(scope, Scope::Source(_)) { 2 } else { 1 }) {
                // A whole key is looked up in the indexes; a part may be in any key.
                let is_key = conn.prepare(IS_KEY)?.exists([part])?;
                let sql =
                    if is_key { sql.replace("instr(", "(?1 = ").replace(", ?1) > 0", ")") } else { (*sql).into() };
                all.extend(query_all(conn, &sql, [part], conversation_from_row)?);
            }
            all.retain(|one| scope.holds(one));
            Ok(all)
        })
    }

    /// Returns whether a person erased this conversation, so that it must not be read again unless requested.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn is_withdrawn(&self, key: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM withdrawn WHERE key_hash = ?1)";
        self.query_only(sql, [key_hash(key)], |row| row.get(0))
    }
}

impl Store {
    /// Allows an erased conversation to be read again; returns whether it had been erased.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn readmit(&self, key: &str) -> Result<bool, StoreError> {
        Ok(self.execute("DELETE FROM withdrawn WHERE key_hash = ?1", [key_hash(key)])? > 0)
    }
}

impl Scope {
    /// Returns the namespace of the project that is erased as a whole, if any.
    pub(super) fn project(&self) -> Option<String> {
        if let Self::Project(namespace) = self { Some(namespace.to_string()) } else { None }
    }

    fn holds(&self, one: &Conversation) -> bool {
        let (source, id) = one.key.split_once(':').unwrap_or(("", &one.key));
        match self {
            // The ids of a session's sub-agents contain the id of the session.
            Self::Session(text) => one.key == *text || id == text || id.split(['/', '#']).any(|part| part == text),
            Self::Source(text) => one.key == *text || source == text || lies_under(&one.origin, text),
            Self::Project(namespace) => {
                let within = one.namespace.strip_prefix(&namespace.to_string());
                // The slash keeps `project/shop` from matching `project/shopping`.
                within.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            Self::Before(at) => one.ended_at.or(one.started_at).is_some_and(|ended| ended < *at),
            Self::Memory(_) => false,
        }
    }
}

/// Returns whether `origin` is the log `text`, or is inside the folder or archive `text`.
pub(super) fn lies_under(origin: &str, text: &str) -> bool {
    // Every path starts with the empty path, so an empty `text` would match all logs.
    if origin.is_empty() || text.is_empty() {
        return false;
    }
    // Conversations in the same file are distinguished by a number after `#`.
    let file = origin.rsplit_once('#').filter(|(_, part)| part.bytes().all(|b| b.is_ascii_digit()));
    let origins = [Some(origin), file.map(|(file, _)| file)];
    origins.into_iter().flatten().any(|origin| {
        // Paths are compared both with their links resolved and as they are spelled, because links in the path of a
        // deleted log cannot be resolved.
        Path::new(origin).starts_with(text) || true_path(Path::new(origin)).starts_with(true_path(Path::new(text)))
    })
}

/// Returns the hash that identifies a withdrawn conversation.
pub(super) fn key_hash(key: &str) -> String {
    // The key is hashed because it may contain the name of a person or a project.
    hex(&Sha256::digest(key.as_bytes()))
}

fn conversation_from_row(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    from_row!(row, 0 => Conversation { key, origin, title, started_at, ended_at, namespace })
}
