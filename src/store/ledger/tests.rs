//! Tests of requests, batches and data left by older versions.

use serde_json::json;

use super::requests::OpenRequest;
use super::*;
use crate::extract::{Outcome, Spent};
use crate::guard::Guard;
use crate::llm::{Finish, Reply, ReplySchema, Request, Turn, TurnRole};
use crate::memory::Memory;
use crate::store::testing::{clean, day, memory, shop, transcript};
use crate::store::{RequestId, RunStatus, Store};

fn batch(id: &str) -> Batch {
    Batch {
        id: id.into(),
        owner: "me".into(),
        endpoint: "http://h/v1".into(),
        model: "m".into(),
        stage: Stage::Planned,
        stage_at: day(0),
        input_file: None,
        remote_id: None,
        remote_status: None,
        created_at: day(0),
        waiting: 0,
    }
}

fn requests(keys: &[&str]) -> Vec<BatchRequest> {
    keys.iter().map(|key| BatchRequest { key: (*key).into(), prompt_tokens: 7 }).collect()
}

fn answered(key: &str, text: &str) -> BatchReply {
    let (finish, model) = (Finish::Stop, "m-1".to_owned());
    let reply = Reply { text: "secret".into(), finish, prompt_tokens: 5, completion_tokens: 2, model };
    BatchReply { key: key.to_owned(), text: clean(text.to_owned()), reply }
}

fn ids(store: &Store) -> Vec<String> {
    store.open_batches().unwrap().into_iter().map(|batch| batch.id).collect()
}

#[test]
fn a_request_waits_in_one_batch_only() {
    let store = Store::in_memory().unwrap();
    assert_eq!(store.plan_batch(&batch("a"), &requests(&["1", "2"]), day(0)).unwrap(), ["1", "2"]);
    assert_eq!(store.plan_batch(&batch("b"), &requests(&["2", "3"]), day(1)).unwrap(), ["3"]);
    assert_eq!(store.batch_of("2").unwrap().unwrap().id, "a");
    assert_eq!(store.batch_requests("b").unwrap(), requests(&["3"]));
    assert_eq!(ids(&store), ["a", "b"]);
    assert_eq!(store.stats().unwrap().batch_requests, 3);
    store.drop_batch(&batch("a")).unwrap();
    assert_eq!(store.batch_of("2").unwrap(), None);
    assert_eq!(store.plan_batch(&batch("c"), &requests(&["2"]), day(2)).unwrap(), ["2"]);
}

#[test]
fn answers_are_kept_once_and_the_rest_is_free_again() {
    let store = Store::in_memory().unwrap();
    store.plan_batch(&batch("a"), &requests(&["1", "2"]), day(0)).unwrap();
    let replies = [answered("1", "kept"), answered("9", "nobody's")];
    assert!(store.end_batch("a", "completed", &replies, day(1)).unwrap());
    assert_eq!(store.reply("1").unwrap().unwrap().text, "kept");
    assert_eq!(store.reply("9").unwrap(), None);
    assert!(!store.end_batch("a", "completed", &[answered("2", "late")], day(2)).unwrap());
    assert_eq!((store.reply("2").unwrap(), store.batch_of("2").unwrap(), ids(&store)), (None, None, vec![]));
    assert_eq!(store.plan_batch(&batch("b"), &requests(&["1", "2"]), day(3)).unwrap(), ["2"], "1 is answered");
}

#[test]
fn a_batch_that_changed_hands_is_left_alone_by_whoever_had_it() {
    let store = Store::in_memory().unwrap();
    store.plan_batch(&batch("a"), &requests(&["1"]), day(0)).unwrap();
    assert!(store.take_batch_over(&batch("a"), "you").unwrap());
    assert!(!store.take_batch_over(&batch("a"), "they").unwrap());
    let creating = Batch { stage: Stage::Creating, input_file: Some("f".into()), ..batch("a") };
    assert!(!store.batch_is(&creating, day(1)).unwrap());
    store.drop_batch(&batch("a")).unwrap();
    assert_eq!(ids(&store), ["a"]);
    let submitted = Batch { owner: "you".into(), stage: Stage::Submitted, remote_id: Some("r".into()), ..creating };
    assert!(store.batch_is(&submitted, day(2)).unwrap());
    store.drop_batch(&submitted).unwrap();
    let open = store.open_batches().unwrap();
    assert_eq!((open[0].remote_id.as_deref(), open[0].stage, open[0].waiting), (Some("r"), Stage::Submitted, 1));
}

fn request(text: &str) -> Request {
    let redacted = |text: &str| clean(text.to_owned());
    Request {
        system: redacted("Extract facts."),
        turns: vec![Turn { role: TurnRole::User, text: redacted(text) }],
        schema: ReplySchema { name: "memories".into(), schema: json!({"type": "object"}) },
        max_completion_tokens: 100,
    }
}

fn reply(text: &str) -> (crate::guard::Redacted<String>, Reply) {
    let BatchReply { text, reply, .. } = answered("", text);
    (text, reply)
}

/// Returns claimed windows of one transcript, with two messages each.
fn windows(store: &Store, count: usize) -> Vec<(WindowId, usize)> {
    let transcript = store.transcript_seen(&clean(transcript("talk")), &shop(), None, day(0)).unwrap();
    let keys: Vec<WindowKey> = (0..count)
        .map(|at| WindowKey {
            transcript,
            extractor: "llm".into(),
            start: 4 + 2 * at,
            len: 2,
            content_hash: format!("hash {at}"),
        })
        .collect();
    let claimed = store.claim_windows(&keys, "me", day(1), day(0)).unwrap();
    let id = |claimed| if let Claimed::Yes(id) = claimed { id } else { panic!("{claimed:?}") };
    claimed.into_iter().map(id).zip(3..).collect()
}

fn keep(
    store: &Store,
    root: Option<RequestId>,
    name: &str,
    windows: &[(WindowId, usize)],
    known: &[Memory],
) -> Option<RequestId> {
    let (part, key) = (format!("extract {name}"), name.to_owned());
    let (request, reading) = (request(name), json!([name]));
    let part = RequestPart { root, part: &part, key: &key, request: &request, reading: &reading, windows, known };
    store.keep_request(&part, day(0)).unwrap()
}

fn finish(store: &Store, windows: &[(WindowId, usize)], outcomes: &[Outcome]) {
    let candidates = clean(Vec::new());
    let finished: Vec<_> = windows
        .iter()
        .zip(outcomes)
        .map(|(&(id, _), &outcome)| {
            let (spent, candidates) = (Spent::default(), &candidates);
            (id, Finished { outcome, candidates, dropped: &[], spent, error: None, lacks: false })
        })
        .collect();
    assert!(store.finish_windows(&finished, "me", day(0)).unwrap().into_iter().all(|is_ours| is_ours));
}

fn bodies(store: &Store) -> usize {
    let sql = "SELECT count(*) FROM requests WHERE body IS NOT NULL OR known IS NOT NULL";
    store.conn.query_row(sql, (), |row| row.get(0)).unwrap()
}

#[test]
fn a_request_is_taken_up_as_it_was_rendered_until_its_windows_are_done() {
    let (store, guard) = (Store::in_memory().unwrap(), Guard::default());
    let (windows, known) = (windows(&store, 2), vec![memory("Tea", "The user drinks tea.")]);
    let root = keep(&store, None, "whole", &windows, &known);
    assert!(root.is_some());
    assert_eq!(keep(&store, root, "half", &windows, &[]), root);
    let transcript = transcript_id(&store, "jsonl:talk");
    let open = store.unfinished_windows(transcript, "llm").unwrap();
    let places: Vec<_> = open.iter().map(|one| (one.window.start, one.context, one.request)).collect();
    let root = root.unwrap();
    assert_eq!(places, [(4, Some(3), Some((root, 0))), (6, Some(4), Some((root, 1)))]);
    assert_eq!(store.unfinished_windows(transcript, "rules:1").unwrap(), []);
    let expected = OpenRequest { windows: 2, known: Some(known), is_out: false };
    assert_eq!(store.open_request(root).unwrap(), Some(expected.clone()));
    let stored = store.stored_request(root, "extract half", &guard).unwrap().unwrap();
    assert_eq!((stored.key.as_str(), stored.body), ("half", Some((request("half"), json!(["half"])))));
    assert_eq!(store.stored_request(root, "repair half", &guard).unwrap(), None);

    store.plan_batch(&batch("a"), &requests(&["half"]), day(0)).unwrap();
    assert_eq!(store.open_request(root).unwrap(), Some(OpenRequest { is_out: true, ..expected }));
    store.end_batch("a", "completed", &[answered("half", "kept")], day(1)).unwrap();
    finish(&store, &windows, &[Outcome::Failed, Outcome::Failed]);
    assert!(store.open_request(root).unwrap().is_some(), "all failed: the same is asked again");
    let Claimed::Yes(_) = store
        .claim_window(
            &WindowKey { transcript, extractor: "llm".into(), start: 4, len: 2, content_hash: "hash 0".into() },
            "me",
            day(1),
            day(0),
        )
        .unwrap()
    else {
        panic!("free")
    };
    finish(&store, &windows[..1], &[Outcome::OkEmpty]);
    assert_eq!((store.open_request(root).unwrap(), bodies(&store)), (None, 0));
    assert_eq!(store.reply("half").unwrap().unwrap().text, "kept");
    let failed = store.unfinished_windows(transcript, "llm").unwrap();
    assert_eq!((failed.len(), failed[0].window.start, failed[0].request), (1, 6, None));
}

#[test]
fn one_at_a_time_claims_a_request_and_a_reply_ends_the_claim() {
    let store = Store::in_memory().unwrap();
    let claim = |owner: &str, now| store.claim_request("k", &request("hi"), owner, now).unwrap();
    let later = |seconds| day(0) + jiff::SignedDuration::from_secs(seconds);
    assert_eq!(claim("a", later(0)), RequestClaim::Mine);
    assert_eq!(claim("b", later(1)), RequestClaim::Other);
    store.renew_request("k", "a", later(30)).unwrap();
    assert_eq!(claim("b", later(70)), RequestClaim::Other);
    assert_eq!(store.plan_batch(&batch("x"), &requests(&["k"]), later(70)).unwrap(), [""; 0], "it is being sent");
    store.drop_batch(&batch("x")).unwrap();
    assert_eq!(claim("b", later(91)), RequestClaim::Mine, "it ran out");
    store.release_request("k", "a").unwrap();
    assert_eq!(claim("a", later(92)), RequestClaim::Other, "not the owner's to release");
    store.release_request("k", "b").unwrap();
    assert_eq!(claim("a", later(93)), RequestClaim::Mine);
    let (text, answer) = reply("kept");
    store.save_reply("k", &text, &answer, later(94)).unwrap();
    store.release_request("k", "a").unwrap();
    assert_eq!(claim("b", later(95)), RequestClaim::Answered(Reply { text: "kept".into(), ..answer }));
    assert_eq!(bodies(&store), 0);
    store.forget_replies(&["k".to_owned(), "none".to_owned()]).unwrap();
    assert_eq!(claim("b", later(96)), RequestClaim::Mine);
}

#[test]
fn the_same_request_about_other_windows_is_found_by_its_hash() {
    let store = Store::in_memory().unwrap();
    let windows = windows(&store, 2);
    let (text, answer) = reply("kept");
    store.save_reply("same", &text, &answer, day(0)).unwrap();
    let first = keep(&store, None, "same", &windows[..1], &[]);
    assert!(first.is_some(), "a reply without windows is taken over");
    assert_eq!(keep(&store, None, "same", &windows[1..], &[]), None);
    assert_eq!(store.reply("same").unwrap().unwrap().text, "kept");
    store.close_request(first.unwrap()).unwrap();
    assert_eq!(store.reply("same").unwrap().unwrap().text, "kept", "what is paid for stays");
    assert!(keep(&store, None, "same", &windows[1..], &[]).is_some());
}

#[test]
fn an_unanswered_request_is_gone_once_it_is_closed() {
    let store = Store::in_memory().unwrap();
    let root = keep(&store, None, "whole", &windows(&store, 1), &[]).unwrap();
    store.close_request(root).unwrap();
    let count: usize = store.conn.query_row("SELECT count(*) FROM requests", (), |row| row.get(0)).unwrap();
    let links: usize = store.conn.query_row("SELECT count(*) FROM request_windows", (), |row| row.get(0)).unwrap();
    assert_eq!((store.open_request(root).unwrap(), count, links), (None, 0, 0));
}

/// Creates a file with the first `version` migrations, executes `sql`, and migrates it to the newest schema.
#[test]
fn a_secret_in_the_arguments_of_a_run_is_not_stored() {
    let store = Store::in_memory().unwrap();
    let token = format!("ghp_{}", "aB3dE6gH9".repeat(4));
    let arguments = json!({"paths": [format!("/logs/{token}")], "exclude": [token]});
    let run = store.begin_run("run", &arguments, day(1)).unwrap();
    store.finish_run(&run.id, RunStatus::Finished, &json!({"halted": format!("cannot read {token}")}), day(1)).unwrap();
    let rows: Vec<String> =
        store.query_all("SELECT arguments || coalesce(summary, '') FROM runs", (), |row| row.get(0)).unwrap();
    assert_eq!(
        rows,
        [concat!(
            r#"{"paths":["/logs/[redacted:github-token]"],"exclude":["[redacted:github-token]"]}"#,
            r#"{"halted":"cannot read [redacted:github-token]"}"#
        )]
    );
    // The same arguments still find the run.
    assert_eq!(store.runs_of("run", &arguments).unwrap().len(), 1);
}

fn migrated(sql: &str) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("m.db");
    let schemas = concat!(env!("CARGO_MANIFEST_DIR"), "/src/store/migrations");
    let mut paths: Vec<_> = std::fs::read_dir(schemas).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let conn = rusqlite::Connection::open(&path).unwrap();
    conn.execute_batch("PRAGMA journal_mode = WAL; PRAGMA application_id = 0x61667472").unwrap();
    paths[..18].iter().for_each(|path| conn.execute_batch(&std::fs::read_to_string(path).unwrap()).unwrap());
    conn.pragma_update(None, "user_version", 18).unwrap();
    conn.execute_batch(sql).unwrap();
    drop(conn);
    let store = Store::open(&path).unwrap();
    (folder, store)
}

#[test]
fn what_an_older_program_has_asked_is_carried_over() {
    let window = |id: usize, pack: &str| format!("({id}, 1, 'llm', {}, 2, 'hash{id:012}', 'failed', {pack})", 2 * id);
    let sql = format!(
        "INSERT INTO transcripts VALUES (1, 'jsonl:talk', 'jsonl', 'talk', '/t', NULL, NULL, 'global', 1, 1, 99, 1);
         INSERT INTO windows (id, transcript_id, extractor, start, len, content_hash, status, pack, pack_place)
         VALUES {}, {}, {}, {};
         INSERT INTO replies VALUES ('r1', 'm', 'text one', '\"stop\"', 5, 2, 7), ('first', 'm', 'was cut', '\"length\"', 5, 2, 8);
         INSERT INTO batches (id, owner, endpoint, model, stage, stage_at, remote_id, created_at)
         VALUES ('b', 'me', 'http://h/v1', 'm', 'submitted', 5, 'remote', 5);
         INSERT INTO batch_requests VALUES ('b', 'half', 'waiting', 11), ('b', 'r1', 'answered', 11);
         INSERT INTO batch_windows VALUES
            (1, 'llm', 'hash000000000003', 6, 2, 4, '1:hash000000000004 1:hash000000000003', '[]', 'first', 'f', 'half'),
            (1, 'llm', 'hash000000000004', 8, 2, 5, '1:hash000000000004 1:hash000000000003', '[]', 'first', 'f', 'half');",
        window(1, "1, 1"), window(2, "1, 0"), window(3, "NULL, NULL"), window(4, "NULL, NULL"),
    );
    let (_folder, store) = migrated(&sql);
    assert_eq!(store.reply("r1").unwrap().unwrap().text, "text one");
    assert_eq!(store.stats().unwrap().replies, 2);
    assert_eq!(store.batch_requests("b").unwrap(), [BatchRequest { key: "half".into(), prompt_tokens: 11 }]);
    let transcript = transcript_id(&store, "jsonl:talk");
    let open = store.unfinished_windows(transcript, "llm").unwrap();
    let places: Vec<_> = open.iter().map(|one| (one.window.start, one.context, one.request.unwrap().1)).collect();
    assert_eq!(places, [(2, None, 1), (4, None, 0), (6, Some(4), 1), (8, Some(5), 0)]);
    let (pack, batch) = (open[0].request.unwrap().0, open[2].request.unwrap().0);
    assert_eq!((open[1].request.unwrap().0, open[3].request.unwrap().0), (pack, batch));
    assert_eq!(store.open_request(pack).unwrap(), Some(OpenRequest { windows: 2, known: None, is_out: false }));
    let out = OpenRequest { windows: 2, known: Some(Vec::new()), is_out: true };
    assert_eq!(store.open_request(batch).unwrap(), Some(out));
    let guard = Guard::default();
    assert_eq!(store.stored_request(pack, "extract 0:0..2", &guard).unwrap(), None);
    let first = store.stored_request(batch, "extract 0:0..2", &guard).unwrap();
    assert_eq!(first, Some(StoredRequest { key: "first".into(), body: None }));
    store.end_batch("b", "completed", &[answered("half", "kept")], day(1)).unwrap();
    assert_eq!(store.reply("half").unwrap().unwrap().text, "kept");
}

/// Returns the id of the transcript with this key.
fn transcript_id(store: &Store, key: &str) -> TranscriptId {
    let found = store.query_one("SELECT id FROM transcripts WHERE key = ?1", [key], |row| row.get(0).map(TranscriptId));
    found.unwrap().unwrap()
}
