//! Logs of agents that work on a project, such as coding agents.

mod turn;
pub(crate) mod aider;
pub(crate) mod antigravity;
pub(crate) mod blockcell;
pub(crate) mod claude_code;
pub(crate) mod claude_export;
pub(crate) mod cline;
pub(crate) mod codex;
pub(crate) mod continue_dev;
pub(crate) mod copilot_chat;
pub(crate) mod copilot_cli;
pub(crate) mod copilot_replay;
pub(crate) mod cursor;
pub(crate) mod cursor_agent;
pub(crate) mod cursor_export;
pub(crate) mod devin;
pub(crate) mod entire;
pub(crate) mod gemini_cli;
pub(crate) mod goose;
pub(crate) mod hermes;
pub(crate) mod opencode;
pub(crate) mod openhands;
pub(crate) mod qwen_code;
pub(crate) mod swe_agent;
pub(crate) mod zed;
