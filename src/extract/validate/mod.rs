//! From a model's answer to candidates: nothing is believed that cannot be found in the conversation. Pure.

mod sheet;
#[cfg(test)]
mod tests;

use sheet::Sheet;

use super::ground::is_only_secret;
use super::prompt::Shown;
pub use super::quote::quote_found;
use super::reply::entries;
use super::{DropReason, Dropped, Task};
use crate::llm::ReplySchema;
use crate::memory::Candidate;

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

/// What an answer comes to. Each entry of the list is one candidate or one dropped proposal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Checked {
    /// How much could be read.
    pub legible: Legible,
    /// What passed.
    pub candidates: Vec<Candidate>,
    /// What did not, by its 1-based place in the list.
    pub dropped: Vec<(usize, Dropped)>,
}

impl Checked {
    /// Returns what to name in a repair round: errors that a second look can mend.
    pub(super) fn errors(&self) -> Vec<String> {
        let mendable = self.dropped.iter().filter(|(_, dropped)| is_mendable(dropped.reason));
        mendable.map(|(place, dropped)| format!("entry {place}: {}", dropped.detail)).collect()
    }

    /// Whether a repair round is worth its price: nothing could be read, an entry is malformed or has a number or a
    /// date that is a slip, or all that was proposed failed. What was judged to be unsaid is not asked for again.
    pub(super) fn wants_repair(&self) -> bool {
        let has = |reason| self.dropped.iter().any(|(_, dropped)| dropped.reason == reason);
        self.legible == Legible::Not
            || has(DropReason::Invalid)
            || has(DropReason::NumberNotSaid)
            || has(DropReason::DateNotSaid)
            || self.candidates.is_empty() && self.dropped.iter().any(|(_, dropped)| is_mendable(dropped.reason))
    }
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

/// Reads the answer `text` to the request that showed `shown` of `task` and asked for `schema`.
pub(super) fn check(text: &str, task: &Task<'_>, shown: &Shown, schema: &ReplySchema) -> Checked {
    let Some(list) = entries(text) else {
        return Checked { legible: Legible::Not, candidates: Vec::new(), dropped: Vec::new() };
    };
    let legible = if list.whole { Legible::Whole } else { Legible::Cut };
    let mut checked = Checked { legible, candidates: Vec::new(), dropped: Vec::new() };
    if list.items.is_empty() {
        return checked;
    }
    let sheet = Sheet::new(task, shown, schema);
    let count = list.items.len();
    for (place, item) in (1..).zip(list.items) {
        match sheet.candidate(item, !list.whole && place == count) {
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
