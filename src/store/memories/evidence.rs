//! The evidence of memories.

use std::collections::HashMap;

use rusqlite::{Connection, Row as SqlRow, Statement, params};

use crate::changeset::{Action, Row, RowChange};
use crate::guard::Redacted;
use crate::memory::{Evidence, Memory, MemoryId};
use crate::store::row::{json, time, time_or_none, to_json};
use crate::store::writer::{Mark, Stale};
use crate::store::{Database, StoreError, Writer};
use transcripts::{MessageTime, TimeSource};

impl Database {
    /// Returns the evidence of a memory, in the order in which it was learnt.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn evidence(&self, id: &MemoryId) -> Result<Vec<Evidence>, StoreError> {
        self.query_all(
            "SELECT transcript, messages, quote, speaker, said_at, said_offset, said_source, content_hash
                 FROM evidence WHERE memory_id = ?1 ORDER BY id",
            [id.as_str()],
            evidence_from_row,
        )
    }

    /// Returns whether a memory has the evidence with this quote, which begins in `message`.
    pub(in crate::store) fn has_evidence(
        &self,
        id: &MemoryId,
        transcript: &str,
        message: &str,
        quote: &str,
    ) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM evidence
             WHERE memory_id = ?1 AND transcript = ?2 AND message = ?3 AND quote = ?4)";
        let key = [id.as_str(), transcript, message, quote];
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row(key, |row| row.get(0))?))
    }

    /// Returns whether a memory, whatever its status, quotes this message.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn is_quoted(&self, transcript: &str, message: &str) -> Result<bool, StoreError> {
        let sql = "SELECT EXISTS (SELECT 1 FROM evidence WHERE transcript = ?1
             AND EXISTS (SELECT 1 FROM json_each(messages) WHERE value = ?2))";
        self.read(|conn| Ok(conn.prepare_cached(sql)?.query_row([transcript, message], |row| row.get(0))?))
    }

    /// Returns when each of these memories was last stated, if its evidence has a time, with the source of that time.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn last_said<'i>(
        &self,
        ids: impl IntoIterator<Item = &'i MemoryId>,
    ) -> Result<HashMap<MemoryId, MessageTime>, StoreError> {
        let read = |row: &SqlRow<'_>| {
            let source = source_named(row.get_ref(3)?.as_str_or_null()?);
            Ok((row.get(0)?, MessageTime { at: time(row, 1)?, offset_seconds: row.get(2)?, source }))
        };
        let found = self.query_all(
            // With max(), SQLite returns the other columns of the row that has the greatest value.
            "SELECT memory_id, max(said_at), said_offset, said_source FROM evidence
                 WHERE memory_id IN (SELECT value FROM json_each(?1)) AND said_at IS NOT NULL GROUP BY memory_id",
            [to_json(&ids.into_iter().map(MemoryId::as_str).collect::<Vec<_>>())?],
            read,
        )?;
        Ok(found.into_iter().collect())
    }

    /// Returns the evidence of each of these memories, in the order in which it was learnt; memories without evidence
    /// are left out.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn evidence_of(&self, memories: &[Memory]) -> Result<HashMap<MemoryId, Vec<Evidence>>, StoreError> {
        let ids: Vec<&str> = memories.iter().map(|memory| memory.id.as_str()).collect();
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT transcript, messages, quote, speaker, said_at, said_offset, said_source, content_hash, memory_id
                 FROM evidence WHERE memory_id IN (SELECT value FROM json_each(?1)) ORDER BY id",
            )?;
            let mut all: HashMap<MemoryId, Vec<Evidence>> = HashMap::new();
            let mut rows = statement.query([to_json(&ids)?])?;
            while let Some(row) = rows.next()? {
                all.entry(row.get(8)?).or_default().push(evidence_from_row(row)?);
            }
            Ok(all)
        })
    }
}

impl Writer<'_> {
    /// Adds the pieces of evidence that the memory does not have yet, and returns their number.
    ///
    /// The same quote of the same message of the same transcript is one piece.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if there is no such memory.
    pub(crate) fn add_evidence(&self, id: &MemoryId, evidence: &Redacted<Vec<Evidence>>) -> Result<usize, StoreError> {
        self.memory(id)?;
        let mut known: Vec<Evidence> = self.evidence(id)?;
        let (before, mut stale) = (known.len(), Stale::default());
        for piece in &**evidence {
            // This code makes the same check as the table, so that no history entry is written for a row that is not
            // inserted.
            if !known.iter().any(|one| place(one) == place(piece)) {
                known.push(piece.clone());
                let change = RowChange::new(Action::Evidence, Row::new_evidence(id.clone(), piece), None::<String>);
                self.write_row(&change, Mark::Done, &mut stale)?;
            }
        }
        self.index_stale(&stale)?;
        Ok(known.len() - before)
    }
}

/// Inserts a piece of evidence; executed by [`fill_row`].
pub(in crate::store) const INSERT_PIECE: &str =
    "INSERT INTO evidence (memory_id, transcript, message, messages, quote, speaker,
        said_at, said_offset, said_source, content_hash)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING";

/// Inserts a piece of evidence, and returns whether it was new.
pub(in crate::store) fn insert_row(conn: &Connection, id: &MemoryId, piece: &Evidence) -> Result<bool, StoreError> {
    Ok(fill_row(&mut *conn.prepare_cached(INSERT_PIECE)?, id, piece, &to_json(&piece.messages)?)?)
}

/// Executes [`INSERT_PIECE`], using the piece's messages as JSON, and returns whether the piece was new.
pub(in crate::store) fn fill_row(
    statement: &mut Statement<'_>,
    id: &MemoryId,
    piece: &Evidence,
    messages: &str,
) -> rusqlite::Result<bool> {
    let inserted = statement.execute(params![
        id.as_str(),
        piece.transcript,
        first_message(piece),
        messages,
        piece.quote,
        piece.speaker,
        piece.said_at.map(|said| said.at.as_millisecond()),
        piece.said_at.and_then(|said| said.offset_seconds),
        piece.said_at.map(|said| source_name(said.source)),
        piece.content_hash,
    ])?;
    Ok(inserted > 0)
}

/// The identity of a piece within its memory.
pub(in crate::store) fn place(piece: &Evidence) -> (&str, &str, &str) {
    (&piece.transcript, first_message(piece), &piece.quote)
}

pub(in crate::store) fn delete_row(conn: &Connection, id: &MemoryId, piece: &Evidence) -> Result<(), StoreError> {
    conn.prepare_cached(
        "DELETE FROM evidence WHERE memory_id = ?1 AND transcript = ?2 AND message = ?3 AND quote = ?4",
    )?
    .execute(params![id.as_str(), piece.transcript, first_message(piece), piece.quote])?;
    Ok(())
}

fn first_message(piece: &Evidence) -> &str {
    piece.messages.first().map_or("", String::as_str)
}

const fn source_name(source: TimeSource) -> &'static str {
    match source {
        TimeSource::Log => "log",
        TimeSource::Derived => "derived",
        TimeSource::File => "file",
    }
}

fn source_named(name: Option<&str>) -> TimeSource {
    match name {
        Some("derived") => TimeSource::Derived,
        Some("file") => TimeSource::File,
        // The table allows only these three values.
        Some(_) | None => TimeSource::Log,
    }
}

fn evidence_from_row(row: &SqlRow<'_>) -> rusqlite::Result<Evidence> {
    let said_at = time_or_none(row, 4)?;
    let offset_seconds = row.get(5)?;
    let source = source_named(row.get_ref(6)?.as_str_or_null()?);
    Ok(Evidence {
        transcript: row.get(0)?,
        messages: json(row.get_ref(1)?.as_str()?, 1)?,
        quote: row.get(2)?,
        speaker: row.get(3)?,
        said_at: said_at.map(|at| MessageTime { at, offset_seconds, source }),
        content_hash: row.get(7)?,
    })
}
