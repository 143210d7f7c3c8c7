//! Finding memories by their words.
//!
//! All memories are in the index whatever their status, and the filter is a join: one path serves recall, the inbox
//! and the search for what was forgotten, and a change of status costs no re-indexing.

use std::collections::HashSet;

use rusqlite::params;
use rusqlite::types::Value;

use super::filter::{Clauses, Filter};
use super::memories::rows;
use super::ranking::Seq;
use super::row::{MEMORY_COLUMNS, MEMORY_TABLES, memory_from_row};
use super::words::{Query, folded, indexed};
use super::{Database, StoreError, Writer, normalised_hash};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Status};

/// How much a hit weighs in title, content, summary, tags, subject and evidence.
const COLUMN_WEIGHTS: &str = "3.0, 2.0, 1.5, 2.0, 2.0, 1.0";

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// SQLite's BM25 over all indexed texts: lower is better. 0 for one that was found by its letters alone.
    pub bm25: f64,
    /// Words of the query that stand in the memory itself, in the query's order and in lower case.
    pub matched: Vec<String>,
}

/// What close memories are looked for by.
#[derive(Debug, Clone, Copy)]
pub struct Likeness<'a> {
    /// Where to look.
    pub namespace: &'a Namespace,
    /// What the claim says.
    pub text: &'a str,
    /// Its attribute.
    pub key: Option<&'a str>,
    /// Its topic.
    pub subject: Option<&'a str>,
}

impl Database {
    /// Returns at most `limit` memories that hold any word of `query` and pass `filter`, best first.
    ///
    /// Any text is a query. Where it has no words, or none is found, memories that hold it letter by letter come
    /// instead; a blank one finds nothing.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn search_candidates(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>, StoreError> {
        self.at_once(|db| {
            let hits = db.word_hits(query, filter, limit)?;
            let memories = db.in_rows(&hits.iter().map(|(seq, _)| *seq).collect::<Vec<_>>())?;
            let hit = |(memory, (_, score)): (Memory, (Seq, f64))| Hit {
                matched: db.words_in(query, &memory),
                memory,
                bm25: -score,
            };
            Ok(memories.into_iter().zip(hits).map(hit).collect())
        })
    }

    /// Returns the rows of [`Database::search_candidates`], each with a number that is greater the better it fits; 0
    /// for one that was found by its letters alone.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn word_hits(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<(Seq, f64)>, StoreError> {
        let hits = match Query::of(query).expression() {
            Some(expression) => self.hits(&expression, filter, limit)?,
            None => Vec::new(),
        };
        if hits.is_empty() { self.hits_by_letters(query, filter, limit) } else { Ok(hits) }
    }

    /// Returns the words of `query` that stand in the memory's own texts, in the query's order and in lower case; a
    /// longer word with the same beginning counts. All of the query where it has no words.
    #[must_use]
    pub fn words_in(&self, query: &str, memory: &Memory) -> Vec<String> {
        let words = Query::of(query).words;
        let words = if words.is_empty() { vec![letters(query)] } else { words };
        let claim = &memory.claim;
        let subject = claim.subject.as_deref().unwrap_or_default();
        let text = folded(&[claim.title.as_str(), &claim.content, subject, &claim.tags.join(" ")].join("\n"));
        words.into_iter().map(|word| folded(&word)).filter(|word| !word.is_empty() && text.contains(word)).collect()
    }

    /// Returns at most `limit` active or pending memories close to a claim: those with the same words, those with
    /// the same attribute, and those that share words, taken in turn.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn neighbours(&self, likeness: &Likeness<'_>, limit: usize) -> Result<Vec<Memory>, StoreError> {
        let filter = Filter {
            statuses: vec![Status::Active, Status::Pending],
            ..Filter::exactly(std::slice::from_ref(likeness.namespace))
        };
        let same_words = self.by_content(likeness.namespace, likeness.text)?;
        let same_key = likeness.key.map(|key| self.by_key(likeness.namespace, key)).transpose()?.unwrap_or_default();
        let asked = [likeness.subject.unwrap_or_default(), likeness.text].join(" ");
        let words = Query::of(&asked);
        let similar = match words.expression() {
            Some(expression) => self.hits(&expression, &filter, limit)?,
            None => Vec::new(),
        };
        let similar = self.in_rows(&similar.into_iter().map(|(seq, _)| seq).collect::<Vec<_>>())?;
        Ok(taken_in_turn([same_words, same_key, similar], limit))
    }

    /// Returns the active and pending memories with the same normalised content, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn by_content(&self, namespace: &Namespace, content: &str) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| {
            let sql = format!(
                "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.content_hash = ?1 AND m.namespace = ?2
                 AND m.status IN ('active', 'pending') ORDER BY m.created_at, m.id"
            );
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map([normalised_hash(content), namespace.to_string()], memory_from_row)?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Whether `namespace` holds, or once held, a memory that says `content`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn ever_held(&self, namespace: &Namespace, content: &str) -> Result<bool, StoreError> {
        self.read(|conn| {
            let sql = "SELECT EXISTS (SELECT 1 FROM memories WHERE content_hash = ?1 AND namespace = ?2)";
            let values = [normalised_hash(content), namespace.to_string()];
            Ok(conn.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
        })
    }

    fn hits(&self, expression: &str, filter: &Filter, limit: usize) -> Result<Vec<(Seq, f64)>, StoreError> {
        let mut clauses = Clauses::default();
        clauses.push("memory_words MATCH ?", [Value::from(expression.to_owned())]);
        clauses.extend(Clauses::of(filter));
        let sql = format!(
            "SELECT m.seq, bm25(memory_words, {COLUMN_WEIGHTS}) AS bm25
             FROM memory_words JOIN memories m ON m.seq = memory_words.rowid
             WHERE {} ORDER BY bm25, m.id LIMIT {}",
            clauses.sql(),
            rows(limit),
        );
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(rusqlite::params_from_iter(clauses.values), |row| {
                Ok((Seq(row.get(0)?), -row.get::<_, f64>(1)?))
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    fn hits_by_letters(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<(Seq, f64)>, StoreError> {
        let text = letters(query);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let mut clauses = Clauses::of(filter);
        clauses.containing(&text);
        let sql = format!(
            "SELECT m.seq FROM memories m WHERE {} ORDER BY m.updated_at DESC, m.id DESC LIMIT {}",
            clauses.sql(),
            rows(limit),
        );
        self.read(|conn| {
            let mut statement = conn.prepare_cached(&sql)?;
            let found =
                statement.query_map(rusqlite::params_from_iter(clauses.values), |row| Ok((Seq(row.get(0)?), 0.0)))?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }
}

/// Returns what of a query is looked for letter by letter.
fn letters(query: &str) -> String {
    query.replace('\0', "").trim().chars().take(200).collect()
}

impl Writer<'_> {
    /// Brings the index up to date with the memory and its evidence.
    pub(super) fn index(&self, id: &MemoryId) -> Result<(), StoreError> {
        let memory = self.memory(id)?;
        self.index_words(&memory)?;
        self.index_near(&memory)
    }

    /// Indexes a memory as it is given, with its evidence as it is kept, for those who search.
    pub(super) fn index_words(&self, memory: &Memory) -> Result<(), StoreError> {
        let id = &memory.id;
        let quotes: Vec<String> = self.evidence(id)?.into_iter().map(|Evidence { quote, .. }| quote).collect();
        let claim = &memory.claim;
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO memory_words (rowid, title, content, summary, tags, subject, evidence)
                 VALUES ((SELECT seq FROM memories WHERE id = ?1), ?2, ?3, ?4, ?5, ?6, ?7)",
            )?
            .execute(params![
                id.as_str(),
                indexed(&claim.title),
                indexed(&claim.content),
                indexed(claim.summary.as_deref().unwrap_or_default()),
                indexed(&claim.tags.join(" ")),
                indexed(claim.subject.as_deref().unwrap_or_default()),
                indexed(&quotes.join("\n")),
            ])?;
            Ok(())
        })
    }
}

/// Takes the first of each list, then the second of each, and so on; a memory comes once.
fn taken_in_turn<const N: usize>(lists: [Vec<Memory>; N], limit: usize) -> Vec<Memory> {
    let mut lists = lists.map(Vec::into_iter);
    let mut seen = HashSet::new();
    let mut taken = Vec::new();
    loop {
        let mut any = false;
        for list in &mut lists {
            let Some(memory) = list.find(|memory| !seen.contains(&memory.id)) else { continue };
            if taken.len() == limit {
                return taken;
            }
            any = true;
            seen.insert(memory.id.clone());
            taken.push(memory);
        }
        if !any {
            return taken;
        }
    }
}
