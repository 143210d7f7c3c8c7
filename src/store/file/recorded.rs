//! The state of a memory according to its history.

use std::collections::BTreeMap;

use rusqlite::Row;

use crate::changeset::Entity;
use crate::memory::{Evidence, Memory, Usage};
use crate::store::row::{json, spelled};

/// The transcript, message and quote that identify a piece of evidence.
pub(super) type EvidenceKey = (String, String, String);

/// The state of a memory after the entries of its history so far.
#[derive(Default)]
pub(super) struct RecordedMemory {
    /// Whether the entries contain a state of the memory, or its deletion.
    pub(super) is_known: bool,
    /// The memory; `None` if it was deleted.
    pub(super) memory: Option<Memory>,
    /// Its evidence.
    pub(super) evidence: BTreeMap<EvidenceKey, Evidence>,
}

impl RecordedMemory {
    /// Applies an entry, whose entity, state before and state after are in three columns from `first`.
    pub(super) fn replay(&mut self, row: &Row<'_>, first: usize) -> rusqlite::Result<()> {
        let (before, after): (Option<String>, Option<String>) = (row.get(first + 1)?, row.get(first + 2)?);
        match spelled::<Entity>(row, first)? {
            Entity::Memory => {
                // An entry that an erasure emptied has neither state.
                self.is_known = before.is_some() || after.is_some();
                self.memory = after.map(|text| json(&text, first + 2)).transpose()?;
            }
            Entity::Evidence => {
                if let Some(text) = before {
                    self.evidence.remove(&evidence_key(&json(&text, first + 1)?));
                }
                if let Some(text) = after {
                    let found: Evidence = json(&text, first + 2)?;
                    self.evidence.insert(evidence_key(&found), found);
                }
            }
            Entity::Relation | Entity::Tombstone => {}
        }
        Ok(())
    }

    /// Whether the stored memory agrees with the history, apart from usage counts, which change without an entry.
    pub(super) fn is_like(&self, found: Option<&Memory>) -> bool {
        found.map(without_counts) == self.memory.as_ref().map(without_counts)
    }
}

pub(super) fn evidence_key(evidence: &Evidence) -> EvidenceKey {
    let message = evidence.messages.first().cloned().unwrap_or_default();
    (evidence.transcript.clone(), message, evidence.quote.clone())
}

fn without_counts(memory: &Memory) -> Memory {
    Memory { usage: Usage { access_count: 0, last_accessed_at: None, ..memory.usage.clone() }, ..memory.clone() }
}
