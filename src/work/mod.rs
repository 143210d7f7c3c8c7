//! The work in an agent's session: commands that failed, and what resolved them.

pub(crate) mod command;
pub(crate) mod fixes;

use jiff::Timestamp;

use crate::guard::Guard;
use crate::memory::Namespace;
use crate::store::Store;

/// An agent's session at a particular time.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    /// The store with its memories.
    pub(crate) store: &'a Store,
    /// The guard that redacts secrets.
    pub(crate) guard: &'a Guard,
    /// The agent's name.
    pub(crate) agent: &'a str,
    /// The agent's id for the session; empty if the agent provides none.
    pub(crate) id: &'a str,
    /// The namespaces of its memories, starting with its project.
    pub(crate) namespaces: &'a [Namespace],
    /// The current time.
    pub(crate) now: Timestamp,
}
