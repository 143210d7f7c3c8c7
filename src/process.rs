//! Processes that run in a group of their own, so that everything they have started can be ended with them.

use std::process::{Child, Command};

/// Starts the process in a new group, which an interrupt at the terminal does not reach.
pub(crate) fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(not(unix))]
    let _ = command;
}

/// Kills a process that was started by [`in_own_group`], with its group.
#[cfg(unix)]
pub(crate) fn kill_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // The group no longer exists if all its processes have ended.
    group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok());
}

/// Kills a process that was started by [`in_own_group`].
#[cfg(not(unix))]
pub(crate) fn kill_group(child: &mut Child) {
    // The process may have ended already.
    child.kill().ok();
}
