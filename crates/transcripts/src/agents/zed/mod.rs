//! Zed's `threads.db`: each thread is one document, plain or compressed, in a row of its own.

mod document;

use std::io::Read;

use rusqlite::Row;
use serde_json::Value;

use self::document::messages_of;
use super::turn;
use crate::database::{self, Database};
use crate::json;
use crate::{Assembler, Head, IngestError, Ingestor, Input, MAX_RECORD_BYTES, Sink, identity};
use crate::{Message, MessageTime, TimeSource};

/// The ingestor's name, stored with each transcript.
const NAME: &str = "zed";

/// Reads Zed's threads.
pub struct Zed;

impl Ingestor for Zed {
    fn name(&self) -> &'static str {
        NAME
    }

    fn about(&self) -> &'static str {
        "Zed agent threads (threads.db)"
    }

    fn rule(&self) -> &'static str {
        "SQLite with the table `threads` that has `summary`, `data_type` and `data`"
    }

    fn sniff(&self, head: &Head<'_>) -> bool {
        let has = |column: &str| head.columns.iter().any(|there| there == column);
        has("threads.data_type") && has("threads.summary")
    }

    fn read(&self, input: Input, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let origin = input.path.display().to_string();
        let Some(database) = database::of(&input)? else {
            let reason = "it is no SQLite database".to_owned();
            return Err(IngestError::Database { path: input.path, reason });
        };
        read_threads(&database, &origin, sink)
    }
}

fn read_threads(database: &Database, origin: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    database.require("threads", &["id", "summary", "updated_at", "data_type", "data"])?;
    let column = |name| database.or_null("threads", name);
    // The order of the columns is what `document_of` and `draft_of` read.
    let sql = format!(
        "SELECT rowid, id, summary, updated_at, data_type, data, {}, {}, {} FROM threads ORDER BY rowid",
        column("parent_id"),
        column("folder_paths"),
        column("created_at"),
    );
    let mut statement = database.statement(&sql)?;
    let mut rows = database.rows(&mut statement, &[])?;
    while let Some(row) = database.next(&mut rows)? {
        let number = database::record_number(row, 0);
        match (database::text(row, 1), document_of(row)) {
            (None, _) => sink.skip(number, "a thread without an id"),
            (Some(_), Err(reason)) => sink.skip(number, reason),
            (Some(id), Ok((document, repaired))) => {
                sink.repaired += usize::from(repaired);
                read_thread(row, &id, &document, origin, sink);
            }
        }
    }
    Ok(())
}

/// Returns the thread in a row, unpacked.
fn document_of(row: &Row<'_>) -> Result<(Value, bool), String> {
    let kind = database::text(row, 4).unwrap_or_default();
    let limit = MAX_RECORD_BYTES;
    let stored = database::bytes(row, 5).ok_or("a thread without data")?;
    let mut text = Vec::new();
    match kind.as_str() {
        "json" => text.extend_from_slice(&stored[..stored.len().min(limit + 1)]),
        "zstd" => {
            let unpacked = zstd::stream::read::Decoder::new(stored).map(|reader| reader.take(limit as u64 + 1));
            let read = unpacked.and_then(|mut reader| reader.read_to_end(&mut text));
            read.map_err(|_| "a thread whose data cannot be unpacked")?;
        }
        _ => return Err("a thread whose data is of an unknown type".to_owned()),
    }
    if text.len() > limit {
        return Err(format!("a thread over the limit of {} MiB", limit >> 20));
    }
    let text = String::from_utf8_lossy(&text);
    json::parse(&text).map_err(|error| {
        if json::is_too_deep(&text) {
            "nested too deeply".to_owned()
        } else {
            format!("invalid JSON at column {}", error.column())
        }
    })
}

fn read_thread(row: &Row<'_>, id: &str, document: &Value, origin: &str, sink: &mut Sink<'_>) {
    let parent = database::text(row, 6);
    let parent = parent.or_else(|| turn::text(&document["subagent_context"]["parent_thread_id"]).map(str::to_owned));
    let identity = parent.as_ref().map_or_else(|| id.to_owned(), |parent| format!("{parent}/{id}"));
    let mut draft = Assembler::new(NAME, identity, format!("{origin}#{id}"));
    let snapshot = &document["initial_project_snapshot"];
    let folders = database::text(row, 7);
    let folder = folders.as_deref().and_then(|all| all.lines().next()).map(str::to_owned);
    let worktree = || turn::text(&snapshot["worktree_snapshots"][0]["worktree_path"]).map(str::to_owned);
    let written = |column| database::text(row, column).and_then(|text| identity::instant(&Value::String(text)));
    let meta = draft.meta();
    meta.title = database::text(row, 2);
    meta.project = folder.filter(|folder| !folder.is_empty()).or_else(worktree);
    meta.model = turn::text(&document["model"]["model"]).map(str::to_owned);
    meta.created_at = written(8).or_else(|| identity::instant(&snapshot["timestamp"]));
    // No message has a time of its own: that of the thread must do, and of these its beginning.
    let at = meta.created_at.or_else(|| written(3));
    let time = at.map(|at| MessageTime { source: TimeSource::Derived, ..MessageTime::logged(at) });
    for entry in document["messages"].as_array().into_iter().flatten() {
        let mut messages = messages_of(entry);
        if parent.is_some() {
            turn::of_sub_agent(&mut messages);
        }
        for message in messages {
            draft.push(Message { time, ..message }, sink);
        }
    }
    draft.finish(sink);
}

#[cfg(test)]
mod tests;
