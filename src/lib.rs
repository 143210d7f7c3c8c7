//! Reads conversation logs after the fact and keeps what is worth remembering.
//!
//! ```text
//! logs ─▶ transcripts ─▶ guard ─▶ extract ─▶ consolidate ─▶ changeset ─▶ store (SQLite)
//!         (own crate)             rules or llm   rules, llm in doubt
//! store ─▶ search ─▶ brief
//! api ─▶ all of it, for programs ─▶ serve: MCP, HTTP, hooks ─▶ cli: the command line
//! ```
//!
//! The modules below appear in the order of this flow. Each module imports only from the modules above it.

#![cfg_attr(not(feature = "cli"), allow(dead_code, unused_imports, reason = "only the commands use some functions"))]

pub mod fault;
mod private;
mod text;
mod process;
mod schema;
pub mod memory;
pub mod config;
mod project;
pub mod tokens;
pub mod guard;
pub mod changeset;
pub mod llm;
mod prompts;
pub mod extract;
pub mod store;
pub mod embed;
pub mod consolidate;
pub mod lifecycle;
pub mod search;
mod work;
pub mod exchange;
pub mod pipeline;
#[cfg(feature = "scale")]
mod postgresql;
mod sync;
#[cfg(feature = "scale")]
mod scale;
pub mod api;
#[cfg(feature = "serve")]
pub mod serve;
#[cfg(feature = "cli")]
#[doc(hidden)]
#[expect(clippy::doc_markdown, reason = "the documentation of arguments is their help text")]
pub mod cli;
