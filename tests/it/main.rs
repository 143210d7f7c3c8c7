//! The integration tests: one binary, a module for each concern.

#![expect(clippy::unwrap_used, reason = "a test ends where something that it needs is not there")]

mod bad_input;
mod batch;
mod briefing;
mod consolidate;
mod contradiction;
mod crash;
mod desk;
mod exports;
mod faults;
mod estimate;
mod evals;
mod filters;
mod forgetting;
mod formats;
mod growing;
mod hooks;
mod http;
mod inbox;
mod ingest_agents;
mod layering;
mod llm_faults;
mod machine;
mod mcp;
mod measuring;
mod memory_imports;
mod packs;
mod people;
mod plans;
mod projects;
mod providers;
mod replay;
mod rerun;
mod rules_blind;
mod rules_ground;
mod searching;
mod secret_table;
mod secrets;
mod settled_imports;
mod settling;
mod sources;
mod story;
mod undo;
mod vectors;
mod world;
