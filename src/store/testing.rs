//! Sample memories for tests, and the content of a file as text.

use std::fmt::Write as _;

use jiff::Timestamp;
use rusqlite::types::ValueRef;

use super::{LogTasks, Store, StoreError, Writer};
use crate::changeset::{Action, share_as_stored};
use crate::guard::{CleanText, Guard, Redact, Redacted};
use crate::memory::{Audience, MemoryId};
use crate::memory::{
    Candidate, Citation, Claim, Evidence, ExtractionMethod, Memory, MemoryType, Namespace, Relation, RelationType,
    TaskFile, TaskOutcome, TaskRecord,
};
use transcripts::{Message, MessageTime, Transcript};

/// Returns 2026-03-01T12:00:00Z plus this many days.
pub(crate) fn day(days: i64) -> Timestamp {
    Timestamp::from_second(1_772_366_400 + days * 86_400).unwrap()
}

pub(crate) fn clean<T: Redact>(value: T) -> Redacted<T> {
    Guard::default().redact(value).0
}

pub(crate) fn shop() -> Namespace {
    "project/shop".parse().unwrap()
}

pub(crate) fn memory(title: &str, content: &str) -> Memory {
    memory_in(&shop(), title, content)
}

pub(crate) fn memory_in(namespace: &Namespace, title: &str, content: &str) -> Memory {
    let claim = Claim::new(MemoryType::Semantic, "fact", title, content);
    Memory::new(claim, namespace.clone(), "manual", ExtractionMethod::Manual, day(0))
}

pub(crate) fn quote(text: &str) -> Evidence {
    Evidence {
        transcript: "jsonl:talk-1".into(),
        messages: vec!["m1".into(), "m2".into()],
        quote: text.into(),
        speaker: Some("Ana".into()),
        said_at: Some(MessageTime::logged(day(-1))),
        content_hash: "00ff".into(),
    }
}

pub(crate) fn candidate(content: &str) -> Candidate {
    let claim = Claim::new(MemoryType::Semantic, "fact", "A fact", content);
    Candidate {
        claim,
        audience: Audience::Project,
        evidence: vec![quote(content)],
        replaces: None,
        is_pasted: false,
        is_shipped: false,
        updates_only: false,
    }
}

pub(crate) fn transcript(id: &str) -> Transcript {
    let said = |text: &str| Message { time: Some(MessageTime::logged(day(-1))), ..Message::user(text) };
    Transcript {
        source: "jsonl".into(),
        external_id: id.into(),
        origin: format!("{id}.jsonl"),
        messages: vec![said("We deploy on Fridays."), said("No, on Mondays.")],
        ..Transcript::default()
    }
}

pub(crate) fn relation(from: &MemoryId, relation_type: RelationType, to: &MemoryId) -> Relation {
    Relation { from: from.clone(), to: to.clone(), relation_type, reason: Some("says so".into()), created_at: day(0) }
}

/// Performs a write without a run, on day 0.
pub(crate) fn write<T>(store: &Store, change: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>) -> T {
    store.write(None, day(0), change).unwrap()
}

pub(crate) fn insert(store: &Store, memory: &Memory) {
    write(store, |w| w.insert(&clean(memory.clone()), &clean(Vec::new())));
}

/// Returns a completed task of day 1 that edited these files.
pub(crate) fn task(goal: &str, files: &[&str]) -> TaskRecord {
    let file = |path: &&str| TaskFile {
        path: (*path).to_owned(),
        edited: 1,
        messages: vec!["m2".into()],
        ..TaskFile::default()
    };
    TaskRecord {
        goal: goal.into(),
        outcome: TaskOutcome::Done,
        reason: "files were changed, and the assistant reported at the end".into(),
        started_at: Some(day(1)),
        ended_at: Some(day(1)),
        folder: None,
        branch: None,
        report: Some(Citation { text: "Done.".into(), message: "m3".into() }),
        remarks: Vec::new(),
        files: files.iter().map(file).collect(),
        symbols: Vec::new(),
        words: Vec::new(),
        commands: Vec::new(),
        errors: Vec::new(),
        tests: Vec::new(),
        commits: Vec::new(),
        pull_requests: Vec::new(),
        messages: ("m1".into(), "m3".into()),
    }
}

/// Stores the tasks of a log in a project.
pub(crate) fn put_tasks(store: &Store, transcript: &str, project: &str, records: &[TaskRecord]) {
    let (records, namespace) = (clean(records.to_vec()), Namespace::project(project).unwrap());
    let log = LogTasks { transcript, parent: None, namespace: &namespace, records: &records };
    write(store, |writer| writer.put_tasks(&log));
}

impl Writer<'_> {
    /// Sets only the confidence. `updated_at` is unchanged, because a memory does not become newer when its confidence
    /// changes.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub(crate) fn set_confidence(
        &self,
        id: &MemoryId,
        confidence: f64,
        action: Action,
        reason: Option<CleanText<'_>>,
    ) -> Result<bool, StoreError> {
        let mut memory = self.memory(id)?;
        memory.claim.confidence = share_as_stored(confidence);
        self.replace(memory, action, reason)
    }
}

/// Tables that grow even if the content is unchanged: the history, the runs, and the counts of changes.
const GROWING: &[&str] = &["history", "revisions", "runs", "sqlite_sequence", "audit", "vector_revision", "changesets"];

/// Returns the whole content, for tests that check that nothing else changed: one line per row of every table, and one line per position of each word in the index.
pub(super) fn snapshot(store: &Store) -> Vec<String> {
    let conn = &store.conn;
    conn.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.near_places USING fts5vocab(main, memory_near, instance);",
    )
    .unwrap();
    let mut tables: Vec<String> = conn
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'memory_near%' ORDER BY name")
        .unwrap()
        .query_map((), |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .filter(|name: &String| !GROWING.contains(&name.as_str()))
        .collect();
    tables.push("temp.near_places".into());
    let mut lines: Vec<String> = tables.iter().flat_map(|table| rows(store, table)).collect();
    lines.sort();
    lines
}

fn rows(store: &Store, table: &str) -> Vec<String> {
    let mut statement = store.conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = statement.query(()).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let mut line = table.to_owned();
        for (index, name) in names.iter().enumerate() {
            // Restored evidence gets a new row number.
            if table != "evidence" || name != "id" {
                let value: ValueRef<'_> = row.get_ref(index).unwrap();
                write!(line, " {name}={value:?}").unwrap();
            }
        }
        lines.push(line);
    }
    lines
}
