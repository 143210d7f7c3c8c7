//! The part of the ledger that a plan contains, so that the plan's windows count as finished in the file that the plan
//! is applied to.
//!
//! A plan is made on a copy. Only the copy contains the conversations that were read, the candidates that were
//! extracted from them, and their projects. This module reads these rows from the copy, and writes them to the file
//! together with the plan.

use std::collections::BTreeSet;

use rusqlite::params;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::guard::Redact;
use crate::guard::Redacted;
use crate::memory::{Candidate, Namespace, Task};
use crate::store::RunId;
use crate::store::row::{from_row, spelled, to_json};
use crate::store::{Database, StoreError, Writer};

/// Rows of one file's ledger that are transferred to another file with the same memories. Times are milliseconds since
/// 1970.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanLedger {
    /// Conversations, sorted by key.
    #[serde(default)]
    transcripts: Vec<Conversation>,
    /// The windows of these conversations, sorted by conversation and position.
    #[serde(default)]
    windows: Vec<Part>,
    /// Projects of the affected namespaces, sorted by id.
    #[serde(default)]
    projects: Vec<Known>,
    /// Folders of these projects.
    #[serde(default)]
    folders: Vec<Folder>,
    /// Pairs of projects that turned out to be the same: the content of the first is now in the second.
    #[serde(default)]
    merges: Vec<(Namespace, Namespace)>,
    /// Tasks of the work ledger.
    #[serde(default)]
    tasks: Vec<Task>,
    /// The conversations whose words the run attributed to one person, each with that person.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    attributions: Vec<(String, String)>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Conversation {
    key: String,
    source: String,
    external_id: String,
    origin: String,
    title: Option<String>,
    project: Option<String>,
    namespace: Namespace,
    started_at: Option<i64>,
    ended_at: Option<i64>,
    message_count: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Part {
    transcript: String,
    extractor: String,
    start: i64,
    len: i64,
    content_hash: String,
    outcome: String,
    candidates: Vec<Candidate>,
    dropped: Value,
    spent: Value,
    error: Option<String>,
    lacks: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Known {
    id: String,
    name: String,
    namespace: Namespace,
    seen_at: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Folder {
    path: String,
    project: String,
    mark: Option<String>,
    seen_at: i64,
}

impl PlanLedger {
    /// Returns the pairs of projects to be merged before anything else is written: in each pair, the first is merged
    /// into the second.
    pub(crate) fn merges(&self) -> &[(Namespace, Namespace)] {
        &self.merges
    }

    /// Returns the ledger with the conversations whose words the run attributed to one person.
    #[must_use]
    pub(crate) fn with_attributions(self, attributions: Vec<(String, String)>) -> Self {
        Self { attributions, ..self }
    }

    fn namespaces(&self) -> BTreeSet<&Namespace> {
        self.transcripts.iter().map(|transcript| &transcript.namespace).collect()
    }
}

impl Redact for PlanLedger {
    fn edit_texts(&mut self, edit: &mut dyn FnMut(&mut String)) {
        for transcript in &mut self.transcripts {
            edit(&mut transcript.origin);
            transcript.title.edit_texts(edit);
            transcript.project.edit_texts(edit);
        }
        for window in &mut self.windows {
            window.candidates.edit_texts(edit);
            window.dropped.edit_texts(edit);
            window.error.edit_texts(edit);
        }
        self.tasks.iter_mut().for_each(|task| task.record.edit_texts(edit));
        self.attributions.iter_mut().for_each(|(_, speaker)| edit(speaker));
    }
}

impl Database {
    /// Returns the conversations that `run` has read and the windows that it has finished, with the affected projects.
    ///
    /// # Errors
    /// [`StoreError::UnknownRun`] if there is no such run.
    pub(crate) fn plan_ledger(&self, run: &RunId) -> Result<PlanLedger, StoreError> {
        // Windows without candidates refer to no run, so their time identifies them.
        let begun = self.run(run.as_str())?.started_at.as_millisecond();
        // The windows are read first, because they determine which transcripts are transferred.
        let windows = self.carried_windows(run, begun)?;
        let transcripts = self.carried_transcripts(&windows)?;
        let mut carried = PlanLedger { transcripts, windows, tasks: self.tasks_by(run)?, ..PlanLedger::default() };
        carried.merges =
            self.query_all("SELECT namespace, into_namespace FROM project_merges ORDER BY namespace", (), |row| {
                Ok((spelled(row, 0)?, spelled(row, 1)?))
            })?;
        let wanted: BTreeSet<Namespace> = carried.namespaces().into_iter().cloned().collect();
        carried.projects = self.carried_projects()?;
        carried.projects.retain(|project| wanted.contains(&project.namespace));
        let ids: BTreeSet<&str> = carried.projects.iter().map(|project| project.id.as_str()).collect();
        carried.folders = self.carried_folders()?;
        carried.folders.retain(|folder| ids.contains(folder.project.as_str()));
        Ok(carried)
    }

    /// Returns the windows that the run applied, and those in which it found nothing.
    fn carried_windows(&self, run: &RunId, begun: i64) -> Result<Vec<Part>, StoreError> {
        self.query_all(
            "SELECT t.key, w.extractor, w.start, w.len, w.content_hash, w.outcome, w.candidates, w.dropped, w.spent,
                 w.error, w.lacks FROM windows w JOIN transcripts t ON t.id = w.transcript_id
                 WHERE w.status = 'done' AND (w.applied_run = ?1 OR (w.applied_run IS NULL AND w.applied_at >= ?2))
                 ORDER BY t.key, w.start, w.id",
            params![run.as_str(), begun],
            |row| {
                from_row!(row, 0 => Part {
                    transcript, extractor, start, len, content_hash, outcome, candidates, dropped, spent, error,
                    lacks
                })
            },
        )
    }

    fn carried_transcripts(&self, windows: &[Part]) -> Result<Vec<Conversation>, StoreError> {
        let wanted: BTreeSet<&str> = windows.iter().map(|window| window.transcript.as_str()).collect();
        let mut all = self.query_all(
            "SELECT key, source, external_id, origin, title, project, namespace, started_at, ended_at, message_count
             FROM transcripts ORDER BY key",
            (),
            |row| {
                from_row!(row, 0 => Conversation {
                    key, source, external_id, origin, title, project, namespace, started_at, ended_at, message_count
                })
            },
        )?;
        all.retain(|transcript| wanted.contains(transcript.key.as_str()));
        Ok(all)
    }

    fn carried_projects(&self) -> Result<Vec<Known>, StoreError> {
        self.query_all(
            "SELECT id, name, namespace, seen_at FROM projects ORDER BY id",
            (),
            |row| from_row!(row, 0 => Known { id, name, namespace, seen_at }),
        )
    }

    fn carried_folders(&self) -> Result<Vec<Folder>, StoreError> {
        self.query_all(
            "SELECT path, project, mark, seen_at FROM project_paths ORDER BY path, project",
            (),
            |row| from_row!(row, 0 => Folder { path, project, mark, seen_at }),
        )
    }

    /// Returns a namespace of `carried` that belongs to a different project here than in the file of origin.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn taken_by_another(&self, carried: &PlanLedger) -> Result<Option<Namespace>, StoreError> {
        let here = self.carried_projects()?;
        let planned = |id: &str| carried.projects.iter().find(|project| project.id == id);
        let spaces = carried.namespaces();
        // Applying such a plan would put memories into the namespace of another project.
        let other = here.into_iter().find(|project| match planned(&project.id) {
            Some(planned) => planned.namespace != project.namespace,
            None => spaces.contains(&project.namespace),
        });
        Ok(other.map(|project| project.namespace))
    }
}

impl Writer<'_> {
    /// Writes the conversations and windows that were read in another file, as if the run of this write had applied
    /// them. Windows that are already finished here stay unchanged. Returns the number of windows that are newly
    /// applied.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn take_over(&self, carried: &PlanLedger) -> Result<usize, StoreError> {
        // The plan may come from a file that was written elsewhere, using a different guard.
        let carried = self.redact(carried.clone());
        self.take_projects(&carried)?;
        carried.transcripts.iter().try_for_each(|transcript| self.take_transcript(transcript))?;
        carried.tasks.iter().try_for_each(|task| self.take_task(task))?;
        for (transcript, speaker) in &carried.attributions {
            // The plan contains the decisions about the windows, so none of them is decided again.
            self.reattribute(transcript, speaker, &[])?;
        }
        carried.windows.iter().try_fold(0, |taken, window| Ok(taken + self.take_window(window)?))
    }

    fn take_projects(&self, carried: &Redacted<PlanLedger>) -> Result<(), StoreError> {
        for project in &carried.projects {
            self.put_project(&project.id, &project.name, &project.namespace, project.seen_at)?;
        }
        let put = |one: &Folder| self.put_folder(&one.path, &one.project, one.mark.as_deref(), one.seen_at);
        carried.folders.iter().try_for_each(put)
    }

    /// This file may have a newer record of the conversation, since the conversation may have grown.
    fn take_transcript(&self, transcript: &Conversation) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO transcripts (key, source, external_id, origin, title, project, namespace, started_at,
                 ended_at, message_count, updated_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
                 ON CONFLICT (key) DO NOTHING",
            params![
                transcript.key,
                transcript.source,
                transcript.external_id,
                transcript.origin,
                transcript.title,
                transcript.project,
                transcript.namespace.to_string(),
                transcript.started_at,
                transcript.ended_at,
                transcript.message_count,
                self.now.as_millisecond(),
            ],
        )
        .map(drop)
    }

    fn take_window(&self, window: &Part) -> Result<usize, StoreError> {
        // As in the file of origin, a window without candidates belongs to no run, so that no undo reopens it.
        let run = if window.candidates.is_empty() { None } else { self.run.map(RunId::as_str) };
        self.execute(
            "INSERT INTO windows (transcript_id, extractor, start, len, content_hash, status, outcome,
                     candidates, dropped, spent, error, lacks, finished_at, applied_at, applied_run)
                     SELECT id, ?2, ?3, ?4, ?5, 'done', ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?12, ?13
                     FROM transcripts WHERE key = ?1
                     ON CONFLICT (transcript_id, extractor, start, content_hash) DO UPDATE SET status = 'done',
                     owner = NULL, lease_until = NULL, outcome = ?6, candidates = ?7, dropped = ?8, spent = ?9,
                     error = ?10, lacks = ?11, finished_at = ?12, applied_at = ?12, applied_run = ?13
                     WHERE status = 'failed' OR (status = 'done' AND applied_at IS NULL)
                     OR (status = 'claimed' AND lease_until <= ?12)
                     OR applied_run IN (SELECT id FROM runs WHERE status = 'undone')",
            params![
                window.transcript,
                window.extractor,
                window.start,
                window.len,
                window.content_hash,
                window.outcome,
                to_json(&window.candidates)?,
                to_json(&window.dropped)?,
                to_json(&window.spent)?,
                window.error,
                window.lacks,
                self.now.as_millisecond(),
                run,
            ],
        )
    }
}
