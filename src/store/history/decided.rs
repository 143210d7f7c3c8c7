//! Earlier decisions about candidates and pairs of memories, and the results of full passes.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Row, params};
use sha2::{Digest, Sha256};
use transcripts::hex;

use crate::changeset::Action;
use crate::guard::CleanText;
use crate::memory::{Evidence, MemoryId, Namespace, RelationType};
use crate::store::RunId;
use crate::store::row::spelled;
use crate::store::{Database, StoreError, Writer};
use crate::text::normalise::normalised_hash;

/// The identity of a candidate: its claim and its evidence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    claim: String,
    sources: String,
}

impl Fingerprint {
    /// Returns the fingerprint of a claim; `None` for a claim without evidence, which may legitimately be stated again
    /// at any time.
    pub(crate) fn of(content: &str, evidence: &[Evidence]) -> Option<Self> {
        let mut pieces: Vec<[&str; 3]> = evidence
            .iter()
            .map(|piece| [&*piece.transcript, piece.messages.first().map_or("", String::as_str), &*piece.quote])
            .collect();
        // The same evidence may be listed in a different order when a transcript is read again.
        pieces.sort_unstable();
        pieces.dedup();
        let mut hash = Sha256::new();
        for part in pieces.iter().flatten() {
            // The length is included, so that moving a letter from one part to the next changes the hash.
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        let sources = hex(&hash.finalize()[..16]);
        (!pieces.is_empty()).then(|| Self { claim: normalised_hash(content), sources })
    }
}

impl Database {
    /// Returns the memory in `namespace` that resulted from a candidate with this fingerprint, even if the memory has
    /// changed since then.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn settled(&self, namespace: &Namespace, of: &Fingerprint) -> Result<Option<MemoryId>, StoreError> {
        let sql = "SELECT s.memory_id FROM settled s JOIN memories m ON m.id = s.memory_id
            WHERE s.claim_hash = ?1 AND s.sources_hash = ?2 AND m.namespace = ?3 ORDER BY s.memory_id LIMIT 1";
        let values = params![of.claim, of.sources, namespace.to_string()];
        self.query_one(sql, values, |row| row.get(0))
    }
}

impl Writer<'_> {
    /// Records that a candidate with this fingerprint resulted in `memory`; undoing the run removes the record.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn note_settled(&self, of: &Fingerprint, memory: &MemoryId) -> Result<(), StoreError> {
        self.execute(
            "INSERT OR IGNORE INTO settled (claim_hash, sources_hash, memory_id, run_id) VALUES (?1, ?2, ?3, ?4)",
            params![of.claim, of.sources, memory.as_str(), self.run.map(RunId::as_str)],
        )
        .map(drop)
    }

    /// Removes the records of `run`, except those about memories that remain as the run left them.
    pub(in crate::store) fn forget_settled(&self, run: &RunId, kept: &[MemoryId]) -> Result<(), StoreError> {
        let kept = serde_json::json!(kept.iter().map(MemoryId::as_str).collect::<Vec<_>>()).to_string();
        self.execute(
            "DELETE FROM settled WHERE run_id = ?1 AND memory_id NOT IN (SELECT value FROM json_each(?2))",
            params![run.as_str(), kept],
        )
        .map(drop)
    }
}

/// The hashes of two texts, the smaller hash first.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HashPair(String, String);

impl HashPair {
    /// Returns the pair, independent of the order of the two hashes.
    pub(crate) fn new(one: impl Into<String>, other: impl Into<String>) -> Self {
        let (one, other) = (one.into(), other.into());
        // The order is fixed, so that a judgement is found regardless of the order in which the memories are compared.
        if one <= other { Self(one, other) } else { Self(other, one) }
    }
}

/// A state of a namespace in which a full pass found nothing left to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PassMark {
    /// Revision of the namespace.
    pub revision: i64,
    /// The judge that made the pass.
    pub judge: String,
}

impl Database {
    /// Returns the namespaces with active memories, each with the number of these memories, the largest first and then
    /// by name.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn inhabited(&self) -> Result<Vec<(Namespace, usize)>, StoreError> {
        self.query_all(
            "SELECT namespace, count(*) FROM memories WHERE status = 'active'
                 GROUP BY namespace ORDER BY count(*) DESC, namespace",
            (),
            |row| Ok((spelled(row, 0)?, row.get(1)?)),
        )
    }

    /// Returns the stored judgements about pairs of memories in a namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn judged(&self, namespace: &Namespace) -> Result<BTreeMap<HashPair, String>, StoreError> {
        let sql = "SELECT a, b, relation FROM judged WHERE namespace = ?1 ORDER BY a, b";
        let pair = |row: &Row<'_>| Ok((HashPair(row.get(0)?, row.get(1)?), row.get(2)?));
        Ok(self.query_all(sql, [namespace.to_string()], pair)?.into_iter().collect())
    }

    /// Returns the mark of the last full pass over a namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn pass_mark(&self, namespace: &Namespace) -> Result<Option<PassMark>, StoreError> {
        self.query_one("SELECT revision, judge FROM passes WHERE namespace = ?1", [namespace.to_string()], |row| {
            Ok(PassMark { revision: row.get(0)?, judge: row.get(1)? })
        })
    }

    /// Returns the links of memories in a namespace that an undo has removed.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn links_taken_back(
        &self,
        namespace: &Namespace,
    ) -> Result<BTreeSet<(MemoryId, RelationType, MemoryId)>, StoreError> {
        // An erasure clears history entries, and an entry without `after` does not show which link it concerned.
        let sql = "SELECT h.memory_id, json_extract(h.after, '$.type'), h.other_id
                 FROM history h JOIN memories m ON m.id = h.other_id
                 WHERE h.undone = 1 AND h.entity = 'relation' AND h.action = 'relate' AND h.after IS NOT NULL
                 AND m.namespace = ?1 ORDER BY h.id";
        let decided =
            self.query_all(sql, [namespace.to_string()], |row| Ok((row.get(0)?, spelled(row, 1)?, row.get(2)?)))?;
        Ok(decided.into_iter().collect())
    }

    /// Returns the memories of a namespace for which an undo has reverted a change with this `action`.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn steps_taken_back(
        &self,
        namespace: &Namespace,
        action: Action,
    ) -> Result<BTreeSet<MemoryId>, StoreError> {
        let sql = "SELECT h.memory_id FROM history h JOIN memories m ON m.id = h.memory_id
                 WHERE h.undone = 1 AND h.action = ?2 AND m.namespace = ?1 ORDER BY h.id";
        let touched = self.query_all(sql, [namespace.to_string().as_str(), action.as_str()], |row| row.get(0))?;
        Ok(touched.into_iter().collect())
    }
}

impl Writer<'_> {
    /// Records the judgements of `model` about pairs of memories in a namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn note_judged(
        &self,
        namespace: &Namespace,
        model: CleanText<'_>,
        said: &BTreeMap<HashPair, String>,
    ) -> Result<(), StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "INSERT OR REPLACE INTO judged (namespace, a, b, relation, model, at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?;
            for (HashPair(a, b), relation) in said {
                statement.execute(params![
                    namespace.to_string(),
                    a,
                    b,
                    relation,
                    &*model,
                    self.now.as_millisecond()
                ])?;
            }
            Ok(())
        })
    }

    /// Records that a full pass found nothing left to do in a namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn note_pass(
        &self,
        namespace: &Namespace,
        revision: i64,
        judge: CleanText<'_>,
    ) -> Result<(), StoreError> {
        self.execute(
            "INSERT OR REPLACE INTO passes (namespace, revision, judge, at) VALUES (?1, ?2, ?3, ?4)",
            params![namespace.to_string(), revision, &*judge, self.now.as_millisecond()],
        )
        .map(drop)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::store::testing::{clean, day, insert, memory, relation, shop};
    use crate::store::{RunStatus, Store};

    #[test]
    fn what_was_said_about_a_pair_is_found_whichever_comes_first() {
        let store = Store::in_memory().unwrap();
        let said = BTreeMap::from([(HashPair::new("b", "a"), "complementary".to_owned())]);
        let mark = PassMark { revision: 7, judge: "m".into() };
        store
            .write::<_, StoreError>(None, day(1), |w| {
                w.note_judged(&shop(), "m".into(), &said)?;
                w.note_pass(&shop(), mark.revision, "m".into())
            })
            .unwrap();
        let known = store.judged(&shop()).unwrap();
        assert_eq!(known.get(&HashPair::new("a", "b")).map(String::as_str), Some("complementary"));
        assert_eq!(store.judged(&"global".parse().unwrap()).unwrap(), BTreeMap::new());
        assert_eq!(store.pass_mark(&shop()).unwrap(), Some(mark));
    }

    #[test]
    fn links_that_were_undone_are_told_and_others_are_not() {
        let store = Store::in_memory().unwrap();
        let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
        insert(&store, &tea);
        insert(&store, &milk);
        store
            .write::<_, StoreError>(None, day(1), |w| w.relate(&relation(&milk.id, RelationType::Related, &tea.id)))
            .unwrap();
        let run = store.begin_run("consolidate", &json!({}), day(1)).unwrap().id;
        let made = memory("Both", "The user drinks tea with milk.");
        store
            .write::<_, StoreError>(Some(&run), day(1), |w| {
                w.insert(&clean(made.clone()), &clean(vec![]))?;
                w.relate(&relation(&made.id, RelationType::DerivedFrom, &tea.id))
            })
            .unwrap();
        store.finish_run(&run, RunStatus::Finished, &json!({}), day(1)).unwrap();
        assert_eq!(store.links_taken_back(&shop()).unwrap(), BTreeSet::new());
        store.undo_run(&run, day(2)).unwrap();
        let expected = BTreeSet::from([(made.id, RelationType::DerivedFrom, tea.id)]);
        assert_eq!(store.links_taken_back(&shop()).unwrap(), expected);
        assert_eq!(store.inhabited().unwrap(), [(shop(), 2)]);
    }
}
