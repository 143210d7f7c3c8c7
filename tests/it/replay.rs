//! Tests that replay recorded answers of a language model to the real prompts, without a server.
//!
//! The exchange under `tests/replay/` was recorded with `run … --record`, and the model saw only the requests. A
//! recorded reply is used only for exactly the recorded request, so a change of a prompt, a schema, a window or a log
//! makes these tests fail.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use afterthought::extract::check::quote_found;
use afterthought::extract::window::WindowBudget;
use afterthought::guard::Guard;
use afterthought::llm::{Budget, Limits, Replay};
use afterthought::memory::CATEGORIES;
use afterthought::pipeline::{self, Extractor, Options, Pipeline, Sources, Summary};
use afterthought::store::{Filter, Order, Store};
use tokio_util::sync::CancellationToken;
use transcripts::Transcript;
use transcripts::{Found, Sink, detect, discover, open};

const LOGS: &str = "tests/replay/logs";
const REPLIES: &str = "tests/replay/replies";
/// Name of the recorded model in requests.
const MODEL: &str = "bridge";

/// Modification time of the logs during the recording, which determines the time of texts without dates.
const CHANGED_AT: &str = "2026-11-21T10:57:00Z";

/// Copies the logs with the modification times of the recording.
fn logs() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let changed_at = SystemTime::from(CHANGED_AT.parse::<jiff::Timestamp>().unwrap());
    for Found { path, .. } in discover(&[LOGS.into()]).unwrap() {
        let copy = folder.path().join(path.strip_prefix(LOGS).unwrap());
        std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
        std::fs::copy(&path, &copy).unwrap();
        std::fs::File::options().write(true).open(&copy).unwrap().set_modified(changed_at).unwrap();
    }
    folder
}

fn run(store: &Store, logs: &Path) -> Summary {
    let (guard, replay) = (Guard::default(), Replay::new(REPLIES, MODEL).unwrap());
    let budget = Budget::new(Limits::default(), None, MODEL).unwrap();
    let options = Options {
        sources: Sources { paths: vec![logs.to_owned()], ..Sources::default() },
        selection: pipeline::Selection::default(),
        reread: afterthought::pipeline::RereadPolicy::Nothing,
        namespace: None,
        user: None,
        known: Vec::new(),
        categories: CATEGORIES.iter().map(|&name| name.to_owned()).collect(),
        instructions: None,
        window: WindowBudget::default(),
        jobs: 4,
    };
    let pipeline = Pipeline::new(store, &guard, Extractor::Llm(&replay), &budget, options);
    let arguments = serde_json::json!({});
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(pipeline::run(pipeline, &arguments, CancellationToken::new(), &mut |_| {})).unwrap()
}

/// Returns the conversations as the pipeline reads them, by key.
fn transcripts(logs: &Path) -> BTreeMap<String, Transcript> {
    let mut seen = BTreeMap::new();
    for Found { path, .. } in discover(&[logs.to_owned()]).unwrap() {
        let input = open(&path).unwrap();
        let ingestor = detect(&input).unwrap();
        let mut accept = |transcript: Transcript| {
            let (transcript, _) = Guard::default().clean_transcript(transcript);
            seen.insert(transcript.key(), transcript.into_inner());
        };
        ingestor.read(input, &mut Sink::new(&mut accept)).unwrap();
    }
    seen
}

#[test]
fn recorded_answers_become_the_same_memories_again() {
    let store = Store::in_memory().unwrap();
    let summary = run(&store, logs().path());
    assert_eq!((summary.llm_calls, summary.failures.len(), summary.windows.failed), (0, 0, 0), "{summary:#?}");
    let mut lines: Vec<String> = store
        .list(&Filter { statuses: Vec::new(), ..Filter::default() }, Order::Id, usize::MAX >> 1, 0)
        .unwrap()
        .into_iter()
        .map(|memory| {
            let claim = &memory.claim;
            format!("{} {} {}/{}: {}", memory.status, memory.source, claim.memory_type, claim.category, claim.content)
        })
        .collect();
    lines.sort();
    insta::assert_snapshot!(lines.join("\n"));
    let counts = serde_json::json!({
        "conversations": summary.transcripts,
        "windows": summary.windows,
        "replies": summary.cached_replies,
        "decisions": summary.decisions,
        "dropped": summary.dropped,
    });
    insta::assert_snapshot!(serde_json::to_string_pretty(&counts).unwrap());
}

#[test]
fn every_quote_of_the_model_stands_in_the_message_it_cites() {
    let store = Store::in_memory().unwrap();
    let logs = logs();
    run(&store, logs.path());
    let transcripts = transcripts(logs.path());
    let mut checked = 0;
    for memory in store.list(&Filter::default(), Order::Id, usize::MAX >> 1, 0).unwrap() {
        let evidence = store.evidence(&memory.id).unwrap();
        assert!(!evidence.is_empty(), "{}", memory.claim.content);
        for piece in evidence {
            let message = &transcripts[&piece.transcript].messages;
            let message = message.iter().find(|message| message.id == piece.messages[0]).unwrap();
            assert!(quote_found(&piece.quote, &message.text), "{}", piece.quote);
            checked += 1;
        }
    }
    assert!(checked > 20, "{checked} quotes");
}

#[test]
fn a_second_run_asks_nothing_and_changes_nothing() {
    let store = Store::in_memory().unwrap();
    let logs = logs();
    let first = run(&store, logs.path());
    let before = store.stats().unwrap();
    let second = run(&store, logs.path());
    assert_eq!((second.llm_calls, second.cached_replies, second.changes()), (0, 0, 0));
    assert_eq!(second.windows.known, first.windows.total);
    let after = store.stats().unwrap();
    assert_eq!((after.memories, after.evidence, after.relations), (before.memories, before.evidence, before.relations));
}

#[test]
fn a_request_that_was_not_recorded_is_not_answered() {
    let folder = tempfile::tempdir().unwrap();
    let log: PathBuf = folder.path().join("changed.txt");
    std::fs::write(&log, "User: I moved to Lisbon in May.\nAssistant: Noted.\nUser: Thanks.\n").unwrap();
    let store = Store::in_memory().unwrap();
    let summary = run(&store, &log);
    assert_eq!(summary.windows.failed, 1);
    assert!(summary.failures[0].why.contains("no recorded reply"), "{:?}", summary.failures);
    assert_eq!(store.stats().unwrap().memories, 0);
}
