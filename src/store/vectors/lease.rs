//! The right to make vectors, which one process has at a time, and what they took.

use jiff::{SignedDuration, Timestamp};
use rusqlite::params;

use super::Writer;
use crate::store::StoreError;

/// How long the right lasts without a sign of life.
const LEASE: SignedDuration = SignedDuration::from_secs(30);

impl Writer<'_> {
    /// Takes or keeps the right to make vectors for `owner`, and returns whether it has it; another process that has
    /// taken it loses it half a minute after its last sign of life.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn lease_vectors(&self, owner: &str) -> Result<bool, StoreError> {
        let after = |span: SignedDuration| self.now().checked_add(span).unwrap_or(Timestamp::MAX).as_millisecond();
        self.read(|conn| {
            let taken = conn
                .prepare_cached(
                    "INSERT INTO vector_lease (id, owner, until) VALUES (1, ?1, ?2)
                     ON CONFLICT (id) DO UPDATE SET owner = ?1, until = ?2
                     WHERE owner = ?1 OR until <= ?3 OR until > ?4",
                )?
                // What holds for longer than a lease can was given by a clock that was wrong.
                .execute(params![owner, after(LEASE), after(SignedDuration::ZERO), after(LEASE * 2)])?;
            Ok(taken > 0)
        })
    }

    /// Gives the right back.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn release_vectors(&self, owner: &str) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.execute("DELETE FROM vector_lease WHERE owner = ?1", [owner])?;
            Ok(())
        })
    }

    /// Notes what a call for vectors took.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub fn note_embedding(&self, model: &str, tokens: u64) -> Result<(), StoreError> {
        self.read(|conn| {
            conn.prepare_cached("INSERT INTO vector_spending (at, model, tokens) VALUES (?1, ?2, ?3)")?
                .execute(params![self.now().as_millisecond(), model, i64::try_from(tokens).unwrap_or(i64::MAX)])?;
            Ok(())
        })
    }
}
