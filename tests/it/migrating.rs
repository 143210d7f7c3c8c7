//! Files of earlier schemas whose update ends at any step: the next opening goes on, and nothing is lost.

use std::fs;

use super::world::World;

/// The statements of every schema, in order.
fn statements() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/migrations");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Makes a file as the program left it that knew the first `version` schemas, with a memory that no index knows yet.
fn file_of(world: &World, all: &[String], version: usize) {
    world.forget();
    let conn = rusqlite::Connection::open(world.database()).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA application_id = 0x61667472").unwrap();
    all[..version].iter().for_each(|sql| conn.execute_batch(sql).unwrap());
    conn.pragma_update(None, "user_version", version).unwrap();
    if version < 11 {
        conn.execute_batch(
            "INSERT INTO memories (id, type, category, title, content, scope, importance, confidence, namespace, status,
                source, extraction_method, content_hash, created_at, updated_at)
             VALUES ('01900000-0000-7000-8000-000000000001', 'semantic', 'fact', 'Tea', 'The user drinks oolong.',
                'long_term', 0.5, 0.8, 'global', 'active', 'test', 'auto', 'h', 1, 1);
             INSERT INTO memory_usage (memory_id) VALUES ('01900000-0000-7000-8000-000000000001')",
        )
        .unwrap();
    }
    conn.execute_batch("INSERT INTO tombstones VALUES ('m0', 'global', 'h0', NULL, NULL, NULL, 1)").unwrap();
}

#[test]
fn an_update_that_ends_at_any_step_is_brought_to_its_end() {
    let (world, all) = (World::new(None), statements());
    for version in [1, 10, 13, all.len() - 1] {
        let steps = all.len() - version;
        let mut places: Vec<String> = (1..=steps).map(|step| format!("migrate.step:{step}")).collect();
        places.extend(["copy.begin", "copy.made", "copy.placed", "migrate.begin", "migrate.done"].map(String::from));
        for place in places {
            let of = format!("from {version}, {place}");
            for left in fs::read_dir(world.path(".")).unwrap().map(|entry| entry.unwrap().path()) {
                if left.file_name().unwrap().to_string_lossy().starts_with("memories.db") {
                    fs::remove_file(left).unwrap();
                }
            }
            file_of(&world, &all, version);
            let ended = world.command(&["db", "check"]).env("AFTERTHOUGHT_FAULT", &place).output().unwrap();
            assert_eq!(ended.status.code(), None, "{of}: {ended:?}");
            let checked = world.done(&["db", "check"]);
            assert_eq!(checked.status.code(), Some(0), "{of}: {checked:?}");
            let found = world.look("PRAGMA user_version", |row| row.get::<_, usize>(0)).unwrap();
            assert_eq!(found, [all.len()], "{of}");
            let rejected = world.look("SELECT count(*) FROM tombstones", |row| row.get::<_, usize>(0)).unwrap();
            assert_eq!(rejected, [1], "{of}");
            if version < 11 {
                assert!(world.good(&["search", "oolong"]).contains("oolong"), "{of}");
            }
            let copy = world.path(&format!("memories.db.schema-{version}.backup"));
            assert!(copy.exists(), "{of}: a copy of what was there is made first");
        }
    }
}
