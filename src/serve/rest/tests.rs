//! Tests of the interface for programs.
