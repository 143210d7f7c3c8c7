//! What a person says about projects: names for them, folders that belong to them, and which of them are one.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::json;

use crate::consolidate::{Moved, merge_projects};
use crate::guard::Guard;
use crate::memory::Namespace;
use crate::project::{ALLOWED, Identity, Machine};
use crate::store::{Alias, Project, RunId, RunStatus, Store, StoreError};

/// Why a project could not be named or merged.
#[derive(Debug, thiserror::Error)]
pub enum NamingError {
    /// The name cannot be one.
    #[error("{name:?} is no name for a project; {ALLOWED}")]
    BadName {
        /// What was given.
        name: String,
    },
    /// The path is somebody's home or a root folder.
    #[error("{path} is no project's folder; name one inside it")]
    NoProject {
        /// What was given.
        path: String,
    },
    /// The name is another project's.
    #[error("{name:?} is the name of {namespace}; make them one with `afterthought project merge {label} {name}`")]
    Taken {
        /// The name.
        name: String,
        /// Whose it is.
        namespace: Namespace,
        /// The project that was to be named.
        label: String,
    },
    /// Both are the same project.
    #[error("{from:?} and {into:?} are one project already: {namespace}")]
    Same {
        /// The first.
        from: String,
        /// The second.
        into: String,
        /// What they are.
        namespace: Namespace,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What a name or a folder stands for now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Aliased {
    /// The name.
    pub name: String,
    /// The folder, where one was given.
    pub path: Option<String>,
    /// Where the memories are.
    #[serde(serialize_with = "spelled")]
    pub namespace: Namespace,
    /// A project to which the folder belonged, and whose memories stay where they are.
    pub left: Option<String>,
}

/// What a merge did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Merged {
    /// The run that can be undone.
    pub run: RunId,
    /// The project whose memories were moved.
    #[serde(serialize_with = "spelled")]
    pub from: Namespace,
    /// The project that has them now.
    #[serde(serialize_with = "spelled")]
    pub into: Namespace,
    /// What became of them.
    #[serde(flatten)]
    pub moved: Moved,
}

fn spelled<S: serde::Serializer>(namespace: &Namespace, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(namespace)
}

/// Lets `name` stand for the project `what`.
///
/// # Errors
/// [`NamingError`], if there is no such project, or the name is another one's.
pub fn name_project(store: &Store, what: &str, name: &str, now: Timestamp) -> Result<Aliased, NamingError> {
    let name = checked(name)?;
    let project = store.project(what)?;
    let namespace = store.merged_into(&project.namespace)?;
    if let Some(other) = existing(store, &name)?.filter(|other| *other != namespace) {
        return Err(NamingError::Taken { name, namespace: other, label: project.label() });
    }
    store.write(None, now, |w| w.set_alias(Alias::Name(&name), &namespace))?;
    Ok(Aliased { name, path: None, namespace, left: None })
}

/// Lets the folder `path`, with all below it, belong to the project `name`.
///
/// A name that no project has becomes one of the folder's own project, if that has no folder outside; else the folder
/// becomes a project of its own, and what was learnt before stays where it is.
///
/// # Errors
/// [`NamingError`], if the folder or the name cannot be a project's.
pub fn give_folder(
    store: &Store,
    machine: &Machine,
    path: &str,
    name: &str,
    now: Timestamp,
) -> Result<Aliased, NamingError> {
    let name = checked(name)?;
    let no_project = || NamingError::NoProject { path: path.to_owned() };
    let sighting = machine.sight_path(path).ok_or_else(no_project)?;
    let path = sighting.text.as_ref().ok_or_else(no_project)?.key.clone();
    let held = store.placement(&sighting)?.namespace;
    let projects = store.projects()?;
    let held = projects.iter().find(|project| project.namespace == held);
    let namespace = match existing(store, &name)? {
        Some(namespace) => namespace,
        None => match held.filter(|held| held.lies_in(&path)) {
            Some(held) => held.namespace.clone(),
            None => Namespace::project(&name).map_err(|_| NamingError::BadName { name: name.clone() })?,
        },
    };
    let left = held.filter(|held| held.namespace != namespace && held.memories > 0).map(Project::label);
    store.write(None, now, |w| {
        w.set_alias(Alias::Path(&path), &namespace)?;
        // The name of another project stays what it is.
        if w.alias_named(&name)?.is_none() { w.set_alias(Alias::Name(&name), &namespace) } else { Ok(()) }
    })?;
    Ok(Aliased { name, path: Some(path), namespace, left })
}

/// Moves the memories of the project `from` into the project `into`, as a run that can be undone; what `from` would get
/// later goes to `into`, too.
///
/// # Errors
/// [`NamingError`], if either is unknown or they are one already.
pub fn merge(store: &Store, guard: &Guard, from: &str, into: &str, now: Timestamp) -> Result<Merged, NamingError> {
    let namespace_of = |text: &str| store.merged_into(&store.project(text)?.namespace);
    let (first, second) = (namespace_of(from)?, namespace_of(into)?);
    if first == second {
        return Err(NamingError::Same { from: from.to_owned(), into: into.to_owned(), namespace: first });
    }
    let arguments = json!({"from": first.to_string(), "into": second.to_string()});
    let run = store.begin_run("projects merge", &arguments, now)?.id;
    let moved = store.write(Some(&run), now, |w| merge_projects(w, guard, &first, &second));
    let status = if moved.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    let summary = serde_json::to_value(moved.as_ref().ok()).expect("counts hold nothing that JSON cannot");
    store.finish_run(&run, status, &summary, Timestamp::now())?;
    Ok(Merged { run, from: first, into: second, moved: moved? })
}

fn checked(name: &str) -> Result<String, NamingError> {
    let identity = Identity::named(name).ok_or_else(|| NamingError::BadName { name: name.to_owned() })?;
    Ok(identity.name)
}

/// The project that has the name already.
fn existing(store: &Store, name: &str) -> Result<Option<Namespace>, StoreError> {
    match store.project(name) {
        Ok(project) => Ok(Some(store.merged_into(&project.namespace)?)),
        Err(StoreError::UnknownProject { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
