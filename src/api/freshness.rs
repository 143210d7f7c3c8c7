//! Checks whether, and where, the code that results mention still exists in the repository of a folder.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use jiff::Timestamp;

use super::{ApiError, Memories, SearchResult};
use crate::memory::{Memory, MemoryId, Namespace};
use crate::project::{BranchNames, Checkout, CitedPart, Freshness, FreshnessState, references, spelled_states};
use crate::search::{Found, FoundTask};
use crate::store::{Database, Filter, NamespaceSubtree};
use crate::work::FileUsage;

/// Time limit for checking all results of a search; references that are not checked in time count as unverifiable.
const SEARCH_LIMIT: Duration = limit(150);
/// Time limit for checking a brief. The limit is short, because an agent waits for the brief at the start of each
/// session.
const BRIEF_LIMIT: Duration = limit(10);
/// Maximum share of its score that a result loses; it loses this much if none of its references exist any more.
// The loss is small, because a result that explains what was removed may be the best answer.
const MAX_LOSS: f64 = 0.1;

/// Maximum number of memories that mention the branch of the folder, and, separately, of decisions made on the branch.
const MAX_AT_HAND: usize = 50;

const fn limit(millis: u64) -> Duration {
    // Unoptimised code is many times slower.
    Duration::from_millis(if cfg!(debug_assertions) { 50 * millis } else { millis })
}

/// The repository of a folder, against which results from the same project are checked.
pub(super) struct ProjectFolder {
    project: NamespaceSubtree,
    checkout: Checkout,
}

impl Memories {
    /// Labels results with the current state of their references, and ranks results with stale references slightly
    /// lower.
    ///
    /// # Errors
    /// [`ApiError`] if the project of the folder cannot be looked up.
    pub(crate) fn judge_results(&self, found: &mut [Found], tasks: &mut [FoundTask]) -> Result<(), ApiError> {
        let Some(here) = self.project_folder(SEARCH_LIMIT)? else { return Ok(()) };
        for hit in found.iter_mut() {
            hit.freshness = here.check_memory(&hit.memory, hit.said_at);
            hit.score.total *= remaining(&hit.freshness);
        }
        for task in tasks.iter_mut() {
            task.freshness = here.check(&task.namespace, &task.cited);
            task.score.total *= remaining(&task.freshness);
        }
        // The sort is stable, so that results without references keep their order.
        found.sort_by(|a, b| b.score.total.total_cmp(&a.score.total));
        tasks.sort_by(|a, b| b.score.total.total_cmp(&a.score.total));
        Ok(())
    }

    /// Ranks memories as [`Memories::judge_results`] does, and returns the current state of their references as text.
    ///
    /// # Errors
    /// [`ApiError`] if the project of the folder, or the times at which the memories were said, cannot be read.
    pub(crate) fn judge_memories(&self, found: &mut [SearchResult]) -> Result<HashMap<MemoryId, String>, ApiError> {
        let (Some(here), Some(store)) = (self.project_folder(SEARCH_LIMIT)?, self.storage.as_store()) else {
            return Ok(HashMap::new());
        };
        let said = store.last_said(found.iter().map(|hit| &hit.memory.id))?;
        let mut spelled = HashMap::new();
        for hit in found.iter_mut() {
            let named = here.check_memory(&hit.memory, said.get(&hit.memory.id).map(|time| time.at));
            hit.score *= remaining(&named);
            spelled.extend(spelled_states(&named).map(|states| (hit.memory.id.clone(), states)));
        }
        found.sort_by(|a, b| b.score.total_cmp(&a.score));
        Ok(spelled)
    }

    /// Labels each recorded use of a file with the current state of the file.
    ///
    /// # Errors
    /// [`ApiError`] if the project of the folder cannot be looked up.
    pub(crate) fn judge_file(&self, touches: &mut [FileUsage]) -> Result<(), ApiError> {
        let Some(here) = self.project_folder(SEARCH_LIMIT)? else { return Ok(()) };
        for touch in touches {
            touch.freshness = here.check(&touch.namespace, &touch.cited).into_iter().next();
        }
        Ok(())
    }

    /// Returns the repository of the current folder; `None` if there is no such folder, or if the folder is not in the
    /// repository of a known project. After the time `limit`, references are no longer checked.
    fn project_folder(&self, limit: Duration) -> Result<Option<ProjectFolder>, ApiError> {
        let Some(folder) = &self.folder else { return Ok(None) };
        let project = match &self.namespaces {
            Some(namespaces) => Some(namespaces.home()).filter(|home| **home != Namespace::global()).cloned(),
            None => folder.to_str().map(|folder| self.known_namespace_of(folder)).transpose()?.flatten(),
        };
        let checkout = project.is_some().then(|| Checkout::of(folder, limit)).flatten();
        Ok(project
            .zip(checkout)
            .map(|(project, checkout)| ProjectFolder { project: NamespaceSubtree::Under(project), checkout }))
    }

    /// Returns the memories about the branch of the folder, and about the issue or pull request that its name contains:
    /// those that mention it, and decisions from earlier conversations on the branch.
    ///
    /// # Errors
    /// [`ApiError`] if the memories cannot be read.
    pub(super) fn at_hand(
        &self,
        store: &Database,
        namespaces: &[Namespace],
        now: Timestamp,
    ) -> Result<HashSet<MemoryId>, ApiError> {
        // A filter without namespaces would select all of them.
        let folder = self.folder.as_deref().filter(|_| !namespaces.is_empty());
        let Some(branch) = folder.and_then(BranchNames::of) else { return Ok(HashSet::new()) };
        let filter = Filter { unexpired_at: Some(now), ..Filter::exactly(namespaces) };
        let found = store.search_candidates(&branch.name, &filter, MAX_AT_HAND)?;
        let mentions = |memory: &Memory| {
            let claim = &memory.claim;
            let tagged = claim.tags.iter().map(String::as_str);
            let texts =
                [claim.title.as_str(), &claim.content].into_iter().chain(claim.subject.as_deref()).chain(tagged);
            texts.into_iter().any(|text| branch.is_mentioned_in(text))
        };
        let mentioned = found.into_iter().filter(|hit| mentions(&hit.memory)).map(|hit| hit.memory.id);
        let mut ids: HashSet<MemoryId> = mentioned.collect();
        ids.extend(store.decisions_on_branch(&branch.name, &filter, MAX_AT_HAND)?);
        Ok(ids)
    }

    /// Returns the repository against which the memories of a brief are checked.
    ///
    /// # Errors
    /// [`ApiError`] if the project of the folder cannot be looked up.
    pub(super) fn brief_folder(&self) -> Result<Option<ProjectFolder>, ApiError> {
        self.project_folder(BRIEF_LIMIT)
    }
}

impl ProjectFolder {
    /// Returns, for each memory, the references that changed, moved or are gone, as text. If the time limit is reached,
    /// nothing is returned, so that the same memories always give the same brief.
    pub(super) fn changes(&self, store: &Database, memories: &[&Memory]) -> Vec<Option<String>> {
        let said = store.last_said(memories.iter().map(|memory| &memory.id)).unwrap_or_default();
        let change = |memory: &&Memory| {
            let mut named = self.check_memory(memory, said.get(&memory.id).map(|time| time.at));
            named.retain(|one| !matches!(one.state, FreshnessState::Fresh | FreshnessState::NotVerifiable));
            spelled_states(&named)
        };
        let changes = memories.iter().map(change).collect();
        if self.checkout.is_over() { Vec::new() } else { changes }
    }

    fn check_memory(&self, memory: &Memory, said_at: Option<jiff::Timestamp>) -> Vec<Freshness> {
        let (references, at) = (references(&memory.claim.content), said_at.unwrap_or(memory.created_at));
        self.check(&memory.namespace, &CitedPart { references, at: Some(at), is_change: false })
    }

    fn check(&self, namespace: &Namespace, cited: &CitedPart) -> Vec<Freshness> {
        if cited.references.is_empty() || !self.project.contains(namespace) {
            return Vec::new();
        }
        self.checkout.check(cited)
    }
}

/// Returns the share of its score that a result keeps; references that cannot be verified do not count.
fn remaining(named: &[Freshness]) -> f64 {
    let losses = named.iter().filter_map(|one| match one.state {
        FreshnessState::Fresh => Some(0.0),
        FreshnessState::Moved(_) => Some(0.25),
        FreshnessState::ChangedSince => Some(0.5),
        FreshnessState::Gone => Some(1.0),
        FreshnessState::NotVerifiable => None,
    });
    let (sum, count) = losses.fold((0.0, 0.0), |(sum, count), loss| (sum + loss, count + 1.0));
    if count > 0.0 { 1.0 - MAX_LOSS * sum / count } else { 1.0 }
}
