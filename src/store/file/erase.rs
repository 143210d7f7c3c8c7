//! Erases everything learnt from certain conversations, as if they had never been read.
//!
//! Memories that are based only on these conversations are deleted with their history. Memories that are also based on
//! other conversations are kept, without the evidence from these conversations. The change is one transaction, and the
//! file is rewritten afterwards, so that no erased text remains in freed parts of the file; see [`Store::seal`]. The
//! conversations are withdrawn: no later run reads them unless a person explicitly requests it.

use jiff::Timestamp;
use rusqlite::{Connection, params};
use serde::Serialize;

use super::scope::{Conversation, Scope, key_hash, lies_under};
use super::seal::mark_unsealed;
use crate::changeset::{Action, Entity};
use crate::memory::{Claim, Memory, MemoryId, Namespace, Status, Structured};
use crate::store::history::HistoryEntry;
use crate::store::ledger::forget_requests_about;
use crate::store::row::{query_all, to_json};
use crate::store::{Database, Store, StoreError, Writer};

/// The data that was or would be erased; memories are given as ids.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Erased {
    /// The conversations, sorted by key.
    pub conversations: Vec<Conversation>,
    /// Deleted memories, which were based only on these conversations.
    pub memories: Vec<MemoryId>,
    /// Memories that were kept, without the evidence from these conversations.
    pub kept: Vec<MemoryId>,
    /// Kept memories whose text was restored to its state before these conversations.
    pub reverted: Vec<MemoryId>,
    /// Kept memories whose text comes both from these conversations and from others, so that a person should review
    /// them.
    pub mixed: Vec<MemoryId>,
    /// Memories that are active again, because the memories that had replaced them were deleted.
    pub restored: Vec<MemoryId>,
    /// Number of pieces of evidence deleted from kept memories.
    pub evidence: usize,
    /// Number of windows deleted from the ledger.
    pub windows: usize,
    /// Number of model replies deleted; all replies are deleted, because a reply does not show which conversation it is
    /// about.
    pub replies: usize,
}

impl Erased {
    /// Returns whether there is nothing to erase.
    pub(crate) const fn is_nothing(&self) -> bool {
        self.conversations.is_empty() && self.memories.is_empty()
    }
}

/// The result of a change that is rolled back after it was examined.
enum Ended {
    Seen(Box<Erased>),
    Failed(StoreError),
}

impl From<StoreError> for Ended {
    fn from(error: StoreError) -> Self {
        Self::Failed(error)
    }
}

impl Store {
    /// Returns what [`Store::erase`] would do, without changing anything.
    ///
    /// # Errors
    /// The same errors as [`Store::erase`].
    pub(crate) fn would_erase(&self, scope: &Scope, now: Timestamp) -> Result<Erased, StoreError> {
        // The preview decides with the same code as the erasure and is then rolled back, so the two cannot differ.
        let looked = self.write(None, now, |w| match w.plan_erasure(scope) {
            Ok((erased, _)) => Err::<(), _>(Ended::Seen(Box::new(erased))),
            Err(error) => Err(Ended::Failed(error)),
        });
        match looked {
            Err(Ended::Seen(erased)) => Ok(*erased),
            Err(Ended::Failed(error)) => Err(error),
            Ok(()) => Ok(Erased::default()),
        }
    }

    /// Erases everything derived from the conversations of `scope`, in one transaction. The erasure cannot be undone;
    /// the caller must then call [`Store::seal`].
    ///
    /// # Errors
    /// [`StoreError::RunInProgress`] while a run is in progress, which might store the erased memories again; otherwise
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn erase(&self, scope: &Scope, now: Timestamp) -> Result<Erased, StoreError> {
        // Rewriting the file does not affect bytes that were freed within a page.
        self.conn.pragma_update(None, "secure_delete", "ON")?;
        let erased = self.write(None, now, |w| w.erase(scope));
        // The setting is reset even after an error, because ON slows down every later deletion on this connection.
        self.conn.pragma_update(None, "secure_delete", "FAST")?;
        erased
    }
}

impl Writer<'_> {
    fn erase(&self, scope: &Scope) -> Result<Erased, StoreError> {
        let (erased, keys) = self.plan_erasure(scope)?;
        if erased.is_nothing() {
            return Ok(erased);
        }
        for id in &erased.memories {
            self.purge(id)?;
        }
        // The memories are reactivated after the purge, because until then other memories supersede them.
        self.reactivate(&erased.restored, "the memory that had replaced it was erased")?;
        self.forget_undone(&keys, scope)?;
        self.erase_ledger(&keys, scope, &erased)?;
        self.note_erasure(&erased)?;
        Ok(erased)
    }

    /// Decides what an erasure removes, and removes the conversations from the memories that it keeps. Returns the keys
    /// of the conversations as JSON, too.
    fn plan_erasure(&self, scope: &Scope) -> Result<(Erased, String), StoreError> {
        self.refuse_during_runs(self.now)?;
        let mut erased = Erased { conversations: self.conversations_in(scope)?, ..Erased::default() };
        let keys: Vec<&str> = erased.conversations.iter().map(|one| one.key.as_str()).collect();
        let keys = to_json(&keys)?;
        (erased.memories, erased.kept) = match scope {
            // A later run must not learn the same words again from the conversation, which is kept.
            Scope::Memory(id) => self.tombstone(id, None).map(|_| (vec![id.clone()], Vec::new()))?,
            Scope::Session(_) | Scope::Source(_) | Scope::Project(_) | Scope::Before(_) => {
                self.based_on(&keys, scope)?
            }
        };
        if erased.is_nothing() {
            return Ok((erased, keys));
        }
        // The superseded memories are determined before the purge, because the purge deletes the links to them.
        erased.restored = self.superseded_by(&erased.memories)?;
        for id in &erased.kept.clone() {
            self.take_from(id, &keys, &mut erased)?;
        }
        erased.windows = self.query_only(WINDOWS, [&keys], |row| row.get(0))?;
        erased.replies =
            self.query_only("SELECT count(*) FROM requests WHERE text IS NOT NULL", (), |row| row.get(0))?;
        Ok((erased, keys))
    }

    /// Clears the texts of undone changes from these conversations, which the history keeps although their memories no
    /// longer exist or no longer cite them.
    fn forget_undone(&self, keys: &str, scope: &Scope) -> Result<(), StoreError> {
        self.execute(UNDONE_MEMORIES, params![keys, scope.project()])?;
        self.execute(UNDONE_CHANGES, params![keys]).map(drop)
    }

    /// Records the erasure with its extent, and the fact that the file still has to be rewritten.
    fn note_erasure(&self, erased: &Erased) -> Result<(), StoreError> {
        let detail = format!("{} conversations, {} memories", erased.conversations.len(), erased.memories.len());
        self.read(|conn| {
            let values = params![self.now.as_millisecond(), detail];
            conn.execute("INSERT INTO audit (at, action, detail) VALUES (?1, 'erase', ?2)", values)?;
            mark_unsealed(conn, self.now)
        })
    }
}

/// Windows of conversations; `?1` is a list of keys in JSON.
const WINDOWS: &str = "
    SELECT count(*) FROM windows w JOIN transcripts t ON t.id = w.transcript_id
    WHERE t.key IN (SELECT value FROM json_each(?1))";
/// `?1` is a list of keys in JSON, `?2` the namespace of a project that is erased as a whole.
const UNDONE_MEMORIES: &str = "
    WITH gone AS MATERIALIZED (
        SELECT memory_id, coalesce(after, before) AS row,
            CASE entity WHEN 'evidence' THEN '$.transcript' ELSE '$.source' END AS source,
            (SELECT group_concat(value, '/') FROM json_each(coalesce(after, before), '$.namespace')) AS namespace
        FROM history
        WHERE entity IN ('memory', 'evidence') AND memory_id NOT IN (SELECT id FROM memories)
    ), cited AS MATERIALIZED (
        SELECT memory_id FROM gone
        WHERE row ->> source IN (SELECT value FROM json_each(?1))
            OR namespace = ?2 OR substr(namespace, 1, length(?2) + 1) = ?2 || '/'
    )
    UPDATE history SET before = NULL, after = NULL, reason = NULL
    WHERE memory_id IN (SELECT memory_id FROM cited) OR other_id IN (SELECT memory_id FROM cited)";

/// Undone changes of memories that still exist. `?1` is a list of keys in JSON.
const UNDONE_CHANGES: &str = "
    UPDATE history SET before = NULL, after = NULL, reason = NULL
    WHERE undone = 1 AND memory_id IN (
        SELECT memory_id FROM history WHERE undone = 1 AND entity = 'evidence'
            AND coalesce(after, before) ->> '$.transcript' IN (SELECT value FROM json_each(?1)))";

/// `?1` is a list of keys in JSON, `?2` the namespace of a project that is erased as a whole.
const RESTING: &str = "
    SELECT m.id,
        EXISTS (SELECT 1 FROM evidence e WHERE e.memory_id = m.id
            AND e.transcript NOT IN (SELECT value FROM json_each(?1))),
        m.extraction_method = 'auto' OR m.source IN (SELECT value FROM json_each(?1)),
        m.namespace = ?2 OR substr(m.namespace, 1, length(?2) + 1) = ?2 || '/'
    FROM memories m
    WHERE m.id IN (
        SELECT id FROM memories WHERE source IN (SELECT value FROM json_each(?1))
        UNION SELECT memory_id FROM evidence WHERE transcript IN (SELECT value FROM json_each(?1))
        UNION SELECT id FROM memories WHERE namespace = ?2 OR (namespace > ?2 || '/' AND namespace < ?2 || '0'))
    ORDER BY m.id";

impl Database {
    /// Returns the memories that are based only on these conversations, and the memories that are also based on other
    /// conversations, or on text that a person wrote or imported. If a whole project is erased, all its memories are in
    /// the first list.
    fn based_on(&self, keys: &str, scope: &Scope) -> Result<(Vec<MemoryId>, Vec<MemoryId>), StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare(RESTING)?;
            let mut rows = statement.query(params![keys, scope.project()])?;
            let (mut alone, mut others) = (Vec::new(), Vec::new());
            while let Some(row) = rows.next()? {
                let (elsewhere, extracted, within): (bool, bool, Option<bool>) =
                    (row.get(1)?, row.get(2)?, row.get(3)?);
                // Memories that a person wrote or imported are kept, unless the whole project is erased.
                let goes = !elsewhere && (extracted || within == Some(true));
                if goes { &mut alone } else { &mut others }.push(row.get(0)?);
            }
            Ok((alone, others))
        })
    }

    /// Returns the memories that only memories in `gone` have superseded.
    pub(in crate::store) fn superseded_by(&self, gone: &[MemoryId]) -> Result<Vec<MemoryId>, StoreError> {
        // The plus sign keeps SQLite from using the index of states, through which it would read every superseded
        // memory.
        let sql = "SELECT m.id FROM memories m WHERE +m.status = 'superseded'
                 AND m.id NOT IN (SELECT value FROM json_each(?1))
                 AND m.id IN (SELECT to_id FROM relations WHERE type = 'supersedes'
                    AND from_id IN (SELECT value FROM json_each(?1)))
                 AND NOT EXISTS (SELECT 1 FROM relations WHERE type = 'supersedes' AND to_id = m.id
                    AND from_id NOT IN (SELECT value FROM json_each(?1)))
                 ORDER BY m.id";
        self.query_all(sql, [to_json(&gone)?], |row| row.get(0))
    }
}

impl Writer<'_> {
    /// Reactivates memories whose successors were deleted, for this reason.
    pub(in crate::store) fn reactivate(&self, held: &[MemoryId], reason: &'static str) -> Result<(), StoreError> {
        for id in held {
            let mut memory = self.memory(id)?;
            // The validity of the memory ended only because the deleted memory had replaced it.
            memory.claim.valid_to = None;
            let after = Memory { status: Status::Active, updated_at: self.now, ..memory };
            self.replace(after, Action::Restore, Some(reason.into()))?;
        }
        Ok(())
    }

    /// Removes these conversations from the evidence of a memory, and the text from these conversations from the
    /// memory's text, as far as it can be found.
    fn take_from(&self, id: &MemoryId, keys: &str, erased: &mut Erased) -> Result<(), StoreError> {
        // Readers that use the revision for caching must notice that the evidence is gone, even if the text is
        // unchanged.
        self.bump(id)?;
        let entries: Vec<_> = self.history(id)?.into_iter().filter(|entry| entry.memory == *id).collect();
        // The entries are read first, because `scrub` and `forget_words` clear the fields that are needed to find them.
        let lost: Vec<i64> = self.evidence_entries(id, keys)?;
        erased.evidence += self.read(|conn| {
            crate::store::sync::forget_evidence(conn, id, keys)?;
            let sql = "DELETE FROM evidence WHERE memory_id = ?1 AND transcript IN (SELECT value FROM json_each(?2))";
            Ok(conn.prepare_cached(sql)?.execute(params![id.as_str(), keys])?)
        })?;
        let memory = self.memory(id)?;
        if let Some(former) = before_any(&entries, &lost) {
            if texts_of(&former) != texts_of(&memory.claim) {
                if changed_only_with(&entries, &lost) {
                    let claim = put_back(&memory.claim, former);
                    self.replace(Memory { claim, updated_at: self.now, ..memory.clone() }, Action::Withdraw, None)?;
                    erased.reverted.push(id.clone());
                } else {
                    erased.mixed.push(id.clone());
                }
            }
        } else {
            erased.mixed.push(id.clone());
        }
        self.rest_on_what_is_left(id, keys)?;
        self.scrub(id, &entries, &lost)?;
        self.index(id)
    }

    /// Returns the history entries that added evidence from these conversations to a memory, in order.
    fn evidence_entries(&self, id: &MemoryId, keys: &str) -> Result<Vec<i64>, StoreError> {
        self.query_all(
            "SELECT id FROM history WHERE memory_id = ?1 AND entity = 'evidence'
                 AND coalesce(after ->> '$.transcript', before ->> '$.transcript') IN (SELECT value FROM json_each(?2))
                 ORDER BY id",
            params![id.as_str(), keys],
            |row| row.get(0),
        )
    }

    /// Assigns a different source to a memory if its source was erased.
    fn rest_on_what_is_left(&self, id: &MemoryId, keys: &str) -> Result<(), StoreError> {
        let memory = self.memory(id)?;
        let sql = "SELECT EXISTS (SELECT 1 FROM json_each(?1) WHERE value = ?2)";
        let is_gone = self.query_only(sql, params![keys, memory.source], |row| row.get(0))?;
        let source = self.evidence(id)?.into_iter().next().map(|piece| piece.transcript);
        match source.filter(|_| is_gone) {
            Some(source) => self.replace(Memory { source, ..memory }, Action::Withdraw, None).map(drop),
            None => Ok(()),
        }
    }

    /// Clears the texts in a memory's history from the point at which it was first based on these conversations. The
    /// rest of each entry, such as the fact that the memory was changed, is kept.
    fn scrub(&self, id: &MemoryId, entries: &[HistoryEntry], lost: &[i64]) -> Result<(), StoreError> {
        let Some(from) = first_write(entries, lost) else { return Ok(()) };
        self.execute(
            "UPDATE history SET before = NULL, after = NULL, reason = NULL
                 WHERE (memory_id = ?1 AND entity = 'memory' AND id >= ?2) OR (other_id = ?1 AND id >= ?2)",
            params![id.as_str(), from],
        )
        .map(drop)
    }
}

/// Returns the first entry of the write that first gave a memory evidence that is now erased. All entries of a write
/// have the same time and run.
fn first_write(entries: &[HistoryEntry], lost: &[i64]) -> Option<i64> {
    let first = entries.iter().find(|entry| Some(&entry.id) == lost.first())?;
    let settled = entries.iter().rev().find(|entry| entry.entity == Entity::Evidence && entry.id < first.id);
    let same = |entry: &&HistoryEntry| entry.at == first.at && entry.run == first.run;
    let begun = entries.iter().filter(same).map(|entry| entry.id).min().unwrap_or(first.id);
    // Two writes of one run in the same millisecond look like a single write; earlier evidence shows where the second
    // write begins.
    Some(settled.map_or(begun, |settled| begun.max(settled.id + 1)))
}

/// Returns the memory's claim before the `lost` evidence was added; `None` if that evidence was its first.
pub(in crate::store) fn before_any(entries: &[HistoryEntry], lost: &[i64]) -> Option<Claim> {
    let Some(from) = first_write(entries, lost) else {
        // The history does not show when the evidence was added, so the memory's text counts as independent of it.
        let last = entries.iter().rev().find(|entry| entry.entity == Entity::Memory)?;
        return claim_of(last.after.as_ref());
    };
    claim_of(entries.iter().rev().find(|entry| entry.entity == Entity::Memory && entry.id < from)?.after.as_ref())
}

fn claim_of(state: Option<&serde_json::Value>) -> Option<Claim> {
    serde_json::from_value::<Memory>(state?.clone()).ok().map(|memory| memory.claim)
}

/// Returns whether all changes of the memory's text since then were in writes that added `lost` evidence.
pub(in crate::store) fn changed_only_with(entries: &[HistoryEntry], lost: &[i64]) -> bool {
    let Some(from) = first_write(entries, lost) else { return true };
    let brought = |entry: &HistoryEntry| {
        entries.iter().any(|other| lost.contains(&other.id) && other.at == entry.at && other.run == entry.run)
    };
    entries.iter().filter(|entry| entry.entity == Entity::Memory && entry.id >= from).all(|entry| {
        match (claim_of(entry.before.as_ref()), claim_of(entry.after.as_ref())) {
            (Some(before), Some(after)) => texts_of(&before) == texts_of(&after) || brought(entry),
            _ => false,
        }
    })
}

/// Returns the texts of a claim.
pub(in crate::store) fn texts_of(claim: &Claim) -> (&str, &str, &[String], [Option<&str>; 4], Option<&Structured>) {
    let others = [&claim.summary, &claim.subject, &claim.key, &claim.value].map(Option::as_deref);
    (&claim.title, &claim.content, &claim.tags, others, claim.structured.as_ref())
}

/// Returns the claim with the texts of an earlier claim.
pub(in crate::store) fn put_back(claim: &Claim, former: Claim) -> Claim {
    // These fields may have been set by hand or by maintenance, and contain none of the erased text.
    Claim { importance: claim.importance, confidence: claim.confidence, scope: claim.scope, ..former }
}

impl Writer<'_> {
    /// Erases conversations from the ledger, the queue and other tables, and withdraws them.
    fn erase_ledger(&self, keys: &str, scope: &Scope, erased: &Erased) -> Result<(), StoreError> {
        let ids: Vec<_> = erased.memories.iter().chain(&erased.kept).collect();
        let ids = to_json(&ids)?;
        self.read(|conn| {
            forget_words(conn, keys, &ids)?;
            forget_requests_about(conn, keys, &ids)?;
            let origins: Vec<&str> = erased.conversations.iter().map(|one| one.origin.as_str()).collect();
            conn.execute(
                // A running job keeps its row, which its worker updates; its conversation will be rejected as
                // withdrawn.
                "DELETE FROM jobs WHERE path IN (SELECT value FROM json_each(?1)) AND status <> 'running'",
                [to_json(&origins)?],
            )?;
            conn.execute("DELETE FROM tasks WHERE transcript IN (SELECT value FROM json_each(?1))", [keys])?;
            conn.execute("DELETE FROM transcripts WHERE key IN (SELECT value FROM json_each(?1))", [keys])?;
            let mut withdraw = conn.prepare("INSERT OR IGNORE INTO withdrawn (key_hash, at) VALUES (?1, ?2)")?;
            for one in &erased.conversations {
                withdraw.execute(params![key_hash(&one.key), self.now.as_millisecond()])?;
            }
            match scope {
                Scope::Project(namespace) => forget_project(conn, namespace),
                Scope::Source(text) => forget_context(conn, text),
                Scope::Session(_) | Scope::Before(_) | Scope::Memory(_) => Ok(()),
            }
        })
    }
}

/// Deletes text of the conversations from the history, from tombstones, and from the records of hooks.
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
    // These tables have no foreign key to memories, so deletions do not cascade to them.
    conn.execute("DELETE FROM hook_told WHERE memory_id NOT IN (SELECT id FROM memories)", ())?;
    conn.execute(
        "DELETE FROM advice WHERE memory_id NOT LIKE 'fact:%' AND memory_id NOT IN (SELECT id FROM memories)",
        (),
    )?;
    for table in ["hook_told", "hook_failures"] {
        let sql = format!(
            "DELETE FROM {table} WHERE session IN (SELECT value FROM json_each(?1)) OR session IN
             (SELECT external_id FROM transcripts WHERE key IN (SELECT value FROM json_each(?1)))"
        );
        conn.execute(&sql, [keys])?;
    }
    Ok(())
}

/// Deletes the information about the project itself.
fn forget_project(conn: &Connection, namespace: &Namespace) -> Result<(), StoreError> {
    let within = "(namespace = ?1 OR substr(namespace, 1, length(?1) + 1) = ?1 || '/')";
    conn.execute(
        &format!("DELETE FROM project_paths WHERE project IN (SELECT id FROM projects WHERE {within})"),
        [namespace.to_string()],
    )?;
    for table in
        ["projects", "project_aliases", "project_merges", "project_teams", "known_context", "judged", "passes", "tasks"]
    {
        conn.execute(&format!("DELETE FROM {table} WHERE {within}"), [namespace.to_string()])?;
    }
    Ok(())
}

/// Deletes the contexts that agents load at every start, if they come from the files that `text` specifies.
fn forget_context(conn: &Connection, text: &str) -> Result<(), StoreError> {
    let sql = "SELECT DISTINCT origin FROM known_context ORDER BY origin";
    let origins: Vec<String> = query_all(conn, sql, (), |row| row.get(0))?;
    for origin in origins.iter().filter(|origin| lies_under(origin, text)) {
        conn.execute("DELETE FROM known_context WHERE origin = ?1", [origin])?;
    }
    Ok(())
}

#[cfg(test)]
#[path = "erase_tests.rs"]
mod tests;
