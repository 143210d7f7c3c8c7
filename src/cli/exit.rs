//! Exit codes and their meanings, termination signals, and limits that the system sets on the process.

use std::io;
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

/// Listens for the signals by which a person or a service manager asks the process to end, and returns a future that
/// waits for the first of them.
///
/// # Errors
/// If no signal handler can be installed; the signals then keep their default action and end the process.
#[cfg(unix)]
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    // Service managers and containers send SIGTERM, which must cause the same clean shutdown as Ctrl-C.
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Listens for the events by which a person or the system asks the process to end, and returns a future that waits for
/// the first of them.
///
/// # Errors
/// If no handler can be installed; the events then keep their default action and end the process.
#[cfg(not(unix))]
pub(crate) fn asked_to_end() -> io::Result<impl Future<Output = ()>> {
    use tokio::signal::windows::{ctrl_break, ctrl_c, ctrl_close, ctrl_shutdown};
    let (mut interrupt, mut end, mut close, mut shutdown) = (ctrl_c()?, ctrl_break()?, ctrl_close()?, ctrl_shutdown()?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            // Programs that supervise others send Ctrl-Break, which can be addressed to one process group.
            _ = end.recv() => {}
            // The window is closed. The system ends the process after five seconds.
            _ = close.recv() => {}
            _ = shutdown.recv() => {}
        }
    })
}

/// Makes a write that exceeds the limit on the size of files (`ulimit -f`) fail with an error, as on a full disk. By
/// default, the system terminates the process at that point, in the middle of its work.
#[cfg(unix)]
pub(crate) fn take_limits_as_errors() {
    use tokio::signal::unix::{SignalKind, signal};

    /// `SIGXFSZ` on Linux, macOS and the BSDs.
    const FILE_TOO_LARGE: i32 = 25;
    // The handler remains after the runtime is dropped.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        // tokio can register a signal only within a runtime.
        let _inside = runtime.enter();
        drop(signal(SignalKind::from_raw(FILE_TOO_LARGE)));
    }
}

/// Does nothing, since there is no such limit on this platform.
#[cfg(not(unix))]
pub(crate) const fn take_limits_as_errors() {}
