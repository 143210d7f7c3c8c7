//! Copies the file on request, before a migration and before a repair, and restores copies.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, params};
use serde::Serialize;

use super::keys::Keys;
use super::path::{create_folder, create_private, refuse_folder, with_suffix};
use super::schema::{known_version, schema_version};
use super::{cipher, copy_pages};
use crate::fault::point;
use crate::store::row::count;
use crate::store::{Database, Store, StoreError};

/// The extension of automatic copies.
const ENDING: &str = "backup";
/// Maximum time for making a copy; an older unfinished copy was left behind by a killed process.
// An hour is enough for the largest file on a slow disk. A copy that is still being written must not be removed.
const UNFINISHED: Duration = Duration::from_hours(1);

/// A finished copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Backup {
    /// The path of the copy.
    pub path: PathBuf,
    /// Size of the copy in bytes.
    pub bytes: u64,
    /// Number of memories in the file, of every status.
    pub memories: usize,
}

/// The result of restoring a copy.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Restored {
    /// A copy of the previous file; `None` if there was no previous file.
    pub former: Option<PathBuf>,
    /// Number of memories in the restored file, including memories of every status.
    pub memories: usize,
}

impl Store {
    /// Copies the current content of the file to `path`, readable only by its owner, while other processes continue to
    /// use the file.
    ///
    /// # Errors
    /// [`StoreError::Taken`] if `path` already exists; otherwise [`StoreError`] if the copy cannot be written.
    pub(crate) fn backup(&self, path: &Path, now: Timestamp) -> Result<Backup, StoreError> {
        // The finished copy is renamed to `path`, which would silently replace an existing file.
        refuse_folder(path)?;
        if path.exists() {
            return Err(StoreError::Taken { path: path.to_owned() });
        }
        copy(&self.conn, path, &self.keys, None).map_err(|error| error.at(path))?;
        // The full path of the copy is recorded, so that `forget` can list the copies later.
        let full = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let named = self.redact(full.to_string_lossy().into_owned());
        let sql = "INSERT INTO audit (at, action, detail) VALUES (?1, 'backup', ?2)";
        self.execute(sql, params![now.as_millisecond(), *named])?;
        let copied = open_copy(path, &self.keys)?;
        let bytes = fs::metadata(path).map_or(0, |data| data.len());
        Ok(Backup {
            path: path.to_owned(),
            bytes,
            memories: count(&copied, "memories").map_err(|error| StoreError::from(error).at(path))?,
        })
    }

    /// Replaces the whole content of the file at `path` with the content of the copy at `from`; the previous content is
    /// copied first.
    ///
    /// Other processes see either the old content or the new content. A copy with an earlier schema is migrated.
    ///
    /// # Errors
    /// [`StoreError`] if `from` is not a database or is damaged or of a newer version, or while a run is in progress;
    /// [`StoreError::MixedKeys`] if only one of the two files is encrypted.
    pub(crate) fn restore_backup(path: &Path, from: &Path, now: Timestamp) -> Result<Restored, StoreError> {
        Self::restore_backup_with(path, from, &Keys::default(), now)
    }

    pub(in crate::store) fn restore_backup_with(
        path: &Path,
        from: &Path,
        keys: &Keys,
        now: Timestamp,
    ) -> Result<Restored, StoreError> {
        let copy = open_copy(from, keys)?;
        // The copy is checked before anything is changed, because a damaged copy must not replace a good file.
        let sound: String = copy
            .query_row("PRAGMA integrity_check(1)", (), |row| row.get(0))
            .map_err(|error| StoreError::from(error).at(from))?;
        if sound != "ok" {
            let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            let source = rusqlite::Error::SqliteFailure(code, Some(sound));
            return Err(StoreError::Corrupt { path: from.to_owned(), source });
        }
        if !path.exists() {
            create_folder(path)?;
            self::copy(&copy, path, keys, None).map_err(|error| error.at(path))?;
            let store = Self::open_with(path, keys)?;
            return Ok(Restored {
                former: None,
                memories: count(&store.conn, "memories").map_err(|error| StoreError::from(error).at(path))?,
            });
        }
        refuse_mixture(path, from, &copy, keys)?;
        // This copy must be made before the pages are replaced, because otherwise the previous content could not be
        // restored.
        let former = Some(set_aside(path, keys, now)?);
        point("restore.begin");
        let mut store = Self::open_with(path, keys)?;
        // A run in progress refers to memories and windows that would no longer exist.
        store.refuse_during_runs(now)?;
        copy_pages(&copy, &mut store.db.conn).map_err(|error| StoreError::from(error).at(path))?;
        point("restore.placed");
        drop(store);
        // The store is opened again, because the copy may have an earlier schema, which opening migrates.
        let store = Self::open_with(path, keys)?;
        let memories = count(&store.conn, "memories").map_err(|error| StoreError::from(error).at(path))?;
        Ok(Restored { former, memories })
    }

    /// Removes the automatic copies that were made next to the file before schema migrations, and returns their paths.
    ///
    /// # Errors
    /// [`StoreError::Unwritable`] if a copy cannot be removed.
    pub(crate) fn remove_automatic_backups(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut found: Vec<PathBuf> = beside(&self.path, ".schema-");
        // Unfinished copies contain data from the file, so an erasure must remove them, except for a copy in progress.
        found.extend(unfinished(&self.path).into_iter().filter(|path| is_left(path)));
        for path in &found {
            fs::remove_file(path)
                .map_err(|source| StoreError::Unwritable { path: path.clone(), source: Box::new(source) })?;
        }
        Ok(found)
    }
}

impl Database {
    /// Returns the known copies of this file that still exist: copies next to the file, and copies made by `backup`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn backups(&self) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = beside(&self.path, ".");
        found.extend(unfinished(&self.path));
        let sql = "SELECT DISTINCT detail FROM audit WHERE action = 'backup'";
        let noted: Vec<String> = self.query_all(sql, (), |row| row.get(0))?;
        found.extend(noted.into_iter().map(PathBuf::from).filter(|path| path.exists()));
        // A backup next to the file is found twice: by its name and in the audit table.
        found.sort();
        found.dedup();
        Ok(found)
    }
}

/// Copies a file of an earlier schema before it is migrated, unless another process has already done so.
pub(in crate::store) fn before_migration(
    conn: &Connection,
    path: &Path,
    keys: &Keys,
    found: i64,
) -> Result<(), StoreError> {
    let copy_path = named(path, &format!("schema-{found}"));
    if copy_path.exists() {
        return Ok(());
    }
    copy(conn, &copy_path, keys, Some(found))
}

/// Copies the current state of the file, and returns the path of the copy.
pub(in crate::store) fn set_aside(path: &Path, keys: &Keys, now: Timestamp) -> Result<PathBuf, StoreError> {
    let copy_path = unused(path, now);
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copied = cipher::open(path, path, flags, keys).and_then(|conn| {
        // SQLite writes temporary files without encryption.
        conn.execute_batch("PRAGMA temp_store = MEMORY")?;
        copy(&conn, &copy_path, keys, None)
    });
    match copied {
        Ok(()) => Ok(copy_path),
        // A file that cannot be read as a database is copied byte by byte, so that no data is lost.
        Err(_) => copy_bytes(path, now),
    }
}

/// Copies a file and its write-ahead log byte by byte, and returns the path of the copy, which has the permissions of
/// the file.
pub(in crate::store) fn copy_bytes(path: &Path, now: Timestamp) -> Result<PathBuf, StoreError> {
    let copy_path = unused(path, now);
    // The log is copied first, so that after a checkpoint in between, both copies contain the content of the log,
    // rather than neither.
    for ending in ["-wal", ""] {
        let (from, to) = (with_suffix(path, ending), with_suffix(&copy_path, ending));
        if !from.exists() && !ending.is_empty() {
            continue;
        }
        let copied = create_private(&to).and_then(|()| {
            fs::copy(&from, &to).map_err(|source| StoreError::Unwritable { path: to, source: Box::new(source) })
        });
        if let Err(error) = copied {
            // An incomplete copy is useless and would look like a complete copy.
            for ending in ["-wal", ""] {
                fs::remove_file(with_suffix(&copy_path, ending)).ok();
            }
            return Err(error);
        }
    }
    Ok(copy_path)
}

/// Returns an unused file name for a copy.
fn unused(path: &Path, now: Timestamp) -> PathBuf {
    let stamp = now.strftime("%Y%m%dT%H%M%S").to_string();
    // An existing copy must be kept, because no other copy may have the same content.
    let mut names = (1_u32..).map(|number| named(path, &format!("before-{stamp}-{number}")));
    names.find(|name| !name.exists()).expect("the numbers have no upper limit")
}

/// Writes a copy under a temporary name first, so that the copy either is complete or does not exist. If `version` is
/// given, a copy with a different schema version is discarded.
fn copy(conn: &Connection, to: &Path, keys: &Keys, version: Option<i64>) -> Result<(), StoreError> {
    // Files left behind by killed processes contain earlier data, and no other code removes them.
    for left in unfinished(to).into_iter().filter(|path| is_left(path)) {
        fs::remove_file(left).ok();
    }
    let fresh = with_suffix(to, &format!(".{}.new", uuid::Uuid::now_v7()));
    // SQLite would create the file with the default mode, which may let other users read it.
    create_private(&fresh)?;
    point("copy.begin");
    let copied = copy_into(conn, &fresh, keys, version);
    point("copy.made");
    // A rename is atomic, so a crash leaves either a complete copy or none.
    let placed = match copied {
        Ok(true) => fs::rename(&fresh, to),
        Ok(false) | Err(_) => fs::remove_file(&fresh),
    };
    copied?;
    point("copy.placed");
    placed.map_err(|source| StoreError::Unwritable { path: to.to_owned(), source: Box::new(source) })
}

fn copy_into(conn: &Connection, fresh: &Path, keys: &Keys, version: Option<i64>) -> Result<bool, StoreError> {
    // `VACUUM INTO` reads one snapshot while other processes write, and encrypts the copy with the key of the file.
    conn.execute("VACUUM INTO ?1", [fresh.to_string_lossy()])?;
    let copied = cipher::open(fresh, fresh, OpenFlags::SQLITE_OPEN_READ_ONLY, keys)?;
    // Another process may have migrated the file after this one read its version; in that case, the copy has the wrong
    // schema.
    let is_wanted = version.is_none_or(|version| schema_version(&copied).is_ok_and(|found| found == version));
    // Best effort: on a system that cannot sync, a copy is still better than none.
    fs::File::open(fresh).and_then(|file| file.sync_all()).ok();
    Ok(is_wanted)
}

/// Opens a copy for reading, if this version of the program can read it.
fn open_copy(path: &Path, keys: &Keys) -> Result<Connection, StoreError> {
    if !path.exists() {
        return Err(StoreError::NoBackup { path: path.to_owned() });
    }
    refuse_folder(path)?;
    let open = || -> Result<Connection, StoreError> {
        let conn = cipher::open(path, path, OpenFlags::SQLITE_OPEN_READ_ONLY, keys)?;
        let (found, known) = (schema_version(&conn)?, known_version());
        match found {
            0 => Err(StoreError::NotADatabase { path: path.to_owned() }),
            found if found > known => Err(StoreError::TooNew { path: path.to_owned(), found, known }),
            _ => Ok(conn),
        }
    };
    open().map_err(|error| error.at(path))
}

/// Pages of an encrypted file cannot replace unencrypted pages, or vice versa.
fn refuse_mixture(path: &Path, from: &Path, copy: &Connection, keys: &Keys) -> Result<(), StoreError> {
    // A file that cannot be opened is reported later, when it is copied or opened again.
    let Ok(there) = cipher::open(path, path, OpenFlags::SQLITE_OPEN_READ_WRITE, keys) else { return Ok(()) };
    if cipher::is_encrypted(&there)? == cipher::is_encrypted(copy)? {
        return Ok(());
    }
    Err(StoreError::MixedKeys { from: from.to_owned(), path: path.to_owned() })
}

fn named(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{what}.{ENDING}"));
    PathBuf::from(name)
}

/// Returns the copies next to the file with names that continue with `mark`, sorted by name.
fn beside(path: &Path, mark: &str) -> Vec<PathBuf> {
    named_like(path, mark, |rest| rest.ends_with(".put-aside.jsonl") || rest.ends_with(&format!(".{ENDING}")))
}

/// Returns unfinished copies of the file, and of copies of the file, that are still being made or were left behind by a
/// killed process.
fn unfinished(path: &Path) -> Vec<PathBuf> {
    let is_unfinished = |rest: &str| {
        // Only copies made by this program have a UUID in their names; a user's file that ends in `.new` must not be
        // removed.
        let id = rest.strip_suffix(".new").and_then(|rest| rest.rsplit('.').next());
        id.is_some_and(|id| uuid::Uuid::parse_str(id).is_ok())
    };
    named_like(path, ".", is_unfinished)
}

/// Returns whether the copy is so old that no process can still be making it.
fn is_left(path: &Path) -> bool {
    let changed = fs::metadata(path).and_then(|data| data.modified());
    // A modification time in the future is an error here, so such a file counts as in use and is kept.
    changed.is_ok_and(|at| SystemTime::now().duration_since(at).is_ok_and(|age| age > UNFINISHED))
}

/// Returns the files next to this file with names that continue with `mark` and a suffix that `is_wanted` accepts,
/// sorted by name.
fn named_like(path: &Path, mark: &str, is_wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return Vec::new() };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    let begin = format!("{name}{mark}");
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let rest = |path: &PathBuf| path.file_name()?.to_str()?.strip_prefix(&begin).map(|rest| format!("{mark}{rest}"));
    let mut found: Vec<PathBuf> = names.filter(|path| rest(path).is_some_and(|rest| is_wanted(&rest))).collect();
    found.sort();
    found
}

#[cfg(test)]
#[path = "backup_tests.rs"]
mod tests;
