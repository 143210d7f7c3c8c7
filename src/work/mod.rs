//! The work of coding agents: the ledger of actions in logs, queries to the ledger, and remedies for commands that fail
//! in a session.

pub(crate) mod act;
mod blame;
mod cause;
pub(crate) mod command;
mod fix;
mod how;
mod outcome;
mod output;
mod programs;
mod prohibition;
mod remarks;
mod shell;
mod tasks;
pub use blame::FileUsage;
pub(crate) use blame::blame;
pub use cause::KnownRemedy;
pub use fix::KnownError;
pub(crate) use fix::fix_typed;
pub use fixes::RecordedRemedy;
pub use how::Usage;
pub(crate) use how::how;
pub(crate) use output::error_signature;
pub(crate) use tasks::{parent_session, tasks};
pub(crate) mod fixes;

use jiff::Timestamp;

use crate::guard::Guard;
use crate::memory::Namespace;
use crate::store::Store;

/// Returns the start of `text`.
fn clipped(text: &str, limit: usize) -> String {
    let text = text.trim();
    let Some((end, _)) = text.char_indices().nth(limit) else { return text.to_owned() };
    format!("{}…", text[..end].trim_end())
}

/// An agent's session at a particular time.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    /// The store.
    pub(crate) store: &'a Store,
    /// The guard that redacts secrets.
    pub(crate) guard: &'a Guard,
    /// The agent's name.
    pub(crate) agent: &'a str,
    /// The ID that the agent assigned to the session; empty if the agent provides none.
    pub(crate) id: &'a str,
    /// The namespaces that the session can access, starting with its project.
    pub(crate) namespaces: &'a [Namespace],
    /// The current time.
    pub(crate) now: Timestamp,
}
