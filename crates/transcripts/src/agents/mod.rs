//! Logs of agents that work on a project: coding agents and their like.

mod turn;

pub mod aider;
pub mod antigravity;
pub mod blockcell;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod continue_dev;
pub mod copilot_chat;
pub mod copilot_cli;
pub mod cursor;
pub mod cursor_agent;
pub mod devin;
pub mod gemini_cli;
pub mod goose;
pub mod hermes;
pub mod opencode;
pub mod qwen_code;
pub mod zed;
