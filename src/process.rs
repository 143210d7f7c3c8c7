//! Processes that this program starts: either in a separate group, so that everything they have started can be ended
//! with them, or detached from this process.

use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};

/// Environment variable that disables hooks in workers and in the programs that models are called through.
pub(crate) const ENVIRONMENT_MARK: &str = "AFTERTHOUGHT_WORKER";

/// Windows flag that starts a process in a new group, which an interrupt at the terminal does not reach.
#[cfg(windows)]
pub(crate) const NEW_GROUP: u32 = 0x200;

/// Starts the process in a new group, which an interrupt at the terminal does not reach.
pub(crate) fn in_own_group(command: &mut Command) {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    #[cfg(windows)]
    std::os::windows::process::CommandExt::creation_flags(command, NEW_GROUP);
}

/// Kills a process that was started by [`in_own_group`], with its group.
#[cfg(unix)]
pub(crate) fn kill_group(child: &mut Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    // The group no longer exists if all its processes have ended.
    group.map(|group| rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok());
}

/// Kills a process that was started by [`in_own_group`], with the processes that it has started.
#[cfg(not(unix))]
pub(crate) fn kill_group(child: &mut Child) {
    // The processes may have ended already.
    Command::new("taskkill").args(["/T", "/F", "/PID", &child.id().to_string()]).output().ok();
    child.kill().ok();
}

/// Starts `program` in the folder `folder` as a process that outlives this one: without standard streams, in a separate
/// group, and with [`ENVIRONMENT_MARK`] where the system allows it.
///
/// # Errors
/// Returns an error if the system cannot start it.
#[cfg(not(windows))]
pub(crate) fn start_detached(program: &Path, arguments: &[&str], folder: &Path) -> io::Result<()> {
    use std::process::Stdio;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env(ENVIRONMENT_MARK, "1");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    in_own_group(&mut command);
    command.spawn().map(drop)
}

/// Starts `program` in the folder `folder` as a process that outlives this one: without standard streams and console,
/// and in a separate group.
///
/// # Errors
/// Returns an error if the system cannot start it.
#[cfg(windows)]
pub(crate) fn start_detached(program: &Path, arguments: &[&str], folder: &Path) -> io::Result<()> {
    use winsafe::{CreateProcess, STARTUPINFO, co};
    let program = program.to_string_lossy();
    let words: Vec<&str> = std::iter::once(&*program).chain(arguments.iter().copied()).collect();
    let flags = co::CREATE::DETACHED_PROCESS | co::CREATE::NEW_PROCESS_GROUP;
    // The standard library lets a process inherit every handle of its parent. An agent waits until the pipes of its hook
    // are closed, so it would wait for the worker that the hook started.
    let inherits = false;
    CreateProcess(
        Some(&program),
        Some(&command_line(&words)),
        None,
        None,
        inherits,
        flags,
        &[],
        folder.to_str(),
        &mut STARTUPINFO::default(),
    )
    .map(drop)
    .map_err(|code| io::Error::from_raw_os_error(code.raw().cast_signed()))
}

/// Returns a command line that a program on Windows splits into exactly these words.
#[cfg(any(windows, test))]
fn command_line(words: &[&str]) -> String {
    let quoted = words.iter().map(|word| {
        if !word.is_empty() && !word.contains([' ', '\t', '"']) {
            return (*word).to_owned();
        }
        let mut text = String::from('"');
        let mut backslashes = 0;
        for letter in word.chars() {
            // Backslashes are special only before a quotation mark, where each is doubled.
            if letter == '"' {
                text.extend(std::iter::repeat_n('\\', backslashes + 1));
            }
            backslashes = if letter == '\\' { backslashes + 1 } else { 0 };
            text.push(letter);
        }
        text.extend(std::iter::repeat_n('\\', backslashes));
        text + "\""
    });
    quoted.collect::<Vec<_>>().join(" ")
}

/// Returns the program that a shell starts for a name without a folder.
pub(crate) fn on_path(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).find_map(|folder| in_folder(&folder, name, cfg!(windows)))
}

fn in_folder(folder: &Path, name: &str, is_windows: bool) -> Option<PathBuf> {
    // On Windows, npm installs `claude.cmd` next to `claude`, which is a script for other shells.
    let endings: &[&str] = if is_windows && !name.contains('.') { &[".exe", ".cmd", ".bat"] } else { &[""] };
    endings.iter().map(|ending| folder.join(format!("{name}{ending}"))).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_line_is_quoted_as_programs_on_windows_split_it() {
        let words = [r"C:\My Tools\a.exe", "--db", r"C:\a b\", "", r#"say "hi\""#, r"C:\plain\"];
        let expected = r#""C:\My Tools\a.exe" --db "C:\a b\\" "" "say \"hi\\\"" C:\plain\"#;
        assert_eq!(command_line(&words), expected);
    }

    #[test]
    fn a_program_on_windows_is_found_by_its_ending() {
        let folder = tempfile::tempdir().unwrap();
        let found = |name: &str, is_windows| {
            let path = in_folder(folder.path(), name, is_windows);
            path.map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        };
        for name in ["claude", "claude.cmd"] {
            std::fs::write(folder.path().join(name), "").unwrap();
        }
        assert_eq!(
            (found("claude", true).as_deref(), found("claude", false).as_deref()),
            (Some("claude.cmd"), Some("claude"))
        );
        std::fs::write(folder.path().join("claude.exe"), "").unwrap();
        assert_eq!(found("claude", true).as_deref(), Some("claude.exe"));
        assert_eq!(found("claude.cmd", true).as_deref(), Some("claude.cmd"));
        assert_eq!(found("codex", true), None);
    }
}
