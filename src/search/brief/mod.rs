//! The brief: context from earlier conversations for a new conversation, within a budget and fenced as data.
//!
//! ```text
//! consider (the best of each section) ─▶ weigh (floor, score) ─▶ texts of the best ─▶ select (quota, likeness, budget) ─▶ render
//! ```
//!
//! The same memories always result in the same bytes. A brief contains no counters or current times, and the clock
//! determines only whether a memory has expired. Showing a memory is logged but not counted as a use.

mod consider;
mod content;
mod query;
mod render;
mod request;
mod select;

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;

use crate::embed::{EmbedError, QueryVectors};
use crate::memory::{Memory, MemoryId};
use crate::store::{Database, Filter, Store, StoreError};

pub use content::{Brief, LeftOut, Shown};
pub(crate) use content::{ExclusionReason, Standing};
pub(crate) use render::spell;
pub use request::{BriefRequest, Format};
pub(crate) use request::{Counting, MAX_CHARACTERS};
pub(crate) use select::{WEIGHT_CONFIDENCE, WEIGHT_IMPORTANCE, WEIGHT_RECENCY, WEIGHT_TIER, WEIGHT_TO_THE_POINT};

use select::Changes;

/// The information that the folder of a conversation contributes to its brief.
pub(crate) struct Folder<'c> {
    /// Describes what has changed among the things that memories mention.
    pub(crate) changes: Changes<'c>,
    /// Memories about the branch and the issue at hand, which come first in their sections.
    pub(crate) at_hand: HashSet<MemoryId>,
}

/// Returns the brief for a conversation.
///
/// The brief contains active memories of the requested namespaces that have not expired at `now`. The sections are
/// standing, long-term and short-term, in this order. The memories in each section are sorted best first. Memories that
/// did not fit are counted in the text and listed in [`Brief::left_out`].
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub fn compose(store: &Database, request: &BriefRequest, now: Timestamp) -> Result<Brief, StoreError> {
    let nowhere = Folder { changes: &|_| Vec::new(), at_hand: HashSet::new() };
    Ok(compose_with(store, request, None, &nowhere, now)?.0)
}

/// Returns the brief for a conversation, as [`compose`] does. If `vectors` is given, the search also compares meanings.
/// The second value is the reason why vectors were not used, if they were not.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
pub(crate) fn compose_with(
    store: &Database,
    request: &BriefRequest,
    vectors: Option<&QueryVectors>,
    folder: &Folder<'_>,
    now: Timestamp,
) -> Result<(Brief, Option<EmbedError>), StoreError> {
    let filter =
        Filter { types: request.types.clone(), unexpired_at: Some(now), ..Filter::exactly(&request.namespaces) };
    // A filter without namespaces selects all of them, but a request without namespaces selects none, because memory is
    // off.
    if request.namespaces.is_empty() {
        return Ok((Brief::default(), None));
    }
    let (to_the_point, without_meaning) = match request.query.as_deref().filter(|query| !query.trim().is_empty()) {
        Some(query) => {
            let (fits, without_meaning) = query::to_the_point(store, query, &filter, vectors, now)?;
            (Some(fits), without_meaning)
        }
        None => (None, None),
    };
    let mut at_hand = folder.at_hand.clone();
    at_hand.extend(open_work(store, request, now)?);
    let found = to_the_point.iter().flat_map(HashMap::keys).chain(&at_hand);
    let (weighed, texts) = store.at_once(|db| {
        let considered = consider::considered(db, request, found, now)?;
        let weighed = select::weigh(&considered, to_the_point.as_ref(), &at_hand, request);
        let texts = texts(db, &weighed, request)?;
        Ok((weighed, texts))
    })?;
    Ok((select::select(weighed, texts, request, folder.changes), without_meaning))
}

/// Maximum number of blockers, and of open tasks, of each namespace that come first in a brief.
const MAX_OPEN_WORK: usize = 5;

/// Returns the most important blockers and open tasks. Nothing else would remind anyone of them.
fn open_work(store: &Database, request: &BriefRequest, now: Timestamp) -> Result<Vec<MemoryId>, StoreError> {
    let mut ids = Vec::new();
    for namespace in &request.namespaces {
        let open = store.open_work(namespace, now, MAX_OPEN_WORK)?.into_iter();
        let of_type = open.filter(|(_, kind)| request.types.is_empty() || request.types.contains(kind));
        ids.extend(of_type.map(|(id, _)| id));
    }
    Ok(ids)
}

/// Records that the memories of `brief` were shown to a model, and returns whether this succeeded. Failure is not an
/// error, because a locked or read-only file must not prevent showing the brief. This does not count as a use, because
/// nobody requested these memories.
#[must_use = "to ignore the result, use `let _`"]
pub(crate) fn note_shown(store: &Store, brief: &Brief, now: Timestamp) -> bool {
    let ids: Vec<MemoryId> = brief.shown.iter().map(|shown| shown.memory.id.clone()).collect();
    store.log_shown(&ids, now)
}

/// Returns the memories that may be in the brief.
fn texts(
    store: &Database,
    weighed: &select::BriefSelection,
    request: &BriefRequest,
) -> Result<HashMap<MemoryId, Memory>, StoreError> {
    let mut texts = HashMap::new();
    for id in weighed.pool(request) {
        texts.extend(store.find(id)?.map(|memory| (id.clone(), memory)));
    }
    Ok(texts)
}

#[cfg(test)]
mod tests;
