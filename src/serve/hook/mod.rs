//! Hooks of coding agents: they show relevant memories in a session, and queue its log for extraction.
//!
//! ```text
//! stdin ─▶ input ─▶ a handler for each event ─▶ output ─▶ stdout
//!                     │ queues logs
//!                     ▼
//!                   jobs ─▶ worker (a process of its own) or watch ─▶ pipeline
//! ```
//!
//! A hook must never delay an agent: it reads only one JSON value, calls no model, answers as soon as it can, and exits
//! successfully even after a failure. The caller sets the time limit, because only another process can end a hook that
//! hangs. [`handle()`] passes on the output before it does anything that may take longer.

mod handle;
mod input;
mod logs;
mod prompt;
mod settings;

use std::sync::Arc;

use crate::api::{ApiError, QueryVectors};
use crate::config::Config;

pub(crate) use handle::HookLog;
pub use handle::handle;
pub(crate) use input::InputError;
pub use input::{Agent, Event, HookOutput, Input, MAX_CONTEXT, ToolCall, read_input};
pub use settings::{Installed, SettingsError, commands_in, install, uninstall};

/// One call of a hook.
#[derive(Debug)]
pub struct HookCall {
    /// The agent that calls the hook.
    pub agent: Agent,
    /// The event.
    pub event: Event,
    /// The agent's input for the event.
    pub input: Input,
    /// The settings of the session's folder.
    pub config: Config,
    /// Source of vectors for prompts; `None` for a search by words alone.
    pub vectors: Option<Arc<QueryVectors>>,
    /// Whether sessions of sub-agents are included.
    pub subagents: bool,
}

/// The reason why a hook failed. The reason contains no text from the conversation.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// The agent's input cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The memories cannot be used.
    #[error(transparent)]
    Memories(#[from] ApiError),
}
