//! Finding the claims that may say the same, at a cost that does not grow with the store.
//!
//! Words are looked up from the rarest on, until a claim that says the same stands out even if it puts some of them
//! otherwise. What shares most, each word weighed by how few have it, comes first.

use std::collections::{HashMap, HashSet};

use rusqlite::{Connection, TransactionBehavior};

use super::near_rows::{forgotten_of, holding, load, same_key, same_words, statuses};
use super::near_words::{Name, NearForms, subject_word};
use super::{Database, StoreError};
use crate::memory::{Claim, Memory, Namespace};

/// Claims that a word is looked up in before it counts as common.
const PROBED: usize = 200;
/// Claims that have a word at most if it is to be looked up at all.
const MAX_SHARED: usize = 10_000;
/// Claims of a store from which on pairs of words and all words at once are looked up, too: in a smaller one the words tell enough.
const LARGE: f64 = 20_000.0;
/// Words that are looked up at most.
const MAX_LOOKED_UP: usize = 64;
/// Words of a claim that another who says the same may well put otherwise.
const PUT_OTHERWISE: usize = 2;
/// Claims that share as much by chance, at most, when enough words have been looked up.
const BY_CHANCE: f64 = 10.0;
/// Claims whose status is looked at for each that is wanted, at most.
const LOOKED_AT: usize = 8;
/// Fewest claims that are returned where there are so many, however little they share.
const LEAST: usize = 10;
/// Part of the most that any claim shares that others share at least, beyond the fewest.
const SHARED_ENOUGH: f64 = 0.3;
/// Words remembered as common at most.
const MAX_REMEMBERED: usize = 50_000;

/// What claims are looked for by.
#[derive(Debug, Clone, Copy)]
pub struct Around<'a> {
    /// Where to look.
    pub namespace: &'a Namespace,
    /// What is said.
    pub claim: &'a Claim,
    /// Spellings of its attribute; case and the marks between words do not matter.
    pub keys: &'a [String],
}

/// Words found to stand in many claims, with how many of all claims have them as far as the first of those tell.
pub(super) type CommonWords = HashMap<Name, f64>;

/// How much each claim shares with the one that is asked about, one entry a shared word.
struct Sharing {
    everything: f64,
    shared: Vec<(i64, f64)>,
    weights: Vec<f64>,
}

/// Claims by how much they share, the most first.
struct Scored(Vec<(i64, f64)>);

impl Database {
    /// Runs `read` with all its reads of one moment, which is also faster than to read anew each time.
    ///
    /// # Errors
    /// What `read` returns, or [`StoreError`] if the file cannot be read.
    pub fn at_once<T>(&self, read: impl FnOnce(&Self) -> Result<T, StoreError>) -> Result<T, StoreError> {
        if !self.conn.is_autocommit() {
            return read(self);
        }
        self.read(|conn| {
            let held = rusqlite::Transaction::new_unchecked(conn, TransactionBehavior::Deferred)?;
            let found = read(self)?;
            held.finish()?;
            Ok(found)
        })
    }

    /// Returns at most `limit` active and half as many pending memories that may be about the same as a claim: those
    /// with the same words, of the same attribute, of the same subject, and with words in common, taken in turn.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn around(&self, around: &Around<'_>, limit: usize) -> Result<Vec<Memory>, StoreError> {
        self.read(|conn| close(conn, around, &self.scored(conn, around)?, limit))
    }

    /// Returns what [`Database::around`] does, and besides at most `most` forgotten memories that share words with the
    /// claim, the closest first.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn around_and_forgotten(
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
        self.file_waiting()?;
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
            // What words mean stands in too many claims of a large store to tell them apart.
            common.retain(|(_, word)| !concepts.contains(word));
            for rare in pairs.into_iter().chain(whole) {
                let found = holding(conn, rare, PROBED + 1)?;
                if found.len() <= PROBED {
                    sharing.note(&found);
                }
            }
        }
        common.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
        for (claims, word) in common {
            if sharing.is_enough() || claims > count(MAX_SHARED) {
                break;
            }
            sharing.note(&holding(conn, word, MAX_SHARED)?);
        }
        Ok(sharing.scored())
    }

    fn remember(&self, word: Name, share: f64) {
        let mut common = self.common.borrow_mut();
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

    /// Whether a claim that puts its rarest words otherwise still shares more than others do by chance: words of the
    /// weights w are together in about `everything · exp(−Σ w)` claims.
    fn is_enough(&self) -> bool {
        let mut weights = self.weights.clone();
        weights.sort_by(|a, b| b.total_cmp(a));
        let left: f64 = weights.iter().skip(PUT_OTHERWISE).sum();
        self.shared.len() >= LEAST && left >= (self.everything / BY_CHANCE).ln()
    }

    fn scored(mut self) -> Scored {
        // Lists that are each in order are quickly put into one.
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

fn count(of: usize) -> f64 {
    u32::try_from(of).map_or(f64::MAX, f64::from)
}

/// What part of all claims holds a word, from how densely the first of them lie.
fn density(first: &[i64]) -> f64 {
    let span = first.first().zip(first.last()).map_or(1, |(first, last)| last - first + 1);
    count(first.len()) / u32::try_from(span).map_or(f64::MAX, f64::from)
}

/// Returns those to compare with, of what shares words and of what is the same in one respect.
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

/// Takes the first of each list, then the second of each, and so on; a memory comes once. Those that wait do not take
/// the place of those that hold.
fn taken_in_turn<const N: usize>(lists: [Vec<i64>; N], active: &HashMap<i64, bool>, limit: usize) -> Vec<i64> {
    let mut lists = lists.map(Vec::into_iter);
    let (mut seen, mut taken) = (HashSet::new(), Vec::new());
    let (mut holding, mut waiting) = (0, 0);
    loop {
        let mut any = false;
        for list in &mut lists {
            let next = list.find(|seq| {
                active.get(seq).is_some_and(|active| if *active { holding < limit } else { waiting < limit / 2 })
                    && seen.insert(*seq)
            });
            let Some(seq) = next else { continue };
            any = true;
            if active[&seq] {
                holding += 1;
            } else {
                waiting += 1;
            }
            taken.push(seq);
        }
        if !any {
            return taken;
        }
    }
}
