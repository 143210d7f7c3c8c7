//! Merges two memories for a person, who sees the result first.

use jiff::Timestamp;

use super::{ApiError, Author, Memories};
use crate::changeset::Action;
use crate::consolidate::decide::ruling::enrich;
use crate::memory::{Claim, Memory, Relation, RelationType, Status};
use crate::store::{AuditAction, StoreError};

impl Memories {
    /// Returns `keep` as it would be after [`Memories::merge`], and the memory that it would replace.
    ///
    /// # Errors
    /// [`ApiError`] if either memory does not exist or is not active, or if both are the same memory.
    pub(crate) fn would_merge(&self, keep: &str, other: &str) -> Result<(Memory, Memory), ApiError> {
        let (kept, gone) = (self.resolve(keep)?, self.resolve(other)?);
        for memory in [&kept, &gone] {
            let is_same = kept.id == gone.id;
            if memory.status != Status::Active || is_same {
                let remedy = if is_same { "name another memory" } else { "restore it first" };
                return Err(ApiError::NotNow { id: memory.id.to_string(), status: memory.status, remedy });
            }
        }
        let claim = joined(&kept.claim, &gone.claim);
        Ok((Memory { claim, ..kept }, gone))
    }

    /// Merges two memories: `keep` gets `content`, the quotes and tags of `other`, and the fields that only `other`
    /// has, and then supersedes `other`. The merge is one change, which [`Memories::undo_by_hand`] reverses.
    ///
    /// # Errors
    /// As for [`Memories::would_merge`] and [`Memories::update_memory`].
    pub(crate) fn merge(&self, keep: &str, other: &str, content: Option<&str>) -> Result<Memory, ApiError> {
        let (store, audit, now) = (self.ledger("merge memories")?, self.audit()?, Timestamp::now());
        let ids = store.together(|| {
            let (mut kept, gone) = self.would_merge(keep, other)?;
            if let Some(content) = content {
                super::draft::check_content(content)?;
                content.trim().clone_into(&mut kept.claim.content);
            }
            self.check_maintainer([&kept.namespace, &gone.namespace], Author::Person)?;
            super::draft::refuse_secrets(kept.claim.clone())?;
            let (quotes, _) = self.guard.redact(store.evidence(&gone.id)?);
            let relation = Relation {
                from: kept.id.clone(),
                to: gone.id.clone(),
                relation_type: RelationType::Supersedes,
                reason: Some("merged by hand".to_owned()),
                created_at: now,
            };
            let ids = [kept.id.clone(), gone.id.clone()];
            let (kept, _) = self.guard.redact(kept);
            store.write::<_, StoreError>(None, now, |writer| {
                writer.set_status(&gone.id, Status::Superseded, Action::Supersede, Some("merged by hand".into()))?;
                writer.add_evidence(&kept.id, &quotes)?;
                writer.relate(&relation)?;
                writer.update(&kept, Action::Merge, Some("by hand".into()))
            })?;
            Ok::<_, ApiError>(ids)
        })?;
        self.record(audit, Author::Person, AuditAction::Update, &ids)?;
        Ok(store.memory(&ids[0])?)
    }
}

/// Returns the claim `kept`, extended with what only `gone` states.
fn joined(kept: &Claim, gone: &Claim) -> Claim {
    let (one, other) = (kept.content.trim(), gone.content.trim());
    let content = match (one.contains(other), other.contains(one)) {
        (true, _) => one.to_owned(),
        (_, true) => other.to_owned(),
        _ => format!("{one} {other}"),
    };
    // A merge only joins the texts, so the time from which the kept memory is valid does not change.
    let (confidence, valid_from) = (kept.confidence.max(gone.confidence), kept.valid_from);
    Claim { content, confidence, valid_from, ..enrich(kept, gone) }
}

#[cfg(test)]
mod tests {
    use crate::api::{Filter, Memories, MemoryDraft};
    use crate::memory::Status;

    #[test]
    fn two_memories_become_one_and_the_merge_is_undone_as_one_change() {
        let memories = Memories::open("memory:").unwrap();
        let keep = |text: &str, tag: &str| {
            let draft = MemoryDraft { tags: vec![tag.into()], ..MemoryDraft::new(text) };
            memories.remember(&draft).unwrap().memory.unwrap().id
        };
        let (oolong, lapsang) =
            (keep("Ana drinks oolong.", "tea"), keep("Her brother brews lapsang on Sundays.", "home"));
        let (kept, gone) = memories.would_merge(oolong.as_str(), lapsang.as_str()).unwrap();
        assert_eq!(kept.claim.content, "Ana drinks oolong. Her brother brews lapsang on Sundays.");
        assert_eq!((kept.claim.tags, gone.id.clone()), (vec!["tea".to_owned(), "home".to_owned()], lapsang.clone()));
        assert_eq!(memories.count_memories(Filter::default()).unwrap(), 2, "nothing is changed yet");
        let text = "Ana drinks oolong, her brother lapsang.";
        let merged = memories.merge(oolong.as_str(), lapsang.as_str(), Some(text)).unwrap();
        assert_eq!((merged.claim.content.as_str(), merged.id), (text, oolong.clone()));
        let status = |id: &crate::memory::MemoryId| memories.get_memory(id).unwrap().unwrap().status;
        assert_eq!(status(&lapsang), Status::Superseded);
        assert!(memories.would_merge(oolong.as_str(), lapsang.as_str()).is_err());
        assert!(memories.would_merge(oolong.as_str(), oolong.as_str()).is_err());
        let last = memories.details(oolong.as_str()).unwrap().history.pop().unwrap();
        memories.undo_by_hand(&last.changeset.unwrap(), false).unwrap();
        assert_eq!(status(&lapsang), Status::Active);
        assert_eq!(memories.get_memory(&oolong).unwrap().unwrap().claim.content, "Ana drinks oolong.");
    }
}
