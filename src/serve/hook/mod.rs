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

mod command;
mod fixes;
mod handle;
mod input;
mod logs;
mod note;
mod prompt;
mod settings;
mod worker;

use crate::embed::EmbedError;
use crate::memory::MemoryId;
use crate::search::{Direct, direct};
use crate::store::{Filter, Store};
use jiff::Timestamp;
use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use crate::config::MemorySettings;
use crate::consolidate::ApplyError;
use crate::embed::QueryVectors;
use crate::guard::Guard;
use crate::memory::Namespace;
use crate::store::StoreError;

pub use handle::{After, handle};
pub use input::{Agent, Answer, Event, Input, InputError, MAX_CONTEXT, MAX_INPUT, ToolCall, read_input};
pub use logs::{Scan, request_for, scan};
pub use note::HookLog;
pub use settings::{Installed, SettingsError, commands_in, install, uninstall};
pub use worker::{
    ENVIRONMENT_MARK, Fault, LINGER, Shift, Until, WATCH_LEASE, WORKER_LEASE, Worked, lower_priority, start_worker,
    work_off,
};

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

/// A session, at one moment of it.
pub(super) struct Session<'a> {
    /// Where memories are.
    pub(super) store: &'a Store,
    /// What the agent says.
    pub(super) call: &'a Call,
    /// The agent's id of it; empty where it gives none.
    pub(super) id: &'a str,
    /// Where its memories lie: its project first.
    pub(super) namespaces: Vec<Namespace>,
    /// The moment.
    pub(super) now: Timestamp,
    /// Why something was looked for by words alone, if it was.
    pub(super) without_meaning: RefCell<Option<EmbedError>>,
}

impl Session<'_> {
    /// Returns what fits a query, by words and, where there are vectors, by meaning.
    pub(super) fn look(&self, query: &str, filter: &Filter, limit: usize) -> Result<Direct, HookError> {
        let mut direct = direct(self.store, query, filter, limit, self.call.vectors.as_deref(), self.now)?;
        if let Some(error) = direct.without_meaning.take() {
            self.without_meaning.replace(Some(error));
        }
        Ok(direct)
    }

    /// Notes that memories are told in this session.
    pub(super) fn told(&self, ids: &[MemoryId]) -> Result<(), HookError> {
        Ok(self.store.told(self.id, ids, self.now)?)
    }
}
