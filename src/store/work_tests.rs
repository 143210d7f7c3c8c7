//! Tests of the ledger: windows, replies and runs, used in the same way as by a pipeline.

use super::testing::{candidate, clean, day, insert, memory, memory_in, quote, shop, transcript};
use super::{
    Claimed, DoneWindow, Filter, Finished, Order, RequestPart, RunStatus, Store, StoreError, TranscriptId, WindowId,
    WindowKey,
};
use crate::changeset::Action;
use crate::extract::{Outcome, Spent};
use crate::llm::{Finish, Reply, ReplySchema, Request, Turn, TurnRole};
use crate::memory::{Candidate, MemoryId, Namespace, Status};
use serde_json::json;

fn key(transcript: TranscriptId, start: usize) -> WindowKey {
    WindowKey { transcript, extractor: "rules:1".into(), start, len: 2, content_hash: format!("hash {start}") }
}

fn claim(store: &Store, key: &WindowKey) -> WindowId {
    match store.claim_window(key, "me", day(1), day(0)).unwrap() {
        Claimed::Yes(id) => id,
        other @ (Claimed::AlreadyDone | Claimed::HeldByOther { .. }) => panic!("{other:?}"),
    }
}

fn finish(store: &Store, id: WindowId, outcome: Outcome, candidates: Vec<Candidate>) {
    let candidates = clean(candidates);
    let error = (outcome == Outcome::Failed).then_some("no answer");
    let finished =
        Finished { outcome, candidates: &candidates, dropped: &[], spent: Spent::default(), error, lacks: false };
    store.finish_window(id, "me", &finished, day(0)).unwrap();
}

fn seen(store: &Store, id: &str) -> TranscriptId {
    store.transcript_seen(&clean(transcript(id)), &shop(), None, day(0)).unwrap()
}

#[test]
fn a_grown_transcript_keeps_its_id() {
    let store = Store::in_memory().unwrap();
    let first = seen(&store, "talk");
    let mut grown = transcript("talk");
    grown.messages.push(transcripts::Message::user("And one more thing."));
    assert_eq!(store.transcript_seen(&clean(grown), &shop(), None, day(1)).unwrap(), first);
    assert_ne!(seen(&store, "other"), first);
    assert_eq!(store.stats().unwrap().transcripts, 2);
}

#[test]
fn a_window_is_done_once_and_applied_once() {
    let store = Store::in_memory().unwrap();
    let key = key(seen(&store, "talk"), 0);
    let id = claim(&store, &key);
    assert_eq!(store.claim_window(&key, "you", day(2), day(0)).unwrap(), Claimed::HeldByOther { until: day(1) });
    let tea = candidate("The user drinks tea.");
    finish(&store, id, Outcome::Ok, vec![tea.clone()]);
    assert_eq!(store.claim_window(&key, "you", day(2), day(0)).unwrap(), Claimed::AlreadyDone);
    let done = DoneWindow { start: 0, len: 2, content_hash: "hash 0".into() };
    assert_eq!(store.finished_windows(key.transcript, "rules:1").unwrap(), [done]);
    assert_eq!(store.finished_windows(key.transcript, "llm:other").unwrap(), []);
    let pending = store.pending_windows(10).unwrap();
    assert_eq!(
        pending.iter().map(|window| (window.id, &window.candidates[..])).collect::<Vec<_>>(),
        [(id, &[tea][..])]
    );
    let mark = || store.write::<_, StoreError>(None, day(1), |w| w.mark_windows_applied(&[id])).unwrap();
    assert_eq!((mark(), mark()), (1, 0));
    assert_eq!(store.pending_windows(10).unwrap(), []);
}

#[test]
fn an_empty_window_has_nothing_to_apply() {
    let store = Store::in_memory().unwrap();
    let key = key(seen(&store, "talk"), 0);
    finish(&store, claim(&store, &key), Outcome::OkEmpty, vec![]);
    assert_eq!(store.pending_windows(10).unwrap(), []);
    assert_eq!(store.claim_window(&key, "me", day(2), day(0)).unwrap(), Claimed::AlreadyDone);
}

#[test]
fn a_failed_window_is_listed_and_can_be_tried_again() {
    let store = Store::in_memory().unwrap();
    let key = key(seen(&store, "talk"), 0);
    finish(&store, claim(&store, &key), Outcome::Failed, vec![]);
    finish(&store, claim(&store, &key), Outcome::Failed, vec![]);
    let failed = store.failed_windows().unwrap();
    let told: Vec<_> = failed.iter().map(|w| (w.transcript.as_str(), w.attempts, w.error.as_deref())).collect();
    assert_eq!(told, [("jsonl:talk", 2, Some("no answer"))]);
    assert_eq!(store.finished_windows(key.transcript, "rules:1").unwrap(), []);
    assert_eq!(store.reset_failed_windows().unwrap(), 1);
    finish(&store, claim(&store, &key), Outcome::OkEmpty, vec![]);
    assert_eq!(store.failed_windows().unwrap(), []);
}

#[test]
fn a_lease_that_ran_out_goes_to_another_whose_result_counts() {
    let store = Store::in_memory().unwrap();
    let key = key(seen(&store, "talk"), 0);
    let id = claim(&store, &key);
    assert_eq!(store.claim_window(&key, "you", day(3), day(1)).unwrap(), Claimed::Yes(id));
    let none = clean(Vec::new());
    let finished = Finished {
        outcome: Outcome::Ok,
        candidates: &none,
        dropped: &[],
        spent: Spent::default(),
        error: None,
        lacks: false,
    };
    let late = store.finish_window(id, "me", &finished, day(1));
    assert!(matches!(late, Err(StoreError::NotOwner { .. })), "{late:?}");
    store.finish_window(id, "you", &finished, day(1)).unwrap();
}

#[test]
fn a_window_that_lacks_something_is_open_again_twice_once_it_was_applied() {
    let store = Store::in_memory().unwrap();
    let key = key(seen(&store, "talk"), 0);
    let finish = |id| {
        let candidates = clean(vec![candidate("The user drinks tea.")]);
        let (outcome, spent, error) = (Outcome::Partial, Spent::default(), Some("cut"));
        let finished = Finished { outcome, candidates: &candidates, dropped: &[], spent, error, lacks: true };
        store.finish_window(id, "me", &finished, day(0)).unwrap();
    };
    for _ in 0..3 {
        let id = claim(&store, &key);
        finish(id);
        assert_eq!(store.claim_window(&key, "you", day(2), day(0)).unwrap(), Claimed::AlreadyDone, "it waits");
        store.write(None, day(0), |writer| writer.mark_windows_applied(&[id])).unwrap();
    }
    assert_eq!(store.claim_window(&key, "you", day(2), day(0)).unwrap(), Claimed::AlreadyDone, "three times is enough");
    assert_eq!(store.finished_windows(key.transcript, "rules:1").unwrap().len(), 1);
}

#[test]
fn a_released_window_is_free_and_was_not_tried() {
    let store = Store::in_memory().unwrap();
    let key = key(seen(&store, "talk"), 0);
    store.release_window(claim(&store, &key), "me").unwrap();
    let Claimed::Yes(id) = store.claim_window(&key, "you", day(1), day(0)).unwrap() else { panic!("not free") };
    let none = clean(Vec::new());
    let finished = Finished {
        outcome: Outcome::Failed,
        candidates: &none,
        dropped: &[],
        spent: Spent::default(),
        error: None,
        lacks: false,
    };
    store.finish_window(id, "you", &finished, day(0)).unwrap();
    assert_eq!(store.failed_windows().unwrap()[0].attempts, 1);
}

#[test]
fn pending_windows_come_by_time_then_place_whatever_their_namespace() {
    let store = Store::in_memory().unwrap();
    let mut timeless = transcript("a-timeless");
    timeless.messages.iter_mut().for_each(|message| message.time = None);
    let mut later = transcript("b-later");
    later.messages.iter_mut().for_each(|message| message.time = Some(transcripts::MessageTime::logged(day(9))));
    let global = Namespace::global();
    for (transcript, namespace) in
        [(timeless, &shop()), (later, &shop()), (transcript("c-early"), &shop()), (transcript("z"), &global)]
    {
        let id = store.transcript_seen(&clean(transcript), namespace, None, day(0)).unwrap();
        for start in [2, 0] {
            finish(&store, claim(&store, &key(id, start)), Outcome::Partial, vec![candidate("Tea.")]);
        }
    }
    let order: Vec<_> = store.pending_windows(99).unwrap().into_iter().map(|w| (w.transcript, w.start)).collect();
    let expected = ["jsonl:c-early", "jsonl:z", "jsonl:b-later", "jsonl:a-timeless"];
    let expected: Vec<_> = expected.iter().flat_map(|key| [((*key).to_owned(), 0), ((*key).to_owned(), 2)]).collect();
    assert_eq!(order, expected);
    assert_eq!(store.pending_windows(3).unwrap().len(), 3);
}

#[test]
fn a_reply_is_kept_with_its_redacted_text() {
    let store = Store::in_memory().unwrap();
    let reply = Reply {
        text: "raw".into(),
        finish: Finish::Stop,
        prompt_tokens: 12,
        completion_tokens: 3,
        model: "small".into(),
    };
    assert_eq!(store.reply("k").unwrap(), None);
    store.save_reply("k", &clean("clean".to_owned()), &reply, day(0)).unwrap();
    assert_eq!(store.reply("k").unwrap(), Some(Reply { text: "clean".into(), ..reply }));
}

#[test]
fn an_interrupted_run_is_taken_up_again_by_the_same_command() {
    let store = Store::in_memory().unwrap();
    let first = store.begin_run("run", &json!(["logs"]), day(0)).unwrap();
    let parallel = store.begin_run("run", &json!(["logs"]), day(0)).unwrap();
    assert_ne!(parallel.id, first.id, "a living run is not taken over");
    store.finish_run(&parallel.id, RunStatus::Failed, &json!(null), day(0)).unwrap();
    let other = store.begin_run("run", &json!(["more"]), day(1)).unwrap();
    assert_ne!(other.id, first.id);
    let again = store.begin_run("run", &json!(["logs"]), day(1)).unwrap();
    assert_eq!((again.id.clone(), again.started_at), (first.id.clone(), first.started_at));
    assert!(again.is_alive(day(1)));
    store.finish_run(&first.id, RunStatus::Finished, &json!({"n": 1}), day(1)).unwrap();
    assert_ne!(store.begin_run("run", &json!(["logs"]), day(9)).unwrap().id, first.id);
    assert_eq!(store.run(&first.id.as_str()[..36]).unwrap().status, RunStatus::Finished);
    assert_eq!(store.run("last").unwrap().started_at, day(9));
    assert!(matches!(store.run("zzzz"), Err(StoreError::UnknownRun { .. })));
}

#[test]
fn a_heartbeat_keeps_a_run_alive() {
    let store = Store::in_memory().unwrap();
    let run = store.begin_run("run", &json!([]), day(0)).unwrap();
    assert!(!run.is_alive(day(1)));
    store.heartbeat(&run.id, day(1)).unwrap();
    assert!(store.run("last").unwrap().is_alive(day(1)));
}

#[test]
fn a_new_run_frees_the_claims_of_runs_that_are_dead_and_of_no_other() {
    let store = Store::in_memory().unwrap();
    let (dead, alive) = (
        store.begin_run("run", &json!(["a"]), day(0)).unwrap(),
        store.begin_run("run", &json!(["b"]), day(2)).unwrap(),
    );
    let transcript = seen(&store, "talk");
    let claim =
        |run: &super::Run, start, now| store.claim_window(&key(transcript, start), run.id.as_str(), day(9), now);
    claim(&dead, 0, day(0)).unwrap();
    claim(&alive, 2, day(2)).unwrap();
    let new = store.begin_run("run", &json!(["c"]), day(2)).unwrap();
    assert!(matches!(claim(&new, 0, day(2)), Ok(Claimed::Yes(_))));
    assert_eq!(claim(&new, 2, day(2)).unwrap(), Claimed::HeldByOther { until: day(9) });
}

#[test]
fn an_id_is_found_by_its_beginning_or_end() {
    let store = Store::in_memory().unwrap();
    let named = |id: &str| {
        let mut memory = memory("Tea", id);
        memory.id = MemoryId::from_stored(id);
        memory
    };
    let ids = ["0195-aaaa-1111", "0195-bbbb-2222"].map(|id| named(id).id);
    for id in &ids {
        insert(&store, &named(id.as_str()));
    }
    assert_eq!(store.resolve("0195-A").unwrap(), ids[0]);
    assert_eq!(store.resolve("2222").unwrap(), ids[1]);
    assert_eq!(store.resolve(ids[1].as_str()).unwrap(), ids[1]);
    let told = |part: &str| store.resolve(part).unwrap_err().to_string();
    assert_eq!(told("0195"), "2 memories have an id like 0195; give more characters of the id");
    assert_eq!(told("cccc"), "no memory has an id like cccc; see `afterthought memory list`");
    assert!(told("1").starts_with("\"1\" is not an id; give at least four"));
    assert!(told("%%%%").starts_with("\"%%%%\" is not an id"));
}

#[test]
fn what_makes_no_sense_is_refused() {
    let store = Store::in_memory().unwrap();
    let tea = memory("Tea", "The user drinks tea.");
    insert(&store, &tea);
    let again = store.write(None, day(0), |w| w.insert(&clean(tea.clone()), &clean(vec![])));
    assert!(matches!(again, Err(StoreError::Exists { .. })));
    let itself = super::testing::relation(&tea.id, crate::memory::RelationType::Related, &tea.id);
    assert!(matches!(store.write(None, day(0), |w| w.relate(&itself)), Err(StoreError::SelfRelation { .. })));
    let absent = MemoryId::new();
    let lost = store.write(None, day(0), |w| w.set_pinned(&absent, true));
    assert!(matches!(lost, Err(StoreError::UnknownMemory { .. })));
    let unchanged = store.write::<_, StoreError>(None, day(9), |w| w.update(&clean(tea.clone()), Action::Update, None));
    assert!(!unchanged.unwrap());
    assert_eq!(store.memory(&tea.id).unwrap(), tea);
    assert_eq!(store.history(&tea.id).unwrap().len(), 1);
}

#[test]
fn the_same_quote_is_one_piece_of_evidence() {
    let store = Store::in_memory().unwrap();
    let tea = memory("Tea", "The user drinks tea.");
    insert(&store, &tea);
    let mut elsewhere = quote("tea please");
    elsewhere.messages = vec!["m7".into()];
    let pieces = clean(vec![quote("tea please"), quote("tea please"), elsewhere.clone(), quote("green")]);
    let add = || store.write::<_, StoreError>(None, day(0), |w| w.add_evidence(&tea.id, &pieces)).unwrap();
    assert_eq!((add(), add()), (3, 0));
    assert_eq!(store.evidence(&tea.id).unwrap(), [quote("tea please"), elsewhere, quote("green")]);
}

#[test]
fn what_was_rejected_is_known_until_it_is_admitted() {
    let store = Store::in_memory().unwrap();
    let mut home = memory("Home", "The user lives in Berlin.");
    home.claim.key = Some("user.residence".into());
    home.claim.value = Some("Berlin".into());
    insert(&store, &home);
    store.write::<_, StoreError>(None, day(1), |w| w.tombstone(&home.id, Some("wrong".into()))).unwrap();
    let why = |namespace: &Namespace, content: &str, attribute: Option<(&str, &str)>| {
        store.rejected(namespace, content, attribute).unwrap().map(|tombstone| tombstone.reason.unwrap())
    };
    let wrong = Some("wrong".to_owned());
    assert_eq!(why(&shop(), "the user lives in Berlin", None), wrong);
    assert_eq!(why(&shop(), "Her home is Berlin.", Some(("user.residence", "BERLIN"))), wrong);
    assert_eq!(why(&shop(), "Her home is Paris.", Some(("user.residence", "Paris"))), None);
    assert_eq!(why(&Namespace::global(), "The user lives in Berlin.", None), None);
    assert!(store.write::<_, StoreError>(None, day(2), |w| w.lift_tombstone(&home.id)).unwrap());
    assert_eq!(why(&shop(), "the user lives in Berlin", None), None);
}

#[test]
fn uses_are_counted_and_change_nothing_else() {
    let store = Store::in_memory().unwrap();
    let tea = memory("Tea", "The user drinks tea.");
    insert(&store, &tea);
    let revision = store.revision(&shop()).unwrap();
    let ids = [tea.id.clone(), MemoryId::new()];
    assert!(store.record_use(&ids, day(1)));
    assert!(store.record_use(&ids, day(2)));
    assert!(store.log_shown(&ids, day(3)), "which is no use");
    let found = store.memory(&tea.id).unwrap();
    assert_eq!((found.usage.access_count, found.usage.last_accessed_at), (2, Some(day(2))));
    assert_eq!(found.updated_at, tea.updated_at);
    assert_eq!((store.revision(&shop()).unwrap(), store.history(&tea.id).unwrap().len()), (revision, 1));
    store.write::<_, StoreError>(None, day(3), |w| w.set_pinned(&tea.id, true)).unwrap();
    assert_eq!(store.memory(&tea.id).unwrap().usage.access_count, 2);
}

#[test]
fn what_is_over_expires_unless_it_is_pinned() {
    let store = Store::in_memory().unwrap();
    let mut memories = ["over", "pinned", "later", "never"].map(|title| memory(title, title));
    memories[0].claim.expires_at = Some(day(1));
    memories[1].claim.expires_at = Some(day(1));
    memories[1].pinned = true;
    memories[2].claim.expires_at = Some(day(3));
    for memory in &memories {
        insert(&store, memory);
    }
    let expire = || store.expire(None, day(2)).unwrap();
    assert_eq!(expire(), [memories[0].id.clone()]);
    assert_eq!(expire(), []);
    assert_eq!(store.memory(&memories[0].id).unwrap().status, Status::Expired);
}

#[test]
fn a_purge_leaves_no_word_of_what_was_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    let store = Store::open(&path).unwrap();
    let (old, recent) = (memory("Xylophone", "The user owns a xylophone."), memory_in(&shop(), "Tea", "Tea."));
    let talk = key(seen(&store, "talk-1"), 0);
    let window = claim(&store, &talk);
    finish(&store, window, Outcome::Ok, vec![candidate("my xylophone")]);
    let request = Request {
        system: clean("Extract facts.".to_owned()),
        turns: vec![Turn { role: TurnRole::User, text: clean("I own a xylophone".to_owned()) }],
        schema: ReplySchema { name: "memories".into(), schema: json!({}) },
        max_completion_tokens: 100,
    };
    let (known, reading) = (std::slice::from_ref(&old), json!([]));
    let windows = [(claim(&store, &key(talk.transcript, 2)), 0)];
    let part = "extract 0:0..2";
    let shown =
        RequestPart { root: None, part, key: "k", request: &request, reading: &reading, windows: &windows, known };
    let root = store.keep_request(&shown, day(20)).unwrap().unwrap();
    store
        .write::<_, StoreError>(None, day(0), |w| {
            w.insert(&clean(old.clone()), &clean(vec![quote("my xylophone")]))?;
            w.mark_windows_applied(&[window])?;
            w.set_status(&old.id, Status::Forgotten, Action::Forget, Some("no xylophone".into()))?;
            w.tombstone(&old.id, Some("no xylophone".into()))?;
            Ok(())
        })
        .unwrap();
    insert(&store, &recent);
    store
        .write::<_, StoreError>(None, day(20), |w| w.set_status(&recent.id, Status::Forgotten, Action::Forget, None))
        .unwrap();
    let purged = store.purge(30, day(31)).unwrap();
    assert_eq!((purged.memories, purged.windows), (vec![old.id.clone()], 1));
    assert_eq!(store.find(&old.id).unwrap(), None);
    assert_eq!(store.open_request(root).unwrap(), None);
    assert_eq!(store.evidence(&old.id).unwrap(), []);
    assert!(store.history(&old.id).unwrap().iter().all(|entry| entry.before.is_none() && entry.after.is_none()));
    assert!(store.rejected(&shop(), "The user owns a xylophone.", None).unwrap().is_some());
    let every = Filter { statuses: vec![], ..Filter::default() };
    assert_eq!(store.list(&every, Order::Id, 9, 0).unwrap().len(), 1);
    let bytes = ["", "-wal"].map(|suffix| std::fs::read(format!("{}{suffix}", path.display())).unwrap()).concat();
    let holds = |word: &str| bytes.windows(word.len()).any(|window| window.eq_ignore_ascii_case(word.as_bytes()));
    assert!(!holds("xyloph"), "the word is still in the file");
}

#[test]
fn stats_count_what_there_is() {
    let store = Store::in_memory().unwrap();
    insert(&store, &memory("Tea", "The user drinks tea."));
    finish(&store, claim(&store, &key(seen(&store, "talk"), 0)), Outcome::Ok, vec![candidate("Tea.")]);
    let stats = store.stats().unwrap();
    assert_eq!((stats.memories, stats.transcripts, stats.pending_windows), (1, 1, 1));
    assert_eq!(stats.by_status.into_iter().collect::<Vec<_>>(), [("active".to_owned(), 1)]);
    assert_eq!(stats.by_namespace.into_iter().collect::<Vec<_>>(), [("project/shop".to_owned(), 1)]);
    assert_eq!(stats.windows.into_iter().collect::<Vec<_>>(), [("done".to_owned(), 1)]);
    assert!(stats.bytes > 0);
}

#[test]
fn memories_that_have_expired_but_are_not_marked_are_not_counted_as_active() {
    let store = Store::in_memory().unwrap();
    for (title, end) in [("a", None), ("b", Some(day(2))), ("c", Some(day(4)))] {
        let mut one = memory(title, title);
        one.claim.expires_at = end;
        insert(&store, &one);
    }
    for statuses in [vec![Status::Active], vec![Status::Active, Status::Pending]] {
        for (now, expected) in [(day(1), 3), (day(2), 2), (day(9), 1)] {
            let filter = Filter { unexpired_at: Some(now), statuses: statuses.clone(), ..Filter::default() };
            assert_eq!(store.count(&filter).unwrap(), expected);
            assert_eq!(store.list(&filter, Order::Id, 9, 0).unwrap().len(), expected);
        }
    }
}
