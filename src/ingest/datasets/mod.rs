//! Conversations gathered to train or to measure models.

pub mod locomo;
pub mod longmemeval;
