//! Compares results with the repository of a folder: whether what they name still exists, and where.

use std::path::Path;
use std::time::Duration;

use super::{ApiError, Memories};
use crate::memory::Namespace;
use crate::project::{Checkout, CitedPart, Freshness, FreshnessState, references};
use crate::search::{Found, FoundTask};
use crate::store::NamespaceSubtree;
use crate::work::FileUsage;

/// Longest time for all results together; what is not reached in it is not verifiable.
const LIMIT: Duration = Duration::from_millis(150);
/// The most by which a result loses if nothing that it names is there any more.
// Only little: a result that explains what was removed may be the very answer.
const MAX_LOSS: f64 = 0.1;

/// The repository of a folder, with which the results of its project are compared.
pub(crate) struct ProjectFolder {
    project: NamespaceSubtree,
    checkout: Checkout,
}

impl Memories {
    /// Returns the repository of a folder; `None` if the folder is in no repository, or in none of a known project.
    ///
    /// # Errors
    /// [`ApiError`] if the project cannot be looked up.
    pub(crate) fn project_folder(&self, folder: &Path) -> Result<Option<ProjectFolder>, ApiError> {
        let project = folder.to_str().map(|folder| self.known_namespace_of(folder)).transpose()?.flatten();
        let checkout = project.is_some().then(|| Checkout::of(folder, LIMIT)).flatten();
        Ok(project
            .zip(checkout)
            .map(|(project, checkout)| ProjectFolder { project: NamespaceSubtree::Under(project), checkout }))
    }
}

impl ProjectFolder {
    /// Labels the results with how what they name stands now, and ranks those a little lower that no longer hold.
    pub(crate) fn judge(&self, found: &mut [Found], tasks: &mut [FoundTask]) {
        for hit in found.iter_mut() {
            let at = hit.said_at.unwrap_or(hit.memory.created_at);
            let references = references(&hit.memory.claim.content);
            hit.freshness =
                self.check(&hit.memory.namespace, &CitedPart { references, at: Some(at), is_change: false });
            hit.score.total *= 1.0 - MAX_LOSS * staleness(&hit.freshness);
        }
        for task in tasks.iter_mut() {
            task.freshness = self.check(&task.namespace, &task.cited);
            task.score.total *= 1.0 - MAX_LOSS * staleness(&task.freshness);
        }
        // Stable, so that results without references keep their order.
        found.sort_by(|a, b| b.score.total.total_cmp(&a.score.total));
        tasks.sort_by(|a, b| b.score.total.total_cmp(&a.score.total));
    }

    /// Labels the uses of a file with how the file stands now.
    pub(crate) fn judge_file(&self, touches: &mut [FileUsage]) {
        for touch in touches {
            touch.freshness = self.check(&touch.namespace, &touch.cited).into_iter().next();
        }
    }

    fn check(&self, namespace: &Namespace, cited: &CitedPart) -> Vec<Freshness> {
        if cited.references.is_empty() || !self.project.contains(namespace) {
            return Vec::new();
        }
        self.checkout.check(cited)
    }
}

/// Returns how little of what was named still holds, from 0 to 1; what cannot be verified does not count.
fn staleness(named: &[Freshness]) -> f64 {
    let weights = named.iter().filter_map(|one| match one.state {
        FreshnessState::Fresh => Some(0.0),
        FreshnessState::Moved(_) => Some(0.25),
        FreshnessState::ChangedSince => Some(0.5),
        FreshnessState::Gone => Some(1.0),
        FreshnessState::NotVerifiable => None,
    });
    let (sum, count) = weights.fold((0.0, 0.0), |(sum, count), weight| (sum + weight, count + 1.0));
    if count > 0.0 { sum / count } else { 0.0 }
}
