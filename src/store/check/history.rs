//! Whether the history, played from the start, ends in the rows that are there.

use std::collections::BTreeSet;

use rusqlite::Row;

use super::{Checked, FlawKind};
use crate::changeset::Entity;
use crate::memory::{Evidence, Memory, MemoryId, Usage};
use crate::store::row::{MEMORY_COLUMNS, MEMORY_TABLES, json, memory_from_row, spelled};
use crate::store::{Database, StoreError};

const ENTRIES: &str = "SELECT memory_id, entity, before, after FROM history WHERE entity IN ('memory', 'evidence') ORDER BY memory_id, id";

/// What makes a piece of evidence this piece.
type Piece = (String, String, String);

/// What the history says of the memory itself.
#[derive(Default)]
enum Told {
    /// Nothing, or the last line was emptied when something was erased.
    #[default]
    Nothing,
    /// It is gone.
    Gone,
    /// It is like this.
    Like(Box<Memory>),
}

/// What the history says that a memory has come to.
#[derive(Default)]
struct Played {
    memory: Told,
    evidence: BTreeSet<Piece>,
}

impl Played {
    fn play(&mut self, entity: Entity, before: Option<&str>, after: Option<&str>) -> rusqlite::Result<()> {
        match entity {
            Entity::Memory => {
                self.memory = match (before, after) {
                    (_, Some(text)) => Told::Like(Box::new(json(text, 3)?)),
                    (Some(_), None) => Told::Gone,
                    (None, None) => Told::Nothing,
                };
            }
            Entity::Evidence => {
                if let Some(text) = before {
                    self.evidence.remove(&piece(&json(text, 2)?));
                }
                if let Some(text) = after {
                    self.evidence.insert(piece(&json(text, 3)?));
                }
            }
            Entity::Relation | Entity::Tombstone => {}
        }
        Ok(())
    }
}

fn piece(evidence: &Evidence) -> Piece {
    let message = evidence.messages.first().cloned().unwrap_or_default();
    (evidence.transcript.clone(), message, evidence.quote.clone())
}

impl Database {
    pub(super) fn check_history(&self, checked: &mut Checked) -> Result<(), StoreError> {
        let (mut memories, mut evidence) = (Vec::new(), Vec::new());
        self.read(|conn| {
            let mut statement = conn.prepare(ENTRIES)?;
            let mut rows = statement.query(())?;
            let (mut current, mut played): (Option<String>, Played) = (None, Played::default());
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                if current.as_ref() != Some(&id) {
                    if let Some(done) = current.replace(id) {
                        self.compare(&done, &played, &mut memories, &mut evidence)?;
                    }
                    played = Played::default();
                }
                play_row(&mut played, row)?;
            }
            if let Some(done) = current {
                self.compare(&done, &played, &mut memories, &mut evidence)?;
            }
            Ok(())
        })?;
        checked.add_each(FlawKind::History, "memories that are not as their history says", &memories);
        checked.add_each(FlawKind::History, "memories whose evidence is not as their history says", &evidence);
        Ok(())
    }

    fn compare(
        &self,
        id: &str,
        played: &Played,
        memories: &mut Vec<String>,
        evidence: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        let found = self.read(|conn| {
            let sql = format!("SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.id = ?1");
            Ok(rusqlite::OptionalExtension::optional(conn.prepare_cached(&sql)?.query_row([id], memory_from_row))?)
        })?;
        let is_so = match &played.memory {
            Told::Nothing => return Ok(()),
            Told::Gone => found.is_none(),
            Told::Like(wanted) => found.as_ref().is_some_and(|found| without_counts(found) == without_counts(wanted)),
        };
        if !is_so {
            memories.push(id.to_owned());
        }
        let rests: BTreeSet<Piece> = self.evidence(&MemoryId::from_stored(id))?.iter().map(piece).collect();
        if found.is_some() && rests != played.evidence {
            evidence.push(id.to_owned());
        }
        Ok(())
    }
}

/// Uses are counted without a line of history.
fn without_counts(memory: &Memory) -> Memory {
    Memory { usage: Usage { access_count: 0, last_accessed_at: None, ..memory.usage.clone() }, ..memory.clone() }
}

fn play_row(played: &mut Played, row: &Row<'_>) -> Result<(), StoreError> {
    let text = |index: usize| -> rusqlite::Result<Option<String>> { row.get(index) };
    Ok(played.play(spelled(row, 1)?, text(2)?.as_deref(), text(3)?.as_deref())?)
}
