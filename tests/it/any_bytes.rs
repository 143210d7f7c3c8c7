//! Tests that no input from outside causes a panic, including inputs that the fuzz targets found.

use std::path::PathBuf;

use afterthought::config::{Config, Folders, Partial};
use afterthought::guard::Guard;
use afterthought::memory::{Claim, ExtractionMethod, Memory, MemoryType, Namespace};
use afterthought::search::Search;
use afterthought::serve::hook::read_input;
use afterthought::store::{Filter, Store};
use jiff::Timestamp;
use proptest::prelude::*;

/// Generates text that resembles valid input but is broken somewhere.
fn broken(parts: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        4 => proptest::sample::select(parts).prop_map(|part| part.as_bytes().to_vec()),
        1 => proptest::collection::vec(any::<u8>(), 0..6),
    ];
    proptest::collection::vec(part, 0..24).prop_map(|parts| parts.concat())
}

const JSON: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "\"session_id\"",
    "\"tool_input\"",
    "\"command\"",
    "\"x\"",
    "null",
    "1e999",
    "-0",
    "true",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "\"tool_name\"",
    "\"Bash\"",
    " ",
    "\n",
    "\"prompt\"",
];
const TOML: &[&str] = &[
    "model",
    " = ",
    "\"m\"",
    "\n",
    "[memory]",
    "[memory.retention]",
    "jobs",
    "0",
    "-1",
    "1e400",
    "window_tokens",
    "9999999999",
    "[[deny]]",
    "deny",
    "[\"**/x\"]",
    "'''",
    "#",
    "categories",
    "[]",
    "namespace",
    "\"a//b\"",
    "base_url",
    "\"http://\"",
];
const QUERY: &[&str] = &[
    "tea",
    "C++",
    "关注",
    "a:b",
    "\"",
    "'",
    "(",
    ")",
    "*",
    "^",
    "NEAR(",
    "AND",
    "-",
    "\0",
    "é",
    "\u{301}",
    "😀",
    "last week",
    "2026-13-45",
    "in 99999999999 days",
    " ",
    "yesterday",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hooks_read_anything(bytes in broken(JSON)) {
        std::hint::black_box(read_input(&*bytes).is_ok());
    }

    #[test]
    fn settings_read_anything(bytes in broken(TOML)) {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("user.toml");
        std::fs::write(&file, &bytes).unwrap();
        let folders = Folders { user_file: file, default_db: PathBuf::from("m.db"), state: folder.path().join("state") };
        std::hint::black_box(Config::load(&folders, folder.path(), None, &|_: &str| None, Partial::default()).is_ok());
    }
}

#[test]
fn queries_may_be_anything() {
    let store = Store::in_memory().unwrap();
    for content in ["The user drinks tea.", "用户关注数据库。", "C++ in a:b."] {
        let claim = Claim::new(MemoryType::Semantic, "fact", "Note", content);
        let memory = Memory::new(claim, Namespace::global(), "x", ExtractionMethod::Manual, Timestamp::UNIX_EPOCH);
        let (memory, none) = (Guard::default().redact(memory).0, Guard::default().redact(Vec::new()).0);
        store
            .write::<_, afterthought::store::StoreError>(None, Timestamp::UNIX_EPOCH, |w| w.insert(&memory, &none))
            .unwrap();
    }
    let mut runner = proptest::test_runner::TestRunner::new(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let tried = runner.run(&broken(QUERY), |bytes| {
        let query = String::from_utf8_lossy(&bytes);
        let filter = Filter::default();
        prop_assert!(Search::new(&query, &filter, "2026-03-01T00:00:00Z".parse().unwrap()).run(&store).is_ok());
        Ok(())
    });
    tried.unwrap();
}
