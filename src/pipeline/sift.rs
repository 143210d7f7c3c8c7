//! What is left of the candidates of a window once personal data and pasted words are told apart.

use crate::extract::{DropReason, Dropped, Extraction};
use crate::guard::{DROPPED_MARKER, Guard, Redact as _, is_pasted};
use crate::memory::Candidate;
use transcripts::Message;

/// Notes which candidates rest on words that their writer took from elsewhere.
pub(super) fn mark_pasted(candidates: &mut [Candidate], messages: &[Message]) {
    for candidate in candidates {
        let evidence = &candidate.evidence;
        candidate.is_pasted = !evidence.is_empty()
            && evidence.iter().all(|piece| {
                let said = messages.iter().find(|message| piece.messages.first() == Some(&message.id));
                said.is_some_and(|message| is_pasted(&message.text, &piece.quote))
            });
    }
}

/// Drops what holds personal data that is not to be remembered in any form.
pub(super) fn drop_personal(extraction: &mut Extraction, guard: &Guard) {
    extraction.candidates.retain(|candidate| {
        let (mut candidate, mut holds) = (guard.redact(candidate.clone()).0.into_inner(), false);
        candidate.edit_texts(&mut |text| holds |= text.contains(DROPPED_MARKER));
        if holds {
            let detail = "it holds personal data that the settings drop".to_owned();
            extraction.dropped.push(Dropped { reason: DropReason::Secret, detail });
        }
        !holds
    });
}
