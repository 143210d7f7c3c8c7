//! MCP tools that change memories: store, upsert, update, forget and relate.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::tool::{Effect, MemoryTool, Profile, ToolError, ToolRow};
use super::view::{in_tenths, stored, view, views};
use crate::api::{
    ApiError, Author, Filter, Memories, MemoryChange, MemoryDraft, PAST, RivalPolicy, expiry, importance_of_tenths,
    structured, wrong_expiry,
};
use crate::memory::{Audience, Memory, MemoryType, RelationType, Scope, Status};
use jiff::{SignedDuration, Timestamp};

pub(in crate::serve) struct Store;

/// Something to remember.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct StoreArguments {
    /// Category of the memory
    category: String,
    /// Topic tag, e.g. auth
    subject: String,
    /// One self-contained sentence or short paragraph, third person, absolute dates
    content: String,
    /// Source: a file path, "user", or the basis of the conclusion
    pub(in crate::serve) source: Option<String>,
    /// A few words
    title: Option<String>,
    /// Shorter wording of a long content
    summary: Option<String>,
    /// Unused UUID for a new memory
    id: Option<String>,
    /// By default from the category
    #[serde(rename = "type")]
    memory_type: Option<MemoryType>,
    /// Importance, 0-1; 0.7 by default
    importance: Option<f64>,
    /// Tags
    #[serde(default)]
    tags: Vec<String>,
    /// project (the default), or user for facts about the person in any project
    audience: Option<Audience>,
    /// Lifetime such as 2h or 7d, or a time
    expires: Option<String>,
    /// Parts of an episode, procedure, pattern, blocker or profile
    structured: Option<Map<String, Value>>,
}

impl MemoryTool for Store {
    type Arguments = StoreArguments;

    const NAME: &'static str = "memory_store";
    const TITLE: &'static str = "Remember something";
    const DESCRIPTION: &'static str = "Remember a durable fact, preference, decision or convention for later \
        conversations. It is compared with stored memories: a known one is confirmed instead of stored twice, and a \
        contradicted one is superseded. Store one thing per call. Never store secrets; they are \
        refused.";
    const EFFECT: Effect = Effect::Adds;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Basecoat, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("category");

    fn call(memories: &Memories, arguments: StoreArguments) -> Result<Value, ApiError> {
        check_subject(Some(&arguments.subject))?;
        // The category and the subject are always given, so they do not indicate that a known memory should change.
        let given = MemoryChange {
            title: arguments.title,
            summary: arguments.summary,
            importance: arguments.importance,
            tags: Some(arguments.tags),
            memory_type: arguments.memory_type,
            expires_at: expiry_of(arguments.expires.as_deref(), None)?,
            structured: arguments.structured.map(structured).transpose()?,
            ..MemoryChange::default()
        };
        let draft = MemoryDraft {
            memory_type: type_of(&arguments.category),
            category: arguments.category,
            id: arguments.id,
            subject: Some(arguments.subject),
            audience: arguments.audience.unwrap_or(Audience::Project),
            source: arguments.source.unwrap_or_else(|| SOURCE.to_owned()),
            author: Author::Agent,
            ..MemoryDraft::new(arguments.content)
        };
        Ok(stored(memories.remember_with(&draft.with(&given), &given)?))
    }
}

pub(in crate::serve) struct Upsert;

/// Something to remember, and its key.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct UpsertArguments {
    /// What to remember, as one self-contained sentence or short paragraph
    content: String,
    /// A few words
    title: Option<String>,
    /// Shorter wording of a long content
    summary: Option<String>,
    /// Category; note by default
    #[serde(rename = "type")]
    category: Option<String>,
    /// Whether it is long-term (the default) or expires
    scope: Option<Scope>,
    /// Importance, 1-10, or a fraction of 1; 5 by default
    importance: Option<f64>,
    /// Tags
    tags: Option<Vec<String>>,
    /// Updates the memory with this key
    dedup_key: Option<String>,
    /// Topic tag
    subject: Option<String>,
    /// Days until the memory expires; never by default
    expires_in_days: Option<f64>,
    /// Or a lifetime such as 2h, or a time
    expires: Option<String>,
    /// project, or user for any project; user by default for preferences of the user
    audience: Option<Audience>,
}

impl MemoryTool for Upsert {
    type Arguments = UpsertArguments;

    const NAME: &'static str = "memory_upsert";
    const TITLE: &'static str = "Save a memory";
    const DESCRIPTION: &'static str = "Save a memory. If a memory with the same dedup_key exists, it takes over the given fields and keeps its id; \
        without one, it is compared with stored memories. Use expires_in_days for the state of a task. Never save \
        secrets; they are refused.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Blockcell, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("type");

    fn call(memories: &Memories, arguments: UpsertArguments) -> Result<Value, ApiError> {
        let given = MemoryChange {
            content: Some(arguments.content.clone()),
            title: arguments.title,
            summary: arguments.summary,
            category: arguments.category,
            subject: arguments.subject,
            importance: arguments.importance.map(importance_of_tenths).transpose()?,
            tags: arguments.tags,
            expires_at: expiry_of(arguments.expires.as_deref(), arguments.expires_in_days)?,
            scope: arguments.scope,
            ..MemoryChange::default()
        };
        let category = given.category.clone().unwrap_or_else(|| "note".to_owned());
        let draft = MemoryDraft {
            memory_type: type_of(&category),
            key: arguments.dedup_key.filter(|key| !key.is_empty()),
            importance: 0.5,
            audience: arguments.audience.unwrap_or_else(|| memories.audience_of(&category, &arguments.content)),
            category,
            source: SOURCE.to_owned(),
            author: Author::Agent,
            ..MemoryDraft::new(arguments.content)
        };
        let mut answer = stored(memories.upsert(&draft.with(&given), &given)?);
        answer.get_mut("memory").into_iter().for_each(in_tenths);
        Ok(answer)
    }
}

pub(in crate::serve) struct Update;

/// A memory, and its new values.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct UpdateArguments {
    /// Id, or four characters or more of its start or end
    id: String,
    /// New content; the same words confirm it
    content: Option<String>,
    /// New title
    title: Option<String>,
    /// New summary
    summary: Option<String>,
    /// New value of its attribute
    value: Option<String>,
    /// Another category
    category: Option<String>,
    /// Another topic tag
    subject: Option<String>,
    /// Importance, 0-1
    importance: Option<f64>,
    /// New tags
    tags: Option<Vec<String>>,
    /// New parts
    structured: Option<Map<String, Value>>,
}

impl MemoryTool for Update {
    type Arguments = UpdateArguments;

    const NAME: &'static str = "memory_update";
    const TITLE: &'static str = "Correct a memory";
    const DESCRIPTION: &'static str = "Correct the content or other fields of a memory. For something that has changed in \
        the world, store the new fact instead: it supersedes the old one. Pinned memories are refused.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Basecoat, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("category");

    fn call(memories: &Memories, arguments: UpdateArguments) -> Result<Value, ApiError> {
        let change = MemoryChange {
            content: arguments.content,
            title: arguments.title,
            summary: arguments.summary,
            value: arguments.value,
            category: arguments.category,
            subject: arguments.subject,
            importance: arguments.importance,
            tags: arguments.tags,
            structured: arguments.structured.map(structured).transpose()?,
            ..MemoryChange::default()
        };
        if change == MemoryChange::default() {
            return Err(ApiError::Invalid("nothing would change; give the content or another field".to_owned()));
        }
        check_subject(change.subject.as_deref())?;
        let (memory, _) = memories.update_memory(&arguments.id, &change, Author::Agent)?;
        Ok(json!({"done": "updated", "memory": view(&memory)}))
    }
}

/// Forgets one memory by its id, as Base Coat specifies.
pub(in crate::serve) struct ForgetOne;

/// Forgets by id or by filters, and restores, as blockcell does.
pub(in crate::serve) struct Forget;

/// A memory.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct ForgetOneArguments {
    /// Id, or four characters or more of its start or end
    id: String,
    /// Reason, for its history
    reason: Option<String>,
}

/// An action, and the memories that it applies to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct ForgetArguments {
    /// delete (the default) or restore
    action: Option<Action>,
    /// Id, or four characters or more of its start or end
    id: Option<String>,
    /// Delete all with this scope
    scope: Option<Scope>,
    /// Delete all of this category
    #[serde(rename = "type", alias = "category")]
    category: Option<String>,
    /// Delete all that have all of these tags
    #[serde(default)]
    tags: Vec<String>,
    /// Delete all with this topic tag
    subject: Option<String>,
    /// Reason, for their history
    reason: Option<String>,
    /// Only list the memories that the filters select
    #[serde(default)]
    dry_run: bool,
}

/// What to do.
#[derive(Deserialize, JsonSchema, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    /// Forget it
    Delete,
    /// Bring it back
    Restore,
}

/// Returns the answer about memories that were forgotten or restored, or would be; `done` names the action.
pub(in crate::serve) fn done(done: &str, memories: &[Memory]) -> Value {
    json!({"done": done, "count": memories.len(), "memories": views(memories)})
}

impl MemoryTool for ForgetOne {
    type Arguments = ForgetOneArguments;

    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget a memory";
    const DESCRIPTION: &'static str = "Forget a memory by its id, so that it is neither recalled nor learnt again. A person \
        can restore it for 30 days. Pinned memories are refused.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Basecoat];

    fn call(memories: &Memories, arguments: ForgetOneArguments) -> Result<Value, ApiError> {
        let forgotten = memories.forget(&[arguments.id], arguments.reason.as_deref(), Author::Agent)?;
        Ok(done("forgotten", &forgotten))
    }
}

impl MemoryTool for Forget {
    type Arguments = ForgetArguments;

    const NAME: &'static str = "memory_forget";
    const TITLE: &'static str = "Forget or restore memories";
    const DESCRIPTION: &'static str = "Forget a memory by its id, or all that match filters, so that they are neither \
        recalled nor learnt again; action restore undoes this within 30 days. Check with dry_run before deleting by \
        filters. Pinned memories are not changed.";
    const EFFECT: Effect = Effect::Changes;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Full];
    const CATEGORY: Option<&'static str> = Some("type");

    fn call(memories: &Memories, arguments: ForgetArguments) -> Result<Value, ApiError> {
        let reason = arguments.reason.as_deref();
        match (arguments.action.unwrap_or(Action::Delete), arguments.id.as_deref(), arguments.filter()) {
            (Action::Restore, Some(id), None) if arguments.dry_run => {
                Ok(done("would be restored", &[memories.resolve(id)?]))
            }
            (Action::Restore, Some(id), None) => {
                let (memory, restored) = memories.restore(&[id], RivalPolicy::Retire, Author::Agent)?.swap_remove(0);
                let waits = "waits in the inbox, because its replacement is pinned";
                Ok(done(if restored.waits { waits } else { "restored" }, &[memory]))
            }
            (Action::Delete, Some(id), None) if arguments.dry_run => Ok(done(PREVIEW, &[memories.resolve(id)?])),
            (Action::Delete, Some(id), None) => Ok(done("forgotten", &memories.forget(&[id], reason, Author::Agent)?)),
            (Action::Delete, None, Some(filter)) => {
                arguments.category.as_deref().map_or(Ok(()), |category| memories.check_category(category))?;
                let mut found = memories.forget_where(filter, reason, Author::Agent, arguments.dry_run)?;
                if !arguments.dry_run {
                    found.iter_mut().for_each(|memory| memory.status = Status::Forgotten);
                }
                Ok(done(if arguments.dry_run { PREVIEW } else { "forgotten" }, &found))
            }
            (Action::Restore, _, Some(_)) | (Action::Restore, None, None) => {
                Err(ApiError::nothing_named("restore requires the id of one memory"))
            }
            (Action::Delete, Some(_), Some(_)) => {
                Err(ApiError::nothing_named("give either an id or filters, not both"))
            }
            (Action::Delete, None, None) => {
                Err(ApiError::nothing_named("give an id, or at least one of scope, type, tags and subject"))
            }
        }
    }
}

/// Does the same as [`Forget`], for clients whose only scale of importance is that of blockcell.
pub(super) fn forget_in_tenths(memories: &Memories, arguments: &Value) -> Result<Value, ToolError> {
    let mut answer = (ToolRow::of::<Forget>().call)(memories, arguments)?;
    answer["memories"].as_array_mut().into_iter().flatten().for_each(in_tenths);
    Ok(answer)
}

impl ForgetArguments {
    /// Returns the filter, if one is given.
    fn filter(&self) -> Option<Filter> {
        let filter = Filter {
            scopes: self.scope.into_iter().collect(),
            categories: self.category.iter().cloned().collect(),
            tags: self.tags.clone(),
            subject: self.subject.clone(),
            ..Filter::default()
        };
        (filter != Filter::default()).then_some(filter)
    }
}

/// Label of memories that were only listed, not forgotten.
const PREVIEW: &str = "would be forgotten";

pub(in crate::serve) struct Relate;

/// Two memories, and the relation of the first to the second.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct RelateArguments {
    /// Id of the first memory
    from: String,
    /// Relation of the first to the second
    relation: RelationType,
    /// Id of the second memory
    to: String,
    /// Reason, in a few words
    reason: Option<String>,
}

impl MemoryTool for Relate {
    type Arguments = RelateArguments;

    const NAME: &'static str = "memory_relate";
    const TITLE: &'static str = "Link two memories";
    const DESCRIPTION: &'static str = "Link two memories, e.g. a decision that refines an older one. supersedes retires \
        the other memory; contradicts asks the user; any other link changes neither.";
    const EFFECT: Effect = Effect::Adds;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Full];

    fn call(memories: &Memories, arguments: RelateArguments) -> Result<Value, ApiError> {
        let RelateArguments { from, relation, to, reason } = arguments;
        let (link, is_new) = memories.relate(&from, relation, &to, reason.as_deref(), Author::Agent)?;
        Ok(json!({"from": link.from, "relation": relation, "to": link.to, "is_new": is_new}))
    }
}

/// Source of memories that a client stores without specifying a source.
const SOURCE: &str = "mcp";

/// Returns the memory type that a category suggests, for clients that specify no type.
pub(in crate::serve) fn type_of(category: &str) -> MemoryType {
    match category {
        "convention" | "workflow" => MemoryType::Procedural,
        "solution" | "mistake" | "pattern" => MemoryType::Episodic,
        _ => MemoryType::Semantic,
    }
}

/// Rejects a subject without text.
fn check_subject(subject: Option<&str>) -> Result<(), ApiError> {
    if subject.is_none_or(|subject| !subject.trim().is_empty()) {
        return Ok(());
    }
    Err(ApiError::Invalid("the subject is empty; give the topic of the memory in a word, such as auth".to_owned()))
}

/// Returns the time that `text` or `days` denotes, which must be in the future.
pub(in crate::serve) fn expiry_of(text: Option<&str>, days: Option<f64>) -> Result<Option<Timestamp>, ApiError> {
    let now = Timestamp::now();
    if let (Some(text), Some(days)) = (text, days) {
        let reason = "gives the expiry twice; use either expires or expires_in_days";
        return Err(wrong_expiry(&format!("{text}, {days} days"), reason));
    }
    if let Some(text) = text {
        return expiry(text, now).map(Some);
    }
    let Some(days) = days else { return Ok(None) };
    let wrong = |reason| wrong_expiry(&format!("{days} days"), reason);
    if days.is_nan() || days <= 0.0 {
        return Err(wrong(PAST));
    }
    let ahead = SignedDuration::try_from_secs_f64(days * 86_400.0).ok();
    let at = ahead.and_then(|ahead| now.checked_add(ahead).ok());
    let far = "is too far in the future; leave it out if the memory never expires";
    at.ok_or_else(|| wrong(far)).map(Some)
}
