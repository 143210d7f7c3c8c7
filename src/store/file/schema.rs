//! The schema of the file: its migrations, its version, and the settings of every connection.

use std::path::Path;
use std::sync::LazyLock;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, Transaction};
use rusqlite_migration::{HookError, M, Migrations};

use crate::fault::point;
use crate::store::StoreError;
use crate::store::index::near::fill_near;
use crate::store::index::words::{fill as fill_words, fill_letters, fill_parts};
use crate::store::tasks::{fill_programs, forget_names};

/// Maximum time for which an operation waits for another process to release its lock on the file.
pub(in crate::store) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of prepared statements to keep; a search by words and by meaning uses about twenty.
// With the default of 16, statements would be evicted and prepared again within a single search.
const STATEMENTS: usize = 64;
/// The application id of this program's files: `aftr` in ASCII.
pub(in crate::store) const APPLICATION_ID: i64 = 0x6166_7472;
/// The migrations, in order. A published migration is never changed; a new migration is added instead. Each migration
/// is one transaction.
pub(super) static MIGRATIONS: LazyLock<Vec<M<'_>>> = LazyLock::new(|| {
    vec![
        step(include_str!("../migrations/0001_memories.sql")),
        step(include_str!("../migrations/0002_ledger.sql")),
        step(include_str!("../migrations/0003_files.sql")),
        step(include_str!("../migrations/0004_projects.sql")),
        step(include_str!("../migrations/0005_known_context.sql")),
        step(include_str!("../migrations/0006_packs.sql")),
        step(include_str!("../migrations/0007_batches.sql")),
        step(include_str!("../migrations/0008_lacking.sql")),
        step(include_str!("../migrations/0009_settled.sql")),
        step(include_str!("../migrations/0010_identity.sql")),
        filled(include_str!("../migrations/0011_near.sql"), |file| Ok(fill_near(file)?)),
        step(include_str!("../migrations/0012_passes.sql")),
        filled(include_str!("../migrations/0013_search.sql"), fill_words),
        step(include_str!("../migrations/0014_vectors.sql")),
        step(include_str!("../migrations/0015_lifecycle.sql")),
        step(include_str!("../migrations/0016_jobs.sql")),
        step(include_str!("../migrations/0017_trust.sql")),
        step(include_str!("../migrations/0018_changesets.sql")),
        step(include_str!("../migrations/0019_requests.sql")),
        step(include_str!("../migrations/0020_tasks.sql")),
        step(include_str!("../migrations/0021_failed_commands.sql")),
        step(include_str!("../migrations/0022_advice.sql")),
        step(include_str!("../migrations/0023_brief.sql")),
        step(include_str!("../migrations/0024_pages.sql")),
        step(include_str!("../migrations/0025_user.sql")),
        step(include_str!("../migrations/0026_counts.sql")),
        step(include_str!("../migrations/0027_sync.sql")),
        filled(include_str!("../migrations/0028_parts.sql"), fill_parts),
        step(include_str!("../migrations/0029_sources.sql")),
        step(include_str!("../migrations/0030_sync_automatic.sql")),
        filled(include_str!("../migrations/0031_programs.sql"), fill_programs),
        filled(include_str!("../migrations/0032_names.sql"), forget_names),
        filled(include_str!("../migrations/0033_letters.sql"), fill_letters),
        step(include_str!("../migrations/0034_open_work.sql")),
        step(include_str!("../migrations/0035_sync_key.sql")),
        step(include_str!("../migrations/0036_teams.sql")),
        step(include_str!("../migrations/0037_lists.sql")),
    ]
});

/// A migration that consists only of SQL statements.
fn step(sql: &'static str) -> M<'static> {
    filled(sql, |_| Ok(()))
}

/// A step of the schema after which `fill` writes rows.
fn filled(sql: &'static str, fill: fn(&Transaction<'_>) -> Result<(), StoreError>) -> M<'static> {
    M::up_with_hook(sql, move |file: &Transaction<'_>| {
        point("migrate.step");
        fill(file).map_err(|error| match error {
            StoreError::Sqlite(error) => HookError::RusqliteError(error),
            error => HookError::Hook(error.to_string()),
        })
    })
}

pub(super) fn configure(conn: &Connection) -> Result<(), StoreError> {
    conn.execute_batch(
        // WAL lets readers continue during a write. With NORMAL, a power failure may undo only the last commits.
        // Enforcement of foreign keys is set for each connection, not for the file. FAST overwrites deleted content
        // only if that costs no extra I/O; `erase` sets it to ON for its own writes.
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST;",
    )?;
    prepare_once(conn)?;
    Ok(())
}

/// Prevents SQLite from preparing statements again when other values are bound. By default, SQLite compares bound
/// values with the expressions of indexes, and plans such statements again for each value.
pub(super) fn prepare_once(conn: &Connection) -> Result<(), StoreError> {
    conn.set_prepared_statement_cache_capacity(STATEMENTS);
    conn.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    Ok(())
}

/// Rejects a database of another program, before anything in it is changed.
pub(in crate::store) fn check_ours(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    // An empty database has no id yet; only a database without tables may become a memory database.
    let used: bool = conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master)", (), |row| row.get(0))?;
    // The id is read last, because a process that creates the file sets the id before it creates the first table.
    let id: i64 = conn.query_row("PRAGMA application_id", (), |row| row.get(0))?;
    let ours = id == APPLICATION_ID || (id == 0 && !used);
    if ours { Ok(()) } else { Err(StoreError::NotADatabase { path: path.to_owned() }) }
}

pub(in crate::store) fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("there are only a few migrations")
}

pub(in crate::store) fn schema_version(conn: &Connection) -> Result<i64, StoreError> {
    // The migration library counts applied migrations here, so the number of migrations is the version.
    Ok(conn.query_row("PRAGMA user_version", (), |row| row.get(0))?)
}

/// Returns the cause of a failed migration, because a full disk or damaged pages are not errors of the schema.
pub(super) fn unmigrated(path: &Path, source: rusqlite_migration::Error) -> StoreError {
    match source {
        rusqlite_migration::Error::RusqliteError { query, err } => match StoreError::from(err).at(path) {
            StoreError::Sqlite(err) => {
                let source = rusqlite_migration::Error::RusqliteError { query, err };
                StoreError::Migration { path: path.to_owned(), source }
            }
            // Another process may be migrating the file as well; the caller that opens the file tries again.
            named => named,
        },
        source => StoreError::Migration { path: path.to_owned(), source },
    }
}

/// Creates the schema of this version in a file with an earlier schema or none, without making a copy.
pub(in crate::store) fn make_version(conn: &mut Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    configure(conn)?;
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    // Callers pass a version within the known range, so the fallback is never used.
    let version = usize::try_from(version).unwrap_or_default();
    let made = Migrations::from_slice(&MIGRATIONS).to_version(conn, version);
    made.map_err(|source| unmigrated(path, source))
}

/// Returns the number of schema versions.
#[cfg(test)]
pub(in crate::store) fn versions() -> usize {
    MIGRATIONS.len()
}

/// Creates a file with only the first `version` migrations, as an earlier version of the program would have done.
#[cfg(test)]
pub(in crate::store) fn of_version(path: &Path, version: usize) -> Connection {
    let mut conn = Connection::open(path).unwrap();
    make_version(&mut conn, path, i64::try_from(version).unwrap()).unwrap();
    conn
}
