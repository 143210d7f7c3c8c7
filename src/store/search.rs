//! Finding memories by their words.
//!
//! All memories are in the index whatever their status, and the filter is a join: one path serves recall, the inbox
//! and the search for what was forgotten, and a change of status costs no re-indexing. `word_index` keeps the index,
//! `word_search` reads it.

use std::borrow::Borrow;
use std::collections::HashSet;

use super::filter::{Clauses, Filter};
use super::memories::rows;
use super::ranking::Seq;
use super::row::{MEMORY_COLUMNS, MEMORY_TABLES, memory_from_row};
use super::terms::Stems;
use super::word_index::{self, Entry, Texts};
use super::word_search::look_up;
use super::words::{Query, folded};
use super::{Database, StoreError, Writer, normalised_hash};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Status};

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// BM25 over all indexed texts, below 0: lower is better. 0 for one that was found by its letters alone.
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
        let hits = self.hits(&Query::of(query), filter, limit)?;
        if hits.is_empty() { self.hits_by_letters(query, filter, limit) } else { Ok(hits) }
    }

    /// Returns the words of `query` that stand in the memory's own texts, in the query's order and in lower case; a
    /// longer word with the same beginning counts. All of the query where it has no words.
    #[must_use]
    pub fn words_in(&self, query: &str, memory: &Memory) -> Vec<String> {
        let claim = &memory.claim;
        let subject = claim.subject.as_deref().unwrap_or_default();
        let text = folded(&[claim.title.as_str(), &claim.content, subject, &claim.tags.join(" ")].join("\n"));
        self.words_of(query).into_iter().filter(|word| text.contains(word)).collect()
    }

    /// Returns the words of `query` in lower case, those left out that tell little; all of it where it has no words.
    #[must_use]
    pub fn words_of(&self, query: &str) -> Vec<String> {
        let words = Query::of(query).words;
        let words = if words.is_empty() { vec![folded(&letters(query))] } else { words };
        words.into_iter().filter(|word| !word.is_empty()).collect()
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
        let similar = self.hits(&Query::of(&asked), &filter, limit)?;
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

    fn hits(&self, query: &Query, filter: &Filter, limit: usize) -> Result<Vec<(Seq, f64)>, StoreError> {
        if query.sought.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        self.read(|conn| look_up(conn, &mut self.stems.borrow_mut(), query, filter)?.best(conn, filter, limit))
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
        let quotes: Vec<String> = self.evidence(&memory.id)?.into_iter().map(|Evidence { quote, .. }| quote).collect();
        self.read(|conn| {
            let seq = conn
                .prepare_cached("SELECT seq FROM memories WHERE id = ?1")?
                .query_row([memory.id.as_str()], |row| row.get(0))?;
            let entry = entry(memory, &quotes, &mut self.stems.borrow_mut());
            word_index::put(conn, seq, &memory.namespace.to_string(), &entry)
        })
    }
}

/// Returns what of a memory with these quotes is searched.
pub(super) fn entry<Q: Borrow<str>>(memory: &Memory, quotes: &[Q], stems: &mut Stems) -> Entry {
    let claim = &memory.claim;
    let texts = Texts {
        title: &claim.title,
        content: &claim.content,
        summary: claim.summary.as_deref().unwrap_or_default(),
        tags: &claim.tags.join(" "),
        subject: claim.subject.as_deref().unwrap_or_default(),
        key: &[claim.key.as_deref(), claim.value.as_deref()].map(Option::unwrap_or_default).join(" "),
        evidence: &quotes.join("\n"),
    };
    texts.entry(stems)
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
