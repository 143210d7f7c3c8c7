//! `memory_brief`: what a conversation should know from the start.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{MemoryTool, Profile};
use crate::api::{ApiError, Memories};
use crate::search::brief::{BriefRequest, Format};
use crate::serve::mcp::Effect;

/// Most tokens of a brief.
const MOST_TOKENS: usize = 4_000;

pub(super) struct Brief;

/// What the brief is for.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    /// What the conversation is about; what it should know whatever it is about by default
    query: Option<String>,
    /// At most so many tokens, up to 4000; what the settings say by default
    max_tokens: Option<usize>,
    /// compact (the default), detailed, structured or json
    format: Option<Spelling>,
}

/// How the brief is spelled.
#[derive(Deserialize, JsonSchema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum Spelling {
    /// A line for each memory
    Compact,
    /// All that is known of each
    Detailed,
    /// An element for each
    Structured,
    /// One object
    Json,
}

/// A brief.
#[derive(Serialize, JsonSchema)]
pub(super) struct Answer {
    /// The text for the prompt, fenced as data; empty where nothing is worth telling
    text: String,
    /// Its size
    tokens: usize,
    /// Ids of the memories in it, in order
    memories: Vec<String>,
    /// How many more there would be
    left_out: usize,
}

impl MemoryTool for Brief {
    type Arguments = Arguments;
    type Answer = Answer;
    const NAME: &'static str = "memory_brief";
    const TITLE: &'static str = "Brief of what is known";
    const DESCRIPTION: &'static str = "Get what a conversation should know from the start: standing preferences and \
        conventions, what matters most, and what is going on, within a budget of tokens. Call it once at the beginning.";
    const EFFECT: Effect = Effect::Reads;
    const PROFILES: &'static [Profile] = &[Profile::Standard, Profile::Full];

    fn call(memories: &Memories, arguments: Arguments) -> Result<Answer, ApiError> {
        let format = match arguments.format.unwrap_or(Spelling::Compact) {
            Spelling::Compact => Format::Compact,
            Spelling::Detailed => Format::Detailed,
            Spelling::Structured => Format::Structured,
            Spelling::Json => Format::Json,
        };
        let request = memories.brief_request(arguments.query);
        let max_tokens = arguments.max_tokens.unwrap_or(request.max_tokens).min(MOST_TOKENS);
        let brief = memories.brief(&BriefRequest { max_tokens, format, ..request })?;
        memories.note_shown(&brief);
        Ok(Answer {
            memories: brief.shown.iter().map(|shown| shown.memory.id.to_string()).collect(),
            left_out: brief.left_out.len(),
            tokens: brief.tokens,
            text: brief.text,
        })
    }
}
