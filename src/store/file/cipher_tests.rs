use std::collections::BTreeMap;

use super::*;
use crate::store::file::schema::{known_version, of_version, schema_version};
use crate::store::testing::{day, insert, memory};
use crate::store::{Filter, Order};
use crate::store::{KeyHome, KeyPlace};

const PHRASE: &str = "zanzibar quixotic marmalade";
const HEX: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

fn key(text: &str) -> Keys {
    Keys::Only(Some(Key::new(text, KeyPlace::Environment).unwrap()))
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    (folder, path)
}

/// Creates an unencrypted file with a memory that contains the phrase.
fn plain() -> (tempfile::TempDir, PathBuf) {
    let (folder, path) = place();
    let store = Store::open_with(&path, &Keys::Only(None)).unwrap();
    for number in 0..60 {
        insert(&store, &memory("Marmalade", &format!("The user likes {PHRASE} number {number}.")));
    }
    drop(store);
    (folder, path)
}

/// Returns every file in the folder that contains the phrase in readable form, or its first word in UTF-16.
fn telling(folder: &Path) -> Vec<String> {
    let word = "zanzibar";
    let wide: Vec<u8> = word.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut found: Vec<String> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let bytes = fs::read(path).unwrap();
            [word.as_bytes(), &wide].into_iter().any(|part| memchr::memmem::find(&bytes, part).is_some())
        })
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

fn contents(path: &Path, keys: &Keys) -> Vec<String> {
    let store = Store::open_with(path, keys).unwrap();
    let listed = store.list(&Filter::default(), Order::Id, usize::MAX, 0).unwrap();
    listed.into_iter().map(|memory| memory.claim.content).collect()
}

fn all_files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.clone(), fs::read(path).unwrap()))
        .collect()
}

#[test]
fn a_new_file_with_a_key_holds_nothing_that_can_be_read_while_it_is_open_and_after() {
    let (folder, path) = place();
    for text in [HEX, "a passphrase of words"] {
        let store = Store::open_with(&path, &key(text)).unwrap();
        assert!(store.is_encrypted().unwrap());
        insert(&store, &memory("Marmalade", &format!("The user likes {PHRASE}.")));
        assert!(folder.path().join("memories.db-wal").exists());
        assert_eq!(telling(folder.path()), [""; 0], "while it is open");
        assert_eq!(store.search_candidates("quixotic", &Filter::default(), 5).unwrap().len(), 1);
        let copy = folder.path().join("copy.db");
        store.backup(&copy, day(0)).unwrap();
        assert!(store.copy_in_memory().unwrap().count(&Filter::default()).unwrap() == 1);
        store.repair(day(0)).unwrap();
        store.purge(0, day(0)).unwrap();
        store.seal().unwrap();
        assert!(store.check().unwrap().flaws.is_empty());
        drop(store);
        assert_eq!(telling(folder.path()), [""; 0], "after it");
        assert_eq!(contents(&copy, &key(text)).len(), 1, "a copy has the same key");
        let error = Store::open_with(&copy, &Keys::Only(None)).unwrap_err();
        assert!(matches!(error, StoreError::NoKey { .. }), "{error:?}");
        for file in all_files(folder.path()).into_keys() {
            fs::remove_file(file).unwrap();
        }
    }
}

#[test]
fn a_key_that_does_not_fit_is_named_and_changes_nothing() {
    let (folder, path) = place();
    let store = Store::open_with(&path, &key(HEX)).unwrap();
    insert(&store, &memory("Tea", "The user drinks tea."));
    store.leave_log().unwrap();
    drop(store);
    fs::remove_file(folder.path().join("memories.db-shm")).unwrap();
    let before = all_files(folder.path());
    assert_eq!(before.len(), 2, "a file and its log");
    // Simulates a process that has never opened the file.
    OPENED.lock().unwrap().clear();
    for open in [Store::open_with, Store::open_read_only_with] as [fn(&Path, &Keys) -> _; 2] {
        let said = |keys: Keys| {
            let error: StoreError = open(&path, &keys).unwrap_err();
            error.to_string().replace(&path.display().to_string(), "FILE")
        };
        assert_eq!(
            said(key("another passphrase")),
            "FILE is encrypted, and the key from $AFTERTHOUGHT_DB_KEY does not decrypt it; use the key with which it was encrypted"
        );
        assert_eq!(
            said(Keys::Only(None)),
            "no key for FILE: set AFTERTHOUGHT_DB_KEY, or set AFTERTHOUGHT_DB_KEY_FILE to the path of a file that contains the key"
        );
    }
    fs::remove_file(folder.path().join("memories.db-shm")).ok();
    assert!(all_files(folder.path()) == before);
    assert_eq!(contents(&path, &key(HEX)), ["The user drinks tea."]);
}

#[test]
fn a_file_is_encrypted_and_decrypted_with_all_that_is_in_it() {
    let (folder, path) = plain();
    let before = contents(&path, &Keys::Only(None));
    assert_eq!(telling(folder.path()), ["memories.db"]);
    let done = convert(&path, &key(HEX), true, day(0)).unwrap().unwrap();
    assert_eq!((done.memories, done.key.as_str(), done.copies), (60, "$AFTERTHOUGHT_DB_KEY", vec![]));
    assert_eq!(telling(folder.path()), [""; 0]);
    assert_eq!(
        all_files(folder.path()).into_keys().collect::<Vec<_>>(),
        std::slice::from_ref(&path),
        "and nothing is left beside it"
    );
    assert_eq!(contents(&path, &key(HEX)), before);
    assert_eq!(convert(&path, &key(HEX), true, day(0)).unwrap(), None, "it is already");
    let store = Store::open_with(&path, &key(HEX)).unwrap();
    assert!(store.check().unwrap().flaws.is_empty());
    assert_eq!(schema_version(&store.conn).unwrap(), known_version());
    drop(store);
    convert(&path, &key(HEX), false, day(0)).unwrap().unwrap();
    assert_eq!(telling(folder.path()), ["memories.db"]);
    assert_eq!(contents(&path, &Keys::Only(None)), before);
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
}

#[test]
fn the_old_file_and_its_log_are_overwritten() {
    let (folder, path) = plain();
    let store = Store::open_with(&path, &Keys::Only(None)).unwrap();
    insert(&store, &memory("Log", &format!("In the log: {PHRASE}.")));
    store.leave_log().unwrap();
    drop(store);
    // Hard links that make it possible to inspect the content of the old files later.
    let kept = ["old", "old-log"].map(|name| folder.path().join(name));
    fs::hard_link(&path, &kept[0]).unwrap();
    fs::hard_link(folder.path().join("memories.db-wal"), &kept[1]).unwrap();
    convert(&path, &key(HEX), true, day(0)).unwrap().unwrap();
    for path in &kept {
        let bytes = fs::read(path).unwrap();
        assert!(!bytes.is_empty() && bytes.iter().all(|byte| *byte == 0), "{}", path.display());
    }
    assert_eq!(contents(&path, &key(HEX)).len(), 61);
}

#[test]
fn a_file_that_is_open_elsewhere_is_left_alone() {
    let (folder, path) = plain();
    let other = Store::open_with(&path, &Keys::Only(None)).unwrap();
    insert(&other, &memory("Tea", "The user drinks tea."));
    let error = convert(&path, &key(HEX), true, day(0)).unwrap_err();
    assert!(matches!(error, StoreError::InUse { .. }), "{error:?}");
    assert!(Store::half_converted(&path).is_empty());
    insert(&other, &memory("Milk", "The user drinks milk."));
    drop(other);
    assert_eq!(contents(&path, &Keys::Only(None)).len(), 62);
    drop(folder);
}

#[test]
fn what_a_process_left_that_ended_in_the_middle_is_written_anew() {
    let (_folder, path) = plain();
    let left = path.with_file_name("memories.db.encrypting");
    fs::write(&left, "half of it").unwrap();
    assert_eq!(Store::half_converted(&path), std::slice::from_ref(&left));
    convert(&path, &key(HEX), true, day(0)).unwrap().unwrap();
    assert!(Store::half_converted(&path).is_empty());
    assert_eq!(contents(&path, &key(HEX)).len(), 60);
}

#[test]
fn a_backup_comes_back_with_its_key_and_not_into_a_file_of_the_other_kind() {
    let (folder, path) = plain();
    let copy = folder.path().join("copy.db");
    convert(&path, &key(HEX), true, day(0)).unwrap().unwrap();
    Store::open_with(&path, &key(HEX)).unwrap().backup(&copy, day(0)).unwrap();
    insert(&Store::open_with(&path, &key(HEX)).unwrap(), &memory("Tea", "The user drinks tea."));
    let restored = Store::restore_backup_with(&path, &copy, &key(HEX), day(1)).unwrap();
    assert_eq!(restored.memories, 60);
    assert_eq!(contents(&restored.former.unwrap(), &key(HEX)).len(), 61);
    let elsewhere = folder.path().join("new/elsewhere.db");
    Store::restore_backup_with(&elsewhere, &copy, &key(HEX), day(1)).unwrap();
    assert!(Store::open_with(&elsewhere, &key(HEX)).unwrap().is_encrypted().unwrap());
    assert_eq!(telling(folder.path().join("new").as_path()), [""; 0]);
    convert(&elsewhere, &key(HEX), false, day(1)).unwrap().unwrap();
    let error = Store::restore_backup_with(&elsewhere, &copy, &key(HEX), day(1)).unwrap_err();
    assert!(matches!(error, StoreError::MixedKeys { .. }), "{error:?}");
    assert_eq!(all_files(&folder.path().join("new")).len(), 1, "and nothing was set aside");
}

#[test]
fn an_encrypted_file_of_an_earlier_schema_is_brought_up_to_date_and_its_copy_is_encrypted() {
    let (folder, path) = place();
    drop(of_version(&path, 3));
    let bytes = fs::read(&path).unwrap();
    assert!(bytes.starts_with(MAGIC));
    // The file is encrypted in the same way as in that version of the program.
    let keys = key(HEX);
    let open = folder.path().join("open.db");
    fs::rename(&path, &open).unwrap();
    let conn = Connection::open(&open).unwrap();
    conn.execute("ATTACH DATABASE ?1 AS fresh KEY ?2", [path.to_str().unwrap(), &format!("x'{HEX}'")]).unwrap();
    conn.query_row("SELECT sqlcipher_export('fresh')", (), |_| Ok(())).unwrap();
    for pragma in ["application_id", "user_version"] {
        let value: i64 = conn.query_row(&format!("PRAGMA main.{pragma}"), (), |row| row.get(0)).unwrap();
        conn.pragma_update(Some("fresh"), pragma, value).unwrap();
    }
    drop(conn);
    let store = Store::open_with(&path, &keys).unwrap();
    assert_eq!(schema_version(&store.conn).unwrap(), known_version());
    let copy = path.with_file_name("memories.db.schema-3.backup");
    assert!(looks_encrypted(&copy), "the copy before the update");
    assert!(store.is_encrypted().unwrap());
}

#[test]
fn what_the_open_build_has_is_there() {
    let (_folder, path) = place();
    let store = Store::open_with(&path, &key(HEX)).unwrap();
    let options: Vec<String> = {
        let mut statement = store.conn.prepare("PRAGMA compile_options").unwrap();
        statement.query_map((), |row| row.get(0)).unwrap().collect::<Result<_, _>>().unwrap()
    };
    for option in ["ENABLE_FTS5", "ENABLE_STAT4", "ENABLE_COLUMN_METADATA", "TEMP_STORE=2", "HAS_CODEC"] {
        assert!(options.iter().any(|found| found == option), "{option} of {options:?}");
    }
    let pragma = |name: &str| store.conn.query_row(&format!("PRAGMA {name}"), (), |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(["secure_delete", "temp_store", "foreign_keys"].map(pragma), [2, 2, 1]);
}

#[test]
fn random_bytes_are_told_from_files_of_other_kinds() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut state = 7_u64;
    let random: Vec<u8> = (0..PAGE)
        .map(|_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state.to_be_bytes()[0]
        })
        .collect();
    let text = "Dear diary, today I had tea again. ".repeat(200);
    let mut headed = random.clone();
    headed[..16].copy_from_slice(MAGIC);
    let cases: [(&[u8], bool); 5] =
        [(&random, true), (&random[..4_000], false), (&text.as_bytes()[..PAGE], false), (&headed, false), (&[], false)];
    for (bytes, expected) in cases {
        fs::write(&path, bytes).unwrap();
        assert_eq!(looks_encrypted(&path), expected, "{} bytes", bytes.len());
    }
}

#[test]
fn a_repair_puts_nothing_aside_that_could_be_read() {
    let (folder, path) = place();
    let store = Store::open_with(&path, &key(HEX)).unwrap();
    insert(&store, &memory("Marmalade", &format!("The user likes {PHRASE}.")));
    store
        .conn
        .execute_batch(
            "PRAGMA foreign_keys = OFF;
             INSERT INTO hook_failures (session, signature, command, error, call, at) VALUES ('s', 'x', 'zanzibar', 'no', 'c', 1);
             INSERT INTO relations (from_id, to_id, type, reason, created_at) VALUES ('a', 'b', 'related', 'zanzibar', 1);
             PRAGMA foreign_keys = ON;",
        )
        .unwrap();
    let repaired = store.repair(day(0)).unwrap();
    assert_eq!((repaired.rows, repaired.put_aside, repaired.left.flaws.len()), (1, None, 0));
    drop(store);
    assert_eq!(telling(folder.path()), [""; 0]);
    let copy = Store::open_with(&repaired.backup, &key(HEX)).unwrap();
    let count: i64 = copy.conn.query_row("SELECT count(*) FROM relations", (), |row| row.get(0)).unwrap();
    assert_eq!(count, 1);
}
