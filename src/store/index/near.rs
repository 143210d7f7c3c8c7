//! Index of near claims: finds claims that may have the same meaning, at a cost that does not grow with the store.
//!
//! Words are looked up in order of rarity. The lookup stops as soon as a claim with the same meaning would stand out
//! even if some of its words differed. Claims are ranked by their shared words, each weighted by its rarity.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, TransactionBehavior, params};

use crate::memory::{Claim, Memory, MemoryType, Namespace};
use crate::store::index::near_words::{Name, NearForms, subject_word};
use crate::store::index::ranking::load;
use crate::store::index::{count, in_turn};
use crate::store::row::{query_all, rows as limit_of, spelled, to_json};
use crate::store::{Database, StoreError, Writer};
use crate::text::normalise::normalised_hash;

/// Number of claims that are read for a word before the word is treated as common.
const PROBED: usize = 200;
/// Maximum number of claims that contain a word for the word to be looked up at all.
const MAX_SHARED: usize = 10_000;
/// Number of claims in a store from which pairs of words and whole texts are looked up as well; in a smaller store,
/// single words are enough.
const LARGE: f64 = 20_000.0;
/// Maximum number of words that are looked up.
const MAX_LOOKED_UP: usize = 64;
/// Number of words that another claim with the same meaning may replace with other words.
const PUT_OTHERWISE: usize = 2;
/// Expected number of claims that share as many words by chance, at which enough words have been looked up.
const BY_CHANCE: f64 = 10.0;
/// Maximum number of claims whose status is checked for each requested claim.
const LOOKED_AT: usize = 8;
/// Minimum number of claims to return, if enough claims exist, even if they have few words in common.
const LEAST: usize = 10;
/// Minimum share of the best claim's score that another claim needs, once enough claims are found.
const SHARED_ENOUGH: f64 = 0.3;
/// Maximum number of common words to cache.
const MAX_REMEMBERED: usize = 50_000;

/// The query for near claims.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Around<'a> {
    /// The namespace to search.
    pub namespace: &'a Namespace,
    /// The claim to compare with.
    pub claim: &'a Claim,
    /// Spellings of the claim's attribute; case and punctuation between words are ignored.
    pub keys: &'a [String],
}

/// The shared words of each claim and the given claim, one entry per shared word.
struct Sharing {
    everything: f64,
    shared: Vec<(i64, f64)>,
    weights: Vec<f64>,
}

/// Claims with their scores, in descending order of score.
struct Scored(Vec<(i64, f64)>);

impl Database {
    /// Runs `read` so that all its queries see one snapshot, which is also faster than a separate transaction for each
    /// query.
    ///
    /// # Errors
    /// The error from `read`, or [`StoreError`] if the file cannot be read.
    pub(crate) fn at_once<T>(&self, read: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        // A transaction is already open, and SQLite does not nest transactions.
        if !self.conn.is_autocommit() {
            return read(self);
        }
        self.read(|conn| {
            // The transaction is deferred, because readers do not block writers in write-ahead logging mode.
            let held = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
            let found = read(self)?;
            held.finish()?;
            Ok(found)
        })
    }

    /// Returns at most `limit` active memories, and half as many pending memories, that may be about the same thing as
    /// a claim. Memories are taken alternately from those with the same words, the same attribute, the same subject,
    /// and shared words.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn around(&self, around: &Around<'_>, limit: usize) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| close(conn, around, &self.scored(conn, around)?, limit))
    }

    /// Returns what [`Database::around`] does, and in addition at most `most` forgotten memories that share words with
    /// the claim, closest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn around_and_forgotten(
        &self,
        around: &Around<'_>,
        limit: usize,
        most: usize,
    ) -> Result<(Vec<Memory>, Vec<Memory>), StoreError> {
        self.read(|conn| {
            let scored = self.scored(conn, around)?;
            Ok((
                close(conn, around, &scored, limit)?,
                load(conn, &forgotten_of(conn, around.namespace, &scored.rows(), most)?)?,
            ))
        })
    }

    fn scored(&self, conn: &Connection, around: &Around<'_>) -> Result<Scored, StoreError> {
        // Claims written in the current transaction must be able to find each other before it is committed.
        self.file_waiting()?;
        // The newest row number approximates the count well; an exact count would read a whole index.
        let newest = "SELECT ifnull(max(seq), 0) FROM memories";
        let everything: f64 = conn.prepare_cached(newest)?.query_row((), |row| row.get(0))?;
        let mut sharing = Sharing { everything, shared: Vec::new(), weights: Vec::new() };
        let mut common = Vec::new();
        let NearForms { words, concepts, pairs, whole } = NearForms::of(around.namespace, around.claim);
        for word in words.into_iter().chain(concepts.iter().copied()).take(MAX_LOOKED_UP) {
            if let Some(share) = self.common.borrow().get(&word) {
                common.push((share * everything, word));
                continue;
            }
            // One row more than the limit shows that there are more, without counting them.
            let found = holding(conn, word, PROBED + 1)?;
            if found.len() <= PROBED {
                sharing.note(&found);
            } else {
                let share = density(&found);
                self.remember(word, share);
                common.push((share * everything, word));
            }
        }
        if everything > LARGE {
            // In a large store, a concept occurs in too many claims to distinguish them.
            common.retain(|(_, word)| !concepts.contains(word));
            for rare in pairs.into_iter().chain(whole) {
                let found = holding(conn, rare, PROBED + 1)?;
                if found.len() <= PROBED {
                    sharing.note(&found);
                }
            }
        }
        // The rarest words come first, and equally rare words are sorted by name, so that every run uses the same
        // words.
        common.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        for (claims, word) in common {
            // The words are sorted by rarity, so if one word is too common, all later words are too common as well.
            if sharing.is_enough() || claims > count(MAX_SHARED) {
                break;
            }
            sharing.note(&holding(conn, word, MAX_SHARED)?);
        }
        Ok(sharing.scored())
    }

    fn remember(&self, word: Name, share: f64) {
        let mut common = self.common.borrow_mut();
        // The cache is emptied rather than trimmed: common words are soon found again, and their usage need not be
        // recorded.
        if common.len() >= MAX_REMEMBERED {
            common.clear();
        }
        common.insert(word, share);
    }
}

impl Sharing {
    fn note(&mut self, found: &[i64]) {
        if !found.is_empty() {
            let weight = (1.0 + self.everything / count(found.len())).ln();
            self.weights.push(weight);
            self.shared.extend(found.iter().map(|seq| (*seq, weight)));
        }
    }

    /// Returns whether a claim that differs in its rarest words would still share more words than other claims share by
    /// chance. Words with the weights w occur together in about `everything · exp(−Σ w)` claims.
    fn is_enough(&self) -> bool {
        let mut weights = self.weights.clone();
        weights.sort_by(|a, b| b.total_cmp(a));
        let left: f64 = weights.iter().skip(PUT_OTHERWISE).sum();
        self.shared.len() >= LEAST && left >= (self.everything / BY_CHANCE).ln()
    }

    fn scored(mut self) -> Scored {
        // A stable sort merges lists that are already in order quickly.
        self.shared.sort_by_key(|(seq, _)| *seq);
        self.shared.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            if same {
                kept.1 += next.1;
            }
            same
        });
        self.shared.sort_by(|a, b| b.1.total_cmp(&a.1).then(b.0.cmp(&a.0)));
        Scored(self.shared)
    }
}

impl Scored {
    fn rows(&self) -> Vec<i64> {
        self.0.iter().map(|(seq, _)| *seq).collect()
    }

    fn close_enough(&self, most: usize) -> Vec<i64> {
        let least = self.0.first().map_or(0.0, |(_, shared)| shared * SHARED_ENOUGH);
        let close = self.0.iter().enumerate().take_while(|(index, (_, shared))| *index < LEAST * 2 || *shared >= least);
        close.map(|(_, (seq, _))| *seq).take(most).collect()
    }
}

/// Returns the share of all claims that contain a word, estimated from the density of the first of these claims.
fn density(first: &[i64]) -> f64 {
    let span = first.first().zip(first.last()).map_or(1, |(first, last)| last - first + 1);
    count(first.len()) / u32::try_from(span).map_or(f64::MAX, f64::from)
}

/// Selects the claims to compare with, from claims that share words and from claims with the same words, attribute or
/// subject.
fn close(conn: &Connection, around: &Around<'_>, scored: &Scored, limit: usize) -> Result<Vec<Memory>, StoreError> {
    let subject = match around.claim.subject.as_deref().and_then(|it| subject_word(around.namespace, it)) {
        Some(word) => holding(conn, word, PROBED)?.into_iter().collect(),
        None => HashSet::new(),
    };
    let mut same_subject: Vec<i64> = scored.rows().into_iter().filter(|seq| subject.contains(seq)).collect();
    same_subject.truncate(limit);
    let lists = [
        same_words(conn, around, limit)?,
        same_key(conn, around, limit)?,
        same_subject,
        scored.close_enough(limit * LOOKED_AT),
    ];
    let statuses = statuses(conn, around.namespace, &lists)?;
    load(conn, &taken_in_turn(lists, &statuses, limit))
}

/// Takes the first entry of each list, then the second of each, and so on, without taking any memory twice. Pending
/// memories do not displace active memories.
fn taken_in_turn<const N: usize>(lists: [Vec<i64>; N], active: &HashMap<i64, bool>, limit: usize) -> Vec<i64> {
    let (mut seen, mut holding, mut waiting) = (HashSet::new(), 0, 0);
    in_turn(lists, |seq| {
        let Some(is_active) = active.get(seq) else { return false };
        let (taken, most) = if *is_active { (&mut holding, limit) } else { (&mut waiting, limit / 2) };
        let admits = *taken < most && seen.insert(*seq);
        *taken += usize::from(admits);
        admits
    })
}

/// Returns the first memories indexed under a word.
fn holding(conn: &Connection, word: Name, limit: usize) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT rowid FROM memory_near WHERE memory_near MATCH ?1 LIMIT ?2";
    query_all(conn, sql, params![word.to_string(), limit_of(limit)], |row| row.get(0))
}

/// Returns the memories with the same words, in the order in which they were learnt.
fn same_words(conn: &Connection, around: &Around<'_>, limit: usize) -> Result<Vec<i64>, StoreError> {
    let sql = "SELECT seq FROM memories WHERE content_hash = ?1 AND namespace = ?2 AND status IN ('active', 'pending')
         ORDER BY created_at, id LIMIT ?3";
    let values = params![normalised_hash(&around.claim.content), around.namespace.to_string(), limit_of(limit)];
    query_all(conn, sql, values, |row| row.get(0))
}

/// Returns the forgotten memories of the namespace among `close`, at most `most`, in the same order.
fn forgotten_of(conn: &Connection, namespace: &Namespace, close: &[i64], most: usize) -> Result<Vec<i64>, StoreError> {
    let namespace = namespace.to_string();
    // Most namespaces contain no forgotten memories, and this check is cheaper than passing the whole list to SQLite.
    let any = "SELECT EXISTS (SELECT 1 FROM memories WHERE namespace = ?1 AND status = 'forgotten')";
    if !conn.prepare_cached(any)?.query_row([&namespace], |row| row.get(0))? {
        return Ok(Vec::new());
    }
    // SQLite never reorders a CROSS JOIN, so it starts with the few wanted rows, regardless of its statistics.
    let sql = "SELECT m.seq FROM json_each(?1) wanted CROSS JOIN memories m ON m.seq = wanted.value
         WHERE m.namespace = ?2 AND m.status = 'forgotten' ORDER BY wanted.id LIMIT ?3";
    query_all(conn, sql, params![to_json(&close)?, namespace, limit_of(most)], |row| row.get(0))
}

/// Returns the memories with the same attribute, active memories before pending memories, most recently changed first.
fn same_key(conn: &Connection, around: &Around<'_>, limit: usize) -> Result<Vec<i64>, StoreError> {
    let sql = format!(
        "SELECT m.seq FROM memories m WHERE {} AND m.namespace = ?2 AND m.status = ?3
         ORDER BY m.updated_at DESC, m.id DESC LIMIT ?4",
        of_key("?1"),
    );
    let namespace = around.namespace.to_string();
    let mut same = Vec::new();
    for status in ["active", "pending"] {
        for key in around.keys {
            let values = params![key, namespace, status, limit_of(limit)];
            same.extend(query_all(conn, &sql, values, |row| row.get::<_, i64>(0))?);
        }
    }
    Ok(same)
}

/// Returns whether each memory is active; memories that are neither active nor pending are left out.
fn statuses(conn: &Connection, namespace: &Namespace, lists: &[Vec<i64>]) -> Result<HashMap<i64, bool>, StoreError> {
    let sql =
        "SELECT m.seq, m.status = 'active' FROM json_each(?1) wanted CROSS JOIN memories m ON m.seq = wanted.value
         WHERE m.namespace = ?2 AND m.status IN ('active', 'pending')";
    let wanted: Vec<&i64> = lists.iter().flatten().collect();
    let values = params![to_json(&wanted)?, namespace.to_string()];
    Ok(query_all(conn, sql, values, |row| Ok((row.get(0)?, row.get(1)?)))?.into_iter().collect())
}

/// Returns the SQL condition that the attribute of `m` equals `value` apart from case and punctuation, written exactly
/// as in its index.
pub(in crate::store) fn of_key(value: &str) -> String {
    let plain = |key: &str| format!("replace(replace(replace(lower({key}), '-', '_'), ' ', '_'), '/', '_')");
    format!("m.key IS NOT NULL AND {} = {}", plain("m.key"), plain(value))
}

/// Maximum number of new memories that wait to be indexed.
const MOST_UNFILED: usize = 16_384;
/// Minimum number of memories indexed at once for which FTS5 is first configured as below.
const MANY: usize = 1_024;
/// Settings of FTS5, which are stored in the file. With the first setting, FTS5 collects less than its default of 1 MB
/// before it writes, so that the data stays in the processor's cache. With the second, FTS5 merges eight parts instead
/// of four, so that a word is written fewer times. Together, the settings reduce the time for indexing by a third.
const KEPT: [(&str, i64); 2] = [("hashsize", 256 << 10), ("automerge", 8)];

impl Database {
    /// Indexes the new memories that wait to be indexed.
    pub(in crate::store) fn file_waiting(&self) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.unfiled.borrow_mut());
        if waiting.is_empty() {
            return Ok(());
        }
        self.read(|conn| {
            if waiting.len() >= MANY {
                set_up(conn)?;
            }
            let mut insert = conn.prepare_cached("INSERT INTO memory_near (rowid, words) VALUES (?1, ?2)")?;
            for (seq, words) in waiting {
                insert.execute(params![seq, words])?;
            }
            Ok(())
        })
    }
}

fn set_up(conn: &Connection) -> Result<(), StoreError> {
    for (name, value) in KEPT {
        // The value is looked up first, because FTS5 rewrites its configuration even if the value is the same.
        let sql = "SELECT EXISTS (SELECT 1 FROM memory_near_config WHERE k = ?1 AND v = ?2)";
        if !conn.prepare_cached(sql)?.query_row(params![name, value], |row| row.get::<_, bool>(0))? {
            conn.execute("INSERT INTO memory_near (memory_near, rank) VALUES (?1, ?2)", params![name, value])?;
        }
    }
    Ok(())
}

impl Writer<'_> {
    /// Queues the new memory in this row to be indexed under the words that [`filed`] returns, at the end of the
    /// transaction at the latest. Whenever another table is written, FTS5 writes its collected data to disk, so it is
    /// faster to index many memories together.
    pub(in crate::store) fn file_new(&self, seq: i64, words: &str) {
        self.unfiled.borrow_mut().push((seq, words.to_owned()));
    }

    /// Indexes the waiting memories if there are many.
    pub(in crate::store) fn file_if_many(&self) -> Result<(), StoreError> {
        let many = self.unfiled.borrow().len() >= MOST_UNFILED;
        if many { self.file_waiting() } else { Ok(()) }
    }

    /// Indexes a memory under the words of the given claim.
    pub(in crate::store) fn index_near(&self, memory: &Memory) -> Result<(), StoreError> {
        self.file_waiting()?;
        self.execute(
            "INSERT OR REPLACE INTO memory_near (rowid, words) VALUES ((SELECT seq FROM memories WHERE id = ?1), ?2)",
            [memory.id.as_str(), &filed(&memory.namespace, &memory.claim)],
        )
        .map(drop)
    }
}

/// Indexes every memory of a database that was created before this index existed.
pub(in crate::store) fn fill_near(conn: &Connection) -> rusqlite::Result<()> {
    let mut all =
        conn.prepare("SELECT seq, namespace, title, content, subject, key, value FROM memories ORDER BY seq")?;
    let mut insert = conn.prepare("INSERT INTO memory_near (rowid, words) VALUES (?1, ?2)")?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let claim = Claim {
            subject: row.get(4)?,
            key: row.get(5)?,
            value: row.get(6)?,
            ..Claim::new(MemoryType::Semantic, "", row.get::<_, String>(2)?, row.get::<_, String>(3)?)
        };
        let namespace: Namespace = spelled(row, 1)?;
        insert.execute(params![row.get::<_, i64>(0)?, filed(&namespace, &claim)])?;
    }
    Ok(())
}

/// Returns the words under which a claim is indexed.
pub(in crate::store) fn filed(namespace: &Namespace, claim: &Claim) -> String {
    NearForms::of(namespace, claim).spelled()
}
