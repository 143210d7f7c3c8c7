//! The work ledger: tasks from agents' logs, and the indexes for finding them.
//!
//! A task is derived from its log alone, so it is not part of a changeset. Each run that reads a different version of a
//! task adds a row, and undoing the run makes the previous row current again.

mod words;

use std::collections::BTreeSet;

use jiff::Timestamp;
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, Transaction, params, params_from_iter};
use sha2::{Digest as _, Sha256};
use transcripts::hex;

use crate::guard::{Redact as _, Redacted};
use crate::memory::{MemoryId, Namespace, Task, TaskError, TaskRecord, string_enum};
use crate::store::file::seal::mark_unsealed;
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::row::{ID_HAS_PART, from_row, json, rows, spelled, to_json};
use crate::store::{Database, NamespaceSubtree, RunId, StoreError, Writer};
use crate::text::shell;

#[cfg(test)]
use words::digest;
use words::task_words;
pub(crate) use words::{further_words, stored_words, word_number};

string_enum!(
    /// The kinds of keys for looking up tasks.
    FactKind, "a kind of key", {
    /// The path of a file.
    Path = "path",
    /// The last part of the path of a file.
    FileName = "name",
    /// The signature of an error.
    Error = "error",
    /// The signature of a command.
    Command = "command",
    /// A failed command that was replaced by another command.
    Failed = "failed",
    /// A program, script or task that a command calls and that is not in general use.
    Program = "program",
});

const INSERT_FACT: &str = "INSERT OR IGNORE INTO task_facts (kind, key, task) VALUES (?1, ?2, ?3)";

/// Number of tasks, newest first, whose branches are compared.
const MAX_BRANCHES: usize = 200;

impl Database {
    /// Returns decisions that pass `filter` and were made in recent conversations on a branch.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn decisions_on_branch(
        &self,
        branch: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<MemoryId>, StoreError> {
        let tasks = Clauses::within_alone(filter);
        let memories = Clauses::of(&Filter { categories: vec!["decision".to_owned()], ..filter.clone() });
        // Branches are not indexed, so only the newest tasks are read.
        let sql = format!(
            "SELECT DISTINCT m.id FROM (SELECT m.transcript, m.record FROM tasks m
                 WHERE m.state = 'current' AND {} ORDER BY m.seq DESC LIMIT {MAX_BRANCHES}) t
             JOIN evidence e ON e.transcript = t.transcript JOIN memories m ON m.id = e.memory_id
             WHERE json_extract(t.record, '$.branch') = ? AND {} ORDER BY m.id DESC LIMIT {}",
            tasks.sql(),
            memories.sql(),
            rows(limit),
        );
        let values = tasks.values.into_iter().chain([Value::from(branch.to_owned())]).chain(memories.values);
        self.query_all(&sql, params_from_iter(values), |row| row.get(0))
    }
}

/// The tasks of a log, and the project of the log.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LogTasks<'a> {
    /// The key of the log.
    pub transcript: &'a str,
    /// For the log of a sub-agent: the key of the session that started the sub-agent.
    pub parent: Option<&'a str>,
    /// The project.
    pub namespace: &'a Namespace,
    /// The tasks, in order.
    pub records: &'a Redacted<Vec<TaskRecord>>,
}

const COLUMNS: &str = "t.seq, t.id, t.transcript, t.parent, t.place, t.namespace, t.record";
impl Writer<'_> {
    /// Stores the tasks of a log, and returns the number of new or changed tasks.
    ///
    /// An undone version remains undone until the log changes.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn put_tasks(&self, log: &LogTasks<'_>) -> Result<usize, StoreError> {
        let mut changed = 0;
        for (place, record) in log.records.iter().enumerate() {
            let text = to_json(record)?;
            let newest = self.query_one(
                "SELECT seq, state, record = ?3 AND namespace = ?4, run IS ?5 FROM tasks
                 WHERE transcript = ?1 AND place = ?2 ORDER BY seq DESC LIMIT 1",
                params![log.transcript, place, text, log.namespace.to_string(), self.run.map(RunId::as_str)],
                |row| {
                    Ok((
                        row.get::<_, i64>(0)?,
                        row.get::<_, String>(1)?,
                        row.get::<_, bool>(2)?,
                        row.get::<_, bool>(3)?,
                    ))
                },
            )?;
            match &newest {
                Some((_, state, true, _)) if state != "replaced" => continue,
                // One run adds at most one version, even if it reads the log several times.
                Some((seq, state, _, true)) if state == "current" => {
                    self.execute("DELETE FROM tasks WHERE seq = ?1", [seq])?;
                }
                Some((seq, ..)) => self.retire_task(*seq)?,
                None => {}
            }
            self.insert_task(log, place, record, &text)?;
            changed += 1;
        }
        // If a log was rewound, the tasks after its end no longer exist.
        let beyond = self.query_all(
            "SELECT seq FROM tasks WHERE transcript = ?1 AND place >= ?2 AND state = 'current' ORDER BY seq",
            params![log.transcript, log.records.len()],
            |row| row.get(0),
        )?;
        for seq in beyond {
            self.retire_task(seq)?;
        }
        Ok(changed)
    }

    fn insert_task(&self, log: &LogTasks<'_>, place: usize, record: &TaskRecord, text: &str) -> Result<(), StoreError> {
        let seq = self.query_only(
            "INSERT INTO tasks (id, transcript, parent, place, namespace, run, state, started_at, record)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'current', ?7, ?8) RETURNING seq",
            params![
                task_id(log.transcript, place),
                log.transcript,
                log.parent,
                place,
                log.namespace.to_string(),
                self.run.map(RunId::as_str),
                record.started_at.map(Timestamp::as_millisecond),
                text,
            ],
            |row| row.get(0),
        )?;
        self.index_task(seq, record)
    }

    /// Stores a task that was exported elsewhere, unless a task exists at the same position in the same log, even one
    /// that a later state has replaced. Returns whether the task was stored.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn import_task(&self, task: &Task) -> Result<bool, StoreError> {
        let sql = "SELECT 1 FROM tasks WHERE transcript = ?1 AND place = ?2 AND state <> 'undone'";
        let is_known = self.query_one(sql, params![task.transcript, task.place], |_| Ok(()))?.is_some();
        if is_known || self.is_withdrawn(&task.transcript)? {
            return Ok(false);
        }
        let records = self.redact(vec![task.record.clone()]);
        let parent = task.parent.as_deref();
        let log = LogTasks { transcript: &task.transcript, parent, namespace: &task.namespace, records: &records };
        self.insert_task(&log, task.place, &records[0], &to_json(&records[0])?)?;
        Ok(true)
    }

    /// Stores a task that an applied plan contains, unless a later state of it is known.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(in crate::store) fn take_task(&self, task: &Task) -> Result<(), StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t WHERE t.transcript = ?1 AND t.place = ?2 AND t.state = 'current' LIMIT 1"
        );
        let known = self.query_one(&sql, params![task.transcript, task.place], task_from_row)?;
        let is_later = |known: &Task| known.record == task.record || known.record.ended_at > task.record.ended_at;
        if known.as_ref().is_some_and(is_later) || self.is_withdrawn(&task.transcript)? {
            return Ok(());
        }
        if let Some(known) = known {
            self.retire_task(known.row)?;
        }
        let records = self.redact(vec![task.record.clone()]);
        let (parent, namespace) = (task.parent.as_deref(), self.merged_into(&task.namespace)?);
        let log = LogTasks { transcript: &task.transcript, parent, namespace: &namespace, records: &records };
        self.insert_task(&log, task.place, &records[0], &to_json(&records[0])?)
    }

    /// Marks a version as past, so that searches no longer find it.
    fn retire_task(&self, seq: i64) -> Result<(), StoreError> {
        self.execute("UPDATE tasks SET state = 'replaced' WHERE seq = ?1 AND state = 'current'", [seq])?;
        self.execute("DELETE FROM task_facts WHERE task = ?1", [seq])?;
        self.execute("DELETE FROM task_words WHERE task = ?1", [seq]).map(drop)
    }

    fn index_task(&self, seq: i64, record: &TaskRecord) -> Result<(), StoreError> {
        for (kind, key) in facts(record) {
            self.execute(INSERT_FACT, params![kind.as_str(), key, seq])?;
        }
        let (length, words) = task_words(record);
        let sql = "INSERT OR REPLACE INTO task_words (task, length, words) VALUES (?1, ?2, ?3)";
        self.execute(sql, params![seq, length, words]).map(drop)
    }

    /// Stores the tasks again that a run had added and that were undone, unless other tasks are at their positions now.
    /// Returns the number of tasks.
    pub(super) fn redo_tasks(&self, run: &RunId) -> Result<usize, StoreError> {
        let sql = format!("SELECT {COLUMNS} FROM tasks t WHERE t.run = ?1 AND t.state = 'undone' ORDER BY t.seq");
        let undone: Vec<Task> = self.query_all(&sql, [run.as_str()], task_from_row)?;
        undone.iter().try_fold(0, |count, task| Ok(count + usize::from(self.import_task(task)?)))
    }

    /// Removes the versions that a run added, makes the previous versions current again, and returns the number of
    /// tasks that this changes.
    pub(super) fn undo_tasks(&self, run: &RunId) -> Result<usize, StoreError> {
        let added = self.query_all(
            "SELECT seq, transcript, place, state FROM tasks WHERE run = ?1 ORDER BY seq DESC",
            [run.as_str()],
            |row| {
                Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?, row.get::<_, String>(3)?))
            },
        )?;
        let mut changed = 0;
        for (seq, transcript, place, state) in added {
            self.retire_task(seq)?;
            self.execute("UPDATE tasks SET state = 'undone' WHERE seq = ?1", [seq])?;
            if state != "current" {
                continue;
            }
            changed += 1;
            let before = self.query_one(
                "SELECT seq, record FROM tasks WHERE transcript = ?1 AND place = ?2 AND seq < ?3 AND state = 'replaced'
                 ORDER BY seq DESC LIMIT 1",
                params![transcript, place, seq],
                |row| Ok((row.get::<_, i64>(0)?, json::<TaskRecord>(row.get_ref(1)?.as_str()?, 1)?)),
            )?;
            if let Some((seq, record)) = before {
                self.execute("UPDATE tasks SET state = 'current' WHERE seq = ?1", [seq])?;
                self.index_task(seq, &record)?;
            }
        }
        Ok(changed)
    }
}

/// Returns the id of a task.
fn task_id(transcript: &str, place: usize) -> String {
    hex(&Sha256::digest(format!("{transcript}#{place}").as_bytes())[..8])
}

/// Returns all keys for looking up a task.
fn facts(record: &TaskRecord) -> BTreeSet<(FactKind, String)> {
    let mut found = BTreeSet::new();
    for file in &record.files {
        for path in std::iter::once(&file.path).chain(&file.renamed_to) {
            found.insert((FactKind::Path, path.clone()));
            found.insert((FactKind::FileName, path.rsplit('/').next().unwrap_or(path).to_owned()));
        }
    }
    found.extend(record.errors.iter().map(|error| (FactKind::Error, error.signature.clone())));
    // The migration that added this kind of key uses the same condition.
    let is_replaced = |error: &&TaskError| error.cleared.as_ref().is_some_and(|one| one.command != error.command);
    let replaced = record.errors.iter().filter(is_replaced);
    found.extend(replaced.map(|error| (FactKind::Failed, error.command.clone())));
    let signatures = record.commands.iter().filter_map(|command| command.signature.clone());
    found.extend(signatures.map(|signature| (FactKind::Command, signature)));
    found.extend(called(record).into_iter().map(|program| (FactKind::Program, program)));
    found
}

/// Returns the programs that a task called and that are not in general use.
fn called(record: &TaskRecord) -> BTreeSet<String> {
    record.commands.iter().flat_map(|one| shell::programs(&one.command)).collect()
}

/// Adds the programs that the existing tasks called.
pub(in crate::store) fn fill_programs(file: &Transaction<'_>) -> Result<(), StoreError> {
    let mut tasks = file.prepare("SELECT seq, record FROM tasks WHERE state = 'current'")?;
    let mut insert = file.prepare(INSERT_FACT)?;
    let stored = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, json::<TaskRecord>(row.get_ref(1)?.as_str()?, 1)?));
    for task in tasks.query_map((), stored)? {
        let (seq, record) = task?;
        for program in called(&record) {
            insert.execute(params![FactKind::Program.as_str(), program, seq])?;
        }
    }
    Ok(())
}

/// Removes the names from the existing tasks that no other text of their task mentions. Earlier versions recorded values
/// of settings among the names, and neither their form nor their context distinguishes them any more.
pub(in crate::store) fn forget_names(file: &Transaction<'_>) -> Result<(), StoreError> {
    file.pragma_update(None, "secure_delete", "ON")?;
    let mut tasks = file.prepare("SELECT seq, record FROM tasks ORDER BY seq")?;
    let mut write = file.prepare("UPDATE tasks SET record = ?2 WHERE seq = ?1")?;
    let mut index = file.prepare("UPDATE task_words SET length = ?2, words = ?3 WHERE task = ?1")?;
    let stored = |row: &Row<'_>| Ok((row.get::<_, i64>(0)?, json::<TaskRecord>(row.get_ref(1)?.as_str()?, 1)?));
    let mut is_changed = false;
    for task in tasks.query_map((), stored)? {
        let (seq, mut record) = task?;
        let (names, mut texts) = (std::mem::take(&mut record.symbols), Vec::new());
        record.clone().edit_texts(&mut |text| texts.push(std::mem::take(text)));
        let count = names.len();
        record.symbols = names.into_iter().filter(|name| texts.iter().any(|text| text.contains(name))).collect();
        if record.symbols.len() < count {
            let (length, words) = task_words(&record);
            write.execute(params![seq, to_json(&record)?])?;
            index.execute(params![seq, length, words])?;
            is_changed = true;
        }
    }
    // Freed parts of the file may contain versions of the tasks that no longer exist.
    if is_changed {
        mark_unsealed(file, Timestamp::now())?;
    }
    Ok(file.pragma_update(None, "secure_delete", "FAST")?)
}

impl Database {
    /// Returns the namespaces to search, including namespaces that were merged into them, as a JSON list; `None` means
    /// all.
    fn task_spaces(&self, within: &[NamespaceSubtree]) -> Result<Option<String>, StoreError> {
        if within.is_empty() {
            return Ok(None);
        }
        // Each step looks up the next namespace in the index, because DISTINCT would read the entries of all tasks.
        let sql = "WITH RECURSIVE found (namespace) AS (
                 SELECT min(namespace) FROM tasks WHERE state = 'current'
                 UNION ALL
                 SELECT (SELECT min(namespace) FROM tasks WHERE state = 'current' AND namespace > found.namespace)
                 FROM found WHERE found.namespace IS NOT NULL)
             SELECT namespace FROM found WHERE namespace IS NOT NULL ORDER BY namespace";
        let mut meant = Vec::new();
        for namespace in self.query_all(sql, (), |row| spelled::<Namespace>(row, 0))? {
            let now = self.merged_into(&namespace)?;
            if within.iter().any(|one| one.contains(&now)) {
                meant.push(namespace.to_string());
            }
        }
        to_json(&meant).map(Some)
    }

    /// Returns the current tasks that have this key, newest first.
    ///
    /// `within` contains the projects to search; if it is empty, all projects are searched.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn tasks_with(
        &self,
        kind: FactKind,
        key: &str,
        within: &[NamespaceSubtree],
        limit: usize,
    ) -> Result<Vec<Task>, StoreError> {
        // A thousand tasks may run the same command, so only the records of the newest are read.
        let sql = format!(
            "SELECT {COLUMNS} FROM (
                 SELECT t.seq AS wanted FROM task_facts f JOIN tasks t ON t.seq = f.task
                 WHERE f.kind = ?2 AND f.key = ?3 AND (?1 IS NULL OR t.namespace IN (SELECT value FROM json_each(?1)))
                 ORDER BY t.started_at DESC, t.seq DESC LIMIT ?4
             ) CROSS JOIN tasks t ON t.seq = wanted ORDER BY t.started_at DESC, t.seq DESC"
        );
        self.query_all(&sql, params![self.task_spaces(within)?, kind.as_str(), key, limit], task_from_row)
    }

    /// Returns the keys among `keys` that current tasks in these projects have, in the given order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn known_keys(
        &self,
        kind: FactKind,
        keys: &[String],
        within: &[NamespaceSubtree],
    ) -> Result<Vec<String>, StoreError> {
        let sql = "SELECT w.value FROM json_each(?3) w WHERE EXISTS (
                 SELECT 1 FROM task_facts f JOIN tasks t ON t.seq = f.task WHERE f.kind = ?2 AND f.key = w.value
                 AND (?1 IS NULL OR t.namespace IN (SELECT value FROM json_each(?1))))
             ORDER BY w.key";
        self.query_all(sql, params![self.task_spaces(within)?, kind.as_str(), to_json(&keys)?], |row| row.get(0))
    }

    /// Returns all keys of a kind in these projects, with the number of tasks for each key.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn task_keys(
        &self,
        kind: FactKind,
        within: &[NamespaceSubtree],
    ) -> Result<Vec<(String, usize)>, StoreError> {
        let sql = "SELECT f.key, count(*) FROM task_facts f WHERE f.kind = ?2 AND (?1 IS NULL OR f.task IN (
                 SELECT seq FROM tasks WHERE state = 'current' AND namespace IN (SELECT value FROM json_each(?1))
             )) GROUP BY f.key ORDER BY f.key";
        self.query_all(sql, params![self.task_spaces(within)?, kind.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
    }

    /// Returns the current tasks in these rows, in the given order.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn tasks_at(&self, rows: &[i64]) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM json_each(?1) wanted CROSS JOIN tasks t ON t.seq = wanted.value ORDER BY wanted.key"
        );
        self.query_all(&sql, [to_json(&rows)?], task_from_row)
    }

    /// Returns the current tasks that a run recorded.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(in crate::store) fn tasks_by(&self, run: &RunId) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t WHERE t.run = ?1 AND t.state = 'current' ORDER BY t.transcript, t.place"
        );
        self.query_all(&sql, [run.as_str()], task_from_row)
    }

    /// Returns the current tasks with these ids, newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn tasks_of(&self, ids: &[String]) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t WHERE t.state = 'current' AND t.id IN (SELECT value FROM json_each(?1))
             ORDER BY t.started_at DESC, t.seq DESC"
        );
        self.query_all(&sql, [to_json(&ids)?], task_from_row)
    }

    /// Returns at most two current tasks whose ids begin or end with `part`, of at least four characters. A task whose
    /// whole id it is comes first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn tasks_like(&self, part: &str) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t WHERE t.state = 'current' AND length(?1) >= 4 AND {ID_HAS_PART}
             ORDER BY t.id <> ?1, t.seq LIMIT 2"
        );
        self.query_all(&sql, [part.to_ascii_lowercase()], task_from_row)
    }

    /// Returns the current tasks of these projects, or of all projects if the list is empty, sorted by log and
    /// position.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn tasks(&self, within: &[NamespaceSubtree]) -> Result<Vec<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t
             WHERE t.state = 'current' AND (?1 IS NULL OR t.namespace IN (SELECT value FROM json_each(?1))) ORDER BY t.transcript, t.place"
        );
        self.query_all(&sql, [self.task_spaces(within)?], task_from_row)
    }

    /// Calls `take` with the row, the length and the words of each current task in these projects.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn for_task_words(
        &self,
        within: &[NamespaceSubtree],
        mut take: impl FnMut(i64, u32, &[u8]),
    ) -> Result<(), StoreError> {
        let spaces = self.task_spaces(within)?;
        // Only current tasks have words, and the records of other tasks are not read.
        let which = match spaces {
            Some(_) => {
                "w.task IN (SELECT t.seq FROM tasks t
                     WHERE t.state = 'current' AND t.namespace IN (SELECT value FROM json_each(?1)))"
            }
            None => "?1 IS NULL",
        };
        let sql = format!("SELECT w.task, w.length, w.words FROM task_words w WHERE {which} ORDER BY w.task");
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let mut rows = statement.query([spaces])?;
            while let Some(row) = rows.next()? {
                take(row.get(0)?, row.get(1)?, row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?);
            }
            Ok(())
        })
    }

    /// Returns the task that started the sub-agent if this is a sub-agent's task, or otherwise the task itself.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn in_session(&self, task: Task) -> Result<Task, StoreError> {
        let Some(parent) = &task.parent else { return Ok(task) };
        let at = task.record.started_at.map(Timestamp::as_millisecond);
        Ok(self.task_around(parent, at)?.unwrap_or(task))
    }

    /// Returns the task in which a sub-agent of `parent` was started at this time.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn task_around(&self, parent: &str, at: Option<i64>) -> Result<Option<Task>, StoreError> {
        let sql = format!(
            "SELECT {COLUMNS} FROM tasks t WHERE t.transcript = ?1 AND t.state = 'current'
             ORDER BY t.started_at <= ?2 DESC, CASE WHEN t.started_at <= ?2 THEN -t.place ELSE t.place END LIMIT 1"
        );
        self.read(|conn| Ok(conn.prepare_cached(&sql)?.query_row(params![parent, at], task_from_row).optional()?))
    }
}

fn task_from_row(row: &Row<'_>) -> rusqlite::Result<Task> {
    from_row!(row, 0 => Task { row, id, transcript, parent, place, namespace, record })
}

#[cfg(test)]
mod tests;
