//! Index of words, as segments of postings.
//!
//! A new or changed memory first waits as one row that contains all its terms. When many memories wait, they are turned
//! into a segment, which lists the documents for each term. When there are many small segments, they are merged into a
//! large segment. A write therefore adds only one row, and a search reads the waiting rows and, from each segment, only
//! the terms of the query.
//!
//! A segment numbers its documents by namespace and then by memory, so that the documents of one namespace are
//! contiguous. A changed memory loses its number and waits again. Postings of a document number that is not in
//! `search_docs` are void, and the next merge removes them.
//!
//! ```text
//! list  = blocks of 128 postings, the table of blocks, and the number of postings (4 bytes)
//! block = postings; the first document is relative to the start of the segment, each other to its predecessor
//! table = for each block: its first document and its first byte (4 bytes each)
//! ```

use std::ops::Range;
use std::sync::LazyLock;

use rusqlite::{Connection, Statement, Transaction, params};

use super::letters::{self, Letters, letters_of};
use crate::store::StoreError;
use crate::store::file::enlarge_cache;
use crate::store::row::{from_row, query_all};
use crate::store::terms::{Stems, Terms};

/// Maximum number of memories that wait when a transaction ends.
// Every search reads all waiting rows, whereas every segment requires a lookup for each term.
const WAITING: i64 = 512;
/// Maximum number of memories that wait within one transaction; writing many at once results in a few large segments.
const WAITING_WITHIN: i64 = 16_384;
/// Number of memories written between counts of the waiting memories within one transaction.
const LOOKED_EVERY: i64 = 1_024;
/// Number of bytes for each term of a waiting memory: the number and the weight of the term.
pub(in crate::store) const TERM_BYTES: usize = 9;

/// The texts of a memory that are searched.
pub(in crate::store) struct Texts<'a> {
    pub(in crate::store) title: &'a str,
    pub(in crate::store) content: &'a str,
    pub(in crate::store) summary: &'a str,
    pub(in crate::store) tags: &'a str,
    pub(in crate::store) subject: &'a str,
    /// Key and value.
    pub(in crate::store) key: &'a str,
    /// The structured parts; see [`parts_text`].
    pub(in crate::store) parts: &'a str,
    pub(in crate::store) evidence: &'a str,
}

/// The index entry of a memory that waits to be indexed.
#[derive(Debug)]
pub(in crate::store) struct Entry {
    length: u32,
    languages: i64,
    terms: Vec<u8>,
    /// The entry in the index of letters.
    pub(in crate::store) letters: Letters,
}

impl Texts<'_> {
    pub(in crate::store) fn terms(&self, stems: &mut Stems) -> Terms {
        stems.of(&[
            (6, self.title),
            (4, self.content),
            (3, self.summary),
            (4, self.tags),
            (4, self.subject),
            (4, self.key),
            (3, self.parts),
            (2, self.evidence),
        ])
    }

    /// Returns the letters of the texts that a literal search examines.
    pub(in crate::store) fn letters(&self) -> Letters {
        letters_of(&[self.title, self.content, self.summary, self.subject, self.tags])
    }

    /// Returns the index entry of the texts.
    pub(in crate::store) fn entry(&self, stems: &mut Stems) -> Entry {
        let Terms { length, languages, weights } = self.terms(stems);
        let mut terms = Vec::with_capacity(weights.len() * TERM_BYTES);
        for (term, weight) in weights {
            // The terms are sorted, so that a search can find a term by binary search.
            terms.extend(term.to_be_bytes());
            terms.push(weight);
        }
        Entry { length, languages, terms, letters: self.letters() }
    }
}

/// Returns the texts in the structured parts of a memory, such as triggers, steps and code.
pub(in crate::store) fn parts_text(structured: &serde_json::Value) -> String {
    use serde_json::Value;
    match structured {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(parts_text).collect::<Vec<_>>().join("\n"),
        Value::Object(fields) => {
            // The outcome is one of a few words, which would match ordinary queries such as "failure".
            let texts = fields.iter().filter(|(name, _)| *name != "outcome").map(|(_, part)| parts_text(part));
            texts.collect::<Vec<_>>().join("\n")
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

/// Calls `each` with the row, the namespace and the searched texts of every memory that meets a condition in SQL.
pub(in crate::store) fn each_texts(
    conn: &Connection,
    condition: &str,
    mut each: impl FnMut(i64, &str, &Texts<'_>) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let mut all = conn.prepare(&format!(
        "SELECT m.seq, m.namespace, m.title, m.content, ifnull(m.summary, ''),
             ifnull((SELECT group_concat(value, ' ') FROM json_each(m.tags)), ''), ifnull(m.subject, ''),
             ifnull(m.key, '') || ' ' || ifnull(m.value, ''), ifnull(m.structured, ''),
             ifnull((SELECT group_concat(quote, char(10))
                     FROM (SELECT quote FROM evidence WHERE memory_id = m.id ORDER BY id)), '')
         FROM memories m WHERE {condition} ORDER BY m.seq"
    ))?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let text: Vec<String> = (1..10).map(|column| row.get(column)).collect::<Result<_, _>>()?;
        let texts = Texts {
            title: &text[1],
            content: &text[2],
            summary: &text[3],
            tags: &text[4],
            subject: &text[5],
            key: &text[6],
            parts: &serde_json::from_str(&text[7]).map_or_else(|_| String::new(), |parts| parts_text(&parts)),
            evidence: &text[8],
        };
        each(row.get(0)?, &text[0], &texts)?;
    }
    Ok(())
}

/// Indexes a memory again.
pub(in crate::store) fn put(conn: &Connection, seq: i64, namespace: &str, entry: &Entry) -> Result<(), StoreError> {
    // Deleting the row voids the memory's old postings; removing the postings would require rewriting the list of every
    // term.
    conn.prepare_cached("DELETE FROM search_docs WHERE seq = ?1")?.execute([seq])?;
    put_new(conn, &mut *conn.prepare_cached(PUT_WAITING)?, seq, namespace, entry)
}

/// Inserts a memory that waits to be indexed; executed by [`put_new`].
pub(in crate::store) const PUT_WAITING: &str =
    "INSERT OR REPLACE INTO search_recent (seq, namespace, length, languages, terms) VALUES (?1, ?2, ?3, ?4, ?5)";

/// Indexes a memory that is in no segment, with the statement [`PUT_WAITING`].
pub(in crate::store) fn put_new(
    conn: &Connection,
    put: &mut Statement<'_>,
    seq: i64,
    namespace: &str,
    entry: &Entry,
) -> Result<(), StoreError> {
    put.execute(params![seq, namespace, entry.length, entry.languages, entry.terms])?;
    // Counting the waiting rows at each insert would take longer than the insert.
    if seq % LOOKED_EVERY == 0 {
        // A large write uses the same pages repeatedly, so they should stay in the cache.
        enlarge_cache(conn)?;
        settle_beyond(conn, WAITING_WITHIN)?;
    }
    Ok(())
}

/// Removes a memory from the index.
pub(in crate::store) fn remove(conn: &Connection, seq: i64) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM search_recent WHERE seq = ?1")?.execute([seq])?;
    conn.prepare_cached("DELETE FROM search_docs WHERE seq = ?1")?.execute([seq])?;
    Ok(())
}

/// Turns the waiting memories into a segment if there are many, and merges segments if many have the same size.
pub(in crate::store) fn flush_if_many(conn: &Connection) -> Result<(), StoreError> {
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

/// Turns all waiting memories into a segment.
pub(in crate::store) fn flush(conn: &Connection) -> Result<(), StoreError> {
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
    // The statement still reads `search_recent`, which is emptied below.
    drop(rows);
    // The lists require ascending document numbers, and writing terms in key order fills pages sequentially.
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

/// Returns the terms of a waiting memory, in order.
fn terms(bytes: &[u8]) -> impl Iterator<Item = (i64, u8)> + '_ {
    bytes.chunks_exact(TERM_BYTES).map(term_at)
}

fn term_at(bytes: &[u8]) -> (i64, u8) {
    match bytes {
        [number @ .., weight] => (number.try_into().map_or(0, i64::from_be_bytes), *weight),
        [] => (0, 0),
    }
}

/// Returns the weight of a term in a waiting memory; 0 if the memory does not contain the term.
pub(in crate::store) fn weight_in(bytes: &[u8], term: i64) -> u8 {
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

/// Indexes every memory of a database that was created before this index existed.
pub(in crate::store) fn fill(file: &Transaction<'_>) -> Result<(), StoreError> {
    fill_where(file, "1")
}

/// Indexes memories with structured parts again, because an earlier version did not index these parts.
pub(in crate::store) fn fill_parts(file: &Transaction<'_>) -> Result<(), StoreError> {
    fill_where(file, "m.structured IS NOT NULL")
}

/// Records the letters of all memories, which an earlier version did not record.
pub(in crate::store) fn fill_letters(file: &Transaction<'_>) -> Result<(), StoreError> {
    each_texts(file, "1", |seq, _, texts| letters::put(file, seq, &texts.letters()))
}

fn fill_where(file: &Transaction<'_>, condition: &str) -> Result<(), StoreError> {
    let mut stems = Stems::new();
    each_texts(file, condition, |seq, namespace, texts| put(file, seq, namespace, &texts.entry(&mut stems)))?;
    flush_if_many(file)
}

/// Number of segments of one size that are merged into one segment.
// With this number, each document is rewritten only once per size class, and a search reads few segments.
const SAME_SIZE: usize = 8;
/// Minimum number of documents of a segment that is never rewritten, which bounds the work of a single write.
const FULL: i64 = WAITING * 64;

/// A segment that is being built.
struct NewSegment {
    first: i64,
    /// The row of each document.
    seqs: Vec<i64>,
    /// Each namespace with its first document, the number of its documents, and the number of words in them.
    places: Vec<(String, i64, i64, i64)>,
    /// The languages of the words.
    languages: i64,
}

impl NewSegment {
    /// Returns an empty segment whose document numbers follow all existing numbers.
    fn beyond_all(conn: &Connection) -> Result<Self, StoreError> {
        let first = conn
            .prepare_cached("SELECT ifnull(max(first + docs), 1) FROM search_segments")?
            .query_row((), |row| row.get(0))?;
        Ok(Self { first, seqs: Vec::new(), places: Vec::new(), languages: 0 })
    }

    /// Adds a document and returns its number within the segment; documents must be added in the order of namespaces.
    fn add(&mut self, namespace: &str, seq: i64, length: i64) -> u32 {
        let document = self.seqs.len();
        match self.places.last_mut() {
            Some((last, _, docs, words)) if last == namespace => {
                *docs += 1;
                *words += length;
            }
            Some(_) | None => {
                let first = self.first + i64::try_from(document).unwrap_or_default();
                self.places.push((namespace.to_owned(), first, 1, length));
            }
        }
        self.seqs.push(seq);
        u32::try_from(document).unwrap_or(u32::MAX)
    }

    /// Writes everything except the postings, and returns the number of the segment, with which the postings must be
    /// written.
    fn write(self, conn: &Connection) -> Result<i64, StoreError> {
        let docs = i64::try_from(self.seqs.len()).unwrap_or_default();
        let length: i64 = self.places.iter().map(|place| place.3).sum();
        conn.prepare_cached(
            "INSERT INTO search_segments (level, first, docs, length, languages) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?
        .execute(params![size_of(docs), self.first, docs, length, self.languages])?;
        let segment = conn.last_insert_rowid();
        let mut number = conn.prepare_cached("INSERT INTO search_docs (doc, seq) VALUES (?1, ?2)")?;
        for (doc, seq) in (self.first..).zip(self.seqs) {
            number.execute([doc, seq])?;
        }
        let mut place = conn.prepare_cached(
            "INSERT INTO search_places (namespace, first, segment, docs, length) VALUES (?1, ?2, ?3, ?4, ?5)",
        )?;
        for (namespace, first, docs, length) in self.places {
            place.execute(params![namespace, first, segment, docs, length])?;
        }
        Ok(segment)
    }
}

/// Writes the list of documents that contain a term; terms must be written in order.
fn write_postings(conn: &Connection, segment: i64, term: i64, postings: &[Posting]) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT INTO search_postings (segment, term, docs) VALUES (?1, ?2, ?3)")?.execute(params![
        segment,
        term,
        packed(postings)
    ])?;
    Ok(())
}

/// Merges the segments of each size class that contains many segments.
pub(in crate::store) fn tidy(conn: &Connection) -> Result<(), StoreError> {
    loop {
        let small = unfinished(conn)?;
        let same = (0..).take_while(|size| *size < size_of(FULL)).find_map(|size| {
            let same: Vec<Old> = small.iter().copied().filter(|old| size_of(old.docs) == size).collect();
            (same.len() >= SAME_SIZE).then_some(same)
        });
        let Some(same) = same else { return Ok(()) };
        merge_into_one(conn, &same)?;
    }
}

/// Merges all segments that are not full, dropping void postings.
pub(in crate::store) fn merge(conn: &Connection) -> Result<(), StoreError> {
    let small = unfinished(conn)?;
    if small.len() > 1 { merge_into_one(conn, &small) } else { Ok(()) }
}

/// A segment that is merged into another segment.
#[derive(Debug, Clone, Copy)]
struct Old {
    id: i64,
    first: i64,
    docs: i64,
    languages: i64,
}

fn unfinished(conn: &Connection) -> Result<Vec<Old>, StoreError> {
    let sql = "SELECT id, first, docs, languages FROM search_segments WHERE docs < ?1 ORDER BY first";
    query_all(conn, sql, [FULL], |row| from_row!(row, 0 => Old { id, first, docs, languages }))
}

/// Returns the size class of a segment.
fn size_of(docs: i64) -> i64 {
    let steps = i64::try_from(SAME_SIZE).unwrap_or(i64::MAX);
    std::iter::successors(Some(docs.min(FULL) / WAITING / steps), |left| Some(left / steps))
        .take_while(|left| *left > 0)
        .fold(0, |size, _| size + 1)
}

fn merge_into_one(conn: &Connection, old: &[Old]) -> Result<(), StoreError> {
    let mut segment = NewSegment::beyond_all(conn)?;
    segment.languages = old.iter().fold(0, |all, old| all | old.languages);
    let numbers = renumbered(conn, old, &mut segment)?;
    let lists = lists(conn, old)?;
    // The old segments are deleted after their lists were read and before the new segment is assigned the documents.
    for Old { id, first, docs, .. } in old {
        conn.prepare_cached("DELETE FROM search_postings WHERE segment = ?1")?.execute([id])?;
        conn.prepare_cached("DELETE FROM search_docs WHERE doc >= ?1 AND doc < ?2")?.execute([*first, first + docs])?;
        conn.prepare_cached("DELETE FROM search_segments WHERE id = ?1")?.execute([id])?;
    }
    // If all memories of the segments were changed or deleted, an empty segment would only slow down lookups.
    if segment.seqs.is_empty() {
        return Ok(());
    }
    let id = segment.write(conn)?;
    let mut postings = Vec::new();
    for same in lists.chunk_by(|a, b| a.0 == b.0) {
        postings.clear();
        for (_, from, bytes) in same {
            unpacked(bytes, &(0..u32::MAX), |posting| {
                let number = numbers[*from].get(posting.document as usize).copied().flatten();
                postings.extend(number.map(|document| Posting { document, ..posting }));
            });
        }
        if !postings.is_empty() {
            postings.sort_unstable_by_key(|posting| posting.document);
            write_postings(conn, id, same[0].0, &postings)?;
        }
    }
    Ok(())
}

/// Adds the remaining documents of `old` to the new segment, and returns the new number of each document. Removes the
/// namespaces from `old`.
fn renumbered(conn: &Connection, old: &[Old], segment: &mut NewSegment) -> Result<Vec<Vec<Option<u32>>>, StoreError> {
    let mut places: Vec<(String, i64, i64, i64, usize)> = Vec::new();
    let mut all = conn.prepare_cached("SELECT namespace, first, docs, length, segment FROM search_places")?;
    let mut rows = all.query(())?;
    while let Some(row) = rows.next()? {
        let of: i64 = row.get(4)?;
        if let Some(from) = old.iter().position(|old| old.id == of) {
            places.push((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, from));
        }
    }
    drop(rows);
    places.sort_unstable();
    let mut numbers: Vec<Vec<Option<u32>>> =
        old.iter().map(|old| vec![None; usize::try_from(old.docs).unwrap_or_default()]).collect();
    let mut alive =
        conn.prepare_cached("SELECT doc, seq FROM search_docs WHERE doc >= ?1 AND doc < ?2 ORDER BY doc")?;
    let mut gone = conn.prepare_cached("DELETE FROM search_places WHERE namespace = ?1 AND first = ?2")?;
    for (namespace, first, docs, length, from) in places {
        // The length of each document is not stored, so the remaining documents are assumed to have average length.
        let until = |docs_before: i64| length * docs_before / docs.max(1);
        let mut rows = alive.query([first, first + docs])?;
        while let Some(row) = rows.next()? {
            let doc: i64 = row.get(0)?;
            let at = usize::try_from(doc - old[from].first).unwrap_or(usize::MAX);
            if let Some(number) = numbers[from].get_mut(at) {
                *number = Some(segment.add(&namespace, row.get(1)?, until(doc - first + 1) - until(doc - first)));
            }
        }
        gone.execute(params![namespace, first])?;
    }
    Ok(numbers)
}

/// Returns the packed postings of all terms, sorted by term.
fn lists(conn: &Connection, old: &[Old]) -> Result<Vec<(i64, usize, Vec<u8>)>, StoreError> {
    let mut lists = Vec::new();
    let mut statement = conn.prepare_cached("SELECT term, docs FROM search_postings WHERE segment = ?1")?;
    for (from, old) in old.iter().enumerate() {
        let mut rows = statement.query([old.id])?;
        while let Some(row) = rows.next()? {
            lists.push((row.get(0)?, from, row.get_ref(1)?.as_blob().unwrap_or_default().to_vec()));
        }
    }
    lists.sort_unstable_by_key(|(term, from, _)| (*term, *from));
    Ok(lists)
}

/// Number of postings in one block.
// The block is small enough that a search in one namespace skips most of a long list.
const BLOCK: usize = 128;
/// Maximum text length that is encoded exactly.
// In BM25, a difference of one word matters only for short texts.
const EXACT: u32 = 64;
/// Number of codes for each doubling of the length beyond the exactly encoded lengths.
const STEPS: f64 = 16.0;

/// An entry that records that a document contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::store) struct Posting {
    /// The document, numbered from the first document of the segment.
    pub(in crate::store) document: u32,
    /// The weight of the term in the document, in half units.
    pub(in crate::store) weight: u8,
    /// The length of the document, encoded by [`length_code`].
    pub(in crate::store) length: u8,
}

/// Returns the postings as bytes; they must be sorted by document.
fn packed(postings: &[Posting]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(postings.len() * 3 + 12);
    let mut table = Vec::new();
    for block in postings.chunks(BLOCK) {
        let mut before = 0;
        table.push((block[0].document, u32::try_from(bytes.len()).unwrap_or(u32::MAX)));
        for posting in block {
            put_number(posting.document - before, &mut bytes);
            bytes.extend([posting.weight, posting.length]);
            before = posting.document;
        }
    }
    for (document, start) in &table {
        bytes.extend(document.to_le_bytes());
        bytes.extend(start.to_le_bytes());
    }
    bytes.extend(u32::try_from(postings.len()).unwrap_or(u32::MAX).to_le_bytes());
    bytes
}

/// Calls `take` with the postings of the documents in `wanted`, in order of document. Invalid bytes are treated as an
/// empty list.
pub(in crate::store) fn unpacked(bytes: &[u8], wanted: &Range<u32>, mut take: impl FnMut(Posting)) {
    let Some((rest, count)) = bytes.split_last_chunk::<4>() else { return };
    let count = u32::from_le_bytes(*count) as usize;
    let blocks = count.div_ceil(BLOCK);
    // A damaged list must not make the search panic; `db check` reports the damage.
    let Some(table_at) = rest.len().checked_sub(blocks * 8) else { return };
    let (postings, table) = rest.split_at(table_at);
    let entry = |block: usize, part: usize| {
        let at = block * 8 + part * 4;
        table.get(at..at + 4).and_then(|four| four.try_into().ok()).map_or(0, u32::from_le_bytes)
    };
    // Finds the last block that may contain the first wanted document.
    let (mut first, mut after) = (0, blocks);
    while after - first > 1 {
        let middle = usize::midpoint(first, after);
        if entry(middle, 0) <= wanted.start {
            first = middle;
        } else {
            after = middle;
        }
    }
    for block in first..blocks {
        if entry(block, 0) >= wanted.end {
            return;
        }
        let end = if block + 1 < blocks { entry(block + 1, 1) as usize } else { postings.len() };
        let mut left = postings.get(entry(block, 1) as usize..end).unwrap_or_default();
        let mut document = 0;
        while let Some(step) = get(&mut left) {
            document += step;
            let [weight, length, rest @ ..] = left else { return };
            if document >= wanted.end {
                return;
            }
            if document >= wanted.start {
                take(Posting { document, weight: *weight, length: *length });
            }
            left = rest;
        }
    }
}

fn put_number(mut value: u32, bytes: &mut Vec<u8>) {
    while value >= 0x80 {
        bytes.push(value.to_le_bytes()[0] | 0x80);
        value >>= 7;
    }
    bytes.push(value.to_le_bytes()[0]);
}

fn get(bytes: &mut &[u8]) -> Option<u32> {
    let mut value = 0;
    for shift in (0..32).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u32::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// The length that each code represents, in ascending order.
static LENGTHS: LazyLock<Vec<f64>> = LazyLock::new(|| {
    let beyond = |code: u32| f64::from(EXACT) * 2_f64.powf(f64::from(code - EXACT) / STEPS);
    (0..=u32::from(u8::MAX)).map(|code| if code <= EXACT { f64::from(code) } else { beyond(code) }).collect()
});

/// Encodes a length in one byte. Lengths up to 64 words are exact; longer texts are overestimated by up to 5 %.
pub(in crate::store) fn length_code(length: u32) -> u8 {
    let code = LENGTHS.partition_point(|known| *known < f64::from(length));
    u8::try_from(code).unwrap_or(u8::MAX)
}

/// Returns the length that a code represents.
pub(in crate::store) fn length_of(code: u8) -> f64 {
    LENGTHS[usize::from(code)]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn all(bytes: &[u8], wanted: &Range<u32>) -> Vec<Posting> {
        let mut all = Vec::new();
        unpacked(bytes, wanted, |posting| all.push(posting));
        all
    }

    proptest! {
        #[test]
        fn what_was_packed_comes_back(
            documents in proptest::collection::btree_set(0_u32..200_000, 1..600), from in 0_u32..200_000, len in 0_u32..200_000,
        ) {
            let postings: Vec<Posting> = documents
                .iter()
                .map(|document| Posting { document: *document, weight: document.to_le_bytes()[0], length: document.to_le_bytes()[1] })
                .collect();
            let bytes = packed(&postings);
            prop_assert_eq!(&all(&bytes, &(0..u32::MAX)), &postings);
            let wanted = from..from + len;
            let expected: Vec<Posting> =
                postings.iter().copied().filter(|posting| wanted.contains(&posting.document)).collect();
            prop_assert_eq!(all(&bytes, &wanted), expected);
        }

        #[test]
        fn damaged_bytes_are_no_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            all(&bytes, &(0..u32::MAX));
        }
    }

    #[test]
    fn lengths_are_kept_within_five_percent() {
        for length in (0..64).chain([65, 66, 70, 100, 500, 4_000, 100_000]) {
            let kept = length_of(length_code(length));
            assert!((kept - f64::from(length)).abs() <= 0.05 * f64::from(length), "{length} became {kept}");
        }
        assert_eq!(length_code(u32::MAX), u8::MAX);
    }
}
