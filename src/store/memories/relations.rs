//! Links between memories.

use rusqlite::{Connection, Row as SqlRow, params};

use crate::changeset::{Action, Row};
use crate::memory::{MemoryId, Relation, RelationType};
use crate::store::row::from_row;
use crate::store::{Database, StoreError, Writer};

impl Database {
    /// Returns the links from a memory and then the links to it, each ordered by time.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn relations(&self, id: &MemoryId) -> Result<Vec<Relation>, StoreError> {
        self.query_all(
            "SELECT from_id, to_id, type, reason, created_at FROM relations WHERE from_id = ?1 OR to_id = ?1
                 ORDER BY from_id <> ?1, created_at, from_id, to_id, type",
            [id.as_str()],
            relation_from_row,
        )
    }
}

impl Writer<'_> {
    /// Links two memories, and returns whether the link is new.
    ///
    /// # Errors
    /// [`StoreError::UnknownMemory`] if either memory is missing, [`StoreError::SelfRelation`] if they are the same.
    pub(crate) fn relate(&self, relation: &Relation) -> Result<bool, StoreError> {
        if relation.from == relation.to {
            return Err(StoreError::SelfRelation { id: relation.from.to_string() });
        }
        // Unlike a violated foreign key, the lookup returns an error with the ID of the missing memory.
        self.memory(&relation.from)?;
        self.memory(&relation.to)?;
        let relation = relation.clone();
        let same = |one: &Relation| one.to == relation.to && one.relation_type == relation.relation_type;
        if self.relations(&relation.from)?.iter().any(|one| one.from == relation.from && same(one)) {
            return Ok(false);
        }
        let reason = self.redact(relation.reason.clone());
        self.write_one(Action::Relate, Row::new_relation(relation), reason.text())?;
        Ok(true)
    }

    /// Removes a link, and returns whether it existed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn unrelate(
        &self,
        from: &MemoryId,
        relation_type: RelationType,
        to: &MemoryId,
    ) -> Result<bool, StoreError> {
        let same = |relation: &Relation| {
            relation.from == *from && relation.to == *to && relation.relation_type == relation_type
        };
        let Some(relation) = self.relations(from)?.into_iter().find(same) else { return Ok(false) };
        let reason = self.redact(relation.reason.clone());
        self.write_one(Action::Unrelate, Row::Relation { before: Some(relation), after: None }, reason.text())?;
        Ok(true)
    }
}

/// Inserts a link, and returns whether it was new.
pub(in crate::store) fn insert_row(conn: &Connection, relation: &Relation) -> Result<bool, StoreError> {
    let inserted = conn
        .prepare_cached(
            "INSERT INTO relations (from_id, to_id, type, reason, created_at) VALUES (?1, ?2, ?3, ?4, ?5)
             ON CONFLICT DO NOTHING",
        )?
        .execute(params![
            relation.from.as_str(),
            relation.to.as_str(),
            relation.relation_type.as_str(),
            relation.reason,
            relation.created_at.as_millisecond(),
        ])?;
    Ok(inserted > 0)
}

pub(in crate::store) fn delete_row(conn: &Connection, relation: &Relation) -> Result<(), StoreError> {
    conn.prepare_cached("DELETE FROM relations WHERE from_id = ?1 AND to_id = ?2 AND type = ?3")?.execute([
        relation.from.as_str(),
        relation.to.as_str(),
        relation.relation_type.as_str(),
    ])?;
    Ok(())
}

fn relation_from_row(row: &SqlRow<'_>) -> rusqlite::Result<Relation> {
    from_row!(row, 0 => Relation { from, to, relation_type, reason, created_at })
}
