//! Looking up words: every memory that holds any of them, by BM25.
//!
//! Nothing is left out to be fast: of each word, all postings of the namespaces in question are read, and what each
//! memory scores is added up in a list with a place for each of them. How rare a word is, is told by those namespaces
//! alone, so that the ranking in one does not depend on another.

use std::collections::BTreeMap;
use std::ops::Range;

use rusqlite::{Connection, params_from_iter};

use super::StoreError;
use super::filter::{Clauses, Filter};
use super::languages::Languages;
use super::postings::{length_code, length_of, unpacked};
use super::ranking::Seq;
use super::row::to_json;
use super::terms::Stems;
use super::word_index::weight_in;
use super::words::Query;

/// How soon more of a word in one memory counts no more.
const K1: f64 = 1.2;
/// How much the length of a memory counts.
const B: f64 = 0.75;

/// How many more are looked at where they are equally good, for each that is wanted.
const EQUALLY_GOOD: usize = 8;

/// A row of documents that are meant.
struct Stretch {
    segment: i64,
    /// Counted from the first document of the segment.
    documents: Range<u32>,
    /// The number of the first one.
    first: i64,
    /// Its place in the list of scores.
    place: usize,
}

/// A memory that is in no segment yet.
struct Waiting {
    seq: i64,
    length: u8,
    terms: Vec<u8>,
}

/// All memories in which words are looked up.
struct Ground {
    stretches: Vec<Stretch>,
    waiting: Vec<Waiting>,
    /// Documents of the stretches.
    documents: usize,
    /// What the length of a memory adds, by its code.
    norms: Vec<f64>,
    languages: Languages,
}

/// The words found, best first.
pub(super) struct Scores {
    ground: Ground,
    /// By place in the list of scores; those that wait come last.
    found: Vec<(f32, u32)>,
}

/// Returns what holds any word of `query` in the namespaces of `filter`; the rest of it is for [`Scores::best`].
pub(super) fn look_up(
    conn: &Connection,
    stems: &mut Stems,
    query: &Query,
    filter: &Filter,
) -> Result<Scores, StoreError> {
    let ground = Ground::of(conn, filter)?;
    let mut scores = vec![0.0_f32; ground.documents + ground.waiting.len()];
    let mut holders: Vec<(u32, u8, u8)> = Vec::new();
    for sought in &query.sought {
        holders.clear();
        let terms = stems.sought(sought, ground.languages);
        for term in &terms {
            ground.holders(conn, *term, &mut holders)?;
        }
        if terms.len() > 1 {
            // Forms of one word in one memory count once, the weightiest.
            holders.sort_unstable_by(|a, b| a.0.cmp(&b.0).then(b.1.cmp(&a.1)));
            holders.dedup_by_key(|holder| holder.0);
        }
        let rarity = ground.rarity(holders.len());
        for (place, weight, length) in &holders {
            let weight = f64::from(*weight) / 2.0;
            let gain = rarity * weight * (K1 + 1.0) / (weight + ground.norms[usize::from(*length)]);
            scores[*place as usize] += single(gain);
        }
    }
    let found = scores.iter().zip(0_u32..).filter(|(score, _)| **score > 0.0).map(|(score, place)| (*score, place));
    Ok(Scores { found: found.collect(), ground })
}

impl Scores {
    /// Returns at most `limit` of what was found and passes `filter`, best first, equally good ones by row.
    pub(super) fn best(
        mut self,
        conn: &Connection,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<(Seq, f64)>, StoreError> {
        let mut best: Vec<(Seq, f64)> = Vec::new();
        let mut step = limit.saturating_add(limit / 4).saturating_add(8);
        while best.len() < limit && !self.found.is_empty() {
            let taken = self.taken(step);
            let mut passed = self.passed(conn, &taken, filter)?;
            passed.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            best.extend(passed);
            step = step.saturating_mul(4);
        }
        best.truncate(limit);
        Ok(best)
    }

    /// Takes the next best out, with those that are as good as the last of them, so that their rows can tell which come
    /// first; of very many that are equally good, those of the lowest places.
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

    /// Returns those that are still there and pass `filter`, in no order.
    fn passed(&self, conn: &Connection, taken: &[(f32, u32)], filter: &Filter) -> Result<Vec<(Seq, f64)>, StoreError> {
        let (mut documents, mut waiting) = (BTreeMap::new(), BTreeMap::new());
        for (score, place) in taken {
            match (*place as usize).checked_sub(self.ground.documents) {
                None => documents.insert(self.ground.document(*place as usize), f64::from(*score)),
                Some(at) => waiting.insert(self.ground.waiting[at].seq, f64::from(*score)),
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
                let score = scores.get(&row.get(0)?).copied().unwrap_or_default();
                passed.push((Seq(row.get(1)?), score));
            }
        }
        Ok(passed)
    }
}

impl Ground {
    fn of(conn: &Connection, filter: &Filter) -> Result<Self, StoreError> {
        let mut ground =
            Self { stretches: Vec::new(), waiting: Vec::new(), documents: 0, norms: Vec::new(), languages: 0 };
        let words = ground.read_segments(conn, filter)? + ground.read_waiting(conn, filter)?;
        let memories = ground.documents + ground.waiting.len();
        let usual = if memories > 0 { (words / count(memories)).max(1.0) } else { 1.0 };
        ground.norms = (0..=u8::MAX).map(|code| K1 * (1.0 - B + B * length_of(code) / usual)).collect();
        Ok(ground)
    }

    /// Returns how many words the documents have.
    fn read_segments(&mut self, conn: &Connection, filter: &Filter) -> Result<f64, StoreError> {
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

    /// Returns how many words those have that wait.
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

    /// Adds the places of what holds `term`, each with the term's weight and its own length.
    fn holders(&self, conn: &Connection, term: i64, holders: &mut Vec<(u32, u8, u8)>) -> Result<(), StoreError> {
        let mut statement = conn.prepare_cached("SELECT docs FROM search_postings WHERE segment = ?1 AND term = ?2")?;
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

    /// Returns how much a word tells that so many memories hold; one that most hold still tells something, which matters
    /// in a conversation of two whose every line bears a name.
    fn rarity(&self, holders: usize) -> f64 {
        let (all, holders) = (count(self.documents + self.waiting.len()), count(holders));
        ((all - holders + 0.5) / (holders + 0.5)).ln_1p()
    }

    /// Returns the number of the document at this place in the list of scores.
    fn document(&self, place: usize) -> i64 {
        let after = self.stretches.partition_point(|stretch| stretch.place <= place);
        let stretch = &self.stretches[after.saturating_sub(1)];
        stretch.first + i64::try_from(place - stretch.place).unwrap_or_default()
    }
}

fn count(of: usize) -> f64 {
    u32::try_from(of).map_or(f64::MAX, f64::from)
}

#[expect(clippy::cast_possible_truncation, reason = "a score of a few digits")]
fn single(value: f64) -> f32 {
    value as f32
}
