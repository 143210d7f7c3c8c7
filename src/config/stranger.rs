//! Distinguishes a project's file that its user wrote from one that somebody else could have put there.

use std::path::Path;

/// Whether there is a project's file that may count; one that may not is named in a warning.
pub(super) fn counts(path: &Path) -> bool {
    if !path.is_file() {
        return false;
    }
    let stranger = strangers(path);
    if let Some(reason) = stranger {
        tracing::warn!("ignored {}: {reason}", path.display());
    }
    stranger.is_none()
}

/// Returns why a project's file could have been put there by somebody else; `None` where only its user can have.
pub(crate) fn strangers(path: &Path) -> Option<&'static str> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // Not the bit of the group: many systems give each user a group of their own, with write permission by
        // default.
        const BY_OTHERS: u32 = 0o002;
        let (file, folder) =
            (std::fs::metadata(path).ok()?, path.parent().and_then(|above| std::fs::metadata(above).ok()));
        if file.uid() != rustix::process::geteuid().as_raw() {
            return Some("it belongs to another user");
        }
        if file.mode() & BY_OTHERS != 0 || folder.is_some_and(|folder| folder.mode() & BY_OTHERS != 0) {
            return Some("other users may write it, or the folder that it is in");
        }
    }
    #[cfg(not(unix))]
    let _ = path;
    None
}

#[cfg(test)]
mod tests {
    use super::super::{Config, Folders, PROJECT_FILE, Partial};
    use super::*;

    fn folders(root: &Path) -> Folders {
        Folders { user_file: root.join("user.toml"), default_db: root.join("memories.db") }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_may_write_does_not_count() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let (above, below) = (root.path(), root.path().join("shared/repo"));
        std::fs::create_dir_all(&below).unwrap();
        std::fs::write(above.join(PROJECT_FILE), "jobs = 2").unwrap();
        std::fs::write(above.join("shared").join(PROJECT_FILE), "jobs = 3").unwrap();
        let jobs = || Config::load(&folders(above), &below, None, &|_| None, Partial::default()).unwrap().jobs.value;
        let allow = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(jobs(), 3);
        // What stands above it counts still, so that a stranger cannot hide it.
        allow(&above.join("shared"), 0o777);
        assert_eq!(jobs(), 2);
        allow(&above.join("shared"), 0o755);
        allow(&above.join("shared").join(PROJECT_FILE), 0o666);
        assert_eq!(jobs(), 2);
    }
}
