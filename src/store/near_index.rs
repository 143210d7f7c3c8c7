//! Filing claims under the words by which those that may say the same are found.

use rusqlite::{Connection, params};

use super::near_words::NearForms;
use super::{Database, StoreError, Writer};
use crate::memory::{Claim, Memory, MemoryType, Namespace};

/// New memories that wait at most to be filed.
const MOST_UNFILED: usize = 16_384;
/// Of so many that are filed at once, it is seen to that FTS5 is set as below.
const MANY: usize = 1_024;
/// How FTS5 is to keep what it files, which the file remembers. It gathers less than its own 1 MB before it writes, so that
/// what it gathers stays close to the processor, and puts eight parts together instead of four, so a word is written
/// fewer times. With both, filing takes two thirds of the time.
const KEPT: [(&str, i64); 2] = [("hashsize", 256 << 10), ("automerge", 8)];

impl Database {
    /// Files the new memories that wait for it.
    pub(super) fn file_waiting(&self) -> Result<(), StoreError> {
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
        let sql = "SELECT EXISTS (SELECT 1 FROM memory_near_config WHERE k = ?1 AND v = ?2)";
        if !conn.prepare_cached(sql)?.query_row(params![name, value], |row| row.get::<_, bool>(0))? {
            conn.execute("INSERT INTO memory_near (memory_near, rank) VALUES (?1, ?2)", params![name, value])?;
        }
    }
    Ok(())
}

impl Writer<'_> {
    /// Takes note of a new memory, which is in this row, to be filed under the words that [`filed`] tells; at the latest
    /// when the transaction ends. FTS5 writes out what it has gathered whenever another table is written to, so many are
    /// filed one after another.
    pub(super) fn file_new(&self, seq: i64, words: &str) {
        self.unfiled.borrow_mut().push((seq, words.to_owned()));
    }

    /// Files what waits for it if that is much.
    pub(super) fn file_if_many(&self) -> Result<(), StoreError> {
        let many = self.unfiled.borrow().len() >= MOST_UNFILED;
        if many { self.file_waiting() } else { Ok(()) }
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
