//! Memories served to agents: the Model Context Protocol on standard input and output and over HTTP, and hooks.
//!
//! ```text
//! stdin/stdout ────────────────────┐
//! HTTP ─▶ AccessPolicy ─▶ /mcp ────┴▶ MemoryServer ─▶ a tool, a resource, a prompt ─▶ MemoryPool ─▶ Memories
//! ```
//!
//! A server serves one project together with `global`, or one given namespace; clients cannot access any other.

mod connections;
pub mod hook;
pub(crate) mod http;
pub mod mcp;
mod pool;

pub use pool::{MemoryPool, Served};
