//! Starts a worker that outlives the hook.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Set in the environment of a worker and of all that it starts, so that hooks in there do nothing.
pub const ENVIRONMENT_MARK: &str = "AFTERTHOUGHT_WORKER";

/// Starts `program` with `arguments` as a process of its own: in a group that no terminal interrupts, without standard
/// streams, in the folder `folder`.
///
/// # Errors
/// If the system cannot start it.
pub fn start_worker(program: &Path, arguments: &[&str], folder: &Path) -> io::Result<()> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env(ENVIRONMENT_MARK, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    #[cfg(windows)]
    {
        // Without a console, and in a group of its own.
        const DETACHED_PROCESS: u32 = 0x8;
        const CREATE_NEW_PROCESS_GROUP: u32 = 0x200;
        std::os::windows::process::CommandExt::creation_flags(
            &mut command,
            DETACHED_PROCESS | CREATE_NEW_PROCESS_GROUP,
        );
    }
    command.spawn().map(drop)
}

/// Lets other programs go first, where the system allows it.
pub fn lower_priority() {
    #[cfg(unix)]
    rustix::process::nice(10).ok();
}
