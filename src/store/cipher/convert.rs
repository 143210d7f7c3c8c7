//! Encrypting a file that lies open, and the way back: a new file is written and checked, and takes the place of the old one.
//!
//! Whenever the process ends, one of the two stands whole under the name. Nobody else has the file open meanwhile, and
//! who waits for it finds the old one overwritten, so that it cannot be taken for the new one.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::{Connection, ErrorCode, OpenFlags};
use secrecy::ExposeSecret as _;
use serde::Serialize;

use super::key::{Key, Keys};
use super::{CAN_ENCRYPT, OPENED, is_encrypted, open};
use crate::fault::point;
use crate::store::place::{create_private, refuse_folder};
use crate::store::{Store, StoreError};

/// How long it is waited for others to close the file.
const PATIENCE: Duration = Duration::from_secs(2);
/// What the new file is called behind the name of the old one until it takes its place.
const ENDINGS: [&str; 2] = ["encrypting", "decrypting"];
/// Bytes that are overwritten at a time.
const BLOCK: usize = 1 << 20;

/// What was done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Converted {
    /// The file.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    /// Memories in it, of every status.
    pub memories: usize,
    /// Where the key came from.
    pub key: String,
    /// Copies of the file that are known and still as they were: after encrypting, they can be read by whoever has them.
    pub copies: Vec<PathBuf>,
}

impl Store {
    /// Encrypts the file at `path` with the key in `key_file`, or else with the one that is found, and overwrites what lay
    /// open; `None` if it is encrypted already.
    ///
    /// # Errors
    /// [`StoreError::InUse`] while another process has the file open, [`StoreError::NoKey`] where there is no key; else
    /// [`StoreError`] if the file cannot be read or the new one not be written. The file is as it was, then.
    pub fn encrypt(path: &Path, key_file: Option<&Path>, now: Timestamp) -> Result<Option<Converted>, StoreError> {
        let keys = key_file.map_or(Keys::Outside, |path| Keys::File(path.to_owned()));
        convert(path, &keys, true, now)
    }

    /// Writes the file at `path` anew without encryption; `None` if it is not encrypted.
    ///
    /// # Errors
    /// As for [`Store::encrypt`].
    pub fn decrypt(path: &Path, now: Timestamp) -> Result<Option<Converted>, StoreError> {
        convert(path, &Keys::default(), false, now)
    }

    /// Returns what was left beside the file at `path` by a process that ended while it encrypted or decrypted.
    #[must_use]
    pub fn half_converted(path: &Path) -> Vec<PathBuf> {
        ENDINGS.iter().map(|ending| beside(path, ending)).filter(|path| path.exists()).collect()
    }
}

impl super::super::Database {
    /// Whether the file lies encrypted on the disk.
    ///
    /// # Errors
    /// [`StoreError`] if SQLite does not tell.
    pub fn is_encrypted(&self) -> Result<bool, StoreError> {
        is_encrypted(&self.conn)
    }
}

pub(super) fn convert(
    path: &Path,
    keys: &Keys,
    encrypt: bool,
    now: Timestamp,
) -> Result<Option<Converted>, StoreError> {
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
    if let Some(run) = store.runs(usize::MAX)?.into_iter().find(|run| run.is_alive(now)) {
        return Err(StoreError::RunInProgress { id: run.id.to_string() });
    }
    // Its log is overwritten below.
    store.leave_log()?;
    drop(store);
    let source = Source::hold(path, keys)?;
    let fresh = beside(path, ENDINGS[usize::from(!encrypt)]);
    let written = source.write_to(&fresh, encrypt.then_some(&key));
    if let Err(error) = written {
        fs::remove_file(&fresh).ok();
        return Err(error);
    }
    point("convert.written");
    source.replace_by(&fresh)?;
    if let Ok(mut opened) = OPENED.lock() {
        opened.remove(path);
    }
    let store = Store::open_with(path, keys)?;
    let memories = store.read(|conn| Ok(conn.query_row("SELECT count(*) FROM memories", (), |row| row.get(0))?))?;
    Ok(Some(Converted {
        path: path.to_owned(),
        bytes: fs::metadata(path).map_or(0, |data| data.len()),
        memories,
        key: key.place().to_string(),
        copies: store.backups()?,
    }))
}

/// The old file, which nobody else has open.
struct Source<'a> {
    path: &'a Path,
    conn: Connection,
    /// The file and its write-ahead log, by which they can still be overwritten when they have no name any more. They are
    /// closed after the connection, whose locks would go with them.
    old: Vec<fs::File>,
}

impl<'a> Source<'a> {
    fn hold(path: &'a Path, keys: &Keys) -> Result<Self, StoreError> {
        let conn = open(path, path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX, keys)?;
        let handle = |path: &Path| fs::OpenOptions::new().write(true).open(path);
        let log = handle(&beside_with(path, "-wal")).ok();
        let mut source = Self { path, conn, old: log.into_iter().collect() };
        source.lock().map_err(|error| match error {
            StoreError::Sqlite(error) if is_busy(&error) => StoreError::InUse { path: path.to_owned() },
            error => error.at(path),
        })?;
        // Only now: closing it would let go of the locks of another connection of this process.
        source.old.push(handle(path).map_err(|source| unwritable(path, source))?);
        Ok(source)
    }

    /// Leaving the write-ahead log is only possible for who has the file alone.
    fn lock(&self) -> Result<(), StoreError> {
        self.conn.busy_timeout(PATIENCE)?;
        self.conn.execute_batch("PRAGMA temp_store = MEMORY; PRAGMA locking_mode = EXCLUSIVE;")?;
        let mode: String = self.conn.query_row("PRAGMA journal_mode = DELETE", (), |row| row.get(0))?;
        if mode != "delete" {
            return Err(StoreError::InUse { path: self.path.to_owned() });
        }
        self.conn.execute_batch("BEGIN EXCLUSIVE; COMMIT;")?;
        Ok(())
    }

    /// Writes all of it into a new file, with `key` or without one, and makes sure that it is there.
    fn write_to(&self, fresh: &Path, key: Option<&Key>) -> Result<(), StoreError> {
        match fs::remove_file(fresh) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(unwritable(fresh, error)),
            Ok(()) | Err(_) => create_private(fresh)?,
        }
        self.export(fresh, key).map_err(|error| error.at(fresh))?;
        point("convert.copied");
        let keys = Target(key);
        let written = keys.open(fresh)?;
        for check in
            [Some("PRAGMA integrity_check"), key.map(|_| "PRAGMA cipher_integrity_check")].into_iter().flatten()
        {
            let said: Vec<String> = all(&written, check).map_err(|error| error.at(fresh))?;
            if let Some(flaw) = said.into_iter().find(|line| line != "ok") {
                return Err(differs(fresh, &flaw));
            }
        }
        let (before, after) = (census(&self.conn)?, census(&written)?);
        drop(written);
        if before != after {
            return Err(differs(fresh, "it does not hold as much"));
        }
        fs::File::open(fresh).and_then(|file| file.sync_all()).map_err(|source| unwritable(fresh, source))
    }

    fn export(&self, fresh: &Path, key: Option<&Key>) -> Result<(), StoreError> {
        let conn = &self.conn;
        let secret = key.map_or("", |key| key.secret().expose_secret());
        conn.execute("ATTACH DATABASE ?1 AS fresh KEY ?2", [fresh.to_string_lossy().as_ref(), secret])?;
        conn.query_row("SELECT sqlcipher_export('fresh')", (), |_| Ok(()))?;
        for pragma in ["application_id", "user_version"] {
            let value: i64 = conn.query_row(&format!("PRAGMA main.{pragma}"), (), |row| row.get(0))?;
            conn.pragma_update(Some("fresh"), pragma, value)?;
        }
        Ok(conn.execute_batch("DETACH DATABASE fresh")?)
    }

    /// Puts the new file in the place of the old one, and overwrites that and its log.
    fn replace_by(self, fresh: &Path) -> Result<(), StoreError> {
        let failed = |source| unwritable(self.path, source);
        fs::rename(fresh, self.path).map_err(failed)?;
        sync_folder(self.path).map_err(failed)?;
        point("convert.placed");
        for file in &self.old {
            overwrite(file).map_err(failed)?;
        }
        point("convert.wiped");
        // In this order: who waits for the locks must find the old file overwritten.
        drop(self.conn);
        drop(self.old);
        Ok(())
    }
}

/// The new file, whose key is not the one of the old file.
struct Target<'a>(Option<&'a Key>);

impl Target<'_> {
    fn open(&self, path: &Path) -> Result<Connection, StoreError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        super::open_with(path, path, flags, self.0).map_err(|error| error.at(path))
    }
}

/// Returns how many rows there are in each table, and what else tells two files apart.
fn census(conn: &Connection) -> Result<Vec<(String, i64)>, StoreError> {
    let tables = "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 ORDER BY name";
    let mut counts = Vec::new();
    for table in all::<String>(conn, tables)? {
        let sql = format!("SELECT count(*) FROM \"{}\"", table.replace('"', "\"\""));
        counts.push((table, conn.query_row(&sql, (), |row| row.get(0))?));
    }
    for sql in ["PRAGMA application_id", "PRAGMA user_version", "SELECT count(*) FROM sqlite_schema"] {
        counts.push((sql.to_owned(), conn.query_row(sql, (), |row| row.get(0))?));
    }
    Ok(counts)
}

fn all<T: rusqlite::types::FromSql>(conn: &Connection, sql: &str) -> Result<Vec<T>, StoreError> {
    let mut statement = conn.prepare(sql)?;
    Ok(statement.query_map((), |row| row.get(0))?.collect::<Result<_, _>>()?)
}

/// Overwrites what is in a file with zeros, to its end.
fn overwrite(mut file: &fs::File) -> std::io::Result<()> {
    let zeros = vec![0; BLOCK];
    let mut left = file.metadata()?.len();
    while left > 0 {
        let part = usize::try_from(left).unwrap_or(BLOCK).min(BLOCK);
        file.write_all(&zeros[..part])?;
        left -= part as u64;
    }
    file.sync_all()
}

/// Makes sure that a name that was given outlives a failure of power.
pub(super) fn sync_folder(path: &Path) -> std::io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    if cfg!(unix) { fs::File::open(folder)?.sync_all() } else { Ok(()) }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    beside_with(path, &format!(".{ending}"))
}

fn beside_with(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

pub(super) fn unwritable(path: &Path, source: std::io::Error) -> StoreError {
    StoreError::Unwritable { path: path.to_owned(), source: Box::new(source) }
}

fn differs(path: &Path, why: &str) -> StoreError {
    unwritable(path, std::io::Error::other(format!("what was written differs from the file: {why}")))
}
