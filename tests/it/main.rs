//! The integration tests: one binary, a module for each concern.

mod llm_faults;
