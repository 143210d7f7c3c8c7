//! Something that a person or an agent wants remembered now.

use jiff::Timestamp;

use super::{ApiError, Memories, Reach};
use crate::consolidate::{Change, Decision, Incoming, settle_by_rules};
use crate::guard::{Guard, Redact, steers};
use crate::memory::{
    Audience, Candidate, Claim, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Scope, Status,
};
use crate::store::{Store, StoreError};

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
        let mut plan = settle_by_rules(store, &self.guard, &[incoming], None, Timestamp::now())?;
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
        store
            .write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&keyed, "update", Some("keyed")))?;
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
            writer.update(&memory, "update", Some("written again under its key"))
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
