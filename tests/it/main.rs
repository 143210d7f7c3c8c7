//! The integration tests: one binary, a module for each concern.

mod ingest_agents;
mod layering;
mod llm_faults;
