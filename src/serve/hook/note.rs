//! The log of hook failures, which are otherwise invisible.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use jiff::Timestamp;

use crate::private;

/// Size of a log file at which a new file is started, in bytes; two files are kept.
const MAX_BYTES: u64 = 128 * 1024;
/// Maximum length of a message, in bytes.
const MAX_MESSAGE: usize = 500;

/// A log file next to the database that only its owner can read.
#[derive(Debug, Clone)]
pub(crate) struct HookLog {
    path: PathBuf,
}

impl HookLog {
    /// Returns the log of the database at `database`.
    #[must_use]
    pub(crate) fn beside(database: &Path) -> Self {
        Self { path: database.with_extension("hooks.log") }
    }

    /// Returns the path of the log.
    #[must_use]
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes a line about a failure of `who`, if possible: an unwritable log must not prevent a hook from working.
    pub(crate) fn note(&self, who: &str, message: &str, now: Timestamp) {
        let message = &message[..message.floor_char_boundary(MAX_MESSAGE)];
        let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
        if fs::metadata(&self.path).is_ok_and(|data| data.len() > MAX_BYTES) {
            // Another process may just have renamed the log.
            fs::rename(&self.path, self.path.with_extension("log.1")).ok();
        }
        // Error messages contain paths, which other users need not see.
        if let Ok(mut file) = private::append(&self.path) {
            writeln!(file, "{now:.0} {who}: {message}").ok();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::testing::day;

    #[test]
    fn it_is_private_and_does_not_grow_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let log = HookLog::beside(&folder.path().join("memories.db"));
        for _ in 0..900 {
            log.note("codex stop", &"it is locked\n".repeat(100), day(1));
        }
        let text = fs::read_to_string(log.path()).unwrap();
        assert!(text.starts_with("2026-03-02T12:00:00Z codex stop: it is locked it is"), "{}", &text[..80]);
        let sizes: u64 = fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).sum();
        assert!(sizes < 3 * MAX_BYTES, "{sizes}");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            assert_eq!(fs::metadata(log.path()).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let log = HookLog::beside(&folder.path().join("memories.db"));
        fs::write(folder.path().join("other"), "").unwrap();
        std::os::unix::fs::symlink(folder.path().join("other"), log.path()).unwrap();
        log.note("codex stop", "x", day(1));
        assert_eq!(fs::read_to_string(folder.path().join("other")).unwrap(), "");
    }

    #[test]
    fn where_it_cannot_be_written_nothing_happens() {
        HookLog::beside(Path::new("/none/such/memories.db")).note("codex stop", "x", day(1));
    }
}
