//! Conversations gathered to train or to measure models.

pub mod hf_chat;
pub mod locomo;
pub mod longmemeval;
pub mod oasst;
pub mod sharegpt;
pub mod wildchat;
