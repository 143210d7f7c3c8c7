//! The integration tests: one binary, a module for each concern.

mod crash;
mod ingest_agents;
mod ingest_chat;
mod layering;
mod llm_faults;
mod rerun;
mod world;
