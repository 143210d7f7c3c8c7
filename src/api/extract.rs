//! Extracts memories from messages that a program has in memory, and consolidates memories.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use transcripts::{Message, Transcript, content_hash};

use super::draft::refuse_secrets;
use super::remember::{holder, stated};
use super::{ApiError, Memories, Model, ModelOptions, NewMemory, RunRequest};
use crate::consolidate::pass::{self, UndonePolicy};
use crate::consolidate::{ApplyError, Change, IncomingClaim, apply, consolidate, settle_by_rules};
use crate::memory::{Memory, MemoryId, Namespace, Status};
use crate::pipeline::{
    CachedModel, Event, FullPass, FullSummary, InstructionText, Options, Pipeline, RereadPolicy, Selection, Sources,
    Summary, full_pass, run,
};
use crate::store::Store;

/// Source name of transcripts that a program passes in.
const SOURCE: &str = "library";

/// The origin of messages.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExtractionContext {
    /// Folder or address of the repository that the conversation is about; it determines the namespace.
    pub project: Option<String>,
    /// Namespace for all memories, instead of one per project.
    pub namespace: Option<Namespace>,
    /// Identity of the conversation. In a later call with the same identity, only new messages are read. By default,
    /// the text of the messages is the identity.
    pub conversation_id: Option<String>,
    /// Identity of the user, where several users share the memories: statements about the user are stored in `user/ID`
    /// instead of `global`.
    pub user_id: Option<String>,
    /// Memories that are shown to the model as known, in addition to the closest stored ones; at most eight are shown.
    pub existing_memories: Vec<Memory>,
    /// Instructions in prose on what to remember and what never to remember; they replace the instructions in the
    /// settings.
    pub instructions: Option<String>,
}

/// The outcome of an extraction.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// New and extended memories, in the order of the decisions. Memories that wait in the inbox have the status
    /// `pending`.
    pub memories: Vec<Memory>,
    /// Counts, costs and failures of the run.
    pub summary: Summary,
}

impl Memories {
    /// Extracts memories from a conversation, and compares them with the known ones. Messages without an id get their
    /// position as their id. Failures are listed in the summary; they never affect memories from earlier calls.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be used, or the requested model is not configured.
    pub async fn extract_memories(
        &self,
        messages: Vec<Message>,
        context: &ExtractionContext,
    ) -> Result<Extracted, ApiError> {
        // Messages are numbered before empty ones are dropped, so that ids stay the same if an empty message later gets
        // text.
        let numbered = messages.into_iter().enumerate().map(|(place, message)| {
            let id = if message.id.is_empty() { (place + 1).to_string() } else { message.id };
            Message { id, ..message }
        });
        let messages: Vec<Message> = numbered.filter(|message| !message.text.trim().is_empty()).collect();
        let id = context.conversation_id.clone().unwrap_or_else(|| content_hash(&messages));
        self.extract(messages, id, context).await
    }

    /// Reads one message on its own; facts that only follow from its context are not learnt.
    ///
    /// # Errors
    /// As [`Memories::extract_memories`].
    pub async fn extract_from_message(
        &self,
        message: Message,
        context: &ExtractionContext,
    ) -> Result<Extracted, ApiError> {
        let hash = message.content_hash();
        let message = if message.id.is_empty() { Message { id: hash.clone(), ..message } } else { message };
        let id = match &context.conversation_id {
            Some(conversation) => format!("{conversation}#{}", message.id),
            None => hash,
        };
        self.extract(vec![message], id, context).await
    }

    async fn extract(
        &self,
        messages: Vec<Message>,
        external_id: String,
        context: &ExtractionContext,
    ) -> Result<Extracted, ApiError> {
        let store = self.ledger("extract memories")?;
        let model = Model::choose(&self.config, &ModelOptions::default()).await?;
        let budget = self.budget_of(&model)?;
        let arguments = json!({"library": external_id});
        let options = self.options(messages, external_id, context)?;
        let pipeline = Pipeline::new(store, &self.guard, model.extractor(), &budget, options);
        let mut ids: Vec<MemoryId> = Vec::new();
        let mut watch = |event: &Event<'_>| {
            if let Event::Consolidated(plan) = event {
                ids.extend(plan.changes.iter().filter_map(|change| change.new_id.clone().or(change.target.clone())));
            }
        };
        let summary = run(pipeline, &arguments, CancellationToken::new(), &mut watch).await?;
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        let mut memories = Vec::new();
        for id in &ids {
            let found = self.get_memory(id)?;
            // A later memory of the same run may have superseded this one.
            memories.extend(found.filter(|memory| matches!(memory.status, Status::Active | Status::Pending)));
        }
        Ok(Extracted { memories, summary })
    }

    fn options(
        &self,
        messages: Vec<Message>,
        external_id: String,
        context: &ExtractionContext,
    ) -> Result<Options, ApiError> {
        if let Some(namespace) = &context.namespace {
            self.admitted(namespace)?;
        }
        let confined = self.namespaces.as_ref().map(|namespaces| namespaces.home().clone());
        let namespace = context.namespace.clone().or(confined).or_else(|| self.config.namespace());
        let transcript = Transcript {
            source: SOURCE.to_owned(),
            origin: SOURCE.to_owned(),
            external_id,
            project: context.project.clone(),
            created_at: Some(Timestamp::now()),
            messages,
            ..Transcript::default()
        };
        let (_, options) = self.run_options(RunRequest {
            sources: Sources { transcripts: vec![transcript], ..Sources::default() },
            selection: Selection { zone: Some(TimeZone::system()), ..Selection::default() },
            reread: RereadPolicy::All,
            ..RunRequest::default()
        });
        let instructions = context.instructions.clone().map(|text| InstructionText { text, project: None });
        let instructions = instructions.or_else(|| options.instructions.clone());
        let user = context.user_id.as_deref().map(Namespace::user).transpose()?;
        user.as_ref().map(|user| self.admitted(user)).transpose()?;
        Ok(Options { namespace, user, known: context.existing_memories.clone(), instructions, ..options })
    }
}

/// Maximum number of attempts to apply a plan; after a write by another process, the plan is computed again.
const MAX_ATTEMPTS: usize = 8;

/// Options of a full pass.
#[derive(Debug, Clone, Default)]
pub struct ConsolidationOptions {
    /// Limits the pass to this namespace and those below it.
    pub namespace: Option<Namespace>,
    /// Whether the pass is a dry run, which writes nothing.
    pub dry_run: bool,
    /// Whether to repeat changes that an undo has reversed.
    pub again: bool,
    /// A token that, when cancelled, ends the pass after the namespaces in progress.
    pub cancel: CancellationToken,
}

/// The outcome of consolidating memories.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConsolidationResult {
    /// Memories that are new.
    pub created: Vec<Memory>,
    /// Known memories that were extended or confirmed.
    pub updated: Vec<Memory>,
    /// Memories that other memories superseded. The superseded memories stay in the history.
    pub deleted: Vec<MemoryId>,
    /// The decision about each given memory, in order.
    pub changes: Vec<Change>,
}

impl ConsolidationResult {
    /// Whether anything was changed.
    #[must_use]
    pub const fn has_changes(&self) -> bool {
        !(self.created.is_empty() && self.updated.is_empty() && self.deleted.is_empty())
    }
}

impl Memories {
    /// Stores memories after the rules have compared them with the known memories. Returns, for each memory, the id of
    /// the stored memory that now contains it; `None` if it had been rejected before. An adapter without a ledger
    /// stores each memory as it is.
    ///
    /// # Errors
    /// [`ApiError`] for a secret, an inaccessible namespace or a category that is not allowed, and if the memories
    /// cannot be written.
    pub fn save_memories(&self, memories: Vec<NewMemory>) -> Result<Vec<Option<MemoryId>>, ApiError> {
        let memories = memories.into_iter().map(|new| self.acceptable(new)).collect::<Result<Vec<_>, _>>()?;
        let Some(store) = self.storage.as_store() else {
            return Ok(self.storage.save_batch(memories)?.into_iter().map(Some).collect());
        };
        let incoming: Vec<IncomingClaim> = memories.into_iter().map(incoming).collect();
        let plan = settle_by_rules(store, &incoming, None, Timestamp::now())?;
        plan.changes.iter().map(|change| Ok(holder(store, change)?.map(|memory| memory.id))).collect()
    }

    /// Stores memories after comparing them with the known memories. The rules decide first, and the configured model
    /// determines the relations about which the rules are uncertain.
    ///
    /// # Errors
    /// As for [`Memories::save_memories`], and if the requested model is not configured.
    pub async fn consolidate_memories(&self, memories: Vec<NewMemory>) -> Result<ConsolidationResult, ApiError> {
        let store = self.ledger("consolidate memories")?;
        let memories = memories.into_iter().map(|new| Ok(incoming(self.acceptable(new)?)));
        let incoming = memories.collect::<Result<Vec<IncomingClaim>, ApiError>>()?;
        let chosen = Model::choose(&self.config, &ModelOptions::default()).await?;
        let budget = self.budget_of(&chosen)?;
        let model = chosen.source.as_ref().map(|source| CachedModel::new(source, store, &self.guard, &budget));
        for _ in 1..MAX_ATTEMPTS {
            // The ledger provides the replies to requests that were made before.
            let (plan, _) = consolidate(store, &self.guard, model.as_ref(), incoming.clone(), Timestamp::now()).await?;
            match apply(store, &plan, None, Timestamp::now()) {
                Ok(_) => return result_of(store, plan.changes),
                Err(ApplyError::Stale { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        let namespace = incoming.first().map_or_else(Namespace::global, |one| one.namespace.clone());
        Err(ApplyError::Stale { namespace }.into())
    }

    /// Runs a full pass over a namespace and those below it, or over all namespaces: merges duplicates, resolves
    /// contradictions, and derives memories from repeated episodes. [`Memories::undo`] reverses the run. If access is
    /// limited to certain namespaces, `None` means the first of them.
    ///
    /// # Errors
    /// [`ApiError`] if the namespace cannot be accessed, or the database cannot be used; changes that were already
    /// written are kept.
    pub async fn run_consolidation(&self, namespace: Option<Namespace>) -> Result<FullSummary, ApiError> {
        let model = Model::choose(&self.config, &ModelOptions::default()).await?;
        let options = ConsolidationOptions { namespace, ..ConsolidationOptions::default() };
        self.consolidate_with(&model, options, &mut |_| {}).await
    }

    /// Runs a full pass as [`Memories::run_consolidation`] does, with a model that the caller has chosen, and reports each step.
    ///
    /// # Errors
    /// As for [`Memories::run_consolidation`].
    pub(crate) async fn consolidate_with(
        &self,
        model: &Model,
        options: ConsolidationOptions,
        watch: &mut dyn FnMut(&pass::Event<'_>),
    ) -> Result<FullSummary, ApiError> {
        let within = options.namespace.or_else(|| self.namespaces.as_ref().map(|set| set.home().clone()));
        if let Some(within) = &within {
            self.admitted(within)?;
            self.check_maintainer([within], super::Author::Person)?;
        }
        let arguments = json!({"namespace": within.as_ref().map(ToString::to_string)});
        let budget = self.budget_of(model)?;
        let pass = FullPass {
            store: self.ledger("consolidate memories")?,
            guard: &self.guard,
            model: model.source.as_ref(),
            budget: &budget,
            within,
            jobs: self.config.jobs.value,
            taken_back: if options.again { UndonePolicy::Again } else { UndonePolicy::Stays },
        };
        Ok(full_pass(pass, &arguments, options.dry_run, options.cancel, watch).await?)
    }

    /// Returns the memory, or an error if it may not be stored.
    fn acceptable(&self, new: NewMemory) -> Result<NewMemory, ApiError> {
        self.admitted(&new.namespace)?;
        refuse_secrets(new.evidence.clone())?;
        Ok(NewMemory { claim: self.checked(new.claim, &new.source)?, ..new })
    }
}

pub(crate) fn incoming(new: NewMemory) -> IncomingClaim {
    let NewMemory { claim, namespace, source, method, evidence } = new;
    IncomingClaim {
        candidate: stated(claim, evidence),
        namespace,
        source,
        method,
        id: None,
        past: None,
        needs_review: false,
        is_later: false,
    }
}

fn result_of(store: &Store, changes: Vec<Change>) -> Result<ConsolidationResult, ApiError> {
    let mut result = ConsolidationResult::default();
    for change in &changes {
        if let Some(id) = &change.new_id {
            result.created.extend(store.find(id)?);
        }
        for id in change.targets() {
            match store.find(id)? {
                Some(memory) if memory.status == Status::Superseded => result.deleted.push(memory.id),
                Some(memory) if change.decision != crate::consolidate::Decision::Skip => result.updated.push(memory),
                _ => {}
            }
        }
    }
    Ok(ConsolidationResult { changes, ..result })
}
