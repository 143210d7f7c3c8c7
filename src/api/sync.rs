//! Synchronises the memories of several machines through a shared target, such as a folder or a git repository.

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::draft::refuse_secrets;
use super::{ApiError, Memories};
use crate::memory::Namespace;
use crate::store::SyncTarget;
use crate::sync::{self, Extent, NewTarget, SyncPolicy, SyncReport};

const SYNC: &str = "synchronise machines";

/// A target with which memories are synchronised.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct SyncStatus {
    /// The folder, or the address of the repository.
    pub address: String,
    /// The namespaces that are synchronised; a trailing `/*` includes everything below.
    pub namespaces: Vec<String>,
    /// Whether the target is synchronised after runs, and when sessions start and end.
    pub automatic: bool,
    /// The file with the key for what is written to the target; `None` if it is not encrypted.
    pub key: Option<String>,
    /// The name of this machine in the target.
    pub machine: String,
    /// The other machines.
    pub machines: Vec<String>,
    /// Number of items that wait to be sent.
    pub waiting: usize,
    /// Number of memories that were changed here since the last synchronisation.
    pub changed: usize,
    /// Time of the last successful synchronisation.
    pub synced_at: Option<Timestamp>,
    /// Why the last synchronisation failed; `None` if it succeeded.
    pub error: Option<String>,
}

impl Memories {
    /// Adds a folder or a git repository as a target, or changes the namespaces, the policy and the key of a known target.
    /// Nothing is sent yet. Returns notes about what the target already contains.
    ///
    /// With a `key`, everything that is written to the target is encrypted with age. The key is a file of secret keys:
    /// the first one encrypts, and all of them decrypt. A known target keeps its key if none is given.
    ///
    /// # Errors
    /// [`ApiError`] if a namespace is not valid, the folder cannot be created, the repository cannot be read, or the key
    /// does not fit to what the target contains.
    pub(crate) fn add_sync(
        &self,
        address: &str,
        namespaces: &[Namespace],
        machine: &str,
        policy: SyncPolicy,
        key: Option<&Path>,
    ) -> Result<Vec<String>, ApiError> {
        self.unconfined()?;
        let patterns: Vec<String> = namespaces.iter().map(ToString::to_string).collect();
        let key = key.map(absolute_path);
        // All of these are stored, and the names are shown on every machine, so none of them may contain a secret.
        let stored = patterns.iter().map(String::as_str).chain([machine]).chain(key.as_deref());
        stored.into_iter().try_for_each(|name| refuse_secrets(name.to_owned()))?;
        let (store, address) = (self.ledger(SYNC)?, absolute(address));
        let new = NewTarget { address: &address, namespaces: &patterns, machine, policy, key: key.as_deref() };
        Ok(sync::add(store, &new, Timestamp::now())?.1)
    }

    /// Writes a new key for [`Self::add_sync`] to a file that only its user can read. If the file exists and `rotate` is
    /// set, the new key is added before those in the file, so that it encrypts and the previous ones still decrypt.
    ///
    /// # Errors
    /// [`ApiError`] if the file exists and `rotate` is not set, or if it cannot be written.
    pub(crate) fn create_sync_key(file: &Path, rotate: bool) -> Result<(), ApiError> {
        Ok(sync::create_key(file, rotate)?)
    }

    /// Removes a target; its content and the memories stay.
    ///
    /// # Errors
    /// [`ApiError`] if there is no such target.
    pub(crate) fn remove_sync(&self, address: &str) -> Result<(), ApiError> {
        self.unconfined()?;
        Ok(sync::remove(self.ledger(SYNC)?, &absolute(address), Timestamp::now())?)
    }

    /// Synchronises with all targets. If `whole`, everything is sent again, so that lost items are no longer needed.
    ///
    /// # Errors
    /// [`ApiError`] if a target cannot be used; the targets after it are tried as well.
    pub fn sync(&self, whole: bool) -> Result<Vec<Result<SyncReport, ApiError>>, ApiError> {
        self.sync_with(if whole { Extent::Whole } else { Extent::Changes }, |_| true)
    }

    /// Synchronises with all targets that were added as [`SyncPolicy::Automatic`]. [`Self::sync_status`] reports
    /// failures.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn sync_automatically(&self) -> Result<(), ApiError> {
        self.sync_with(Extent::Changes, |target| target.automatic).map(drop)
    }

    /// Returns whether any target that is synchronised automatically has not been synchronised since `since`.
    pub(crate) fn wants_sync(&self, since: Timestamp) -> Result<bool, ApiError> {
        let is_due = |target: &SyncTarget| target.automatic && target.synced_at.is_none_or(|at| at < since);
        Ok(self.ledger(SYNC)?.sync_targets()?.iter().any(is_due))
    }

    fn sync_with(
        &self,
        extent: Extent,
        includes: impl Fn(&SyncTarget) -> bool,
    ) -> Result<Vec<Result<SyncReport, ApiError>>, ApiError> {
        self.unconfined()?;
        let store = self.ledger(SYNC)?;
        let targets = store.sync_targets()?;
        let done = targets
            .iter()
            .filter(|target| includes(target))
            .map(|target| Ok(sync::synchronise(store, target.id, extent, Timestamp::now())?));
        Ok(done.collect())
    }

    /// Returns the targets.
    ///
    /// # Errors
    /// [`ApiError`] if the database cannot be read.
    pub(crate) fn sync_status(&self) -> Result<Vec<SyncStatus>, ApiError> {
        self.unconfined()?;
        let store = self.ledger(SYNC)?;
        let status = store.sync_targets()?.into_iter().map(|target| {
            let machines = store.sync_peers(target.id)?.into_iter().map(|peer| peer.device).collect();
            Ok(SyncStatus {
                waiting: store.sync_outbox(target.id)?.len(),
                changed: sync::changed_since(store, &target)?,
                machines,
                address: target.address,
                namespaces: target.namespaces,
                automatic: target.automatic,
                key: target.key,
                machine: target.device,
                synced_at: target.synced_at,
                error: target.error,
            })
        });
        status.collect()
    }
}

/// Returns the address in a form that does not depend on the working directory.
fn absolute(address: &str) -> String {
    if sync::is_remote(address) {
        return address.to_owned();
    }
    absolute_path(Path::new(address))
}

fn absolute_path(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).to_string_lossy().into_owned()
}
