//! Which conversations are meant.

use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Row, params};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::memory::Namespace;
use crate::store::row::time_or_none;
use crate::store::{Database, Store, StoreError};
use transcripts::hex;
use transcripts::true_path;

/// What is to be erased.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Scope {
    /// One conversation: its key, its id, or the id of the session that it is a part of.
    Session(String),
    /// Everything from one place: a log, a folder, a program such as `claude-code`, the key of a conversation, or a source
    /// that is none, such as `import:notes`.
    Source(String),
    /// Everything of one project.
    Project(Namespace),
    /// Every conversation that ended before this moment; those of unknown time stay.
    Before(Timestamp),
}

/// A conversation that something is known of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Conversation {
    /// `source:external_id`.
    pub key: String,
    /// Where it was read; empty where only memories tell of it.
    pub origin: String,
    /// Its title.
    pub title: Option<String>,
    /// The earliest time known of it.
    pub started_at: Option<Timestamp>,
    /// The latest time known of it.
    pub ended_at: Option<Timestamp>,
    #[serde(skip)]
    namespace: String,
}

/// What was read, and what only evidence tells of.
const ALL: &str = "
    SELECT key, origin, title, started_at, ended_at, namespace FROM transcripts
    UNION ALL
    SELECT e.transcript, '', NULL, min(e.said_at), max(e.said_at), m.namespace
        FROM evidence e JOIN memories m ON m.id = e.memory_id
        WHERE e.transcript NOT IN (SELECT key FROM transcripts) GROUP BY e.transcript
    ORDER BY 1";
/// Sources that are no conversations, such as imports: only who names one means it.
const OTHERS: &str = "
    SELECT source, '', NULL, NULL, NULL, namespace FROM memories
    WHERE source NOT IN (SELECT key FROM transcripts) AND source NOT IN (SELECT transcript FROM evidence)
    GROUP BY source ORDER BY 1";

impl Database {
    /// Returns the conversations of `scope`, by key.
    pub(super) fn conversations_in(&self, scope: &Scope) -> Result<Vec<Conversation>, StoreError> {
        self.read(|conn| {
            let mut all: Vec<Conversation> = Vec::new();
            for sql in [ALL, OTHERS].iter().take(if matches!(scope, Scope::Source(_)) { 2 } else { 1 }) {
                let mut statement = conn.prepare(sql)?;
                all.extend(statement.query_map((), conversation_from_row)?.collect::<Result<Vec<_>, _>>()?);
            }
            all.retain(|one| scope.holds(one));
            Ok(all)
        })
    }

    /// Whether a person had this conversation erased, so that it is not read again unasked.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn is_withdrawn(&self, key: &str) -> Result<bool, StoreError> {
        self.read(|conn| {
            Ok(conn.prepare_cached("SELECT 1 FROM withdrawn WHERE key_hash = ?1")?.exists([key_hash(key)])?)
        })
    }
}

impl Store {
    /// Lets a conversation be read again that was erased; returns whether it was.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn readmit(&self, key: &str) -> Result<bool, StoreError> {
        self.read(|conn| {
            Ok(conn.prepare_cached("DELETE FROM withdrawn WHERE key_hash = ?1")?.execute(params![key_hash(key)])? > 0)
        })
    }
}

impl Scope {
    fn holds(&self, one: &Conversation) -> bool {
        let (source, id) = one.key.split_once(':').unwrap_or(("", &one.key));
        match self {
            // Agents of a session have its id as a part of theirs.
            Self::Session(text) => one.key == *text || id == text || id.split(['/', '#']).any(|part| part == text),
            Self::Source(text) => one.key == *text || source == text || lies_under(&one.origin, text),
            Self::Project(namespace) => {
                let within = one.namespace.strip_prefix(&namespace.to_string());
                within.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }
            Self::Before(at) => one.ended_at.or(one.started_at).is_some_and(|ended| ended < *at),
        }
    }
}

/// Whether what was read at `origin` is the log or lies in the folder or archive that `text` names.
pub(super) fn lies_under(origin: &str, text: &str) -> bool {
    if origin.is_empty() || text.is_empty() {
        return false;
    }
    // Several conversations of one file are told apart behind a mark.
    let file = origin.rsplit_once('#').filter(|(_, part)| part.bytes().all(|b| b.is_ascii_digit()));
    let origins = [Some(origin), file.map(|(file, _)| file)];
    origins.into_iter().flatten().any(|origin| {
        Path::new(origin).starts_with(text) || true_path(Path::new(origin)).starts_with(true_path(Path::new(text)))
    })
}

/// Returns what stands for a conversation that nothing is to be left of.
pub(super) fn key_hash(key: &str) -> String {
    hex(&Sha256::digest(key.as_bytes()))
}

fn conversation_from_row(row: &Row<'_>) -> rusqlite::Result<Conversation> {
    Ok(Conversation {
        key: row.get(0)?,
        origin: row.get(1)?,
        title: row.get(2)?,
        started_at: time_or_none(row, 3)?,
        ended_at: time_or_none(row, 4)?,
        namespace: row.get(5)?,
    })
}
