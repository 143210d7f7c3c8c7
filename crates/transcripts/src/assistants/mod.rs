//! Exports and stored conversations of chat assistants.

mod export;

pub(crate) mod ai_studio;
pub(crate) mod chatbot_ui;
pub(crate) mod chatgpt;
pub(crate) mod claude_ai;
pub(crate) mod deepseek;
pub(crate) mod gemini_takeout;
pub(crate) mod grok;
pub(crate) mod librechat;
pub(crate) mod lm_studio;
pub(crate) mod open_webui;
