//! Paths of the database file and of the files next to it, which are created with private permissions.

use std::fs;
use std::path::{Path, PathBuf};

use crate::private;
use crate::store::StoreError;

/// Returns an error if the path is a folder, because SQLite would only report that it cannot open the file.
pub(in crate::store) fn refuse_folder(path: &Path) -> Result<(), StoreError> {
    if path.is_dir() { Err(StoreError::IsFolder { path: path.to_owned() }) } else { Ok(()) }
}

/// Creates the file before SQLite does, so that it is private from its first byte; `-wal` and `-shm` inherit its mode.
pub(in crate::store) fn create_private(path: &Path) -> Result<(), StoreError> {
    create_folder(path)?;
    if path.exists() {
        return Ok(());
    }
    let unwritable =
        |source: std::io::Error| StoreError::Unwritable { path: path.to_owned(), source: Box::new(source) };
    // Each process uses a different temporary name, so that two processes do not share an incomplete file.
    let fresh = with_suffix(path, &format!(".{}.new", uuid::Uuid::now_v7()));
    private::options().write(true).create_new(true).open(&fresh).map_err(unwritable)?;
    // Closing the file with its final name would release the locks that other connections of this process hold.
    let linked = fs::hard_link(&fresh, path);
    // Unlike a rename, a hard link never replaces a file created by a faster process, but some file systems do not
    // support hard links.
    let placed = if linked.is_ok() || path.exists() { fs::remove_file(&fresh) } else { fs::rename(&fresh, path) };
    placed.map_err(unwritable)
}

/// Creates the folder of a file with private permissions if it is missing.
pub(in crate::store) fn create_folder(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        private::create_folder(folder).map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
    }
    Ok(())
}

/// Returns the path next to `path` whose name is that of `path` followed by `ending`.
pub(in crate::store) fn with_suffix(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}
