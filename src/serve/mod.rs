//! Serves memories to agents, by the Model Context Protocol on standard input and output and over HTTP and by hooks,
//! and to a person in a browser.
//!
//! ```text
//! stdin/stdout ────────────────────┐
//! HTTP ─▶ AccessPolicy ─▶ /mcp ────┴▶ MemoryServer ─▶ a tool, a resource, a prompt ─▶ MemoryPool ─▶ Memories
//! browser ─▶ Access ─▶ a view ─▶ MemoryPool ─▶ Memories
//! ```
//!
//! Agents are served one project together with `global`, or one given namespace, and cannot access any other.

mod connections;
pub mod hook;
pub(crate) mod http;
pub mod mcp;
pub(crate) mod page;
mod pool;

pub use pool::{MemoryPool, Served};
