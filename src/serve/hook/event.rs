//! Which agents have hooks, and at which moments they call.

use std::str::FromStr;

use crate::memory::ParseError;

/// An agent whose hooks are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

impl Agent {
    /// Every agent.
    pub const ALL: [Self; 2] = [Self::ClaudeCode, Self::Codex];

    /// Returns the spelling used by `--format`, which is that of its logs, too.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude-code",
            Self::Codex => "codex",
        }
    }

    /// Returns its name for people.
    #[must_use]
    pub const fn about(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "Codex",
        }
    }

    /// Returns the events that it calls for, in the order in which they are installed.
    #[must_use]
    pub const fn events(self) -> &'static [Event] {
        match self {
            Self::ClaudeCode => &[
                Event::SessionStart,
                Event::UserPromptSubmit,
                Event::PreToolUse,
                Event::PostToolUse,
                Event::PostToolUseFailure,
                Event::Stop,
                Event::SubagentStop,
                Event::PreCompact,
                Event::SessionEnd,
            ],
            // It has no event for a tool that failed: what the tool answers says so.
            Self::Codex => &[
                Event::SessionStart,
                Event::UserPromptSubmit,
                Event::PreToolUse,
                Event::PostToolUse,
                Event::Stop,
                Event::PreCompact,
                Event::SessionEnd,
            ],
        }
    }
}

impl FromStr for Agent {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|agent| agent.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "an agent with hooks",
            allowed: "claude-code or codex",
        })
    }
}

/// A moment at which an agent calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A session begins, goes on, or was compacted.
    SessionStart,
    /// The person has said something.
    UserPromptSubmit,
    /// A tool is about to be used.
    PreToolUse,
    /// A tool was used.
    PostToolUse,
    /// A tool was used and failed.
    PostToolUseFailure,
    /// The agent has answered.
    Stop,
    /// A sub-agent has answered.
    SubagentStop,
    /// The session is about to be compacted.
    PreCompact,
    /// The session ends.
    SessionEnd,
}

impl Event {
    /// Every event.
    pub const ALL: [Self; 9] = [
        Self::SessionStart,
        Self::UserPromptSubmit,
        Self::PreToolUse,
        Self::PostToolUse,
        Self::PostToolUseFailure,
        Self::Stop,
        Self::SubagentStop,
        Self::PreCompact,
        Self::SessionEnd,
    ];

    /// Returns the spelling on the command line.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::SessionStart => "session-start",
            Self::UserPromptSubmit => "user-prompt-submit",
            Self::PreToolUse => "pre-tool-use",
            Self::PostToolUse => "post-tool-use",
            Self::PostToolUseFailure => "post-tool-use-failure",
            Self::Stop => "stop",
            Self::SubagentStop => "subagent-stop",
            Self::PreCompact => "pre-compact",
            Self::SessionEnd => "session-end",
        }
    }

    /// Returns the agents' own spelling.
    #[must_use]
    pub const fn wire(self) -> &'static str {
        match self {
            Self::SessionStart => "SessionStart",
            Self::UserPromptSubmit => "UserPromptSubmit",
            Self::PreToolUse => "PreToolUse",
            Self::PostToolUse => "PostToolUse",
            Self::PostToolUseFailure => "PostToolUseFailure",
            Self::Stop => "Stop",
            Self::SubagentStop => "SubagentStop",
            Self::PreCompact => "PreCompact",
            Self::SessionEnd => "SessionEnd",
        }
    }

    /// Returns how long the hook may take, in milliseconds. Agents give the end of a session the least.
    #[must_use]
    pub const fn limit_ms(self) -> u64 {
        match self {
            Self::SessionStart | Self::UserPromptSubmit => 2_000,
            Self::PreToolUse
            | Self::PostToolUse
            | Self::PostToolUseFailure
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact
            | Self::SessionEnd => 1_000,
        }
    }

    /// Returns which tools the hook is about, as a pattern of the agents; `None` where no tool is meant.
    #[must_use]
    pub const fn tools(self) -> Option<&'static str> {
        match self {
            Self::PreToolUse | Self::PostToolUseFailure => Some("Bash"),
            Self::PostToolUse => Some("Bash|Edit|MultiEdit|Write|NotebookEdit|apply_patch"),
            Self::SessionStart
            | Self::UserPromptSubmit
            | Self::Stop
            | Self::SubagentStop
            | Self::PreCompact
            | Self::SessionEnd => None,
        }
    }
}

impl FromStr for Event {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::ALL.into_iter().find(|event| event.as_str() == text).ok_or_else(|| ParseError {
            value: text.to_owned(),
            what: "the event of a hook",
            allowed: "session-start, user-prompt-submit, pre-tool-use, post-tool-use, post-tool-use-failure, stop, \
                      subagent-stop, pre-compact or session-end",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_event_is_read_as_it_is_spelled() {
        for event in Event::ALL {
            assert_eq!(event.as_str().parse::<Event>().unwrap(), event);
            assert_eq!(event.wire().to_lowercase(), event.as_str().replace('-', ""));
        }
        for agent in Agent::ALL {
            assert_eq!(agent.as_str().parse::<Agent>().unwrap(), agent);
        }
    }
}
