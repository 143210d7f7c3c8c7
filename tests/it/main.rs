//! The integration tests: one binary, a module for each concern.

mod layering;
mod llm_faults;
