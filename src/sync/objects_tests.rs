//! Logs in object storage, over stores in memory, in a folder and behind HTTP.
//!
//! `AFTERTHOUGHT_TEST_S3=http://127.0.0.1:5555` names a server with the bucket `memories`, e.g. `moto_server -p 5555`;
//! without it, the tests over HTTP are skipped.

use std::collections::BTreeSet;

use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use tempfile::TempDir;

use super::super::files::{FileLog, hash_of};
use super::super::log::tests::obeys_the_contract;
use super::super::log::{AppendOutcome, ChangeLog as _};
use super::*;

/// Returns each kind of store, with a prefix that nothing else uses.
fn stores(folder: &TempDir) -> Vec<(&'static str, Arc<dyn ObjectStore>)> {
    let local = LocalFileSystem::new_with_prefix(folder.path()).unwrap();
    let mut stores: Vec<(&'static str, Arc<dyn ObjectStore>)> =
        vec![("memory", Arc::new(InMemory::new())), ("local", Arc::new(local))];
    stores.extend(over_http().map(|store| ("http", store)));
    stores
}

fn over_http() -> Option<Arc<dyn ObjectStore>> {
    let Ok(endpoint) = std::env::var("AFTERTHOUGHT_TEST_S3") else {
        eprintln!("skipped over HTTP, because AFTERTHOUGHT_TEST_S3 is not set");
        return None;
    };
    crate::llm::use_ring();
    let builder = AmazonS3Builder::new().with_url("s3://memories").with_endpoint(endpoint).with_allow_http(true);
    let builder = builder.with_access_key_id("a").with_secret_access_key("b").with_region("us-east-1");
    Some(Arc::new(builder.build().unwrap()))
}

fn log(store: &Arc<dyn ObjectStore>, prefix: &str) -> FileLog<Objects> {
    FileLog::new(Objects::new("s3://memories", &Path::from(prefix), Arc::clone(store)).unwrap())
}

fn prefix() -> String {
    uuid::Uuid::now_v7().to_string()
}

/// Returns the names of all objects below a prefix.
fn names(store: &Arc<dyn ObjectStore>, prefix: &str) -> Vec<String> {
    let mut objects = Objects::new("", &Path::from(prefix), Arc::clone(store)).unwrap();
    let mut all: Vec<String> = objects.list().unwrap().values().flatten().cloned().collect();
    all.sort();
    all
}

/// Writes an object of the log `desk`.
fn put(store: &Arc<dyn ObjectStore>, prefix: &str, name: &str, text: &str) {
    let path = Path::from(prefix).join(LOGS).join("desk").join(name.to_owned());
    let put = store.put(&path, text.to_owned().into());
    Builder::new_current_thread().enable_all().build().unwrap().block_on(put).unwrap();
}

#[test]
fn object_storage_obeys_the_contract_of_logs() {
    let folder = TempDir::new().unwrap();
    for (_, store) in stores(&folder) {
        obeys_the_contract(&mut log(&store, &prefix()));
    }
}

#[test]
fn of_many_writers_with_one_name_one_gets_each_number() {
    const WRITERS: u64 = 4;
    const ITEMS: u64 = 6;
    let folder = TempDir::new().unwrap();
    for (name, store) in stores(&folder) {
        let prefix = prefix();
        let write = |writer: u64| {
            let (mut log, mut done) = (log(&store, &prefix), Vec::new());
            for number in 0..ITEMS {
                let bytes = format!("item {number} of {writer}").into_bytes();
                loop {
                    let end = log.heads().unwrap().first().map_or(0, |head| head.seq);
                    match log.append("desk", end, std::slice::from_ref(&bytes)).unwrap() {
                        AppendOutcome::Done(item) => break done.push(item),
                        AppendOutcome::Moved => {}
                    }
                }
            }
            done
        };
        let written = std::thread::scope(|scope| {
            let all: Vec<_> = (0..WRITERS).map(|writer| scope.spawn(move || write(writer))).collect();
            all.into_iter().flat_map(|one| one.join().unwrap()).collect::<Vec<_>>()
        });
        let numbers: BTreeSet<u64> = written.iter().map(|item| item.seq).collect();
        assert_eq!(numbers, (1..=WRITERS * ITEMS).collect(), "{name}: no number is given twice");
        let read = log(&store, &prefix).read_since("desk", 0).unwrap();
        assert_eq!(read.len(), written.len(), "{name}");
        assert!(read.iter().all(|item| written.contains(item)), "{name}: what was confirmed is there, unchanged");
    }
}

#[test]
fn a_snapshot_deletes_everything_before_it() {
    let folder = TempDir::new().unwrap();
    for (name, store) in stores(&folder) {
        let prefix = prefix();
        let mut log = log(&store, &prefix);
        for seq in 0..3 {
            log.append("desk", seq, &[format!("secret {seq}").into_bytes()]).unwrap();
        }
        // A process that was killed left an item behind that never got its number.
        let orphan = format!("00000004-{}.change", hash_of(b"orphan"));
        put(&store, &prefix, &orphan, "orphan");
        assert_eq!(log.heads().unwrap()[0].seq, 3, "{name}");
        assert!(matches!(log.put_snapshot("desk", 3, 6, b"all").unwrap(), AppendOutcome::Done(_)));
        let snapshot = format!("00000006-{}.snapshot", hash_of(b"all"));
        assert_eq!(names(&store, &prefix), ["00000006".to_owned(), snapshot], "{name}");
        assert!(
            matches!(log.append("desk", 6, &[b"next".to_vec()]).unwrap(), AppendOutcome::Done(item) if item.seq == 7)
        );
    }
}

#[test]
fn a_writer_that_is_killed_at_any_request_leaves_a_log_that_can_be_used() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let prefix = prefix();
    let put = |name: &str, text: &str| put(&store, &prefix, name, text);
    let item = |seq: u64, text: &str, ending: &str| format!("{seq:08}-{}.{ending}", hash_of(text.as_bytes()));
    let mut log = log(&store, &prefix);
    log.append("desk", 0, &[b"one".to_vec()]).unwrap();
    // An item without a number is written again, with other bytes.
    put(&item(2, "lost", "change"), "lost");
    assert!(matches!(log.append("desk", 1, &[b"two".to_vec()]).unwrap(), AppendOutcome::Done(item) if item.seq == 2));
    let texts: Vec<_> = log.read_since("desk", 0).unwrap().into_iter().map(|item| item.bytes).collect();
    assert_eq!(texts, [b"one", b"two"]);
    // A snapshot that got only the numbers before its own.
    put(&item(4, "half", "snapshot"), "half");
    put("00000003", &item(4, "half", "snapshot"));
    assert_eq!(log.heads().unwrap()[0].seq, 2);
    assert!(matches!(log.put_snapshot("desk", 2, 4, b"all").unwrap(), AppendOutcome::Done(_)));
    assert_eq!(log.get_snapshot("desk").unwrap().unwrap().bytes, b"all");
    assert_eq!(log.heads().unwrap()[0].forked, None);
}

#[test]
fn a_storage_that_cannot_be_reached_is_named_with_a_remedy() {
    let endpoint = "http://127.0.0.1:9";
    let builder = AmazonS3Builder::new().with_url("s3://memories").with_endpoint(endpoint).with_allow_http(true);
    let retry = RetryConfig { max_retries: 0, ..RetryConfig::default() };
    let builder = builder.with_access_key_id("a").with_secret_access_key("b").with_retry(retry);
    crate::llm::use_ring();
    let store: Arc<dyn ObjectStore> = Arc::new(builder.build().unwrap());
    let error = log(&store, "notes").heads().unwrap_err().to_string();
    assert!(
        error.contains("cannot use the object storage s3://memories") && error.contains("nothing was lost"),
        "{error}"
    );
}
