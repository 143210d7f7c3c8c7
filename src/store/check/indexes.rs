//! The indexes against what they are made from.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension};

use super::{Checked, FlawKind};
use crate::store::postings::unpacked;
use crate::store::terms::Stems;
use crate::store::word_index::{TERM_BYTES, Texts};
use crate::store::{Database, StoreError};

/// The texts of all memories, as they are indexed.
const TEXTS: &str = "
    SELECT m.seq, m.title, m.content, ifnull(m.summary, ''),
        ifnull((SELECT group_concat(value, ' ') FROM json_each(m.tags)), ''), ifnull(m.subject, ''),
        ifnull(m.key, '') || ' ' || ifnull(m.value, ''),
        ifnull((SELECT group_concat(quote, char(10)) FROM (SELECT quote FROM evidence WHERE memory_id = m.id ORDER BY id)), '')
    FROM memories m ORDER BY m.seq";

/// The terms of one memory, in a form that takes little room: how many there are, and a sum that tells which.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Sum {
    count: u32,
    sum: u64,
}

impl Sum {
    const fn add(&mut self, term: i64, weight: u8) {
        self.count += 1;
        // Any order of the same terms comes to the same sum.
        let mixed = (term.cast_unsigned() ^ ((weight as u64) << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.sum = self.sum.wrapping_add(mixed ^ (mixed >> 29));
    }

    fn of(terms: impl IntoIterator<Item = (i64, u8)>) -> Self {
        let mut sum = Self::default();
        terms.into_iter().for_each(|(term, weight)| sum.add(term, weight));
        sum
    }
}

impl Database {
    pub(super) fn check_words(&self, checked: &mut Checked) -> Result<(), StoreError> {
        self.read(|conn| {
            let strange = places(
                conn,
                "SELECT seq FROM (SELECT seq FROM search_recent UNION ALL SELECT seq FROM search_docs)
                 WHERE seq NOT IN (SELECT seq FROM memories) ORDER BY seq",
            )?;
            checked.add_each(FlawKind::WordIndex, "words of memories that are not there, by row", &strange);
            let several = places(
                conn,
                "SELECT m.id FROM memories m WHERE (SELECT count(*) FROM search_recent r WHERE r.seq = m.seq)
                 + (SELECT count(*) FROM search_docs d WHERE d.seq = m.seq) <> 1 ORDER BY m.seq",
            )?;
            checked.add_each(FlawKind::WordIndex, "memories that are not indexed once", &several);
            let other = if several.is_empty() { indexed_otherwise(conn)? } else { Vec::new() };
            checked.add_each(FlawKind::WordIndex, "memories that are indexed by other words, by row", &other);
            Ok(())
        })
    }

    pub(super) fn check_near(&self, checked: &mut Checked) -> Result<(), StoreError> {
        self.read(|conn| {
            let missing = places(
                conn,
                "SELECT id FROM memories WHERE seq NOT IN (SELECT id FROM memory_near_docsize) ORDER BY seq",
            )?;
            checked.add_each(FlawKind::NearIndex, "memories that are not filed", &missing);
            let strange = places(
                conn,
                "SELECT id FROM memory_near_docsize WHERE id NOT IN (SELECT seq FROM memories) ORDER BY id",
            )?;
            checked.add_each(FlawKind::NearIndex, "filed memories that are not there, by row", &strange);
            Ok(())
        })
    }

    pub(super) fn check_vectors(&self, checked: &mut Checked) -> Result<(), StoreError> {
        self.read(|conn| {
            let amiss = places(
                conn,
                "SELECT v.seq FROM vectors v JOIN vector_models k ON k.id = v.model_id
                 JOIN memories m ON m.seq = v.seq
                 WHERE length(v.vector) <> 4 * k.dimension OR length(v.code) <> 4 + (k.dimension + 7) / 8
                 OR v.namespace <> m.namespace OR m.status = 'forgotten' ORDER BY v.seq",
            )?;
            checked.add_each(FlawKind::Vectors, "vectors that are not of their memory, by row", &amiss);
            Ok(())
        })
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

/// Returns the rows whose words the index does not hold as they are.
fn indexed_otherwise(conn: &Connection) -> Result<Vec<String>, StoreError> {
    let sums = sums_of_segments(conn)?;
    let mut document = conn.prepare("SELECT doc FROM search_docs WHERE seq = ?1")?;
    let mut waiting = conn.prepare("SELECT terms FROM search_recent WHERE seq = ?1")?;
    let (mut stems, mut other) = (Stems::new(), Vec::new());
    let mut all = conn.prepare(TEXTS)?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let text: Vec<String> = (1..8).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        let texts = Texts {
            title: &text[0],
            content: &text[1],
            summary: &text[2],
            tags: &text[3],
            subject: &text[4],
            key: &text[5],
            evidence: &text[6],
        };
        let wanted = Sum::of(texts.terms(&mut stems).weights);
        let doc: Option<i64> = document.query_row([seq], |row| row.get(0)).optional()?;
        let found = match doc {
            Some(doc) => sums.get(&doc).copied().unwrap_or_default(),
            None => waiting.query_row([seq], |row| Ok(waiting_sum(row.get_ref(0)?.as_blob().unwrap_or_default())))?,
        };
        if found != wanted {
            other.push(seq.to_string());
        }
    }
    Ok(other)
}

fn waiting_sum(bytes: &[u8]) -> Sum {
    Sum::of(bytes.chunks_exact(TERM_BYTES).filter_map(|bytes| {
        let (number, weight) = bytes.split_first_chunk::<8>()?;
        Some((i64::from_be_bytes(*number), *weight.first()?))
    }))
}

/// Returns what the segments say of each document, the void ones included.
fn sums_of_segments(conn: &Connection) -> Result<HashMap<i64, Sum>, StoreError> {
    let mut sums: HashMap<i64, Sum> = HashMap::new();
    let mut statement = conn
        .prepare("SELECT s.first, p.term, p.docs FROM search_segments s JOIN search_postings p ON p.segment = s.id")?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (first, term): (i64, i64) = (row.get(0)?, row.get(1)?);
        unpacked(row.get_ref(2)?.as_blob().unwrap_or_default(), &(0..u32::MAX), |posting| {
            sums.entry(first + i64::from(posting.document)).or_default().add(term, posting.weight);
        });
    }
    Ok(sums)
}
