//! The project of each folder, which is determined when the folder is first seen, and then stored.
//!
//! A stored decision applies unless better information is available, so a deleted folder keeps its project. A stronger
//! identity, such as the first remote of a repository, receives the memories of the weaker identity. In the same way,
//! identities of this version replace identities of earlier versions, which used only the path of the folder. Names and
//! folders given by a person take precedence.

use std::collections::BTreeMap;

use jiff::Timestamp;
use rusqlite::{Row, params};
use serde::Serialize;

use crate::guard::{CleanText, Redacted};
use crate::memory::Namespace;
use crate::project::{Basis, Identity, ProjectSighting, Remote, identifying, is_repository};
use crate::store::row::{spelled, time};
use crate::store::{Database, RunId, StoreError, Writer};

/// The namespace for the memories of a conversation's project, before it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Placement {
    /// The namespace of the memories.
    pub namespace: Namespace,
    /// A namespace whose memories also belong to this project and must be moved.
    pub join: Option<Namespace>,
    /// The namespace of the repository that was in the folder before, if it was a different repository.
    pub before: Option<Namespace>,
    /// The identities that this placement binds to a namespace; the last identity is the project of the folder.
    bound: Vec<(Identity, Namespace)>,
}

impl Placement {
    /// Returns whether another repository may have been in the folder at the time of a conversation. A person's
    /// decision about a folder applies to all conversations.
    pub(crate) fn follows_time(&self) -> bool {
        self.bound.last().is_some_and(|(identity, _)| identity.basis != Basis::Name)
    }
}

/// A project that was seen before.
struct Seen {
    identity: Identity,
    namespace: Namespace,
    /// The mark of the repository that was in the folder.
    mark: Option<String>,
}

/// The stored information about a folder.
#[derive(Default)]
struct Remembered {
    /// The project of the folder itself.
    own: Option<Seen>,
    /// The project of the folder of its repository, if nothing is known about the folder itself.
    root: Option<Seen>,
}

/// [`seen_from_row`] relies on the order of these columns; change both together.
const SEEN: &str =
    "SELECT p.id, p.name, p.namespace, f.mark FROM projects p LEFT JOIN project_paths f ON f.project = p.id";

impl Database {
    /// Determines where the memories of a project belong, using current and stored information about the project.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn placement(&self, sighting: &Redacted<ProjectSighting>) -> Result<Placement, StoreError> {
        let chosen_by_name = sighting.identity.basis == Basis::Name;
        if let Some(text) = sighting.text.as_ref().filter(|_| !chosen_by_name)
            && let Some(namespace) = self.alias_of(&text.key)?
        {
            // A person may have merged the project after assigning the folder to it.
            let namespace = self.merged_into(&namespace)?;
            return Ok(Placement { namespace, join: None, before: None, bound: Vec::new() });
        }
        let remembered = self.remembered(sighting)?;
        let identity = self.choose(sighting, &remembered)?;
        let mut bound = Vec::new();
        let earlier = self.earlier(sighting, &identity, remembered.own.as_ref(), &mut bound)?;
        let namespace = match (self.seen(&identity.id())?, &earlier) {
            (Some(seen), _) => seen.namespace,
            (None, Some(earlier)) if identity.basis != Basis::Name => earlier.clone(),
            (None, _) => self.free_namespace(&identity, sighting, remembered.own.as_ref())?,
        };
        bound.push((identity, namespace.clone()));
        let namespace = self.merged_into(&namespace)?;
        let earlier = earlier.map(|earlier| self.merged_into(&earlier)).transpose()?;
        let join = earlier.filter(|earlier| *earlier != namespace);
        let before = remembered.own.map(|seen| self.merged_into(&seen.namespace)).transpose()?;
        let before = before.filter(|before| !chosen_by_name && *before != namespace && Some(before) != join.as_ref());
        Ok(Placement { namespace, join, before, bound })
    }

    /// Returns the project that the folder belonged to when it was last seen, or otherwise the project of its
    /// repository's folder.
    fn remembered(&self, sighting: &ProjectSighting) -> Result<Remembered, StoreError> {
        let Some(path) = &sighting.path else { return Ok(Remembered::default()) };
        let own = self.last_at(path)?;
        let root = sighting.root.as_ref().filter(|_| own.is_none() && sighting.identity.basis == Basis::Folder);
        let root = root.map(|root| self.last_at(root)).transpose()?.flatten();
        Ok(Remembered { own, root })
    }

    /// Returns the project that was last seen in a folder. If there is no better information, the result is the
    /// repository stated in the logs, if all logs agree.
    fn last_at(&self, path: &str) -> Result<Option<Seen>, StoreError> {
        let seen = self.one_seen("WHERE f.path = ?1 AND f.seen_at > 0 ORDER BY f.seen_at DESC, p.id LIMIT 1", path)?;
        if seen.as_ref().is_some_and(|seen| seen.identity.basis > Basis::Text) {
            return Ok(seen);
        }
        // The claim is used only if all logs agree, because neither of two differing claims is more reliable.
        let mut claims = self.claims(path)?;
        Ok(if claims.len() == 1 { claims.pop() } else { seen })
    }

    fn claims(&self, path: &str) -> Result<Vec<Seen>, StoreError> {
        self.all_seen("WHERE f.path = ?1 AND f.seen_at = 0 ORDER BY p.id", path)
    }

    fn seen(&self, id: &str) -> Result<Option<Seen>, StoreError> {
        self.one_seen("WHERE p.id = ?1 LIMIT 1", id)
    }

    fn one_seen(&self, condition: &str, value: &str) -> Result<Option<Seen>, StoreError> {
        Ok(self.query_one(&format!("{SEEN} {condition}"), [value], seen_from_row)?.flatten())
    }

    fn all_seen(&self, condition: &str, value: &str) -> Result<Vec<Seen>, StoreError> {
        Ok(self.query_all(&format!("{SEEN} {condition}"), [value], seen_from_row)?.into_iter().flatten().collect())
    }

    /// Returns the identity to use: the current identity, unless a better identity was already known.
    fn choose(&self, sighting: &ProjectSighting, remembered: &Remembered) -> Result<Identity, StoreError> {
        let now = &sighting.identity;
        let better =
            remembered.own.as_ref().or(remembered.root.as_ref()).filter(|seen| seen.identity.basis > now.basis);
        if let Some(seen) = better.filter(|seen| !is_replaced(seen, sighting)) {
            return Ok(seen.identity.clone());
        }
        if now.basis == Basis::Text && better.is_none() {
            let folder = self.seen(&format!("{}:{}", Basis::Folder.as_str(), now.key))?;
            return Ok(folder.map_or_else(|| now.clone(), |seen| seen.identity));
        }
        Ok(now.clone())
    }

    /// Returns the namespace of a weaker identity that already contains memories of the same project.
    fn earlier(
        &self,
        sighting: &ProjectSighting,
        identity: &Identity,
        remembered: Option<&Seen>,
        bound: &mut Vec<(Identity, Namespace)>,
    ) -> Result<Option<Namespace>, StoreError> {
        if let Some(seen) = remembered {
            let grew = seen.identity.basis < identity.basis && identity.basis != Basis::Name;
            return if grew { self.only_of(seen, identity) } else { Ok(None) };
        }
        if let Some(weak) = sighting.text.as_ref().filter(|weak| *weak != identity) {
            if let Some(seen) = self.seen(&weak.id())? {
                let is_first_claim = sighting.is_claim && self.claims(&identifying(&weak.key))?.is_empty();
                // Earlier versions distinguished the spellings of a Windows path.
                let is_respelled = identity.basis == Basis::Text;
                return if is_first_claim || is_respelled { self.only_of(&seen, identity) } else { Ok(None) };
            }
            if let Some(namespace) = weak.namespaces().next()
                && self.is_used(&namespace)?
                && self.bound_to(&namespace)?.is_empty()
            {
                bound.push((weak.clone(), namespace.clone()));
                return Ok(Some(namespace));
            }
        }
        let is_new = self.seen(&identity.id())?.is_none();
        // Before the folder was a repository, only its path identified it.
        if let Some(root) = sighting.root.as_ref().filter(|_| is_new)
            && let Some(seen) = self.seen(&format!("{}:{root}", Basis::Text.as_str()))?
        {
            return self.only_of(&seen, identity);
        }
        let is_lone = identity.basis == Basis::Folder && is_new;
        sighting.mark.as_deref().filter(|_| is_lone).map_or(Ok(None), |mark| self.moved_from(mark))
    }

    /// Returns the namespace of a weaker identity, unless it is also the namespace of another repository.
    fn only_of(&self, seen: &Seen, identity: &Identity) -> Result<Option<Namespace>, StoreError> {
        let own = [seen.identity.id(), identity.id()];
        let weak = format!("{}:", Basis::Text.as_str());
        let is_own = |id: &String| own.contains(id) || id.starts_with(&weak);
        let is_only = self.bound_to(&seen.namespace)?.iter().all(is_own);
        Ok(is_only.then(|| seen.namespace.clone()))
    }

    /// Returns the namespace of a repository without a remote that was in a folder that no longer contains a
    /// repository.
    fn moved_from(&self, mark: &str) -> Result<Option<Namespace>, StoreError> {
        let found = self.all_seen("WHERE f.mark = ?1 ORDER BY f.seen_at DESC, p.id", mark)?;
        let lone = found.into_iter().filter(|seen| seen.identity.basis == Basis::Folder);
        // If the former folder is still a repository, this one is a copy of it and a separate project.
        Ok(lone.into_iter().find(|seen| !is_repository(&seen.identity.key)).map(|seen| seen.namespace))
    }

    /// Returns the first namespace of the identity that no other identity has. `own` is the project that the folder
    /// belonged to.
    fn free_namespace(
        &self,
        identity: &Identity,
        sighting: &ProjectSighting,
        own: Option<&Seen>,
    ) -> Result<Namespace, StoreError> {
        let given = if identity.basis == Basis::Name { self.alias_named(&identity.key)? } else { None };
        if let Some(given) = &given {
            let folder = sighting.text.as_ref().map(|text| self.alias_of(&text.key)).transpose()?.flatten();
            let own = own.map(|seen| self.merged_into(&seen.namespace)).transpose()?;
            // A person assigned the name to this project.
            if folder.as_ref() == Some(given) || own.as_ref() == Some(given) {
                return Ok(given.clone());
            }
        }
        let plain = identity.namespaces().filter(|_| given.is_none());
        let mut last = Namespace::global();
        for namespace in plain.chain(identity.namespaces_apart()) {
            // A repository may specify a project name, but this gives no access to projects that are not identified by
            // name.
            let bound = self.bound_to(&namespace)?;
            let is_shared = |id: &String| id.starts_with("name:");
            if bound.is_empty() || identity.basis == Basis::Name && bound.iter().all(is_shared) {
                return Ok(namespace);
            }
            last = namespace;
        }
        Ok(last)
    }

    /// Returns the namespaces that the folder has belonged to, oldest first, each with the latest time for which this
    /// is known.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn path_history(&self, path: &str) -> Result<Vec<(Timestamp, Namespace)>, StoreError> {
        let rows: Vec<(Timestamp, Namespace)> = self.query_all(
            "SELECT f.seen_at, p.namespace FROM project_paths f JOIN projects p ON p.id = f.project
                 WHERE f.path = ?1 AND f.seen_at > 0 ORDER BY f.seen_at, p.id",
            [path],
            |row| Ok((time(row, 0)?, spelled(row, 1)?)),
        )?;
        rows.into_iter().map(|(at, namespace)| Ok((at, self.merged_into(&namespace)?))).collect()
    }

    fn bound_to(&self, namespace: &Namespace) -> Result<Vec<String>, StoreError> {
        self.query_all("SELECT id FROM projects WHERE namespace = ?1 ORDER BY id", [namespace.to_string()], |row| {
            row.get(0)
        })
    }

    /// Returns whether the namespace has memories or tombstones.
    fn is_used(&self, namespace: &Namespace) -> Result<bool, StoreError> {
        self.query_only(
            "SELECT EXISTS (SELECT 1 FROM memories WHERE namespace = ?1)
                     OR EXISTS (SELECT 1 FROM tombstones WHERE namespace = ?1)",
            [namespace.to_string()],
            |row| row.get(0),
        )
    }
}

impl Writer<'_> {
    /// Stores the decision about a folder.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn remember_place(
        &self,
        sighting: &Redacted<ProjectSighting>,
        placement: &Placement,
    ) -> Result<(), StoreError> {
        let now = self.now().as_millisecond();
        for (identity, namespace) in &placement.bound {
            self.put_project(&identity.id(), &identity.name, namespace, now)?;
        }
        // A time of zero marks information from logs about a folder that was never seen itself.
        let (seen_at, folder) = match &sighting.text {
            Some(text) if sighting.is_claim => (0, Some(identifying(&text.key))),
            _ => (now, sighting.path.clone()),
        };
        if let Some((path, (identity, _))) = folder.zip(placement.bound.last()) {
            self.put_folder(&path, &identity.id(), sighting.mark.as_deref(), seen_at)?;
        }
        Ok(())
    }

    /// Records that a project was seen at `seen_at`.
    pub(super) fn put_project(
        &self,
        id: &str,
        name: &str,
        namespace: &Namespace,
        seen_at: i64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO projects (id, name, namespace, seen_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (id) DO UPDATE SET seen_at = max(seen_at, ?4)";
        self.execute(sql, params![id, name, namespace.to_string(), seen_at]).map(drop)
    }

    /// Records that a project was in a folder at `seen_at`.
    pub(super) fn put_folder(
        &self,
        path: &str,
        project: &str,
        mark: Option<&str>,
        seen_at: i64,
    ) -> Result<(), StoreError> {
        let sql = "INSERT INTO project_paths (path, project, mark, seen_at) VALUES (?1, ?2, ?3, ?4)
             ON CONFLICT (path, project) DO UPDATE SET mark = ifnull(?3, mark), seen_at = max(seen_at, ?4)";
        self.execute(sql, params![path, project, mark, seen_at]).map(drop)
    }
}

/// Returns whether a previously known, better identity has been replaced: no settings file contains a name for the
/// folder any more, the folder is no longer a repository, or it contains another repository.
fn is_replaced(seen: &Seen, sighting: &ProjectSighting) -> bool {
    let is_unnamed = seen.identity.basis == Basis::Name || sighting.identity.basis == Basis::Text;
    let is_other = seen.mark.as_ref().zip(sighting.mark.as_ref()).is_some_and(|(one, other)| one != other);
    sighting.is_here && (is_unnamed || is_other)
}

/// Reads a project from a row; `None` if the identity is of a kind unknown to this version.
fn seen_from_row(row: &Row<'_>) -> rusqlite::Result<Option<Seen>> {
    let (id, name): (String, String) = (row.get(0)?, row.get(1)?);
    let (namespace, mark) = (spelled(row, 2)?, row.get(3)?);
    Ok(Identity::from_stored(&id, name).map(|identity| Seen { identity, namespace, mark }))
}

/// Maximum number of merges that are followed from one project to the next.
// The limit ends circular merges, if any exist; longer chains do not occur in practice.
const MAX_MERGES: usize = 32;

/// A name or folder that refers to a project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Alias<'a> {
    /// A folder, including everything below it.
    Path(CleanText<'a>),
    /// A name.
    Name(CleanText<'a>),
}

impl Alias<'_> {
    fn row(&self) -> (&str, &str) {
        match self {
            Self::Path(path) => ("path", path),
            Self::Name(name) => ("name", name),
        }
    }
}

impl Database {
    /// Returns the namespace that this namespace was merged into, or the namespace itself.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub fn merged_into(&self, namespace: &Namespace) -> Result<Namespace, StoreError> {
        let mut namespace = namespace.clone();
        for _ in 0..MAX_MERGES {
            let next = self.query_one(
                "SELECT into_namespace FROM project_merges WHERE namespace = ?1",
                [namespace.to_string()],
                |row| spelled(row, 0),
            )?;
            match next {
                Some(next) => namespace = next,
                None => break,
            }
        }
        Ok(namespace)
    }

    /// Returns the projects that belong to a team, each with its team, sorted by project.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn project_teams(&self) -> Result<Vec<(Namespace, Namespace)>, StoreError> {
        // An older file that is only read has no teams.
        if !self.has_table("project_teams")? {
            return Ok(Vec::new());
        }
        let sql = "SELECT namespace, team FROM project_teams ORDER BY namespace";
        self.query_all(sql, (), |row| Ok((spelled(row, 0)?, spelled(row, 1)?)))
    }

    /// Returns whether a namespace has memories that came from elsewhere, and no folder or repository belongs to it yet.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn is_unconnected(&self, namespace: &Namespace) -> Result<bool, StoreError> {
        Ok(self.bound_to(namespace)?.is_empty() && self.is_used(namespace)?)
    }

    /// Returns the project that a person assigned this name to.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn alias_named(&self, name: &str) -> Result<Option<Namespace>, StoreError> {
        self.query_one("SELECT namespace FROM project_aliases WHERE kind = 'name' AND value = ?1", [name], |row| {
            spelled(row, 0)
        })
    }

    /// Returns the project to which a person assigned the folder, or the nearest folder above it.
    pub(in crate::store) fn alias_of(&self, path: &str) -> Result<Option<Namespace>, StoreError> {
        // The longest paths come first, so that the nearest of several nested folders is used.
        let given: Vec<(String, Namespace)> = self.query_all(
            "SELECT value, namespace FROM project_aliases WHERE kind = 'path' ORDER BY length(value) DESC, value",
            (),
            |row| Ok((row.get(0)?, spelled(row, 1)?)),
        )?;
        let holds = |folder: &str| {
            // Both path separators are accepted, because a log may come from a different system.
            identifying(path)
                .strip_prefix(&identifying(folder))
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '\\']))
        };
        Ok(given.into_iter().find(|(folder, _)| holds(folder)).map(|(_, namespace)| namespace))
    }
}

impl Writer<'_> {
    /// Assigns a name or a folder to a project, replacing an earlier assignment.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn set_alias(&self, alias: Alias<'_>, namespace: &Namespace) -> Result<(), StoreError> {
        let (kind, value) = alias.row();
        self.execute(
            "INSERT INTO project_aliases (kind, value, namespace) VALUES (?1, ?2, ?3)
                 ON CONFLICT (kind, value) DO UPDATE SET namespace = ?3",
            params![kind, value, namespace.to_string()],
        )
        .map(drop)
    }

    /// Assigns a project to a team, or to none, and returns whether this changed anything.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn set_team(&self, project: &Namespace, team: Option<&Namespace>) -> Result<bool, StoreError> {
        let project = project.to_string();
        let changed = match team {
            Some(team) => self.execute(
                "INSERT INTO project_teams (namespace, team) VALUES (?1, ?2)
                     ON CONFLICT (namespace) DO UPDATE SET team = ?2 WHERE team <> ?2",
                params![project, team.to_string()],
            )?,
            None => self.execute("DELETE FROM project_teams WHERE namespace = ?1", [project])?,
        };
        Ok(changed > 0)
    }

    /// Records that everything that belongs to `from` is assigned to `into`, until the run of this write is undone.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be written.
    pub(crate) fn note_merge(&self, from: &Namespace, into: &Namespace) -> Result<(), StoreError> {
        self.execute(
            "INSERT INTO project_merges (namespace, into_namespace, run_id) VALUES (?1, ?2, ?3)
                 ON CONFLICT (namespace) DO UPDATE SET into_namespace = ?2, run_id = ?3",
            params![from.to_string(), into.to_string(), self.run.map_or("", RunId::as_str)],
        )
        .map(drop)
    }

    /// Removes the records that `note_merge` made for a run.
    pub(in crate::store) fn forget_merges(&self, run: &RunId) -> Result<(), StoreError> {
        self.execute("DELETE FROM project_merges WHERE run_id = ?1", [run.as_str()]).map(drop)
    }
}

/// A project with its identities, folders and names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Project {
    /// Display name of the project: the name that a person assigned, otherwise the name of its repository or folder.
    pub name: String,
    /// The namespace of the project's memories.
    #[serde(serialize_with = "spelled_out")]
    pub namespace: Namespace,
    /// Number of the project's active memories.
    pub memories: usize,
    /// Identities of the project, such as `remote:github.com/ana/shop`, the strongest first.
    pub identities: Vec<String>,
    /// Folders that occur in logs, and folders that a person assigned to the project.
    pub paths: Vec<String>,
    /// Names that a person assigned to the project.
    pub aliases: Vec<String>,
    /// The project that later conversations of this project are assigned to.
    pub merged_into: Option<String>,
    /// The names of its repository and folders, even if a person assigned a different name.
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

    /// Returns the part of the project's namespace that is unique to the project, without the prefix that all projects
    /// share.
    pub(crate) fn label(&self) -> String {
        self.namespace.parts().get(1..).unwrap_or_default().join("/")
    }

    /// Returns whether all folders of the project are inside this folder.
    pub(crate) fn lies_in(&self, folder: &str) -> bool {
        let is_inside = |rest: &str| rest.is_empty() || rest.starts_with(['/', '\\']);
        self.paths.iter().all(|path| path.strip_prefix(folder).is_some_and(is_inside))
    }

    fn is_called(&self, name: &str) -> bool {
        std::iter::once(&self.name).chain(&self.own_names).any(|own| own.to_lowercase() == name.to_lowercase())
    }
}

/// Every known namespace of a project, with the stored data.
// `GLOB` is used instead of `LIKE`, which ignores case.
const PROJECTS: &str = "
    SELECT namespace, 'memories', ifnull(sum(count) FILTER (WHERE name = 'active'), 0), NULL FROM memory_counts
        WHERE of = 'status' AND namespace GLOB 'project/*' GROUP BY namespace
    UNION ALL SELECT namespace, 'identity', id, name FROM projects
    UNION ALL SELECT p.namespace, 'path', f.path, NULL FROM project_paths f JOIN projects p ON p.id = f.project
    UNION ALL SELECT namespace, kind || '-alias', value, NULL FROM project_aliases
    UNION ALL SELECT namespace, 'merged', into_namespace, NULL FROM project_merges
    ORDER BY 1, 2, 3";

impl Database {
    /// Returns all known projects, sorted by namespace.
    ///
    /// # Errors
    /// [`StoreError`] if the file cannot be read.
    pub(crate) fn projects(&self) -> Result<Vec<Project>, StoreError> {
        let mut projects: BTreeMap<Namespace, (Project, Vec<Identity>)> = BTreeMap::new();
        self.read(|conn| {
            let mut statement = conn.prepare_cached(PROJECTS)?;
            let mut rows = statement.query(())?;
            while let Some(row) = rows.next()? {
                let namespace: Namespace = spelled(row, 0)?;
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

    /// Returns the project that `text` refers to: by namespace, by a name that a person assigned, by a folder, by the
    /// address of the repository, or by the name of the repository or folder if that name is unique.
    ///
    /// # Errors
    /// [`StoreError::UnknownProject`] if there is no such project, or [`StoreError::AmbiguousProject`] with the
    /// candidates.
    pub(crate) fn project(&self, text: &str) -> Result<Project, StoreError> {
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
        // The most reliable kind of match comes first, so that a mere resemblance to another project's name does not
        // make the text ambiguous.
        for way in ways {
            let mut found: Vec<Project> = projects.iter().filter(|one| way(one)).cloned().collect();
            if found.len() > 1 {
                // Merged projects are ignored if a project that was not merged has that name.
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
    // A name that a person chose takes precedence over the name of the repository.
    let given = project.aliases.first().or(identities.first().map(|identity| &identity.name)).cloned();
    project.name = given.unwrap_or_else(|| project.label());
    project.identities = identities.iter().map(Identity::id).collect();
    project.own_names = identities.into_iter().map(|identity| identity.name).collect();
    project.paths.sort();
    project.paths.dedup();
    project
}
