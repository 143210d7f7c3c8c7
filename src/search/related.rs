//! Memories one link away.

use serde::Serialize;

use crate::memory::{Memory, MemoryId, RelationType};
use crate::store::{Database, Filter, StoreError};

/// A memory that another one is linked to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Related {
    /// What the one is to the other.
    pub relation: RelationType,
    /// Whether the link goes from the memory that was found to this one, rather than back.
    pub outward: bool,
    /// Why, in a few words.
    pub reason: Option<String>,
    /// This one.
    pub memory: Memory,
}

/// Returns the memories that `id` is linked to and that pass `filter`: its own links first, each by time.
pub(super) fn related(store: &Database, id: &MemoryId, filter: &Filter) -> Result<Vec<Related>, StoreError> {
    let links = store.relations(id)?;
    let others: Vec<&MemoryId> =
        links.iter().map(|link| if link.from == *id { &link.to } else { &link.from }).collect();
    let rows = store.rows_of(&others)?;
    let passed = store.ranked_rows(&rows.values().copied().collect::<Vec<_>>(), filter)?;
    let mut related = Vec::new();
    for (link, other) in links.iter().zip(&others) {
        let Some(found) = passed.iter().find(|memory| memory.id == **other) else { continue };
        related.extend(store.in_rows(&[found.seq])?.into_iter().map(|memory| Related {
            relation: link.relation_type,
            outward: link.from == *id,
            reason: link.reason.clone(),
            memory,
        }));
    }
    Ok(related)
}
