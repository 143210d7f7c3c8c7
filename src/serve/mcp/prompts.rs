//! Prompts that a person picks in their client.

use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use crate::api::{ApiError, Memories, RetrievalOptions};
use crate::memory::Memory;
use crate::search::brief::Format;

/// Asks to go over the conversation and store what is worth it.
const WRAP_UP: &str = include_str!("../../../prompts/mcp/wrap_up.md");

/// Returns every prompt.
pub(super) fn all() -> Vec<Prompt> {
    let argument = |name: &str, about: &str, required| {
        Some(vec![PromptArgument::new(name).with_description(about).with_required(required)])
    };
    vec![
        Prompt::new(
            "brief",
            Some("What is known that a conversation should start from"),
            argument("about", "What the conversation is about", false),
        )
        .with_title("Start from what is known"),
        Prompt::new("recall", Some("What is known of a question"), argument("question", "Words or a question", true))
            .with_title("Recall"),
        Prompt::new("wrap_up", Some("Remember what this conversation has taught"), None).with_title("Remember this"),
    ]
}

/// Returns a prompt, or why there is none.
pub(super) fn get(
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
            let brief = memories.brief(&memories.brief_request(argument("about")))?;
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
        other => return Ok(Err(format!("there is no prompt {other:?}; there are brief, recall and wrap_up"))),
    };
    Ok(Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, text)])))
}

fn or_nothing(text: String) -> String {
    if text.is_empty() { "Nothing is remembered of that yet.".to_owned() } else { text }
}
