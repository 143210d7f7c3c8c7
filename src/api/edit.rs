//! What is done with single memories: wording, forgetting, bringing back, linking, and their past.

use jiff::Timestamp;
use serde::Serialize;

use super::note::{first_words, refuse_orders};
use super::{ApiError, Author, Memories};
use crate::consolidate::{self, Restored, Rivals, supported};
use crate::memory::{Claim, Evidence, Memory, MemoryId, Relation, RelationType, Status};
use crate::store::{AuditLog, Deed, Filter, HistoryEntry, Order, StoreError, Through, Writer};

/// What of a memory is to be different; `None` leaves it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryChange {
    /// What it says.
    pub content: Option<String>,
    /// A few words.
    pub title: Option<String>,
    /// Its category.
    pub category: Option<String>,
    /// Its topic.
    pub subject: Option<String>,
    /// How much it matters, 0–1, or 2–10 for tenths.
    pub importance: Option<f64>,
    /// Its tags, instead of those it has.
    pub tags: Option<Vec<String>>,
    /// When it stops being recalled.
    pub expires_at: Option<Timestamp>,
}

/// The past of a memory.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Past {
    /// The memory as it is.
    pub memory: Memory,
    /// The words that it rests on.
    pub evidence: Vec<Evidence>,
    /// Its links to and from memories within reach.
    pub relations: Vec<Relation>,
    /// Every change, oldest first.
    pub history: Vec<HistoryEntry>,
}

impl Memories {
    /// Changes what a memory says, and believes it more: who words it anew confirms it. The former wording stays in the
    /// history.
    ///
    /// # Errors
    /// As [`Memories::remember`]; for an agent also [`ApiError::Pinned`], and [`ApiError::Order`] for a text
    /// that reads like an order.
    pub fn update_memory(&self, id: &str, change: &MemoryChange, author: Author) -> Result<Memory, ApiError> {
        let before = self.editable(id, author)?;
        if before.status != Status::Active {
            let remedy = "restore it first, or remember it anew";
            return Err(ApiError::NotNow { id: before.id.to_string(), status: before.status, remedy });
        }
        let claim = self.checked(changed(&before.claim, change), &before.source)?;
        if author == Author::Agent {
            refuse_orders(&claim)?;
        }
        let store = self.ledger("change a memory with its history")?;
        let audit = self.audit()?;
        let (memory, _) = self.guard.redact(Memory { claim, ..before });
        let why = if author == Author::Agent { "by an agent" } else { "by hand" };
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&memory, "update", Some(why)))?;
        noted(audit, author, Deed::Update, std::slice::from_ref(&memory.id))?;
        Ok(store.memory(&memory.id)?)
    }

    /// Deletes memories by id, so that they are neither recalled nor learnt again, and returns how many there were. They
    /// can be restored until maintenance purges them.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be written; an id out of reach is passed over.
    pub fn delete_memories(&self, ids: &[MemoryId]) -> Result<usize, ApiError> {
        let mut within = Vec::with_capacity(ids.len());
        for id in ids {
            within.extend(self.get_memory(id)?.map(|memory| memory.id));
        }
        let audit = self.audit()?;
        let deleted = self.storage.delete_batch(&within)?;
        noted(audit, Author::Person, Deed::Forget, &within)?;
        Ok(deleted)
    }

    /// Forgets one memory, and returns it as it is now.
    ///
    /// # Errors
    /// [`ApiError`] if it is not there, or pinned and the author an agent.
    pub fn forget(&self, id: &str, reason: Option<&str>, author: Author) -> Result<Memory, ApiError> {
        let memory = self.editable(id, author)?;
        self.forgotten(std::slice::from_ref(&memory), reason, author)?;
        Ok(self.ledger(FORGET)?.memory(&memory.id)?)
    }

    /// Forgets every active memory that passes `filter`, without those that are pinned where an agent asks, and returns
    /// them as they were. With `preview`, nothing is written.
    ///
    /// # Errors
    /// [`ApiError`] if they cannot be read or written.
    pub fn forget_where(
        &self,
        filter: Filter,
        reason: Option<&str>,
        author: Author,
        preview: bool,
    ) -> Result<Vec<Memory>, ApiError> {
        let pinned = if author == Author::Agent { Some(false) } else { filter.pinned };
        let filter = self.confined(Filter { statuses: vec![Status::Active], pinned, ..filter })?;
        let found = self.ledger(FORGET)?.list(&filter, Order::Id, usize::MAX >> 1, 0)?;
        if !preview {
            self.forgotten(&found, reason, author)?;
        }
        Ok(found)
    }

    fn forgotten(&self, memories: &[Memory], reason: Option<&str>, author: Author) -> Result<(), ApiError> {
        let audit = self.audit()?;
        let (reason, _) = self.guard.redact(reason.map(str::to_owned));
        let forget = |writer: &Writer<'_>| {
            memories.iter().try_for_each(|memory| writer.forget(&memory.id, reason.as_deref()).map(drop))
        };
        self.ledger(FORGET)?.write::<_, StoreError>(None, Timestamp::now(), forget)?;
        let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
        noted(audit, author, Deed::Forget, &ids)
    }

    /// Opens the audit log, where one is kept: before the deed, which is not done where no trace can be kept of it.
    fn audit(&self) -> Result<Option<AuditLog>, ApiError> {
        match self.storage.as_store().and_then(|store| store.file()) {
            Some(file) if self.config.audit.value => Ok(Some(AuditLog::open(file)?)),
            Some(_) | None => Ok(None),
        }
    }

    /// Makes a memory active again, as [`consolidate::restore`] does. An agent can bring back only what was forgotten,
    /// and nothing that reads like an order.
    ///
    /// # Errors
    /// [`ApiError`] if it is not there, or not the author's to restore.
    pub fn restore(&self, id: &str, author: Author) -> Result<(Memory, Restored), ApiError> {
        let memory = self.resolve(id)?;
        if author == Author::Agent {
            if !matches!(memory.status, Status::Forgotten | Status::Active) {
                let remedy = "only what was forgotten can be restored by an agent";
                return Err(ApiError::NotNow { id: memory.id.to_string(), status: memory.status, remedy });
            }
            refuse_orders(&memory.claim)?;
        }
        let store = self.ledger("restore a memory")?;
        let audit = self.audit()?;
        let restored = store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            consolidate::restore(writer, &memory.id, Rivals::Retire)
        })?;
        noted(audit, author, Deed::Restore, std::slice::from_ref(&memory.id))?;
        Ok((store.memory(&memory.id)?, restored))
    }

    /// Links two memories, or takes the link out, and returns whether that was a change.
    ///
    /// # Errors
    /// [`ApiError`] if either is not there, or they are the same.
    pub fn relate(
        &self,
        from: &str,
        relation_type: RelationType,
        to: &str,
        reason: Option<&str>,
        link: Link,
    ) -> Result<(Relation, bool), ApiError> {
        let (from, to) = (self.resolve(from)?.id, self.resolve(to)?.id);
        let (reason, _) = self.guard.redact(reason.map(str::to_owned));
        let now = Timestamp::now();
        let relation = Relation { from, to, relation_type, reason: reason.into_inner(), created_at: now };
        let write = |writer: &Writer<'_>| match link {
            Link::Set => writer.relate(&relation),
            Link::Removed => writer.unrelate(&relation.from, relation_type, &relation.to),
        };
        let is_change = self.ledger("link memories")?.write::<_, StoreError>(None, now, write)?;
        Ok((relation, is_change))
    }

    /// Returns the past of a memory.
    ///
    /// # Errors
    /// [`ApiError`] if it is not there.
    pub fn past(&self, id: &str) -> Result<Past, ApiError> {
        let memory = self.resolve(id)?;
        let store = self.ledger("tell the past of a memory")?;
        let mut relations = Vec::new();
        for relation in store.relations(&memory.id)? {
            let other = if relation.from == memory.id { &relation.to } else { &relation.from };
            if self.get_memory(other)?.is_some() {
                relations.push(relation);
            }
        }
        let mut history = Vec::new();
        for entry in store.history(&memory.id)? {
            let other = if entry.memory == memory.id { entry.other.as_ref() } else { Some(&entry.memory) };
            let is_within = other.map_or(Ok(true), |id| Ok::<_, ApiError>(self.get_memory(id)?.is_some()))?;
            if is_within {
                history.push(entry);
            }
        }
        Ok(Past { evidence: store.evidence(&memory.id)?, memory, relations, history })
    }

    /// Returns a memory that `author` may change.
    fn editable(&self, id: &str, author: Author) -> Result<Memory, ApiError> {
        let memory = self.resolve(id)?;
        if author == Author::Agent && memory.pinned {
            return Err(ApiError::Pinned { id: memory.id.to_string() });
        }
        Ok(memory)
    }

    pub(super) fn confined(&self, filter: Filter) -> Result<Filter, ApiError> {
        match &self.reach {
            Some(reach) => reach.confine(filter),
            None => Ok(filter),
        }
    }
}

/// Adds to the audit log, where one is kept.
fn noted(log: Option<AuditLog>, author: Author, did: Deed, ids: &[MemoryId]) -> Result<(), ApiError> {
    let through = if author == Author::Agent { Through::Agent } else { Through::Library };
    Ok(log.map_or(Ok(()), |mut log| log.note(through, did, ids, Timestamp::now()))?)
}

const FORGET: &str = "forget memories so that they can be restored";

/// Whether a link is there afterwards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Link {
    /// It is.
    Set,
    /// It is not.
    Removed,
}

/// Returns the claim with the change; a title that was taken from the text is taken from the new one.
fn changed(claim: &Claim, change: &MemoryChange) -> Claim {
    let change = change.clone();
    let content = change.content.map_or_else(|| claim.content.clone(), |text| text.trim().to_owned());
    let is_taken_from_text = claim.title == first_words(&claim.content);
    let title = if is_taken_from_text { first_words(&content) } else { claim.title.clone() };
    // A shorter wording of what it said before would be recalled in its place.
    let summary = claim.summary.clone().filter(|_| content == claim.content);
    Claim {
        title: change.title.unwrap_or(title),
        summary,
        content,
        category: change.category.unwrap_or_else(|| claim.category.clone()),
        subject: change.subject.or_else(|| claim.subject.clone()),
        importance: change.importance.unwrap_or(claim.importance),
        confidence: supported(claim.confidence, 1.0, true),
        tags: change.tags.unwrap_or_else(|| claim.tags.clone()),
        expires_at: change.expires_at.or(claim.expires_at),
        ..claim.clone()
    }
}
