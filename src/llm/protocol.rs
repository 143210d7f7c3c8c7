//! The protocols in which models are spoken to.

/// How a model is spoken to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Protocol {
    /// By OpenAI's chat completions, which most servers understand.
    OpenAi,
    /// By Anthropic's messages.
    Anthropic,
    /// Through the `claude` program and its login.
    ClaudeCode,
    /// Through the `codex` program and its login.
    Codex,
    /// Through a command of the user's, run by the shell: it reads the prompt and prints the reply.
    Command(String),
}

impl Protocol {
    /// Returns the name of the program that is called; `None` for a server.
    pub(super) const fn program(&self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("claude"),
            Self::Codex => Some("codex"),
            Self::Command(_) => Some(SHELL.0),
            Self::OpenAi | Self::Anthropic => None,
        }
    }

    /// Returns the headers that each request has, besides the key.
    pub(super) const fn headers(&self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Anthropic => &[("anthropic-version", "2023-06-01")],
            Self::OpenAi | Self::ClaudeCode | Self::Codex | Self::Command(_) => &[],
        }
    }
}

/// The shell that runs a command, with the option that takes it.
#[cfg(unix)]
pub(super) const SHELL: (&str, &str) = ("sh", "-c");
#[cfg(not(unix))]
pub(super) const SHELL: (&str, &str) = ("cmd", "/C");
