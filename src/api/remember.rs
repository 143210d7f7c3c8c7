//! Writes single memories: remember, update, pin and relate.

use jiff::Timestamp;
use strsim::levenshtein;
use transcripts::{Message, Transcript};

use super::draft::{
    MemoryChange, MemoryDraft, check_content, check_key, check_sizes, refuse_orders, refuse_past, refuse_pinned,
    refuse_secrets,
};
use super::scale::{own_id, unit_confidence, unit_importance, wrong_id};
use super::{ApiError, Memories};
use crate::changeset::Action;
use crate::consolidate::{self, Author, Change, Decision, IncomingClaim, RivalPolicy, near, settle_by_rules_among};
use crate::exchange::fallback_category;
use crate::extract::{Span, Task, offline};
use crate::guard::order_from_elsewhere;
use crate::memory::{
    Audience, Candidate, Claim, Evidence, ExtractionMethod, Memory, MemoryId, Namespace, Relation, RelationType, Status,
};
use crate::store::{AuditAction, AuditChannel, AuditLog, Database, Store, StoreError, Writer};
use crate::text::normalise::{caseless, normalised_hash};
use crate::text::person::{is_about_others, is_about_user};

/// Minimum length of a value that may be misspelt, and the maximum number of wrong letters, in characters.
const SPELT_CHARS: usize = 5;
const MISSPELT_CHARS: usize = 2;

/// Maximum number of memories about the same topic that are listed when a new one is stored.
const MAX_NEAR: usize = 3;

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

/// Returns a claim about the project as a candidate that does not replace another memory.
pub(super) const fn stated(claim: Claim, evidence: Vec<Evidence>) -> Candidate {
    let audience = Audience::Project;
    Candidate { claim, audience, evidence, replaces: None, is_pasted: false, is_shipped: false, updates_only: false }
}

impl Memories {
    /// Stores a memory after comparing it with the known memories: a known memory is confirmed, and a contradicted one
    /// is superseded. If a person had forgotten the memory and writes it again, it is restored. No model is called.
    ///
    /// # Errors
    /// [`ApiError`] for text that is empty, too long or contains a secret, for an unknown category, and if the memory
    /// cannot be written.
    pub fn remember(&self, draft: &MemoryDraft) -> Result<Remembered, ApiError> {
        self.remember_among(draft, &|_| true)
    }

    /// Stores a memory as [`Memories::remember`] does, but compares it only with the memories for which `is_compared`
    /// is true.
    pub(super) fn remember_among(
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
                return Err(wrong_id(id.as_str(), "is taken; leave it out, or update that memory"));
            }
            incoming.id = None;
        }
        let claims = std::slice::from_ref(&incoming);
        let mut plan = settle_by_rules_among(store, claims, is_compared, None, Timestamp::now())?;
        let change = plan.changes.swap_remove(0);
        let memory = holder(store, &change)?;
        let restored = |change: Change, reason: &str, memory: Memory| {
            let change = Change { reason: reason.to_owned(), ..change };
            Remembered { change, memory: Some(memory), restored: true, updated: Vec::new(), near: Vec::new() }
        };
        if let Some(ended) = memory.as_ref().filter(|memory| has_ended(memory))
            && change.decision == Decision::Skip
            && (draft.author == Author::Person || !self.reviews_agents && refuse_orders(&ended.claim, None).is_ok())
        {
            let memory = renew(store, ended, &incoming.candidate.claim)?;
            return Ok(restored(change, "it was inactive, and is active again", memory));
        }
        // Writing a known memory again confirms it, so it fades later.
        if let Some(known) = memory.as_ref().filter(|_| change.decision == Decision::Skip) {
            self.note_use(std::slice::from_ref(&known.id));
        }
        // A person's decision is final, so writing a forgotten memory again restores it.
        if memory.is_none()
            && draft.author == Author::Person
            && let Some(known) = forgotten(store, &incoming.namespace, &incoming.candidate.claim)?
        {
            store.write::<_, StoreError>(None, Timestamp::now(), |writer| {
                consolidate::restore(writer, &known.id, RivalPolicy::Retire, draft.author)
            })?;
            return Ok(restored(change, "forgotten before, and restored", store.memory(&known.id)?));
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
                *reason = format!("{reason}; no other field was changed, because {error}");
            }
            Err(error) => return Err(error),
        }
        Ok(remembered)
    }

    /// Returns the draft for `text`, which a person wants remembered, in any wording. If the offline rules read the whole
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

    pub(super) fn incoming(&self, draft: &MemoryDraft) -> Result<IncomingClaim, ApiError> {
        let claim = self.checked(draft.claim(Timestamp::now()), &draft.source)?;
        check_key(draft.key.as_deref(), claim.key.as_deref())?;
        let namespace = match &self.namespaces {
            Some(namespaces) => namespaces.for_audience(draft.audience)?.clone(),
            None => self.home(),
        };
        self.check_maintainer([&namespace], draft.author)?;
        let candidate = Candidate { audience: draft.audience, ..stated(claim, Vec::new()) };
        // An agent may have been manipulated into writing such text, so the text waits until a person has reviewed it.
        let is_order = draft.author == Author::Agent && order_from_elsewhere(&candidate.claim, &[], None).is_some();
        let method = if is_order { ExtractionMethod::Auto } else { ExtractionMethod::Manual };
        let id = draft.id.as_deref().map(own_id).transpose()?;
        Ok(IncomingClaim {
            candidate,
            namespace,
            source: draft.source.clone(),
            method,
            id,
            past: None,
            needs_review: is_order || self.waits(draft.author),
            is_later: false,
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
        Err(ApiError::Invalid(format!("{category:?} is not a category; use one of {}", allowed.join(", "))))
    }

    /// Changes fields of a memory, and returns the memory and whether any field changed. New content confirms the
    /// memory, so its confidence rises; the former content stays in the history.
    ///
    /// # Errors
    /// As for [`Memories::remember`]; [`ApiError::Conflict`] or [`ApiError::ForgottenText`] if another memory has or had
    /// the new text. For an agent, also [`ApiError::Pinned`], [`ApiError::NotNow`] for a memory that is not active, and
    /// [`ApiError::Invalid`] for text that reads like an instruction.
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
        let mut claim = change.applied_to(&before.claim);
        if before.status == Status::Active && is_another_value(&before.claim, &claim) {
            // The former value was said in a log, but this one is stated now, so no earlier statement replaces it.
            claim.valid_from = Some(Timestamp::now());
        }
        check_sizes(&claim, "")?;
        refuse_secrets(claim.clone())?;
        if author == Author::Agent {
            refuse_orders(&claim, Some(&before.claim))?;
        }
        self.refuse_known(store, &before, &claim)?;
        self.rewrite(store, Memory { claim, ..before }, author.by())
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
            Some(known) => Err(ApiError::Conflict(format!(
                "memory {} ({}) has this text already; update that memory, or forget it first",
                known.id.short(),
                known.status
            ))),
            None => Ok(()),
        }
    }

    pub(super) fn rewrite(
        &self,
        store: &Store,
        memory: Memory,
        reason: &'static str,
    ) -> Result<(Memory, bool), ApiError> {
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

    /// Links two memories, and returns the link and whether it is new. A link of type [`RelationType::Supersedes`] also
    /// retires the other memory.
    ///
    /// # Errors
    /// [`ApiError`] if either memory does not exist or is forgotten, if they are the same, if a memory that is not active
    /// would retire another one, or if an agent would retire a pinned memory.
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
            let retires = relation_type == RelationType::Supersedes && to.status == Status::Active && from.id != to.id;
            // If a memory that is not recalled retired another one, neither of them would be recalled.
            let unusable = |memory: &&Memory| {
                memory.status == Status::Forgotten || retires && memory.id == from.id && memory.status != Status::Active
            };
            if let Some(gone) = [&from, &to].into_iter().find(unusable) {
                let remedy = "restore it first";
                return Err(ApiError::NotNow { id: gone.id.to_string(), status: gone.status, remedy });
            }
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

    /// Removes a link, and returns whether it existed. A memory that no other memory supersedes or refines becomes active
    /// again; forgotten memories do not count.
    ///
    /// # Errors
    /// [`ApiError`] if either memory does not exist, or the change cannot be written.
    pub fn unrelate(&self, from: &str, relation_type: RelationType, to: &str) -> Result<bool, ApiError> {
        let (from, to) = (self.resolve(from)?.id, self.resolve(to)?);
        let may_restore = relation_type == RelationType::Supersedes && to.status == Status::Superseded;
        if may_restore {
            self.check_maintainer([&to.namespace], Author::Person)?;
        }
        let to = to.id;
        let unrelate = |writer: &Writer<'_>| {
            let existed = writer.unrelate(&from, relation_type, &to)?;
            if existed && may_restore && !is_replaced(writer, &to)? {
                writer.restore(&to, Some(Author::Person.by().into()))?;
                // The person has decided to keep both, so their former conflict must not return to the inbox.
                writer.unrelate(&from, RelationType::Contradicts, &to)?;
                writer.unrelate(&to, RelationType::Contradicts, &from)?;
            }
            Ok(existed)
        };
        Ok(self.ledger("link memories")?.write::<_, StoreError>(None, Timestamp::now(), unrelate)?)
    }

    /// Whether new memories of this author wait for review by a person.
    fn waits(&self, author: Author) -> bool {
        author == Author::Agent && self.reviews_agents
    }

    /// Rejects changes to stored memories by an author whose memories wait for review.
    pub(super) fn refuse_unreviewed(&self, author: Author) -> Result<(), ApiError> {
        if self.waits(author) { Err(ApiError::Unreviewed) } else { Ok(()) }
    }

    /// Returns a memory that `author` may change.
    pub(super) fn editable(&self, id: &str, author: Author) -> Result<Memory, ApiError> {
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

/// Whether a memory that is not forgotten supersedes or refines this one.
fn is_replaced(writer: &Writer<'_>, id: &MemoryId) -> Result<bool, StoreError> {
    let replaces = |link: &Relation| {
        link.to == *id && matches!(link.relation_type, RelationType::Supersedes | RelationType::Refines)
    };
    for link in writer.relations(id)?.iter().filter(|link| replaces(link)) {
        if writer.memory(&link.from)?.status != Status::Forgotten {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a changed claim has another value, or none, rather than another spelling of its value.
fn is_another_value(before: &Claim, after: &Claim) -> bool {
    let Some(old) = &before.value else { return false };
    after.value.as_ref().is_none_or(|new| {
        let (old, new) = (caseless(old), caseless(new));
        let digits = |text: &str| text.chars().filter(|c| c.is_numeric()).collect::<String>();
        let is_long = old.chars().count().max(new.chars().count()) >= SPELT_CHARS;
        let is_spelling = is_long && digits(&old) == digits(&new) && levenshtein(&old, &new) <= MISSPELT_CHARS;
        old != new && !is_spelling
    })
}

/// Whether `content` still has every word of `text` in some form, apart from insignificant words.
fn keeps_words(text: &str, content: &str) -> bool {
    Database::forms_in(&Database::words_of(text), content).iter().all(|forms| !forms.is_empty())
}

/// Whether a memory is no longer recalled because it has expired or its confidence has faded.
fn has_ended(memory: &Memory) -> bool {
    memory.status_at(Timestamp::now()) == Status::Expired
}

/// Makes an inactive memory active again, with the lifetime of the claim `again`.
fn renew(store: &Store, ended: &Memory, again: &Claim) -> Result<Memory, ApiError> {
    let claim = Claim {
        expires_at: again.expires_at,
        scope: again.scope,
        valid_from: again.valid_from,
        valid_to: None,
        ..ended.claim.clone()
    };
    let renewed = store.redact(Memory { status: Status::Active, claim, ..ended.clone() });
    let why = Some("stored again after it had become inactive".into());
    store.write::<_, StoreError>(None, Timestamp::now(), |writer| writer.update(&renewed, Action::Restore, why))?;
    Ok(store.memory(&ended.id)?)
}

/// Returns the forgotten memory with the text or the value of a claim.
pub(super) fn forgotten(store: &Store, namespace: &Namespace, claim: &Claim) -> Result<Option<Memory>, StoreError> {
    let Some(rejected) = store.rejected_claim(namespace, claim)? else { return Ok(None) };
    Ok(store.find(&rejected.memory)?.filter(|memory| memory.status == Status::Forgotten))
}

/// Returns the reason why a forgotten text is not stored again, and what a person can do about it; `None` if the text
/// was not forgotten, or was forgotten with the memory `own`.
pub(super) fn not_again(
    store: &Store,
    namespace: &Namespace,
    claim: &Claim,
    own: Option<&MemoryId>,
) -> Result<Option<String>, ApiError> {
    let forgotten = forgotten(store, namespace, claim)?.filter(|memory| Some(&memory.id) != own);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corrected_spelling_is_no_other_value_but_another_number_is() {
        let claim = |value: Option<&str>| Claim {
            value: value.map(str::to_owned),
            ..Claim::new(crate::memory::MemoryType::Semantic, "fact", "", "x")
        };
        let is_other = |old, new| is_another_value(&claim(Some(old)), &claim(new));
        for (old, new) in [("Bergn", "Bergen"), ("bergen", "Bergen"), ("Trondhiem", "Trondheim")] {
            assert!(!is_other(old, Some(new)), "{old} {new}");
        }
        for (old, new) in
            [("Bergen", Some("Oslo")), ("Bergen", None), ("npm", Some("pnpm")), ("Postgres 15", Some("Postgres 16"))]
        {
            assert!(is_other(old, new), "{old} {new:?}");
        }
        assert!(!is_another_value(&claim(None), &claim(Some("Oslo"))));
    }
}
