//! Transcripts and log files that were read, and the context that agents read at every start.

use std::collections::HashMap;
use std::path::Path;

use jiff::Timestamp;
use rusqlite::{Row, params};
use serde::{Deserialize, Serialize};
use transcripts::Transcript;

use super::TranscriptId;
use crate::fault::point;
use crate::guard::{Redact, Redacted};
use crate::memory::{Namespace, string_enum};
use crate::store::row::{columns, from_row, spelled};
use crate::store::{Database, Store, StoreError, Writer};

/// A transcript that was read, reduced to the fields that are compared with a file name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SeenTranscript {
    /// Identity of the transcript within its source.
    pub external_id: String,
    /// Path or address that the transcript was read from.
    pub origin: String,
    /// The earliest known time in the transcript.
    pub started_at: Option<Timestamp>,
    /// The latest known time in the transcript.
    pub ended_at: Option<Timestamp>,
}

string_enum!(
    /// The outcome of reading a log.
    FileOutcome, "the outcome of a file", {
    /// The file was read.
    Read = "read",
    /// The format of the file is unknown.
    PassedOver = "passed_over",
    /// The file is a dataset that nobody requested by name.
    Dataset = "dataset",
});

columns!(spelled: FileOutcome);

/// A log that was read to its end, and whose windows have all been extracted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRead {
    /// Hash of the log's path.
    pub path: String,
    /// A stamp of the log's state, which reveals changes.
    pub stamp: String,
    /// The outcome of reading the log.
    pub outcome: FileOutcome,
    /// Number of conversations in the log.
    pub transcripts: u64,
    /// Number of messages in these conversations.
    pub messages: u64,
    /// Number of windows of the conversations, all of which are finished.
    pub windows: u64,
    /// Number of unusable records in the log.
    pub skipped_records: u64,
}

impl Database {
    /// Returns every transcript that was read, sorted by key.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn transcripts_seen(&self) -> Result<Vec<SeenTranscript>, StoreError> {
        self.query_all(
            "SELECT external_id, origin, started_at, ended_at FROM transcripts ORDER BY key",
            (),
            |row| from_row!(row, 0 => SeenTranscript { external_id, origin, started_at, ended_at }),
        )
    }

    /// Returns the location that the transcript with this key was read from.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn origin_of(&self, key: &str) -> Result<Option<String>, StoreError> {
        self.query_one("SELECT origin FROM transcripts WHERE key = ?1", [key], |row| row.get(0))
    }

    /// Returns the logs that this extractor has finished, indexed by the hash of the path. `signature` represents
    /// everything else that the outcome depends on.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn files_read(&self, extractor: &str, signature: &str) -> Result<HashMap<String, FileRead>, StoreError> {
        let found = self.query_all(
            "SELECT path, stamp, outcome, transcripts, messages, windows, skipped_records FROM files
             WHERE extractor = ?1 AND signature = ?2 ORDER BY path",
            (extractor, signature),
            file_from_row,
        )?;
        Ok(found.into_iter().map(|file| (file.path.clone(), file)).collect())
    }

    /// Returns, for each hash of a path, the stamps of logs that any extractor has finished, with the number of
    /// conversations. The result is empty if the database comes from a version that did not record this.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn stamps_of_files(&self) -> Result<HashMap<String, HashMap<String, u64>>, StoreError> {
        let mut stamps: HashMap<String, HashMap<String, u64>> = HashMap::new();
        if self.has_table("files")? {
            let sql = "SELECT path, stamp, transcripts FROM files ORDER BY path, extractor";
            for (path, stamp, transcripts) in
                self.query_all(sql, (), |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?
            {
                stamps.entry(path).or_default().insert(stamp, transcripts);
            }
        }
        Ok(stamps)
    }

    /// Returns whether any extractor has read the log with this key, in the state `stamp`, to its end.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn was_read(&self, key: &str, stamp: &str) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM files WHERE path = ?1 AND stamp = ?2";
        Ok(self.query_one(sql, (key, stamp), |_| Ok(()))?.is_some())
    }
}

/// Returns the origin of a log with an absolute path, because the log is opened again from other folders. The origin of
/// a conversation that is not from a file is unchanged.
fn lasting(origin: &str) -> String {
    // Several conversations in one file are distinguished by a number after `#`.
    let file = origin.rsplit_once('#').map_or(origin, |(file, _)| file);
    let is_file = [origin, file].into_iter().any(|path| Path::new(path).is_file());
    let whole = if is_file { std::path::absolute(origin).ok() } else { None };
    whole.map_or_else(|| origin.to_owned(), |path| path.display().to_string())
}

impl Store {
    /// Records that a transcript was read in its current state, and returns the transcript's id; the same key always
    /// has the same id. `user` is the namespace for memories about the user, if that is not `global`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn transcript_seen(
        &self,
        transcript: &Redacted<Transcript>,
        namespace: &Namespace,
        user: Option<&Namespace>,
        now: Timestamp,
    ) -> Result<TranscriptId, StoreError> {
        // This is an upsert, because `INSERT OR REPLACE` would assign a new id to the transcript and orphan its
        // windows.
        let id = self.query_one(
            "INSERT INTO transcripts (key, source, external_id, origin, title, project, namespace, started_at, ended_at,
             message_count, updated_at, user_namespace)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
             ON CONFLICT (key) DO UPDATE SET origin = ?4, title = ?5, project = ?6, namespace = ?7,
             started_at = ?8, ended_at = ?9, message_count = ?10, updated_at = ?11, user_namespace = ?12
             RETURNING id",
            params![
                transcript.key(),
                transcript.source,
                transcript.external_id,
                lasting(&transcript.origin),
                transcript.title,
                transcript.project,
                namespace.to_string(),
                transcript.started_at().map(Timestamp::as_millisecond),
                transcript.ended_at().map(Timestamp::as_millisecond),
                transcript.messages.len(),
                now.as_millisecond(),
                user.map(ToString::to_string),
            ],
            |row| row.get(0),
        )?;
        Ok(TranscriptId(id.expect("an upsert without a condition returns its row")))
    }

    /// Records that a log was read to its end.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn file_read(
        &self,
        extractor: &str,
        signature: &str,
        file: &FileRead,
        now: Timestamp,
    ) -> Result<(), StoreError> {
        self.execute(
            "INSERT OR REPLACE INTO files (path, extractor, stamp, signature, outcome, transcripts, messages, windows,
             skipped_records, read_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
            params![
                file.path,
                extractor,
                file.stamp,
                signature,
                file.outcome.as_str(),
                file.transcripts,
                file.messages,
                file.windows,
                file.skipped_records,
                now.as_millisecond(),
            ],
        )?;
        point("file.noted");
        Ok(())
    }
}

fn file_from_row(row: &Row<'_>) -> rusqlite::Result<FileRead> {
    from_row!(row, 0 => FileRead { path, stamp, outcome, transcripts, messages, windows, skipped_records })
}

/// A line of a file that agents read at every start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KnownLine {
    /// The file's name, preceded by digits that represent its folder.
    pub origin: String,
    /// The line, without list markers.
    pub text: String,
}

impl Redact for KnownLine {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        edit(&mut self.text);
    }
}

// `UNION`, unlike `UNION ALL`, drops namespaces that were already visited, so circular merges end.
const KNOWN: &str = "
    WITH RECURSIVE spaces (namespace) AS (
        VALUES (?1)
        UNION SELECT merges.namespace FROM project_merges merges JOIN spaces ON merges.into_namespace = spaces.namespace
    )
    SELECT DISTINCT origin, text FROM known_context JOIN spaces USING (namespace) ORDER BY origin, text";

impl Database {
    /// Returns the lines that agents read in `namespace` and in the namespaces merged into it, sorted by file and text.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn known_context(&self, namespace: &Namespace) -> Result<Vec<KnownLine>, StoreError> {
        self.query_all(KNOWN, [namespace.to_string()], |row| Ok(KnownLine { origin: row.get(0)?, text: row.get(1)? }))
    }
}

impl Writer<'_> {
    /// Replaces the stored lines of the files in `lines` for `namespace`; returns the number of new lines.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn set_known_context(
        &self,
        namespace: &Namespace,
        lines: &Redacted<Vec<KnownLine>>,
    ) -> Result<usize, StoreError> {
        // The lines are compared before and after, because most lines are deleted and inserted again without a change.
        let before = self.known_context(namespace)?;
        let place = namespace.to_string();
        // All old lines of a file are deleted first, because several of the lines may come from one file.
        for line in lines.iter() {
            self.execute("DELETE FROM known_context WHERE namespace = ?1 AND origin = ?2", (&place, &line.origin))?;
        }
        for line in lines.iter() {
            let sql = "INSERT OR IGNORE INTO known_context (namespace, origin, text) VALUES (?1, ?2, ?3)";
            self.execute(sql, (&place, &line.origin, &line.text))?;
        }
        let after = self.known_context(namespace)?;
        Ok(after.iter().filter(|line| !before.contains(line)).count())
    }
}

#[cfg(test)]
mod file_tests {
    use super::*;

    #[test]
    fn a_log_is_known_under_the_extractor_and_the_signature_that_finished_it() {
        let store = Store::in_memory().unwrap();
        let file = |stamp: &str| FileRead {
            path: "p".into(),
            stamp: stamp.into(),
            outcome: FileOutcome::Read,
            transcripts: 1,
            messages: 2,
            windows: 3,
            skipped_records: 0,
        };
        store.file_read("rules-1", "s", &file("a"), Timestamp::UNIX_EPOCH).unwrap();
        store.file_read("rules-1", "s", &file("b"), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(store.files_read("rules-1", "s").unwrap(), HashMap::from([("p".to_owned(), file("b"))]));
        assert!(
            store.files_read("llm", "s").unwrap().is_empty() && store.files_read("rules-1", "t").unwrap().is_empty()
        );
        store.file_read("llm", "s", &file("c"), Timestamp::UNIX_EPOCH).unwrap();
        let stamps = HashMap::from([("b".to_owned(), 1), ("c".to_owned(), 1)]);
        assert_eq!(store.stamps_of_files().unwrap()["p"], stamps);
    }
}

#[cfg(test)]
mod known_context_tests {
    use super::*;
    use crate::guard::Guard;
    use crate::store::Store;

    #[test]
    fn a_file_that_changed_counts_as_it_is_now() {
        let (store, guard, place) = (Store::in_memory().unwrap(), Guard::default(), Namespace::global());
        let set = |origin: &str, texts: &[&str]| {
            let lines = texts.iter().map(|text| KnownLine { origin: origin.into(), text: (*text).into() });
            let lines = guard.redact(lines.collect::<Vec<_>>()).0;
            store.write(None, Timestamp::UNIX_EPOCH, |writer| writer.set_known_context(&place, &lines)).unwrap()
        };
        assert_eq!((set("A.md", &["a", "b"]), set("B.md", &["c"]), set("A.md", &["b", "d"])), (2, 1, 1));
        let texts: Vec<_> = store.known_context(&place).unwrap().into_iter().map(|line| line.text).collect();
        assert_eq!(texts, ["b", "d", "c"]);
        assert!(store.known_context(&Namespace::project("x").unwrap()).unwrap().is_empty());
    }
}
