//! What else is known of conversations, apart from what was learnt in them.

use rusqlite::{Connection, params};

use super::find::{key_hash, lies_under};
use super::{Erased, Scope};
use crate::memory::Namespace;
use crate::store::row::to_json;
use crate::store::work::forget_requests_about;
use crate::store::{StoreError, Writer};

impl Writer<'_> {
    /// Erases conversations from the ledger and from all that was kept for later, and withdraws them.
    pub(super) fn erase_ledger(&self, keys: &str, scope: &Scope, erased: &mut Erased) -> Result<(), StoreError> {
        let ids: Vec<_> = erased.memories.iter().chain(&erased.kept).collect();
        let ids = to_json(&ids)?;
        self.read(|conn| {
            forget_words(conn, keys, &ids)?;
            erased.windows = conn.query_row(
                "SELECT count(*) FROM windows w JOIN transcripts t ON t.id = w.transcript_id
                 WHERE t.key IN (SELECT value FROM json_each(?1))",
                [keys],
                |row| row.get(0),
            )?;
            erased.replies = forget_requests_about(conn, keys, &ids)?;
            let origins: Vec<&str> = erased.conversations.iter().map(|one| one.origin.as_str()).collect();
            conn.execute(
                "DELETE FROM jobs WHERE path IN (SELECT value FROM json_each(?1)) AND status <> 'running'",
                [to_json(&origins)?],
            )?;
            conn.execute("DELETE FROM transcripts WHERE key IN (SELECT value FROM json_each(?1))", [keys])?;
            let mut withdraw = conn.prepare("INSERT OR IGNORE INTO withdrawn (key_hash, at) VALUES (?1, ?2)")?;
            for one in &erased.conversations {
                withdraw.execute(params![key_hash(&one.key), self.now.as_millisecond()])?;
            }
            match scope {
                Scope::Project(namespace) => forget_project(conn, namespace),
                Scope::Source(text) => forget_context(conn, text),
                Scope::Session(_) | Scope::Before(_) => Ok(()),
            }
        })
    }
}

/// Words of the conversations in the history, in notes of what was rejected, and in what hooks have seen.
fn forget_words(conn: &Connection, keys: &str, ids: &str) -> Result<(), StoreError> {
    conn.execute(
        "UPDATE history SET before = NULL, after = NULL, reason = NULL WHERE entity = 'evidence'
         AND coalesce(after ->> '$.transcript', before ->> '$.transcript') IN (SELECT value FROM json_each(?1))",
        [keys],
    )?;
    conn.execute(
        "UPDATE tombstones SET reason = NULL, key = NULL, value_hash = NULL
         WHERE memory_id IN (SELECT value FROM json_each(?1)) AND memory_id NOT IN (SELECT id FROM memories)",
        [ids],
    )?;
    conn.execute("DELETE FROM hook_told WHERE memory_id NOT IN (SELECT id FROM memories)", ())?;
    for table in ["hook_told", "hook_failures"] {
        let sql = format!(
            "DELETE FROM {table} WHERE session IN (SELECT value FROM json_each(?1)) OR session IN
             (SELECT external_id FROM transcripts WHERE key IN (SELECT value FROM json_each(?1)))"
        );
        conn.execute(&sql, [keys])?;
    }
    Ok(())
}

/// What is known of the project itself.
fn forget_project(conn: &Connection, namespace: &Namespace) -> Result<(), StoreError> {
    let within = "(namespace = ?1 OR substr(namespace, 1, length(?1) + 1) = ?1 || '/')";
    conn.execute(
        &format!("DELETE FROM project_paths WHERE project IN (SELECT id FROM projects WHERE {within})"),
        [namespace.to_string()],
    )?;
    for table in ["projects", "project_aliases", "project_merges", "known_context", "judged", "passes"] {
        conn.execute(&format!("DELETE FROM {table} WHERE {within}"), [namespace.to_string()])?;
    }
    Ok(())
}

/// What agents are told at every start, from the files that `text` names.
fn forget_context(conn: &Connection, text: &str) -> Result<(), StoreError> {
    let mut statement = conn.prepare("SELECT DISTINCT origin FROM known_context ORDER BY origin")?;
    let origins = statement.query_map((), |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    for origin in origins.iter().filter(|origin| lies_under(origin, text)) {
        conn.execute("DELETE FROM known_context WHERE origin = ?1", [origin])?;
    }
    Ok(())
}
