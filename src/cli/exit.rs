//! Exit codes and their meaning.

use std::process::ExitCode;

/// How a command ended; the only values that the process exits with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitStatus {
    /// Done, or found: 0.
    Success,
    /// Nothing found: 1.
    NoMatch,
    /// It could not be done: 2.
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
