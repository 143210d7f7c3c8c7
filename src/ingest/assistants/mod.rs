//! Exports and stores of chat assistants.

pub mod ai_studio;
mod branch;
pub mod chatbot_ui;
pub mod chatgpt;
pub mod claude_ai;
pub mod deepseek;
mod fields;
pub mod gemini_takeout;
pub mod grok;
pub mod librechat;
pub mod lm_studio;
pub mod open_webui;
mod rows;
