//! Where a transcript's memories belong.

use sha2::{Digest, Sha256};

use crate::memory::{Audience, Namespace};
use crate::transcript::{Transcript, hex};

/// Namespaces for what is learnt from one transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// For what holds in the transcript's project.
    pub project: Namespace,
    /// For what holds for the user everywhere.
    pub user: Namespace,
}

impl Place {
    /// Returns the place of `transcript`: `forced` for everything, else its project and `global`.
    ///
    /// Without a project, both are `global`.
    #[must_use]
    pub fn of(transcript: &Transcript, forced: Option<&Namespace>) -> Self {
        if let Some(namespace) = forced {
            return Self { project: namespace.clone(), user: namespace.clone() };
        }
        let project = transcript.project.as_deref().and_then(project_id);
        let project = project.and_then(|id| Namespace::project(&id).ok());
        Self { project: project.unwrap_or_else(Namespace::global), user: Namespace::global() }
    }

    /// Returns the namespace for a claim that holds for `audience`.
    #[must_use]
    pub fn for_audience(&self, audience: Audience) -> &Namespace {
        match audience {
            Audience::User => &self.user,
            Audience::Project => &self.project,
        }
    }
}

/// Returns `name-hash` for a folder or repository: the name for people, six digits of the hash of the whole against
/// another project of that name.
fn project_id(project: &str) -> Option<String> {
    let whole = project.trim().trim_end_matches(['/', '\\']);
    let name = whole.rsplit(['/', '\\', ':']).next()?.trim_end_matches(".git").trim();
    let name: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    let hash = hex(&Sha256::digest(whole.as_bytes())[..3]);
    (!name.is_empty()).then(|| format!("{name}-{hash}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(project: Option<&str>) -> Place {
        Place::of(&Transcript { project: project.map(str::to_owned), ..Transcript::default() }, None)
    }

    #[test]
    fn projects_of_one_name_are_kept_apart() {
        let (one, other) = (place(Some("/home/ana/api")), place(Some("/home/ana/old/api/")));
        assert!(one.project.to_string().starts_with("project/api-"));
        assert!(other.project.to_string().starts_with("project/api-"));
        assert_ne!(one.project, other.project);
        assert_eq!(place(Some("/home/ana/api/")), one);
    }

    #[test]
    fn without_a_project_everything_is_global() {
        for project in [None, Some(""), Some("/")] {
            assert_eq!(place(project).project, Namespace::global());
        }
        assert_eq!(place(Some("C:\\src\\Shop")).user, Namespace::global());
    }
}
