//! Word search by BM25.
//!
//! All memories are in the index, regardless of status, and the filter is a join. One code path therefore serves
//! search, the inbox and the search for forgotten memories, and a change of status requires no re-indexing.
//!
//! The search is exact: for each word, all postings of the searched namespaces are read, and the scores are added up in
//! an array with an element for each memory. The rarity of a word is computed only from these namespaces, so that the
//! ranking in one namespace does not depend on another.

use std::borrow::Borrow;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;

use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};

use super::ranking::Seq;
use super::words::{self, Entry, Texts, length_code, length_of, parts_text, unpacked, weight_in};
use super::{count, in_turn, letters};
use crate::memory::{Claim, Evidence, Memory, MemoryId, Namespace, Status};
use crate::store::memories::filter::{Clauses, Filter};
use crate::store::memories::row::{MEMORY_COLUMNS, MEMORY_TABLES, memory_from_row};
use crate::store::row::{rows, to_json};
use crate::store::terms::Languages;
use crate::store::terms::Stems;
use crate::store::{Database, StoreError, Writer};
use crate::text::normalise::{folded, normalised_hash};
use crate::text::tokens::{Query, Sought, contains_phrase, is_stop};

/// Maximum number of words of a query that is compared with sources.
const MAX_SOURCE_WORDS: usize = 8;
/// Score of a memory that is found only by its source, relative to the best match.
const SOURCE_SHARE: f64 = 0.5;
/// The condition that a person or an agent specified the source of the memory `m`, such as a path. It is the condition
/// of the index `memories_by_given_source`, which SQLite uses only if the text is the same.
const GIVEN_SOURCE: &str =
    "m.extraction_method <> 'auto' AND m.source NOT IN ('mcp', 'remember', 'import', 'library', 'consolidate')
    AND m.source NOT GLOB 'hook:*' AND m.source NOT GLOB 'import:*'";

/// A memory that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The memory.
    pub memory: Memory,
    /// BM25 score for all indexed texts, less than 0; lower is better. The score is 0 if the memory was found only by a
    /// literal match.
    pub bm25: f64,
    /// Words of the query that appear in the memory itself, in lower case and in the order of the query.
    pub matched: Vec<String>,
}

/// A memory that the words of a query found.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct WordHit {
    /// Row of the memory.
    pub(crate) seq: Seq,
    /// A number that increases with relevance; 0 if the memory was found only by a literal match.
    pub(crate) score: f64,
    /// The part of the score that each word of the query contributes, in the order of the query. Empty if the memory was
    /// found by something else, such as its source.
    pub(crate) gains: Vec<f32>,
}

impl WordHit {
    /// Returns a hit that was found by something else than words.
    pub(crate) const fn without_words(seq: Seq, score: f64) -> Self {
        Self { seq, score, gains: Vec::new() }
    }
}

/// A claim for which close memories are searched.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Likeness<'a> {
    /// The namespace to search.
    pub namespace: &'a Namespace,
    /// The text of the claim.
    pub text: &'a str,
    /// The attribute of the claim.
    pub key: Option<&'a str>,
    /// The topic of the claim.
    pub subject: Option<&'a str>,
}

impl Database {
    /// Returns at most `limit` memories that contain any word of `query` and pass `filter`, best first.
    ///
    /// Any text is a valid query. If the query has no words, or no memory contains any of its words, the result
    /// consists of memories that contain the query literally. A blank query finds nothing.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn search_candidates(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Hit>, StoreError> {
        self.at_once(|db| {
            let hits = db.word_hits(query, filter, limit)?;
            let memories = db.in_rows(&rows_of(&hits))?;
            let hit = |(memory, hit): (Memory, WordHit)| Hit {
                matched: Self::words_in(query, &memory),
                memory,
                bm25: -hit.score,
            };
            Ok(memories.into_iter().zip(hits).map(hit).collect())
        })
    }

    /// Returns the rows of [`Database::search_candidates`] with their scores. A memory whose source contains all words of a
    /// short query is found as well, and counts half as much as the best match.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn word_hits(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<WordHit>, StoreError> {
        let asked = Query::of(query);
        let mut hits = self.hits(&asked, filter, limit)?;
        for phrase in &asked.phrases {
            self.lift_holders(phrase, filter, &mut hits, limit)?;
        }
        let by_source = self.hits_by_source(&asked.words, filter, limit)?;
        if hits.is_empty() && by_source.is_empty() {
            // A literal search may read all memories, so it is tried only if words find nothing. A memory that contains
            // a whole query also contains the words inside the query.
            if has_inner_word(query, &asked) {
                return Ok(hits);
            }
            let literal = self.hits_by_letters(query, filter, limit)?;
            return Ok(literal.into_iter().map(|seq| WordHit::without_words(seq, 0.0)).collect());
        }
        let score = hits.first().map_or(1.0, |best| best.score * SOURCE_SHARE);
        let missing = by_source.into_iter().filter(|seq| hits.iter().all(|hit| hit.seq != *seq));
        let missing: Vec<_> = missing.map(|seq| WordHit::without_words(seq, score)).collect();
        hits.extend(missing);
        // The sort is stable, so equally good hits keep their order.
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        Ok(hits)
    }

    /// Moves the memories that contain `phrase` before all others, since no word of the index distinguishes them.
    fn lift_holders(
        &self,
        phrase: &str,
        filter: &Filter,
        hits: &mut Vec<WordHit>,
        limit: usize,
    ) -> Result<(), StoreError> {
        let lift = 2.0 * hits.iter().map(|hit| hit.score).fold(1.0, f64::max);
        for seq in self.hits_by_letters(phrase, filter, limit)? {
            let holds = |memory: &Memory| contains_phrase(&folded(&Self::own_text(&memory.claim)), phrase);
            if !self.in_rows(&[seq])?.iter().any(holds) {
                continue;
            }
            match hits.iter_mut().find(|hit| hit.seq == seq) {
                Some(hit) => hit.score += lift,
                None => hits.push(WordHit::without_words(seq, lift)),
            }
        }
        hits.sort_by(|a, b| b.score.total_cmp(&a.score));
        hits.truncate(limit);
        Ok(())
    }

    /// Returns memories whose source contains all of `words`, latest first. Sources that only name the program that
    /// wrote the memory do not count.
    fn hits_by_source(&self, words: &[String], filter: &Filter, limit: usize) -> Result<Vec<Seq>, StoreError> {
        // All given sources are read, so this is done only for a query that may name one, not for a whole prompt.
        if words.is_empty() || words.len() > MAX_SOURCE_WORDS {
            return Ok(Vec::new());
        }
        let named = "holds(?, m.source)";
        let given = format!("memories m INDEXED BY memories_by_given_source WHERE {GIVEN_SOURCE}");
        let mut clauses = Clauses::of(filter);
        clauses.push(
            format!("m.source IN (SELECT m.source FROM {given} AND {})", vec![named; words.len()].join(" AND ")),
            words.iter().cloned().map(Value::from),
        );
        let sql = format!(
            "SELECT m.seq FROM {given} AND {} ORDER BY m.updated_at DESC, m.id DESC LIMIT {}",
            clauses.sql(),
            rows(limit),
        );
        self.query_all(&sql, params_from_iter(clauses.values), |row| Ok(Seq(row.get(0)?)))
    }

    /// Returns memories with evidence from conversations whose titles contain all words of a short query at the
    /// beginnings of their words, latest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn hits_by_title(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Seq>, StoreError> {
        let words = Query::of(query).words;
        // All titles are read, so this is done only for a query that may name one, not for a whole prompt.
        if words.is_empty() || words.len() > MAX_SOURCE_WORDS {
            return Ok(Vec::new());
        }
        let mut clauses = Clauses::default();
        // Text without spaces has no beginnings of words.
        let sought = words.iter().map(|word| if word.is_ascii() { format!(" {word}") } else { word.clone() });
        clauses.push(vec!["holds(?, ' ' || t.title)"; words.len()].join(" AND "), sought.map(Value::from));
        let others = Clauses::of(filter);
        let sql = format!(
            "SELECT m.seq FROM memories m WHERE m.id IN (SELECT e.memory_id FROM transcripts t
             CROSS JOIN evidence e ON e.transcript = t.key WHERE t.title IS NOT NULL AND {}) AND {}
             ORDER BY m.updated_at DESC, m.id DESC LIMIT {}",
            clauses.sql(),
            others.sql(),
            rows(limit),
        );
        clauses.values.extend(others.values);
        self.query_all(&sql, params_from_iter(clauses.values), |row| Ok(Seq(row.get(0)?)))
    }

    /// Returns the words of `query` that appear in the memory's own texts in any form, in lower case and in the order
    /// of the query. A longer word with the same beginning counts as well. Returns the whole query if it has no words.
    pub(crate) fn words_in(query: &str, memory: &Memory) -> Vec<String> {
        let words = Self::words_of(query);
        let forms = Self::forms_in(&words, &Self::own_text(&memory.claim));
        words.into_iter().zip(forms).filter(|(_, forms)| !forms.is_empty()).map(|(word, _)| word).collect()
    }

    /// Returns the claim's own texts, as opposed to its evidence, in which the words of a query are looked for.
    pub(crate) fn own_text(claim: &Claim) -> String {
        let subject = claim.subject.as_deref().unwrap_or_default();
        [claim.title.as_str(), &claim.content, subject, &claim.tags.join(" "), &parts_of(claim)].join("\n")
    }

    /// Returns for each of `words` the forms in which it appears in `text`, in lower case.
    pub(crate) fn forms_in(words: &[String], text: &str) -> Vec<Vec<String>> {
        let text = folded(text);
        // Text without spaces cannot be divided into words here, and the beginning of a longer word also counts.
        let is_literal: Vec<bool> = words.iter().map(|word| text.contains(word)).collect();
        // Recognising the language and stemming the text take far longer, so only words that require it are stemmed.
        let wanted: Vec<&str> =
            words.iter().zip(&is_literal).filter(|(_, is)| !**is).map(|(word, _)| word.as_str()).collect();
        let mut inflected = if wanted.is_empty() { Vec::new() } else { Stems::new().forms(&wanted, &text) }.into_iter();
        let forms = |(word, is_literal): (&String, bool)| {
            if is_literal { vec![word.clone()] } else { inflected.next().unwrap_or_default() }
        };
        words.iter().zip(is_literal).map(forms).collect()
    }

    /// Returns the words of `query` in lower case, without insignificant words; the whole query if it has no words.
    pub(crate) fn words_of(query: &str) -> Vec<String> {
        let words = Query::of(query).words;
        let words = if words.is_empty() { vec![folded(&literal(query))] } else { words };
        words.into_iter().filter(|word| !word.is_empty()).collect()
    }

    /// Returns at most `limit` active or pending memories close to a claim. Memories are taken alternately from those
    /// with the same words, the same attribute, and shared words.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn neighbours(&self, likeness: &Likeness<'_>, limit: usize) -> Result<Vec<Memory>, StoreError> {
        let filter = Filter {
            statuses: vec![Status::Active, Status::Pending],
            ..Filter::exactly(std::slice::from_ref(likeness.namespace))
        };
        let same_words = self.by_content(likeness.namespace, likeness.text)?;
        let same_key = likeness.key.map(|key| self.by_key(likeness.namespace, key)).transpose()?.unwrap_or_default();
        let asked = [likeness.subject.unwrap_or_default(), likeness.text].join(" ");
        let similar = self.hits(&Query::of(&asked), &filter, limit)?;
        let similar = self.in_rows(&rows_of(&similar))?;
        Ok(taken_in_turn([same_words, same_key, similar], limit))
    }

    /// Returns the active and pending memories with the same normalised content, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn by_content(&self, namespace: &Namespace, content: &str) -> Result<Vec<Memory>, StoreError> {
        let mut memories = self.with_words(namespace, content)?;
        memories.retain(|memory| matches!(memory.status, Status::Active | Status::Pending));
        Ok(memories)
    }

    /// Returns the memories of any status in `namespace` with the text `content`, oldest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn with_words(&self, namespace: &Namespace, content: &str) -> Result<Vec<Memory>, StoreError> {
        let sql = format!(
            "SELECT {MEMORY_COLUMNS} FROM {MEMORY_TABLES} WHERE m.content_hash = ?1 AND m.namespace = ?2
                 ORDER BY m.created_at, m.id"
        );
        self.query_all(&sql, [normalised_hash(content), namespace.to_string()], memory_from_row)
    }

    fn hits(&self, query: &Query, filter: &Filter, limit: usize) -> Result<Vec<WordHit>, StoreError> {
        if query.sought.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        self.read(|conn| look_up(conn, &mut self.stems.borrow_mut(), query, filter)?.best(conn, filter, limit))
    }

    fn hits_by_letters(&self, query: &str, filter: &Filter, limit: usize) -> Result<Vec<Seq>, StoreError> {
        let text = literal(query);
        if text.is_empty() {
            return Ok(Vec::new());
        }
        let mut clauses = Clauses::of(filter);
        clauses.containing(&text);
        let table = match self.read(|conn| letters::candidates(conn, &text))? {
            Some(rows) => {
                clauses.values.insert(0, Value::from(to_json(&rows)?));
                "json_each(?) w CROSS JOIN memories m ON m.seq = w.value"
            }
            // Reading all texts in the order of an index takes four times as long as in the order of the file.
            None if filter.namespaces.is_empty() => "memories m NOT INDEXED",
            None => "memories m",
        };
        let sql = format!(
            "SELECT m.seq FROM {table} WHERE {} ORDER BY m.updated_at DESC, m.id DESC LIMIT {}",
            clauses.sql(),
            rows(limit),
        );
        self.query_all(&sql, params_from_iter(clauses.values), |row| Ok(Seq(row.get(0)?)))
    }
}

fn rows_of(hits: &[WordHit]) -> Vec<Seq> {
    hits.iter().map(|hit| hit.seq).collect()
}

/// Returns whether a word that is looked up is inside the query, where it can be neither the end nor the beginning of a
/// longer word of a text that contains the query.
pub(super) fn has_inner_word(query: &str, asked: &Query) -> bool {
    let text = literal(query);
    let other = |letter: char| !letter.is_ascii_alphanumeric();
    // The words of other scripts depend on the letters around them.
    let inside = text.split(other).skip(1).filter(|_| text.is_ascii());
    let words: Vec<String> = inside.map(str::to_ascii_lowercase).collect();
    // Function words are not indexed, and neither is the ending of a possessive.
    let is_indexed = |word: &str| !is_stop(word) && word != "s";
    let is_sought = |word: &String| is_indexed(word) && asked.sought.contains(&Sought::Word(word.clone()));
    words.split_last().is_some_and(|(_, inner)| inner.iter().any(is_sought))
}

/// Returns the part of a query that is used for a literal search.
fn literal(query: &str) -> String {
    // A NUL would end the text within SQLite, and text that exceeds this length was probably pasted by accident.
    query.replace('\0', "").trim().chars().take(200).collect()
}

impl Writer<'_> {
    /// Updates the index with the memory and its evidence.
    pub(in crate::store) fn index(&self, id: &MemoryId) -> Result<(), StoreError> {
        let memory = self.memory(id)?;
        self.index_words(&memory)?;
        self.index_near(&memory)
    }

    /// Indexes the given memory with its stored evidence for word search.
    pub(in crate::store) fn index_words(&self, memory: &Memory) -> Result<(), StoreError> {
        let quotes: Vec<String> = self.evidence(&memory.id)?.into_iter().map(|Evidence { quote, .. }| quote).collect();
        self.read(|conn| {
            let seq = conn
                .prepare_cached("SELECT seq FROM memories WHERE id = ?1")?
                .query_row([memory.id.as_str()], |row| row.get(0))?;
            let entry = entry(memory, &quotes, &mut self.stems.borrow_mut());
            letters::put(conn, seq, &entry.letters)?;
            words::put(conn, seq, &memory.namespace.to_string(), &entry)
        })
    }
}

/// Returns the texts in the structured parts of a claim.
fn parts_of(claim: &Claim) -> String {
    let parts = claim.structured.as_ref().and_then(|parts| serde_json::to_value(parts).ok());
    parts.map_or_else(String::new, |parts| parts_text(&parts))
}

/// Returns the index entry of a memory with these quotes.
pub(in crate::store) fn entry<Q: Borrow<str>>(memory: &Memory, quotes: &[Q], stems: &mut Stems) -> Entry {
    let claim = &memory.claim;
    let texts = Texts {
        parts: &parts_of(claim),
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

/// Takes the first entry of each list, then the second of each, and so on, without taking any memory twice.
fn taken_in_turn<const N: usize>(lists: [Vec<Memory>; N], limit: usize) -> Vec<Memory> {
    let mut seen = HashSet::new();
    let mut taken = in_turn(lists, |memory| seen.insert(memory.id.clone()));
    taken.truncate(limit);
    taken
}

/// Saturation of BM25: how quickly the effect of further occurrences of a word in one memory levels off.
// K1 and B have the usual values of BM25, as in FTS5.
const K1: f64 = 1.2;
/// Influence of the length of a memory.
const B: f64 = 0.75;

/// Maximum number of additional, equally good memories that are read for each requested memory.
const EQUALLY_GOOD: usize = 8;

/// Maximum number of memories that contain a word for which the word's gain is kept for each of them.
// A more frequent word hardly distinguishes memories, and its list would take megabytes.
const KEPT_GAINS: usize = 65_536;

/// A range of documents that belong to the searched namespaces.
struct Stretch {
    segment: i64,
    /// Document numbers, relative to the first document of the segment.
    documents: Range<u32>,
    /// The number of the first document.
    first: i64,
    /// The index of the first document in the list of scores.
    place: usize,
}

/// A memory that is in no segment yet.
struct Waiting {
    seq: i64,
    length: u8,
    terms: Vec<u8>,
}

/// All memories that are searched.
struct Corpus {
    stretches: Vec<Stretch>,
    waiting: Vec<Waiting>,
    /// Number of documents in the stretches.
    documents: usize,
    /// The part of the BM25 formula that depends on a memory's length, by length code.
    norms: Vec<f64>,
    languages: Languages,
}

/// The scores of a search.
struct Scores {
    corpus: Corpus,
    /// Scores with their indices in the list; waiting memories come last.
    found: Vec<(f32, u32)>,
    /// For each word of the query, the indices of the memories that contain it, in order, with the word's part of the
    /// score. Empty for a very frequent word.
    gains: Vec<Vec<(u32, f32)>>,
}

/// Returns the scores of memories in the namespaces of `filter` that contain any word of `query`. [`Scores::best`]
/// applies the rest of the filter.
fn look_up(conn: &Connection, stems: &mut Stems, query: &Query, filter: &Filter) -> Result<Scores, StoreError> {
    let corpus = Corpus::of(conn, filter)?;
    // An array with an element for each document is faster than a map, and single precision halves the memory that must
    // be cleared.
    let mut scores = vec![0.0_f32; corpus.documents + corpus.waiting.len()];
    let mut holders: Vec<(u32, u8, u8)> = Vec::new();
    let mut gains = Vec::with_capacity(query.sought.len());
    for sought in &query.sought {
        holders.clear();
        let terms = stems.sought(sought, corpus.languages);
        for term in &terms {
            corpus.holders(conn, *term, &mut holders)?;
        }
        if terms.len() > 1 {
            // Several forms of one word in one memory count once, with the greatest of their weights.
            holders.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
            holders.dedup_by_key(|holder| holder.0);
        }
        let rarity = corpus.rarity(holders.len());
        let is_kept = holders.len() <= KEPT_GAINS;
        let mut kept = Vec::with_capacity(if is_kept { holders.len() } else { 0 });
        for (place, weight, length) in &holders {
            let weight = f64::from(*weight) / 2.0;
            let gain = single(rarity * weight * (K1 + 1.0) / (weight + corpus.norms[usize::from(*length)]));
            scores[*place as usize] += gain;
            if is_kept {
                kept.push((*place, gain));
            }
        }
        gains.push(kept);
    }
    let found = scores.iter().zip(0_u32..).filter(|(score, _)| **score > 0.0).map(|(score, place)| (*score, place));
    Ok(Scores { found: found.collect(), corpus, gains })
}

impl Scores {
    /// Returns at most `limit` of the found memories that pass `filter`, best first, and equally good memories by row.
    fn best(mut self, conn: &Connection, filter: &Filter, limit: usize) -> Result<Vec<WordHit>, StoreError> {
        let mut best: Vec<(Seq, f32, u32)> = Vec::new();
        // The number exceeds the limit, because a filter usually drops a few memories, and another round would need
        // another query.
        let mut step = limit.saturating_add(limit / 4).saturating_add(8);
        while best.len() < limit && !self.found.is_empty() {
            let taken = self.taken(step);
            let mut passed = self.passed(conn, &taken, filter)?;
            passed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.extend(passed);
            // The steps grow, because a filter that drops almost everything would otherwise need many queries.
            step = step.saturating_mul(4);
        }
        best.truncate(limit);
        let hit = |(seq, score, place)| WordHit { seq, score: f64::from(score), gains: self.gains_at(place) };
        Ok(best.into_iter().map(hit).collect())
    }

    /// Returns the gain of each word for the memory with this index.
    fn gains_at(&self, place: u32) -> Vec<f32> {
        let gain = |kept: &Vec<(u32, f32)>| {
            kept.binary_search_by_key(&place, |(place, _)| *place).map_or(0.0, |found| kept[found].1)
        };
        self.gains.iter().map(gain).collect()
    }

    /// Removes and returns the next best scores, together with all scores that are equal to the last of these, so that
    /// their rows can decide the order. If very many scores are equal, only those with the lowest places are returned.
    fn taken(&mut self, count: usize) -> Vec<(f32, u32)> {
        let order = |a: &(f32, u32), b: &(f32, u32)| a.0.total_cmp(&b.0).then(b.1.cmp(&a.1));
        let Some(left) = self.found.len().checked_sub(count).filter(|left| *left > 0) else {
            return std::mem::take(&mut self.found);
        };
        let (worse, (last, _), _) = self.found.select_nth_unstable_by(left, order);
        let last = *last;
        let equal = worse.iter().filter(|(score, _)| score.total_cmp(&last).is_eq()).count();
        let left = left - equal.min(count * EQUALLY_GOOD);
        if equal > 0 {
            self.found.select_nth_unstable_by(left, order);
        }
        self.found.split_off(left)
    }

    /// Returns the rows, scores and indices of memories that still exist and pass `filter`, in no particular order.
    fn passed(
        &self,
        conn: &Connection,
        taken: &[(f32, u32)],
        filter: &Filter,
    ) -> Result<Vec<(Seq, f32, u32)>, StoreError> {
        let (mut documents, mut waiting) = (BTreeMap::new(), BTreeMap::new());
        for (score, place) in taken {
            match (*place as usize).checked_sub(self.corpus.documents) {
                None => documents.insert(self.corpus.document(*place as usize), (*score, *place)),
                Some(at) => waiting.insert(self.corpus.waiting[at].seq, (*score, *place)),
            };
        }
        let clauses = Clauses::of(filter);
        let sources = [
            (
                "json_each(?) w CROSS JOIN search_docs d ON d.doc = w.value CROSS JOIN memories m ON m.seq = d.seq",
                documents,
            ),
            ("json_each(?) w CROSS JOIN memories m ON m.seq = w.value", waiting),
        ];
        let mut passed = Vec::new();
        for (source, scores) in sources {
            if scores.is_empty() {
                continue;
            }
            let sql = format!("SELECT w.value, m.seq FROM {source} WHERE {}", clauses.sql());
            let mut statement = conn.prepare_cached(&sql)?;
            let wanted = rusqlite::types::Value::from(to_json(&scores.keys().collect::<Vec<_>>())?);
            let mut rows = statement.query(params_from_iter(std::iter::once(wanted).chain(clauses.values.clone())))?;
            while let Some(row) = rows.next()? {
                let (score, place) = scores.get(&row.get(0)?).copied().unwrap_or_default();
                passed.push((Seq(row.get(1)?), score, place));
            }
        }
        Ok(passed)
    }
}

impl Corpus {
    fn of(conn: &Connection, filter: &Filter) -> Result<Self, StoreError> {
        let mut corpus =
            Self { stretches: Vec::new(), waiting: Vec::new(), documents: 0, norms: Vec::new(), languages: 0 };
        let words = corpus.read_segments(conn, filter)? + corpus.read_waiting(conn, filter)?;
        let memories = corpus.documents + corpus.waiting.len();
        // An empty corpus, or a corpus of empty texts, must not cause a division by zero.
        let usual = if memories > 0 { (words / count(memories)).max(1.0) } else { 1.0 };
        corpus.norms = (0..=u8::MAX).map(|code| K1 * (1.0 - B + B * length_of(code) / usual)).collect();
        Ok(corpus)
    }

    /// Returns the number of words in the documents.
    fn read_segments(&mut self, conn: &Connection, filter: &Filter) -> Result<f64, StoreError> {
        // Only the namespaces are filtered here, because the other conditions concern rows that have not been read yet.
        let clauses = Clauses::within_alone(filter);
        let sql = if filter.namespaces.is_empty() {
            "SELECT s.id, s.languages, s.first, s.first, s.docs, s.length FROM search_segments s ORDER BY s.first"
                .to_owned()
        } else {
            format!(
                "SELECT s.id, s.languages, s.first, m.first, m.docs, m.length
                 FROM search_places m JOIN search_segments s ON s.id = m.segment WHERE {} ORDER BY m.first",
                clauses.sql()
            )
        };
        let mut statement = conn.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(clauses.values))?;
        let mut words = 0.0;
        while let Some(row) = rows.next()? {
            let (start, first, docs): (i64, i64, i64) = (row.get(2)?, row.get(3)?, row.get(4)?);
            // A damaged file may contain any numbers; an impossible stretch is treated as empty.
            let from = u32::try_from(first - start).unwrap_or(u32::MAX);
            let documents = from..from.saturating_add(u32::try_from(docs).unwrap_or_default());
            words += row.get::<_, f64>(5)?;
            let place = self.documents;
            self.documents += documents.len();
            self.languages |= row.get::<_, i64>(1)?;
            self.stretches.push(Stretch { segment: row.get(0)?, documents, first, place });
        }
        Ok(words)
    }

    /// Returns the number of words in the waiting memories.
    fn read_waiting(&mut self, conn: &Connection, filter: &Filter) -> Result<f64, StoreError> {
        let clauses = Clauses::within_alone(filter);
        let sql = format!("SELECT m.seq, m.length, m.languages, m.terms FROM search_recent m WHERE {}", clauses.sql());
        let mut statement = conn.prepare_cached(&sql)?;
        let mut rows = statement.query(params_from_iter(clauses.values))?;
        let mut words = 0.0;
        while let Some(row) = rows.next()? {
            let length: u32 = row.get(1)?;
            words += f64::from(length);
            self.languages |= row.get::<_, i64>(2)?;
            self.waiting.push(Waiting { seq: row.get(0)?, length: length_code(length), terms: row.get(3)? });
        }
        Ok(words)
    }

    /// Adds the indices of the memories that contain `term`, each with the term's weight and the memory's length.
    fn holders(&self, conn: &Connection, term: i64, holders: &mut Vec<(u32, u8, u8)>) -> Result<(), StoreError> {
        let mut statement = conn.prepare_cached("SELECT docs FROM search_postings WHERE segment = ?1 AND term = ?2")?;
        // Stretches of one segment share its list, which is read and unpacked from one row.
        for stretches in self.stretches.chunk_by(|a, b| a.segment == b.segment) {
            let mut rows = statement.query([stretches[0].segment, term])?;
            let Some(row) = rows.next()? else { continue };
            let bytes = row.get_ref(0)?.as_blob().unwrap_or_default();
            for stretch in stretches {
                unpacked(bytes, &stretch.documents, |posting| {
                    let place = stretch.place + (posting.document - stretch.documents.start) as usize;
                    holders.push((u32::try_from(place).unwrap_or(u32::MAX), posting.weight, posting.length));
                });
            }
        }
        for (waiting, place) in self.waiting.iter().zip(self.documents..) {
            let weight = weight_in(&waiting.terms, term);
            if weight > 0 {
                holders.push((u32::try_from(place).unwrap_or(u32::MAX), weight, waiting.length));
            }
        }
        Ok(())
    }

    /// Returns the weight of a word that `holders` memories contain. Even a word that most memories contain has some
    /// weight, which matters in a conversation between two people in which every line contains a name.
    fn rarity(&self, holders: usize) -> f64 {
        let (all, holders) = (count(self.documents + self.waiting.len()), count(holders));
        ((all - holders + 0.5) / (holders + 0.5)).ln_1p()
    }

    /// Returns the number of the document at this index in the list of scores.
    fn document(&self, place: usize) -> i64 {
        let after = self.stretches.partition_point(|stretch| stretch.place <= place);
        let stretch = &self.stretches[after.saturating_sub(1)];
        stretch.first + i64::try_from(place - stretch.place).unwrap_or_default()
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a score has only a few digits")]
fn single(value: f64) -> f32 {
    value as f32
}
