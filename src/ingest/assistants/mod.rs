//! Exports and stores of chat assistants.

mod branch;
pub mod chatgpt;
pub mod deepseek;
mod fields;
