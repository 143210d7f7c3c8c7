//! Recognises encrypted files, opens them with their key, and converts them to and from plain files.
//!
//! With the feature `encryption`, the file, its write-ahead log and all copies are read and written page by page
//! through `SQLCipher`. A build without the feature refuses such a file with a specific error. Both builds open files
//! that are not encrypted.
//!
//! A conversion writes and verifies a new file, which then replaces the old file. Even if the process dies, there is
//! always a complete file with the original name. No other process has the file open during the conversion. A process
//! that waits to open the old file finds it overwritten, so it cannot mistake the old file for the new file.

use std::collections::HashSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};
use secrecy::ExposeSecret as _;
use serde::Serialize;

use super::keys::{Key, Keys, sync_folder, unwritable};
use super::path::{create_private, refuse_folder, with_suffix};
use super::schema::{BUSY_TIMEOUT, check_ours};
use crate::fault::point;
use crate::store::error::is_busy;
use crate::store::row::{count, query_all};
use crate::store::{Database, Store, StoreError};

/// Whether this build can encrypt.
pub(crate) const CAN_ENCRYPT: bool = cfg!(feature = "encryption");
/// Size of a page in bytes; an encrypted file consists of a whole number of pages.
const PAGE: usize = 4_096;
/// The first bytes of an unencrypted file.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Minimum entropy of data that looks random, in bits per byte: encrypted pages have more than 7.9, text has less than
/// 6.
const RANDOM: f64 = 7.5;

/// Files that this process has opened with a key. Such a file is not opened a second time without SQLite, because
/// closing the file would release all locks that other connections of the process hold on it.
static OPENED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// Opens the file at `path` using the name `name`, which may be a URI, with any key that it needs, and checks that it
/// is a database of this program.
///
/// A new file is encrypted if a key is given. Nothing is written, even if the key is correct.
pub(in crate::store) fn open(
    name: &Path,
    path: &Path,
    flags: OpenFlags,
    keys: &Keys,
) -> Result<Connection, StoreError> {
    // `create_private` has already created an empty file, so an existing file may still be new.
    let is_new = fs::metadata(path).is_ok_and(|data| data.len() == 0);
    let given = if is_new { keys.given()? } else { None };
    if let Some(key) = given.as_ref().filter(|_| !CAN_ENCRYPT) {
        return Err(StoreError::CannotEncrypt { path: path.to_owned(), place: key.place().clone() });
    }
    // The file is first opened without a key: most files are not encrypted, and using the keyring may open a dialog.
    match open_with(name, path, flags, given.as_ref()) {
        Err(StoreError::Sqlite(error)) if is_unreadable(&error) => {}
        opened => return opened,
    }
    if !CAN_ENCRYPT {
        return Err(if looks_encrypted(path) {
            StoreError::CannotDecrypt { path: path.to_owned() }
        } else {
            StoreError::NotADatabase { path: path.to_owned() }
        });
    }
    let key = match keys.find_for(path) {
        Ok(key) => key,
        // A user who mistyped a path should not be asked for a key.
        Err(_) if !looks_encrypted(path) => return Err(StoreError::NotADatabase { path: path.to_owned() }),
        Err(error) => return Err(error),
    };
    match open_with(name, path, flags, Some(&key)) {
        Err(StoreError::Sqlite(error)) if is_unreadable(&error) => {}
        opened => return opened,
    }
    if looks_encrypted(path) {
        return Err(StoreError::WrongKey { path: path.to_owned(), place: key.place().clone() });
    }
    // Another process may have decrypted the file in the meantime.
    match open_with(name, path, flags, None) {
        Err(StoreError::Sqlite(error)) if is_unreadable(&error) => {
            Err(StoreError::NotADatabase { path: path.to_owned() })
        }
        opened => opened,
    }
}

fn open_with(name: &Path, path: &Path, flags: OpenFlags, key: Option<&Key>) -> Result<Connection, StoreError> {
    let conn = Connection::open_with_flags(name, flags)?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    // A connection that proves unable to read the file must not write the log back to the file on closing.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if let Some(key) = key {
        unlock(&conn, key)?;
    }
    // This is the first read of a page, and SQLite notices a wrong key only at this point: setting a key checks
    // nothing.
    check_ours(&conn, path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    if key.is_some()
        && let Ok(mut opened) = OPENED.lock()
    {
        opened.insert(path.to_owned());
    }
    Ok(conn)
}

/// Sets the key of a connection, before anything is read.
pub(in crate::store) fn unlock(conn: &Connection, key: &Key) -> Result<(), StoreError> {
    // With the default setting, `SQLCipher` prints messages about unreadable pages to standard error, in addition to
    // returning an error.
    conn.pragma_update(None, "cipher_log_level", "NONE")?;
    conn.pragma_update(None, "key", key.secret().expose_secret())?;
    Ok(())
}

/// Returns whether the file of the connection `conn` is encrypted on disk.
pub(in crate::store) fn is_encrypted(conn: &Connection) -> Result<bool, StoreError> {
    if !CAN_ENCRYPT {
        return Ok(false);
    }
    // A file without encryption has no salt, and SQLCipher then returns no row or an empty text.
    let salt: Option<String> = conn.query_row("PRAGMA cipher_salt", (), |row| row.get(0)).optional()?;
    Ok(salt.is_some_and(|salt| !salt.is_empty()))
}

fn is_unreadable(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}

/// Returns whether a file that cannot be read without a key consists of a whole number of pages of random-looking
/// bytes.
fn looks_encrypted(path: &Path) -> bool {
    // Closing the file after reading it would release the locks held by this process's open connections.
    if OPENED.lock().is_ok_and(|opened| opened.contains(path)) {
        return true;
    }
    let Ok(mut file) = fs::File::open(path) else { return false };
    let mut page = vec![0; PAGE];
    let is_whole = file.metadata().is_ok_and(|data| data.len() > 0 && data.len() % PAGE as u64 == 0);
    // An encrypted database cannot be distinguished from random bytes, so this check determines only which error to
    // report.
    is_whole && file.read_exact(&mut page).is_ok() && !page.starts_with(MAGIC) && entropy(&page) > RANDOM
}

/// Returns the entropy of the bytes, in bits per byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    shares.map(|share| -share * share.log2()).sum()
}

/// Maximum time for which a conversion waits for other processes to close the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// Suffixes for the name of the new file until it replaces the old file.
const ENDINGS: [&str; 2] = ["encrypting", "decrypting"];
/// Number of bytes overwritten at a time.
const BLOCK: usize = 1 << 20;

/// The result of a conversion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Conversion {
    /// The file.
    pub path: PathBuf,
    /// Size of the file in bytes.
    pub bytes: u64,
    /// Number of memories in the file, of every status.
    pub memories: usize,
    /// The source of the key.
    pub key: String,
    /// Known copies of the file, which were not converted: even after encryption, anyone who has a copy can read it.
    pub copies: Vec<PathBuf>,
}

impl Store {
    /// Encrypts the file at `path` with the key in `key_file`, or otherwise with the key that is found, and overwrites
    /// the unencrypted data; returns `None` if the file is already encrypted.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while another process has the file open, [`StoreError::NoKey`] if there is no key;
    /// otherwise [`StoreError`] if the file cannot be read or the new one cannot be written. The file is unchanged in
    /// these cases.
    pub(crate) fn encrypt(
        path: &Path,
        key_file: Option<&Path>,
        now: Timestamp,
    ) -> Result<Option<Conversion>, StoreError> {
        let keys = key_file.map_or(Keys::Outside, |path| Keys::File(path.to_owned()));
        convert(path, &keys, true, now)
    }

    /// Rewrites the file at `path` without encryption; returns `None` if it is not encrypted.
    ///
    /// # Errors
    /// The same errors as [`Store::encrypt`].
    pub(crate) fn decrypt(path: &Path, now: Timestamp) -> Result<Option<Conversion>, StoreError> {
        convert(path, &Keys::default(), false, now)
    }

    /// Returns the files that were left next to the file at `path` by a process that ended while encrypting or
    /// decrypting it.
    pub(crate) fn half_converted(path: &Path) -> Vec<PathBuf> {
        ENDINGS.iter().map(|ending| beside(path, ending)).filter(|path| path.exists()).collect()
    }
}

impl Database {
    /// Returns whether the file is encrypted on disk.
    ///
    /// # Errors
    /// [`StoreError`] if SQLite fails.
    pub(crate) fn is_encrypted(&self) -> Result<bool, StoreError> {
        is_encrypted(&self.conn)
    }
}

fn convert(path: &Path, keys: &Keys, encrypt: bool, now: Timestamp) -> Result<Option<Conversion>, StoreError> {
    if !path.exists() {
        return Err(StoreError::Missing { path: path.to_owned() });
    }
    refuse_folder(path)?;
    if encrypt && !CAN_ENCRYPT {
        return Err(StoreError::CannotConvert { path: path.to_owned() });
    }
    let store = Store::open_with(path, keys)?;
    if store.is_encrypted()? == encrypt {
        return Ok(None);
    }
    let key = keys.find_for(path)?;
    store.refuse_during_runs(now)?;
    // By default, closing the store would delete the log before the code below could overwrite it.
    store.leave_log()?;
    drop(store);
    let source = Source::hold(path, keys)?;
    // A fixed name in the same folder makes the rename atomic and the file easy to find after a crash.
    let fresh = beside(path, ENDINGS[usize::from(!encrypt)]);
    let written = source.write_to(&fresh, encrypt.then_some(&key));
    if let Err(error) = written {
        // The partially written file may contain unencrypted memories.
        fs::remove_file(&fresh).ok();
        return Err(error);
    }
    // Until the rename, the old file is untouched, so a failure before this point loses no data.
    point("convert.written");
    source.replace_by(&fresh)?;
    if let Ok(mut opened) = OPENED.lock() {
        opened.remove(path);
    }
    let store = Store::open_with(path, keys)?;
    let memories = store.read(|conn| Ok(count(conn, "memories")?))?;
    Ok(Some(Conversion {
        path: path.to_owned(),
        bytes: fs::metadata(path).map_or(0, |data| data.len()),
        memories,
        key: key.place().to_string(),
        copies: store.backups()?,
    }))
}

/// The old file, which no other process has open.
struct Source<'a> {
    path: &'a Path,
    conn: Connection,
    /// The file and its write-ahead log, kept open so that they can be overwritten even when they no longer have a
    /// name. The handles are closed after the connection, because closing them earlier would release the connection's
    /// locks.
    old: Vec<fs::File>,
}

impl<'a> Source<'a> {
    fn hold(path: &'a Path, keys: &Keys) -> Result<Self, StoreError> {
        let conn = open(path, path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX, keys)?;
        let handle = |path: &Path| fs::OpenOptions::new().write(true).open(path);
        // Locking removes the log, so the log is opened first; afterwards, only this handle can overwrite the content
        // of the log.
        let log = handle(&with_suffix(path, "-wal")).ok();
        let mut source = Self { path, conn, old: log.into_iter().collect() };
        source.lock().map_err(|error| match error {
            StoreError::Sqlite(error) if is_busy(&error) => StoreError::InUse { path: path.to_owned() },
            error => error.at(path),
        })?;
        // The file is not opened earlier, because closing it would release the locks of another connection of this
        // process.
        source.old.push(handle(path).map_err(|source| unwritable(path, source))?);
        Ok(source)
    }

    /// Locks the file, because SQLite can leave write-ahead logging mode only while no other connection is open.
    fn lock(&self) -> Result<(), StoreError> {
        self.conn.busy_timeout(PATIENCE)?;
        self.conn.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA locking_mode = EXCLUSIVE;")?;
        let mode: String = self.conn.query_row("PRAGMA journal_mode = DELETE", (), |row| row.get(0))?;
        if mode != "delete" {
            return Err(StoreError::InUse { path: self.path.to_owned() });
        }
        // In exclusive mode the first write transaction takes the lock, which is then kept.
        self.conn.execute_batch("BEGIN EXCLUSIVE; COMMIT;")?;
        Ok(())
    }

    /// Writes the entire content to a new file, with or without a key, and verifies the new file.
    fn write_to(&self, fresh: &Path, key: Option<&Key>) -> Result<(), StoreError> {
        match fs::remove_file(fresh) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unwritable(fresh, error)),
            Ok(()) | Err(_) => create_private(fresh)?,
        }
        self.export(fresh, key).map_err(|error| error.at(fresh))?;
        point("convert.copied");
        let keys = Target(key);
        let written = keys.open(fresh)?;
        // The old file is overwritten afterwards, so the new file must be verified now.
        for check in
            [Some("PRAGMA integrity_check"), key.map(|_| "PRAGMA cipher_integrity_check")].into_iter().flatten()
        {
            let said: Vec<String> =
                query_all(&written, check, (), |row| row.get(0)).map_err(|error| error.at(fresh))?;
            if let Some(flaw) = said.into_iter().find(|line| line != "ok") {
                return Err(differs(fresh, &flaw));
            }
        }
        let (before, after) = (census(&self.conn)?, census(&written)?);
        drop(written);
        if before != after {
            return Err(differs(fresh, "its row counts or header fields differ"));
        }
        // The file is synced before the rename; otherwise, a power failure could leave an incomplete file with the
        // final name.
        fs::File::open(fresh).and_then(|file| file.sync_all()).map_err(|source| unwritable(fresh, source))
    }

    fn export(&self, fresh: &Path, key: Option<&Key>) -> Result<(), StoreError> {
        let conn = &self.conn;
        let secret = key.map_or("", |key| key.secret().expose_secret());
        conn.execute("ATTACH DATABASE ?1 AS fresh KEY ?2", [fresh.to_string_lossy().as_ref(), secret])?;
        conn.query_row("SELECT sqlcipher_export('fresh')", (), |_| Ok(()))?;
        // `sqlcipher_export` copies schema and rows, but not these fields of the header.
        for pragma in ["application_id", "user_version"] {
            let value: i64 = conn.query_row(&format!("PRAGMA main.{pragma}"), (), |row| row.get(0))?;
            conn.pragma_update(Some("fresh"), pragma, value)?;
        }
        Ok(conn.execute_batch("DETACH DATABASE fresh")?)
    }

    /// Replaces the old file with the new file, and overwrites the old file and its log.
    fn replace_by(self, fresh: &Path) -> Result<(), StoreError> {
        let failed = |source| unwritable(self.path, source);
        fs::rename(fresh, self.path).map_err(failed)?;
        // The rename must be on disk before the old content is destroyed.
        sync_folder(self.path).map_err(failed)?;
        point("convert.placed");
        for file in &self.old {
            overwrite(file).map_err(failed)?;
        }
        point("convert.wiped");
        // The order matters: a process that waits for the locks must find the old file overwritten.
        drop(self.conn);
        drop(self.old);
        Ok(())
    }
}

/// The key of the new file, which differs from the key of the old file.
struct Target<'a>(Option<&'a Key>);

impl Target<'_> {
    fn open(&self, path: &Path) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        open_with(path, path, flags, self.0).map_err(|error| error.at(path))
    }
}

/// Returns the number of rows in each table, and the other properties in which two files may differ.
fn census(conn: &Connection) -> Result<Vec<(String, i64)>, StoreError> {
    // Virtual tables have no pages; their content is in other tables, which are counted.
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    let mut counts = Vec::new();
    for table in query_all(conn, tables, (), |row| row.get::<_, String>(0))? {
        let sql = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
        counts.push((table, conn.query_row(&sql, (), |row| row.get(0))?));
    }
    for sql in ["PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema"] {
        counts.push((sql.to_owned(), conn.query_row(sql, (), |row| row.get(0))?));
    }
    Ok(counts)
}

/// Overwrites the content of a file with zeros, to its end.
fn overwrite(mut file: &fs::File) -> std::io::Result<()> {
    let zeros = vec![0; BLOCK];
    let mut left = file.metadata()?.len();
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&zeros[..part])?;
        left -= part as u64;
    }
    // If the zeros stayed in the system's cache, the old bytes would remain on the disk.
    file.sync_all()
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    with_suffix(path, &format!(".{ending}"))
}

fn differs(path: &Path, why: &str) -> StoreError {
    unwritable(path, std::io::Error::other(format!("the converted copy differs from the file: {why}")))
}

#[cfg(feature = "encryption")]
#[cfg(test)]
#[path = "cipher_tests.rs"]
mod tests;
