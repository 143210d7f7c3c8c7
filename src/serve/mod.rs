//! Memories served to agents: the Model Context Protocol on standard input and output, and over HTTP.
//!
//! ```text
//! stdin/stdout ──────────────┐
//! HTTP ─▶ doorman ─▶ /mcp ───┴▶ MemoryServer ─▶ a tool, a resource, a prompt ─▶ Desk ─▶ manager ─▶ one namespace set
//! ```
//!
//! A server serves one project with what holds for the user everywhere, or the one namespace that it was told; a client
//! has no way to name another.

mod desk;
pub mod hook;
pub mod http;
pub mod mcp;

pub use desk::{Desk, Serves};
pub use http::{Door, Refusal};
