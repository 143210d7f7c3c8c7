//! Restores a memory on a person's request, and resolves contradictions with other memories.

use std::collections::BTreeSet;

use crate::changeset::Action;
use crate::memory::{Memory, MemoryId, Relation, RelationType, Status};
use crate::store::{Database, StoreError, Writer};

use super::plan::neighbours::gather_afresh;
use super::plan::{Answers, Stage, draft};
use super::{Author, Decision, IncomingClaim};

/// The treatment of memories that contradict a restored memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RivalPolicy {
    /// The restored memory replaces the contradicting memories. If one of these is pinned, the restored memory waits in
    /// the inbox instead.
    Retire,
    /// The contradicting memories are kept.
    Keep,
}

/// A memory that was restored.
#[derive(Debug, Clone, PartialEq)]
pub struct Restored {
    /// Whether the memory was not active before.
    pub changed: bool,
    /// Memories that contradict the restored one, which were retired, or kept as requested.
    pub rivals: Vec<Memory>,
    /// Whether the memory waits because a contradicting memory is pinned.
    pub waits: bool,
}

/// Makes a memory active again, and allows its content to be learnt again. Resolves conflicts with memories that
/// replaced it or were learnt since about the same attribute.
///
/// # Errors
/// [`StoreError::UnknownMemory`] if the memory does not exist.
pub(crate) fn restore(
    writer: &Writer<'_>,
    id: &MemoryId,
    rivals: RivalPolicy,
    author: Author,
) -> Result<Restored, StoreError> {
    let memory = writer.memory(id)?;
    if memory.status == Status::Active {
        writer.lift_tombstone(id)?;
        return Ok(Restored { changed: false, rivals: Vec::new(), waits: false });
    }
    let against = rivals_of(writer, &memory)?;
    let waits = rivals == RivalPolicy::Retire && against.iter().any(|rival| rival.pinned);
    if waits {
        writer.lift_tombstone(id)?;
        let changed = writer.set_status(
            id,
            Status::Pending,
            Action::Restore,
            Some("a memory that would be replaced is pinned".into()),
        )?;
        link(writer, id, &against, RelationType::Contradicts, author)?;
        return Ok(Restored { changed, rivals: against, waits });
    }
    writer.restore(id, Some(author.by().into()))?;
    if rivals == RivalPolicy::Retire {
        for rival in &against {
            writer.set_status(
                &rival.id,
                Status::Superseded,
                Action::Supersede,
                Some("another memory was restored instead".into()),
            )?;
        }
        link(writer, id, &against, RelationType::Supersedes, author)?;
    } else {
        // The person has decided to keep both, so their former conflict must not return to the inbox.
        for rival in &against {
            writer.unrelate(id, RelationType::Contradicts, &rival.id)?;
            writer.unrelate(&rival.id, RelationType::Contradicts, id)?;
        }
    }
    Ok(Restored { changed: true, rivals: against, waits })
}

fn link(
    writer: &Writer<'_>,
    from: &MemoryId,
    to: &[Memory],
    relation_type: RelationType,
    author: Author,
) -> Result<(), StoreError> {
    for rival in to {
        let reason = match author {
            Author::Person => "restored by hand",
            Author::Agent => "restored by an agent",
        };
        let reason = Some(reason.to_owned());
        let created_at = writer.now();
        writer.relate(&Relation { from: from.clone(), to: rival.id.clone(), relation_type, reason, created_at })?;
    }
    Ok(())
}

/// Returns the active memories that replaced this one, directly or indirectly, and those that contradict it according
/// to the rules.
fn rivals_of(db: &Database, memory: &Memory) -> Result<Vec<Memory>, StoreError> {
    let mut ids = successors(db, &memory.id)?;
    ids.extend(contradicted(db, memory)?);
    // A program uses a key without a value to update its memory, so the key identifies a single memory.
    if let (Some(key), None) = (&memory.claim.key, &memory.claim.value) {
        let twins = db.by_key(&memory.namespace, key)?;
        ids.extend(twins.into_iter().filter(|twin| twin.claim.value.is_none()).map(|twin| twin.id));
    }
    let found = ids.iter().map(|id| db.memory(id)).collect::<Result<Vec<_>, _>>()?;
    Ok(found.into_iter().filter(|rival| rival.status == Status::Active && rival.id != memory.id).collect())
}

fn successors(db: &Database, id: &MemoryId) -> Result<BTreeSet<MemoryId>, StoreError> {
    let (mut found, mut open) = (BTreeSet::new(), vec![id.clone()]);
    while let Some(one) = open.pop() {
        for link in db.relations(&one)? {
            let takes_its_place = link.relation_type == RelationType::Supersedes && link.to == one;
            if takes_its_place && found.insert(link.from.clone()) {
                open.push(link.from);
            }
        }
    }
    Ok(found)
}

fn contradicted(db: &Database, memory: &Memory) -> Result<Vec<MemoryId>, StoreError> {
    let incoming = IncomingClaim::of(memory, db.evidence(&memory.id)?, &memory.namespace);
    let mut cases = gather_afresh(db, vec![incoming])?;
    for case in &mut cases {
        case.known.retain(|known| known.memory.id != memory.id && known.memory.status == Status::Active);
        case.rejected.clear();
    }
    let (changes, _) = draft(&cases, &Answers::new(), Stage::Last, memory.created_at);
    let against = changes.into_iter().filter(|change| change.decision == Decision::Contradict);
    Ok(against.flat_map(|change| change.targets().cloned().collect::<Vec<_>>()).collect())
}
