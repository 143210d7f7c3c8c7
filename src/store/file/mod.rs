//! The database file: opening, migrations, copies, encryption, checks, repair and erasure.

pub(in crate::store) mod backup;
pub(in crate::store) mod check;
pub(in crate::store) mod cipher;
pub(in crate::store) mod erase;
pub(in crate::store) mod keys;
mod open;
pub(in crate::store) mod path;
mod recorded;
pub(in crate::store) mod repair;
mod restored;
pub(in crate::store) mod schema;
pub(in crate::store) mod scope;
pub(in crate::store) mod seal;
mod table_copy;

use std::time::Duration;

use rusqlite::Connection;
use rusqlite::backup::Backup;

use super::StoreError;

/// Pause between two attempts to use a file that another process is creating or has locked.
// The pause is too short for a person to notice, but prevents a busy loop while the other process finishes.
const RETRY_PAUSE: Duration = Duration::from_millis(20);

/// Enlarges SQLite's cache, which is 2 MB by default, so that it can contain the pages that searches and large writes
/// read.
pub(in crate::store) fn enlarge_cache(conn: &Connection) -> Result<(), StoreError> {
    Ok(conn.execute_batch("PRAGMA cache_size = -65536")?)
}

/// Copies all pages of a database to another in one step, so that no process writes in between or sees a mixture.
fn copy_pages(from: &Connection, to: &mut Connection) -> rusqlite::Result<()> {
    Backup::new(from, to)?.run_to_completion(i32::MAX, RETRY_PAUSE, None)
}
