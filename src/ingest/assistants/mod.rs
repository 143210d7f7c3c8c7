//! Exports and stores of chat assistants.

pub mod chatgpt;
