//! Files and folders that only their user can read, opened without following links.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

/// Returns options that create files with mode 0600. A link in place of the file is an error, since it could lead
/// anywhere.
pub(crate) fn options() -> OpenOptions {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is nothing to add"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;
        // Private from the beginning: if the mode were set afterwards, others could open the file before that.
        options.mode(0o600).custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed());
    }
    options
}

/// Opens a file for appending, and creates it if it is missing.
pub(crate) fn append(path: &Path) -> io::Result<File> {
    options().create(true).append(true).open(path)
}

/// Creates a folder and those above it with mode 0700 where they are missing.
pub(crate) fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    // Does not fail if another process was faster.
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Writes a file in a folder that is created if it is missing. Readers find the former text or the whole new one.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        create_folder(folder)?;
    }
    let draft = path.with_added_extension(uuid::Uuid::now_v7().to_string());
    let written = options().write(true).create_new(true).open(&draft);
    let placed =
        written.and_then(|mut file| file.write_all(text.as_bytes())).and_then(|()| std::fs::rename(&draft, path));
    if placed.is_err() {
        // A file that cannot be written can often not be removed either; the first error is the one to report.
        std::fs::remove_file(&draft).ok();
    }
    placed
}
