//! Which namespaces a caller may read and write.

use crate::memory::{Audience, Namespace};
use crate::store::{Filter, Within};

use super::ApiError;

/// The namespaces that a caller can reach; all others are as if they were not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reach {
    /// The first is where new memories go.
    namespaces: Vec<Namespace>,
}

impl Reach {
    /// Returns the reach of one namespace alone.
    #[must_use]
    pub fn only(namespace: Namespace) -> Self {
        Self { namespaces: vec![namespace] }
    }

    /// Returns the reach of a project with what holds for the user everywhere.
    #[must_use]
    pub fn of_project(project: Namespace) -> Self {
        let mut namespaces = vec![project, Namespace::global()];
        namespaces.dedup();
        Self { namespaces }
    }

    /// Returns where new memories go.
    #[must_use]
    pub fn home(&self) -> &Namespace {
        &self.namespaces[0]
    }

    /// Returns every namespace that can be reached, home first.
    #[must_use]
    pub fn namespaces(&self) -> &[Namespace] {
        &self.namespaces
    }

    /// Whether a namespace can be reached.
    #[must_use]
    pub fn admits(&self, namespace: &Namespace) -> bool {
        self.namespaces.contains(namespace)
    }

    /// Returns where a memory goes that holds for `audience`.
    ///
    /// # Errors
    /// [`ApiError::OutOfReach`] if it holds for the user everywhere and that cannot be reached.
    pub fn for_audience(&self, audience: Audience) -> Result<&Namespace, ApiError> {
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

    /// Confines a filter: without namespaces it means all that can be reached, else those of them that it names.
    ///
    /// # Errors
    /// [`ApiError::OutOfReach`] if it names none of them.
    pub fn confine(&self, filter: Filter) -> Result<Filter, ApiError> {
        let asked = &filter.namespaces;
        let means = |within: &Within, namespace: &Namespace| match within {
            Within::Exactly(one) => one == namespace,
            Within::Under(root) => namespace.parts().starts_with(root.parts()),
        };
        let named = |namespace: &&Namespace| asked.is_empty() || asked.iter().any(|one| means(one, namespace));
        let left: Vec<Within> = self.namespaces.iter().filter(named).cloned().map(Within::Exactly).collect();
        if left.is_empty() {
            let spelled = asked.iter().map(|one| match one {
                Within::Exactly(namespace) | Within::Under(namespace) => namespace.to_string(),
            });
            return Err(self.refused(&spelled.collect::<Vec<_>>().join(" and ")));
        }
        Ok(Filter { namespaces: left, ..filter })
    }

    fn refused(&self, asked: &str) -> ApiError {
        let served = self.namespaces.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ");
        ApiError::OutOfReach { asked: asked.to_owned(), served }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(text: &str) -> Namespace {
        text.parse().unwrap()
    }

    #[test]
    fn a_filter_never_leaves_the_reach() {
        let reach = Reach::of_project(space("project/shop"));
        let all = reach.confine(Filter::default()).unwrap();
        assert_eq!(all, Filter::exactly(&[space("project/shop"), space("global")]));
        let under = Filter { namespaces: vec![Within::Under(space("project"))], ..Filter::default() };
        assert_eq!(reach.confine(under).unwrap(), Filter::exactly(&[space("project/shop")]));
        let other = Filter::exactly(&[space("project/other"), space("project/shop")]);
        assert_eq!(reach.confine(other).unwrap(), Filter::exactly(&[space("project/shop")]));
        let error = reach.confine(Filter::exactly(&[space("project/other")])).unwrap_err();
        assert_eq!(error.to_string(), "project/other is not served here; only project/shop and global");
    }

    #[test]
    fn what_holds_everywhere_needs_the_global_namespace() {
        let (project, alone) = (Reach::of_project(space("project/shop")), Reach::only(space("project/shop")));
        assert_eq!(project.for_audience(Audience::User).unwrap(), &Namespace::global());
        assert_eq!(project.for_audience(Audience::Project).unwrap(), &space("project/shop"));
        assert!(alone.for_audience(Audience::User).is_err());
        assert_eq!(Reach::of_project(Namespace::global()).namespaces(), [Namespace::global()]);
    }
}
