//! Serves memories to agents, through hooks and the Model Context Protocol (on standard input and output, and over
//! HTTP), and to a person in a browser.
//!
//! ```text
//! stdin/stdout ────────────────────┐
//! HTTP ─▶ AccessPolicy ─▶ /mcp ────┴▶ MemoryServer ─▶ a tool, a resource, a prompt ─▶ MemoryPool ─▶ Memories
//!                      └▶ /api/v1 ──▶ a tool, or an operation for programs ─────────▶ MemoryPool ─▶ Memories
//! browser ─▶ Access ─▶ a view ─▶ MemoryPool ─▶ Memories
//! MemoryPool ─▶ the database, or a copy of the shard that a request names ─▶ Memories
//! orchestrator, Prometheus ─▶ probes ─▶ the figures of a worker
//! ```
//!
//! Agents have access to one project together with `global`, or to one specified namespace, and to no other.

mod connections;
pub mod hook;
pub(crate) mod http;
pub mod mcp;
pub(crate) mod page;
mod pool;
#[cfg(feature = "scale")]
pub(crate) mod probes;
pub(crate) mod rest;
#[cfg(feature = "scale")]
mod shards;

pub use pool::{MemoryPool, Served};
