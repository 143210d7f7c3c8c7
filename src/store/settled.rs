//! What was decided about candidates once, so that the same candidate is not decided, or asked about, again.

use rusqlite::{OptionalExtension, params};
use sha2::{Digest, Sha256};

use super::runs::RunId;
use super::{Database, StoreError, Writer};
use crate::memory::{Evidence, MemoryId, Namespace};
use crate::text::normalise::normalised_hash;
use transcripts::hex;

/// What makes two candidates one and the same: what they say, and the words that they rest on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fingerprint {
    claim: String,
    sources: String,
}

impl Fingerprint {
    /// Returns the fingerprint of a claim; `None` for one that rests on nothing, which may be said by anybody again.
    #[must_use]
    pub fn of(content: &str, evidence: &[Evidence]) -> Option<Self> {
        let mut pieces: Vec<[&str; 3]> = evidence
            .iter()
            .map(|piece| [&*piece.transcript, piece.messages.first().map_or("", String::as_str), &*piece.quote])
            .collect();
        pieces.sort_unstable();
        pieces.dedup();
        let mut hash = Sha256::new();
        for part in pieces.iter().flatten() {
            hash.update(part.len().to_le_bytes());
            hash.update(part.as_bytes());
        }
        let sources = hex(&hash.finalize()[..16]);
        (!pieces.is_empty()).then(|| Self { claim: normalised_hash(content), sources })
    }
}

impl Database {
    /// Returns the memory of `namespace` that a candidate of this fingerprint led to, whatever has become of it since.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn settled(&self, namespace: &Namespace, of: &Fingerprint) -> Result<Option<MemoryId>, StoreError> {
        self.read(|conn| {
            let mut statement = conn.prepare_cached(
                "SELECT s.memory_id FROM settled s JOIN memories m ON m.id = s.memory_id
                 WHERE s.claim_hash = ?1 AND s.sources_hash = ?2 AND m.namespace = ?3 ORDER BY s.memory_id LIMIT 1",
            )?;
            let values = params![of.claim, of.sources, namespace.to_string()];
            let found = statement.query_row(values, |row| row.get::<_, String>(0)).optional()?;
            Ok(found.map(MemoryId::from_stored))
        })
    }
}

impl Writer<'_> {
    /// Notes that a candidate of this fingerprint led to `memory`; undoing the run takes the note back.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn note_settled(&self, of: &Fingerprint, memory: &MemoryId) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached(
                "INSERT OR IGNORE INTO settled (claim_hash, sources_hash, memory_id, run_id) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![of.claim, of.sources, memory.as_str(), self.run.map(RunId::as_str)])?;
            Ok(())
        })
    }

    /// Takes back what `run` noted, but for memories that stay as the run left them.
    pub(super) fn forget_settled(&self, run: &RunId, kept: &[MemoryId]) -> Result<(), StoreError> {
        self.read(|conn| {
            let kept = serde_json::json!(kept.iter().map(MemoryId::as_str).collect::<Vec<_>>()).to_string();
            conn.execute(
                "DELETE FROM settled WHERE run_id = ?1 AND memory_id NOT IN (SELECT value FROM json_each(?2))",
                params![run.as_str(), kept],
            )?;
            Ok(())
        })
    }
}
