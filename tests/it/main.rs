//! The integration tests: one binary, a module for each concern.

#![expect(clippy::unwrap_used, reason = "a test ends where something that it needs is not there")]

mod bad_input;
mod batch;
mod contradiction;
mod crash;
mod desk;
mod exports;
mod estimate;
mod filters;
mod formats;
mod growing;
mod ingest_agents;
mod layering;
mod llm_faults;
mod memory_imports;
mod people;
mod projects;
mod replay;
mod rerun;
mod rules_blind;
mod rules_ground;
mod secrets;
mod sources;
mod story;
mod world;
