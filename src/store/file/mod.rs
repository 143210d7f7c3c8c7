//! The database file: opening, migrations, copies, encryption, checks, repair and erasure.

pub(in crate::store) mod backup;
pub(in crate::store) mod check;
pub(in crate::store) mod cipher;
pub(in crate::store) mod erase;
pub(in crate::store) mod keys;
mod open;
pub(in crate::store) mod path;
pub(in crate::store) mod repair;
pub(in crate::store) mod schema;

use rusqlite::Connection;

use super::StoreError;

/// Enlarges SQLite's cache, which is 2 MB by default, so that it can contain the pages that searches and large writes
/// read.
pub(in crate::store) fn enlarge_cache(conn: &Connection) -> Result<(), StoreError> {
    Ok(conn.execute_batch("PRAGMA cache_size = -65536")?)
}
