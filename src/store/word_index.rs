//! Keeping the index of words up to date.
//!
//! What is written waits as it is, one row a memory. When many wait, they become a segment: for each term, which of
//! them hold it. When there are many small segments, they become a large one, see `segments`. So a write costs one row,
//! and a search reads what waits and, of each segment, only the terms that it asks for.
//!
//! A memory that changes is taken out of the numbering of documents and waits anew: what segments say of a number that
//! is not in `search_docs` is void, and gone with the next merge.

use rusqlite::{Connection, Statement, Transaction, params};

use super::StoreError;
use super::open::make_room;
use super::postings::{Posting, length_code};
use super::segments::{NewSegment, tidy, write_postings};
use super::terms::{Stems, Terms};

/// Memories that wait at most when a transaction ends.
pub(super) const WAITING: i64 = 512;
/// Memories that wait at most within one transaction: of many at once, few and large segments are made.
const WAITING_WITHIN: i64 = 16_384;
/// How often it is looked whether enough wait within one transaction: each so many memories.
const LOOKED_EVERY: i64 = 1_024;
/// Bytes of a term of a memory that waits: its number and its weight.
pub(super) const TERM_BYTES: usize = 9;

/// The texts of a memory that are searched, each with its weight in half units.
pub(super) struct Texts<'a> {
    pub(super) title: &'a str,
    pub(super) content: &'a str,
    pub(super) summary: &'a str,
    pub(super) tags: &'a str,
    pub(super) subject: &'a str,
    /// Attribute and value.
    pub(super) key: &'a str,
    pub(super) evidence: &'a str,
}

/// What of a memory waits to be indexed.
#[derive(Debug)]
pub(super) struct Entry {
    length: u32,
    languages: i64,
    terms: Vec<u8>,
}

impl Texts<'_> {
    pub(super) fn terms(&self, stems: &mut Stems) -> Terms {
        stems.of(&[
            (6, self.title),
            (4, self.content),
            (3, self.summary),
            (4, self.tags),
            (4, self.subject),
            (4, self.key),
            (2, self.evidence),
        ])
    }

    /// Returns what of the texts goes into the index.
    pub(super) fn entry(&self, stems: &mut Stems) -> Entry {
        let Terms { length, languages, weights } = self.terms(stems);
        let mut terms = Vec::with_capacity(weights.len() * TERM_BYTES);
        for (term, weight) in weights {
            terms.extend(term.to_be_bytes());
            terms.push(weight);
        }
        Entry { length, languages, terms }
    }
}

/// Indexes a memory anew.
pub(super) fn put(conn: &Connection, seq: i64, namespace: &str, entry: &Entry) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM search_docs WHERE seq = ?1")?.execute([seq])?;
    put_new(conn, &mut *conn.prepare_cached(PUT_WAITING)?, seq, namespace, entry)
}

/// A memory that waits to be indexed; executed by [`put_new`].
pub(super) const PUT_WAITING: &str =
    "INSERT OR REPLACE INTO search_recent (seq, namespace, length, languages, terms) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Indexes a memory that is in no segment, by [`PUT_WAITING`].
pub(super) fn put_new(
    conn: &Connection,
    put: &mut Statement<'_>,
    seq: i64,
    namespace: &str,
    entry: &Entry,
) -> Result<(), StoreError> {
    put.execute(params![seq, namespace, entry.length, entry.languages, entry.terms])?;
    if seq % LOOKED_EVERY == 0 {
        // Where so many are written, all that each of them touches is to stay at hand.
        make_room(conn)?;
        settle_beyond(conn, WAITING_WITHIN)?;
    }
    Ok(())
}

/// Takes a memory out of the index.
pub(super) fn remove(conn: &Connection, seq: i64) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM search_recent WHERE seq = ?1")?.execute([seq])?;
    conn.prepare_cached("DELETE FROM search_docs WHERE seq = ?1")?.execute([seq])?;
    Ok(())
}

/// Makes a segment of what waits if that is much, and one of several where those are many.
pub(super) fn settle(conn: &Connection) -> Result<(), StoreError> {
    settle_beyond(conn, WAITING)
}

fn settle_beyond(conn: &Connection, most: i64) -> Result<(), StoreError> {
    let waiting: i64 = conn.prepare_cached("SELECT count(*) FROM search_recent")?.query_row((), |row| row.get(0))?;
    if waiting >= most {
        flush(conn)?;
        tidy(conn)?;
    }
    Ok(())
}

/// Makes a segment of all that waits.
pub(super) fn flush(conn: &Connection) -> Result<(), StoreError> {
    let mut segment = NewSegment::beyond_all(conn)?;
    let mut entries: Vec<(i64, Posting)> = Vec::new();
    let mut waiting =
        conn.prepare("SELECT seq, namespace, length, languages, terms FROM search_recent ORDER BY namespace, seq")?;
    let mut rows = waiting.query(())?;
    while let Some(row) = rows.next()? {
        let length: u32 = row.get(2)?;
        let document = segment.add(row.get_ref(1)?.as_str().unwrap_or_default(), row.get(0)?, i64::from(length));
        segment.languages |= row.get::<_, i64>(3)?;
        let length = length_code(length);
        let terms = terms(row.get_ref(4)?.as_blob().unwrap_or_default());
        entries.extend(terms.map(|(term, weight)| (term, Posting { document, weight, length })));
    }
    drop(rows);
    entries.sort_unstable_by_key(|(term, posting)| (*term, posting.document));
    let id = segment.write(conn)?;
    let mut postings = Vec::new();
    for same in entries.chunk_by(|a, b| a.0 == b.0) {
        postings.clear();
        postings.extend(same.iter().map(|(_, posting)| *posting));
        write_postings(conn, id, same[0].0, &postings)?;
    }
    conn.execute("DELETE FROM search_recent", ())?;
    Ok(())
}

/// Returns the terms of a memory that waits, by term.
fn terms(bytes: &[u8]) -> impl Iterator<Item = (i64, u8)> + '_ {
    bytes.chunks_exact(TERM_BYTES).map(term_at)
}

fn term_at(bytes: &[u8]) -> (i64, u8) {
    match bytes {
        [number @ .., weight] => (number.try_into().map_or(0, i64::from_be_bytes), *weight),
        [] => (0, 0),
    }
}

/// Returns the weight of a term in a memory that waits, 0 where it does not hold it.
pub(super) fn weight_in(bytes: &[u8], term: i64) -> u8 {
    let (mut low, mut high) = (0, bytes.len() / TERM_BYTES);
    while low < high {
        let middle = usize::midpoint(low, high);
        let (found, weight) = term_at(&bytes[middle * TERM_BYTES..(middle + 1) * TERM_BYTES]);
        match found.cmp(&term) {
            std::cmp::Ordering::Less => low = middle + 1,
            std::cmp::Ordering::Greater => high = middle,
            std::cmp::Ordering::Equal => return weight,
        }
    }
    0
}

/// Indexes every memory of a file that was made before there was this index.
pub(super) fn fill(file: &Transaction<'_>) -> Result<(), StoreError> {
    let mut all = file.prepare(
        "SELECT m.seq, m.namespace, m.title, m.content, ifnull(m.summary, ''),
             ifnull((SELECT group_concat(value, ' ') FROM json_each(m.tags)), ''), ifnull(m.subject, ''),
             ifnull(m.key, '') || ' ' || ifnull(m.value, ''),
             ifnull((SELECT group_concat(quote, char(10)) FROM evidence WHERE memory_id = m.id), '')
         FROM memories m ORDER BY m.seq",
    )?;
    let mut stems = Stems::new();
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let text: Vec<String> = (1..9).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        let texts = Texts {
            title: &text[1],
            content: &text[2],
            summary: &text[3],
            tags: &text[4],
            subject: &text[5],
            key: &text[6],
            evidence: &text[7],
        };
        put(file, row.get(0)?, &text[0], &texts.entry(&mut stems))?;
    }
    settle(file)
}
