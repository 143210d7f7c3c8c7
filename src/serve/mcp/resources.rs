//! What a client can read without a tool.

use rmcp::model::{ReadResourceResult, Resource, ResourceContents, ResourceTemplate};
use serde_json::json;

use crate::api::{ApiError, Memories};
use crate::store::{AccessKind, Filter, Order};

use super::view::{MemoryView, Page};

const BRIEF: &str = "afterthought://brief";
const MEMORIES: &str = "afterthought://memories";
/// What stands before the id of a memory.
const MEMORY: &str = "afterthought://memory/";
/// Memories that [`MEMORIES`] lists.
const LATEST: usize = 50;

/// Returns the resources with an address of their own.
pub(super) fn fixed() -> Vec<Resource> {
    vec![
        Resource::new(BRIEF, "brief")
            .with_title("Brief of what is known")
            .with_description("What a conversation should know from the start, fenced as data")
            .with_mime_type("text/plain"),
        Resource::new(MEMORIES, "memories")
            .with_title("Latest memories")
            .with_description("The memories that changed last, as JSON")
            .with_mime_type("application/json"),
    ]
}

/// Returns the addresses that hold an id.
pub(super) fn templates() -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(format!("{MEMORY}{{id}}"), "memory")
            .with_title("A memory")
            .with_description("A memory with the words that it rests on and its links, as JSON")
            .with_mime_type("application/json"),
    ]
}

/// Returns what stands at an address; `None` where there is nothing of the kind.
pub(super) fn read(memories: &Memories, uri: &str) -> Result<Option<ReadResourceResult>, ApiError> {
    let (text, kind) = match (uri, uri.strip_prefix(MEMORY)) {
        (BRIEF, _) => {
            let brief = memories.brief(&memories.brief_request(None))?;
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
    let page = memories.list_memories(filter(), Order::Updated, LATEST, 0)?;
    Ok(json!(Page::out_of(&page, memories.count_memories(filter())?)).to_string())
}

fn one(memories: &Memories, id: &str) -> Result<String, ApiError> {
    let past = memories.past(id)?;
    memories.note_use(std::slice::from_ref(&past.memory.id), AccessKind::Read);
    let memory = MemoryView::from(&past.memory);
    Ok(json!({"memory": memory, "evidence": past.evidence, "relations": past.relations}).to_string())
}
