//! The integration tests: one binary, a module for each concern.

mod bad_input;
mod contradiction;
mod desk;
mod ingest_agents;
mod ingest_chat;
mod layering;
mod llm_faults;
mod secrets;
mod story;
