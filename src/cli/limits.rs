//! Limits that the system sets on a process.

/// Makes writing beyond a limit on the size of files (`ulimit -f`) an error of that write, as a full disk is. Left to
/// itself, the system ends the process there, in the middle of whatever it does.
#[cfg(unix)]
pub(crate) fn take_as_errors() {
    use tokio::signal::unix::{SignalKind, signal};

    /// `SIGXFSZ` on Linux, macOS and the BSDs.
    const FILE_TOO_LARGE: i32 = 25;
    // The handler stays when the runtime is gone.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build();
    if let Ok(runtime) = runtime {
        // tokio can register a signal only within a runtime.
        let _inside = runtime.enter();
        drop(signal(SignalKind::from_raw(FILE_TOO_LARGE)));
    }
}

/// Does nothing: there is no such limit.
#[cfg(not(unix))]
pub(crate) const fn take_as_errors() {}
