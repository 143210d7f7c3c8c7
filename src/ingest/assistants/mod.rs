//! Exports and stores of chat assistants.

mod branch;
pub mod chatbot_ui;
pub mod chatgpt;
pub mod claude_ai;
pub mod deepseek;
mod fields;
pub mod librechat;
pub mod open_webui;
mod rows;
