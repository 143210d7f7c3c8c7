//! Tests of databases with earlier schemas whose migration is interrupted at any step. The migration continues when the
//! database is opened again, and nothing is lost.

use std::fs;

use super::world::World;

/// Returns the statements of every schema, in order.
fn statements() -> Vec<String> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/migrations");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.into_iter().map(|path| fs::read_to_string(path).unwrap()).collect()
}

/// Creates a file as written by the version with the first `version` schemas, containing a memory that no index
/// includes yet.
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

#[test]
fn a_run_that_an_earlier_program_made_is_undone() {
    let (world, all) = (World::new(None), statements());
    world.good(&["remember", "The user drinks oolong."]);
    let spelled =
        world.look("SELECT after FROM history WHERE entity = 'memory'", |row| row.get::<_, String>(0)).unwrap();
    let (id, run) = ("01900000-0000-7000-8000-000000000001", "01900000-0000-7000-8000-00000000000a");
    let mut after: serde_json::Value = serde_json::from_str(&spelled[0]).unwrap();
    after["id"] = id.into();
    let mut before = after.clone();
    before["content"] = "The user drinks sencha.".into();
    before["title"] = "Tea".into();
    file_of(&world, &all, 10);
    let conn = rusqlite::Connection::open(world.database()).unwrap();
    conn.execute_batch(&format!(
        "INSERT INTO runs (id, command, arguments, status, started_at, finished_at, pid, heartbeat_at)
         VALUES ('{run}', 'run', '[]', 'finished', 2, 3, 1, 3)"
    ))
    .unwrap();
    let line = "INSERT INTO history (run_id, memory_id, at, action, entity, before, after, reason)
        VALUES (?1, ?2, 2, ?3, ?4, ?5, ?6, 'richer')";
    let piece = r#"{"transcript": "jsonl:talk", "messages": ["m1"], "quote": "oolong, please", "speaker": null,
        "said_at": null, "content_hash": "00"}"#;
    conn.execute(line, (run, id, "merge", "memory", before.to_string(), after.to_string())).unwrap();
    conn.execute(line, (run, id, "evidence", "evidence", None::<String>, piece)).unwrap();
    conn.execute(
        "INSERT INTO evidence (memory_id, transcript, message, messages, quote, content_hash)
         VALUES (?1, 'jsonl:talk', 'm1', '[\"m1\"]', 'oolong, please', '00')",
        [id],
    )
    .unwrap();
    drop(conn);
    world.good(&["undo", run]);
    let count = |sql: &str| world.look(sql, |row| row.get::<_, usize>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM evidence"), [0]);
    assert_eq!(count("SELECT count(*) FROM history WHERE undone = 1 AND changeset IS NULL"), [2]);
    assert_eq!(count("SELECT count(*) FROM history WHERE action = 'undo' AND changeset IS NOT NULL"), [2]);
    assert!(world.good(&["search", "sencha"]).contains("The user drinks sencha."));
    assert_eq!(world.done(&["search", "oolong"]).status.code(), Some(1));
}
