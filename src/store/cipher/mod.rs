//! Files that are encrypted at rest: telling them from others, and opening them with their key.
//!
//! With the feature `encryption` the file is read and written through `SQLCipher`, page by page, its write-ahead log and
//! all copies with it. Without it, such a file is refused by name. A file that is not encrypted is opened as ever by both.

mod convert;
mod key;
mod new_key;
#[cfg(feature = "encryption")]
#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags, OptionalExtension as _};
use secrecy::ExposeSecret as _;

pub use convert::Converted;
pub use key::KeyPlace;
pub(super) use key::{Key, Keys};
pub use new_key::KeyHome;

use super::StoreError;
use super::open::{BUSY_TIMEOUT, check_ours};

/// Whether this build can encrypt.
pub const CAN_ENCRYPT: bool = cfg!(feature = "encryption");
/// Bytes of a page, of which an encrypted file has a whole number.
const PAGE: usize = 4_096;
/// With what a file begins that is not encrypted.
const MAGIC: &[u8] = b"SQLite format 3\0";
/// Least entropy of what looks random, in bits of a byte: a page of ours has more than 7.9, texts have less than 6.
const RANDOM: f64 = 7.5;

/// Files that this process has opened with a key. They are not looked into again: closing a file lets go of all locks
/// that other connections of the process hold on it.
static OPENED: LazyLock<Mutex<HashSet<PathBuf>>> = LazyLock::new(Mutex::default);

/// Opens the file at `path` by the name `name`, which may be a URI, with the key that it needs, and makes sure that it is ours.
///
/// A new file is encrypted where a key is given. Nothing is written, whether a key fits or not.
pub(super) fn open(name: &Path, path: &Path, flags: OpenFlags, keys: &Keys) -> Result<Connection, StoreError> {
    let is_new = fs::metadata(path).is_ok_and(|data| data.len() == 0);
    let given = if is_new { keys.given()? } else { None };
    if let Some(key) = given.as_ref().filter(|_| !CAN_ENCRYPT) {
        return Err(StoreError::CannotEncrypt { path: path.to_owned(), place: key.place().clone() });
    }
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
    // It may have been decrypted meanwhile.
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
    // Who cannot read a file must not write its log back either.
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    if let Some(key) = key {
        unlock(&conn, key)?;
    }
    check_ours(&conn, path)?;
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, false)?;
    if key.is_some()
        && let Ok(mut opened) = OPENED.lock()
    {
        opened.insert(path.to_owned());
    }
    Ok(conn)
}

/// Gives a connection its key, before anything is read through it.
pub(super) fn unlock(conn: &Connection, key: &Key) -> Result<(), StoreError> {
    // It would tell of pages that it cannot read on standard error, beside the error that it returns.
    conn.pragma_update(None, "cipher_log_level", "NONE")?;
    conn.pragma_update(None, "key", key.secret().expose_secret())?;
    Ok(())
}

/// Whether what is read through `conn` lies encrypted on the disk.
pub(super) fn is_encrypted(conn: &Connection) -> Result<bool, StoreError> {
    if !CAN_ENCRYPT {
        return Ok(false);
    }
    let salt: Option<String> = conn.query_row("PRAGMA cipher_salt", (), |row| row.get(0)).optional()?;
    Ok(salt.is_some_and(|salt| !salt.is_empty()))
}

fn is_unreadable(error: &rusqlite::Error) -> bool {
    error.sqlite_error_code() == Some(ErrorCode::NotADatabase)
}

/// Whether a file that cannot be read without a key is one of random bytes, a whole number of pages of them.
fn looks_encrypted(path: &Path) -> bool {
    if OPENED.lock().is_ok_and(|opened| opened.contains(path)) {
        return true;
    }
    let Ok(mut file) = fs::File::open(path) else { return false };
    let mut page = vec![0; PAGE];
    let is_whole = file.metadata().is_ok_and(|data| data.len() > 0 && data.len() % PAGE as u64 == 0);
    is_whole && file.read_exact(&mut page).is_ok() && !page.starts_with(MAGIC) && entropy(&page) > RANDOM
}

/// Returns the entropy of the bytes, in bits of a byte.
fn entropy(bytes: &[u8]) -> f64 {
    let mut counts = [0_u32; 256];
    for byte in bytes {
        counts[usize::from(*byte)] += 1;
    }
    let all = f64::from(u32::try_from(bytes.len()).unwrap_or(u32::MAX));
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / all);
    shares.map(|share| -share * share.log2()).sum()
}
