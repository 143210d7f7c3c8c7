//! What a handler works with.

use std::cell::RefCell;

use jiff::Timestamp;

use super::{Call, HookError};
use crate::embed::EmbedError;
use crate::memory::{MemoryId, Namespace};
use crate::search::{Direct, direct};
use crate::store::{Filter, Store};

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
