//! Filing claims under the words by which those that may say the same are found.

use rusqlite::{Connection, params};

use super::near_words::{near_pairs, near_whole, near_words};
use super::{StoreError, Writer};
use crate::memory::{Claim, Memory, MemoryType, Namespace};

impl Writer<'_> {
    /// Files a memory under what it says, as it is given.
    pub(super) fn index_near(&self, memory: &Memory) -> Result<(), StoreError> {
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
    let whole = near_whole(namespace, claim).into_iter().collect();
    [near_words(namespace, claim), near_pairs(namespace, claim), whole].concat().join(" ")
}
