//! From a model's answer to candidates: nothing is believed that cannot be found in the conversation. Pure.

mod sheet;
#[cfg(test)]
mod tests;

use serde_json::Value;
use sheet::Sheet;

use super::ground::{Pool, is_only_secret};
pub use super::quote::quote_found;
use super::{DropReason, Dropped};
use crate::llm::ReplySchema;
use crate::memory::Candidate;

/// What is said of the entry in which an answer was cut.
pub(super) const CUT_SHORT: &str = "is cut short";

/// How much of an answer could be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Legible {
    /// A list, to its end.
    Whole,
    /// The beginning of a list.
    Cut,
    /// No list.
    Not,
}

/// What the entries of an answer come to that belong to one session. Each is one candidate or one dropped proposal.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Checked {
    /// What passed.
    pub candidates: Vec<Candidate>,
    /// What did not, by its 1-based place in the list.
    pub dropped: Vec<(usize, Dropped)>,
}

impl Checked {
    /// Returns the number of entries.
    pub(super) fn proposed(&self) -> usize {
        self.candidates.len() + self.dropped.len()
    }

    /// Returns the number of entries that do not have the shape that was asked for.
    pub(super) fn broken(&self) -> usize {
        self.dropped.iter().filter(|(_, one)| one.reason == DropReason::Invalid).count()
    }
}

/// An entry of an answer.
#[derive(Debug, Clone)]
pub(super) struct Item {
    /// Its 1-based place in the list.
    pub place: usize,
    /// The entry, unchecked.
    pub value: Value,
    /// Whether it is the last of a list that is not whole.
    pub may_be_cut: bool,
}

/// Whether a second look can mend a proposal that was dropped for `reason`.
pub(super) fn is_mendable(reason: DropReason) -> bool {
    match reason {
        DropReason::Invalid
        | DropReason::WrongMessage
        | DropReason::QuoteNotFound
        | DropReason::NumberNotSaid
        | DropReason::DateNotSaid
        | DropReason::NameNotSaid
        | DropReason::PolarityChanged
        | DropReason::OtherSpeaker => true,
        DropReason::NotSaid | DropReason::Secret | DropReason::KnownContext => false,
    }
}

/// Holds `items`, entries of the answer to the request of `pool` that belong to `session` of it and were asked for with
/// `schema`, against it.
pub(super) fn check(items: Vec<Item>, pool: &Pool<'_>, session: usize, schema: &ReplySchema) -> Checked {
    let mut checked = Checked::default();
    if items.is_empty() {
        return checked;
    }
    let sheet = Sheet::new(pool, session, schema);
    for Item { place, value, may_be_cut } in items {
        match sheet.candidate(value, may_be_cut) {
            Ok(candidate) => checked.candidates.push(candidate),
            Err(dropped) => checked.dropped.push((place, dropped)),
        }
    }
    checked
}

/// Drops a candidate of which nothing is left once its secrets were taken out.
pub(super) fn without_secret(candidate: Candidate) -> Result<Candidate, Dropped> {
    let claim = &candidate.claim;
    let quote = candidate.evidence.first().map_or("", |evidence| evidence.quote.as_str());
    if is_only_secret(&claim.content, quote, claim.value.as_deref()) {
        return Err(dropped(DropReason::Secret, "nothing is left without the secret"));
    }
    Ok(candidate)
}

fn dropped(reason: DropReason, detail: impl Into<String>) -> Dropped {
    Dropped { reason, detail: detail.into() }
}
