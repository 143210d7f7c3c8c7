//! Shards: what a check-out gives, and what goes wrong. With `AFTERTHOUGHT_MEASURE=1` and a release build, times are
//! compared with their limits.

use std::time::{Duration, Instant};

use tempfile::TempDir;

use super::*;
use crate::memory::Memory;
use crate::postgresql::Connection;
use crate::postgresql::testing::shared;
use crate::store::testing::{clean, day, memory, quote};
use crate::store::{Filter, Order, Store, StoreError};
use crate::sync::LogPlace;

struct Place {
    address: String,
    log: PostgresLog,
    folder: TempDir,
}

impl Place {
    fn new() -> Option<Self> {
        let address = shared()?.database();
        let log = PostgresLog::new(&address, LogPlace::Shards, Duration::ZERO).unwrap();
        Some(Self { address, log, folder: TempDir::new().unwrap() })
    }

    fn cache(&self) -> ShardCache {
        ShardCache::open(self.folder.path()).unwrap()
    }

    /// Stores memories in a shard, and commits them.
    fn insert(&mut self, cache: &ShardCache, memories: &[Memory], extent: Extent) -> CommitOutcome {
        let out = cache.check_out(&mut self.log, "project/shop").unwrap();
        insert(&out.path, memories);
        cache.commit(&mut self.log, &out, extent).unwrap()
    }

    fn contents(&mut self, cache: &ShardCache) -> Vec<String> {
        let out = cache.check_out(&mut self.log, "project/shop").unwrap();
        let contents = contents(&out.path);
        assert_eq!(cache.commit(&mut self.log, &out, Extent::Changes).unwrap(), CommitOutcome::Done);
        contents
    }
}

fn insert(path: &Path, memories: &[Memory]) {
    let store = Store::open(path).unwrap();
    let all = |w: &crate::store::Writer<'_>| {
        memories
            .iter()
            .try_for_each(|one| w.insert(&clean(one.clone()), &clean(vec![quote(&one.claim.content)])).map(drop))
    };
    store.write::<_, StoreError>(None, day(0), all).unwrap();
}

fn contents(path: &Path) -> Vec<String> {
    let store = Store::open(path).unwrap();
    let all = store.list(&Filter::default(), Order::Id, 100_000, 0).unwrap();
    let mut all: Vec<String> = all.into_iter().map(|one| one.claim.content).collect();
    all.sort();
    all
}

fn tea(number: usize) -> Memory {
    memory("Tea", &format!("The shop sells tea number {number} from shelf {} to guests.", number * 7 % 1_000))
}

#[test]
fn a_shard_has_the_same_bytes_on_every_machine() {
    let Some(mut place) = Place::new() else { return };
    let (one, other) = (place.cache(), place.cache());
    assert_ne!(one.folder, other.folder, "each process has its own files");
    for number in 0..ITEMS_BEFORE_SNAPSHOT + 3 {
        let cache = if number % 3 == 0 { &other } else { &one };
        let number = usize::try_from(number).unwrap();
        assert_eq!(place.insert(cache, &[tea(number)], Extent::Changes), CommitOutcome::Done);
    }
    let head = place.log.head("project/shop").unwrap().unwrap();
    assert_eq!((head.seq, head.snapshot), (ITEMS_BEFORE_SNAPSHOT + 3, Some(ITEMS_BEFORE_SNAPSHOT + 1)));
    assert_eq!(place.contents(&one).len(), 67);
    assert_eq!(place.contents(&other), place.contents(&one));
    let bytes = |cache: &ShardCache| fs::read(cache.path("project/shop", "db")).unwrap();
    // Reading may change the header of a file, which counts as a change like any other.
    assert_eq!(place.contents(&other), place.contents(&one));
    assert_eq!(bytes(&one).len(), bytes(&other).len());
    assert!(place.contents(&place.cache()).len() == 67, "an empty cache gets everything");
}

#[test]
fn a_worker_that_lost_its_lease_writes_nothing() {
    let Some(mut place) = Place::new() else { return };
    let (slow, fast) = (place.cache(), place.cache());
    place.insert(&slow, &[tea(1)], Extent::Changes);
    let out = slow.check_out(&mut place.log, "project/shop").unwrap();
    place.insert(&fast, &[tea(2)], Extent::Changes);
    insert(&out.path, &[tea(3)]);
    assert_eq!(slow.commit(&mut place.log, &out, Extent::Changes).unwrap(), CommitOutcome::Moved);
    assert_eq!(place.contents(&slow), place.contents(&fast));
    assert_eq!(place.contents(&slow).len(), 2);
    // A process that ended while it changed the file leaves a file in an unknown state.
    let out = slow.check_out(&mut place.log, "project/shop").unwrap();
    insert(&out.path, &[tea(4)]);
    drop(out);
    assert_eq!(place.contents(&slow).len(), 2);
}

#[test]
fn a_whole_commit_leaves_no_byte_of_earlier_items_and_damage_is_named() {
    let Some(mut place) = Place::new() else { return };
    let cache = place.cache();
    for number in 0..3 {
        place.insert(&cache, &[tea(number)], Extent::Changes);
    }
    place.insert(&cache, &[tea(3)], Extent::Whole);
    let mut connection = Connection::new(&place.address, Duration::ZERO).unwrap();
    let count = "SELECT count(*) FROM afterthought.log_items";
    assert_eq!(connection.with(|client| client.query_one(count, &[])).unwrap().get::<_, i64>(0), 1);
    place.insert(&cache, &[tea(4)], Extent::Changes);
    let damage = "UPDATE afterthought.log_items SET bytes = 'x' WHERE seq = 5";
    connection.with(|client| client.execute(damage, &[])).unwrap();
    let error = place.cache().check_out(&mut place.log, "project/shop").err().unwrap().to_string();
    assert!(error.contains("project/shop is damaged") && error.contains("backup"), "{error}");
}

#[test]
fn ten_thousand_memories_are_checked_out_quickly() {
    let Some(mut place) = Place::new() else { return };
    let is_measured = std::env::var_os("AFTERTHOUGHT_MEASURE").is_some();
    let count = if is_measured { 10_000 } else { 500 };
    let memories: Vec<Memory> = (0..count).map(tea).collect();
    let cache = place.cache();
    assert_eq!(place.insert(&cache, &memories, Extent::Changes), CommitOutcome::Done);
    let one = [tea(count)];
    place.insert(&cache, &one, Extent::Whole);
    let time = |cache: &ShardCache, log: &mut PostgresLog| {
        let begun = Instant::now();
        let out = cache.check_out(log, "project/shop").unwrap();
        let took = begun.elapsed();
        let begun = Instant::now();
        cache.commit(log, &out, Extent::Changes).unwrap();
        (took, begun.elapsed())
    };
    let best = |times: Vec<(Duration, Duration)>| (times.iter().map(|one| one.0).min().unwrap(), times[0].1);
    let empty = || TempDir::new().unwrap();
    let new = |folder: &TempDir| ShardCache::open(folder.path()).unwrap();
    let cold = best((0..5).map(|_| time(&new(&empty()), &mut place.log)).collect());
    let warm = best((0..5).map(|_| time(&cache, &mut place.log)).collect());
    let bytes = fs::metadata(cache.path("project/shop", "db")).unwrap().len();
    eprintln!("{count} memories, {bytes} bytes: cold {:?}, warm {:?}, commit {:?}", cold.0, warm.0, warm.1);
    let limits = if is_measured { (150, 5) } else { (5_000, 1_000) };
    assert!(cold.0 < Duration::from_millis(limits.0) && warm.0 < Duration::from_millis(limits.1), "{cold:?} {warm:?}");
}
