//! The work of an agent's session: commands that failed, and what resolved them.

pub(crate) mod command;
pub(crate) mod fixes;

use jiff::Timestamp;

use crate::guard::Guard;
use crate::memory::Namespace;
use crate::store::Store;

/// An agent's session, at one moment of it.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    /// Where its memories are.
    pub(crate) store: &'a Store,
    /// Takes secrets out.
    pub(crate) guard: &'a Guard,
    /// The agent's name.
    pub(crate) agent: &'a str,
    /// The agent's id of it; empty where it gives none.
    pub(crate) id: &'a str,
    /// Where its memories belong: its project first.
    pub(crate) namespaces: &'a [Namespace],
    /// The moment.
    pub(crate) now: Timestamp,
}
