//! Which memories have no vector of a model yet.

use rusqlite::params;
use serde::Serialize;

use super::super::memories::rows;
use super::{Database, StoreError, VectorModel};
use crate::memory::MemoryId;

/// Times that a text is given to a model that does not take it.
const MAX_ATTEMPTS: u32 = 3;

/// A memory without a vector, with the texts that one is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unembedded {
    /// The memory.
    pub id: MemoryId,
    /// Its title.
    pub title: String,
    /// Its content.
    pub content: String,
    /// Its place in the file, in which order the waiting come.
    pub(super) seq: i64,
}

/// How many memories have a vector of one model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Coverage {
    /// Memories of any status with a vector.
    pub embedded: usize,
    /// Active and pending ones without, that will be tried.
    pub waiting: usize,
    /// Those without whose text the model did not take, however often it was tried.
    pub given_up: usize,
}

/// Active and pending memories without a vector of model `?1`. The index names the namespace, so that it alone is read.
const WAITING: &str = "m.status IN ('active', 'pending') AND NOT EXISTS (
    SELECT 1 FROM vectors v WHERE v.model_id = ?1 AND v.namespace = m.namespace AND v.seq = m.seq)";
/// Whether the model has refused a text too often.
const GIVEN_UP: &str = "EXISTS (
    SELECT 1 FROM vector_failures f WHERE f.seq = m.seq AND f.model_id = ?1 AND f.attempts >= ?2)";

impl Database {
    /// Returns at most `limit` active and pending memories that have no vector of `model` and that the model has not
    /// refused too often, the last learnt first, those before `last` alone.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn without_vector(
        &self,
        model: &VectorModel,
        last: Option<&Unembedded>,
        limit: usize,
    ) -> Result<Vec<Unembedded>, StoreError> {
        let model_id = self.model_id(model)?.unwrap_or_default();
        self.read(|conn| {
            let sql = format!(
                "SELECT m.id, m.title, m.content, m.seq FROM memories m
                 WHERE m.seq < ?3 AND {WAITING} AND NOT {GIVEN_UP} ORDER BY m.seq DESC LIMIT ?4"
            );
            let before = last.map_or(i64::MAX, |one| one.seq);
            let mut statement = conn.prepare_cached(&sql)?;
            let found = statement.query_map(params![model_id, MAX_ATTEMPTS, before, rows(limit)], |row| {
                let id = MemoryId::from_stored(row.get::<_, String>(0)?);
                Ok(Unembedded { id, title: row.get(1)?, content: row.get(2)?, seq: row.get(3)? })
            })?;
            Ok(found.collect::<Result<_, _>>()?)
        })
    }

    /// Returns how many memories have a vector of `model`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn vector_coverage(&self, model: &VectorModel) -> Result<Coverage, StoreError> {
        if !self.has_vectors()? {
            return Ok(Coverage::default());
        }
        let model_id = self.model_id(model)?.unwrap_or_default();
        self.read(|conn| {
            let count = |sql: &str, values: &[&dyn rusqlite::ToSql]| -> Result<usize, StoreError> {
                Ok(conn.prepare_cached(sql)?.query_row(values, |row| row.get(0))?)
            };
            let without = format!("SELECT count(*) FROM memories m WHERE {WAITING}");
            let given_up = format!("{without} AND {GIVEN_UP}");
            let given_up = count(&given_up, &[&model_id, &MAX_ATTEMPTS])?;
            Ok(Coverage {
                embedded: count("SELECT count(*) FROM vectors WHERE model_id = ?1", &[&model_id])?,
                waiting: count(&without, &[&model_id])?.saturating_sub(given_up),
                given_up,
            })
        })
    }
}

impl super::Writer<'_> {
    /// Lets the texts that models have refused be tried again, and returns how many.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn retry_vectors(&self) -> Result<usize, StoreError> {
        self.read(|conn| Ok(conn.execute("DELETE FROM vector_failures", ())?))
    }
}
