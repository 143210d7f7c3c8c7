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

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        // Scripts rely on these numbers; they must not change between releases.
        Self::from(match status {
            ExitStatus::Success => 0,
            ExitStatus::NoMatch => 1,
            ExitStatus::Error => 2,
            ExitStatus::Failures => 3,
        })
    }
}
