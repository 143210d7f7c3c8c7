//! Code that fuzz targets share: reading and checking logs, and a small store.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use afterthought::config::Folders;
use afterthought::guard::Guard;
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryType, Namespace};
use afterthought::store::{Store, StoreError};
use jiff::Timestamp;
use tempfile::TempDir;
use transcripts::{Head, INGESTORS, Ingestor, Input, MAX_PROSE_BYTES, Sink, Skipped, Transcript};

/// A memory of another project, which must not appear anywhere else.
pub const ELSEWHERE: &str = "The zanzibar turbine hums at dusk.";
/// Maximum length, in bytes, of the reason why a record was skipped.
const REASON: usize = 400;

/// Tests each format of `family` on `bytes`; the formats that recognise the bytes, and one other format, also read
/// them.
pub fn read_by(family: &str, bytes: &[u8]) {
    let Ok(input) = Input::from_bytes("log", bytes.to_vec()) else { return };
    let head = Head::of(&input);
    let formats: Vec<_> = INGESTORS.iter().filter(|ingestor| ingestor.family() == family).collect();
    assert!(!formats.is_empty(), "{family} is a family");
    for (place, ingestor) in formats.iter().enumerate() {
        if ingestor.sniff(&head) || place == bytes.len() % formats.len() {
            let (first, skipped) = read(**ingestor, bytes);
            first.iter().for_each(check);
            for skip in &skipped {
                assert!(!skip.reason.is_empty() && skip.reason.len() <= REASON, "{skip:?}");
            }
            assert_eq!((first, skipped), read(**ingestor, bytes), "the same bytes are the same log");
        }
    }
}

fn read(ingestor: &dyn Ingestor, bytes: &[u8]) -> (Vec<Transcript>, Vec<Skipped>) {
    let mut transcripts = Vec::new();
    let Ok(input) = Input::from_bytes("log", bytes.to_vec()) else { return (transcripts, Vec::new()) };
    let mut accept = |transcript: Transcript| transcripts.push(transcript);
    let mut sink = Sink::new(&mut accept);
    std::hint::black_box(ingestor.read(input, &mut sink).is_ok());
    let skipped = sink.skipped;
    (transcripts, skipped)
}

/// Panics if the transcript violates an invariant.
pub fn check(transcript: &Transcript) {
    assert!(!transcript.messages.is_empty() && !transcript.external_id.is_empty());
    let mut ids: Vec<_> = transcript.messages.iter().map(|message| message.id.as_str()).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "ids are unique");
    assert!(transcript.messages.iter().all(|message| !message.text.trim().is_empty() && !message.text.contains('\0')));
    assert!(transcript.messages.iter().all(|message| message.text.len() <= MAX_PROSE_BYTES + REASON));
}

/// Returns a folder in memory, if the system has such a place.
pub fn folder() -> TempDir {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder can be made")
}

/// Returns the fixed time that all fuzz targets use.
pub fn now() -> Timestamp {
    "2026-01-02T03:04:05Z".parse().expect("a time")
}

/// Adds a memory as if a person had added it.
pub fn remember(store: &Store, namespace: &Namespace, content: &str) {
    let claim = Claim::new(MemoryType::Semantic, "fact", "Note", content);
    let memory = Memory::new(claim, namespace.clone(), "x", ExtractionMethod::Manual, now());
    let (clean, none) = (Guard::default().redact(memory).0, Guard::default().redact(Vec::new()).0);
    store.write::<_, StoreError>(None, now(), |w| w.insert(&clean, &none)).expect("a store can be written");
}

/// A store with a few memories, one of which belongs to a project called `other`.
static STORE: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let folder = folder();
    let path = folder.path().join("m.db");
    let store = Store::open(&path).expect("a store can be made");
    for content in ["The user drinks tea.", "C++ builds with bun-sqlite in a:b.", "用户关注数据库。"] {
        remember(&store, &Namespace::global(), content);
    }
    remember(&store, &"project/other".parse().expect("a name"), ELSEWHERE);
    drop(store);
    std::fs::read(&path).expect("it is there")
});

/// Writes a store with a few memories to `folder`.
pub fn small_store(folder: &Path) -> PathBuf {
    let path = folder.join("m.db");
    std::fs::write(&path, &*STORE).expect("it can be written");
    path
}

/// Returns folders in which there are no settings, with a small store as the database.
pub fn folders(folder: &Path) -> Folders {
    Folders { user_file: folder.join("none.toml"), default_db: small_store(folder), state: folder.join("state") }
}

/// Panics unless the store is intact.
pub fn assert_whole(path: &Path) {
    let store = Store::open(path).expect("it can be opened");
    let checked = store.check().expect("it can be read");
    assert!(checked.flaws.is_empty(), "{:?}", checked.flaws);
}
