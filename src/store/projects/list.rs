//! The projects that are known, and finding one by what a person types.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::memory::Namespace;
use crate::project::{Basis, Identity, Remote};
use crate::store::{Database, StoreError};

/// A project, with all by which it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Project {
    /// Its name for people: one that a person gave it, else that of its repository or folder.
    pub name: String,
    /// Where its memories are.
    #[serde(serialize_with = "spelled_out")]
    pub namespace: Namespace,
    /// Its active memories.
    pub memories: usize,
    /// What tells it from others, e.g. `remote:github.com/ana/shop`; the strongest first.
    pub identities: Vec<String>,
    /// Folders that logs name, and folders that a person gave it.
    pub paths: Vec<String>,
    /// Names that a person gave it.
    pub aliases: Vec<String>,
    /// The project that its later conversations go to.
    pub merged_into: Option<String>,
    /// What its repository or folders are called, whatever a person calls it.
    #[serde(skip)]
    own_names: Vec<String>,
}

fn spelled_out<S: serde::Serializer>(namespace: &Namespace, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(namespace)
}

impl Project {
    fn new(namespace: Namespace) -> Self {
        Self {
            name: String::new(),
            namespace,
            memories: 0,
            identities: Vec::new(),
            paths: Vec::new(),
            aliases: Vec::new(),
            merged_into: None,
            own_names: Vec::new(),
        }
    }

    /// Returns its namespace without the word that all projects have, which is no other's.
    #[must_use]
    pub fn label(&self) -> String {
        self.namespace.parts().get(1..).unwrap_or_default().join("/")
    }

    /// Whether all its folders lie in this one.
    #[must_use]
    pub(crate) fn lies_in(&self, folder: &str) -> bool {
        let is_inside = |rest: &str| rest.is_empty() || rest.starts_with(['/', '\\']);
        self.paths.iter().all(|path| path.strip_prefix(folder).is_some_and(is_inside))
    }

    fn is_called(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(&self.own_names).any(|own| own.to_lowercase() == name.to_lowercase())
    }
}

/// Every namespace of a project that anything is known of, with what is known.
const ROWS: &str = "
    SELECT namespace, 'memories', count(*) FILTER (WHERE status = 'active'), NULL FROM memories
        WHERE namespace GLOB 'project/*' GROUP BY namespace
    UNION ALL SELECT namespace, 'identity', id, name FROM projects
    UNION ALL SELECT p.namespace, 'path', f.path, NULL FROM project_paths f JOIN projects p ON p.id = f.project
    UNION ALL SELECT namespace, kind || '-alias', value, NULL FROM project_aliases
    UNION ALL SELECT namespace, 'merged', into_namespace, NULL FROM project_merges
    ORDER BY 1, 2, 3";

impl Database {
    /// Returns every project that is known, by namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let mut projects: BTreeMap<Namespace, (Project, Vec<Identity>)> = BTreeMap::new();
        self.read(|conn| {
            let mut statement = conn.prepare_cached(ROWS)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let namespace: Namespace = crate::store::row::spelled(row, 0)?;
                let (project, identities) =
                    projects.entry(namespace.clone()).or_insert_with(|| (Project::new(namespace), Vec::new()));
                let kind: String = row.get(1)?;
                match kind.as_str() {
                    "memories" => project.memories = row.get(2)?,
                    "identity" => identities.extend(Identity::from_stored(&row.get::<_, String>(2)?, row.get(3)?)),
                    "path" | "path-alias" => project.paths.push(row.get(2)?),
                    "name-alias" => project.aliases.push(row.get(2)?),
                    _ => project.merged_into = row.get(2)?,
                }
            }
            Ok(())
        })?;
        Ok(projects.into_values().map(|(project, identities)| described(project, identities)).collect())
    }

    /// Returns the project that `text` names: its namespace, a name that a person gave it, a folder, the address of its
    /// repository, or what that or its folder is called, if no other is called so.
    ///
    /// # Errors
    /// [`StoreError::UnknownProject`], or [`StoreError::AmbiguousProject`] with the candidates.
    pub fn project(&self, text: &str) -> Result<Project, StoreError> {
        let text = text.trim();
        let projects = self.projects()?;
        let key = Remote::parse(text).map(|remote| format!("{}:{}", Basis::Remote.as_str(), remote.key));
        let folder = text.trim_end_matches(['/', '\\']);
        let ways: [&dyn Fn(&Project) -> bool; 5] = [
            &|one| one.label() == text || one.namespace.to_string() == text,
            &|one| one.aliases.iter().any(|alias| alias == text),
            &|one| !folder.is_empty() && one.paths.iter().any(|path| path == folder),
            &|one| {
                one.identities
                    .iter()
                    .any(|id| Some(id) == key.as_ref() || id.split_once(':').is_some_and(|(_, key)| key == text))
            },
            &|one| one.is_called(text),
        ];
        for way in ways {
            let mut found: Vec<Project> = projects.iter().filter(|one| way(one)).cloned().collect();
            if found.len() > 1 {
                // What was merged away is not meant where another of that name is left.
                let (left, merged): (Vec<_>, Vec<_>) = found.into_iter().partition(|one| one.merged_into.is_none());
                found = if left.is_empty() { merged } else { left };
            }
            match found.len() {
                0 => {}
                1 => return Ok(found.remove(0)),
                _ => {
                    let candidates = found.iter().map(Project::label).collect::<Vec<_>>().join(", ");
                    return Err(StoreError::AmbiguousProject { name: text.to_owned(), candidates });
                }
            }
        }
        Err(StoreError::UnknownProject { name: text.to_owned() })
    }
}

fn described(mut project: Project, mut identities: Vec<Identity>) -> Project {
    identities.sort_by_key(|identity| std::cmp::Reverse(identity.basis));
    let given = project.aliases.first().or(identities.first().map(|identity| &identity.name)).cloned();
    project.name = given.unwrap_or_else(|| project.label());
    project.identities = identities.iter().map(Identity::id).collect();
    project.own_names = identities.into_iter().map(|identity| identity.name).collect();
    project.paths.sort();
    project.paths.dedup();
    project
}
