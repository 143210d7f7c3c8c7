//! Opening the file: its folder, its permissions, its settings, its schema.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::{M, Migrations};

use super::{Database, Store, StoreError};

/// How long an operation waits for another process to let go of the file.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(10);
/// Attempts at bringing the schema up to date while other processes may be at the same.
const MIGRATION_ATTEMPTS: u32 = 5;
/// Tells our files from those of other programs: `aftr` in ASCII.
const APPLICATION_ID: i64 = 0x6166_7472;
/// In order; a published one is never changed, only followed by another.
const MIGRATIONS: &[M<'_>] =
    &[M::up(include_str!("migrations/0001_memories.sql")), M::up(include_str!("migrations/0002_ledger.sql"))];

impl Store {
    /// Opens the memories at `path`, creating folder (0700) and file (0600) where they are missing.
    ///
    /// # Errors
    /// [`StoreError`], naming the file and what to do about it.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        create_private(path)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let open = || -> Result<Connection, StoreError> {
            let mut conn = Connection::open_with_flags(path, flags)?;
            conn.busy_timeout(BUSY_TIMEOUT)?;
            check_ours(&conn, path)?;
            configure(&conn)?;
            migrate(&mut conn, path)?;
            Ok(conn)
        };
        let conn = open().map_err(|error| error.at(path))?;
        Ok(Self { db: Database { conn, path: path.to_owned() } })
    }

    /// Opens the memories at `path` for reading; neither the file nor its folder needs to be writable.
    ///
    /// # Errors
    /// [`StoreError`], naming the file and what to do about it; [`StoreError::Missing`] where there is none.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        let path = path.as_ref();
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        let conn = connect_read_only(path).map_err(|error| error.at(path))?;
        Ok(Self { db: Database { conn, path: path.to_owned() } })
    }

    /// Returns an empty store that is gone when it is dropped.
    ///
    /// # Errors
    /// [`StoreError`] if SQLite has no memory left.
    pub fn in_memory() -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let mut conn = Connection::open_in_memory()?;
        configure(&conn)?;
        migrate(&mut conn, &path)?;
        Ok(Self { db: Database { conn, path } })
    }
}

/// Makes the file before SQLite does, so that it is private from its first byte; `-wal` and `-shm` take its mode.
fn create_private(path: &Path) -> Result<(), StoreError> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        let mut builder = fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(folder).map_err(|source| StoreError::Folder { path: folder.to_owned(), source })?;
    }
    let mut options = fs::OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let opened = options.open(path);
    opened.map_err(|source| StoreError::Unwritable { path: path.to_owned(), source: Box::new(source) }).map(drop)
}

/// Opens without writing. In a folder that cannot be written, the WAL index cannot be made; where no other process
/// has left one, the file is taken as it stands.
fn connect_read_only(path: &Path) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |conn: Connection| -> Result<Connection, StoreError> {
        conn.busy_timeout(BUSY_TIMEOUT)?;
        check_ours(&conn, path)?;
        conn.execute_batch("PRAGMA temp_store = MEMORY")?;
        let found = schema_version(&conn)?;
        if found > known_version() {
            return Err(StoreError::TooNew { path: path.to_owned(), found, known: known_version() });
        }
        Ok(conn)
    };
    match Connection::open_with_flags(path, flags).map_err(StoreError::from).and_then(open) {
        Err(StoreError::Sqlite(error)) if is_unopenable(&error) => {
            let uri = format!("file:{}?immutable=1", uri_path(path));
            open(Connection::open_with_flags(uri, flags | OpenFlags::SQLITE_OPEN_URI)?)
        }
        result => result,
    }
}

fn is_unopenable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly))
}

fn uri_path(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn configure(conn: &Connection) -> Result<(), StoreError> {
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;
         PRAGMA temp_store = MEMORY; PRAGMA secure_delete = FAST;",
    )?;
    conn.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Refuses a database that another program made, before anything in it is changed.
fn check_ours(conn: &Connection, path: &Path) -> Result<(), StoreError> {
    let used: bool = conn.query_row("SELECT EXISTS (SELECT 1 FROM sqlite_master)", (), |row| row.get(0))?;
    // Read second: another process that is making the file sets the id before the first table.
    let id: i64 = conn.query_row("PRAGMA application_id", (), |row| row.get(0))?;
    let ours = id == APPLICATION_ID || (id == 0 && !used);
    if ours { Ok(()) } else { Err(StoreError::NotADatabase { path: path.to_owned() }) }
}

fn known_version() -> i64 {
    i64::try_from(MIGRATIONS.len()).expect("a table of a few rows")
}

fn schema_version(conn: &Connection) -> Result<i64, StoreError> {
    Ok(conn.query_row("PRAGMA user_version", (), |row| row.get(0))?)
}

fn migrate(conn: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let known = known_version();
    let mut attempts = 0;
    loop {
        let found = schema_version(conn)?;
        if found > known {
            return Err(StoreError::TooNew { path: path.to_owned(), found, known });
        }
        if found == known {
            return Ok(());
        }
        // Set first: a file in which only this happened is still recognised as ours.
        let named = conn.pragma_update(None, "application_id", APPLICATION_ID).map_err(rusqlite_migration::Error::from);
        match named.and_then(|()| Migrations::from_slice(MIGRATIONS).to_latest(conn)) {
            Ok(()) => return Ok(()),
            // Another process may have done it meanwhile, in which case the version says so.
            Err(_) if attempts < MIGRATION_ATTEMPTS => std::thread::sleep(Duration::from_millis(20 << attempts)),
            Err(source) => return Err(StoreError::Migration { path: path.to_owned(), source }),
        }
        attempts += 1;
    }
}
