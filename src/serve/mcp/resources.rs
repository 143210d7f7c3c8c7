//! Resources that a client reads without a tool, and prompts that a person selects.

use rmcp::model::{
    GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, ReadResourceResult, Resource, ResourceContents,
    ResourceTemplate, Role,
};
use serde_json::{Value, json};

use super::view::{page, view, views};
use crate::api::brief::Format;
use crate::api::{ApiError, Filter, Memories, Order, RetrievalOptions};
use crate::memory::Memory;
use crate::text::markup::harmless_json;

const BRIEF: &str = "afterthought://brief";
const MEMORIES: &str = "afterthought://memories";
/// The prefix of a memory's URI, before the ID.
const MEMORY: &str = "afterthought://memory/";
/// Number of memories that [`MEMORIES`] lists.
const LATEST: usize = 50;

/// Returns the resources with a fixed URI.
pub(super) fn fixed() -> Vec<Resource> {
    vec![
        Resource::new(BRIEF, "brief")
            .with_title("Brief of stored memories")
            .with_description("Memories for the start of a conversation, marked as data")
            .with_mime_type("text/plain"),
        Resource::new(MEMORIES, "memories")
            .with_title("Latest memories")
            .with_description("The most recently changed memories, as JSON")
            .with_mime_type("application/json"),
    ]
}

/// Returns the templates of URIs that contain an ID.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{MEMORY}{{id}}"), "memory")
            .with_title("A memory")
            .with_description("A memory with the quotes behind it and its links, as JSON")
            .with_mime_type("application/json"),
    ]
}

/// Returns the content of a URI; `None` if there is none.
pub(super) fn read(memories: &Memories, uri: &str) -> Result<Option<ReadResourceResult>, ApiError> {
    let (text, kind) = match (uri, uri.strip_prefix(MEMORY)) {
        (BRIEF, _) => {
            let brief = memories.brief(&memories.brief_request(None)?)?;
            memories.note_shown(&brief);
            (brief.text, "text/plain")
        }
        (MEMORIES, _) => (latest(memories)?, "application/json"),
        (_, Some(id)) => (one(memories, id)?, "application/json"),
        (_, None) => return Ok(None),
    };
    Ok(Some(ReadResourceResult::new(vec![ResourceContents::text(text, uri).with_mime_type(kind)])))
}

fn latest(memories: &Memories) -> Result<String, ApiError> {
    let filter = || Filter { unexpired_at: Some(jiff::Timestamp::now()), ..Filter::default() };
    let latest = memories.list_memories(filter(), Order::Updated, LATEST, 0)?;
    Ok(harmless(page(views(&latest), Some(memories.count_memories(filter())?))))
}

fn one(memories: &Memories, id: &str) -> Result<String, ApiError> {
    let details = memories.details(id)?;
    memories.note_use(std::slice::from_ref(&details.memory.id));
    let memory = view(&details.memory);
    Ok(harmless(json!({"memory": memory, "evidence": details.evidence, "relations": details.relations})))
}

fn harmless(mut document: Value) -> String {
    harmless_json(&mut document);
    document.to_string()
}

/// Prompt that asks the model to review the conversation and store what is worth remembering.
const WRAP_UP: &str = include_str!("../../../prompts/mcp/wrap_up.md");

/// Returns every prompt.
pub(super) fn prompts() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, required| {
        Some(vec![PromptArgument::new(name).with_description(about).with_required(required)])
    };
    vec![
        Prompt::new(
            "brief",
            Some("Memories that a conversation should start with"),
            argument("about", "What the conversation is about", false),
        )
        .with_title("Start with memories"),
        Prompt::new("recall", Some("Memories about a question"), argument("question", "Words or a question", true))
            .with_title("Recall"),
        Prompt::new("wrap_up", Some("Store new knowledge from this conversation"), None).with_title("Remember this"),
    ]
}

/// Returns a prompt, or an error if there is no such prompt.
pub(super) fn prompt(
    memories: &Memories,
    name: &str,
    arguments: &JsonObject,
) -> Result<Result<GetPromptResult, String>, ApiError> {
    let argument = |name: &str| {
        let text = arguments.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let text = match name {
        "brief" => {
            let brief = memories.brief(&memories.brief_request(argument("about"))?)?;
            memories.note_shown(&brief);
            or_nothing(brief.text)
        }
        "recall" => {
            let Some(question) = argument("question") else {
                return Ok(Err("the prompt recall needs the argument question".to_owned()));
            };
            let found = memories.retrieve_memories(&question, &RetrievalOptions::default())?;
            let found: Vec<Memory> = found.into_iter().map(|hit| hit.memory).collect();
            format!("{question}\n\n{}", or_nothing(memories.build_memory_prompt(&found, Format::Detailed)))
        }
        "wrap_up" => WRAP_UP.to_owned(),
        other => return Ok(Err(format!("there is no prompt {other:?}; available prompts: brief, recall, wrap_up"))),
    };
    Ok(Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])))
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "Nothing is remembered about that yet.".to_owned() } else { text }
}
