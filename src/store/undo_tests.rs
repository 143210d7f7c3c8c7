//! Tests that undo reverts runs exactly, and keeps later changes that build on them.

use super::testing::snapshot;
use super::testing::{candidate, clean, day, insert, memory, quote, relation, transcript};
use super::*;
use crate::changeset::Action;
use crate::changeset::Entity;
use crate::extract::{Outcome, Spent};
use crate::memory::Evidence;
use crate::memory::{Memory, MemoryId, RelationType, Status};
use crate::store::history::undo::{KeepReason, Kept, LaterChanges, UndoReport};
use serde_json::json;

fn begin(store: &Store, what: &str) -> RunId {
    store.begin_run(what, &json!([]), day(0)).unwrap().id
}

fn end(store: &Store, run: &RunId) {
    store.finish_run(run, RunStatus::Finished, &json!({}), day(2)).unwrap();
}

/// Performs every operation of a writer with two known memories and a new memory.
fn everything(w: &Writer<'_>, tea: &Memory, milk: &Memory, new: &Memory) -> Result<(), StoreError> {
    w.insert(&clean(new.clone()), &clean(vec![quote("coffee please")]))?;
    w.add_evidence(&new.id, &clean(vec![quote("an espresso")]))?;
    let mut merged = tea.clone();
    merged.claim.content = "The user drinks green tea.".into();
    merged.claim.tags = vec!["drink".into()];
    merged.claim.importance = 0.123_456_7;
    merged.namespace = "global".parse().unwrap();
    w.update(&clean(merged), Action::Merge, Some("richer".into()))?;
    w.add_evidence(&tea.id, &clean(vec![quote("green tea")]))?;
    w.relate(&relation(&new.id, RelationType::Supersedes, &tea.id))?;
    w.relate(&relation(&tea.id, RelationType::Related, &milk.id))?;
    w.unrelate(&tea.id, RelationType::Supports, &milk.id)?;
    w.set_status(&tea.id, Status::Superseded, Action::Supersede, None)?;
    w.set_pinned(&milk.id, true)?;
    w.set_confidence(&milk.id, 0.333_333_3, Action::Decay, None)?;
    w.tombstone(&milk.id, Some("wrong".into()))?;
    w.set_status(&milk.id, Status::Forgotten, Action::Forget, Some("wrong".into()))?;
    Ok(())
}

#[test]
fn an_undo_is_rehearsed_even_if_the_file_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("memories.db");
    let tea = memory("Tea", "The user drinks tea.");
    let store = Store::open(&path).unwrap();
    let run = begin(&store, "run");
    store.write(Some(&run), day(1), |w| w.insert(&clean(tea.clone()), &clean(vec![]))).unwrap();
    end(&store, &run);
    let reader = Store::open_read_only(&path).unwrap();
    let rehearsed = reader.rehearse(|store| store.undo_run(&run, day(3))).unwrap();
    assert_eq!(rehearsed.removed, std::slice::from_ref(&tea.id));
    assert!(reader.find(&tea.id).unwrap().is_some() && store.find(&tea.id).unwrap().is_some());
}

#[test]
fn undo_leaves_the_file_as_it_was() {
    let store = Store::in_memory().unwrap();
    let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
    insert(&store, &tea);
    insert(&store, &milk);
    store.write(None, day(0), |w| w.relate(&relation(&tea.id, RelationType::Supports, &milk.id))).unwrap();
    let before = snapshot(&store);
    let run = begin(&store, "run");
    let new = memory("Coffee", "The user drinks coffee.");
    store.write(Some(&run), day(1), |w| everything(w, &tea, &milk, &new)).unwrap();
    end(&store, &run);
    let after = snapshot(&store);
    assert_ne!(after, before);
    let rehearsed = store.rehearse(|store| store.undo_run(&run, day(3))).unwrap();
    assert_eq!(snapshot(&store), after, "a rehearsal writes nothing");
    let undone = store.undo_run(&run, day(3)).unwrap();
    assert_eq!((snapshot(&store), rehearsed), (before, undone.clone()));
    let restored = vec![tea.id.clone(), milk.id.clone()];
    assert_eq!(undone, UndoReport { restored, removed: vec![new.id.clone()], ..UndoReport::default() });
    assert_eq!(store.runs(1).unwrap()[0].status, RunStatus::Undone);
    assert!(matches!(store.undo_run(&run, day(4)), Err(StoreError::RunUndone { .. })));
    assert_eq!(store.history(&new.id).unwrap().last().unwrap().action, Action::Undo);
}

#[test]
fn history_replays_to_the_state_of_the_file() {
    let store = Store::in_memory().unwrap();
    let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
    let new = memory("Coffee", "The user drinks coffee.");
    insert(&store, &tea);
    insert(&store, &milk);
    store.write(None, day(1), |w| everything(w, &tea, &milk, &new)).unwrap();
    for id in [&tea.id, &milk.id, &new.id] {
        let mut last = None;
        let mut evidence: Vec<Evidence> = Vec::new();
        for entry in store.history(id).unwrap().into_iter().filter(|entry| entry.memory == *id) {
            match entry.entity {
                Entity::Memory => {
                    assert_eq!(entry.before, last, "{}", entry.action);
                    last = entry.after;
                }
                Entity::Evidence => evidence.push(serde_json::from_value(entry.after.unwrap()).unwrap()),
                Entity::Relation | Entity::Tombstone => {}
            }
        }
        assert_eq!(serde_json::from_value::<Memory>(last.unwrap()).unwrap(), store.memory(id).unwrap());
        assert_eq!(evidence, store.evidence(id).unwrap());
    }
}

#[test]
fn what_was_changed_since_is_kept_and_named_with_what_it_is_linked_to() {
    let store = Store::in_memory().unwrap();
    let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
    insert(&store, &tea);
    insert(&store, &milk);
    let (first, second) = (begin(&store, "first"), begin(&store, "second"));
    let coffee = memory("Coffee", "The user drinks coffee.");
    store
        .write(Some(&first), day(1), |w| {
            w.insert(&clean(coffee.clone()), &clean(vec![]))?;
            w.relate(&relation(&coffee.id, RelationType::Supersedes, &tea.id))?;
            w.set_status(&tea.id, Status::Superseded, Action::Supersede, None)?;
            w.set_pinned(&milk.id, true)
        })
        .unwrap();
    store.write(Some(&second), day(1), |w| w.add_evidence(&coffee.id, &clean(vec![quote("coffee")]))).unwrap();
    end(&store, &first);
    end(&store, &second);
    let undone = store.undo_run(&first, day(2)).unwrap();
    let mut kept = vec![
        Kept { memory: tea.id.clone(), because: KeepReason::LinkedToChanged },
        Kept { memory: coffee.id.clone(), because: KeepReason::ChangedSince },
    ];
    kept.sort_by(|a, b| a.memory.cmp(&b.memory));
    assert_eq!(undone, UndoReport { restored: vec![milk.id.clone()], kept, ..UndoReport::default() });
    assert_eq!(store.memory(&tea.id).unwrap().status, Status::Superseded);

    store.undo_run(&second, day(3)).unwrap();
    let undone = store.undo_run(&first, day(4)).unwrap();
    assert_eq!(
        undone,
        UndoReport { restored: vec![tea.id.clone()], removed: vec![coffee.id.clone()], ..UndoReport::default() }
    );
    assert_eq!(store.memory(&tea.id).unwrap(), tea);
}

#[test]
fn a_run_that_is_going_is_not_undone_and_an_unknown_one_is_an_error() {
    let store = Store::in_memory().unwrap();
    let run = begin(&store, "run");
    assert!(matches!(store.undo_run(&run, day(0)), Err(StoreError::RunInProgress { .. })));
    assert!(matches!(store.undo_run(&RunId::from_stored("no-such-run"), day(0)), Err(StoreError::UnknownRun { .. })));
}

#[test]
fn windows_stay_applied_until_they_are_reopened() {
    let store = Store::in_memory().unwrap();
    let run = begin(&store, "run");
    let transcript = store.transcript_seen(&clean(transcript("t")), &"global".parse().unwrap(), None, day(0)).unwrap();
    let key = WindowKey { transcript, extractor: "rules:1".into(), start: 0, len: 2, content_hash: "h".into() };
    let Claimed::Yes(window) = store.claim_window(&key, "me", day(1), day(0)).unwrap() else { panic!() };
    let candidates = clean(vec![candidate("The user drinks tea.")]);
    let spent = Spent::default();
    let finished =
        Finished { outcome: Outcome::Ok, candidates: &candidates, dropped: &[], spent, error: None, lacks: false };
    store.finish_window(window, "me", &finished, day(0)).unwrap();
    store.write(Some(&run), day(0), |w| w.mark_windows_applied(&[window])).unwrap();
    end(&store, &run);
    store.undo_run(&run, day(1)).unwrap();
    assert_eq!(store.pending_windows(9).unwrap(), []);
    assert_eq!(store.undone_windows().unwrap(), [(run.clone(), 1)]);
    assert_eq!(store.reopen_windows(&run).unwrap(), 1);
    assert_eq!(store.undone_windows().unwrap(), []);
    assert_eq!(store.pending_windows(9).unwrap()[0].candidates, *candidates);
}

#[test]
fn later_runs_are_named_and_undone_with_what_they_have_built_on() {
    let store = Store::in_memory().unwrap();
    let (tea, milk) = (memory("Tea", "The user drinks tea."), memory("Milk", "The user takes milk."));
    insert(&store, &tea);
    let before = snapshot(&store);
    let runs = ["first", "second", "third", "other"].map(|what| begin(&store, what));
    let [first, second, third, other] = &runs;
    let write = |run: &RunId, change: &dyn Fn(&Writer<'_>) -> Result<(), StoreError>| {
        store.write::<_, StoreError>(Some(run), day(1), |w| change(w)).unwrap();
    };
    let status = |w: &Writer<'_>, id: &MemoryId, status| w.set_status(id, status, Action::Supersede, None).map(drop);
    write(first, &|w| status(w, &tea.id, Status::Superseded));
    write(second, &|w| w.insert(&clean(milk.clone()), &clean(vec![])));
    write(second, &|w| w.relate(&relation(&milk.id, RelationType::Supports, &tea.id)).map(drop));
    write(third, &|w| status(w, &milk.id, Status::Superseded));
    write(other, &|w| w.insert(&clean(memory("Salt", "Salt.")), &clean(vec![])));
    // Two runs at once: the first continues after the second has started.
    write(first, &|w| status(w, &tea.id, Status::Expired));
    runs.iter().for_each(|run| end(&store, run));
    store.undo_run(other, day(2)).unwrap();
    let on = |run: &RunId, memory: &MemoryId| LaterChanges { run: Some(run.clone()), memories: vec![memory.clone()] };
    assert_eq!(store.built_upon(first).unwrap(), [on(third, &milk.id), on(second, &tea.id)]);
    assert_eq!(store.built_upon(third).unwrap(), []);
    let all = [first.clone(), third.clone(), second.clone()];
    let undone = store.undo_runs(&all, day(3)).unwrap();
    assert_eq!(undone.kept, []);
    assert_eq!(snapshot(&store), before);
    assert!(store.runs(9).unwrap().iter().all(|run| run.status == RunStatus::Undone));
    assert!(matches!(store.undo_runs(&all, day(4)), Err(StoreError::RunUndone { .. })));
}

#[test]
fn what_was_changed_by_hand_is_named_last_and_stays() {
    let store = Store::in_memory().unwrap();
    let tea = memory("Tea", "The user drinks tea.");
    let (first, second) = (begin(&store, "first"), begin(&store, "second"));
    store.write(Some(&first), day(1), |w| w.insert(&clean(tea.clone()), &clean(vec![]))).unwrap();
    store.write(None, day(1), |w| w.set_pinned(&tea.id, true)).unwrap();
    store.write(Some(&second), day(1), |w| w.set_confidence(&tea.id, 0.5, Action::Decay, None)).unwrap();
    [&first, &second].into_iter().for_each(|run| end(&store, run));
    let by: Vec<_> = store.built_upon(&first).unwrap().into_iter().map(|one| one.run).collect();
    assert_eq!(by, [Some(second.clone()), None]);
    let undone = store.undo_runs(&[first, second], day(2)).unwrap();
    assert_eq!(undone.kept, [Kept { memory: tea.id.clone(), because: KeepReason::ChangedSince }]);
    assert!(store.memory(&tea.id).unwrap().pinned);
}

#[test]
fn an_erasure_before_the_last_write_of_a_run_is_not_the_last_change() {
    let store = Store::in_memory().unwrap();
    // A run that is resumed keeps the time at which it began.
    let run = begin(&store, "run");
    let erase = |days| {
        let sql = "INSERT INTO audit (at, action, detail) VALUES (?1, 'erase', '')";
        store.conn.execute(sql, [day(days).as_millisecond()]).unwrap();
    };
    erase(1);
    assert!(matches!(store.newest_change(), Ok(LastChange::Erasure { .. })));
    let tea = memory("Tea", "The user drinks tea.");
    store.write(Some(&run), day(2), |w| w.insert(&clean(tea), &clean(vec![]))).unwrap();
    let last = store.newest_change();
    assert!(matches!(&last, Ok(LastChange::Run(last)) if last.id == run), "{last:?}");
    erase(3);
    assert!(matches!(store.newest_change(), Ok(LastChange::Erasure { .. })));
}

#[test]
fn the_last_effective_run_is_the_last_that_changed_something_and_is_not_undone() {
    let store = Store::in_memory().unwrap();
    let first = begin(&store, "run");
    let tea = memory("Tea", "The user drinks tea.");
    store.write(Some(&first), day(1), |w| w.insert(&clean(tea.clone()), &clean(vec![]))).unwrap();
    end(&store, &first);
    let idle = begin(&store, "run");
    end(&store, &idle);
    assert_eq!(store.run("last").unwrap().id, idle);
    assert_eq!(store.last_effective_run().unwrap().id, first);
    store.undo_run(&first, day(3)).unwrap();
    assert!(matches!(store.last_effective_run(), Err(StoreError::NothingToUndo)));
}
