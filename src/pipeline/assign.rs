//! Assigns logs to namespaces without extracting them, so that workers can extract them later.

use std::collections::BTreeMap;
use std::path::PathBuf;

use jiff::Timestamp;
use transcripts::{Found, IngestError, Transcript};

use super::PipelineError;
use super::projects::{Lookup, ProjectResolver};
use super::read::{Selection, Sources, Stamp, conversations};
use crate::guard::Guard;
use crate::memory::Namespace;
use crate::store::Store;

/// A log and the namespaces of its conversations.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AssignedLog {
    pub path: PathBuf,
    /// State of the log.
    pub stamp: String,
    /// Each namespace, with the time of its first conversation.
    pub namespaces: BTreeMap<Namespace, Option<Timestamp>>,
}

/// The logs to assign, and the rules for assigning them.
#[derive(Clone, Copy)]
pub(crate) struct PlacementOptions<'a> {
    pub sources: &'a Sources,
    pub selection: &'a Selection,
    /// The namespace for everything, instead of one namespace per project.
    pub forced: Option<&'a Namespace>,
    pub guard: &'a Guard,
}

/// Reads the logs one after another, and reports the namespaces of each. A log that cannot be read is reported with the
/// reason.
///
/// # Errors
/// [`PipelineError`] if nothing is found, or the projects cannot be resolved.
pub(crate) async fn assign(
    options: PlacementOptions<'_>,
    store: &Store,
    mut report: impl FnMut(Result<AssignedLog, (PathBuf, IngestError)>),
    warn: &mut dyn FnMut(&str),
) -> Result<(), PipelineError> {
    let PlacementOptions { sources, selection, guard, .. } = options;
    let (projects, started_at) = (ProjectResolver::on_this_machine(), Timestamp::now());
    for Found { path, named } in sources.discover()? {
        // Workers may have a different working directory.
        let path = std::path::absolute(&path).unwrap_or(path);
        let Some(stamp) = Stamp::of(&path) else { continue };
        if selection.leaves_file(&path, stamp.changed_at()).is_some() {
            continue;
        }
        let one = Sources {
            found: vec![Found { path: path.clone(), named }],
            format: sources.format.clone(),
            ..Sources::default()
        };
        let read = conversations(&one, guard).await?;
        for (path, error) in read.failed {
            report(Err((path, error)));
        }
        let namespaces = namespaces_of(options, read.transcripts, &projects, &mut Lookup { store, started_at, warn })?;
        report(Ok(AssignedLog { path, stamp: stamp.text(), namespaces }));
    }
    Ok(())
}

/// Returns the namespaces of the selected conversations of a log, each with the time of its first conversation.
///
/// # Errors
/// [`PipelineError`] if the projects cannot be resolved.
pub(crate) fn assign_conversations(
    options: PlacementOptions<'_>,
    conversations: Vec<Transcript>,
    store: &Store,
    warn: &mut dyn FnMut(&str),
) -> Result<BTreeMap<Namespace, Option<Timestamp>>, PipelineError> {
    let mut lookup = Lookup { store, started_at: Timestamp::now(), warn };
    namespaces_of(options, conversations, &ProjectResolver::on_this_machine(), &mut lookup)
}

fn namespaces_of(
    PlacementOptions { selection, forced, .. }: PlacementOptions<'_>,
    conversations: Vec<Transcript>,
    projects: &ProjectResolver,
    lookup: &mut Lookup<'_>,
) -> Result<BTreeMap<Namespace, Option<Timestamp>>, PipelineError> {
    let mut namespaces = BTreeMap::new();
    for transcript in conversations {
        let namespace = projects.namespaces_of(&transcript, forced, lookup)?.project;
        if selection.leaves(&transcript, &namespace).is_some() {
            continue;
        }
        let begun = transcript.messages.iter().filter_map(|message| message.time).map(|time| time.at).min();
        let begun = begun.or(transcript.created_at);
        let first = namespaces.entry(namespace).or_insert(begun);
        *first = (*first).min(begun).or(begun);
    }
    Ok(namespaces)
}
