//! Checks a file: its pages, its references, its indexes, and its history against its rows.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension as _};
use serde::Serialize;

use super::recorded::{EvidenceKey, RecordedMemory, evidence_key};
use crate::memory::MemoryId;
use crate::store::index::words::unpacked;
use crate::store::index::words::{TERM_BYTES, each_texts};
use crate::store::row::count;
use crate::store::terms::Stems;
use crate::store::{Database, StoreError};

/// Number of flaws of each kind that are listed individually; further flaws are only counted.
const NAMED: usize = 3;
/// SQLite's messages about an index that does not agree with its table.
const INDEX_FLAWS: [&str; 3] = ["missing from index", "wrong # of entries in index", "non-unique entry in index"];

/// Kinds of flaws.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FlawKind {
    /// Pages of the file cannot be read or contradict each other.
    Damaged,
    /// A row refers to another row that does not exist.
    Dangling,
    /// A memory has no row with usage counts, so no query finds the memory.
    Uncounted,
    /// The index of words lacks a memory, contains a memory that does not exist, or contains different words for a
    /// memory.
    WordIndex,
    /// The index of near claims lacks a memory or contains a memory that does not exist.
    NearIndex,
    /// A vector does not belong to its memory.
    Vectors,
    /// A stored number of memories differs from the actual number.
    Counts,
    /// A memory or its evidence differs from its history.
    History,
}

/// A flaw.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Flaw {
    /// The kind of the flaw.
    pub kind: FlawKind,
    /// A description, with the first places in which the flaw occurs.
    pub what: String,
    /// Number of occurrences; 1 if occurrences are not counted.
    pub count: usize,
}

/// The result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Checked {
    /// Number of memories that were checked, including memories of every status.
    pub memories: usize,
    /// Number of history entries that were checked.
    pub history: usize,
    /// The flaws, in the order of kinds.
    pub flaws: Vec<Flaw>,
}

impl Checked {
    fn add(&mut self, kind: FlawKind, what: impl Into<String>, count: usize) {
        if count > 0 {
            self.flaws.push(Flaw { kind, what: what.into(), count });
        }
    }

    fn add_each(&mut self, kind: FlawKind, what: &str, places: &[String]) {
        let more = if places.len() > NAMED { ", …" } else { "" };
        let named = places.iter().take(NAMED).cloned().collect::<Vec<_>>().join(", ");
        self.add(kind, format!("{what}: {named}{more}"), places.len());
    }
}

impl Database {
    /// Checks everything in a snapshot of the file, without writing.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read at all; damage that can be located is reported as a flaw.
    pub fn check(&self) -> Result<Checked, StoreError> {
        self.at_once(|db| {
            let mut checked = Checked::default();
            db.examine_pages("integrity_check", &mut checked)?;
            // The other checks read through the same pages; if pages are damaged, these checks would fail or report
            // spurious flaws.
            if checked.flaws.is_empty() {
                db.check_rows(&mut checked)?;
                db.check_history(&mut checked)?;
            }
            // A stable sort keeps flaws of one kind in the order in which they were found.
            checked.flaws.sort_by_key(|flaw| flaw.kind);
            Ok(checked)
        })
    }

    /// Returns whether pages cannot be read, or contradict each other in a way that rebuilding indexes cannot fix.
    pub(super) fn pages_are_damaged(&self) -> Result<bool, StoreError> {
        let said = self.page_report("integrity_check");
        // Rebuilding the indexes fixes these flaws, without copying every row to a new file.
        let is_of_index = |line: &String| line == "ok" || INDEX_FLAWS.iter().any(|flaw| line.contains(flaw));
        match said {
            Ok(said) => Ok(!said.iter().all(is_of_index)),
            // The damage may affect the pages that the check itself reads.
            Err(StoreError::Corrupt { .. }) => Ok(true),
            Err(error) => Err(error),
        }
    }

    /// Checks only whether the pages can be read and are consistent, which is quick.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read at all.
    pub(crate) fn check_quickly(&self) -> Result<Vec<Flaw>, StoreError> {
        let mut checked = Checked::default();
        self.examine_pages("quick_check", &mut checked)?;
        Ok(checked.flaws)
    }
}

/// Maximum number of messages about damage.
const MOST: usize = 20;

impl Database {
    /// Damage that prevents the check from continuing is a flaw like any other.
    fn examine_pages(&self, pragma: &str, checked: &mut Checked) -> Result<(), StoreError> {
        match self.page_report(pragma) {
            Ok(said) => {
                let flaws: Vec<String> = said.into_iter().filter(|line| line != "ok").collect();
                checked.add_each(FlawKind::Damaged, "inconsistent pages", &flaws);
            }
            Err(error @ StoreError::Corrupt { .. }) => checked.add(FlawKind::Damaged, error.to_string(), 1),
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Returns SQLite's messages about the pages.
    fn page_report(&self, pragma: &str) -> Result<Vec<String>, StoreError> {
        self.query_all(&format!("PRAGMA {pragma}({MOST})"), (), |row| row.get(0))
    }

    fn check_rows(&self, checked: &mut Checked) -> Result<(), StoreError> {
        self.read(|conn| {
            checked.memories = count(conn, "memories")?;
            checked.history = count(conn, "history")?;
            for (kind, what, sql) in WRONG_ROWS {
                checked.add_each(kind, what, &places(conn, sql)?);
            }
            // Words can be compared only if each memory is in one place of the index.
            if !checked.flaws.iter().any(|flaw| flaw.what.starts_with(NOT_ONCE)) {
                let other = indexed_otherwise(conn)?;
                checked.add_each(FlawKind::WordIndex, "row numbers of memories with wrong words in the index", &other);
            }
            Ok(())
        })
    }
}

const NOT_ONCE: &str = "memories that are not indexed exactly once";

/// Rows that must not exist: the kind of flaw, its description, and a query for the rows.
const WRONG_ROWS: [(FlawKind, &str, &str); 8] = [
    (
        FlawKind::Dangling,
        "orphaned rows",
        r#"SELECT "table" || ' ' || ifnull(rowid, '') || ' without its row in ' || parent FROM pragma_foreign_key_check"#,
    ),
    (
        FlawKind::Uncounted,
        "memories without usage counts",
        "SELECT id FROM memories WHERE id NOT IN (SELECT memory_id FROM memory_usage) ORDER BY id",
    ),
    (
        FlawKind::WordIndex,
        "row numbers of indexed memories that do not exist",
        "SELECT seq FROM (SELECT seq FROM search_recent UNION ALL SELECT seq FROM search_docs
                          UNION ALL SELECT seq FROM search_letters)
         WHERE seq NOT IN (SELECT seq FROM memories) ORDER BY seq",
    ),
    (
        FlawKind::WordIndex,
        NOT_ONCE,
        "SELECT m.id FROM memories m WHERE (SELECT count(*) FROM search_recent r WHERE r.seq = m.seq)
         + (SELECT count(*) FROM search_docs d WHERE d.seq = m.seq) <> 1 ORDER BY m.seq",
    ),
    (
        FlawKind::NearIndex,
        "memories missing from the index of near claims",
        "SELECT id FROM memories WHERE seq NOT IN (SELECT id FROM memory_near_docsize) ORDER BY seq",
    ),
    (
        FlawKind::NearIndex,
        "entries without a memory in the index of near claims",
        "SELECT id FROM memory_near_docsize WHERE id NOT IN (SELECT seq FROM memories) ORDER BY id",
    ),
    (
        FlawKind::Vectors,
        "row numbers of vectors that do not match their memory",
        "SELECT v.seq FROM vectors v JOIN vector_models k ON k.id = v.model_id
         JOIN memories m ON m.seq = v.seq
         WHERE length(v.vector) <> 4 * k.dimension OR length(v.code) <> 4 + (k.dimension + 7) / 8
         OR v.namespace <> m.namespace OR m.status = 'forgotten' ORDER BY v.seq",
    ),
    (
        FlawKind::Counts,
        "wrong numbers of memories",
        "SELECT DISTINCT of || ' ' || name || ' of ' || namespace FROM (
            SELECT * FROM (SELECT * FROM memory_counts EXCEPT SELECT * FROM memory_counts_anew)
            UNION ALL SELECT * FROM (SELECT * FROM memory_counts_anew EXCEPT SELECT * FROM memory_counts)) ORDER BY 1",
    ),
];

/// A compact representation of the terms of one memory: their number, and a sum that identifies them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u32,
    sum: u64,
}

impl Sum {
    const fn add(&mut self, term: i64, weight: u8) {
        self.count += 1;
        // The sum does not depend on the order of the terms.
        let mixed = (term.cast_unsigned() ^ ((weight as u64) << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(mixed ^ (mixed >> 29));
    }

    fn of(terms: impl IntoIterator<Item = (i64, u8)>) -> Self {
        let mut sum = Self::default();
        terms.into_iter().for_each(|(term, weight)| sum.add(term, weight));
        sum
    }
}

fn places(conn: &Connection, sql: &str) -> Result<Vec<String>, StoreError> {
    let mut statement = conn.prepare(sql)?;
    let found = statement.query_map((), |row| {
        let value: rusqlite::types::Value = row.get(0)?;
        Ok(match value {
            rusqlite::types::Value::Integer(number) => number.to_string(),
            rusqlite::types::Value::Text(text) => text,
            other => format!("{other:?}"),
        })
    })?;
    Ok(found.collect::<Result<_, _>>()?)
}

/// Returns the rows whose indexed words differ from their text.
fn indexed_otherwise(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let sums = sums_of_segments(conn)?;
    let mut document = conn.prepare("SELECT doc FROM search_docs WHERE seq = ?1")?;
    let mut letters = conn.prepare("SELECT letters FROM search_letters WHERE seq = ?1")?;
    let mut waiting = conn.prepare("SELECT terms FROM search_recent WHERE seq = ?1")?;
    let (mut stems, mut other) = (Stems::new(), Vec::new());
    each_texts(conn, "1", |seq, _, texts| {
        let wanted = Sum::of(texts.terms(&mut stems).weights);
        let bits: Option<Vec<u8>> = letters.query_row([seq], |row| row.get(0)).optional()?;
        let doc: Option<i64> = document.query_row([seq], |row| row.get(0)).optional()?;
        let found = match doc {
            Some(doc) => sum_of(&sums, doc),
            None => waiting.query_row([seq], |row| Ok(waiting_sum(row.get_ref(0)?.as_blob().unwrap_or_default())))?,
        };
        if found != wanted || bits.as_deref() != Some(&texts.letters()) {
            other.push(seq.to_string());
        }
        Ok(())
    })?;
    Ok(other)
}

fn waiting_sum(bytes: &[u8]) -> Sum {
    Sum::of(bytes.chunks_exact(TERM_BYTES).filter_map(|bytes| {
        let (number, weight) = bytes.split_first_chunk::<8>()?;
        Some((i64::from_be_bytes(*number), *weight.first()?))
    }))
}

/// Number of documents that no segment reaches, because full segments are not merged. In a damaged list, document numbers
/// may be of any size.
const MAX_SEGMENT: usize = 1 << 24;

/// Returns the sums of the documents of each segment, including void documents, by the number of its first document.
fn sums_of_segments(conn: &Connection) -> Result<BTreeMap<i64, Vec<Sum>>, StoreError> {
    // All segments are read in one pass, because looking up each memory would read every list of a term again.
    let mut sums: BTreeMap<i64, Vec<Sum>> = BTreeMap::new();
    let mut statement = conn
        .prepare("SELECT s.first, p.term, p.docs FROM search_segments s JOIN search_postings p ON p.segment = s.id")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (first, term): (i64, i64) = (row.get(0)?, row.get(1)?);
        let sums = sums.entry(first).or_default();
        unpacked(row.get_ref(2)?.as_blob().unwrap_or_default(), &(0..u32::MAX), |posting| {
            let document = posting.document as usize;
            if (sums.len()..MAX_SEGMENT).contains(&document) {
                sums.resize(document + 1, Sum::default());
            }
            if let Some(sum) = sums.get_mut(document) {
                sum.add(term, posting.weight);
            }
        });
    }
    Ok(sums)
}

/// Returns the sum of a document; empty if no segment contains it.
fn sum_of(sums: &BTreeMap<i64, Vec<Sum>>, document: i64) -> Sum {
    let segment = sums.range(..=document).next_back();
    let sum = segment.and_then(|(first, sums)| sums.get(usize::try_from(document - first).ok()?));
    sum.copied().unwrap_or_default()
}

const ENTRIES: &str = "SELECT memory_id, entity, before, after FROM history WHERE entity IN ('memory', 'evidence') ORDER BY memory_id, id";

impl Database {
    fn check_history(&self, checked: &mut Checked) -> Result<(), StoreError> {
        let (mut memories, mut evidence) = (Vec::new(), Vec::new());
        self.read(|conn| {
            let mut statement = conn.prepare(ENTRIES)?;
            let mut rows = statement.query(())?;
            let (mut current, mut replayed): (Option<String>, RecordedMemory) = (None, RecordedMemory::default());
            while let Some(row) = rows.next()? {
                let id: String = row.get(0)?;
                if current.as_ref() != Some(&id) {
                    if let Some(done) = current.replace(id) {
                        self.compare(&done, &replayed, &mut memories, &mut evidence)?;
                    }
                    replayed = RecordedMemory::default();
                }
                replayed.replay(row, 1)?;
            }
            if let Some(done) = current {
                self.compare(&done, &replayed, &mut memories, &mut evidence)?;
            }
            Ok(())
        })?;
        checked.add_each(FlawKind::History, "memories that differ from their history", &memories);
        checked.add_each(FlawKind::History, "memories whose evidence differs from their history", &evidence);
        Ok(())
    }

    fn compare(
        &self,
        id: &str,
        replayed: &RecordedMemory,
        memories: &mut Vec<String>,
        evidence: &mut Vec<String>,
    ) -> Result<(), StoreError> {
        if !replayed.is_known {
            return Ok(());
        }
        let id = MemoryId::from_stored(id);
        let found = self.find(&id)?;
        if !replayed.is_like(found.as_ref()) {
            memories.push(id.to_string());
        }
        let stored: BTreeSet<EvidenceKey> = self.evidence(&id)?.iter().map(evidence_key).collect();
        // Evidence is deleted together with its memory, without separate entries.
        if found.is_some() && !stored.iter().eq(replayed.evidence.keys()) {
            evidence.push(id.to_string());
        }
        Ok(())
    }
}

#[cfg(test)]
#[path = "check_tests.rs"]
mod tests;
