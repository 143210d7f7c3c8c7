//! Keeps the memories of several machines equal, through a folder or a git repository that all of them can reach.
//!
//! ```text
//! changed rows ─▶ collect ─▶ records ─▶ outbox ─▶ item of the own log ─▶ target
//! target ─▶ items of other logs ─▶ records ─▶ merge ─▶ changed rows ─▶ conflict ─▶ collect
//! ```
//!
//! Every machine appends only to its own log, so no order among machines is needed. A record contains the versions of a
//! row that nothing has replaced, and the union of records does not depend on the order in which they arrive. Equal sets
//! of records give equal rows, whatever the clocks say.
//!
//! The content of a row leaves the machine only if its namespace is named for the target. Former states are not sent,
//! because they may come from another namespace.

mod collect;
mod conflict;
mod error;
mod files;
mod folder;
mod git;
mod log;
mod merge;
#[cfg(feature = "scale")]
mod postgres;
mod record;

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde::Serialize;

use crate::memory::short;
use crate::store::{Database, LeaseOutcome, RewriteOutcome, Store, StoreError, SyncPlace, SyncTarget, Writer};
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
pub(crate) use postgres::{LogPlace, PostgresLog};
pub(crate) use record::NamespacePatterns;
use record::{Record, read_record, stored, to_json};

/// Name of the lease that one process has during a synchronisation.
const LEASE: &str = "sync";
/// Longest wait for another process that synchronises, and interval between checks of whether it has finished.
const LEASE_WAIT: Duration = Duration::from_secs(30);
const LEASE_CHECK: Duration = Duration::from_millis(100);
/// Number of own items after which the log is replaced by a snapshot.
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
    /// What could not be read or is incomplete, and what to do.
    pub problems: Vec<String>,
    /// Files that were ignored.
    pub notes: Vec<String>,
}

/// When a target is synchronised.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SyncPolicy {
    /// After runs, and when sessions start and end.
    Automatic,
    /// Only if a person asks for it.
    OnRequest,
}

/// Adds a target, or changes the namespaces and the policy of a known target.
pub(crate) fn add(
    store: &Store,
    address: &str,
    namespaces: &[String],
    name: &str,
    policy: SyncPolicy,
    now: Timestamp,
) -> Result<SyncTarget, SyncError> {
    let automatic = policy == SyncPolicy::Automatic;
    NamespacePatterns::new(namespaces)?;
    create(address)?;
    store.write(None, now, |w| {
        let known = w.sync_targets()?.into_iter().find(|target| target.address == address);
        let target = match known {
            // Rows of namespaces that are new for the target have not been compared with their records.
            Some(known) => SyncTarget { namespaces: namespaces.to_vec(), automatic, collected: None, ..known },
            None => SyncTarget {
                id: 0,
                address: address.to_owned(),
                namespaces: namespaces.to_vec(),
                automatic,
                device: device_name(name),
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
            return Ok(SyncTarget { id, ..target });
        }
        w.put_sync_target(&target)?;
        Ok(target)
    })
}

/// Creates the folder of a target, or checks that its repository can be read.
fn create(address: &str) -> Result<(), SyncError> {
    if is_postgresql(address) {
        postgres_log(address)?.heads()?;
        return Ok(());
    }
    if !git::is_repository(address) {
        return Ok(Folder::new(Path::new(address)).create()?);
    }
    git::check_address(address)?;
    let clone = tempfile::tempdir().map_err(|source| LogError::File { path: std::env::temp_dir(), source })?;
    FileLog::new(Repository::new(address, &clone.path().join("clone"))).heads()?;
    Ok(())
}

/// Removes a target; memories and the content of the target stay.
pub(crate) fn remove(store: &Store, address: &str, now: Timestamp) -> Result<(), SyncError> {
    let target = store.sync_targets()?.into_iter().find(|target| target.address == address);
    let target = target.ok_or_else(|| SyncError::Unknown { address: address.to_owned() })?;
    // There is none if the target is a folder or was never synchronised.
    std::fs::remove_dir_all(clone_of(store, &target)).ok();
    Ok(store.write::<_, StoreError>(None, now, |w| w.remove_sync_target(target.id))?)
}

/// Whether a synchronisation replaces the own log by a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Extent {
    /// Only changes are sent.
    Changes,
    /// The own log is replaced by a snapshot, so that lost items are no longer needed.
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
    let mut log = open_log(store, &target)?;
    let log = log.as_mut();
    let mut report = SyncReport { address: target.address.clone(), ..SyncReport::default() };
    let heads = log.heads()?;
    let own = check_own(store, log, &target, &heads)?;
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
    for head in heads.iter().filter(|head| renamed.is_some() || head.name != target.device) {
        match read_log(log, head, peers.iter().find(|peer| peer.device == head.name)) {
            Ok(Some(found)) => read.push(found),
            Ok(None) => {}
            // The logs of other machines can still be used.
            Err(error @ (SyncError::BadItem { .. } | SyncError::Newer { .. })) => {
                report.problems.push(error.to_string());
            }
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
    send(store, log, id, now)?;
    report.notes.extend(log.take_notes());
    Ok(report)
}

fn open_log(store: &Store, target: &SyncTarget) -> Result<Box<dyn ChangeLog>, LogError> {
    if is_postgresql(&target.address) {
        return postgres_log(&target.address);
    }
    Ok(if git::is_repository(&target.address) {
        Box::new(FileLog::new(Repository::new(&target.address, &clone_of(store, target))))
    } else {
        Box::new(FileLog::new(Folder::new(Path::new(&target.address))))
    })
}

/// Returns whether a target is a PostgreSQL server.
fn is_postgresql(address: &str) -> bool {
    address.starts_with("postgres://") || address.starts_with("postgresql://")
}

#[cfg(feature = "scale")]
fn postgres_log(address: &str) -> Result<Box<dyn ChangeLog>, LogError> {
    Ok(Box::new(postgres::PostgresLog::new(address, postgres::LogPlace::Machines, Duration::ZERO)?))
}

#[cfg(not(feature = "scale"))]
const fn postgres_log(_: &str) -> Result<Box<dyn ChangeLog>, LogError> {
    Err(LogError::NoPostgres)
}

/// Returns the folder for the clone of a repository, which is beside the database and only for this database.
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
    // First, so that a change made here counts as made without knowledge of those that arrive now.
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
fn send(store: &Store, log: &mut dyn ChangeLog, id: i64, now: Timestamp) -> Result<(), SyncError> {
    let target = target_of(store, id)?;
    let moved = || {
        SyncError::Target(format!("{} changed in the meantime; run `afterthought db sync now` again", target.address))
    };
    if target.rewrite {
        let records = snapshot_of(store, id)?;
        let seq = target.used + 1;
        let bytes = record::encode(&target.device, seq, None, &records);
        let AppendOutcome::Done(last) = log.put_snapshot(&target.device, target.seq, seq, &bytes)? else {
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
        items.push(record::encode(&target.device, seq, prev, &records));
        hash = items.last().map(|bytes| files::hash_of(bytes)).unwrap_or_default();
    }
    if items.is_empty() {
        return Ok(());
    }
    let AppendOutcome::Done(last) = log.append(&target.device, target.seq, &items)? else { return Err(moved()) };
    mark_sent(store, id, &last, now)
}

fn snapshot_of(db: &Database, id: i64) -> Result<String, SyncError> {
    Ok(format!("[{}]", db.sync_records(id)?.join(",")))
}

/// Records that the own log ends with this item.
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
    head: &Head,
    applied: Option<&SyncPlace>,
) -> Result<Option<(SyncPlace, Vec<Record>)>, SyncError> {
    let start = SyncPlace { device: head.name.clone(), seq: 0, hash: String::new() };
    let mut place = applied.cloned().unwrap_or(start);
    let before = place.seq;
    let mut records = Vec::new();
    if head.snapshot.is_some_and(|seq| seq > place.seq) {
        let Some(snapshot) = log.get_snapshot(&head.name)? else { return Ok(None) };
        records = record::decode(&head.name, &snapshot, None)?;
        (place.seq, place.hash) = (snapshot.seq, snapshot.hash);
    }
    for item in log.read_since(&head.name, place.seq)? {
        let prev = (place.seq > 0).then_some(place.hash.as_str());
        records.extend(record::decode(&head.name, &item, prev)?);
        (place.seq, place.hash) = (item.seq, item.hash);
    }
    Ok((place.seq > before).then_some((place, records)))
}

fn fork_problem(head: &Head) -> Option<String> {
    let seq = head.forked?;
    Some(format!(
        "two machines wrote change {seq} of the log {}; run `afterthought db sync now` on both, and each continues under \
         a name of its own",
        head.name
    ))
}

/// The relation of the own log in the target to what this database wrote.
enum Own {
    /// The log ends as this database knows.
    AsKnown,
    /// The log also contains items of the outbox, because the process ended before it noted this.
    Sent(LogItem),
    /// The log contains items that this database did not write, or lacks some; the items up to `common` are its own.
    Foreign { common: u64 },
}

fn check_own(store: &Store, log: &mut dyn ChangeLog, target: &SyncTarget, heads: &[Head]) -> Result<Own, SyncError> {
    let Some(head) = heads.iter().find(|head| head.name == target.device) else {
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
    for (item, (seq, records)) in log.read_since(&target.device, target.seq)?.into_iter().zip(outbox) {
        let prev = (target.seq > 0 && last.is_none()).then_some(target.hash.as_str());
        let Ok(found) = record::decode(&target.device, &item, prev) else { break };
        if item.seq != seq || to_json(&found)? != records {
            break;
        }
        last = Some(item);
    }
    let is_all = last.as_ref().is_some_and(|item: &LogItem| item.seq == head.seq);
    Ok(last.filter(|_| is_all).map_or(Own::Foreign { common: target.seq }, Own::Sent))
}

/// Continues under another name, because another database writes to the log, or has its items. Changes that the log may
/// contain under the numbers of this database are sent again.
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

/// Returns a name for a log that no other machine has.
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
