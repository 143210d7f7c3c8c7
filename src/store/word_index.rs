//! Keeping the index of words up to date.
//!
//! What is written waits as it is, one row a memory. When many wait, they become a segment: for each term, which of
//! them hold it. When there are many small segments, they become a large one. So a write costs one row, and a search
//! reads what waits and, of each segment, only the terms that it asks for.
//!
//! A memory that changes is taken out of the numbering of documents and waits anew: what segments say of a number that
//! is not in `search_docs` is void, and gone with the next merge.

use std::collections::HashSet;

use rusqlite::{Connection, Transaction, params};

use super::StoreError;
use super::postings::{Posting, length_code, packed, unpacked};
use super::terms::{Stems, Terms};

/// Memories that wait at most before they become a segment.
const WAITING: i64 = 2_048;
/// Small segments that become a large one.
const SMALL_SEGMENTS: i64 = 16;
/// How often it is looked whether enough wait within one transaction: each so many memories.
const LOOKED_EVERY: i64 = 512;
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
}

/// One posting of a segment that is being made.
type Entry = (i64, Posting);

/// Indexes a memory anew.
pub(super) fn put(
    conn: &Connection,
    stems: &mut Stems,
    seq: i64,
    namespace: &str,
    texts: &Texts<'_>,
) -> Result<(), StoreError> {
    let terms = texts.terms(stems);
    let mut bytes = Vec::with_capacity(terms.weights.len() * TERM_BYTES);
    for (term, weight) in &terms.weights {
        bytes.extend(term.to_be_bytes());
        bytes.push(*weight);
    }
    conn.prepare_cached("DELETE FROM search_docs WHERE seq = ?1")?.execute([seq])?;
    conn.prepare_cached(
        "INSERT OR REPLACE INTO search_recent (seq, namespace, length, languages, terms) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![seq, namespace, terms.length, terms.languages, bytes])?;
    if seq % LOOKED_EVERY == 0 { settle(conn) } else { Ok(()) }
}

/// Takes a memory out of the index.
pub(super) fn remove(conn: &Connection, seq: i64) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM search_recent WHERE seq = ?1")?.execute([seq])?;
    conn.prepare_cached("DELETE FROM search_docs WHERE seq = ?1")?.execute([seq])?;
    Ok(())
}

/// Makes a segment of what waits if that is much, and a large segment of small ones if those are many.
pub(super) fn settle(conn: &Connection) -> Result<(), StoreError> {
    let count = |sql: &str| conn.prepare_cached(sql)?.query_row((), |row| row.get::<_, i64>(0));
    if count("SELECT count(*) FROM search_recent")? >= WAITING {
        flush(conn)?;
        if count("SELECT count(*) FROM search_segments WHERE level = 0")? >= SMALL_SEGMENTS {
            merge(conn)?;
        }
    }
    Ok(())
}

/// Makes one segment of all small ones, without what is void.
pub(super) fn merge(conn: &Connection) -> Result<(), StoreError> {
    let small: (Option<i64>, Option<i64>, i64, i64) = conn.query_row(
        "SELECT min(first), max(first + docs), ifnull(sum(length), 0), count(*) FROM search_segments WHERE level = 0",
        (),
        |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
    )?;
    let (Some(first), Some(end), length, 2..) = small else { return Ok(()) };
    let alive: HashSet<i64> = conn
        .prepare("SELECT doc FROM search_docs WHERE doc >= ?1 AND doc < ?2")?
        .query_map([first, end], |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    let mut entries: Vec<Entry> = Vec::new();
    let mut statement = conn.prepare(
        "SELECT p.term, p.docs, s.first FROM search_segments s JOIN search_postings p ON p.segment = s.id
         WHERE s.level = 0",
    )?;
    let mut rows = statement.query(())?;
    while let Some(row) = rows.next()? {
        let (term, from): (i64, i64) = (row.get(0)?, row.get(2)?);
        unpacked(row.get_ref(1)?.as_blob().unwrap_or_default(), &(0..u32::MAX), |posting| {
            let doc = from + i64::from(posting.document);
            if alive.contains(&doc) {
                let document = u32::try_from(doc - first).unwrap_or(u32::MAX);
                entries.push((term, Posting { document, ..posting }));
            }
        });
    }
    drop(rows);
    let languages = conn
        .prepare("SELECT languages FROM search_segments WHERE level = 0")?
        .query_map((), |row| row.get::<_, i64>(0))?
        .try_fold(0, |all, one| Ok::<_, rusqlite::Error>(all | one?))?;
    conn.execute_batch(
        "DELETE FROM search_postings WHERE segment IN (SELECT id FROM search_segments WHERE level = 0);",
    )?;
    let old: Vec<i64> = conn
        .prepare("SELECT id FROM search_segments WHERE level = 0")?
        .query_map((), |row| row.get(0))?
        .collect::<Result<_, _>>()?;
    conn.execute("DELETE FROM search_segments WHERE level = 0", ())?;
    let segment = write_segment(conn, &Shape { level: 1, first, docs: end - first, length, languages }, entries)?;
    let mut moved = conn.prepare("UPDATE search_places SET segment = ?1 WHERE segment = ?2")?;
    for id in old {
        moved.execute([segment, id])?;
    }
    Ok(())
}

struct Shape {
    level: i64,
    first: i64,
    docs: i64,
    length: i64,
    languages: i64,
}

fn write_segment(conn: &Connection, shape: &Shape, mut entries: Vec<Entry>) -> Result<i64, StoreError> {
    conn.prepare_cached(
        "INSERT INTO search_segments (level, first, docs, length, languages) VALUES (?1, ?2, ?3, ?4, ?5)",
    )?
    .execute(params![shape.level, shape.first, shape.docs, shape.length, shape.languages])?;
    let segment = conn.last_insert_rowid();
    entries.sort_unstable_by_key(|(term, posting)| (*term, posting.document));
    let mut insert = conn.prepare_cached("INSERT INTO search_postings (segment, term, docs) VALUES (?1, ?2, ?3)")?;
    for same in entries.chunk_by(|a, b| a.0 == b.0) {
        let postings: Vec<Posting> = same.iter().map(|(_, posting)| *posting).collect();
        insert.execute(params![segment, same[0].0, packed(&postings)])?;
    }
    Ok(segment)
}

/// Makes a segment of all that waits.
pub(super) fn flush(conn: &Connection) -> Result<(), StoreError> {
    let first: i64 =
        conn.query_row("SELECT ifnull(max(first + docs), 1) FROM search_segments", (), |row| row.get(0))?;
    let mut shape = Shape { level: 0, first, docs: 0, length: 0, languages: 0 };
    let mut entries: Vec<Entry> = Vec::new();
    let mut places: Vec<(String, i64, i64, i64)> = Vec::new();
    let mut waiting =
        conn.prepare("SELECT seq, namespace, length, languages, terms FROM search_recent ORDER BY namespace, seq")?;
    let mut number = conn.prepare("INSERT INTO search_docs (doc, seq) VALUES (?1, ?2)")?;
    let mut rows = waiting.query(())?;
    while let Some(row) = rows.next()? {
        let (namespace, length): (String, u32) = (row.get(1)?, row.get(2)?);
        let doc = first + shape.docs;
        number.execute([doc, row.get(0)?])?;
        let document = u32::try_from(shape.docs).unwrap_or(u32::MAX);
        let code = length_code(length);
        for (term, weight) in terms(row.get_ref(4)?.as_blob().unwrap_or_default()) {
            entries.push((term, Posting { document, weight, length: code }));
        }
        match places.last_mut() {
            Some(place) if place.0 == namespace => {
                place.2 += 1;
                place.3 += i64::from(length);
            }
            Some(_) | None => places.push((namespace, doc, 1, i64::from(length))),
        }
        shape.docs += 1;
        shape.length += i64::from(length);
        shape.languages |= row.get::<_, i64>(3)?;
    }
    drop(rows);
    let segment = write_segment(conn, &shape, entries)?;
    let mut place = conn
        .prepare("INSERT INTO search_places (namespace, first, segment, docs, length) VALUES (?1, ?2, ?3, ?4, ?5)")?;
    for (namespace, first, docs, length) in places {
        place.execute(params![namespace, first, segment, docs, length])?;
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
        put(file, &mut stems, row.get(0)?, &text[0], &texts)?;
    }
    settle(file)
}
