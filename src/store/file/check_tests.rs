use super::FlawKind;
use crate::changeset::Action;
use crate::memory::{MemoryId, Status};
use crate::store::testing::{clean, day, insert, memory, quote, write};
use crate::store::{NewVector, Store, VectorModel};

/// A file with memories that were changed, undone, forgotten and indexed in several ways.
fn lived() -> (tempfile::TempDir, Store, Vec<MemoryId>) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("m.db")).unwrap();
    let all: Vec<_> = (0..6).map(|n| memory("Tea", &format!("Ana drinks tea number {n}."))).collect();
    all.iter().take(4).for_each(|memory| insert(&store, memory));
    let run = store.begin_run("x", &serde_json::json!({}), day(0)).unwrap();
    store
        .write(Some(&run.id), day(1), |w| {
            w.add_evidence(&all[0].id, &clean(vec![quote("tea")]))?;
            w.set_status(&all[1].id, Status::Expired, Action::Expire, None)?;
            w.set_tier(&all[2].id, crate::memory::Tier::L1, Action::Promote, None)?;
            w.forget(&all[3].id, Some("no".into())).map(drop)
        })
        .map_err(|error: crate::store::StoreError| error)
        .unwrap();
    store.finish_run(&run.id, crate::store::RunStatus::Finished, &serde_json::json!({}), day(1)).unwrap();
    store.undo_run(&run.id, day(2)).unwrap();
    write(&store, |w| w.forget(&all[3].id, Some("no".into())));
    // The first memories are in a segment, and the last are still waiting to be indexed.
    write(&store, |w| crate::store::index::words::flush(&w.conn));
    all.iter().skip(4).for_each(|memory| insert(&store, memory));
    let model = VectorModel { name: "m".into(), dimension: 4 };
    let waiting = store.without_vector(&model, None, 9).unwrap();
    let made: Vec<_> = waiting.iter().map(|of| NewVector { of, vector: &[1.0, 2.0, 3.0, 4.0] }).collect();
    write(&store, |w| w.put_vectors(&model, &made));
    (folder, store, all.into_iter().map(|memory| memory.id).collect())
}

fn kinds(store: &Store) -> Vec<FlawKind> {
    let mut kinds: Vec<_> = store.check().unwrap().flaws.into_iter().map(|flaw| flaw.kind).collect();
    kinds.dedup();
    kinds
}

#[test]
fn a_whole_file_has_no_flaws() {
    let (_folder, store, ids) = lived();
    let checked = store.check().unwrap();
    assert_eq!((checked.memories, checked.flaws), (ids.len(), Vec::new()));
    assert_eq!(store.check_quickly().unwrap(), []);
}

#[test]
fn every_kind_of_flaw_is_found_and_mended_without_a_loss() {
    for (kind, sql) in [
        (FlawKind::WordIndex, "DELETE FROM search_recent WHERE seq = 5"),
        (FlawKind::WordIndex, "INSERT INTO search_docs (doc, seq) VALUES (99, 99)"),
        (FlawKind::WordIndex, "UPDATE search_recent SET terms = x'000000000000000102' WHERE seq = 5"),
        (FlawKind::WordIndex, "DELETE FROM search_postings WHERE term = (SELECT min(term) FROM search_postings)"),
        (FlawKind::WordIndex, "DELETE FROM search_letters WHERE seq = 5"),
        (FlawKind::WordIndex, "INSERT INTO search_letters (seq, letters) VALUES (99, x'00')"),
        (FlawKind::WordIndex, "UPDATE search_letters SET letters = zeroblob(64) WHERE seq = 5"),
        (FlawKind::NearIndex, "DELETE FROM memory_near WHERE rowid = 2"),
        (FlawKind::NearIndex, "INSERT INTO memory_near (rowid, words) VALUES (99, 'a b')"),
        (FlawKind::Vectors, "UPDATE vectors SET vector = x'00' WHERE seq = 1"),
        (FlawKind::Counts, "UPDATE memory_counts SET count = count + 1 WHERE of = 'type'"),
        (FlawKind::Uncounted, "DELETE FROM memory_usage WHERE memory_id = (SELECT id FROM memories WHERE seq = 6)"),
        (FlawKind::Dangling, "INSERT INTO access_log (memory_id, at, kind) VALUES ('nobody', 1, 'read')"),
        (FlawKind::Dangling, "INSERT INTO settled (claim_hash, sources_hash, memory_id) VALUES ('a', 'b', 'nobody')"),
    ] {
        let (folder, store, ids) = lived();
        store.conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {sql}; PRAGMA foreign_keys = ON;")).unwrap();
        let before = kinds(&store);
        assert!(before.contains(&kind), "{sql}: {before:?}");
        let repaired = store.repair(day(3)).unwrap();
        assert_eq!(repaired.left.flaws, [], "{sql}");
        assert_eq!(repaired.left.memories, ids.len(), "{sql}");
        assert_eq!(repaired.rows, usize::from(kind == FlawKind::Dangling), "{sql}");
        if let Some(path) = repaired.put_aside {
            assert!(std::fs::read_to_string(path).unwrap().contains("nobody"), "{sql}");
        }
        let copy = Store::open(repaired.backup).unwrap();
        assert_eq!(kinds(&copy), before, "{sql}: the copy is the file as it was");
        drop(folder);
    }
}

#[test]
fn rows_that_no_history_tells_of_are_found() {
    let (_folder, store, ids) = lived();
    store.conn.execute("UPDATE memories SET importance = 0.123 WHERE id = ?1", [ids[0].as_str()]).unwrap();
    assert_eq!(kinds(&store), [FlawKind::History]);
    let (_folder, store, ids) = lived();
    store.conn.execute("DELETE FROM evidence WHERE 1", ()).unwrap();
    write(&store, |w| w.add_evidence(&ids[0], &clean(vec![quote("tea")])));
    store.conn.execute("UPDATE evidence SET quote = 'coffee'", ()).unwrap();
    let said = store.check().unwrap().flaws;
    assert!(said.iter().any(|flaw| flaw.kind == FlawKind::History && flaw.what.contains(ids[0].as_str())), "{said:?}");
}

#[test]
fn damaged_pages_are_told_and_not_repaired_silently() {
    let (folder, store, _) = lived();
    store.optimise().unwrap();
    // The damaged page contains rows: if the pages of the schema are damaged, a file cannot be opened at all.
    let sql = "SELECT rootpage FROM sqlite_master WHERE name = 'evidence'";
    let page: usize = store.conn.query_row(sql, (), |row| row.get(0)).unwrap();
    drop(store);
    let path = folder.path().join("m.db");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[(page - 1) * 4096..page * 4096].fill(0x5a);
    std::fs::write(&path, bytes).unwrap();
    let store = Store::open_read_only(&path).unwrap();
    let flaws = store.check().unwrap().flaws;
    assert_eq!(flaws.first().map(|flaw| flaw.kind), Some(FlawKind::Damaged), "{flaws:?}");
}
