use std::fs;

use crate::store::file::schema::{of_version, versions};
use crate::store::testing::{day, insert, memory};
use crate::store::{Filter, Order, Store, StoreError};

fn names(folder: &std::path::Path) -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_copy_is_private_holds_what_the_log_holds_and_is_taken_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let (path, to) = (folder.path().join("m.db"), folder.path().join("copy.db"));
    let store = Store::open(&path).unwrap();
    insert(&store, &memory("Tea", "The user drinks tea."));
    let made = store.backup(&to, day(0)).unwrap();
    assert_eq!((made.memories, made.path.as_path()), (1, to.as_path()));
    #[cfg(unix)]
    assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&to).unwrap().permissions()) & 0o777, 0o600);
    assert!(matches!(store.backup(&to, day(0)), Err(StoreError::Taken { .. })));
    insert(&store, &memory("Milk", "No milk."));
    let reader = Store::open_read_only(&path).unwrap();
    let restored = Store::restore_backup(&path, &to, day(1)).unwrap();
    assert_eq!(restored.memories, 1);
    assert_eq!(reader.count(&Filter::default()).unwrap(), 1, "who has the file open sees it, too");
    let again = Store::restore_backup(&path, &to, day(1)).unwrap();
    assert_ne!(again.former, restored.former, "a copy never takes the place of another");
    let former = Store::open(restored.former.unwrap()).unwrap();
    assert_eq!(former.count(&Filter::default()).unwrap(), 2, "what was there is not lost");
    assert_eq!(store.backups().unwrap().len(), 2, "those that were put aside");
}

#[test]
fn what_is_no_copy_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (path, text) = (folder.path().join("m.db"), folder.path().join("text"));
    insert(&Store::open(&path).unwrap(), &memory("Tea", "The user drinks tea."));
    fs::write(&text, "Dear diary, ".repeat(500)).unwrap();
    assert!(matches!(Store::restore_backup(&path, &text, day(0)), Err(StoreError::NotADatabase { .. })));
    let none = folder.path().join("none");
    assert!(matches!(Store::restore_backup(&path, &none, day(0)), Err(StoreError::NoBackup { .. })));
    let newer = folder.path().join("newer.db");
    Store::open(&newer).unwrap().conn.pragma_update(None, "user_version", 99).unwrap();
    assert!(matches!(Store::restore_backup(&path, &newer, day(0)), Err(StoreError::TooNew { .. })));
    assert_eq!(Store::open(&path).unwrap().count(&Filter::default()).unwrap(), 1);
}

#[test]
fn a_file_of_any_earlier_schema_is_copied_before_it_is_brought_up_to_date() {
    for version in 1..versions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.db");
        drop(of_version(&path, version));
        drop(Store::open(&path).unwrap());
        let copy = format!("m.db.schema-{version}.backup");
        assert_eq!(names(folder.path()), ["m.db".to_owned(), copy.clone()]);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.backups().unwrap(), [folder.path().join(&copy)]);
        assert_eq!(store.remove_automatic_backups().unwrap(), [folder.path().join(&copy)]);
        drop(store);
        assert_eq!(names(folder.path()), ["m.db"]);
    }
}

#[test]
fn what_a_file_of_any_schema_holds_is_still_there_and_found() {
    for version in 1..=versions() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("m.db");
        of_version(&path, 1)
            .execute_batch(
                r#"INSERT INTO memories (id, type, category, title, content, scope, importance, confidence, namespace, status,
                    source, extraction_method, content_hash, created_at, updated_at)
                 VALUES ('m1', 'semantic', 'fact', 'Tea', 'The user drinks oolong.', 'long_term', 0.5, 0.8, 'global',
                    'active', 'test', 'auto', 'h', 1, 1);
                 UPDATE memories SET structured = '{"name":"n","description":"d","triggers":["memory leak"]}';
                 INSERT INTO memory_usage (memory_id) VALUES ('m1')"#,
            )
            .unwrap();
        let before = of_version(&path, version);
        if (13..28).contains(&version) {
            // Programs of these versions indexed words, but not those of structured parts.
            before.execute_batch("DELETE FROM search_recent").unwrap();
        }
        drop(before);
        let store = Store::open(&path).unwrap();
        assert_eq!(store.list(&Filter::default(), Order::Id, 9, 0).unwrap()[0].claim.title, "Tea", "{version}");
        for word in ["oolong", "leak"] {
            let hits = store.word_hits(word, &Filter::default(), 9).unwrap();
            assert_eq!(hits.len(), 1, "{word} in a file of version {version}");
        }
    }
}
