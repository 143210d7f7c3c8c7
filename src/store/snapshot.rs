//! The whole content of a file as sorted text, for tests that check that nothing else changed.

use std::fmt::Write as _;

use rusqlite::types::ValueRef;

use super::Store;

/// Tables that grow even if the content is unchanged: the history, the runs, and the counts of changes.
const GROWING: &[&str] = &["history", "revisions", "runs", "sqlite_sequence", "audit", "vector_revision", "changesets"];

/// Returns one line per row of every table, and one line per position of each word in the index.
pub(super) fn snapshot(store: &Store) -> Vec<String> {
    let conn = &store.conn;
    conn.execute_batch(
        "CREATE VIRTUAL TABLE IF NOT EXISTS temp.near_places USING fts5vocab(main, memory_near, instance);",
    )
    .unwrap();
    let mut tables: Vec<String> = conn
        .prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'memory_near%' ORDER BY name")
        .unwrap()
        .query_map((), |row| row.get(0))
        .unwrap()
        .map(Result::unwrap)
        .filter(|name: &String| !GROWING.contains(&name.as_str()))
        .collect();
    tables.push("temp.near_places".into());
    let mut lines: Vec<String> = tables.iter().flat_map(|table| rows(store, table)).collect();
    lines.sort();
    lines
}

fn rows(store: &Store, table: &str) -> Vec<String> {
    let mut statement = store.conn.prepare(&format!("SELECT * FROM {table}")).unwrap();
    let names: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
    let mut rows = statement.query(()).unwrap();
    let mut lines = Vec::new();
    while let Some(row) = rows.next().unwrap() {
        let mut line = table.to_owned();
        for (index, name) in names.iter().enumerate() {
            // Restored evidence gets a new row number.
            if table != "evidence" || name != "id" {
                let value: ValueRef<'_> = row.get_ref(index).unwrap();
                write!(line, " {name}={value:?}").unwrap();
            }
        }
        lines.push(line);
    }
    lines
}
