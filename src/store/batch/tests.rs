use super::*;
use crate::llm::Finish;
use crate::store::samples::{clean, day, memory, shop, transcript};
use crate::store::{DoneWindow, Store, WindowKey};

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

fn answered(text: &str) -> RowOutcome {
    let (finish, model) = (Finish::Stop, "m-1".to_owned());
    let reply = Reply { text: "secret".into(), finish, prompt_tokens: 5, completion_tokens: 2, model };
    RowOutcome::Answered(clean(text.to_owned()), reply)
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
    let outcomes = [("1".to_owned(), answered("kept")), ("9".to_owned(), answered("nobody's"))];
    assert!(store.end_batch("a", "completed", &outcomes, day(1)).unwrap());
    assert_eq!(store.reply("1").unwrap().unwrap().text, "kept");
    assert_eq!(store.reply("9").unwrap(), None);
    assert!(!store.end_batch("a", "completed", &[("2".to_owned(), answered("late"))], day(2)).unwrap());
    assert_eq!((store.reply("2").unwrap(), store.batch_of("2").unwrap(), ids(&store)), (None, None, vec![]));
    assert_eq!(store.plan_batch(&batch("b"), &requests(&["1", "2"]), day(3)).unwrap(), ["1", "2"]);
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

#[test]
fn a_window_keeps_what_makes_its_request_until_it_is_finished() {
    let store = Store::in_memory().unwrap();
    let transcript = store.transcript_seen(&clean(transcript("talk")), &shop(), day(0)).unwrap();
    let hash = || "hash".to_owned();
    let key = WindowKey { transcript, extractor: "llm".into(), start: 4, len: 2, content_hash: hash() };
    let known = vec![memory("Tea", "The user drinks tea.")];
    let keys = std::slice::from_ref(&key);
    store.keep_batch_windows(keys, &[3], &known).unwrap();
    store.keep_batch_windows(keys, &[0], &[]).unwrap();
    store.batch_windows_ask(keys, "1", "frame").unwrap();
    store.batch_windows_ask(keys, "2", "other").unwrap();
    let is_kept = |is_waiting| {
        let kept = store.batch_window(&key).unwrap().unwrap();
        assert_eq!((&kept.known, kept.is_waiting), (&known, is_waiting));
        assert_eq!(kept.first, Some(("1".to_owned(), "frame".to_owned())));
    };
    is_kept(false);
    store.plan_batch(&batch("a"), &requests(&["2"]), day(0)).unwrap();
    is_kept(true);
    let place = WindowPlace { window: DoneWindow { start: 4, len: 2, content_hash: hash() }, context: 3 };
    assert_eq!(store.batch_windows(transcript, "llm").unwrap(), [place]);
    assert_eq!(store.batch_windows(transcript, "rules:1").unwrap(), []);
    store.drop_batch_windows(keys).unwrap();
    assert_eq!(store.batch_window(&key).unwrap(), None);
}

#[test]
fn windows_keep_a_request_among_those_with_which_they_share_it() {
    let store = Store::in_memory().unwrap();
    let transcript = store.transcript_seen(&clean(transcript("talk")), &shop(), day(0)).unwrap();
    let key = |start: usize| WindowKey {
        transcript,
        extractor: "llm".into(),
        start,
        len: 2,
        content_hash: format!("hash {start}"),
    };
    let both = [key(0), key(2)];
    store.keep_batch_windows(&both, &[0, 1], &[]).unwrap();
    store.batch_windows_ask(&both, "1", "frame").unwrap();
    let KeptPack::Same(kept) = store.batch_pack(&both).unwrap() else { panic!("they were asked about together") };
    assert_eq!(kept.first, Some(("1".to_owned(), "frame".to_owned())));
    let others = [vec![key(0)], vec![key(2), key(0)], vec![key(0), key(2), key(4)]];
    for other in &others {
        assert_eq!(store.batch_pack(other).unwrap(), KeptPack::Nothing);
    }
    store.plan_batch(&batch("a"), &requests(&["1"]), day(0)).unwrap();
    for other in &others {
        assert_eq!(store.batch_pack(other).unwrap(), KeptPack::Parted);
    }
    assert_eq!(store.batch_pack(&[key(4)]).unwrap(), KeptPack::Nothing);
    store.keep_batch_windows(&[key(0)], &[0], &[]).unwrap();
    let KeptPack::Same(kept) = store.batch_pack(&[key(0)]).unwrap() else { panic!("it was put alone") };
    assert_eq!(kept.first, None);
}
