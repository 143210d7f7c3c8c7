//! MCP tools that read the work ledger: blame, fix and how, with the same answers as the commands.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::tool::{Effect, MemoryTool, Profile};
use crate::api::{ApiError, Filter, Memories};

const PROFILES: &[Profile] = &[Profile::Standard, Profile::Full];
/// Maximum number of results per call, because every result costs tokens.
const MAX_RESULTS: usize = 5;

pub(in crate::serve) struct Blame;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct BlameArguments {
    /// File
    path: String,
}

impl MemoryTool for Blame {
    type Arguments = BlameArguments;
    const NAME: &'static str = "blame";
    const TITLE: &'static str = "Past work on a file";
    const DESCRIPTION: &'static str = "Show which earlier tasks changed a file, why, and how they ended. Call it \
        before changing code with an unclear purpose.";
    const EFFECT: Effect = Effect::Reads;
    const PROFILES: &'static [Profile] = PROFILES;

    fn call(memories: &Memories, arguments: BlameArguments) -> Result<Value, ApiError> {
        let mut touches = memories.blame(&arguments.path, None, &Filter::default())?;
        touches.truncate(MAX_RESULTS);
        memories.judge_file(&mut touches)?;
        Ok(json!({"results": touches}))
    }
}

pub(in crate::serve) struct Fix;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct FixArguments {
    /// Error line, or a command's output
    error: String,
    /// Command that failed
    #[serde(default)]
    command: Option<String>,
}

impl MemoryTool for Fix {
    type Arguments = FixArguments;
    const NAME: &'static str = "fix";
    const TITLE: &'static str = "Past remedies for an error";
    const DESCRIPTION: &'static str = "Show what cleared this error in earlier sessions. Call it when a command fails.";
    const EFFECT: Effect = Effect::Reads;
    const PROFILES: &'static [Profile] = PROFILES;

    fn call(memories: &Memories, arguments: FixArguments) -> Result<Value, ApiError> {
        let mut known = memories.fix(&arguments.error, arguments.command.as_deref(), &Filter::default())?;
        known.remedies.truncate(MAX_RESULTS);
        known.recorded.truncate(MAX_RESULTS);
        Ok(json!(known))
    }
}

pub(in crate::serve) struct How;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(in crate::serve) struct HowArguments {
    /// Command, such as `cargo test`
    command: String,
}

impl MemoryTool for How {
    type Arguments = HowArguments;
    const NAME: &'static str = "how";
    const TITLE: &'static str = "Commands that work here";
    const DESCRIPTION: &'static str = "Show how a command was run in this project, and what failed. Call it before \
        guessing how to build, test or run.";
    const EFFECT: Effect = Effect::Reads;
    const PROFILES: &'static [Profile] = PROFILES;

    fn call(memories: &Memories, arguments: HowArguments) -> Result<Value, ApiError> {
        let mut usages = memories.how(&arguments.command, &Filter::default())?;
        usages.truncate(MAX_RESULTS);
        Ok(json!({"results": usages}))
    }
}
