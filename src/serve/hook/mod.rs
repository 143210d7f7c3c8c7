//! What an agent's hooks do: they tell a session what is known, and see to it that it is learnt from afterwards.
//!
//! ```text
//! stdin ─▶ input ─▶ a handler for each event ─▶ answer ─▶ stdout
//!                     │ puts logs in line
//!                     ▼
//!                   jobs ─▶ worker (a process of its own) or watch ─▶ pipeline
//! ```
//!
//! A hook must never be in an agent's way: it reads one JSON value and no further, asks no model, answers as soon as it
//! can, and whatever is broken it says nothing and ends well. Its caller sets the time limit, since only a process can
//! end what hangs; [`handle()`] gives the answer away before it does what may take longer.

mod answer;
mod command;
mod detach;
mod error_line;
mod event;
mod fixes;
mod handle;
mod idle;
mod input;
mod logs;
mod note;
mod prompt;
mod session;
mod settings;
mod sweep;
mod tools;
mod work;

use std::path::PathBuf;
use std::sync::Arc;

use crate::config::MemorySettings;
use crate::consolidate::ApplyError;
use crate::embed::QueryVectors;
use crate::guard::Guard;
use crate::memory::Namespace;
use crate::store::StoreError;

pub use answer::{Answer, MAX_CONTEXT};
pub use detach::{ENVIRONMENT_MARK, lower_priority, start_worker};
pub use event::{Agent, Event};
pub use handle::{After, handle};
pub use idle::{Scan, scan};
pub use input::{Input, InputError, MAX_INPUT, ToolCall, read_input};
pub use logs::request_for;
pub use note::HookLog;
pub use settings::{Installed, SettingsError, commands_in, install, uninstall};
pub use work::{Fault, LINGER, Shift, Until, WATCH_LEASE, WORKER_LEASE, Worked, work_off};

/// What a hook works with.
#[derive(Debug)]
pub struct Call {
    /// Who calls.
    pub agent: Agent,
    /// What happened.
    pub event: Event,
    /// What the agent says about it.
    pub input: Input,
    /// The database.
    pub database: PathBuf,
    /// Namespace for everything, instead of one by project.
    pub namespace: Option<Namespace>,
    /// Categories that are allowed.
    pub categories: Vec<String>,
    /// What is told and read without being asked.
    pub memory: MemorySettings,
    /// What takes secrets out.
    pub guard: Guard,
    /// What makes vectors of prompts, and how long that may take; `None` for a search by words.
    pub vectors: Option<Arc<QueryVectors>>,
    /// Whether sessions of sub-agents count, too.
    pub subagents: bool,
}

/// Why a hook could not do its part. Holds no text of the conversation.
#[derive(Debug, thiserror::Error)]
pub enum HookError {
    /// What the agent sent cannot be used.
    #[error(transparent)]
    Input(#[from] InputError),
    /// The database cannot be used.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What was learnt could not be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
}
