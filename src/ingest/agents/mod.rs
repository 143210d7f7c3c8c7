//! Logs of agents that work on a project: coding agents and their like.

pub mod claude_code;
pub mod codex;
pub mod copilot_chat;
pub mod copilot_cli;
pub mod cursor;
pub mod cursor_agent;
pub mod devin;
pub mod goose;
pub mod opencode;
mod turn;
pub mod zed;
