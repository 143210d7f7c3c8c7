//! Runs git in a way in which nothing of the repository is executed.
//!
//! The settings of a repository can name programs: a monitor of files, filters, converters of text, a transport. Whoever
//! made the repository chose them, so git gets the repository to read as an argument, and may neither use these programs
//! nor the network, nor take longer than a few seconds.

use std::io::{self, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

/// Maximum time that git may take. A repository may contain something that can be read for ever.
const MAX_TIME: Duration = Duration::from_secs(20);

/// Settings that prevent git from running the programs that a repository's own settings name.
const HARMLESS: &[&str] = &[
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "blame.ignoreRevsFile=",
    "protocol.allow=never",
];

/// Why git gave no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GitError {
    /// Git could not be started.
    #[error("cannot run git; install it, or add it to PATH")]
    Missing(#[source] io::Error),
    /// Git reported an error.
    #[error("git {command} failed: {message}")]
    Failed {
        /// The command.
        command: &'static str,
        /// The last line that it printed.
        message: String,
    },
    /// Git took too long and was ended.
    #[error("git {command} took too long and was ended")]
    TooSlow {
        /// The command.
        command: &'static str,
    },
}

/// A working tree with its git folder.
#[derive(Debug, Clone, Copy)]
pub(super) struct GitCheckout<'a> {
    pub(super) root: &'a Path,
    pub(super) git: &'a Path,
}

impl GitCheckout<'_> {
    /// Returns what `command` prints, with `arguments`, in the folder `place` of the working tree.
    pub(super) fn run(self, place: &Path, command: &'static str, arguments: &[&str]) -> Result<Vec<u8>, GitError> {
        let mut git = Command::new("git");
        // Variables of a surrounding git, as in a hook, would name another index or other objects.
        let is_foreign = |name: &str| name.starts_with("GIT_") && name != "GIT_EXEC_PATH";
        std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_foreign)).for_each(|(name, _)| {
            git.env_remove(name);
        });
        git.arg("--git-dir").arg(self.git).arg("--work-tree").arg(self.root).current_dir(place);
        HARMLESS.iter().for_each(|setting| _ = git.args(["-c", setting]));
        git.env("GIT_NO_LAZY_FETCH", "1").env("GIT_ALLOW_PROTOCOL", "").env("GIT_OPTIONAL_LOCKS", "0");
        git.arg(command).args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().map_err(GitError::Missing)?;
        let (printed, errors) = (collected(child.stdout.take()), collected(child.stderr.take()));
        let Ok(printed) = printed.recv_timeout(MAX_TIME) else {
            // A process that has already ended needs no end.
            child.kill().ok();
            child.wait().ok();
            return Err(GitError::TooSlow { command });
        };
        if child.wait().is_ok_and(|status| status.success()) {
            return Ok(printed);
        }
        let errors = errors.recv_timeout(MAX_TIME).unwrap_or_default();
        let message = String::from_utf8_lossy(&errors).trim().lines().last().unwrap_or_default().to_owned();
        Err(GitError::Failed { command, message })
    }
}

/// Reads a stream to its end on a separate thread, because its writer may wait until the other stream is read.
fn collected(stream: Option<impl Read + Send + 'static>) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was printed before a failure still says what failed, and nobody waits after a timeout.
        stream.map(|mut stream| stream.read_to_end(&mut bytes).ok());
        sender.send(bytes).ok();
    });
    receiver
}
