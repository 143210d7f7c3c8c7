//! From the store to one value a memory.

use super::{Exported, ExportedRelation, ExportedSource};
use crate::memory::Memory;
use crate::store::{Database, StoreError};

/// Returns `memory` with its sources and its outgoing relations.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn exported(database: &Database, memory: Memory) -> Result<Exported, StoreError> {
    let evidence = database.evidence(&memory.id)?;
    let relations = database.relations(&memory.id)?;
    let sources = evidence.iter().map(|piece| ExportedSource {
        transcript: piece.transcript.clone(),
        messages: piece.messages.clone(),
        quote: piece.quote.clone(),
    });
    let own = relations.into_iter().filter(|relation| relation.from == memory.id);
    Ok(Exported {
        sources: sources.collect(),
        relations: own
            .map(|relation| ExportedRelation { to: relation.to, relation_type: relation.relation_type })
            .collect(),
        evidence,
        memory,
    })
}
