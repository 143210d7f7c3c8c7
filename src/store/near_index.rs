//! Filing claims under the words by which those that may say the same are found.

use rusqlite::{Connection, params};

use super::near_words::NearForms;
use super::{Database, StoreError, Writer};
use crate::memory::{Claim, Memory, MemoryType, Namespace};

/// New memories that wait at most to be filed.
const MOST_UNFILED: usize = 16_384;
/// Of so many that are filed at once, FTS5 is to gather more than by itself before it writes.
const MANY: usize = 1_024;
/// Bytes that it gathers then. Its own 1 MB makes many small parts of a large write, which it puts together again and
/// again; with four times as many it takes some 30 MB of memory.
const GATHERED: i64 = 4 << 20;

impl Database {
    /// Files the new memories that wait for it.
    pub(super) fn file_waiting(&self) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.unfiled.borrow_mut());
        if waiting.is_empty() {
            return Ok(());
        }
        self.read(|conn| {
            if waiting.len() >= MANY {
                gather_more(conn)?;
            }
            let mut insert = conn.prepare_cached("INSERT INTO memory_near (rowid, words) VALUES (?1, ?2)")?;
            for (seq, words) in waiting {
                insert.execute(params![seq, words])?;
            }
            Ok(())
        })
    }
}

/// Has FTS5 gather more before it writes; the file keeps that.
fn gather_more(conn: &Connection) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM memory_near_config WHERE k = 'hashsize' AND v = ?1)";
    if !conn.prepare_cached(sql)?.query_row([GATHERED], |row| row.get::<_, bool>(0))? {
        conn.prepare_cached("INSERT INTO memory_near (memory_near, rank) VALUES ('hashsize', ?1)")?
            .execute([GATHERED])?;
    }
    Ok(())
}

impl Writer<'_> {
    /// Files new memories, which are in these rows, under the words that [`filed`] tells; at the latest when the
    /// transaction ends. FTS5 writes out what it has gathered whenever another table is written to, so many are filed one
    /// after another.
    pub(super) fn file_new(&self, new: impl IntoIterator<Item = (i64, String)>) -> Result<(), StoreError> {
        let waiting = {
            let mut unfiled = self.unfiled.borrow_mut();
            unfiled.extend(new);
            unfiled.len()
        };
        if waiting >= MOST_UNFILED { self.file_waiting() } else { Ok(()) }
    }

    /// Files a memory under what it says, as it is given.
    pub(super) fn index_near(&self, memory: &Memory) -> Result<(), StoreError> {
        self.file_waiting()?;
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT OR REPLACE INTO memory_near (rowid, words) VALUES ((SELECT seq FROM memories WHERE id = ?1), ?2)",
            )?
            .execute([memory.id.as_str(), &filed(&memory.namespace, &memory.claim)])?;
            Ok(())
        })
    }
}

/// Files every memory of a file that was made before there was this index.
pub(super) fn fill_near(conn: &Connection) -> rusqlite::Result<()> {
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
        let namespace: Namespace = super::row::spelled(row, 1)?;
        insert.execute(params![row.get::<_, i64>(0)?, filed(&namespace, &claim)])?;
    }
    Ok(())
}

/// Returns the words that a claim is filed under.
pub(super) fn filed(namespace: &Namespace, claim: &Claim) -> String {
    NearForms::of(namespace, claim).spelled()
}
