//! Memories from messages that a program holds in its hands, through the same pipeline as logs on disk.

use std::collections::BTreeSet;

use jiff::{Timestamp, tz::TimeZone};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{ApiError, Memories};
use crate::extract::window::WindowBudget;
use crate::memory::{Memory, MemoryId, Namespace, Status};
use crate::pipeline::{Event, Extractor, Options, Pipeline, Reread, Selection, Sources, Summary, run};
use transcripts::{Message, Transcript, content_hash};

/// Source of transcripts that a program hands over.
const SOURCE: &str = "library";

/// Where messages come from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ExtractionContext {
    /// Folder or address of the repository that the conversation is about; decides the namespace.
    pub project: Option<String>,
    /// Namespace for everything, instead of one by project.
    pub namespace: Option<Namespace>,
    /// Identity of the conversation: with the same one again, only new messages are read. Where there is none, the words
    /// themselves are.
    pub conversation_id: Option<String>,
    /// What to keep and never to keep, in prose, instead of what the settings say.
    pub instructions: Option<String>,
}

/// What was learnt from messages.
#[derive(Debug, Clone, PartialEq)]
pub struct Extracted {
    /// Memories that are new, or say more, now; in the order in which they were settled. Those that wait in the inbox have
    /// the status `pending`.
    pub memories: Vec<Memory>,
    /// Counts, costs and failures of the run.
    pub summary: Summary,
}

impl Memories {
    /// Reads a conversation, and settles what is worth remembering with what is known. Messages without an id get their
    /// position for one. What fails is in the summary; it never loses what was read before.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be used, or the model that was asked for is not configured.
    pub async fn extract_memories(
        &self,
        messages: Vec<Message>,
        context: &ExtractionContext,
    ) -> Result<Extracted, ApiError> {
        let numbered = messages.into_iter().enumerate().map(|(place, message)| {
            let id = if message.id.is_empty() { (place + 1).to_string() } else { message.id };
            Message { id, ..message }
        });
        let messages: Vec<Message> = numbered.filter(|message| !message.text.trim().is_empty()).collect();
        let id = context.conversation_id.clone().unwrap_or_else(|| content_hash(&messages));
        self.extract(messages, id, context).await
    }

    /// Reads one message by itself; what it means only together with others is not learnt from it.
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
        let client = self.client().await?;
        let extractor = client.as_ref().map_or(Extractor::Rules, Extractor::Llm);
        let budget = super::budget(&self.config, &extractor.label(), None, store)?;
        let arguments = json!({"library": external_id});
        let options = self.options(messages, external_id, context)?;
        let pipeline = Pipeline::new(store, &self.guard, extractor, &budget, options);
        let mut ids: Vec<MemoryId> = Vec::new();
        let mut watch = |event: &Event<'_>| {
            if let Event::Settled(plan) = event {
                ids.extend(plan.changes.iter().filter_map(|change| change.new_id.clone().or(change.target.clone())));
            }
        };
        let summary = run(pipeline, &arguments, CancellationToken::new(), &mut watch).await?;
        let mut seen = BTreeSet::new();
        ids.retain(|id| seen.insert(id.clone()));
        let mut memories = Vec::new();
        for id in &ids {
            let found = self.get_memory(id)?;
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
        let confined = self.reach.as_ref().map(|reach| reach.home().clone());
        let namespace = context.namespace.clone().or(confined).or_else(|| self.config.namespace.value.clone());
        let transcript = Transcript {
            source: SOURCE.to_owned(),
            origin: SOURCE.to_owned(),
            external_id,
            project: context.project.clone(),
            created_at: Some(Timestamp::now()),
            messages,
            ..Transcript::default()
        };
        Ok(Options {
            sources: Sources { transcripts: vec![transcript], ..Sources::default() },
            selection: Selection { zone: Some(TimeZone::system()), ..Selection::default() },
            reread: Reread::All,
            namespace,
            categories: self.config.categories.value.clone(),
            instructions: context.instructions.clone().or_else(|| self.config.instructions.value.clone()),
            window: WindowBudget { tokens: self.config.window_tokens.value, ..WindowBudget::default() },
            jobs: self.config.jobs.value,
        })
    }
}
