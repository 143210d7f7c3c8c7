//! Determines the namespaces of transcripts, and the names, folders and merges that people assign to projects.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use transcripts::{Transcript, hex};

use crate::config::is_news;
use crate::consolidate::{MoveReport, merge_projects};
use crate::guard::Redacted;
use crate::memory::{Audience, Namespace};
use crate::project::{ALLOWED, Identity, Machine, ProjectSighting, identifying, place_of};
use crate::store::{Alias, Filter, Placement, Project, RunId, RunStatus, Store, StoreError};

/// Namespaces for the memories from one transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Namespaces {
    /// The namespace for memories that apply within the transcript's project.
    pub(super) project: Namespace,
    /// The namespace for memories that apply to the user everywhere.
    pub(super) user: Namespace,
}

impl Namespaces {
    /// Returns the namespaces for transcripts of one project, or for a conversation among people, whose memories all
    /// belong to one namespace.
    pub(super) fn of_project(project: Namespace) -> Self {
        let is_own = project.is_chat() || project.is_user();
        let user = if is_own { project.clone() } else { Namespace::global() };
        Self { project, user }
    }

    /// Returns the namespaces with that of a particular user instead of `global`.
    pub(super) fn of_user(self, user: Option<&Namespace>) -> Self {
        let global = Namespace::global();
        let own = |namespace: Namespace| user.filter(|_| namespace == global).cloned().unwrap_or(namespace);
        Self { project: own(self.project), user: own(self.user) }
    }

    /// Returns the namespace for claims that apply to `audience`.
    pub(super) fn for_audience(&self, audience: Audience) -> &Namespace {
        match audience {
            Audience::User => &self.user,
            Audience::Project => &self.project,
        }
    }
}

/// The project information in a log, and the repository that the log is part of: a folder, a repository, a linked
/// repository, and a folder.
type Named = (Option<String>, [Option<String>; 3]);

/// Resolves the namespaces of all transcripts of a run, looking up each project in a log only once.
#[derive(Debug, Default)]
pub(super) struct ProjectResolver {
    machine: Machine,
    known: RefCell<HashMap<Named, Resolved>>,
}

/// The projects that a project name in a log refers to.
#[derive(Debug, Clone)]
struct Resolved {
    /// The current project.
    now: Namespace,
    /// Earlier projects, with the time at which each was last seen, oldest first.
    before: Vec<(Timestamp, Namespace)>,
}

/// The parameters of a lookup.
pub(super) struct Lookup<'a> {
    pub(super) store: &'a Store,
    /// Start time of the run.
    pub(super) started_at: Timestamp,
    /// Shows a warning to the user.
    pub(super) warn: &'a mut dyn FnMut(&str),
}

impl ProjectResolver {
    /// Returns a resolver for the machine on which this process runs.
    pub(super) fn on_this_machine() -> Self {
        Self { machine: Machine::this(), known: RefCell::default() }
    }

    /// Returns the namespaces of `transcript`: `forced` for everything or, if it is unset, the transcript's project and
    /// `global`. Without a project, both namespaces are `global`. A conversation among people has a separate namespace.
    pub(super) fn namespaces_of(
        &self,
        transcript: &Transcript,
        forced: Option<&Namespace>,
        lookup: &mut Lookup<'_>,
    ) -> Result<Namespaces, StoreError> {
        if let Some(namespace) = forced {
            return Ok(Namespaces { project: namespace.clone(), user: namespace.clone() });
        }
        let Transcript { repository, linked_repository, shipped_by, .. } = transcript;
        let named = (place_of(transcript), [repository, linked_repository, shipped_by].map(Clone::clone));
        // The borrow must end here, because the branch below borrows the map again to insert into it.
        let known = self.known.borrow().get(&named).cloned();
        let resolved = if let Some(resolved) = known {
            resolved
        } else {
            let resolved = self.look_up(transcript, lookup)?;
            self.known.borrow_mut().insert(named, resolved.clone());
            resolved
        };
        if transcript.is_among_people() {
            return Ok(Namespaces::of_project(chat_of(transcript, &resolved.now, lookup.store)));
        }
        if transcript.shipped_by.is_some() {
            return Ok(Namespaces { user: resolved.now.clone(), project: resolved.now });
        }
        let then = transcript.ended_at().and_then(|ended| resolved.at(ended));
        Ok(Namespaces::of_project(then.unwrap_or(resolved.now)))
    }

    fn look_up(&self, transcript: &Transcript, lookup: &mut Lookup<'_>) -> Result<Resolved, StoreError> {
        let Some(sighting) = self.machine.sight(transcript) else {
            return Ok(Resolved { now: Namespace::global(), before: Vec::new() });
        };
        if let Some(warning) = sighting.warning.as_ref().filter(|warning| is_news(warning)) {
            (lookup.warn)(warning);
        }
        // Paths and addresses in a log may contain secrets, so they are redacted before they are stored.
        let sighting = lookup.store.redact(sighting);
        let placement = remember(&sighting, lookup)?;
        if let Some((before, path)) = placement.before.as_ref().zip(sighting.path.as_ref()) {
            let now = &placement.namespace;
            (lookup.warn)(&format!(
                "{path} belonged to {before} and now belongs to {now}; if they are the same project, run \
                 `afterthought project merge {before} {now}`"
            ));
        }
        // The time of the conversation matters only if the folder now belongs to another project.
        let path = sighting.path.as_deref().filter(|_| placement.follows_time());
        let before = path.map(|path| lookup.store.path_history(path)).transpose()?.unwrap_or_default();
        Ok(Resolved { now: placement.namespace, before })
    }
}

/// Maximum length of the conversation's name in a namespace, in characters.
const MAX_CHAT_NAME: usize = 60;

/// Returns the namespace of a conversation among people, which concerns neither the user's repositories nor the user:
/// the namespace of its channel, or otherwise a separate namespace.
fn chat_of(transcript: &Transcript, project: &Namespace, store: &Store) -> Namespace {
    let key = match &transcript.project {
        Some(channel) => format!("{}:{channel}", transcript.source),
        None => transcript.key(),
    };
    // A log that is part of a repository cannot add anything to a channel of the user.
    let key = if transcript.shipped_by.is_some() { format!("{project} {key}") } else { key };
    let hash = hex(&Sha256::digest(key.as_bytes())[..3]);
    let named = transcript.project.clone().or_else(|| transcript.title.clone()).unwrap_or_default();
    // Titles of chats may contain telephone numbers and other personal data, so they are redacted before they are
    // stored.
    let name = store.redact(named).into_inner();
    let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_CHAT_NAME).collect();
    let id = format!("{}-{hash}", if name.trim().is_empty() { transcript.source.as_str() } else { name.trim() });
    let fallback = || Namespace::chat(&hash).expect("a hash is a name");
    Namespace::chat(&id).unwrap_or_else(|_| fallback())
}

/// Returns the namespace of the project at `folder` on this machine, as a run on the folder's logs would; `global` if
/// there is no project.
///
/// # Errors
/// [`StoreError`] if the result cannot be stored.
pub(crate) fn project_at(store: &Store, folder: &str, warn: &mut dyn FnMut(&str)) -> Result<Namespace, StoreError> {
    let transcript = Transcript { project: Some(folder.to_owned()), ..Transcript::default() };
    let mut lookup = Lookup { store, started_at: Timestamp::now(), warn };
    Ok(ProjectResolver::on_this_machine().namespaces_of(&transcript, None, &mut lookup)?.project)
}

impl Resolved {
    /// Returns the project that was in the folder at `at`, if that project was last seen later. Otherwise, only the
    /// current project is known.
    fn at(&self, at: Timestamp) -> Option<Namespace> {
        self.before.iter().find(|(until, _)| at <= *until).map(|(_, namespace)| namespace.clone())
    }
}

/// Determines the namespace of a project and stores the result. If one project was stored under two identities, the
/// memories of both are merged in a separate run, which can be undone separately.
fn remember(sighting: &Redacted<ProjectSighting>, lookup: &mut Lookup<'_>) -> Result<Placement, StoreError> {
    let (store, now) = (lookup.store, Timestamp::now());
    // The placement is first looked up without a write, because most sightings need no write.
    let planned = store.placement(sighting)?;
    let Some(from) = planned.join else {
        return store.write(None, now, |w| {
            let placement = w.placement(sighting)?;
            // If another process has stored the identities in the meantime, the next run merges them.
            if placement.join.is_none() {
                w.remember_place(sighting, &placement)?;
            }
            Ok(placement)
        });
    };
    let arguments = json!({"from": from.to_string(), "into": planned.namespace.to_string()});
    // The start of the merge is recorded as earlier than that of the run that discovered the shared identity, so that
    // this run remains the last in the list.
    let begun = lookup.started_at - SignedDuration::from_millis(1);
    let run = store.begin_run("projects merge", &arguments, begun)?.id;
    let (placement, moved) = store.write(Some(&run), now, |w| {
        let placement = w.placement(sighting)?;
        let join = placement.join.iter();
        let moved = join.map(|from| merge_projects(w, from, &placement.namespace)).next().transpose()?;
        w.remember_place(sighting, &placement)?;
        Ok::<_, StoreError>((placement, moved))
    })?;
    let summary = serde_json::to_value(moved).expect("counts contain only values that JSON can represent");
    store.finish_run(&run, RunStatus::Finished, &summary, now)?;
    (lookup.warn)(&format!(
        "{from} and {} are the same project, so memories of the first were moved to the second; `afterthought undo \
         {run}` reverts this",
        placement.namespace
    ));
    Ok(placement)
}

/// Reasons why a project could not be named or merged.
#[derive(Debug, thiserror::Error)]
pub enum NamingError {
    /// The name is not valid.
    #[error("{name:?} is not a valid project name; {ALLOWED}")]
    BadName {
        /// The name.
        name: String,
    },
    /// The path is a home folder or a root folder.
    #[error("{path} is not a project folder; give a folder inside it")]
    NoProject {
        /// The path.
        path: String,
    },
    /// Another project already has the name.
    #[error(
        "{name:?} is already the name of {namespace}; merge the projects with `afterthought project merge {label} {name}`"
    )]
    Taken {
        /// The name.
        name: String,
        /// The namespace of that project.
        namespace: Namespace,
        /// The project to be named.
        label: String,
    },
    /// Both names refer to the same project.
    #[error("{from:?} and {into:?} are already the same project: {namespace}")]
    Same {
        /// The first name.
        from: String,
        /// The second name.
        into: String,
        /// The namespace of the project.
        namespace: Namespace,
    },
    /// The store could not be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The project that a name or a folder now refers to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProjectAlias {
    /// The name.
    pub name: String,
    /// The folder, if the user specified one.
    pub path: Option<String>,
    /// The namespace of the project.
    #[serde(serialize_with = "spelled")]
    pub namespace: Namespace,
    /// The project that the folder belonged to before; memories of that project are not moved.
    pub left: Option<String>,
}

/// The result of a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct ProjectMerge {
    /// The run of the merge, which can be undone.
    pub run: RunId,
    /// The project whose memories were moved.
    #[serde(serialize_with = "spelled")]
    pub from: Namespace,
    /// The project that the memories were moved to.
    #[serde(serialize_with = "spelled")]
    pub into: Namespace,
    /// Counts of the moved memories.
    #[serde(flatten)]
    pub moved: MoveReport,
}

fn spelled<S: serde::Serializer>(namespace: &Namespace, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(namespace)
}

/// Assigns the name `name` to the project `what`.
///
/// # Errors
/// [`NamingError`] if there is no such project, or if another project has the name.
pub(crate) fn name_project(store: &Store, what: &str, name: &str, now: Timestamp) -> Result<ProjectAlias, NamingError> {
    let name = store.redact(checked(name)?);
    let project = store.project(what)?;
    let namespace = store.merged_into(&project.namespace)?;
    if let Some(other) = existing(store, &name)?.filter(|other| *other != namespace) {
        let name = name.into_inner();
        return Err(NamingError::Taken { name, namespace: other, label: project.label() });
    }
    store.write(None, now, |w| w.set_alias(Alias::Name((&name).into()), &namespace))?;
    Ok(ProjectAlias { name: name.into_inner(), path: None, namespace, left: None })
}

/// Assigns the folder `path`, including everything below it, to the project `name`.
///
/// If no project has the name, the folder's current project receives it, unless that project also has folders
/// elsewhere. In that case, the folder becomes a new project, and existing memories are not moved.
///
/// # Errors
/// [`NamingError`] if the folder or the name cannot be used for a project.
pub(crate) fn give_folder(
    store: &Store,
    machine: &Machine,
    path: &str,
    name: &str,
    now: Timestamp,
) -> Result<ProjectAlias, NamingError> {
    let name = store.redact(checked(name)?);
    let no_project = || NamingError::NoProject { path: path.to_owned() };
    let sighting = store.redact(machine.sight_path(path).ok_or_else(no_project)?);
    let path = store.redact(identifying(&sighting.text.as_ref().ok_or_else(no_project)?.key));
    let held = store.placement(&sighting)?.namespace;
    let projects = store.projects()?;
    let held = projects.iter().find(|project| project.namespace == held);
    let namespace = match existing(store, &name)? {
        Some(namespace) => namespace,
        None => match held.filter(|held| held.lies_in(&path)) {
            Some(held) => held.namespace.clone(),
            None => Namespace::project(&name).map_err(|_| NamingError::BadName { name: name.to_string() })?,
        },
    };
    let left = held.filter(|held| held.namespace != namespace && held.memories > 0).map(Project::label);
    store.write(None, now, |w| {
        w.set_alias(Alias::Path((&path).into()), &namespace)?;
        // A name that belongs to another project stays unchanged.
        if w.alias_named(&name)?.is_none() { w.set_alias(Alias::Name((&name).into()), &namespace) } else { Ok(()) }
    })?;
    Ok(ProjectAlias { name: name.into_inner(), path: Some(path.into_inner()), namespace, left })
}

/// Moves the memories of the project `from` into the project `into`, as a run that can be undone. Later memories of
/// `from` are also stored in `into`.
///
/// # Errors
/// [`NamingError`] if either project is unknown or if they are already the same.
pub(crate) fn merge(store: &Store, from: &str, into: &str, now: Timestamp) -> Result<ProjectMerge, NamingError> {
    let namespace_of = |text: &str| {
        let namespace = match store.project(text) {
            Ok(project) => project.namespace,
            // A conversation among people has a namespace, but is no project.
            Err(error) => conversation(store, text)?.ok_or(error)?,
        };
        store.merged_into(&namespace)
    };
    let (first, second) = (namespace_of(from)?, namespace_of(into)?);
    if first == second {
        return Err(NamingError::Same { from: from.to_owned(), into: into.to_owned(), namespace: first });
    }
    let arguments = json!({"from": first.to_string(), "into": second.to_string()});
    let run = store.begin_run("projects merge", &arguments, now)?.id;
    let moved = store.write(Some(&run), now, |w| merge_projects(w, &first, &second));
    // The run ends before an error is returned, so that the run does not look interrupted.
    let status = if moved.is_ok() { RunStatus::Finished } else { RunStatus::Failed };
    let summary =
        serde_json::to_value(moved.as_ref().ok()).expect("counts contain only values that JSON can represent");
    store.finish_run(&run, status, &summary, Timestamp::now())?;
    Ok(ProjectMerge { run, from: first, into: second, moved: moved? })
}

/// Returns the namespace of a conversation among people that `text` spells, if there are memories in it.
fn conversation(store: &Store, text: &str) -> Result<Option<Namespace>, StoreError> {
    let spelled = text.trim().parse::<Namespace>().ok();
    let Some(namespace) = spelled.filter(|namespace| namespace.parts()[0] == "chat") else { return Ok(None) };
    let filter = Filter { statuses: Vec::new(), ..Filter::exactly(std::slice::from_ref(&namespace)) };
    Ok((store.count(&filter)? > 0).then_some(namespace))
}

fn checked(name: &str) -> Result<String, NamingError> {
    let identity = Identity::named(name).ok_or_else(|| NamingError::BadName { name: name.to_owned() })?;
    Ok(identity.name)
}

/// Returns the project that already has the name.
fn existing(store: &Store, name: &str) -> Result<Option<Namespace>, StoreError> {
    match store.project(name) {
        Ok(project) => Ok(Some(store.merged_into(&project.namespace)?)),
        Err(StoreError::UnknownProject { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use transcripts::Message;

    #[test]
    fn people_among_themselves_have_a_namespace_of_their_own() {
        let store = Store::in_memory().unwrap();
        let said = |name: &str| Message { speaker: Some(name.into()), ..Message::user("I live in Porto.") };
        let chat = |id: &str, channel: Option<&str>| Transcript {
            source: "slack".into(),
            external_id: id.into(),
            title: Some("Allotment/2026".into()),
            project: channel.map(str::to_owned),
            messages: vec![said("Ana"), said("Bo")],
            ..Transcript::default()
        };
        let resolver = ProjectResolver::on_this_machine();
        let among = |transcript: &Transcript, forced: Option<&Namespace>| {
            let mut lookup = Lookup { store: &store, started_at: Timestamp::UNIX_EPOCH, warn: &mut |_| {} };
            resolver.namespaces_of(transcript, forced, &mut lookup).unwrap()
        };
        let home = |transcript: &Transcript| among(transcript, None).project;
        let alone = home(&chat("a", None));
        assert!(alone.to_string().starts_with("chat/Allotment-2026-"), "{alone}");
        assert_ne!(alone, home(&chat("b", None)));
        assert_eq!(home(&chat("a", Some("orchard"))), home(&chat("b", Some("orchard"))));
        for audience in [Audience::User, Audience::Project] {
            assert_eq!(among(&chat("a", None), None).for_audience(audience), &alone);
            assert_eq!(
                among(&chat("a", None), Some(&Namespace::global())).for_audience(audience),
                &Namespace::global()
            );
        }
    }
}
