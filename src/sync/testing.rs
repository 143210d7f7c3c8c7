//! Machines and targets for tests, with a key if the test runs within [`with_key`].

use std::cell::RefCell;

use jiff::Timestamp;

use super::cipher::TargetKeys;
use super::log::LogItem;
use super::*;
use crate::memory::{Memory, Status};
use crate::store::testing::{clean, day, quote};
use crate::store::{Filter, Order};

thread_local! {
    static KEY: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Returns the key file of this test.
pub(super) fn key() -> Option<String> {
    KEY.with_borrow(Clone::clone)
}

/// Runs a test with targets that are encrypted.
#[cfg(feature = "age")]
pub(super) fn with_key(test: impl FnOnce()) {
    let folder = tempfile::TempDir::new().unwrap();
    let file = folder.path().join("sync.key");
    create_key(&file, false).unwrap();
    KEY.set(Some(file.to_str().unwrap().to_owned()));
    test();
    KEY.set(None);
}

fn keys() -> TargetKeys {
    TargetKeys::open(key().as_deref()).unwrap()
}

/// Adds a target, with the key of this test.
pub(super) fn add_target(
    store: &Store,
    address: &str,
    namespaces: &[&str],
    machine: &str,
    now: Timestamp,
) -> Result<i64, SyncError> {
    add_with(store, address, namespaces, machine, key().as_deref(), now).map(|(target, _)| target.id)
}

pub(super) fn add_with(
    store: &Store,
    address: &str,
    namespaces: &[&str],
    machine: &str,
    key: Option<&str>,
    now: Timestamp,
) -> Result<(SyncTarget, Vec<String>), SyncError> {
    let namespaces: Vec<String> = namespaces.iter().map(|name| (*name).to_owned()).collect();
    add(store, &NewTarget { address, namespaces: &namespaces, machine, policy: SyncPolicy::OnRequest, key }, now)
}

/// Returns the name of the log of a machine.
pub(super) fn log_of(device: &str) -> String {
    keys().log_name(device).to_owned()
}

/// Returns the bytes of an item as they are in a target.
pub(super) fn sealed(text: &str) -> Vec<u8> {
    keys().seal(text.as_bytes().to_vec()).unwrap()
}

/// Returns the text of an item in a target.
pub(super) fn text_of(bytes: Vec<u8>) -> String {
    let item = LogItem { seq: 1, hash: String::new(), bytes };
    String::from_utf8(keys().unseal("machine", &item).unwrap().into_owned()).unwrap()
}

/// A store and its target.
pub(super) struct Machine {
    pub(super) store: Store,
    pub(super) target: i64,
}

impl Machine {
    pub(super) fn with(store: Store, address: &str, name: &str, namespaces: &[&str]) -> Self {
        let target = add_target(&store, address, namespaces, name, day(0)).unwrap();
        Self { store, target }
    }

    pub(super) fn try_sync(&self) -> Result<SyncReport, SyncError> {
        synchronise(&self.store, self.target, Extent::Changes, day(1))
    }

    pub(super) fn sync(&self) -> SyncReport {
        self.try_sync().unwrap()
    }

    pub(super) fn write<T>(&self, at: Timestamp, change: impl FnOnce(&Writer<'_>) -> Result<T, StoreError>) -> T {
        self.store.write(None, at, change).unwrap()
    }

    pub(super) fn insert(&self, memory: &Memory) {
        let evidence = vec![quote(&memory.claim.content)];
        self.write(day(0), |w| w.insert(&clean(memory.clone()), &clean(evidence)));
    }

    pub(super) fn all(&self) -> Vec<Memory> {
        let all = Filter { statuses: Vec::new(), ..Filter::default() };
        self.store.list(&all, Order::Id, 1000, 0).unwrap()
    }

    pub(super) fn contents(&self) -> Vec<(String, Status)> {
        let mut all: Vec<_> = self.all().into_iter().map(|one| (one.claim.content, one.status)).collect();
        all.sort();
        all
    }
}
