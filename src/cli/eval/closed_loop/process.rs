//! Runs a process with a time limit, and ends everything that it has started.

use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::api::{in_own_group, kill_group};
use anyhow::Context as _;

/// Interval at which a running process is checked.
const TICK: Duration = Duration::from_millis(5);
/// Number of bytes that are read from the end of an output.
const MAX_OUTPUT: u64 = 1 << 20;

/// The end of a process.
#[derive(Debug)]
pub(super) struct ProcessOutput {
    /// The exit code; `None` if the process was killed.
    pub(super) code: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl ProcessOutput {
    pub(super) fn has_succeeded(&self) -> bool {
        self.code == Some(0)
    }

    /// Returns everything that the process printed.
    pub(super) fn printed(&self) -> String {
        format!("{}{}", self.stdout, self.stderr)
    }
}

/// Runs `command` with `input`. The process and all processes in its group are killed after `limit`, and processes that
/// it has left behind are killed when it ends.
pub(super) fn run(mut command: Command, input: &str, limit: Duration) -> anyhow::Result<ProcessOutput> {
    // With files instead of pipes, a process that is left behind cannot keep an output open.
    let file = || tempfile::tempfile().context("cannot create a temporary file");
    let (mut stdin, stdout, stderr) = (file()?, file()?, file()?);
    stdin.write_all(input.as_bytes()).and_then(|()| stdin.rewind()).context("cannot write a temporary file")?;
    command.stdin(stdin).stdout(stdout.try_clone()?).stderr(stderr.try_clone()?);
    in_own_group(&mut command);
    let mut child = command.spawn().with_context(|| format!("cannot start {}", command.get_program().display()))?;
    let begun = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status);
        }
        if begun.elapsed() >= limit {
            break None;
        }
        std::thread::sleep(TICK);
    };
    kill_group(&mut child);
    child.wait()?;
    Ok(ProcessOutput {
        code: status.and_then(|status| status.code()),
        stdout: end_of(stdout)?,
        stderr: end_of(stderr)?,
    })
}

fn end_of(mut file: File) -> std::io::Result<String> {
    let length = file.seek(SeekFrom::End(0))?;
    file.seek(SeekFrom::Start(length.saturating_sub(MAX_OUTPUT)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(line: &str, input: &str, limit_ms: u64) -> ProcessOutput {
        let mut command = Command::new("sh");
        command.args(["-c", line]);
        run(command, input, Duration::from_millis(limit_ms)).expect("the shell starts")
    }

    #[test]
    fn input_output_and_exit_code_are_passed_on() {
        let output = shell("cat; echo wrong >&2; exit 3", "hello\n", 10_000);
        assert_eq!((output.code, output.printed().as_str()), (Some(3), "hello\nwrong\n"));
        assert!(!output.has_succeeded());
    }

    #[test]
    fn a_late_process_is_killed_with_its_children() {
        let begun = Instant::now();
        let output = shell("sleep 60 & echo $!; wait", "", 300);
        assert_eq!(output.code, None);
        assert!(begun.elapsed() < Duration::from_secs(20));
        let child: i32 = output.stdout.trim().parse().unwrap();
        let is_gone = || {
            let state = std::fs::read_to_string(format!("/proc/{child}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z")
        };
        while !is_gone() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(TICK);
        }
        assert!(is_gone());
    }
}
