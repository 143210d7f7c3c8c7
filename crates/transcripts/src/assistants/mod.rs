//! Exports and stores of chat assistants.

mod branch;
mod fields;
mod rows;

pub mod ai_studio;
pub mod chatbot_ui;
pub mod chatgpt;
pub mod claude_ai;
pub mod deepseek;
pub mod gemini_takeout;
pub mod grok;
pub mod librechat;
pub mod lm_studio;
pub mod open_webui;
