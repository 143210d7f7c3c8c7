//! The protocols of models.

use serde::Deserialize;

/// The protocol of a model.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// OpenAI's chat completions, which most servers support.
    #[default]
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// The `claude` program with its login.
    ClaudeCode,
    /// The `codex` program with its login.
    Codex,
    /// A command from the user, run by the shell, which reads the prompt and prints the reply.
    Command(String),
}

impl Protocol {
    /// Returns the name of the program that is called, or `None` for a server.
    pub(super) const fn program(&self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("claude"),
            Self::Codex => Some("codex"),
            Self::Command(_) => Some(SHELL.0),
            Self::OpenAi | Self::Anthropic => None,
        }
    }

    /// Returns the name of the provider in the conventions of OpenTelemetry.
    pub(super) const fn provider(&self) -> &'static str {
        match self {
            Self::OpenAi | Self::Codex => "openai",
            Self::Anthropic | Self::ClaudeCode => "anthropic",
            Self::Command(_) => "command",
        }
    }

    /// Returns the headers of each request in addition to the key.
    pub(super) const fn headers(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAi | Self::ClaudeCode | Self::Codex | Self::Command(_) => &[],
        }
    }
}

/// The shell that runs a command, and its option for the command.
#[cfg(unix)]
pub(super) const SHELL: (&str, &str) = ("sh", "-c");
#[cfg(not(unix))]
pub(super) const SHELL: (&str, &str) = ("cmd", "/C");
