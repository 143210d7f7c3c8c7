//! Exports and stores of chat assistants.

mod branch;
pub mod chatgpt;
pub mod claude_ai;
pub mod deepseek;
mod fields;
mod rows;
