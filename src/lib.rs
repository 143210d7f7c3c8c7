//! Reads conversation logs after the fact and keeps what is worth remembering.
//!
//! ```text
//! paths ─▶ ingest ─▶ Transcript ─▶ guard ─▶ extract ─▶ Candidate ─▶ consolidate ─▶ Plan ─▶ store (SQLite)
//!                                             │ llm                     │ llm
//!                                             └── or rules, offline     └── grey zone only
//! store ─▶ recall ─▶ a person, a prompt
//!   └─ embed, where vectors are on: memories and queries as vectors
//! manager ─▶ all of it, for programs ─▶ serve: agents, over MCP
//! hooks ─▶ jobs ─▶ the same flow, once a conversation is over
//! ```
//!
//! The modules below stand in the order of that flow; each imports only from those above it.

pub mod fault;
pub mod json;
pub mod transcript;
pub mod memory;
pub mod config;
pub mod project;
pub mod tokens;
pub mod ingest;
pub mod guard;
pub mod llm;
pub mod prompts;
pub mod extract;
pub mod store;
pub mod embed;
pub mod consolidate;
pub mod lifecycle;
pub mod recall;
pub mod exchange;
pub mod pipeline;
pub mod manager;
pub mod hooks;
pub mod serve;
pub mod eval;
