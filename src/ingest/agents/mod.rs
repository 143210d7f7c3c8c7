//! Logs of agents that work on a project: coding agents and their like.

pub mod aider;
pub mod antigravity;
pub mod blockcell;
pub mod claude_code;
pub mod cline;
pub mod codex;
pub mod continue_dev;
pub mod gemini_cli;
pub mod qwen_code;
