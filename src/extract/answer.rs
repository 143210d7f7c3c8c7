//! The answer to one request, split by session. The functions of this module are pure.

use serde_json::Value;

use super::check::{CUT_SHORT, Checked, EvidencePool, Item, Legible, check, is_mendable, quote};
use super::prompt::Shown;
use super::reply::{completed, entries, normalised, unfolded};
use super::schema::entry_schema;
use super::{DropReason, Dropped, Task};
use crate::llm::ReplySchema;

/// The candidates and dropped proposals read from an answer, for each session that the request showed. Each entry of
/// the answer's list becomes one candidate or one dropped proposal of exactly one session.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Answer {
    /// How much of the answer could be read.
    pub legible: Legible,
    /// The results, in the order of the sessions.
    pub sessions: Vec<Checked>,
}

impl Answer {
    /// Reads `text`, the answer to the request that showed `shown` of `tasks`, one session each, and specified
    /// `schema`.
    ///
    /// An entry belongs to the session that contains its quote. Its citations of other sessions are removed.
    pub(super) fn read(text: &str, tasks: &[Task<'_>], shown: &[Shown], schema: &ReplySchema) -> Self {
        let Some(list) = entries(text) else {
            return Self { legible: Legible::Not, sessions: vec![Checked::default(); tasks.len()] };
        };
        let legible = if list.whole { Legible::Whole } else { Legible::Cut };
        let mut items: Vec<Vec<Item>> = vec![Vec::new(); tasks.len()];
        let (count, shape) = (list.items.len(), entry_schema(schema));
        for (place, value) in (1..).zip(list.items) {
            let may_be_cut = !list.whole && place == count;
            // Models may write numbers as text, or a single number instead of a list. The session is determined by
            // these numbers.
            let mut value = normalised(unfolded(value), &shape, may_be_cut);
            if !may_be_cut {
                value = completed(value);
            }
            // Messages are numbered consecutively through the whole request, so a number alone identifies its session.
            let session = session_of(&value, tasks, shown);
            // Evidence belongs to one transcript, so citations of other sessions cannot be stored with it.
            keep_citations_of(&mut value, session, shown);
            items[session].push(Item { place, value, may_be_cut });
        }
        let pool = EvidencePool::new(tasks, shown);
        let sessions =
            items.into_iter().enumerate().map(|(session, items)| check(items, &pool, session, &shape)).collect();
        Self { legible, sessions }
    }

    /// Returns the errors to list in a repair request: those that a second attempt can correct, in the order of the
    /// list.
    pub(super) fn errors(&self) -> Vec<String> {
        let dropped = self.sessions.iter().flat_map(|session| &session.dropped);
        let mut mendable: Vec<&(usize, Dropped)> = dropped.filter(|(_, one)| is_mendable(one.reason)).collect();
        // The model identifies an entry by its position in the whole list, which may contain several sessions.
        mendable.sort_by_key(|(place, _)| *place);
        mendable.into_iter().map(|(place, dropped)| format!("entry {place}: {}", dropped.detail)).collect()
    }

    /// Whether a repair request is worth its cost: nothing could be read, an entry is malformed or has a wrong number
    /// or date, or every proposal failed. Proposals that the conversation does not support are not requested again.
    pub(super) fn wants_repair(&self) -> bool {
        let dropped = || self.sessions.iter().flat_map(|session| &session.dropped).map(|(_, one)| one.reason);
        let is_slip =
            |reason| matches!(reason, DropReason::Invalid | DropReason::NumberNotSaid | DropReason::DateNotSaid);
        self.legible == Legible::Not
            || dropped().any(is_slip)
            || self.sessions.iter().all(|session| session.candidates.is_empty()) && dropped().any(is_mendable)
    }

    /// Whether any of the answer could be used. An empty list counts, because it means that there is nothing to keep.
    pub(super) fn is_usable(&self) -> bool {
        let proposed: usize = self.sessions.iter().map(Checked::proposed).sum();
        let broken: usize = self.sessions.iter().map(Checked::broken).sum();
        self.legible != Legible::Not && (proposed == 0 || broken < proposed)
    }

    /// Whether the list could be read completely.
    pub(super) fn is_whole(&self) -> bool {
        self.legible == Legible::Whole
    }

    /// Returns this answer merged with the answer to a repair request, if that answer could be read.
    pub(super) fn repaired(self, second: Self) -> Self {
        if second.legible == Legible::Not { self } else { self.merged(second) }
    }

    /// Returns the content of the last entry that was accepted.
    pub(super) fn last_content(&self) -> Option<&str> {
        let last = self.sessions.iter().rev().find_map(|session| session.candidates.last());
        last.map(|candidate| candidate.claim.content.as_str())
    }

    /// Appends `rest`, the entries after the point at which this answer was cut. Returns true if `rest` contains new
    /// entries or completes the list.
    pub(super) fn extend(&mut self, rest: Self) -> bool {
        if rest.legible == Legible::Not {
            return false;
        }
        // If `rest` is complete but empty, nothing was missing, which is also progress.
        let mut has_grown = rest.legible == Legible::Whole;
        for (session, rest) in self.sessions.iter_mut().zip(rest.sessions) {
            // When asked to continue, some models start the list again. Repeated entries are not progress.
            let new = rest.candidates.into_iter().filter(|one| !session.candidates.contains(one));
            let new: Vec<_> = new.collect();
            has_grown |= !new.is_empty();
            session.candidates.extend(new);
            // The entry at which the answer was cut has been sent again.
            session.dropped.retain(|(_, dropped)| dropped.detail != CUT_SHORT);
            session.dropped.extend(rest.dropped);
        }
        if has_grown {
            self.legible = rest.legible;
        }
        has_grown
    }

    /// Replaces the faulty entries with the entries from a repair request. Entries that were not sent again stay
    /// dropped.
    fn merged(self, second: Self) -> Self {
        let (mut sessions, mut given_up) = (Vec::new(), Vec::new());
        let mut sent_again = 0;
        for (number, (first, second)) in self.sessions.into_iter().zip(second.sessions).enumerate() {
            let (mendable, mut dropped): (Vec<_>, Vec<_>) =
                first.dropped.into_iter().partition(|(_, one)| is_mendable(one.reason));
            given_up.extend(mendable.into_iter().map(|(place, one)| (place, number, one)));
            // Some models also send the valid entries again.
            let new = second.candidates.into_iter().filter(|one| !first.candidates.contains(one));
            let new: Vec<_> = new.collect();
            sent_again += new.len() + second.dropped.len();
            dropped.extend(second.dropped);
            sessions.push(Checked { candidates: first.candidates.into_iter().chain(new).collect(), dropped });
        }
        given_up.sort_by_key(|(place, ..)| *place);
        // A repair reply does not say which faulty entries it corrects, so each entry of the reply is assumed to
        // replace one of them.
        for (place, number, one) in given_up.into_iter().skip(sent_again) {
            sessions[number].dropped.push((place, withdrawn(one)));
        }
        // Entries lost at the end of the first answer were not requested again.
        let legible = if self.legible == Legible::Cut { Legible::Cut } else { second.legible };
        Self { legible, sessions }
    }
}

/// Returns the session to which an entry belongs: the session of the message that contains its quote, or else of the
/// first message that it cites, or else the first session.
fn session_of(entry: &Value, tasks: &[Task<'_>], shown: &[Shown]) -> usize {
    let found = |number: i64| {
        let place = |(session, shown): (usize, &Shown)| Some((session, shown.index(number)?));
        shown.iter().enumerate().find_map(place)
    };
    let cited: Vec<(usize, usize)> = numbers(entry).filter_map(found).collect();
    let quote = entry["quote"].as_str().unwrap_or_default();
    let is_quoted = |&&(session, index): &&(usize, usize)| {
        quote::find(quote, &tasks[session].transcript.messages[index].text).is_some()
    };
    let several = cited.iter().any(|(session, _)| *session != cited[0].0);
    // Searching for quotes is expensive and is not needed if there is only one session.
    let quoted = if several { cited.iter().find(is_quoted) } else { None };
    quoted.or(cited.first()).map_or(0, |(session, _)| *session)
}

/// Removes an entry's citations of other sessions. A number that was not shown at all is kept and counts as an error.
fn keep_citations_of(entry: &mut Value, session: usize, shown: &[Shown]) {
    let is_other =
        |number: i64| shown.iter().enumerate().any(|(other, shown)| other != session && shown.index(number).is_some());
    if let Some(Value::Array(cited)) = entry.get_mut("messages") {
        cited.retain(|number| !number.as_i64().is_some_and(is_other));
    }
}

fn numbers(entry: &Value) -> impl Iterator<Item = i64> {
    entry["messages"].as_array().into_iter().flatten().filter_map(Value::as_i64)
}

/// An entry that the model withdrew no longer counts as an error in the answer.
fn withdrawn(dropped: Dropped) -> Dropped {
    match dropped.reason {
        DropReason::Invalid => {
            Dropped { reason: DropReason::NotSaid, detail: format!("withdrawn: {}", dropped.detail) }
        }
        DropReason::WrongMessage
        | DropReason::QuoteNotFound
        | DropReason::NotSaid
        | DropReason::NumberNotSaid
        | DropReason::DateNotSaid
        | DropReason::NameNotSaid
        | DropReason::PolarityChanged
        | DropReason::OtherSpeaker
        | DropReason::Secret
        | DropReason::KnownContext => dropped,
    }
}
