//! Values in the precision in which the database keeps them: whole milliseconds, and shares of six decimals.
//!
//! What is finer is cut before it is written, so that what is read back compares equal to what the history says.

use jiff::Timestamp;
use transcripts::MessageTime;

use crate::memory::{Evidence, Memory};

/// Returns a memory as it is stored.
pub(crate) fn memory_as_stored(memory: &Memory) -> Memory {
    let mut stored = memory.clone();
    let claim = &mut stored.claim;
    claim.importance = share_as_stored(claim.importance);
    claim.confidence = share_as_stored(claim.confidence);
    for at in [&mut claim.valid_from, &mut claim.valid_to, &mut claim.expires_at, &mut stored.deleted_at] {
        *at = at.map(time_as_stored);
    }
    for at in [&mut stored.usage.last_accessed_at, &mut stored.usage.last_promoted_at] {
        *at = at.map(time_as_stored);
    }
    stored.created_at = time_as_stored(stored.created_at);
    stored.updated_at = time_as_stored(stored.updated_at);
    stored
}

/// Returns a piece of evidence as it is stored.
pub(crate) fn evidence_as_stored(piece: &Evidence) -> Evidence {
    let said_at = piece.said_at.map(|said| MessageTime { at: time_as_stored(said.at), ..said });
    Evidence { said_at, ..piece.clone() }
}

/// Returns a share between 0 and 1 whose JSON spelling reads back as the same number.
pub(crate) fn share_as_stored(share: f64) -> f64 {
    if share.is_finite() { (share.clamp(0.0, 1.0) * 1e6).round() / 1e6 } else { 0.0 }
}

/// Returns a time in whole milliseconds.
pub(crate) fn time_as_stored(at: Timestamp) -> Timestamp {
    Timestamp::from_millisecond(at.as_millisecond()).unwrap_or(at)
}
