//! Writes single memories: remember, update, pin, forget, restore, relate and erase.

use std::path::PathBuf;

use jiff::Timestamp;
use transcripts::{Message, Transcript};

use super::scale::{own_id, unit_confidence, unit_importance};
use super::{ApiError, Memories};
use crate::changeset::Action;
use crate::consolidate::{
    self, Change, Decision, IncomingClaim, Restored, RivalPolicy, near, settle_by_rules_among, supported,
};
use crate::exchange::fallback_category;
use crate::extract::{Span, Task, offline};
use crate::guard::{Redact, order_in, secret_in};
use crate::memory::{
    Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, MemoryType, Namespace, Relation,
    RelationType, Scope, Status, Structured,
};
use crate::store::{
    AuditAction, AuditChannel, AuditLog, Database, Erased, Filter, Order, RewriteOutcome, Store, StoreError, Writer,
};
use crate::text::normalise::{caseless, normalised_hash, title_of};
use crate::text::person::{is_about_others, is_about_user};
use crate::text::visible::visible;

/// Maximum length of the content of a memory that a person or an agent writes, in characters.
pub(crate) const MAX_CONTENT_CHARS: usize = 8_000;
/// Maximum number of memories about the same topic that are listed when a new one is stored.
const MAX_NEAR: usize = 3;

/// The author of a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Author {
    /// A person, whose decision is final.
    Person,
    /// An agent, which may have been manipulated. Text that reads like an instruction is reviewed by a person first,
    /// and pinned memories are not changed.
    Agent,
}

/// A memory as a person or an agent writes it, before it is compared with the known memories.
#[derive(Debug, Clone, PartialEq)]
pub struct MemoryDraft {
    /// One self-contained sentence, or a short paragraph.
    pub text: String,
    /// The type: a fact, an event or a way of doing something.
    pub memory_type: MemoryType,
    /// One of the allowed categories.
    pub category: String,
    /// A few words; by default, the first words of the text.
    pub title: Option<String>,
    /// Topic tag.
    pub subject: Option<String>,
    /// Attribute that the memory sets.
    pub key: Option<String>,
    /// Value of the attribute.
    pub value: Option<String>,
    /// A shorter wording for briefs.
    pub summary: Option<String>,
    /// Structured parts, which depend on the type.
    pub structured: Option<Structured>,
    /// The id of the memory if it is new, a UUID that no memory has; by default, an id is assigned.
    pub id: Option<String>,
    /// The intended lifetime.
    pub scope: Scope,
    /// Importance, from 0 to 1.
    pub importance: f64,
    /// Free tags.
    pub tags: Vec<String>,
    /// Time at which the memory expires and is no longer recalled.
    pub expires_at: Option<Timestamp>,
    /// The people or projects to which the memory applies.
    pub audience: Audience,
    /// Source of the memory.
    pub source: String,
    /// The author of a memory.
    pub author: Author,
}

impl MemoryDraft {
    /// Returns a long-term fact written by a person.
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
            summary: None,
            structured: None,
            id: None,
            scope: Scope::LongTerm,
            importance: 0.7,
            tags: Vec::new(),
            expires_at: None,
            audience: Audience::Project,
            source: "remember".to_owned(),
            author: Author::Person,
        }
    }

    /// Returns the draft with the values of a change, except for its content.
    #[must_use]
    pub(crate) fn with(self, change: &MemoryChange) -> Self {
        let change = change.clone();
        Self {
            memory_type: change.memory_type.unwrap_or(self.memory_type),
            category: change.category.unwrap_or(self.category),
            title: change.title.or(self.title),
            subject: change.subject.or(self.subject),
            value: change.value.or(self.value),
            summary: change.summary.or(self.summary),
            structured: change.structured.or(self.structured),
            scope: change.scope.unwrap_or(self.scope),
            importance: change.importance.unwrap_or(self.importance),
            tags: change.tags.unwrap_or(self.tags),
            expires_at: change.expires_at.or(self.expires_at),
            ..self
        }
    }

    fn claim(&self, now: Timestamp) -> Claim {
        let text = self.text.trim();
        let title = self.title.as_deref().and_then(given).unwrap_or_else(|| title_of(text));
        Claim {
            subject: self.subject.as_deref().and_then(given),
            key: self.key.clone(),
            value: self.value.clone(),
            summary: self.summary.clone().filter(|summary| !summary.trim().is_empty()),
            structured: self.structured.clone(),
            // A memory that expires is short-term, regardless of the scope given.
            scope: if self.expires_at.is_some() { Scope::ShortTerm } else { self.scope },
            importance: self.importance,
            tags: tidy(&self.tags),
            expires_at: self.expires_at,
            valid_from: Some(now),
            ..Claim::new(self.memory_type, &self.category, title, text)
        }
    }
}

/// The outcome of [`Memories::remember`].
#[derive(Debug, Clone, PartialEq)]
pub struct Remembered {
    /// The decision and the reason for it.
    pub change: Change,
    /// The memory that now contains the text; `None` if it had been rejected before.
    pub memory: Option<Memory>,
    /// Whether the memory had been forgotten and is active again.
    pub restored: bool,
    /// Fields of a known memory that were set to the values given with the text; see `Memories::remember_with`.
    pub updated: Vec<&'static str>,
    /// Known memories about the same topic, if the text became a new memory: only the author can judge whether it
    /// replaces one of them.
    pub near: Vec<Memory>,
}

/// New values for the fields of a memory; `None` leaves a field unchanged.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MemoryChange {
    /// The content. If the title, summary or value was derived from the former content, it is updated as well.
    pub content: Option<String>,
    /// A few words; an empty text derives them from the content.
    pub title: Option<String>,
    /// A shorter wording for briefs; an empty text removes it.
    pub summary: Option<String>,
    /// Value of the attribute that the memory sets.
    pub value: Option<String>,
    /// Category of the memory.
    pub category: Option<String>,
    /// Topic of the memory; an empty text removes it.
    pub subject: Option<String>,
    /// The importance, from 0 to 1; numbers from 2 to 10 count as tenths.
    pub importance: Option<f64>,
    /// New tags, which replace the current tags.
    pub tags: Option<Vec<String>>,
    /// The type: a fact, an event or a way of doing something.
    pub memory_type: Option<MemoryType>,
    /// The confidence, from 0 to 1.
    pub confidence: Option<f64>,
    /// Time at which the memory expires and is no longer recalled; it makes the memory short-term.
    pub expires_at: Option<Timestamp>,
    /// The intended lifetime; a memory that becomes long-term does not expire.
    pub scope: Option<Scope>,
    /// Structured parts.
    pub structured: Option<Structured>,
}

impl MemoryChange {
    /// Returns `claim` with the change applied.
    fn applied_to(&self, claim: &Claim) -> Claim {
        let change = self.clone();
        let content = change.content.map_or_else(|| claim.content.clone(), |text| text.trim().to_owned());
        let is_same = content == claim.content;
        let value = claim.value.as_ref().and_then(|value| value_in(&content, &claim.content, value));
        let title = if claim.title == title_of(&claim.content) {
            title_of(&content)
        } else {
            // A title that the person wrote is kept, but the new value replaces the former value in it. A very short
            // value may be part of a word, so it is not replaced.
            match (&claim.value, &value) {
                (Some(old), Some(new)) if old.chars().count() > 2 => claim.title.replace(old.as_str(), new),
                (Some(_) | None, Some(_) | None) => claim.title.clone(),
            }
        };
        Claim {
            title: change.title.map_or(title, |text| given(&text).unwrap_or_else(|| title_of(&content))),
            value: change.value.or(if is_same { claim.value.clone() } else { value }),
            // Otherwise, a summary of the former content would be recalled instead of the new content.
            summary: match change.summary {
                Some(summary) => Some(summary).filter(|summary| !summary.trim().is_empty()),
                None => claim.summary.clone().filter(|_| is_same),
            },
            category: change.category.unwrap_or_else(|| claim.category.clone()),
            subject: change.subject.map_or_else(|| claim.subject.clone(), |text| given(&text)),
            importance: change.importance.unwrap_or(claim.importance),
            confidence: change.confidence.unwrap_or_else(|| {
                if self.content.is_some() { supported(claim.confidence, 1.0, true) } else { claim.confidence }
            }),
            memory_type: change.memory_type.unwrap_or(claim.memory_type),
            tags: change.tags.map_or_else(|| claim.tags.clone(), |tags| tidy(&tags)),
            scope: if change.expires_at.is_some() { Scope::ShortTerm } else { change.scope.unwrap_or(claim.scope) },
            expires_at: change.expires_at.or(claim.expires_at.filter(|_| change.scope != Some(Scope::LongTerm))),
            structured: change.structured.or_else(|| claim.structured.clone()),
            content,
            ..claim.clone()
        }
    }
}

/// Returns the value that `content` states where `former` stated `value`: the same value if it still appears, and
/// otherwise the text between the same words. Returns `None` if the value cannot be determined.
fn value_in(content: &str, former: &str, value: &str) -> Option<String> {
    if content.contains(value) {
        return Some(value.to_owned());
    }
    let (before, after) = former.split_once(value)?;
    let found = content.strip_prefix(before)?.strip_suffix(after)?.trim();
    (!found.is_empty()).then(|| found.to_owned())
}

/// Returns a claim about the project as a candidate that does not replace another memory.
pub(super) const fn stated(claim: Claim, evidence: Vec<Evidence>) -> Candidate {
    let audience = Audience::Project;
    Candidate { claim, audience, evidence, replaces: None, is_pasted: false, updates_only: false }
}

/// The outcome of [`Memories::erase`].
#[derive(Debug, Clone, PartialEq)]
pub struct Erasure {
    /// The erased conversations and memories.
    pub erased: Erased,
    /// Whether the file was rewritten.
    pub sealed: RewriteOutcome,
    /// Backups from updates that were removed because they still contained erased text.
    pub removed: Vec<PathBuf>,
}

impl Memories {
    /// Stores a memory after comparing it with the known memories: a known memory is confirmed, and a contradicted one
    /// is superseded. If a person had forgotten the memory and writes it again, it is restored. No model is called.
    ///
    /// # Errors
    /// [`ApiError`] for a text that is empty, too long or contains a secret, for an unknown category, and if the memory
    /// cannot be written.
    pub fn remember(&self, draft: &MemoryDraft) -> Result<Remembered, ApiError> {
        self.remember_among(draft, &|_| true)
    }

    /// Stores a memory as [`Memories::remember`] does, but compares it only with the memories for which `is_compared`
    /// is true.
    fn remember_among(
        &self,
        draft: &MemoryDraft,
        is_compared: &dyn Fn(&Memory) -> bool,
    ) -> Result<Remembered, ApiError> {
        let _span = self.span("create_memory", None);
        let incoming = self.incoming(draft)?;
        let store = self.ledger("compare a memory with the stored ones")?;
        store.together(|| self.compare_and_store(store, draft, incoming, is_compared))
    }

    fn compare_and_store(
        &self,
        store: &Store,
        draft: &MemoryDraft,
        mut incoming: IncomingClaim,
        is_compared: &dyn Fn(&Memory) -> bool,
    ) -> Result<Remembered, ApiError> {
        if let Some(id) = &incoming.id
            && let Some(known) = store.find(id)?
        {
            // A repeated call with the same id and words finds the memory of the first call.
            if known.namespace != incoming.namespace || known.claim.content != incoming.candidate.claim.content {
                let reason = "is taken; leave it out, or update that memory";
                return Err(ApiError::Id { id: id.to_string(), reason });
            }
            incoming.id = None;
        }
        let claims = std::slice::from_ref(&incoming);
        let mut plan = settle_by_rules_among(store, claims, is_compared, None, Timestamp::now())?;
        let change = plan.changes.swap_remove(0);
        let memory = holder(store, &change)?;
        if let Some(ended) = memory.as_ref().filter(|memory| has_ended(memory))
            && change.decision == Decision::Skip
            && (draft.author == Author::Person || !self.reviews_agents && refuse_orders(&ended.claim).is_ok())
        {
            let memory = Some(renew(store, ended, &incoming.candidate.claim)?);
            let change = Change { reason: "had ended, and is active again".to_owned(), ..change };
            return Ok(Remembered { change, memory, restored: true, updated: Vec::new(), near: Vec::new() });
        }
        // Writing a known memory again confirms it, so it fades later.
        if let Some(known) = memory.as_ref().filter(|_| change.decision == Decision::Skip) {
            self.note_use(std::slice::from_ref(&known.id));
        }
        // A person's decision is final, so writing a forgotten memory again restores it.
        if memory.is_none()
            && draft.author == Author::Person
            && let Some(memory) = Self::bring_back(store, &incoming)?
        {
            let change = Change { reason: "forgotten before, and restored".to_owned(), ..change };
            let memory = Some(memory);
            return Ok(Remembered { change, memory, restored: true, updated: Vec::new(), near: Vec::new() });
        }
        let change = match (&memory, change.decision) {
            (None, Decision::Skip) => Change {
                reason: not_again(store, &incoming.namespace, &incoming.candidate.claim, None)?
                    .unwrap_or(change.reason),
                ..change
            },
            _ => change,
        };
        let near = match &memory {
            Some(memory) if change.decision == Decision::Add => near(store, &incoming, &memory.id, MAX_NEAR)?,
            Some(_) | None => Vec::new(),
        };
        Ok(Remembered { change, memory, restored: false, updated: Vec::new(), near })
    }

    /// Stores a memory as [`Memories::remember`] does. If the memory is already known, its fields are set to the values
    /// in `given`, and the tags in `given` are added to its tags. The reason of the decision names the fields that
    /// changed.
    ///
    /// # Errors
    /// As for [`Memories::remember`] and [`Memories::update_memory`]. A memory that an agent may not change stays as it
    /// is, and the reason of the decision says so.
    pub(crate) fn remember_with(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Remembered, ApiError> {
        let mut remembered = self.remember(draft)?;
        let is_known = remembered.change.new_id.is_none() && remembered.change.merged.is_none();
        let Some(known) = remembered.memory.clone().filter(|_| is_known) else { return Ok(remembered) };
        let mut tags = known.claim.tags.clone();
        tags.extend(given.tags.iter().flatten().filter(|tag| !known.claim.tags.contains(tag)).cloned());
        let importance = given.importance.map(unit_importance).transpose()?;
        // A different subject becomes a tag, so that the memory can be found by each subject under which it was stored.
        let other = draft.subject.as_deref().map(str::trim).filter(|subject| !subject.is_empty());
        let own = known.claim.subject.as_deref();
        let subject = given.subject.clone().or_else(|| other.filter(|_| own.is_none()).map(str::to_owned));
        let is_other = |subject: &&str| own.is_some_and(|own| caseless(own) != caseless(subject));
        tags.extend(other.filter(is_other).filter(|_| given.subject.is_none()).map(str::to_owned));
        let change = MemoryChange { content: None, tags: Some(tags), importance, subject, ..given.clone() };
        if draft.category != known.claim.category && given.category.is_none() {
            let reason = &mut remembered.change.reason;
            *reason = format!("{reason}; its category stays {}", known.claim.category);
        }
        if change.applied_to(&known.claim) == known.claim {
            return Ok(remembered);
        }
        let reason = &mut remembered.change.reason;
        match self.update_memory(known.id.as_str(), &change, draft.author) {
            Ok((memory, _)) => {
                remembered.updated = differing(&known.claim, &memory.claim);
                *reason = format!("{reason}; updated: {}", remembered.updated.join(", "));
                remembered.memory = Some(memory);
            }
            Err(error @ (ApiError::Pinned { .. } | ApiError::NotNow { .. } | ApiError::ForgottenText { .. })) => {
                *reason = format!("{reason}; its other fields stay as they are: {error}");
            }
            Err(error) => return Err(error),
        }
        Ok(remembered)
    }

    /// Returns the draft for a text that a person wants remembered, in any wording. If the offline rules read the whole
    /// text as one statement, the draft has its wording in the third person, its category and its audience.
    pub(crate) fn draft_of(&self, text: &str) -> MemoryDraft {
        // Categories are configurable, so `fact` may not be among them.
        let categories = &self.config.categories.value;
        let category = fallback_category(categories);
        let audience = if is_about_user(text) { Audience::User } else { Audience::Project };
        let plain = MemoryDraft { category: category.to_owned(), audience, ..MemoryDraft::new(text) };
        let transcript = Transcript { messages: vec![Message::user(text)], ..Transcript::default() };
        let span = Span { context_start: 0, start: 0, end: 1 };
        let task = Task { transcript: &transcript, span, known: &[], instructions: None, categories };
        let bare = |text: &str| text.trim().trim_end_matches(['.', '!']).to_owned();
        match offline::extract(&task).candidates.as_slice() {
            [Candidate { claim, audience, evidence, updates_only: false, .. }]
                if evidence.iter().any(|piece| bare(&piece.quote) == bare(text))
                    && keeps_words(text, &claim.content) =>
            {
                MemoryDraft {
                    memory_type: claim.memory_type,
                    category: claim.category.clone(),
                    title: Some(claim.title.clone()),
                    subject: claim.subject.clone(),
                    key: claim.key.clone(),
                    value: claim.value.clone(),
                    structured: claim.structured.clone(),
                    audience: *audience,
                    ..MemoryDraft::new(claim.content.clone())
                }
            }
            _ => plain,
        }
    }

    /// Returns the audience of a memory whose author did not specify one: preferences and profiles concern the user and
    /// apply in every project, unless they are about others or the global namespace cannot be accessed.
    pub(crate) fn audience_of(&self, category: &str, content: &str) -> Audience {
        let is_preference = matches!(category, "preference" | "profile");
        if is_preference && !is_about_others(content) && self.reaches(&Namespace::global()) {
            Audience::User
        } else {
            Audience::Project
        }
    }

    /// Restores the forgotten memory with the content of `incoming`, if it still exists.
    fn bring_back(store: &Store, incoming: &IncomingClaim) -> Result<Option<Memory>, ApiError> {
        let claim = &incoming.candidate.claim;
        let value = claim.key.as_deref().zip(claim.value.as_deref());
        let Some(rejected) = store.rejected(&incoming.namespace, &claim.content, value)? else { return Ok(None) };
        let Some(known) = store.find(&rejected.memory)?.filter(|memory| memory.status == Status::Forgotten) else {
            return Ok(None);
        };
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            consolidate::restore(writer, &known.id, RivalPolicy::Retire, by(Author::Person))
        })?;
        Ok(Some(store.memory(&known.id)?))
    }

    /// Stores a memory under its key. The active memory with this key receives the `given` fields, and keeps its id,
    /// its namespace and all other fields. It is looked up in the namespace of the draft, in the caller's project and
    /// in the global namespace. If there is no such memory, the new memory is stored as by [`Memories::remember`] and
    /// receives the key. It is not compared with memories that have other keys, so that each key has a separate memory.
    ///
    /// # Errors
    /// As for [`Memories::remember`]; [`ApiError::Pinned`] if an agent would change a pinned memory.
    pub(crate) fn upsert(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Remembered, ApiError> {
        let _span = self.span("upsert_memory", None);
        let incoming = self.incoming(draft)?;
        let store = self.ledger("replace a memory by its key")?;
        let Some(key) = incoming.candidate.claim.key.clone() else { return self.remember(draft) };
        store.together(|| self.store_under(store, &key, draft, given, incoming))
    }

    fn store_under(
        &self,
        store: &Store,
        key: &str,
        draft: &MemoryDraft,
        given: &MemoryChange,
        incoming: IncomingClaim,
    ) -> Result<Remembered, ApiError> {
        for namespace in [incoming.namespace.clone(), self.home(), Namespace::global()] {
            let known = if self.reaches(&namespace) { active_with_key(store, &namespace, key)? } else { Vec::new() };
            if let Some(known) = known.into_iter().next() {
                let place = (namespace != incoming.namespace).then(|| namespace.to_string());
                let incoming = IncomingClaim { namespace, ..incoming };
                let mut replaced = self.replace(store, draft, given, incoming, known)?;
                if let Some(place) = place {
                    // Otherwise it would seem that the audience of the draft was followed.
                    let reason = &mut replaced.change.reason;
                    *reason = format!("{reason}; it stays in {place}, where the key is used already");
                }
                return Ok(replaced);
            }
        }
        let has_no_other_key = |known: &Memory| known.claim.key.as_ref().is_none_or(|own| own == key);
        let remembered = self.remember_among(draft, &has_no_other_key)?;
        let Some(memory) = holder(store, &remembered.change)? else { return Ok(remembered) };
        let memory = if memory.claim.key.is_none() {
            // The memory was stored without a key. It gets the key, so that the next draft with this key refers to it.
            let claim = Claim { key: Some(key.to_owned()), ..given.applied_to(&memory.claim) };
            self.rewrite(store, Memory { claim, ..memory }, "keyed")?.0
        } else {
            memory
        };
        Ok(Remembered { memory: Some(memory), ..remembered })
    }

    /// Stores a memory under its key as [`Memories::upsert`] does, for programs that manage their own texts: the memory
    /// always gets the new text, even if the text was forgotten under the same key.
    ///
    /// # Errors
    /// As for [`Memories::upsert`]; [`ApiError::ForgottenText`] if the text was forgotten under another key or none.
    #[cfg(feature = "serve")]
    pub(crate) fn put(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Memory, ApiError> {
        self.ledger("replace a memory by its key")?.together(|| self.put_text(draft, given))
    }

    #[cfg(feature = "serve")]
    fn put_text(&self, draft: &MemoryDraft, given: &MemoryChange) -> Result<Memory, ApiError> {
        let content = self.incoming(draft)?.candidate.claim.content;
        let is_stored = |memory: &Memory| memory.claim.content == content;
        let mut written = self.upsert(draft, given)?;
        if !written.memory.as_ref().is_some_and(is_stored) {
            if let Some(forgotten) = self.forgotten_under_key(&written.change.incoming)? {
                self.restore(&[forgotten.as_str()], RivalPolicy::Retire, draft.author)?;
            }
            // A known memory that had no key now has the key, so its text is replaced.
            written = self.upsert(draft, given)?;
        }
        let reason = written.change.reason;
        written.memory.filter(is_stored).ok_or(ApiError::ForgottenText { reason })
    }

    #[cfg(feature = "serve")]
    fn forgotten_under_key(&self, incoming: &IncomingClaim) -> Result<Option<MemoryId>, ApiError> {
        let (store, claim) = (self.ledger("replace a memory by its key")?, &incoming.candidate.claim);
        let value = claim.key.as_deref().zip(claim.value.as_deref());
        let Some(rejected) = store.rejected(&incoming.namespace, &claim.content, value)? else { return Ok(None) };
        let known = store.find(&rejected.memory)?;
        let is_same = |known: &Memory| known.status == Status::Forgotten && known.claim.key == claim.key;
        Ok(known.filter(is_same).map(|known| known.id))
    }

    /// Returns the active memory with a key, from the caller's project or the global namespace.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    #[cfg(feature = "serve")]
    pub(crate) fn memory_with_key(&self, key: &str) -> Result<Option<Memory>, ApiError> {
        let store = self.ledger("look up a memory by its key")?;
        for namespace in [self.home(), Namespace::global()].iter().filter(|namespace| self.reaches(namespace)) {
            if let Some(memory) = active_with_key(store, namespace, key)?.into_iter().next() {
                return Ok(Some(memory));
            }
        }
        Ok(None)
    }

    fn replace(
        &self,
        store: &Store,
        draft: &MemoryDraft,
        given: &MemoryChange,
        incoming: IncomingClaim,
        known: Memory,
    ) -> Result<Remembered, ApiError> {
        refuse_pinned(&known, draft.author)?;
        self.refuse_unreviewed(draft.author)?;
        if draft.author == Author::Agent {
            refuse_orders(&incoming.candidate.claim)?;
        }
        // A forgotten text must not return as a new wording of another memory.
        let claim = &incoming.candidate.claim;
        let forgotten =
            if draft.author == Author::Agent { not_again(store, &incoming.namespace, claim, None)? } else { None };
        let before = known.claim.clone();
        let importance = given.importance.map(unit_importance).transpose()?;
        let claim = MemoryChange { importance, ..given.clone() }.applied_to(&before);
        // The same words under the same key are nothing new, so the time from which they are valid does not change
        // either.
        let valid_from = if claim == before { before.valid_from } else { incoming.candidate.claim.valid_from };
        let claim = Claim { valid_from, ..claim };
        let (memory, is_changed) = if forgotten.is_some() {
            (known, false)
        } else {
            let reworded = Memory { claim, source: incoming.source.clone(), ..known };
            self.rewrite(store, reworded, "written again under its key")?
        };
        let reason = match forgotten {
            Some(reason) => reason,
            None if is_changed => "the memory with this key was reworded".to_owned(),
            None => "already known under this key".to_owned(),
        };
        let change = Change {
            incoming,
            decision: if is_changed { Decision::Merge } else { Decision::Skip },
            conflict: None,
            target: Some(memory.id.clone()),
            also: Vec::new(),
            related: None,
            new_id: None,
            merged: Some(memory.claim.clone()),
            rest: None,
            born_superseded: false,
            pending: false,
            reason,
            before: Some(before.content),
            holds_from: memory.claim.valid_from,
            rows: Vec::new(),
        };
        Ok(Remembered { change, memory: Some(memory), restored: false, updated: Vec::new(), near: Vec::new() })
    }

    fn incoming(&self, draft: &MemoryDraft) -> Result<IncomingClaim, ApiError> {
        let claim = self.checked(draft.claim(Timestamp::now()), &draft.source)?;
        check_key(draft.key.as_deref(), claim.key.as_deref())?;
        let namespace = match &self.namespaces {
            Some(namespaces) => namespaces.for_audience(draft.audience)?.clone(),
            None => self.home(),
        };
        self.check_maintainer([&namespace], draft.author)?;
        let candidate = Candidate { audience: draft.audience, ..stated(claim, Vec::new()) };
        // An agent may have been manipulated into writing such text, so the text waits until a person has reviewed it.
        let is_order = draft.author == Author::Agent && crate::guard::suspicion(&candidate).is_some();
        let method = if is_order { ExtractionMethod::Auto } else { ExtractionMethod::Manual };
        let id = draft.id.as_deref().map(own_id).transpose()?;
        Ok(IncomingClaim {
            candidate,
            namespace,
            source: draft.source.clone(),
            method,
            id,
            past: None,
            needs_review: self.waits(draft.author),
        })
    }

    /// Returns a claim that may be stored, with personal data handled according to the settings.
    pub(super) fn checked(&self, claim: Claim, source: &str) -> Result<Claim, ApiError> {
        check_content(&claim.content)?;
        self.check_category(&claim.category)?;
        check_sizes(&claim, source)?;
        let (importance, confidence) = (unit_importance(claim.importance)?, unit_confidence(claim.confidence)?);
        refuse_past(claim.expires_at)?;
        let claim = Claim { importance, confidence, ..claim };
        // Secrets are rejected instead of redacted, so that the author notices and removes them.
        refuse_secrets(claim.clone())?;
        refuse_secrets(source.to_owned())?;
        Ok(self.guard.redact(claim).0.into_inner())
    }

    /// Rejects a category that the settings do not allow.
    pub(crate) fn check_category(&self, category: &str) -> Result<(), ApiError> {
        let allowed = &self.config.categories.value;
        if allowed.iter().any(|name| name == category) {
            return Ok(());
        }
        Err(ApiError::Category { category: category.to_owned(), allowed: allowed.join(", ") })
    }

    /// Changes fields of a memory, and returns the memory and whether any field changed. New content confirms the
    /// memory, so its confidence rises; the former content stays in the history.
    ///
    /// # Errors
    /// As for [`Memories::remember`]; [`ApiError::KnownText`] or [`ApiError::ForgottenText`] if another memory has or had
    /// the new text. For an agent, also [`ApiError::Pinned`], [`ApiError::NotNow`] for a memory that is not active, and
    /// [`ApiError::Order`] for a text that reads like an instruction.
    pub fn update_memory(&self, id: &str, change: &MemoryChange, author: Author) -> Result<(Memory, bool), ApiError> {
        if let Some(content) = &change.content {
            check_content(content)?;
        }
        if let Some(category) = &change.category {
            self.check_category(category)?;
        }
        let importance = change.importance.map(unit_importance).transpose()?;
        change.confidence.map(unit_confidence).transpose()?;
        refuse_past(change.expires_at)?;
        let change = MemoryChange { importance, ..change.clone() };
        let _span = self.span("update_memory", None);
        let (store, audit) = (self.ledger("change a memory with its history")?, self.audit()?);
        let (memory, is_changed) = store.together(|| self.change_memory(store, id, &change, author))?;
        if change.content.is_some() && !is_changed {
            // The same words confirm the memory, so it fades later.
            self.note_use(std::slice::from_ref(&memory.id));
            return Ok((store.memory(&memory.id)?, false));
        }
        if is_changed {
            self.record(audit, author, AuditAction::Update, std::slice::from_ref(&memory.id))?;
        }
        Ok((memory, is_changed))
    }

    fn change_memory(
        &self,
        store: &Store,
        id: &str,
        change: &MemoryChange,
        author: Author,
    ) -> Result<(Memory, bool), ApiError> {
        let before = self.editable(id, author)?;
        if author == Author::Agent && before.status != Status::Active {
            let remedy = "restore it first, or store it again";
            return Err(ApiError::NotNow { id: before.id.to_string(), status: before.status, remedy });
        }
        self.refuse_unreviewed(author)?;
        let claim = change.applied_to(&before.claim);
        check_sizes(&claim, "")?;
        refuse_secrets(claim.clone())?;
        if author == Author::Agent {
            refuse_orders(&claim)?;
        }
        self.refuse_known(store, &before, &claim)?;
        self.rewrite(store, Memory { claim, ..before }, by(author))
    }

    /// Rejects a new text that another memory already has, or that was forgotten.
    fn refuse_known(&self, store: &Store, before: &Memory, claim: &Claim) -> Result<(), ApiError> {
        if (&claim.content, &claim.value) == (&before.claim.content, &before.claim.value) {
            return Ok(());
        }
        let stored = self.guard.redact(claim.clone()).0.into_inner();
        if let Some(reason) = not_again(store, &before.namespace, &stored, Some(&before.id))? {
            return Err(ApiError::ForgottenText { reason });
        }
        let same = store.by_content(&before.namespace, &stored.content)?.into_iter();
        let has_new_words = normalised_hash(&stored.content) != normalised_hash(&before.claim.content);
        match same.filter(|_| has_new_words).find(|known| known.id != before.id) {
            Some(known) => Err(ApiError::KnownText { id: known.id.short().to_owned(), status: known.status }),
            None => Ok(()),
        }
    }

    fn rewrite(&self, store: &Store, memory: Memory, reason: &'static str) -> Result<(Memory, bool), ApiError> {
        let (memory, _) = self.guard.redact(memory);
        let is_changed = store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            writer.update(&memory, Action::Update, Some(reason.into()))
        })?;
        Ok((store.memory(&memory.id)?, is_changed))
    }

    /// Pins memories, so that only a person can change or retire them, or unpins them, and returns them.
    ///
    /// # Errors
    /// [`ApiError`] if a memory does not exist, or the memories cannot be written.
    pub fn pin(&self, ids: &[impl AsRef<str>], pinned: bool) -> Result<Vec<Memory>, ApiError> {
        // The ids are resolved before the write, so that one unknown id changes nothing.
        let ids = self.resolve_to_decide(ids)?;
        let store = self.ledger("pin memories")?;
        store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            ids.iter().try_for_each(|id| writer.set_pinned(id, pinned).map(drop))
        })?;
        Ok(ids.iter().map(|id| store.memory(id)).collect::<Result<_, _>>()?)
    }

    /// Deletes memories by id, so that they are neither recalled nor learnt again, and returns their number. Deleted
    /// memories can be restored until maintenance purges them.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be written; ids from other namespaces are skipped.
    pub fn delete_memories(&self, ids: &[MemoryId]) -> Result<usize, ApiError> {
        let mut found = Vec::with_capacity(ids.len());
        for id in ids {
            found.extend(self.get_memory(id)?.map(|memory| memory.id));
        }
        let audit = self.audit()?;
        let deleted = self.storage.delete_batch(&found)?;
        self.record(audit, Author::Person, AuditAction::Forget, &found)?;
        Ok(deleted)
    }

    /// Forgets either all of the memories or none, and returns them in their new state.
    ///
    /// # Errors
    /// [`ApiError`] if a memory does not exist, or if a memory is pinned and the author is an agent.
    pub fn forget(
        &self,
        ids: &[impl AsRef<str>],
        reason: Option<&str>,
        author: Author,
    ) -> Result<Vec<Memory>, ApiError> {
        // All memories are looked up before any is forgotten, so that nothing changes if one is refused.
        let memories = ids.iter().map(|id| self.editable(id.as_ref(), author)).collect::<Result<Vec<_>, _>>()?;
        self.forget_all(&memories, reason, author)?;
        let store = self.ledger(FORGET)?;
        Ok(memories.iter().map(|memory| store.memory(&memory.id)).collect::<Result<_, _>>()?)
    }

    /// Forgets every memory that passes `filter`, except pinned ones if the author is an agent, and returns the
    /// memories as they were before. With `preview`, nothing is written.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read or written.
    pub(crate) fn forget_where(
        &self,
        filter: Filter,
        reason: Option<&str>,
        author: Author,
        preview: bool,
    ) -> Result<Vec<Memory>, ApiError> {
        // An agent cannot forget pinned memories, so a filter leaves them out instead of failing.
        let pinned = if author == Author::Agent { Some(false) } else { filter.pinned };
        let filter = self.confined(Filter { pinned, ..filter })?;
        // SQLite's `LIMIT` is signed, so `usize::MAX` would not fit.
        let mut found = self.ledger(FORGET)?.list(&filter, Order::Id, usize::MAX >> 1, 0)?;
        found.retain(|memory| self.acts_as_person(author) || !memory.namespace.is_team());
        if !preview {
            self.forget_all(&found, reason, author)?;
        }
        Ok(found)
    }

    fn forget_all(&self, memories: &[Memory], reason: Option<&str>, author: Author) -> Result<(), ApiError> {
        self.check_maintainer(memories.iter().map(|memory| &memory.namespace), author)?;
        let audit = self.audit()?;
        let only = if let [memory] = memories { Some(&memory.id) } else { None };
        let _span = self.span("delete_memory", only);
        let (reason, _) = self.guard.redact(reason.map(str::to_owned));
        let forget = |writer: &Writer<'_>| {
            memories.iter().try_for_each(|memory| writer.forget(&memory.id, reason.text()).map(drop))
        };
        self.ledger(FORGET)?.write::<_, StoreError>(None, Timestamp::now(), forget)?;
        let ids: Vec<MemoryId> = memories.iter().map(|memory| memory.id.clone()).collect();
        self.record(audit, author, AuditAction::Forget, &ids)
    }

    /// Returns what [`Memories::erase`] would erase.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub fn would_erase(&self, scope: &crate::store::Scope) -> Result<Erased, ApiError> {
        Ok(self.ledger(ERASE)?.would_erase(scope, Timestamp::now())?)
    }

    /// Permanently erases everything that is based only on certain conversations: from the tables, the indexes, the
    /// history, the caches and the write-ahead log.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be written.
    pub fn erase(&self, scope: &crate::store::Scope) -> Result<Erasure, ApiError> {
        let (store, audit, now) = (self.ledger(ERASE)?, self.audit()?, Timestamp::now());
        let erased = store.erase(scope, now)?;
        if let Some(mut log) = audit {
            log.erased(erased.conversations.len(), &erased.memories, now)?;
        }
        // Backups from updates may contain erased text; a person who made backups must delete them.
        let removed = store.remove_automatic_backups()?;
        Ok(Erasure { erased, sealed: store.seal()?, removed })
    }

    /// Returns the backups beside the database, which may still contain erased text.
    ///
    /// # Errors
    /// [`ApiError`] if their folder cannot be read.
    pub fn backups(&self) -> Result<Vec<PathBuf>, ApiError> {
        Ok(self.ledger("find backups")?.backups()?)
    }

    /// Makes all of the memories active again, or none of them. An agent can restore only forgotten memories that do
    /// not read like instructions.
    ///
    /// # Errors
    /// [`ApiError`] if a memory does not exist, or if the author may not restore it.
    pub fn restore(
        &self,
        ids: &[impl AsRef<str>],
        rivals: RivalPolicy,
        author: Author,
    ) -> Result<Vec<(Memory, Restored)>, ApiError> {
        let memories = ids.iter().map(|id| self.resolve(id.as_ref())).collect::<Result<Vec<_>, _>>()?;
        self.refuse_unreviewed(author)?;
        for memory in memories.iter().filter(|_| author == Author::Agent) {
            if !matches!(memory.status, Status::Forgotten | Status::Active) {
                let remedy = "an agent can restore only memories that were forgotten";
                return Err(ApiError::NotNow { id: memory.id.to_string(), status: memory.status, remedy });
            }
            refuse_orders(&memory.claim)?;
        }
        self.check_maintainer(memories.iter().map(|memory| &memory.namespace), author)?;
        let store = self.ledger("restore memories")?;
        let audit = self.audit()?;
        let ids: Vec<MemoryId> = memories.into_iter().map(|memory| memory.id).collect();
        let restored = store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
            ids.iter().map(|id| consolidate::restore(writer, id, rivals, by(author))).collect::<Result<Vec<_>, _>>()
        })?;
        self.record(audit, author, AuditAction::Restore, &ids)?;
        ids.iter().zip(restored).map(|(id, restored)| Ok((store.memory(id)?, restored))).collect()
    }

    /// Links two memories, and returns the link and whether it is new. A link of type [`RelationType::Supersedes`] also
    /// retires the other memory.
    ///
    /// # Errors
    /// [`ApiError`] if either memory does not exist or is forgotten, if they are the same, or if an agent would retire a
    /// pinned memory.
    pub fn relate(
        &self,
        from: &str,
        relation_type: RelationType,
        to: &str,
        reason: Option<&str>,
        author: Author,
    ) -> Result<(Relation, bool), ApiError> {
        let store = self.ledger("link memories")?;
        store.together(|| {
            let (from, to) = (self.resolve(from)?, self.resolve(to)?);
            if let Some(gone) = [&from, &to].into_iter().find(|memory| memory.status == Status::Forgotten) {
                let remedy = "restore it first";
                return Err(ApiError::NotNow { id: gone.id.to_string(), status: gone.status, remedy });
            }
            let retires = relation_type == RelationType::Supersedes && to.status == Status::Active && from.id != to.id;
            if retires {
                refuse_pinned(&to, author)?;
                self.check_maintainer([&to.namespace], author)?;
            }
            let (reason, _) = self.guard.redact(reason.map(str::to_owned));
            let now = Timestamp::now();
            // The old statement was valid until the new one became valid.
            let until = from.claim.valid_from.unwrap_or(now);
            let relation = Relation {
                from: from.id,
                to: to.id.clone(),
                relation_type,
                reason: reason.clone().into_inner(),
                created_at: now,
            };
            let valid_to = to.claim.valid_to.or(Some(until));
            let claim = Claim { valid_to, ..to.claim.clone() };
            let (retired, _) = self.guard.redact(Memory { status: Status::Superseded, claim, ..to });
            let is_new = store.write::<_, StoreError>(None, now, |writer| {
                if retires {
                    writer.update(&retired, Action::Supersede, reason.text())?;
                }
                writer.relate(&relation)
            })?;
            Ok((relation, is_new))
        })
    }

    /// Removes a link, and returns whether it existed.
    ///
    /// # Errors
    /// [`ApiError`] if either memory does not exist, or the change cannot be written.
    pub fn unrelate(&self, from: &str, relation_type: RelationType, to: &str) -> Result<bool, ApiError> {
        let (from, to) = (self.resolve(from)?.id, self.resolve(to)?.id);
        let unrelate = |writer: &Writer<'_>| writer.unrelate(&from, relation_type, &to);
        Ok(self.ledger("link memories")?.write::<_, StoreError>(None, Timestamp::now(), unrelate)?)
    }

    /// Whether new memories of this author wait for review by a person.
    fn waits(&self, author: Author) -> bool {
        author == Author::Agent && self.reviews_agents
    }

    /// Rejects changes to stored memories by an author whose memories wait for review.
    fn refuse_unreviewed(&self, author: Author) -> Result<(), ApiError> {
        if self.waits(author) { Err(ApiError::Unreviewed) } else { Ok(()) }
    }

    /// Returns a memory that `author` may change.
    fn editable(&self, id: &str, author: Author) -> Result<Memory, ApiError> {
        let memory = self.resolve(id)?;
        refuse_pinned(&memory, author)?;
        self.check_maintainer([&memory.namespace], author)?;
        Ok(memory)
    }

    /// Returns the ids of memories after checking that the person may decide about them.
    pub(super) fn resolve_to_decide(&self, ids: &[impl AsRef<str>]) -> Result<Vec<MemoryId>, ApiError> {
        let memories = ids.iter().map(|id| self.resolve(id.as_ref())).collect::<Result<Vec<_>, _>>()?;
        self.check_maintainer(memories.iter().map(|memory| &memory.namespace), Author::Person)?;
        Ok(memories.into_iter().map(|memory| memory.id).collect())
    }

    /// Opens the audit log, if the settings enable it. The log is opened before a change, so that every change can be
    /// logged.
    pub(super) fn audit(&self) -> Result<Option<AuditLog>, ApiError> {
        match self.storage.as_store().and_then(|store| store.file()) {
            Some(file) if self.config.audit.value => Ok(Some(AuditLog::open(file)?)),
            Some(_) | None => Ok(None),
        }
    }

    /// Adds a line to the audit log, if the settings enable it.
    pub(super) fn record(
        &self,
        log: Option<AuditLog>,
        author: Author,
        action: AuditAction,
        ids: &[MemoryId],
    ) -> Result<(), ApiError> {
        let through = if author == Author::Agent { AuditChannel::Agent } else { self.through };
        Ok(log.map_or(Ok(()), |mut log| log.note(through, action, ids, Timestamp::now()))?)
    }
}

/// Returns the words that name the author of a change in the history.
const fn by(author: Author) -> &'static str {
    match author {
        Author::Person => "by hand",
        Author::Agent => "by an agent",
    }
}

const FORGET: &str = "forget memories so that they can be restored";
const ERASE: &str = "erase conversations";

pub(super) fn check_content(content: &str) -> Result<(), ApiError> {
    let chars = content.chars().count();
    // A text of invisible characters counts as empty, too.
    match visible(content, true).trim() {
        "" => Err(ApiError::Empty),
        _ if chars > MAX_CONTENT_CHARS => Err(ApiError::TooLong { chars, most: MAX_CONTENT_CHARS }),
        _ => Ok(()),
    }
}

/// Rejects fields that are too long to be read by a person or a model.
fn check_sizes(claim: &Claim, source: &str) -> Result<(), ApiError> {
    let fields = [
        ("title", Some(claim.title.as_str()), 500),
        ("summary", claim.summary.as_deref(), MAX_CONTENT_CHARS),
        ("subject", claim.subject.as_deref(), 200),
        ("key", claim.key.as_deref(), 500),
        ("value", claim.value.as_deref(), MAX_CONTENT_CHARS),
        ("source", Some(source), 2_000),
    ];
    let tags = claim.tags.iter().map(|tag| ("tag", Some(tag.as_str()), 200));
    for (field, text, most) in fields.into_iter().chain(tags) {
        if text.is_some_and(|text| text.chars().nth(most).is_some()) {
            return Err(ApiError::LongField { field, most });
        }
    }
    if claim.tags.len() > MAX_TAGS { Err(ApiError::ManyTags { most: MAX_TAGS }) } else { Ok(()) }
}

/// Rejects a key that looks like another one, or that the guard changed from `given` to `stored`, because two keys
/// could become one.
fn check_key(given: Option<&str>, stored: Option<&str>) -> Result<(), ApiError> {
    let Some(key) = given else { return Ok(()) };
    if visible(key, false).trim() != key {
        let reason = "has white space at its start or end, or invisible characters; leave them out";
        return Err(ApiError::Key { reason });
    }
    if stored != given {
        return Err(ApiError::Key { reason: "contains personal data, which would be redacted; choose another key" });
    }
    Ok(())
}

/// Maximum number of tags of a memory.
const MAX_TAGS: usize = 100;

fn refuse_pinned(memory: &Memory, author: Author) -> Result<(), ApiError> {
    let is_refused = author == Author::Agent && memory.pinned;
    if is_refused { Err(ApiError::Pinned { id: memory.id.to_string() }) } else { Ok(()) }
}

/// Rejects an expiry in the past.
fn refuse_past(at: Option<Timestamp>) -> Result<(), ApiError> {
    match at.filter(|at| *at <= Timestamp::now()) {
        Some(at) => Err(ApiError::Expiry { text: at.to_string(), reason: "is in the past; give a later time" }),
        None => Ok(()),
    }
}

/// Rejects values that contain a secret; personal data is not a secret.
pub(super) fn refuse_secrets<T: Redact>(value: T) -> Result<(), ApiError> {
    secret_in(value).map_or(Ok(()), |name| Err(ApiError::Secret { name }))
}

/// Rejects namespaces that contain a secret, because namespaces are stored and shown like texts. They are not redacted,
/// because two namespaces could become one.
pub(crate) fn refuse_secret_namespace(namespace: &Namespace) -> Result<(), ApiError> {
    secret_in(namespace.to_string()).map_or(Ok(()), |name| Err(ApiError::SecretNamespace { name }))
}

/// Whether a claim would act as an instruction to a model that recalls it, in which case only a person may store it.
#[must_use]
pub(crate) fn reads_like_an_order(claim: &Claim) -> bool {
    refuse_orders(claim).is_err()
}

/// Rejects a text that would act as an instruction to a model that recalls it.
fn refuse_orders(claim: &Claim) -> Result<(), ApiError> {
    order_in(claim, &[]).map_or(Ok(()), |why| Err(ApiError::Order { reason: why.reason() }))
}

/// Returns the names of the fields in which two claims differ, as the commands and tools call them.
fn differing(before: &Claim, after: &Claim) -> Vec<&'static str> {
    let fields = [
        ("title", before.title != after.title),
        ("summary", before.summary != after.summary),
        ("type", before.memory_type != after.memory_type),
        ("category", before.category != after.category),
        ("subject", before.subject != after.subject),
        ("value", before.value != after.value),
        ("importance", before.importance.to_bits() != after.importance.to_bits()),
        ("confidence", before.confidence.to_bits() != after.confidence.to_bits()),
        ("tags", before.tags != after.tags),
        ("structured", before.structured != after.structured),
        ("expires", before.expires_at != after.expires_at),
    ];
    fields.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// Returns the trimmed text; `None` if it is empty, because an empty text counts as not given.
fn given(text: &str) -> Option<String> {
    Some(text.trim()).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Returns the tags trimmed, without empty tags and duplicates.
fn tidy(tags: &[String]) -> Vec<String> {
    let mut kept: Vec<String> = Vec::with_capacity(tags.len());
    for tag in tags.iter().map(|tag| tag.trim()).filter(|tag| !tag.is_empty()) {
        if !kept.iter().any(|known| known == tag) {
            kept.push(tag.to_owned());
        }
    }
    kept
}

/// Whether `content` still has every word of `text` in some form, apart from insignificant words.
fn keeps_words(text: &str, content: &str) -> bool {
    Database::forms_in(&Database::words_of(text), content).iter().all(|forms| !forms.is_empty())
}

/// Returns the active memories with a key, by id.
fn active_with_key(store: &Store, namespace: &Namespace, key: &str) -> Result<Vec<Memory>, StoreError> {
    let mut memories = store.by_key(namespace, key)?;
    memories.retain(|memory| memory.status == Status::Active);
    memories.sort_by(|a, b| a.id.cmp(&b.id));
    Ok(memories)
}

/// Whether a memory is no longer recalled because it has expired or its confidence has faded.
fn has_ended(memory: &Memory) -> bool {
    memory.status_at(Timestamp::now()) == Status::Expired
}

/// Makes a memory that had ended active again, with the lifetime of the claim `again`.
fn renew(store: &Store, ended: &Memory, again: &Claim) -> Result<Memory, ApiError> {
    let claim = Claim {
        expires_at: again.expires_at,
        scope: again.scope,
        valid_from: again.valid_from,
        valid_to: None,
        ..ended.claim.clone()
    };
    let renewed = store.redact(Memory { status: Status::Active, claim, ..ended.clone() });
    let why = Some("written again after it had ended".into());
    store.write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&renewed, Action::Restore, why))?;
    Ok(store.memory(&ended.id)?)
}

/// Returns the reason why a forgotten text is not stored again, and what a person can do about it; `None` if the text
/// was not forgotten, or was forgotten with the memory `own`.
fn not_again(
    store: &Store,
    namespace: &Namespace,
    claim: &Claim,
    own: Option<&MemoryId>,
) -> Result<Option<String>, ApiError> {
    let value = claim.key.as_deref().zip(claim.value.as_deref());
    let rejected = store.rejected(namespace, &claim.content, value)?;
    let known = rejected.map(|rejected| store.find(&rejected.memory)).transpose()?.flatten();
    let forgotten = known.filter(|memory| memory.status == Status::Forgotten && Some(&memory.id) != own);
    Ok(forgotten.map(|memory| {
        let id = memory.id.short();
        format!(
            "forgotten before; if the person wants it back, `afterthought memory restore {id}` or the action restore of \
             memory_forget restores it"
        )
    }))
}

/// Returns the memory that contains the stored text after the change was written.
pub(super) fn holder(store: &Store, change: &Change) -> Result<Option<Memory>, StoreError> {
    let id: Option<&MemoryId> = change.new_id.as_ref().or(change.target.as_ref());
    id.map_or(Ok(None), |id| store.find(id))
}
