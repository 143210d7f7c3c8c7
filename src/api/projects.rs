//! Projects and their namespaces: the namespaces of memories, the namespaces that a caller can access, and the names of
//! projects.

use std::path::Path;

use jiff::Timestamp;

use super::{ApiError, Memories};
use crate::memory::{Audience, Namespace};
use crate::pipeline::{self, ProjectAlias, ProjectMerge, project_at};
use crate::project::{Machine, ShippedLogs};
use crate::store::{Filter, NamespaceSubtree, Project};

/// The namespaces that a caller can read and write; all others are treated as if they did not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamespaceSet {
    /// The namespaces; the first is the namespace of new memories.
    namespaces: Vec<Namespace>,
}

impl NamespaceSet {
    /// Returns a set with a single namespace.
    pub(crate) fn only(namespace: Namespace) -> Self {
        Self { namespaces: vec![namespace] }
    }

    /// Returns the set of a project's namespace, its team and `global`.
    pub(crate) fn of_project(project: Namespace, team: Option<Namespace>) -> Self {
        let mut namespaces: Vec<Namespace> =
            std::iter::once(project).chain(team).chain([Namespace::global()]).collect();
        // Outside of any project, both namespaces are `global`.
        namespaces.dedup();
        Self { namespaces }
    }

    /// Returns the namespace of new memories.
    pub(crate) fn home(&self) -> &Namespace {
        // Every constructor adds at least one namespace.
        &self.namespaces[0]
    }

    /// Returns every namespace; the namespace of new memories comes first.
    pub(crate) fn as_slice(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// Whether the set contains a namespace.
    pub(crate) fn contains(&self, namespace: &Namespace) -> bool {
        self.namespaces.contains(namespace)
    }

    /// Returns the namespace of a memory that applies to `audience`.
    ///
    /// # Errors
    /// [`ApiError::OutOfReach`] if the memory applies to the user everywhere and `global` cannot be accessed.
    pub(crate) fn for_audience(&self, audience: Audience) -> Result<&Namespace, ApiError> {
        let global = Namespace::global();
        match audience {
            Audience::Project => Ok(self.home()),
            Audience::User => self
                .namespaces
                .iter()
                .find(|namespace| **namespace == global)
                .ok_or_else(|| self.refused(&global.to_string())),
        }
    }

    /// Limits a filter to these namespaces or, if the filter specifies namespaces, to those that are in both sets.
    ///
    /// # Errors
    /// [`ApiError::OutOfReach`] if no namespace of the filter is among these.
    pub(crate) fn confine(&self, filter: Filter) -> Result<Filter, ApiError> {
        let asked = &filter.namespaces;
        let means = |within: &NamespaceSubtree, namespace: &Namespace| match within {
            NamespaceSubtree::Exactly(one) => one == namespace,
            NamespaceSubtree::Under(root) => namespace.parts().starts_with(root.parts()),
        };
        let named = |namespace: &&Namespace| asked.is_empty() || asked.iter().any(|one| means(one, namespace));
        let left: Vec<NamespaceSubtree> =
            self.namespaces.iter().filter(named).cloned().map(NamespaceSubtree::Exactly).collect();
        if left.is_empty() {
            let spelled = asked.iter().map(|one| match one {
                NamespaceSubtree::Exactly(namespace) | NamespaceSubtree::Under(namespace) => namespace.to_string(),
            });
            return Err(self.refused(&spelled.collect::<Vec<_>>().join(" and ")));
        }
        Ok(Filter { namespaces: left, ..filter })
    }

    pub(super) fn refused(&self, asked: &str) -> ApiError {
        let served = self.namespaces.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        ApiError::OutOfReach { asked: asked.to_owned(), served }
    }
}

impl Memories {
    /// Returns the namespace of the project in `folder` of this machine, as a run on the logs of that folder would
    /// determine it; `global` if the folder belongs to no project. The result is stored if the file can be written.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be used.
    pub(crate) fn namespace_of(&self, folder: &str) -> Result<Namespace, ApiError> {
        // A new project cannot be stored in a read-only file, so only known projects are used.
        if !self.can_write() {
            return Ok(self.known_namespace_of(folder)?.unwrap_or_else(Namespace::global));
        }
        let Some(store) = self.storage.as_store() else { return Ok(Namespace::global()) };
        let mut warn = |warning: &str| tracing::warn!("{warning}");
        Ok(project_at(store, folder, &mut warn)?)
    }

    /// Returns the namespace of the project in `folder`, if it is known, and stores nothing.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn known_namespace_of(&self, folder: &str) -> Result<Option<Namespace>, ApiError> {
        let Some(store) = self.storage.as_store() else { return Ok(None) };
        let sighting = Machine::this().sight_path(folder);
        Ok(sighting
            .map(|sighting| store.placement(&store.redact(sighting)))
            .transpose()?
            .map(|placement| placement.namespace))
    }

    /// Returns the namespace of new memories that a person writes in `folder`: that of its project, if the project is
    /// known or the folder is in a repository; `None` for any other folder. A new project is stored.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be used.
    pub(crate) fn namespace_to_write(&self, folder: &str) -> Result<Option<Namespace>, ApiError> {
        let Some(known) = self.known_namespace_of(folder)? else { return Ok(None) };
        if self.projects()?.iter().any(|project| project.namespace == known) {
            return Ok(Some(known));
        }
        // A folder outside a repository may be any folder in which a person happens to work.
        if is_in_repository(folder) { self.namespace_of(folder).map(Some) } else { Ok(None) }
    }

    /// Records the project of a folder whose memories came from another machine or a file, so that it counts as
    /// connected with the folder.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be used.
    pub(crate) fn connect(&self, folder: &str) -> Result<(), ApiError> {
        let Some(store) = self.storage.as_store().filter(|_| self.can_write()) else { return Ok(()) };
        let Some(namespace) = self.known_namespace_of(folder)? else { return Ok(()) };
        if store.is_unconnected(&namespace)? {
            self.namespace_of(folder)?;
        }
        Ok(())
    }

    /// Returns the set with only this namespace.
    ///
    /// # Errors
    /// [`ApiError`] if the namespace cannot be accessed.
    pub(crate) fn narrowed(&self, namespace: Namespace) -> Result<NamespaceSet, ApiError> {
        self.admitted(&namespace)?;
        Ok(NamespaceSet::only(namespace))
    }

    /// Returns the known projects.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn projects(&self) -> Result<Vec<Project>, ApiError> {
        Ok(self.ledger(PROJECTS)?.projects()?)
    }

    /// Returns the namespaces that have memories.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn namespaces_in_use(&self) -> Result<Vec<Namespace>, ApiError> {
        let stored = self.ledger(PROJECTS)?.namespaces()?;
        let known = stored.iter().filter_map(|namespace| namespace.parse().ok());
        Ok(known.filter(|namespace| self.reaches(namespace)).collect())
    }

    /// Returns the project with this name, folder or namespace.
    ///
    /// # Errors
    /// [`ApiError`] if no project matches, or several do.
    pub(crate) fn project(&self, text: &str) -> Result<Project, ApiError> {
        Ok(self.ledger(PROJECTS)?.project(text)?)
    }

    /// Adds the name `name` to the project `what`.
    ///
    /// # Errors
    /// [`ApiError`] if there is no such project, or another project has the name.
    pub(crate) fn name_project(&self, what: &str, name: &str) -> Result<ProjectAlias, ApiError> {
        Ok(pipeline::name_project(self.ledger(PROJECTS)?, what, name, Timestamp::now())?)
    }

    /// Assigns the folder `path`, including everything below it, to the project `name`.
    ///
    /// If the name is new and the folder's project has no other folder, the name is added to that project. Otherwise
    /// the folder becomes a separate project, and memories learnt earlier are not moved.
    ///
    /// # Errors
    /// [`ApiError`] if the folder or the name is not valid for a project.
    pub(crate) fn give_folder(&self, path: &str, name: &str) -> Result<ProjectAlias, ApiError> {
        Ok(pipeline::give_folder(self.ledger(PROJECTS)?, &Machine::this(), path, name, Timestamp::now())?)
    }

    /// Moves the memories of the project `from` into the project `into`, as a run that can be undone. Later
    /// conversations of `from` are assigned to `into`, too.
    ///
    /// # Errors
    /// [`ApiError`] if either project is unknown, or they are already the same project.
    pub(crate) fn merge_projects(&self, from: &str, into: &str) -> Result<ProjectMerge, ApiError> {
        Ok(pipeline::merge(self.ledger(PROJECTS)?, from, into, Timestamp::now())?)
    }
}

/// Whether a folder of this machine is in a repository.
pub(crate) fn is_in_repository(folder: &str) -> bool {
    Machine::this().sight_path(folder).is_some_and(|sighting| sighting.root.is_some())
}

/// Whether a file, or a file in a folder, is part of a repository, so that anybody may have written it.
pub(crate) fn is_part_of_repository(path: &Path) -> bool {
    ShippedLogs::on_this_machine().origin_of(path).is_some()
}

const PROJECTS: &str = "work with projects";

#[cfg(test)]
mod tests {
    use super::*;

    fn space(text: &str) -> Namespace {
        text.parse().unwrap()
    }

    #[test]
    fn a_filter_never_leaves_the_set() {
        let set = NamespaceSet::of_project(space("project/shop"), None);
        let all = set.confine(Filter::default()).unwrap();
        assert_eq!(all, Filter::exactly(&[space("project/shop"), space("global")]));
        let under = Filter { namespaces: vec![NamespaceSubtree::Under(space("project"))], ..Filter::default() };
        assert_eq!(set.confine(under).unwrap(), Filter::exactly(&[space("project/shop")]));
        let other = Filter::exactly(&[space("project/other"), space("project/shop")]);
        assert_eq!(set.confine(other).unwrap(), Filter::exactly(&[space("project/shop")]));
        let error = set.confine(Filter::exactly(&[space("project/other")])).unwrap_err();
        assert_eq!(error.to_string(), "project/other cannot be accessed here; only project/shop and global can");
    }

    #[test]
    fn what_holds_everywhere_needs_the_global_namespace() {
        let (project, alone) =
            (NamespaceSet::of_project(space("project/shop"), None), NamespaceSet::only(space("project/shop")));
        assert_eq!(project.for_audience(Audience::User).unwrap(), &Namespace::global());
        assert_eq!(project.for_audience(Audience::Project).unwrap(), &space("project/shop"));
        assert!(alone.for_audience(Audience::User).is_err());
        assert_eq!(NamespaceSet::of_project(Namespace::global(), None).as_slice(), [Namespace::global()]);
    }
}
