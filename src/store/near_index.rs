//! Filing claims under the words by which those that may say the same are found.

use rusqlite::{Connection, params};

use super::near_words::NearForms;
use super::{Database, StoreError, Writer};
use crate::memory::{Claim, Memory, MemoryType, Namespace};

/// New memories that wait at most to be filed.
const MOST_UNFILED: usize = 4_096;

impl Database {
    /// Files the new memories that wait for it.
    pub(super) fn file_waiting(&self) -> Result<(), StoreError> {
        let waiting = std::mem::take(&mut *self.unfiled.borrow_mut());
        self.read(|conn| {
            let mut insert = conn.prepare_cached("INSERT INTO memory_near (rowid, words) VALUES (?1, ?2)")?;
            for (seq, words) in waiting {
                insert.execute(params![seq, words])?;
            }
            Ok(())
        })
    }
}

impl Writer<'_> {
    /// Files a new memory, which is in this row, under what it says; at the latest when the transaction ends. FTS5 writes
    /// out what it has gathered whenever another table is written to, so many are filed one after another.
    pub(super) fn file_new(&self, seq: i64, memory: &Memory) -> Result<(), StoreError> {
        let waiting = {
            let mut unfiled = self.unfiled.borrow_mut();
            unfiled.push((seq, filed(&memory.namespace, &memory.claim)));
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

fn filed(namespace: &Namespace, claim: &Claim) -> String {
    let NearForms { words, concepts, pairs, whole } = NearForms::of(namespace, claim);
    [words, concepts, pairs, whole.into_iter().collect()].concat().join(" ")
}
