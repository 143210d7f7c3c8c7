//! Writing single memories: remember, update, pin, forget, restore and relate.

use jiff::Timestamp;
use serde::Serialize;

use super::{ApiError, Memories, Reach};
use crate::changeset::Action;
use crate::consolidate::{self, Change, Decision, Incoming, Restored, Rivals, settle_by_rules, supported};
use crate::guard::{Guard, Redact, steers};
use crate::memory::{
    Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Relation,
    RelationType, Scope, Status,
};
use crate::store::{AuditLog, Deed, Filter, HistoryEntry, Order, Store, StoreError, Through, Writer};

/// Longest text of a memory that somebody writes, in characters.
pub const MAX_CONTENT_CHARS: usize = 8_000;
/// Words of a text that make its title where none is given.
const TITLE_WORDS: usize = 8;

/// Who writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A person, whose word goes.
    Person,
    /// An agent, which may have been talked into it: what reads like an order waits for a person, and what a person
    /// pinned stays as it is.
    Agent,
}

/// What is to be remembered.
#[derive(Debug, Clone, PartialEq)]
pub struct Note {
    /// One self-contained sentence, or a short paragraph.
    pub text: String,
    /// The kind of remembering.
    pub memory_type: MemoryType,
    /// One of the allowed categories.
    pub category: String,
    /// A few words; the first ones of the text where there are none.
    pub title: Option<String>,
    /// Topic tag.
    pub subject: Option<String>,
    /// Attribute that it sets.
    pub key: Option<String>,
    /// Value of the attribute.
    pub value: Option<String>,
    /// How long it is meant to live.
    pub scope: Scope,
    /// 0–1.
    pub importance: f64,
    /// Free tags.
    pub tags: Vec<String>,
    /// When it stops being recalled.
    pub expires_at: Option<Timestamp>,
    /// For whom it holds.
    pub audience: Audience,
    /// Where it comes from.
    pub source: String,
    /// Who writes.
    pub author: Author,
}

impl Note {
    /// Returns a fact that a person wants kept for good.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            memory_type: MemoryType::Semantic,
            category: "fact".to_owned(),
            title: None,
            subject: None,
            key: None,
            value: None,
            scope: Scope::LongTerm,
            importance: 0.7,
            tags: Vec::new(),
            expires_at: None,
            audience: Audience::Project,
            source: "remember".to_owned(),
            author: Author::Person,
        }
    }

    fn claim(&self, now: Timestamp) -> Claim {
        let text = self.text.trim();
        let title = self.title.clone().unwrap_or_else(|| first_words(text));
        Claim {
            subject: self.subject.clone(),
            key: self.key.clone(),
            value: self.value.clone(),
            scope: self.scope,
            importance: self.importance,
            tags: self.tags.clone(),
            expires_at: self.expires_at,
            valid_from: Some(now),
            ..Claim::new(self.memory_type, &self.category, title, text)
        }
    }
}

/// What became of a note.
#[derive(Debug, Clone, PartialEq)]
pub struct Kept {
    /// What was decided about it, and why.
    pub change: Change,
    /// The memory that says it now; `None` where it was rejected before.
    pub memory: Option<Memory>,
}

/// Returns the words that stand for a text in lists.
pub(super) fn first_words(text: &str) -> String {
    text.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" ")
}

/// Accepts 0–1, and 2–10 as tenths, since both scales are in use.
///
/// # Errors
/// [`ApiError::Importance`] for any other number.
pub fn unit_importance(value: f64) -> Result<f64, ApiError> {
    match value {
        value if (0.0..=1.0).contains(&value) => Ok(value),
        value if (1.0..=10.0).contains(&value) => Ok(value / 10.0),
        value => Err(ApiError::Importance { value }),
    }
}

impl Memories {
    /// Remembers something, settled with what is known: what is known already is confirmed, what it contradicts is
    /// superseded. No model is asked.
    ///
    /// # Errors
    /// [`ApiError`] for a text that is empty, too long or holds a secret, for what is no category, and if it cannot
    /// be written.
    pub fn remember(&self, note: &Note) -> Result<Kept, ApiError> {
        let incoming = self.incoming(note)?;
        let store = self.ledger("settle what is remembered with what is known")?;
        let mut plan = settle_by_rules(store, &[incoming], None, Timestamp::now())?;
        let change = plan.changes.swap_remove(0);
        let memory = holder(store, &change)?;
        Ok(Kept { change, memory })
    }

    /// Remembers something under its key: the active memory of the namespace with this key says it from now on, and keeps
    /// its id; where there is none, it is remembered as by [`Memories::remember`] and gets the key.
    ///
    /// # Errors
    /// As [`Memories::remember`]; [`ApiError::Pinned`] where an agent would change what a person pinned.
    pub fn upsert(&self, note: &Note) -> Result<Kept, ApiError> {
        let incoming = self.incoming(note)?;
        let store = self.ledger("replace a memory by its key")?;
        let Some(key) = incoming.candidate.claim.key.clone() else { return self.remember(note) };
        let held = store.by_key(&incoming.namespace, &key)?;
        if let Some(held) = held.into_iter().find(|memory| memory.status == Status::Active) {
            return self.replace(store, note, incoming, held);
        }
        let kept = self.remember(note)?;
        let Some(memory) = kept.memory.filter(|memory| memory.claim.key.is_none()) else {
            let memory = holder(store, &kept.change)?;
            return Ok(Kept { memory, ..kept });
        };
        // It was known without a key: the next note under this key is about the same memory.
        let keyed = Memory { claim: Claim { key: Some(key), ..memory.claim.clone() }, ..memory };
        let (keyed, _) = self.guard.redact(keyed);
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            writer.update(&keyed, Action::Update, Some("keyed"))
        })?;
        Ok(Kept { memory: Some(store.memory(&keyed.id)?), ..kept })
    }

    fn replace(&self, store: &Store, note: &Note, incoming: Incoming, held: Memory) -> Result<Kept, ApiError> {
        if note.author == Author::Agent {
            if held.pinned {
                return Err(ApiError::Pinned { id: held.id.to_string() });
            }
            refuse_orders(&incoming.candidate.claim)?;
        }
        let before = held.claim.clone();
        let claim = incoming.candidate.claim.clone();
        let claim = Claim { summary: None, structured: before.structured.clone(), ..claim };
        let (memory, _) = self.guard.redact(Memory { claim, source: incoming.source.clone(), ..held });
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            writer.update(&memory, Action::Update, Some("written again under its key"))
        })?;
        let memory = store.memory(&memory.id)?;
        let change = Change {
            incoming,
            decision: Decision::Merge,
            conflict: None,
            target: Some(memory.id.clone()),
            also: Vec::new(),
            related: None,
            new_id: None,
            merged: Some(memory.claim.clone()),
            rest: None,
            born_superseded: false,
            pending: false,
            reason: "the memory with this key says it now".to_owned(),
            before: Some(before.content),
            holds_from: memory.claim.valid_from,
            rows: Vec::new(),
        };
        Ok(Kept { change, memory: Some(memory) })
    }

    fn incoming(&self, note: &Note) -> Result<Incoming, ApiError> {
        let claim = self.checked(note.claim(Timestamp::now()), &note.source)?;
        let namespace = self.namespace_for(note.audience)?;
        let candidate =
            Candidate { claim, audience: note.audience, evidence: Vec::new(), replaces: None, is_pasted: false };
        // What an agent was talked into waits for a person, as it would if a log had said it.
        let is_order = note.author == Author::Agent && crate::guard::suspicion(&candidate).is_some();
        let method = if is_order { ExtractionMethod::Auto } else { ExtractionMethod::Manual };
        Ok(Incoming { candidate, namespace, source: note.source.clone(), method })
    }

    fn namespace_for(&self, audience: Audience) -> Result<Namespace, ApiError> {
        self.reach.as_ref().map_or_else(|| Ok(self.home()), |reach| Reach::for_audience(reach, audience).cloned())
    }

    /// Returns a claim that may be kept, with personal data treated as the settings say.
    pub(super) fn checked(&self, claim: Claim, source: &str) -> Result<Claim, ApiError> {
        let chars = claim.content.chars().count();
        if claim.content.trim().is_empty() {
            return Err(ApiError::Empty);
        }
        if chars > MAX_CONTENT_CHARS {
            return Err(ApiError::TooLong { chars, most: MAX_CONTENT_CHARS });
        }
        let allowed = &self.config.categories.value;
        if !allowed.contains(&claim.category) {
            return Err(ApiError::Category { category: claim.category, allowed: allowed.join(", ") });
        }
        let claim = Claim { importance: unit_importance(claim.importance)?, ..claim };
        refuse_secrets(claim.clone())?;
        refuse_secrets(source.to_owned())?;
        Ok(self.guard.redact(claim).0.into_inner())
    }
}

/// Refuses what holds a secret; personal data is no secret.
fn refuse_secrets<T: Redact>(value: T) -> Result<(), ApiError> {
    let (_, findings) = Guard::default().redact(value);
    findings.into_keys().next().map_or(Ok(()), |name| Err(ApiError::Secret { name }))
}

/// Refuses a text that would steer whoever recalls it.
pub(super) fn refuse_orders(claim: &Claim) -> Result<(), ApiError> {
    let mut found = None;
    let mut claim = claim.clone();
    claim.edit_texts(&mut |text| found = found.or_else(|| steers(text)));
    found.map_or(Ok(()), |why| Err(ApiError::Order { reason: why.reason() }))
}

/// Returns the memory that says what was to be remembered, after the change was written.
pub(super) fn holder(store: &Store, change: &Change) -> Result<Option<Memory>, StoreError> {
    let id: Option<&MemoryId> = change.new_id.as_ref().or(change.target.as_ref());
    id.map_or(Ok(None), |id| store.find(id))
}

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
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            writer.update(&memory, Action::Update, Some(why))
        })?;
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
