//! Views of many memories at once: by day, as counts, and as a graph.

use std::collections::{HashMap, HashSet, VecDeque};

use jiff::Timestamp;

use super::{ApiError, Memories};
use crate::memory::{Evidence, Memory, MemoryId, Namespace, Relation};
use crate::pipeline::conversation;
use crate::store::{Filter, Health, MemoryStatistics, Stats};
use transcripts::{Message, MessageTime};

/// Memories and the links between them.
#[derive(Debug, Default)]
pub(crate) struct GraphView {
    /// The memories, those closest to the start first.
    pub memories: Vec<Memory>,
    /// The links between these memories.
    pub relations: Vec<Relation>,
    /// Whether there are more memories than are shown.
    pub is_cut: bool,
}

impl Memories {
    /// Returns a page of the memories that pass a filter, each with the time at which it was said, most recent first.
    ///
    /// # Errors
    /// As [`Memories::list_memories`].
    pub(crate) fn list_by_time_said(
        &self,
        filter: Filter,
        limit: usize,
        offset: usize,
    ) -> Result<Vec<(Memory, Option<Timestamp>)>, ApiError> {
        let filter = self.confined(filter)?;
        Ok(self.ledger("list memories by day")?.list_by_time_said(&filter, limit, offset)?)
    }

    /// Returns when each of these memories was last said, if that is known.
    ///
    /// # Errors
    /// [`ApiError`] if the times cannot be read.
    pub(crate) fn last_said(&self, memories: &[Memory]) -> Result<HashMap<MemoryId, MessageTime>, ApiError> {
        Ok(self.ledger("look up times")?.last_said(memories.iter().map(|memory| &memory.id))?)
    }

    /// Returns the quotes of these memories; memories without quotes are left out.
    ///
    /// # Errors
    /// [`ApiError`] if the quotes cannot be read.
    pub(crate) fn evidence_of(&self, memories: &[Memory]) -> Result<HashMap<MemoryId, Vec<Evidence>>, ApiError> {
        Ok(self.ledger("look up quotes")?.evidence_of(memories)?)
    }

    /// Returns the active and pending memories about one attribute.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read, or the namespace cannot be accessed.
    pub(crate) fn current_values(&self, namespace: &Namespace, key: &str) -> Result<Vec<Memory>, ApiError> {
        self.admitted(namespace)?;
        Ok(self.ledger("look up an attribute")?.by_key(namespace, key)?)
    }

    /// Returns the number of rows of each kind, and the backlog and failures.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn counts(&self) -> Result<(Stats, Health), ApiError> {
        let store = self.ledger("count what is stored")?;
        Ok((store.stats()?, store.health()?))
    }

    /// Returns counts of the active memories in the namespaces of a filter, for charts.
    ///
    /// # Errors
    /// As [`Memories::list_memories`].
    pub(crate) fn figures(&self, filter: Filter) -> Result<MemoryStatistics, ApiError> {
        let filter = self.confined(filter)?;
        Ok(self.ledger("count memories")?.figures(&filter.namespaces, Timestamp::now())?)
    }

    /// Returns the active memories in the namespaces of a filter that were never used, most important first.
    ///
    /// # Errors
    /// As [`Memories::list_memories`].
    pub(crate) fn never_used(&self, filter: Filter, limit: usize) -> Result<Vec<Memory>, ApiError> {
        let filter = self.confined(filter)?;
        Ok(self.ledger("list unused memories")?.never_used(&filter.namespaces, limit)?)
    }

    /// Returns numbers that change whenever memories change, and whenever a run begins or ends.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn state(&self) -> Result<(i64, i64, i64), ApiError> {
        Ok(self.ledger("look for changes")?.state()?)
    }

    /// Returns the first message of a quote with at most `reach` messages before and after it, and the index of that
    /// message in the list; `None` if the log is gone or was changed.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn surroundings(
        &self,
        piece: &Evidence,
        reach: usize,
    ) -> Result<Option<(Vec<Message>, usize)>, ApiError> {
        let origin = self.ledger("find a log")?.origin_of(&piece.transcript)?;
        let Some(found) = origin.and_then(|origin| conversation(&origin, &piece.transcript, &self.guard)) else {
            return Ok(None);
        };
        let messages = found.into_inner().messages;
        let at = messages.iter().position(|message| piece.messages.first() == Some(&message.id));
        Ok(at.map(|at| {
            let first = at.saturating_sub(reach);
            (messages.into_iter().skip(first).take(at - first + reach + 1).collect(), at - first)
        }))
    }

    /// Returns the memories in `start` and the memories linked to them, directly or indirectly, without forgotten ones; at
    /// most `limit` in total.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    pub(crate) fn neighbourhood(&self, start: Vec<Memory>, limit: usize) -> Result<GraphView, ApiError> {
        let store = self.ledger("follow links")?;
        let mut found = GraphView { is_cut: start.len() > limit, ..GraphView::default() };
        found.memories.extend(start.into_iter().take(limit));
        let mut known: HashSet<MemoryId> = found.memories.iter().map(|memory| memory.id.clone()).collect();
        let mut waiting: VecDeque<MemoryId> = found.memories.iter().map(|memory| memory.id.clone()).collect();
        while let Some(id) = waiting.pop_front() {
            for relation in store.relations(&id)? {
                let other = if relation.from == id { &relation.to } else { &relation.from };
                if !known.contains(other) {
                    let Some(memory) = self.shows_link_to(other)? else { continue };
                    if found.memories.len() >= limit {
                        found.is_cut = true;
                        continue;
                    }
                    known.insert(other.clone());
                    waiting.push_back(other.clone());
                    found.memories.push(memory);
                }
                // Each link is found twice, once from each end.
                if relation.from == id {
                    found.relations.push(relation);
                }
            }
        }
        Ok(found)
    }
}
