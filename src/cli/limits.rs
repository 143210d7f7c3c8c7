//! Limits that the system sets on a process.

/// Makes a write that exceeds the limit on the size of files (`ulimit -f`) fail with an error, as on a full disk. By
/// default, the system terminates the process at that point, in the middle of its work.
#[cfg(unix)]
pub(crate) fn take_as_errors() {
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
pub(crate) const fn take_as_errors() {}
