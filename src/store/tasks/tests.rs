use jiff::Timestamp;

use super::*;
use crate::guard::Guard;
use crate::store::testing::{day, task};
use crate::store::{Scope, Store};

const LOG: &str = "claude-code:s1";

fn record(goal: &str, path: &str) -> TaskRecord {
    task(goal, &[path])
}

fn run(store: &Store, at: Timestamp) -> RunId {
    store.begin_run("run", &serde_json::json!({}), at).unwrap().id
}

/// Stores the tasks of the log as a separate run, and returns the run and the number of changed tasks.
fn read(store: &Store, records: &[TaskRecord], at: Timestamp) -> (RunId, usize) {
    let run = run(store, at);
    let records = Guard::default().redact(records.to_vec()).0;
    let namespace = Namespace::project("shop").unwrap();
    let log = LogTasks { transcript: LOG, parent: None, namespace: &namespace, records: &records };
    let changed = store.write(Some(&run), at, |writer| writer.put_tasks(&log)).unwrap();
    let (status, summary) = (crate::store::RunStatus::Finished, serde_json::json!({}));
    store.finish_run(&run, status, &summary, at).unwrap();
    (run, changed)
}

fn goals(store: &Store) -> Vec<String> {
    store.tasks(&[]).unwrap().into_iter().map(|task| task.record.goal).collect()
}

fn with_path(store: &Store, path: &str) -> usize {
    store.tasks_with(FactKind::Path, path, &[], 10).unwrap().len()
}

#[test]
fn reading_a_log_again_changes_nothing_and_a_grown_one_only_what_is_new() {
    let store = Store::in_memory().unwrap();
    let (first, second) = (record("a", "a.rs"), record("b", "b.rs"));
    assert_eq!(read(&store, std::slice::from_ref(&first), day(1)).1, 1);
    assert_eq!(read(&store, std::slice::from_ref(&first), day(2)).1, 0);
    assert_eq!(read(&store, &[first.clone(), second], day(3)).1, 1);
    let grown = TaskRecord { files: record("", "c.rs").files, ..record("b", "") };
    assert_eq!(read(&store, &[first, grown], day(4)).1, 1);
    assert_eq!(goals(&store), ["a", "b"]);
    assert_eq!((with_path(&store, "b.rs"), with_path(&store, "c.rs")), (0, 1));
}

#[test]
fn a_task_is_undone_with_its_run_and_the_version_before_it_counts_again() {
    let store = Store::in_memory().unwrap();
    read(&store, &[record("a", "a.rs")], day(1));
    let (second, _) = read(&store, &[record("a", "b.rs"), record("b", "c.rs")], day(2));
    store.undo_run(&second, day(3)).unwrap();
    assert_eq!(goals(&store), ["a"]);
    assert_eq!((with_path(&store, "a.rs"), with_path(&store, "b.rs"), with_path(&store, "c.rs")), (1, 0, 0));
    // Reading the same log again does not restore the undone tasks.
    assert_eq!(read(&store, &[record("a", "b.rs"), record("b", "c.rs")], day(4)).1, 0);
    assert_eq!(goals(&store), ["a"]);
}

#[test]
fn a_run_in_the_middle_is_undone_without_what_came_after_it() {
    let store = Store::in_memory().unwrap();
    read(&store, &[record("a", "a.rs")], day(1));
    let (second, _) = read(&store, &[record("a", "b.rs")], day(2));
    let (third, _) = read(&store, &[record("a", "c.rs")], day(3));
    store.undo_run(&second, day(4)).unwrap();
    assert_eq!(with_path(&store, "c.rs"), 1);
    store.undo_run(&third, day(5)).unwrap();
    assert_eq!((with_path(&store, "a.rs"), with_path(&store, "c.rs")), (1, 0));
}

#[test]
fn tasks_are_erased_with_their_session() {
    let store = Store::in_memory().unwrap();
    read(&store, &[record("a", "a.rs")], day(1));
    read(&store, &[record("b", "a.rs")], day(2));
    store.erase(&Scope::Session("s1".into()), day(3)).unwrap();
    let count = |table: &str| {
        store.query_only(&format!("SELECT count(*) FROM {table}"), (), |row| row.get::<_, i64>(0)).unwrap()
    };
    assert_eq!(["tasks", "task_facts", "task_words"].map(count), [0; 3]);
    assert!(store.is_withdrawn(LOG).unwrap());
}

#[test]
fn an_exported_task_is_imported_once_without_its_secrets() {
    let (store, other) = (Store::in_memory().unwrap(), Store::in_memory().unwrap());
    read(&store, &[record("use sk-ant-api03-Wq8nRt5yUi2oPl4kJh7gFd9sAz1xCv3bNm6QwErTyUiOpAs", "a.rs")], day(1));
    let task = store.tasks(&[]).unwrap().remove(0);
    assert!(!task.record.goal.contains("Wq8nRt5y"));
    let leaking = Task {
        record: record("use sk-ant-api03-Wq8nRt5yUi2oPl4kJh7gFd9sAz1xCv3bNm6QwErTyUiOpAs", "a.rs"),
        ..task.clone()
    };
    let import = || other.write(None, day(2), |writer| writer.import_task(&leaking)).unwrap();
    assert_eq!((import(), import()), (true, false));
    assert_eq!(other.tasks(&[]).unwrap()[0].record, task.record);
    assert_eq!(with_path(&other, "a.rs"), 1);
}

#[test]
fn tasks_of_other_projects_are_not_found() {
    let store = Store::in_memory().unwrap();
    read(&store, &[record("a", "a.rs")], day(1));
    let found = |name: &str| {
        let namespace = Namespace::project(name).unwrap();
        store.tasks_with(FactKind::FileName, "a.rs", &[NamespaceSubtree::Under(namespace)], 10).unwrap().len()
    };
    assert_eq!((found("shop"), found("ship")), (1, 0));
}

#[test]
fn a_digest_has_at_most_two_kilobytes() {
    let goal = (0..2_000).map(|number| format!("word{number}")).collect::<Vec<_>>().join(" ");
    let long = TaskRecord { goal, symbols: vec!["name".repeat(15); 40], ..record("", "src/loader.rs") };
    let words = digest(&long);
    let bytes: usize = words.keys().map(|word| word.len() + 1).sum();
    assert!(bytes <= 2_048, "{bytes}");
    assert!(words["loader"] > words["word1"], "names of files count more than the goal");
}

#[test]
fn further_words_are_indexed_unless_the_digest_contains_them() {
    let plain = record("Speed up the loader", "src/loader.py");
    let known = further_words(&plain, ["loader", "throttle"].map(word_number).into_iter());
    assert_eq!(known, [word_number("throttle")]);
    assert_eq!(further_words(&plain, 0..10_000).len(), 80);
    let (length, words) = task_words(&TaskRecord { words: known, ..plain.clone() });
    let weight = stored_words(&words).find(|(number, _)| *number == word_number("throttle"));
    assert_eq!((weight, length), (Some((word_number("throttle"), 2)), task_words(&plain).0 + 2));
    assert_eq!(task_words(&TaskRecord { words: vec![word_number("loader")], ..plain.clone() }), task_words(&plain));
}

#[test]
fn a_migration_forgets_names_that_may_be_values() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    let value = concat!("EmnRYcUVn", "WloUKExHCA");
    let before = TaskRecord {
        symbols: vec![value.to_owned(), "load_rows".to_owned()],
        ..record("Make load_rows read the settings.", "a.py")
    };
    let conn = crate::store::file::schema::of_version(&path, 31);
    let (length, words) = task_words(&before);
    conn.execute(
        "INSERT INTO tasks (id, transcript, place, namespace, state, record) VALUES ('t', ?1, 0, 'project/shop', 'current', ?2)",
        params![LOG, to_json(&before).unwrap()],
    )
    .unwrap();
    conn.execute("INSERT INTO task_words (task, length, words) VALUES (1, ?1, ?2)", params![length, words]).unwrap();
    drop(conn);
    let store = Store::open(&path).unwrap();
    let after = store.tasks(&[]).unwrap().remove(0).record;
    assert_eq!(after, TaskRecord { symbols: vec!["load_rows".to_owned()], ..before });
    let mut stored = Vec::new();
    store.for_task_words(&[], |_, length, words| stored.push((length, words.to_vec()))).unwrap();
    assert_eq!(stored, [task_words(&after)]);
    let holds = |path: &std::path::Path| {
        let bytes = std::fs::read(path).unwrap_or_default();
        bytes.windows(value.len()).any(|window| window == value.as_bytes())
    };
    assert!(!holds(&path) && !holds(&folder.path().join("memories.db-wal")));
    assert!(store.is_unsealed().unwrap(), "freed parts of the file may contain it");
}
