//! Tests that after `forget --session`, no file of the store contains any text of the session, and nothing else is
//! lost.

use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use super::world::{Fact, Server, World, raw};

/// Names that occur nowhere else; they appear in titles, contents, quotes, tags, keys, replies and requests.
const PLANTED: [Fact; 4] = [("zwickmuehle", 4101), ("翠湖暗号", 5202), ("quittenmond", 6303), ("basil", 5999)];
const PHRASES: [&str; 3] = ["zwickmuehle", "翠湖暗号", "quittenmond"];
const OTHERS: [Fact; 3] = [("basil", 5202), ("cedar", 6303), ("dahlia", 7404)];
const RUN: &[&str] = &["run", "logs", "--window-tokens", "600"];

/// Returns the phrases that appear in `bytes`, either unchanged, in UTF-16, or in compressed parts.
fn found_in(bytes: &[u8]) -> Vec<&'static str> {
    let mut texts = vec![bytes.to_vec()];
    for at in 0..bytes.len() {
        let rest = &bytes[at..];
        let mut plain = Vec::new();
        if rest.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            zstd::stream::read::Decoder::new(rest).unwrap().read_to_end(&mut plain).ok();
        } else if rest.starts_with(&[0x1f, 0x8b, 8]) {
            flate2::read::GzDecoder::new(rest).read_to_end(&mut plain).ok();
        }
        texts.push(plain);
    }
    let holds = |phrase: &str| {
        let wide: Vec<u8> = phrase.encode_utf16().flat_map(u16::to_le_bytes).collect();
        let spelled = [phrase.as_bytes().to_vec(), phrase.to_uppercase().into_bytes(), wide];
        let lower = |text: &[u8]| text.to_ascii_lowercase();
        texts.iter().any(|text| {
            let text = lower(text);
            spelled.iter().any(|spelled| memchr::memmem::find(&text, &lower(spelled)).is_some())
        })
    };
    PHRASES.into_iter().filter(|phrase| holds(phrase)).collect()
}

/// Returns the database and the files next to it that contain a phrase.
fn files_with_phrases(folder: &Path) -> Vec<String> {
    let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).filter(|path| path.is_file());
    let mut found: Vec<String> = files
        .filter(|path| !found_in(&std::fs::read(path).unwrap()).is_empty())
        .map(|path| path.file_name().unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    found
}

fn execute(world: &World, sql: &str) {
    raw(&world.database()).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn what_is_looked_for_is_found_where_it_is_compressed() {
    let text = "x".repeat(40) + "翠湖暗号 and zwickmuehle";
    let zstd = [b"head".to_vec(), zstd::encode_all(text.as_bytes(), 3).unwrap()].concat();
    assert_eq!(found_in(&zstd), ["zwickmuehle", "翠湖暗号"]);
    let wide: Vec<u8> = "quittenmond".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(found_in(&wide), ["quittenmond"]);
}

#[test]
fn after_a_session_is_erased_no_byte_of_it_is_left_and_all_else_is_as_if_it_had_never_been_read() {
    let server = Server::start(Duration::ZERO);
    let alone = World::new(Some(&server));
    alone.session("second", 5, &OTHERS);
    alone.good(RUN);
    let wanted = alone.memories();

    let world = World::new(Some(&server));
    world.session("second", 5, &OTHERS);
    world.session("first", 9, &PLANTED);
    world.good(RUN);
    // The words may also occur in other data: forgotten and changed memories, samples of the planner, failures recorded
    // by hooks, requests that wait in batches, and a copy made before a migration.
    let contents = world.active().join("\n");
    assert!(PHRASES.iter().all(|phrase| contents.contains(phrase)), "{contents}");
    let listed = world.good(&["search", "zwickmuehle", "--json"]);
    let id = serde_json::from_str::<Value>(listed.lines().next().unwrap()).unwrap()["id"].as_str().unwrap().to_owned();
    world.good(&["memory", "update", &id, "--title", "Quittenmond of old"]);
    world.good(&["memory", "update", &id, "--title", "Port"]);
    world.good(&["memory", "forget", &id, "--reason", "zwickmuehle is wrong"]);
    execute(
        &world,
        "ANALYZE;
         INSERT INTO hook_failures (session, signature, command, error, call, at)
            VALUES ('first', 'x', 'ping zwickmuehle', 'no 翠湖暗号', 'c', 1);
         INSERT INTO requests (id, key, kind, root, body, known, state, created_at)
            VALUES (99999, 'h', 'extract', 99999, CAST('zwickmuehle' AS BLOB), '[\"quittenmond\"]', 'rendered', 1),
                (99998, 'g', 'relations', NULL, CAST('quittenmond' AS BLOB), NULL, 'failed', 1);
         INSERT INTO request_windows (request, place, window, context)
            SELECT 99999, 0, w.id, 0 FROM windows w JOIN transcripts t ON t.id = w.transcript_id
            WHERE t.external_id = 'first' LIMIT 1;",
    );
    std::fs::copy(world.database(), world.path("memories.db.schema-16.backup")).unwrap();
    world.good(&["db", "backup", "mine.copy"]);
    assert_eq!(
        files_with_phrases(world.database().parent().unwrap()),
        ["memories.db", "memories.db.schema-16.backup", "mine.copy"]
    );

    let before = world.export();
    let shown = world.good(&["memory", "forget", "--session", "first", "--dry-run"]);
    assert!(shown.contains("claude-code:first") && shown.contains("would be erased"), "{shown}");
    let refused = world.done(&["memory", "forget", "--session", "first"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert_eq!(world.export(), before, "neither has changed anything");

    let told = world.done(&["memory", "forget", "--session", "first", "--yes"]);
    assert!(told.status.success(), "{told:?}");
    let err = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(err.contains("mine.copy") && err.contains("schema-16.backup"), "{err}");
    std::fs::remove_file(world.path("mine.copy")).unwrap();
    assert_eq!(files_with_phrases(world.database().parent().unwrap()), Vec::<String>::new());
    assert_eq!(world.memories(), wanted);
    assert_eq!(world.done(&["db", "check"]).status.code(), Some(0), "{:?}", world.done(&["db", "check"]));

    let again: Value =
        serde_json::from_str(world.good(&[RUN, &["--reread", "--json"]].concat()).lines().last().unwrap()).unwrap();
    assert_eq!(again["filtered"]["conversations_erased"], 1, "{again}");
    assert_eq!(world.memories(), wanted, "it is not learnt again unasked");
    world.good(&[RUN, &["--reread-erased"]].concat());
    let contents = world.active().join("\n");
    let back: Vec<_> = PHRASES.into_iter().filter(|phrase| contents.contains(phrase)).collect();
    assert_eq!(back, ["翠湖暗号", "quittenmond"], "what a person had rejected before stays rejected: {contents}");
}
