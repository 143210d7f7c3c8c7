//! Where a transcript's memories belong.

use std::cell::RefCell;
use std::collections::HashMap;

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use crate::consolidate::merge_projects;
use crate::guard::Guard;
use crate::memory::{Audience, Namespace};
use crate::project::{Machine, Sighting};
use crate::store::{Placement, RunStatus, Store, StoreError};
use transcripts::Transcript;

/// Namespaces for what is learnt from one transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// For what holds in the transcript's project.
    pub project: Namespace,
    /// For what holds for the user everywhere.
    pub user: Namespace,
}

impl Place {
    /// Returns the place of transcripts of one project.
    #[must_use]
    pub fn of_project(project: Namespace) -> Self {
        Self { project, user: Namespace::global() }
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

/// What a log says of its project, as far as it tells one from another.
type Named = (Option<String>, Option<String>);

/// The places of all transcripts of a run; what a log names is looked up once.
#[derive(Debug, Default)]
pub(super) struct Places {
    machine: Machine,
    known: RefCell<HashMap<Named, Held>>,
}

/// The projects of what a log names.
#[derive(Debug, Clone)]
struct Held {
    /// The one that it names now.
    now: Namespace,
    /// Those that were there before, with the time at which each was last seen; oldest first.
    before: Vec<(Timestamp, Namespace)>,
}

/// What the lookup of a place works with.
pub(super) struct Lookup<'a> {
    pub(super) store: &'a Store,
    pub(super) guard: &'a Guard,
    /// When the run began.
    pub(super) started_at: Timestamp,
    /// Is told what a person should know.
    pub(super) warn: &'a mut dyn FnMut(&str),
}

impl Places {
    /// Returns the places on the machine that this process runs on.
    pub(super) fn on_this_machine() -> Self {
        Self { machine: Machine::this(), known: RefCell::default() }
    }

    /// Returns the place of `transcript`: `forced` for everything, else its project and `global`. Without a project,
    /// both are `global`.
    pub(super) fn of(
        &self,
        transcript: &Transcript,
        forced: Option<&Namespace>,
        lookup: &mut Lookup<'_>,
    ) -> Result<Place, StoreError> {
        if let Some(namespace) = forced {
            return Ok(Place { project: namespace.clone(), user: namespace.clone() });
        }
        let named = (transcript.project.clone(), transcript.repository.clone());
        let known = self.known.borrow().get(&named).cloned();
        let held = if let Some(held) = known {
            held
        } else {
            let held = self.look_up(transcript, lookup)?;
            self.known.borrow_mut().insert(named, held.clone());
            held
        };
        let held_at = transcript.ended_at().and_then(|ended| held.at(ended));
        Ok(Place::of_project(held_at.unwrap_or(held.now)))
    }

    fn look_up(&self, transcript: &Transcript, lookup: &mut Lookup<'_>) -> Result<Held, StoreError> {
        let Some(sighting) = self.machine.sight(transcript) else {
            return Ok(Held { now: Namespace::global(), before: Vec::new() });
        };
        if let Some(warning) = &sighting.warning {
            (lookup.warn)(warning);
        }
        let placement = remember(&sighting, lookup)?;
        if let Some((before, path)) = placement.before.as_ref().zip(sighting.path.as_ref()) {
            let now = &placement.namespace;
            (lookup.warn)(&format!(
                "{path} belonged to {before} and now belongs to {now}; if they are one project, say so with \
                 `afterthought project merge {before} {now}`"
            ));
        }
        let path = sighting.path.as_deref().filter(|_| placement.follows_time());
        let before = path.map(|path| lookup.store.path_history(path)).transpose()?.unwrap_or_default();
        Ok(Held { now: placement.namespace, before })
    }
}

/// Returns the namespace of the project that lies at `folder` on this machine, as a run over its logs would; `global`
/// where there is none.
///
/// # Errors
/// [`StoreError`] if what was found cannot be remembered.
pub fn project_at(
    store: &Store,
    guard: &Guard,
    folder: &str,
    warn: &mut dyn FnMut(&str),
) -> Result<Namespace, StoreError> {
    let transcript = Transcript { project: Some(folder.to_owned()), ..Transcript::default() };
    let mut lookup = Lookup { store, guard, started_at: Timestamp::now(), warn };
    Ok(Places::on_this_machine().of(&transcript, None, &mut lookup)?.project)
}

impl Held {
    /// Returns what was there at a time before it was last seen; later, what is there now is all that is known.
    fn at(&self, at: Timestamp) -> Option<Namespace> {
        self.before.iter().find(|(until, _)| at <= *until).map(|(_, namespace)| namespace.clone())
    }
}

/// Decides, remembers, and brings together what two identities of one project have learnt apart: as a run of its own,
/// so that it can be undone by itself.
fn remember(sighting: &Sighting, lookup: &mut Lookup<'_>) -> Result<Placement, StoreError> {
    let (store, now) = (lookup.store, Timestamp::now());
    let planned = store.placement(sighting)?;
    let Some(from) = planned.join else {
        return store.write(None, now, |w| {
            let placement = w.placement(sighting)?;
            // What another process has learnt meanwhile is joined by the next run.
            if placement.join.is_none() {
                w.remember_place(sighting, &placement)?;
            }
            Ok(placement)
        });
    };
    let arguments = json!({"from": from.to_string(), "into": planned.namespace.to_string()});
    // Listed before the run that found them to be one, which stays the last.
    let begun = lookup.started_at - SignedDuration::from_millis(1);
    let run = store.begin_run("projects merge", &arguments, begun)?.id;
    let (placement, moved) = store.write(Some(&run), now, |w| {
        let placement = w.placement(sighting)?;
        let join = placement.join.iter();
        let moved = join.map(|from| merge_projects(w, lookup.guard, from, &placement.namespace)).next().transpose()?;
        w.remember_place(sighting, &placement)?;
        Ok::<_, StoreError>((placement, moved))
    })?;
    let summary = serde_json::to_value(moved).expect("counts hold nothing that JSON cannot");
    store.finish_run(&run, RunStatus::Finished, &summary, now)?;
    (lookup.warn)(&format!(
        "{from} and {} are one project; what was learnt in the first is in the second now, and `afterthought undo {run}` \
         takes that back",
        placement.namespace
    ));
    Ok(placement)
}
