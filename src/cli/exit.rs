//! Exit codes and their meanings.

use std::process::ExitCode;

/// How a command ended; the process exits only with these values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Success: 0.
    Success,
    /// Nothing found: 1.
    NoMatch,
    /// Failure: 2.
    Error,
    /// Finished, but part of the work failed or was interrupted and is left for the next run: 3.
    Failures,
}

impl ExitStatus {
    pub(crate) const fn code(self) -> u8 {
        // Scripts rely on these numbers; they must not change between releases.
        match self {
            Self::Success => 0,
            Self::NoMatch => 1,
            Self::Error => 2,
            Self::Failures => 3,
        }
    }
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status.code())
    }
}
