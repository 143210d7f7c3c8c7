//! Segments of the index of words: making them, and making one of several.
//!
//! A segment numbers its documents by namespace and then by memory, so that those of one namespace lie together. When
//! there are many segments of one size, they become one, in which the numbers are new and what is void is gone.

use rusqlite::{Connection, params};

use super::StoreError;
use super::postings::{Posting, packed, unpacked};
use super::word_index::WAITING;

/// Segments of one size that become one.
const SAME_SIZE: usize = 8;
/// Documents from which on a segment stays as it is; also, what a write may have to rewrite at once is bounded by it.
const FULL: i64 = WAITING * 64;

/// A segment that is being made.
pub(super) struct NewSegment {
    first: i64,
    /// The row of each document.
    seqs: Vec<i64>,
    /// Each namespace with its first document, how many it has, and how many words those have.
    places: Vec<(String, i64, i64, i64)>,
    /// The languages of its words.
    pub(super) languages: i64,
}

impl NewSegment {
    /// Returns an empty one whose numbers come after all that there are.
    pub(super) fn beyond_all(conn: &Connection) -> Result<Self, StoreError> {
        let first = conn
            .prepare_cached("SELECT ifnull(max(first + docs), 1) FROM search_segments")?
            .query_row((), |row| row.get(0))?;
        Ok(Self { first, seqs: Vec::new(), places: Vec::new(), languages: 0 })
    }

    /// Adds a document and returns its number within the segment; they come by namespace.
    pub(super) fn add(&mut self, namespace: &str, seq: i64, length: i64) -> u32 {
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

    /// Writes everything but the postings, and returns the number under which those go.
    pub(super) fn write(self, conn: &Connection) -> Result<i64, StoreError> {
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

/// Writes which documents hold a term; terms come in their order.
pub(super) fn write_postings(
    conn: &Connection,
    segment: i64,
    term: i64,
    postings: &[Posting],
) -> Result<(), StoreError> {
    conn.prepare_cached("INSERT INTO search_postings (segment, term, docs) VALUES (?1, ?2, ?3)")?.execute(params![
        segment,
        term,
        packed(postings)
    ])?;
    Ok(())
}

/// Makes one segment of each size of which there are many.
pub(super) fn tidy(conn: &Connection) -> Result<(), StoreError> {
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

/// Makes one segment of all that are not full, without what is void.
pub(super) fn merge(conn: &Connection) -> Result<(), StoreError> {
    let small = unfinished(conn)?;
    if small.len() > 1 { merge_into_one(conn, &small) } else { Ok(()) }
}

/// A segment that becomes part of another.
#[derive(Debug, Clone, Copy)]
struct Old {
    id: i64,
    first: i64,
    docs: i64,
    languages: i64,
}

fn unfinished(conn: &Connection) -> Result<Vec<Old>, StoreError> {
    let mut statement =
        conn.prepare_cached("SELECT id, first, docs, languages FROM search_segments WHERE docs < ?1 ORDER BY first")?;
    let old = |row: &rusqlite::Row<'_>| {
        Ok(Old { id: row.get(0)?, first: row.get(1)?, docs: row.get(2)?, languages: row.get(3)? })
    };
    Ok(statement.query_map([FULL], old)?.collect::<Result<_, _>>()?)
}

/// In which class of sizes a segment falls.
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
    for Old { id, first, docs, .. } in old {
        conn.prepare_cached("DELETE FROM search_postings WHERE segment = ?1")?.execute([id])?;
        conn.prepare_cached("DELETE FROM search_docs WHERE doc >= ?1 AND doc < ?2")?.execute([*first, first + docs])?;
        conn.prepare_cached("DELETE FROM search_segments WHERE id = ?1")?.execute([id])?;
    }
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

/// Adds what is left of `old` to the new segment, and returns the new number of each of their documents. Takes their
/// namespaces out.
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
        // How long each one is, is not kept: those that are left count as long as those that are gone.
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

/// Returns the packed postings of all terms, by term.
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
