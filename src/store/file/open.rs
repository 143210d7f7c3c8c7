//! Opens the file: creates the file and its folder with private permissions, and applies settings and migrations.

use std::path::{Path, PathBuf};
use std::time::Instant;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use rusqlite_migration::Migrations;

use super::cipher;
use super::keys::{Key, Keys};
use super::path::{create_private, refuse_folder, with_suffix};
use super::schema::{
    APPLICATION_ID, BUSY_TIMEOUT, MIGRATIONS, configure, known_version, prepare_once, schema_version, unmigrated,
};
use super::{RETRY_PAUSE, backup, copy_pages, enlarge_cache};
use crate::fault::point;
use crate::private;
use crate::store::{Database, Store, StoreError};

/// Number of pages above which a file counts as large.
// 16 MB at SQLite's usual page size: a smaller file hardly benefits from the larger cache.
const ROOM_IN_PAGES: i64 = 4_096;

impl Store {
    /// Opens the memories at `path`, creating the folder (0700) and the file (0600) if they are missing.
    ///
    /// # Errors
    /// [`StoreError`], whose message contains the file and the remedy.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_with(path.as_ref(), &Keys::default())
    }

    pub(in crate::store) fn open_with(path: &Path, keys: &Keys) -> Result<Self, StoreError> {
        // A folder is refused first, because `create_private` would accept it as an existing file.
        refuse_folder(path)?;
        create_private(path)?;
        let begun = Instant::now();
        loop {
            match connect(path, keys).map_err(|error| error.at(path)) {
                Ok(conn) => {
                    close_to_others(path);
                    return Ok(Self { db: Database::new(conn, path.to_owned(), keys.clone()) });
                }
                // The busy timeout does not cover the switch to WAL, and two processes may migrate one file at the same
                // time.
                Err(StoreError::Locked { .. } | StoreError::Migration { .. }) if begun.elapsed() < BUSY_TIMEOUT => {
                    std::thread::sleep(RETRY_PAUSE);
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Opens the memories at `path` for reading; neither the file nor its folder needs to be writable.
    ///
    /// # Errors
    /// [`StoreError`], whose message contains the file and the remedy; [`StoreError::Missing`] if the file does not
    /// exist.
    pub fn open_read_only(path: impl AsRef<Path>) -> Result<Self, StoreError> {
        Self::open_read_only_with(path.as_ref(), &Keys::default())
    }

    pub(in crate::store) fn open_read_only_with(path: &Path, keys: &Keys) -> Result<Self, StoreError> {
        // SQLite would report only that it cannot open the file, but a new user needs to know how to create it.
        if !path.exists() {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        refuse_folder(path)?;
        let read = || -> Result<Self, StoreError> {
            let conn = connect_read_only(path, keys).map_err(|error| error.at(path))?;
            Ok(Self { db: Database::new(conn, path.to_owned(), keys.clone()) })
        };
        let store = read()?;
        let version = schema_version(&store.conn).map_err(|error| error.at(path))?;
        if (0..known_version()).contains(&version) {
            // An empty or older file is migrated if it is writable; otherwise, a migrated copy is read.
            return if connect(path, keys).is_ok() { read() } else { store.copy_to_read(path) };
        }
        Ok(store)
    }

    /// Returns a copy in memory that rejects writes, because writes would be lost with the copy; errors contain `path`.
    fn copy_to_read(&self, path: &Path) -> Result<Self, StoreError> {
        let mut copy = self.copy_in_memory()?;
        copy.db.conn.pragma_update(None, "query_only", true)?;
        path.clone_into(&mut copy.db.path);
        Ok(copy)
    }

    /// Returns an empty in-memory store, whose content is lost when it is dropped.
    ///
    /// # Errors
    /// [`StoreError`] if SQLite cannot allocate memory.
    pub fn in_memory() -> Result<Self, StoreError> {
        Self::in_memory_with(None)
    }

    /// With a key, pages have the format of an encrypted file, so that pages can be copied from an encrypted file.
    fn in_memory_with(key: Option<&Key>) -> Result<Self, StoreError> {
        let path = PathBuf::from(":memory:");
        let mut conn = Connection::open_in_memory()?;
        key.map_or(Ok(()), |key| cipher::unlock(&conn, key))?;
        configure(&conn)?;
        // No keys are needed: they are used only for the copy before a migration, and an in-memory store never makes
        // one.
        migrate(&mut conn, &path, &Keys::default())?;
        Ok(Self { db: Database::new(conn, path, Keys::default()) })
    }

    /// Returns an in-memory copy of the current content.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn copy_in_memory(&self) -> Result<Self, StoreError> {
        let key = if cipher::is_encrypted(&self.conn)? { self.keys.find()? } else { None };
        let mut copy = Self::in_memory_with(key.as_ref())?;
        copy_pages(&self.db.conn, &mut copy.db.conn).map_err(|error| StoreError::from(error).at(&self.db.path))?;
        // The file may be from an earlier version and open for reading only.
        migrate(&mut copy.db.conn, &self.db.path, &self.keys)?;
        copy.set_guard(self.guard());
        Ok(copy)
    }
}

impl Store {
    /// Prevents this connection from writing the log back to the file if it is the last connection to close. This is
    /// intended for records whose last entries may be lost in a power failure; the next connection that closes writes
    /// them to the file.
    ///
    /// # Errors
    /// [`StoreError`] if SQLite rejects the setting.
    pub(crate) fn leave_log(&self) -> Result<(), StoreError> {
        self.db.conn.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
        Ok(())
    }
}

impl Database {
    /// Returns the path of the file; `None` for an in-memory store.
    pub(crate) fn file(&self) -> Option<&Path> {
        // SQLite reserves this name, so no file with this name can be opened.
        (self.path != Path::new(":memory:")).then_some(&*self.path)
    }

    /// Returns whether the file was opened for reading only.
    pub(crate) fn is_read_only(&self) -> bool {
        let is_kept_from_writing = self.conn.pragma_query_value(None, "query_only", |row| row.get(0)).unwrap_or(false);
        is_kept_from_writing || self.conn.is_readonly("main").unwrap_or(true)
    }
}

/// Makes the file and its log private, since a file that another program created may have any mode. A file that belongs
/// to another user stays as it is, and `status --check` reports it.
fn close_to_others(path: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        private::close_to_others(&with_suffix(path, suffix)).ok();
    }
}

pub(in crate::store) fn connect(path: &Path, keys: &Keys) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut conn = cipher::open(path, path, flags, keys)?;
    // SQLite silently opens a file without write permission as read-only, even if read-write access was requested.
    if conn.is_readonly("main")? {
        let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
        return Err(StoreError::Unwritable { path: path.to_owned(), source: Box::new(source) });
    }
    // The settings are applied before the migration, so that it runs in WAL mode and enforces foreign keys.
    configure(&conn)?;
    migrate(&mut conn, path, keys)?;
    let pages: i64 = conn.query_row("PRAGMA page_count", (), |row| row.get(0))?;
    if pages > ROOM_IN_PAGES {
        enlarge_cache(&conn)?;
    }
    Ok(conn)
}

/// Opens the file without writing. If the folder is not writable, the WAL index cannot be created. Unless another
/// process has left an index behind, the file is then read without its log.
pub(in crate::store) fn connect_read_only(path: &Path, keys: &Keys) -> Result<Connection, StoreError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let open = |name: &Path, flags: OpenFlags| -> Result<Connection, StoreError> {
        // The call also checks that this program created the file, before `configure` changes its journal mode.
        let conn = cipher::open(name, path, flags, keys)?;
        conn.execute_batch("PRAGMA temp_store = MEMORY")?;
        enlarge_cache(&conn)?;
        prepare_once(&conn)?;
        // The tables of a newer version may differ in any way, so not even reading them is safe.
        let found = schema_version(&conn)?;
        if found > known_version() {
            return Err(StoreError::TooNew { path: path.to_owned(), found, known: known_version() });
        }
        Ok(conn)
    };
    match open(path, flags) {
        Err(StoreError::Sqlite(error)) if is_unopenable(&error) => {
            // With `immutable`, SQLite assumes that no process writes, so it needs neither locks nor the `-shm` file.
            let uri = format!("file:{}?immutable=1", uri_path(path));
            open(Path::new(&uri), flags | OpenFlags::SQLITE_OPEN_URI)
        }
        result => result,
    }
}

fn is_unopenable(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(rusqlite::ErrorCode::CannotOpen | rusqlite::ErrorCode::ReadOnly))
}

fn uri_path(path: &Path) -> String {
    // The percent sign is escaped first, because the other two replacements insert percent signs.
    path.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23")
}

fn migrate(conn: &mut Connection, path: &Path, keys: &Keys) -> Result<(), StoreError> {
    let (known, found) = (known_version(), schema_version(conn)?);
    if found > known {
        return Err(StoreError::TooNew { path: path.to_owned(), found, known });
    }
    if found == known {
        return Ok(());
    }
    // A new file has no data to lose, and an in-memory store has no path next to which a copy could be written.
    if found > 0 && conn.path().is_some_and(|name| !name.is_empty()) {
        backup::before_migration(conn, path, keys, found)?;
    }
    // The id is set first: if the process ends after this step, the file is still recognised as a file of this program.
    conn.pragma_update(None, "application_id", APPLICATION_ID)?;
    point("migrate.begin");
    let migrated = Migrations::from_slice(&MIGRATIONS).to_latest(conn);
    migrated.map_err(|source| unmigrated(path, source))?;
    // A migration may remove text, and no copy of this text may remain. If another process is reading, `maintain` does
    // it later.
    conn.query_row("PRAGMA wal_checkpoint(TRUNCATE)", (), |_| Ok(()))?;
    point("migrate.done");
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use super::*;
    use crate::store::Filter;
    use crate::store::testing::{clean, day, insert, memory, write};

    fn place() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/er/memories.db");
        (folder, path)
    }

    fn message(error: &StoreError, path: &Path) -> String {
        error.to_string().replace(&path.display().to_string(), "FILE")
    }

    #[test]
    fn migrations_apply_and_a_second_opening_changes_nothing() {
        Migrations::from_slice(&MIGRATIONS).validate().unwrap();
        let (_folder, path) = place();
        insert(&Store::open(&path).unwrap(), &memory("Tea", "The user drinks tea."));
        let store = Store::open(&path).unwrap();
        assert_eq!(store.count(&Filter::default()).unwrap(), 1);
        assert_eq!(schema_version(&store.conn).unwrap(), known_version());
    }

    #[cfg(unix)]
    #[test]
    fn folder_and_files_are_private() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, path) = place();
        let store = Store::open(&path).unwrap();
        insert(&store, &memory("Tea", "The user drinks tea."));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(path.parent().unwrap()), 0o700);
        assert_eq!(mode(path.parent().unwrap().parent().unwrap()), 0o700);
        for suffix in ["", "-wal", "-shm"] {
            let file = PathBuf::from(format!("{}{suffix}", path.display()));
            assert_eq!(mode(&file), 0o600, "{}", file.display());
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_file_that_others_could_read_becomes_private_when_it_is_opened() {
        use std::os::unix::fs::PermissionsExt as _;
        let (_folder, path) = place();
        drop(Store::open(&path).unwrap());
        for mode in [0o644, 0o660, 0o666] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let store = Store::open(&path).unwrap();
            insert(&store, &memory("Tea", &format!("The user drinks tea number {mode}.")));
            for suffix in ["", "-wal", "-shm"] {
                let file = with_suffix(&path, suffix);
                assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600, "{}", file.display());
            }
        }
    }

    #[test]
    fn settings_hold_on_every_connection() {
        let (_folder, path) = place();
        let store = Store::open(&path).unwrap();
        let pragma =
            |name: &str| store.conn.query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, i64>(0)).unwrap();
        let found = ["foreign_keys", "synchronous", "temp_store", "secure_delete", "busy_timeout"].map(pragma);
        assert_eq!(found, [1, 1, 2, 2, 10_000]);
        let mode: String = store.conn.query_row("PRAGMA journal_mode", (), |row| row.get(0)).unwrap();
        assert_eq!(mode, "wal");
    }

    #[test]
    fn a_file_that_is_no_database_is_named_and_left_alone() {
        let (_folder, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let text = "Dear diary, ".repeat(1000);
        fs::write(&path, &text).unwrap();
        let expected = "FILE is not a memory database; choose another file with --db, or move it away";
        assert_eq!(message(&Store::open(&path).unwrap_err(), &path), expected);
        assert_eq!(message(&Store::open_read_only(&path).unwrap_err(), &path), expected);
        assert_eq!(fs::read_to_string(&path).unwrap(), text);
    }

    #[test]
    fn a_database_of_another_program_is_left_alone() {
        let (_folder, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let other = Connection::open(&path).unwrap();
        other.execute_batch("CREATE TABLE bookmarks (url TEXT)").unwrap();
        let error = Store::open(&path).unwrap_err();
        assert!(matches!(error, StoreError::NotADatabase { .. }), "{error:?}");
        assert_eq!(schema_version(&other).unwrap(), 0);
    }

    #[test]
    fn a_damaged_file_is_an_error_with_a_remedy() {
        let (_folder, path) = place();
        let store = Store::open(&path).unwrap();
        for number in 0..200 {
            insert(&store, &memory("Tea", &format!("The user drinks tea number {number}.")));
        }
        store.optimise().unwrap();
        drop(store);
        let mut bytes = fs::read(&path).unwrap();
        bytes[4096..].fill(0x5a);
        fs::write(&path, bytes).unwrap();
        let read = |store: Store| store.list(&Filter::default(), crate::store::Order::Id, 500, 0).map(drop);
        let error = Store::open(&path).and_then(read).unwrap_err();
        let expected = "FILE is damaged; recover the readable part with `afterthought db repair`, or restore a backup";
        assert_eq!(message(&error, &path), expected);
    }

    #[test]
    fn a_newer_file_is_an_error_with_a_remedy() {
        let (_folder, path) = place();
        Store::open(&path).unwrap().conn.pragma_update(None, "user_version", 99).unwrap();
        let expected = format!(
            "FILE has schema 99, but this version supports only schemas up to {}; update afterthought, or choose another file with --db",
            known_version()
        );
        assert_eq!(message(&Store::open(&path).unwrap_err(), &path), expected);
        assert_eq!(message(&Store::open_read_only(&path).unwrap_err(), &path), expected);
    }

    #[test]
    fn a_place_that_cannot_be_made_is_an_error_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Store::open(file.join("sub/memories.db")).unwrap_err();
        assert!(matches!(&error, StoreError::Folder { path, .. } if *path == file.join("sub")), "{error:?}");
        for opened in [Store::open(folder.path()), Store::open_read_only(folder.path())] {
            let error = opened.map(drop).unwrap_err();
            assert!(matches!(&error, StoreError::IsFolder { path } if path == folder.path()), "{error:?}");
        }
        let error = Store::open_read_only(folder.path().join("none.db")).unwrap_err();
        assert!(matches!(error, StoreError::Missing { .. }), "{error:?}");
    }

    #[test]
    fn a_file_without_its_wal_is_read_without_being_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("odd ?#% name.db");
        let tea = memory("Tea", "The user drinks tea.");
        insert(&Store::open(&path).unwrap(), &tea);
        let store = Store::open_read_only(&path).unwrap();
        assert_eq!(store.memory(&tea.id).unwrap(), tea);
        assert_eq!(store.search_candidates("tea", &Filter::default(), 5).unwrap().len(), 1);
        assert!(!store.record_use(std::slice::from_ref(&tea.id), day(0)));
        let error = store
            .write(None, day(0), |w| w.insert(&clean(memory("Milk", "No milk.")), &clean(Vec::new())))
            .unwrap_err();
        assert!(matches!(error, StoreError::Unwritable { .. }), "{error:?}");
        let uri = format!("file:{}?immutable=1", uri_path(&path));
        let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
        let found: i64 = cipher::open(Path::new(&uri), &path, flags, &Keys::default())
            .unwrap()
            .query_row("SELECT count(*) FROM memories", (), |row| row.get(0))
            .unwrap();
        assert_eq!(found, 1, "the way that serves where the folder cannot be written");
    }

    #[test]
    fn a_copy_that_is_only_read_takes_no_write_that_would_be_lost_with_it() {
        let (_folder, path) = place();
        let store = Store::open(&path).unwrap();
        let tea = memory("Tea", "The user drinks tea.");
        insert(&store, &tea);
        let copy = store.copy_to_read(&path).unwrap();
        assert_eq!(copy.memory(&tea.id).unwrap(), tea);
        let error =
            copy.write(None, day(0), |w| w.insert(&clean(memory("Milk", "No milk.")), &clean(Vec::new()))).unwrap_err();
        assert!(matches!(&error, StoreError::Unwritable { path: named, .. } if *named == path), "{error:?}");
        assert!(copy.is_read_only() && !store.is_read_only());
    }

    #[test]
    fn an_empty_file_becomes_a_store() {
        let (_folder, path) = place();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "").unwrap();
        let store = Store::open(&path).unwrap();
        write(&store, |w| w.revision(&crate::store::testing::shop()));
    }

    #[test]
    fn many_can_open_a_new_file_at_once() {
        let (_folder, path) = place();
        let opened: Vec<_> = std::thread::scope(|scope| {
            let opening: Vec<_> = (0..8).map(|_| scope.spawn(|| Store::open(&path).map(drop))).collect();
            opening.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for result in opened {
            result.unwrap();
        }
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, [path], "nothing else is left behind");
    }

    #[test]
    fn a_locked_file_is_an_error_with_a_remedy() {
        let (_folder, path) = place();
        let (one, other) = (Store::open(&path).unwrap(), Store::open(&path).unwrap());
        other.conn.busy_timeout(Duration::from_millis(10)).unwrap();
        let error = one
            .write::<_, StoreError>(None, day(0), |_| {
                Ok(other.write(None, day(0), |w| w.revision(&crate::store::testing::shop())).unwrap_err())
            })
            .unwrap();
        assert_eq!(message(&error, &path), "FILE is locked by another process; try again when it has finished");
    }
}
