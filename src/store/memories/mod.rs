//! Reads memories one by one, in lists and by id, and changes them.

pub(super) mod attribution;
pub(super) mod evidence;
pub(super) mod filter;
pub(super) mod insert;
pub(super) mod brief_rows;
pub(super) mod outlines;
pub(super) mod overview;
pub(super) mod relations;
pub(super) mod review;
pub(super) mod row;
pub(super) mod upkeep;

use rusqlite::types::Value;
use rusqlite::{params, params_from_iter};

use crate::changeset::{Action, Row, memory_as_stored};
use crate::guard::{CleanText, Redacted};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Scope, Status};
use crate::store::index::near::of_key;
use crate::store::memories::filter::{Clauses, Filter, Order};
use crate::store::memories::row::{MEMORY_COLUMNS, MEMORY_TABLES, memory_from_row};
use crate::store::row::{ID_HAS_PART, rows};
use crate::store::{Database, StoreError, Writer};
use crate::text::normalise::normalised_hash;

/// Minimum length of a part of an id that is looked up.
// Fewer characters would often match a memory by chance.
const MIN_ID_PART: usize = 4;

impl Database {
    /// Returns the memory with this id.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if there is no such memory.
    pub fn memory(&self, id: &MemoryId) -> Result<Memory, StoreError> {
        self.find(id)?.ok_or_else(|| StoreError::UnknownMemory { id: id.to_string() })
    }

    /// Returns the memory with this id, if it exists.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn find(&self, id: &MemoryId) -> Result<Option<Memory>, StoreError> {
        let sql = format!("SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.id = ?1");
        self.query_one(&sql, [id.as_str()], memory_from_row)
    }

    /// Returns the only memory whose id begins or ends with `part`, of at least four letters and digits.
    ///
    /// # Errors
    /// [`StoreError::ShortId`], [`StoreError::UnknownMemory`] or [`StoreError::AmbiguousMemory`] if there is no such
    /// memory.
    pub(crate) fn resolve(&self, part: &str) -> Result<MemoryId, StoreError> {
        // People paste ids with spaces, and some tools print them in capitals.
        let part = part.trim().to_ascii_lowercase();
        let id = part.clone();
        if part.chars().filter(char::is_ascii_hexdigit).count() < MIN_ID_PART {
            return Err(StoreError::ShortId { id });
        }
        // A whole id is found by an index; a part may be the end of any id.
        if let Some(memory) = self.find(&MemoryId::from_stored(&*part))? {
            return Ok(memory.id);
        }
        let sql = format!("SELECT id FROM memories WHERE {ID_HAS_PART} ORDER BY id");
        let mut found: Vec<MemoryId> = self.query_all(&sql, [&part], |row| row.get(0))?;
        match found.len() {
            0 => Err(StoreError::UnknownMemory { id }),
            1 => Ok(found.remove(0)),
            count => Err(StoreError::AmbiguousMemory { id, count }),
        }
    }

    /// Returns whether a namespace has more than `most` active memories, in constant time.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn holds_more_than(&self, namespace: &Namespace, most: usize) -> Result<bool, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT count(*) > ?2 FROM (SELECT 1 FROM memories WHERE namespace = ?1 AND status = 'active' LIMIT ?2 + 1)",
            )?;
            Ok(statement.query_row(params![namespace.to_string(), rows(most)], |row| row.get(0))?)
        })
    }

    /// Returns at most `limit` memories after the first `offset`, in `order`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn list(&self, filter: &Filter, order: Order, limit: usize, offset: usize) -> Result<Vec<Memory>, StoreError> {
        self.list_in(filter, (order, false), limit, offset)
    }

    /// Returns at most `limit` memories that pass `filter` and follow `after` in the order of ids.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn list_after(
        &self,
        filter: &Filter,
        after: Option<&MemoryId>,
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let mut clauses = Clauses::of(filter);
        // An offset would make SQLite read all earlier rows for each page, and without this index, it would sort them.
        let index = if self.are_few(filter)? { "" } else { "INDEXED BY sqlite_autoindex_memories_1" };
        clauses.ignore_index_of_status();
        clauses.push("m.id > ?", [Value::Text(after.map_or("", MemoryId::as_str).to_owned())]);
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.seq IN
                 (SELECT m.seq FROM memories m {index} WHERE {} ORDER BY m.id LIMIT {}) ORDER BY m.id",
            clauses.sql(),
            rows(limit),
        );
        self.memories(&sql, clauses)
    }

    /// Returns memories as [`Database::list`] does, in reverse order if the order is marked as ascending.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn list_in(
        &self,
        filter: &Filter,
        (order, is_ascending): (Order, bool),
        limit: usize,
        offset: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let mut clauses = Clauses::of(filter);
        if self.are_few(filter)? {
            // The index in the order of changes begins with the status, and contains all namespaces.
            clauses.ignore_index_of_status();
        }
        // Only row numbers are sorted, because sorting whole rows takes several times as long.
        let tables = match order {
            Order::Used => MEMORY_TABLES,
            // A subject has few memories, whereas a namespace may contain most of them, which the planner does not
            // know.
            _ if filter.subject.is_some() => "memories m INDEXED BY memories_by_subject",
            _ => "memories m",
        };
        let order = order.sql(is_ascending);
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.seq IN
                 (SELECT m.seq FROM {tables} WHERE {} ORDER BY {order} LIMIT {} OFFSET {}) ORDER BY {order}",
            clauses.sql(),
            rows(limit),
            rows(offset),
        );
        self.memories(&sql, clauses)
    }

    /// Returns whether the namespaces of `filter` contain so few memories that reading all of them takes less time than
    /// searching a list of all memories for them. The planner of SQLite does not know how many there are.
    fn are_few(&self, filter: &Filter) -> Result<bool, StoreError> {
        const FEW: usize = 5_000;
        let (namespaces, statuses) = (filter.namespaces.clone(), Vec::new());
        Ok(!namespaces.is_empty() && self.count(&Filter { namespaces, statuses, ..Filter::default() })? <= FEW)
    }

    /// Returns the number of memories that pass `filter`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn count(&self, filter: &Filter) -> Result<usize, StoreError> {
        // Of the active memories, an index finds the few that have expired but are not marked yet; counting all others
        // would read them.
        if let (Some(at), [Status::Active]) = (filter.unexpired_at, filter.statuses.as_slice()) {
            let active = Filter { unexpired_at: None, ..filter.clone() };
            let over = Filter { expired_at: Some(at), ..active.clone() };
            return Ok(self.count(&active)?.saturating_sub(self.count(&over)?));
        }
        // The table `memory_counts` contains the numbers of memories by namespace and status.
        let (namespaces, statuses) = (filter.namespaces.clone(), filter.statuses.clone());
        let is_stored = *filter == Filter { namespaces, statuses, ..Filter::default() };
        let rows = if is_stored {
            "ifnull(sum(count), 0) FROM (SELECT name AS status, namespace, count FROM memory_counts WHERE of = 'status')"
        } else {
            "count(*) FROM memories"
        };
        let clauses = Clauses::of(filter);
        let sql = format!("SELECT {rows} m WHERE {}", clauses.sql());
        self.query_only(&sql, params_from_iter(clauses.values), |row| row.get(0))
    }

    /// Returns the active and pending memories about one attribute, newest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn by_key(&self, namespace: &Namespace, key: &str) -> Result<Vec<Memory>, StoreError> {
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE {} AND m.key = ?1 AND m.namespace = ?2
                 AND +m.status IN ('active', 'pending') ORDER BY m.updated_at DESC, m.id DESC",
            of_key("?1"),
        );
        self.query_all(&sql, [key, &namespace.to_string()], memory_from_row)
    }

    /// Returns the active and pending memories whose keys begin with `prefix`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn by_key_prefix(&self, namespace: &Namespace, prefix: &str) -> Result<Vec<Memory>, StoreError> {
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.namespace = ?1 AND substr(m.key, 1, length(?2)) = ?2
                 AND m.status IN ('active', 'pending') ORDER BY m.created_at, m.id"
        );
        self.query_all(&sql, [namespace.to_string(), prefix.to_owned()], memory_from_row)
    }

    /// Returns the memories that are selected by a statement with the memory columns.
    pub(in crate::store) fn memories(&self, sql: &str, clauses: Clauses) -> Result<Vec<Memory>, StoreError> {
        self.query_all(sql, params_from_iter(clauses.values), memory_from_row)
    }
}

impl Writer<'_> {
    /// Writes every field of a memory except its usage counts, and returns whether any field was different.
    ///
    /// A change sets `updated_at` to the current time. `action` is one word for the history, such as `merge` or `pin`.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub fn update(
        &self,
        memory: &Redacted<Memory>,
        action: Action,
        reason: Option<CleanText<'_>>,
    ) -> Result<bool, StoreError> {
        // The values are rounded in the same way as in the table; otherwise, every write would look like a change.
        let mut after = memory_as_stored(memory);
        after.updated_at = self.now;
        self.replace(after, action, reason)
    }

    /// Sets the status and `deleted_at`, which is the current time for [`Status::Forgotten`] and `None` for any other
    /// status.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub fn set_status(
        &self,
        id: &MemoryId,
        status: Status,
        action: Action,
        reason: Option<CleanText<'_>>,
    ) -> Result<bool, StoreError> {
        let before = self.memory(id)?;
        if before.status == status {
            return Ok(false);
        }
        let deleted_at = (status == Status::Forgotten).then_some(self.now);
        // Fading must not make a memory look recently confirmed. For a short-term memory, the days until it is retired
        // are counted from this change.
        let is_faded = action == Action::Fade && before.claim.scope == Scope::LongTerm;
        let updated_at = if is_faded { before.updated_at } else { self.now };
        self.replace(Memory { status, deleted_at, updated_at, ..before }, action, reason)
    }

    /// Pins or unpins a memory, and returns whether this changed it.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub fn set_pinned(&self, id: &MemoryId, pinned: bool) -> Result<bool, StoreError> {
        let before = self.memory(id)?;
        let action = if pinned { Action::Pin } else { Action::Unpin };
        self.replace(Memory { pinned, updated_at: self.now, ..before }, action, None)
    }

    /// Moves a memory to another namespace, and returns whether it was in a different namespace. Moving a memory does
    /// not change `updated_at`.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if the memory does not exist.
    pub(crate) fn set_namespace(
        &self,
        id: &MemoryId,
        namespace: &Namespace,
        reason: CleanText<'_>,
    ) -> Result<bool, StoreError> {
        let before = self.memory(id)?;
        self.replace(Memory { namespace: namespace.clone(), ..before }, Action::Move, Some(reason))
    }

    /// Writes a memory, except for its counts, if it differs in more than `updated_at`.
    pub(in crate::store) fn replace(
        &self,
        after: Memory,
        action: Action,
        reason: Option<CleanText<'_>>,
    ) -> Result<bool, StoreError> {
        // The memory is read within the transaction, because it may have changed after the caller read it.
        let before = self.memory(&after.id)?;
        let after = Memory { usage: kept_counts(&before, &after), ..after };
        if before == (Memory { updated_at: before.updated_at, ..after.clone() }) {
            return Ok(false);
        }
        self.write_one(action, Row::memory(Some(before), Some(after)), reason)?;
        Ok(true)
    }
}

/// Returns the usage with the old counts, because a difference in counts is not a change of the memory, whereas a
/// difference in tier is.
fn kept_counts(before: &Memory, after: &Memory) -> crate::memory::Usage {
    crate::memory::Usage {
        access_count: before.usage.access_count,
        last_accessed_at: before.usage.last_accessed_at,
        ..after.usage.clone()
    }
}

impl Database {
    /// Returns at most `limit` memories that are neither active nor pending and that have these words, or a key with
    /// one of these spellings. Memories with the same words come first, then the most recently changed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn past(
        &self,
        namespace: &Namespace,
        content: &str,
        keys: &[String],
        limit: usize,
    ) -> Result<Vec<Memory>, StoreError> {
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.content_hash = ?1 AND m.namespace = ?2
                 AND m.status NOT IN ('active', 'pending') ORDER BY m.updated_at DESC, m.id DESC LIMIT ?3"
        );
        let (namespace, most) = (namespace.to_string(), rows(limit));
        let mut past = self.query_all(&sql, params![normalised_hash(content), namespace, most], memory_from_row)?;
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE {} AND m.namespace = ?2 AND m.status = ?3
                 ORDER BY m.updated_at DESC, m.id DESC LIMIT ?4",
            of_key("?1"),
        );
        let mut of_key: Vec<Memory> = Vec::new();
        for key in keys {
            for status in [Status::Superseded, Status::Forgotten, Status::Expired] {
                let values = params![key, namespace, status.as_str(), most];
                of_key.extend(self.query_all(&sql, values, memory_from_row)?);
            }
        }
        of_key.sort_by(|a, b| (b.updated_at, &b.id).cmp(&(a.updated_at, &a.id)));
        // A memory with the same words may also have the same key, but must be returned only once.
        of_key.retain(|memory| !past.iter().any(|said| said.id == memory.id));
        past.extend(of_key);
        past.truncate(limit);
        Ok(past)
    }

    /// Returns the memories of any status that are based on the quote of this piece of evidence, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn resting_on(&self, namespace: &Namespace, piece: &Evidence) -> Result<Vec<Memory>, StoreError> {
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM evidence e CROSS JOIN memories m ON m.id = e.memory_id
                 JOIN memory_usage u ON u.memory_id = m.id
                 WHERE m.namespace = ?1 AND e.transcript = ?2 AND e.message = ?3
                 AND substr(e.quote, 1, 40) = substr(?4, 1, 40) AND e.quote = ?4
                 ORDER BY m.id"
        );
        let message = piece.messages.first().map_or("", String::as_str);
        let values = params![namespace.to_string(), piece.transcript, message, piece.quote];
        self.query_all(&sql, values, memory_from_row)
    }
}
