//! Speed of writing memories.

use std::path::Path;
use std::time::Duration;

use afterthought::guard::Guard;
use afterthought::memory::{Claim, Evidence, ExtractionMethod, Memory, MemoryType, Namespace};
use afterthought::store::{Store, StoreError};
use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::generate::{prose, word};
use super::random::Random;
use super::report::{Report, Row, best_of, figure};

const MEMORIES: usize = 10_000;
const ROUNDS: usize = 3;

/// Measures writing 10,000 memories in one transaction, compared with writing bare rows with the same texts.
pub fn measure(report: &mut Report) {
    let texts = texts(MEMORIES);
    let speed = |time: Duration| figure(MEMORIES) / time.as_secs_f64();
    let own = best_of(ROUNDS, folder, |folder| insert(&folder.path().join("a.db"), &texts));
    let bare = best_of(ROUNDS, folder, |folder| insert_bare(&folder.path().join("a.db"), &texts));
    report.add(
        Row::new("memories with evidence, history and index", speed(own), "a second")
            .beside("rows and FTS5, no checks, no history", speed(bare)),
    );
}

/// Creates a database with this many memories.
pub fn fill(database: &Path, memories: usize) {
    insert(database, &texts(memories));
}

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn texts(count: usize) -> Vec<(String, String)> {
    let mut random = Random::new(7);
    let mut text = || (format!("{} {}", word(&mut random), word(&mut random)), prose(&mut random, 22));
    (0..count).map(|_| text()).collect()
}

fn insert(database: &Path, texts: &[(String, String)]) {
    let (store, guard, now) = (Store::open(database).unwrap(), Guard::default(), Timestamp::now());
    let new = |(title, content): &(String, String)| {
        let claim = Claim::new(MemoryType::Semantic, "fact", title, content);
        let memory = Memory::new(claim, Namespace::global(), "bench", ExtractionMethod::Auto, now);
        (guard.redact(memory).0, guard.redact(vec![evidence(content)]).0)
    };
    store.write::<_, StoreError>(None, now, |writer| writer.insert_all(texts, new)).unwrap();
}

fn evidence(content: &str) -> Evidence {
    Evidence {
        transcript: "claude-code:bench".into(),
        messages: vec!["m1".into()],
        quote: content.to_owned(),
        speaker: None,
        said_at: None,
        content_hash: "00ff".into(),
    }
}

fn insert_bare(database: &Path, texts: &[(String, String)]) {
    let mut conn = Connection::open(database).unwrap();
    conn.execute_batch(
        "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
         CREATE TABLE memories (seq INTEGER PRIMARY KEY, title TEXT, content TEXT, quote TEXT);
         CREATE VIRTUAL TABLE words USING fts5 (title, content, quote, content = '',
            tokenize = 'porter unicode61 remove_diacritics 2');",
    )
    .unwrap();
    let transaction = conn.transaction().unwrap();
    for (title, content) in texts {
        for sql in [
            "INSERT INTO memories (title, content, quote) VALUES (?1, ?2, ?2)",
            "INSERT INTO words (rowid, title, content, quote) VALUES (last_insert_rowid(), ?1, ?2, ?2)",
        ] {
            transaction.prepare_cached(sql).unwrap().execute(params![title, content]).unwrap();
        }
    }
    transaction.commit().unwrap();
}
