//! Short forms of vectors, kept in memory between searches as long as nobody changes any.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::code::Codes;
use crate::store::{StoreError, Within};

/// Codes in memory at most; at 384 numbers, that is 250 MB. Beyond, what was read is let go of.
const MAX_KEPT: usize = 4_000_000;

/// Codes by namespace, of one model at one revision of the file.
#[derive(Debug, Default)]
pub(in crate::store) struct VectorCache {
    state: Option<(i64, i64)>,
    by_namespace: BTreeMap<String, Arc<Codes>>,
}

impl VectorCache {
    /// Returns the codes of `model_id` in the namespaces that are allowed, each once; all where none is named.
    pub(super) fn codes(
        &mut self,
        conn: &Connection,
        (model_id, dimension): (i64, usize),
        allowed: &[Within],
    ) -> Result<Vec<Arc<Codes>>, StoreError> {
        let revision = conn
            .prepare_cached("SELECT revision FROM vector_revision WHERE id = 1")?
            .query_row((), |row| row.get::<_, i64>(0))?;
        let kept: usize = self.by_namespace.values().map(|codes| codes.seqs.len()).sum();
        if self.state != Some((model_id, revision)) || kept > MAX_KEPT {
            *self = Self { state: Some((model_id, revision)), by_namespace: BTreeMap::new() };
        }
        let mut found = Vec::new();
        for namespace in namespaces(conn, model_id, allowed)? {
            let codes = match self.by_namespace.get(&namespace) {
                Some(codes) => Arc::clone(codes),
                None => Arc::new(read(conn, model_id, dimension, &namespace)?),
            };
            self.by_namespace.insert(namespace, Arc::clone(&codes));
            found.push(codes);
        }
        Ok(found)
    }
}

/// Returns the namespaces that have vectors and are allowed, in order.
fn namespaces(conn: &Connection, model_id: i64, allowed: &[Within]) -> Result<Vec<String>, StoreError> {
    let everywhere = [(String::new(), None)];
    let ranges: Vec<(String, Option<String>)> = allowed.iter().flat_map(ranges).collect();
    let mut found = std::collections::BTreeSet::new();
    // One step a namespace: to list distinct ones, SQLite would read every row.
    let mut next = conn.prepare_cached(
        "SELECT namespace FROM vectors WHERE model_id = ?1 AND namespace >= ?2 ORDER BY namespace LIMIT 1",
    )?;
    for (first, end) in if allowed.is_empty() { &everywhere[..] } else { &ranges } {
        let mut from = first.clone();
        while let Some(namespace) = next.query_row(params![model_id, from], |row| row.get::<_, String>(0)).optional()? {
            if end.as_ref().is_some_and(|end| namespace >= *end) {
                break;
            }
            // The least text that is greater.
            from = format!("{namespace}\0");
            found.insert(namespace);
        }
    }
    Ok(found.into_iter().collect())
}

/// Returns where the allowed namespaces begin and end in their order.
fn ranges(within: &Within) -> Vec<(String, Option<String>)> {
    match within {
        Within::Exactly(namespace) => vec![(namespace.to_string(), Some(format!("{namespace}\0")))],
        Within::Under(namespace) => vec![
            (namespace.to_string(), Some(format!("{namespace}\0"))),
            // '0' is the character after '/'.
            (format!("{namespace}/"), Some(format!("{namespace}0"))),
        ],
    }
}

fn read(conn: &Connection, model_id: i64, dimension: usize, namespace: &str) -> Result<Codes, StoreError> {
    let mut statement = conn.prepare_cached(
        "SELECT seq, code FROM vectors INDEXED BY vectors_by_namespace WHERE model_id = ?1 AND namespace = ?2",
    )?;
    let mut codes = Codes::default();
    let mut rows = statement.query(params![model_id, namespace])?;
    while let Some(row) = rows.next()? {
        let code = row.get_ref(1)?.as_blob().map_err(rusqlite::Error::from)?;
        codes.push(row.get(0)?, code, dimension);
    }
    Ok(codes)
}
