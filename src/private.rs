//! Files and folders that only their owner can read, opened without following links.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Duration;

/// Returns options that create files with mode 0600. It is an error if the path is a link, since the link could lead
/// anywhere.
pub(crate) fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there are no further options on this platform"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // The file is private from the beginning, because others could open it before a later change of its mode.
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

/// Opens a file for appending, and creates it if it is missing. It is an error if the path is a pipe or a device.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    let mut options = options();
    // Opening a pipe without a reader would wait forever.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits().cast_signed(),
    );
    let file = options.create(true).append(true).open(path)?;
    if file.metadata()?.is_file() { Ok(file) } else { Err(io::Error::other("it is not a regular file")) }
}

/// Removes the permissions of group and others from a file, if there are any.
#[cfg(unix)]
pub(crate) fn close_to_others(path: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    let mut permissions = std::fs::metadata(path)?.permissions();
    if permissions.mode() & 0o077 == 0 {
        return Ok(());
    }
    permissions.set_mode(permissions.mode() & 0o700);
    std::fs::set_permissions(path, permissions)
}

/// On this platform, the permissions of the folder apply.
#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "it can fail on other platforms")]
pub(crate) fn close_to_others(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Creates a folder and all missing folders above it, with mode 0700.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    // This does not fail if another process has created the folder first.
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file, and creates its folder if it is missing. Readers find either the old text or the complete new text.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let draft = path.with_added_extension(uuid::Uuid::now_v7().to_string());
    let written = options().write(true).create_new(true).open(&draft);
    let placed = written.and_then(|mut file| file.write_all(text.as_bytes())).and_then(|()| rename(&draft, path));
    if placed.is_err() {
        // If a file cannot be written, it often cannot be removed either, so only the first error is reported.
        std::fs::remove_file(&draft).ok();
    }
    placed
}

/// Renames a file, even if another program briefly has the file or the target open.
pub(crate) fn rename(from: &Path, to: &Path) -> io::Result<()> {
    /// Pauses before further attempts. Scanners and indexers on Windows open each new file for less than a second.
    const PAUSES_IN_MS: [u64; 6] = [10, 20, 50, 100, 200, 400];
    for pause in PAUSES_IN_MS {
        match std::fs::rename(from, to) {
            Err(error) if cfg!(windows) && is_busy(&error) => std::thread::sleep(Duration::from_millis(pause)),
            done => return done,
        }
    }
    std::fs::rename(from, to)
}

/// Returns whether Windows refused a change because another program has the file open.
fn is_busy(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    error.kind() == io::ErrorKind::PermissionDenied || error.raw_os_error() == Some(SHARING_VIOLATION)
}

/// Replaces the content of a file that a person maintains. The permissions are kept, and a link stays a link. Readers
/// find either the old text or the complete new text.
pub(crate) fn rewrite(path: &Path, text: &str) -> io::Result<()> {
    // Dotfiles are often links into a repository; renaming over the link would replace it.
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let permissions = std::fs::metadata(&target).map(|data| data.permissions());
    replace(&target, text)?;
    permissions.map_or(Ok(()), |permissions| std::fs::set_permissions(&target, permissions))
}

/// Reads a small file that contains a key, and that only its owner may read. The error is the reason, for a message.
pub(crate) fn read(path: &Path, max_bytes: u64) -> Result<String, String> {
    let unreadable = |error: io::Error| format!("it cannot be read: {error}");
    let data = std::fs::metadata(path).map_err(unreadable)?;
    // Reading a device or a pipe could block or never end.
    if !data.is_file() || data.len() > max_bytes {
        return Err("it is not a small text file".to_owned());
    }
    #[cfg(unix)]
    {
        let mode = std::os::unix::fs::PermissionsExt::mode(&data.permissions()) & 0o777;
        if mode & 0o077 != 0 {
            return Err(format!("others can read it ({mode:o}); `chmod 600 {}`", path.display()));
        }
    }
    std::fs::read_to_string(path).map_err(unreadable)
}
