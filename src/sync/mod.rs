//! Keeps the memories of several machines the same, through a folder, a git repository, object storage or a database
//! that all of them can reach.
//!
//! ```text
//! changed rows ─▶ collect ─▶ records ─▶ outbox ─▶ item of the own log ─▶ target
//! target ─▶ items of other logs ─▶ records ─▶ merge ─▶ changed rows ─▶ conflict ─▶ collect
//! ```
//!
//! Every machine appends only to its own log, so no order among machines is needed. A record contains the versions of a
//! row that nothing has replaced, and the union of records does not depend on the order in which they arrive. Equal
//! sets of records result in equal rows, regardless of clocks.
//!
//! The content of a row leaves the machine only if its namespace is one of those chosen for the target. Former states
//! are not sent, because they may come from another namespace.

mod collect;
mod conflict;
mod error;
mod files;
mod folder;
mod git;
mod log;
mod merge;
#[cfg(feature = "scale")]
mod objects;
#[cfg(feature = "scale")]
mod postgres;
mod record;
mod cipher;

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use crate::memory::{Namespace, short};
use crate::store::{Database, LeaseOutcome, RewriteOutcome, Store, StoreError, SyncPlace, SyncTarget, Writer};
pub(crate) use cipher::create_key;
use cipher::{TargetKeys, is_log_of, is_sealed};
use collect::{Origin, collect};
pub(crate) use error::SyncError;
use files::FileLog;
use folder::Folder;
use git::Repository;
pub(crate) use git::is_remote;
#[cfg(not(feature = "scale"))]
use log::{AppendOutcome, ChangeLog, Head, LogError, LogItem};
#[cfg(feature = "scale")]
pub(crate) use log::{AppendOutcome, ChangeLog, Head, LogError, LogItem};
#[cfg(feature = "scale")]
pub(crate) use objects::{reason, storage_at};
#[cfg(feature = "scale")]
pub(crate) use postgres::{LogPlace, PostgresLog};
pub(crate) use record::NamespacePatterns;
use record::{Item, Record, read_record, stored, to_json};

/// Name of the lease that one process has during a synchronisation.
const LEASE: &str = "sync";
/// Maximum wait for another process that synchronises, and interval between checks of whether it has finished.
const LEASE_WAIT: Duration = Duration::from_secs(30);
const LEASE_CHECK: Duration = Duration::from_millis(100);
/// Number of items in this machine's log after which a snapshot replaces them.
const ITEMS_BEFORE_SNAPSHOT: u64 = 200;

/// The result of a synchronisation with one target.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SyncReport {
    /// The target.
    pub address: String,
    /// Number of rows that were sent.
    pub sent: usize,
    /// Number of rows that changed because other machines changed them.
    pub received: usize,
    /// Number of statements of two machines that contradict each other and were added to the inbox.
    pub conflicts: usize,
    /// Number of memories that were erased because another machine erased them.
    pub erased: usize,
    /// Descriptions of what could not be read or is incomplete, and of what to do.
    pub problems: Vec<String>,
    /// Files that were ignored.
    pub notes: Vec<String>,
}

/// When a target is synchronised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SyncPolicy {
    /// After runs, and when sessions start and end.
    Automatic,
    /// Only if a person asks for it.
    OnRequest,
}

/// A target as a person adds it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NewTarget<'a> {
    pub(crate) address: &'a str,
    /// Patterns of the namespaces.
    pub(crate) namespaces: &'a [String],
    /// Name of this machine.
    pub(crate) machine: &'a str,
    pub(crate) policy: SyncPolicy,
    /// The file with the key; without it, a known target keeps its key.
    pub(crate) key: Option<&'a str>,
}

/// Adds a target, or changes a known one. Returns the target with remarks about what it already contains.
pub(crate) fn add(store: &Store, new: &NewTarget<'_>, now: Timestamp) -> Result<(SyncTarget, Vec<String>), SyncError> {
    let automatic = new.policy == SyncPolicy::Automatic;
    let used: Vec<Namespace> = store.namespaces()?.iter().filter_map(|name| name.parse().ok()).collect();
    let mut notes = NamespacePatterns::new(new.namespaces)?.unused(&used)?;
    let known = store.sync_targets()?.into_iter().find(|target| target.address == new.address);
    let key = new.key.map(str::to_owned).or_else(|| known.as_ref()?.key.clone());
    let keys = TargetKeys::open(key.as_deref())?;
    let clone = tempfile::tempdir().map_err(|source| LogError::File { path: std::env::temp_dir(), source })?;
    create(new.address)?;
    notes.extend(examine(open_log(new.address, &clone.path().join("clone"))?.as_mut(), &keys, known.as_ref())?);
    let namespaces = new.namespaces.to_vec();
    store.write(None, now, |w| {
        let known = w.sync_targets()?.into_iter().find(|target| target.address == new.address);
        let target = match known {
            // Rows of namespaces that are new for the target have not been compared with their records. Items that were
            // written without the key, or with a former one, are replaced.
            Some(known) => {
                let rewrite = known.rewrite || new.key.is_some() && known.seq > 0;
                SyncTarget { namespaces, automatic, key, collected: None, rewrite, ..known }
            }
            None => SyncTarget {
                id: 0,
                address: new.address.to_owned(),
                namespaces,
                automatic,
                key,
                device: device_name(new.machine),
                seq: 0,
                hash: String::new(),
                used: 0,
                lamport: 0,
                collected: None,
                rewrite: false,
                synced_at: None,
                error: None,
            },
        };
        if target.id == 0 {
            let id = w.add_sync_target(&target)?;
            return Ok((SyncTarget { id, ..target }, notes));
        }
        w.put_sync_target(&target)?;
        Ok((target, notes))
    })
}

/// Returns the number of memories that were changed here since the target was last synchronised.
///
/// # Errors
/// [`SyncError`] if the database cannot be read.
pub(crate) fn changed_since(store: &Store, target: &SyncTarget) -> Result<usize, SyncError> {
    let patterns = NamespacePatterns::new(&target.namespaces)?;
    let changed = store.changed_by_namespace(target.collected)?;
    Ok(changed.iter().filter(|(namespace, _)| patterns.admits(namespace)).map(|(_, count)| count).sum())
}

/// Creates the folder of a target; repositories and servers must exist.
fn create(address: &str) -> Result<(), SyncError> {
    if is_postgresql(address) {
        // The client refuses passwords in an address, and its message states where they belong.
        Ok(())
    } else if git::is_repository(address) {
        git::check_address(address)
    } else {
        Ok(Folder::new(Path::new(address)).create()?)
    }
}

/// Checks that the target can be read, and that its last items are encrypted with the given key, or not encrypted if no
/// key is given. Returns remarks about other items.
fn examine(log: &mut dyn ChangeLog, keys: &TargetKeys, known: Option<&SyncTarget>) -> Result<Vec<String>, SyncError> {
    let (mut notes, mut unread, mut is_read) = (Vec::new(), None, false);
    for head in log.heads()? {
        let is_own = known.is_some_and(|target| is_log_of(&head.name, &target.device));
        let last = if head.snapshot == Some(head.seq) {
            log.get_snapshot(&head.name)?
        } else {
            log.read_since(&head.name, head.seq - 1)?.pop()
        };
        // An item that has not arrived is read later.
        let Some(last) = last else { continue };
        match keys.unseal(&head.name, &last) {
            Ok(_) => is_read = true,
            Err(_) if is_own => notes.push(
                "the next synchronisation replaces the files of this machine; copies of them that the storage keeps, such \
                 as former versions, do not change"
                    .to_owned(),
            ),
            Err(error @ SyncError::NoKey { .. }) => return Err(error),
            Err(error @ SyncError::NotEncrypted { .. }) => notes.push(error.to_string()),
            Err(error) => unread = Some(error),
        }
    }
    match unread {
        // It is more likely that this key is wrong than that all others are.
        Some(error) if !is_read && known.is_none() => Err(error),
        unread => {
            notes.extend(unread.map(|error| error.to_string()));
            Ok(notes)
        }
    }
}

/// Removes a target; the memories and the content of the target are kept.
pub(crate) fn remove(store: &Store, address: &str, now: Timestamp) -> Result<(), SyncError> {
    let target = store.sync_targets()?.into_iter().find(|target| target.address == address);
    let target = target.ok_or_else(|| SyncError::Unknown { address: address.to_owned() })?;
    // There is no clone if the target is a folder or was never synchronised.
    std::fs::remove_dir_all(clone_of(store, &target)).ok();
    Ok(store.write::<_, StoreError>(None, now, |w| w.remove_sync_target(target.id))?)
}

/// Whether a synchronisation replaces this machine's log with a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Only changes are sent.
    Changes,
    /// A snapshot replaces this machine's log, so that lost items are no longer needed.
    Whole,
}

/// Sends the changes of this database to a target, and applies the changes of other machines.
pub(crate) fn synchronise(store: &Store, id: i64, extent: Extent, now: Timestamp) -> Result<SyncReport, SyncError> {
    let owner = uuid::Uuid::now_v7().to_string();
    let begun = Instant::now();
    while let LeaseOutcome::Other { pid } = store.lease(LEASE, &owner, now + begun.elapsed())? {
        // The other process may have read the memories before the last change.
        if begun.elapsed() > LEASE_WAIT {
            return Err(SyncError::Busy { pid });
        }
        std::thread::sleep(LEASE_CHECK);
    }
    let done = exchange(store, id, extent, now);
    store.end_lease(LEASE, &owner)?;
    let error = done.as_ref().err().map(ToString::to_string);
    store.write::<_, StoreError>(None, now, |w| {
        let Some(target) = w.sync_targets()?.into_iter().find(|target| target.id == id) else { return Ok(()) };
        let synced_at = if error.is_none() { Some(now) } else { target.synced_at };
        w.put_sync_target(&SyncTarget { synced_at, error, ..target })
    })?;
    done
}

fn exchange(store: &Store, id: i64, extent: Extent, now: Timestamp) -> Result<SyncReport, SyncError> {
    let target = target_of(store, id)?;
    let keys = TargetKeys::open(target.key.as_deref())?;
    let mut log = open_log(&target.address, &clone_of(store, &target))?;
    let log = log.as_mut();
    let mut report = SyncReport { address: target.address.clone(), ..SyncReport::default() };
    let heads = log.heads()?;
    let own = check_own(store, log, &keys, &target, &heads)?;
    if let Own::Sent(last) = &own {
        mark_sent(store, id, last, now)?;
    }
    let renamed =
        if let Own::Foreign { common } = own { Some((device_name(base_name(&target.device)), common)) } else { None };
    if let Some((name, _)) = &renamed {
        report.notes.push(format!(
            "the log {} was also written by another copy of this database, or the target lost a part of it; this \
             machine continues as {name}, and nothing is lost",
            target.device
        ));
    }
    let mut read = Vec::new();
    let peers = store.sync_peers(id)?;
    for head in heads.iter().filter(|head| renamed.is_some() || !is_log_of(&head.name, &target.device)) {
        match read_log(log, &keys, head, peers.iter().find(|peer| is_log_of(&head.name, &peer.device))) {
            Ok(Some(found)) => read.push(found),
            Ok(None) => {}
            // The logs of other machines can still be used.
            Err(
                error @ (SyncError::BadItem { .. }
                | SyncError::Newer { .. }
                | SyncError::OtherKey { .. }
                | SyncError::NotEncrypted { .. }),
            ) => report.problems.push(error.to_string()),
            Err(error) => return Err(error),
        }
        report.problems.extend(fork_problem(head));
    }
    for note in log.take_notes() {
        if note.starts_with("waiting") { report.problems.push(note) } else { report.notes.push(note) }
    }
    let (places, records): (Vec<_>, Vec<_>) = read.into_iter().unzip();
    let records: Vec<Record> = records.into_iter().flatten().collect();
    let erases = records.iter().any(|record| record.erased);
    store.write_synced::<_, SyncError>(erases, now, |w| {
        let mut target = target_of(w, id)?;
        target.rewrite |= extent == Extent::Whole;
        if let Some((name, common)) = &renamed {
            rename(w, &mut target, name, *common)?;
        }
        apply(w, &mut target, records, &mut report)?;
        places.iter().try_for_each(|place| w.put_sync_peer(id, place))?;
        // A purge in this write has set the mark in the table.
        target.rewrite |= target_of(w, id)?.rewrite;
        Ok(w.put_sync_target(&target)?)
    })?;
    if report.erased > 0 && store.seal()? == RewriteOutcome::Waiting {
        report.notes.push("erased text may remain in the file until `afterthought db maintain` rewrites it".to_owned());
    }
    send(store, log, &keys, &heads, id, now)?;
    report.notes.extend(log.take_notes());
    Ok(report)
}

/// Opens the logs in a target; `clone` is the folder for the clone of a repository.
fn open_log(address: &str, clone: &Path) -> Result<Box<dyn ChangeLog>, SyncError> {
    if is_objects(address) {
        #[cfg(feature = "scale")]
        return Ok(Box::new(FileLog::new(objects::Objects::open(address)?)));
        #[cfg(not(feature = "scale"))]
        return Err(SyncError::Feature { what: "use object storage", feature: "scale" });
    }
    if is_postgresql(address) {
        #[cfg(feature = "scale")]
        return Ok(Box::new(PostgresLog::new(address, LogPlace::Machines, Duration::ZERO)?));
        #[cfg(not(feature = "scale"))]
        return Err(SyncError::Feature { what: "use PostgreSQL", feature: "scale" });
    }
    Ok(if git::is_repository(address) {
        Box::new(FileLog::new(Repository::new(address, clone)))
    } else {
        Box::new(FileLog::new(Folder::new(Path::new(address))))
    })
}

/// Returns whether a target is a place in object storage.
pub(crate) fn is_objects(address: &str) -> bool {
    ["s3://", "gs://", "az://"].iter().any(|scheme| address.starts_with(scheme))
}

/// Returns whether a target is a PostgreSQL server.
fn is_postgresql(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

/// Returns the folder for the clone of a repository, which is next to the database and only for this database.
fn clone_of(store: &Store, target: &SyncTarget) -> PathBuf {
    let ending = format!(".sync-{}", target.id);
    store.path_beside(&ending).unwrap_or_else(|| std::env::temp_dir().join(format!("{}{ending}", target.device)))
}

/// Collects the changes of this database, and then applies the records of other machines, in one transaction.
fn apply(
    w: &Writer<'_>,
    target: &mut SyncTarget,
    records: Vec<Record>,
    report: &mut SyncReport,
) -> Result<(), SyncError> {
    let patterns = NamespacePatterns::new(&target.namespaces)?;
    let is_complete = target.collected.is_none();
    // Local changes are collected first, so that they count as independent of the changes that arrive now.
    report.sent += collect(w, target, &patterns, Origin::Local)?;
    if records.is_empty() && !is_complete {
        return Ok(());
    }
    w.begin_sync()?;
    let mut touched = merge::merge(w, target, records)?;
    if is_complete {
        // The namespaces may have changed, so known records may have to be written as rows now.
        touched.extend(w.memories_to_collect(target.id, None)?);
    }
    let written = merge::write_rows(w, target, &patterns, &touched)?;
    report.received += written.rows;
    report.erased += written.erased;
    report.conflicts += conflict::resolve(w, target, &patterns, &touched)?;
    report.sent += collect(w, target, &patterns, Origin::Synchronisation)?;
    Ok(())
}

/// Sends the items of the outbox, or a snapshot instead of the whole log.
fn send(
    store: &Store,
    log: &mut dyn ChangeLog,
    keys: &TargetKeys,
    heads: &[Head],
    id: i64,
    now: Timestamp,
) -> Result<(), SyncError> {
    let target = target_of(store, id)?;
    let own = heads.iter().find(|head| is_log_of(&head.name, &target.device));
    let name = own.map_or_else(|| keys.log_name(&target.device), |head| &head.name);
    let moved = || {
        SyncError::Target(format!("{} changed in the meantime; run `afterthought db sync now` again", target.address))
    };
    if target.rewrite {
        let records = snapshot_of(store, id)?;
        let seq = target.used + 1;
        let bytes = keys.seal(record::encode(&target.device, seq, None, &records))?;
        let AppendOutcome::Done(last) = log.put_snapshot(name, target.seq, seq, &bytes)? else {
            return Err(moved());
        };
        return store.write(None, now, |w| {
            w.clear_sync_outbox(id, last.seq)?;
            // Another process may have erased a memory while the snapshot was written.
            let rewrite = snapshot_of(w, id)? != records;
            let (seq, used) = (last.seq, last.seq);
            Ok(w.put_sync_target(&SyncTarget { seq, used, hash: last.hash, rewrite, ..target_of(w, id)? })?)
        });
    }
    let (mut hash, mut items) = (target.hash, Vec::new());
    for (seq, records) in store.sync_outbox(id)? {
        let prev = (seq > 1).then_some(hash.as_str());
        items.push(keys.seal(record::encode(&target.device, seq, prev, &records))?);
        hash = items.last().map(|bytes| files::hash_of(bytes)).unwrap_or_default();
    }
    if items.is_empty() {
        return Ok(());
    }
    let AppendOutcome::Done(last) = log.append(name, target.seq, &items)? else { return Err(moved()) };
    mark_sent(store, id, &last, now)
}

fn snapshot_of(db: &Database, id: i64) -> Result<String, SyncError> {
    Ok(format!("[{}]", db.sync_records(id)?.join(",")))
}

/// Records that this machine's log ends with this item.
fn mark_sent(store: &Store, id: i64, last: &LogItem, now: Timestamp) -> Result<(), SyncError> {
    store.write(None, now, |w| {
        let target = target_of(w, id)?;
        w.clear_sync_outbox(id, last.seq)?;
        let (seq, hash, used) = (last.seq, last.hash.clone(), target.used.max(last.seq));
        // A long log is replaced by a snapshot, so that a new machine need not read all of it.
        let rewrite = target.rewrite || seq / ITEMS_BEFORE_SNAPSHOT > target.seq / ITEMS_BEFORE_SNAPSHOT;
        Ok(w.put_sync_target(&SyncTarget { seq, hash, used, rewrite, ..target })?)
    })
}

/// Reads the items of another log that were not applied yet.
fn read_log(
    log: &mut dyn ChangeLog,
    keys: &TargetKeys,
    head: &Head,
    applied: Option<&SyncPlace>,
) -> Result<Option<(SyncPlace, Vec<Record>)>, SyncError> {
    let start = SyncPlace { device: head.name.clone(), seq: 0, hash: String::new() };
    let mut place = applied.cloned().unwrap_or(start);
    let before = place.seq;
    let mut records = Vec::new();
    let mut read = |place: &mut SyncPlace, stored: LogItem, prev: Option<&str>| {
        let bytes = keys.unseal(&place.device, &stored)?;
        let item = record::decode((&head.name, &place.device), &stored, &bytes, prev)?;
        records.extend(item.records);
        // The name of an encrypted log does not contain the name of the machine.
        *place = SyncPlace { device: item.device, seq: stored.seq, hash: stored.hash };
        Ok::<_, SyncError>(())
    };
    if head.snapshot.is_some_and(|seq| seq > place.seq) {
        let Some(snapshot) = log.get_snapshot(&head.name)? else { return Ok(None) };
        read(&mut place, snapshot, None)?;
    }
    for item in log.read_since(&head.name, place.seq)? {
        let prev = (place.seq > 0).then(|| place.hash.clone());
        read(&mut place, item, prev.as_deref())?;
    }
    Ok((place.seq > before).then_some((place, records)))
}

fn fork_problem(head: &Head) -> Option<String> {
    let seq = head.forked?;
    Some(format!(
        "two machines wrote change {seq} of the log {}; run `afterthought db sync now` on both, and each continues under \
         a separate name",
        head.name
    ))
}

/// How this machine's log in the target differs from what this database wrote.
enum Own {
    /// The log ends with the item that this database last recorded.
    AsKnown,
    /// The log also contains items of the outbox, because the process ended before it noted this.
    Sent(LogItem),
    /// The log contains items that this database did not write, or lacks some; the items up to `common` are its own.
    Foreign { common: u64 },
}

fn check_own(
    store: &Store,
    log: &mut dyn ChangeLog,
    keys: &TargetKeys,
    target: &SyncTarget,
    heads: &[Head],
) -> Result<Own, SyncError> {
    let Some(head) = heads.iter().find(|head| is_log_of(&head.name, &target.device)) else {
        return Ok(if target.seq == 0 { Own::AsKnown } else { Own::Foreign { common: target.seq } });
    };
    if head.forked.is_some() {
        return Ok(Own::Foreign { common: 0 });
    }
    if head.seq == target.seq {
        return Ok(if head.hash == target.hash { Own::AsKnown } else { Own::Foreign { common: 0 } });
    }
    if head.seq < target.seq {
        return Ok(Own::Foreign { common: target.seq });
    }
    let outbox = store.sync_outbox(target.id)?;
    let mut last = None;
    for (item, (seq, records)) in log.read_since(&head.name, target.seq)?.into_iter().zip(outbox) {
        let prev = (target.seq > 0 && last.is_none()).then_some(target.hash.as_str());
        // The key may have been given after the item was written.
        let bytes = if is_sealed(&item) { keys.unseal(&head.name, &item) } else { Ok(Cow::Borrowed(&*item.bytes)) };
        let names = (head.name.as_str(), target.device.as_str());
        let found = bytes.and_then(|bytes| record::decode(names, &item, &bytes, prev));
        let Ok(Item { records: found, .. }) = found else { break };
        if item.seq != seq || to_json(&found)? != records {
            break;
        }
        last = Some(item);
    }
    let is_all = last.as_ref().is_some_and(|item: &LogItem| item.seq == head.seq);
    Ok(last.filter(|_| is_all).map_or(Own::Foreign { common: target.seq }, Own::Sent))
}

/// Continues under a different name, because another database writes to the log, or has a copy of its items. Changes
/// that the log may contain under the numbers of this database are sent again.
fn rename(w: &Writer<'_>, target: &mut SyncTarget, name: &str, common: u64) -> Result<(), SyncError> {
    for json in w.sync_records(target.id)? {
        let mut record = read_record(&json)?;
        let known = record.vector.get(&target.device).copied().unwrap_or(0);
        if known > common {
            record.versions.retain(|one| one.stamp.device != target.device || one.stamp.seq <= common);
            record.vector.insert(target.device.clone(), common);
            record.vector.retain(|_, seq| *seq > 0);
            w.put_sync_record(target.id, &stored(&record)?, true)?;
        }
    }
    w.clear_sync_outbox(target.id, i64::MAX.unsigned_abs())?;
    name.clone_into(&mut target.device);
    (target.seq, target.used, target.collected, target.rewrite) = (0, 0, None, true);
    target.hash.clear();
    Ok(())
}

fn target_of(db: &Database, id: i64) -> Result<SyncTarget, SyncError> {
    let found = db.sync_targets()?.into_iter().find(|target| target.id == id);
    found.ok_or_else(|| SyncError::Unknown { address: id.to_string() })
}

/// Returns a name for a log that no other machine uses.
fn device_name(name: &str) -> String {
    let plain = name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' });
    let plain: String = plain.take(24).collect();
    let plain = plain.trim_matches('-');
    let random = uuid::Uuid::now_v7().to_string();
    format!("{}-{}", if plain.is_empty() { "machine" } else { plain }, short(&random))
}

fn base_name(device: &str) -> &str {
    device.rsplit_once('-').map_or(device, |(name, _)| name)
}

#[cfg(test)]
mod laws_tests;
#[cfg(test)]
mod machines_tests;
#[cfg(feature = "scale")]
#[cfg(test)]
mod postgres_tests;
#[cfg(test)]
mod repository_tests;
#[cfg(test)]
mod testing;
